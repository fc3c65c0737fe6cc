"""The overview as plain HTML, for browsers that run no scripts."""

from typing import Any, Dict, Iterator, List

from .markup import html

_COLUMNS = ("Run", "Status", "Score", "Calls", "Wasted calls", "Wasted tokens", "Loops")


def plain_overview(summaries: List[Dict[str, Any]]) -> Iterator[str]:
    """Yield totals and one row a run, in the order of the page."""
    calls, wasted = (sum(each[key] for each in summaries) for key in ("calls", "wasted_calls"))
    stuck = sum(bool(each["loops"]) for each in summaries)
    yield f"<p>{len(summaries):,} runs, {stuck:,} with loops; "
    yield f"{wasted:,} of {calls:,} calls wasted.</p>\n"
    yield '<table class="plain">\n<tr>'
    yield from (f'<th scope="col">{name}</th>' for name in _COLUMNS)
    yield "</tr>\n"
    for each in summaries:
        yield _row(each)
    yield "</table>\n"


def _row(about: Dict[str, Any]) -> str:
    tokens = (
        f"{'about ' if about['is_estimate'] and about['loops'] else ''}{about['wasted_tokens']:,}"
    )
    compared = f" ({about['change']})" if "change" in about else ""
    cells = [
        f'<a href="#plain-run-{about["number"]}">{html(about["id"])}</a>{html(compared)}',
        html(about["status"]),
        f"{about['score']:,}",
        f"{about['calls']:,}",
        f"{about['wasted_calls']:,}",
        tokens,
        html("; ".join(about["loops"])),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"
