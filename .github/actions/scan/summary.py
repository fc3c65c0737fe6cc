"""Write what ``antiloop scan --format jsonl`` printed as Markdown, for the summary of a job.

    antiloop scan --format jsonl recordings/ | python summary.py >> "$GITHUB_STEP_SUMMARY"

Names and messages come from recordings, so nothing in them may be taken for Markdown or HTML.
"""

import json
import re
import sys
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List

SHOWN = 50
"""Runs that have a table row each."""
_SPECIAL = re.compile(r"[^\w ]", re.ASCII)


def lines_of(runs: List[Dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a summary."""
    stuck = [run for run in runs if run["verdicts"]]
    counted = f"{len(runs)} run" + "s" * (len(runs) != 1)
    yield f"### Tool-call loops: {len(stuck)} of {counted} got stuck"
    yield from table(["health", "runs", "calls", "wasted calls", "wasted tokens"], health_of(runs))
    if stuck:
        head = ["run", "step", "detectors", "what was found", ""]
        yield from table(head, map(stuck_row, stuck[:SHOWN]))
    if len(stuck) > SHOWN:
        yield f"\nand {len(stuck) - SHOWN} more\n"


def health_of(runs: List[Dict[str, Any]]) -> Iterator[List[Any]]:
    """Yield a row for each state of health, the most frequent first."""
    for health, count in Counter(run["health"] for run in runs).most_common():
        these = [run for run in runs if run["health"] == health]
        sums = (sum(run[key] or 0 for run in these) for key in _AMOUNTS)
        yield [health, f"{count:,}", *(f"{each:,}" for each in sums)]


_AMOUNTS = ("steps", "wasted_calls", "wasted_tokens")


def stuck_row(run: Dict[str, Any]) -> List[Any]:
    """Return the row of a run: what each detector found first, of known loops only if all are."""
    new = [said for said in run["verdicts"] if not said["known"]]
    first: Dict[str, Dict[str, Any]] = {}
    for said in new or run["verdicts"]:
        first.setdefault(said["detector"], said)
    found = list(first.values())
    messages = " ".join(said["message"] for said in found)
    return [run["run_id"], found[0]["step"], ", ".join(first), messages, "" if new else "known"]


def table(header: List[str], rows: Iterable[List[Any]]) -> Iterator[str]:
    """Yield the lines of a table, with a blank line before and after."""
    yield ""
    yield row_of(header)
    yield row_of(["---"] * len(header), plain=True)
    yield from map(row_of, rows)
    yield ""


def row_of(cells: Iterable[Any], *, plain: bool = False) -> str:
    """Write one table row."""
    return f"| {' | '.join(str(cell) if plain else escaped(str(cell)) for cell in cells)} |"


def escaped(text: str) -> str:
    """Write a text so that it is shown as it is, on one line."""
    visible = "".join(char if char.isprintable() else " " for char in text)
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", visible)


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.writelines(
        f"{line}\n" for line in lines_of([json.loads(line) for line in sys.stdin])
    )
