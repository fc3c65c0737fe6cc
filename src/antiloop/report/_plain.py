"""The overview and the runs as plain HTML, for browsers that run no scripts.

The script reads the texts out of it. Each text stands here once, in a ``pre``, in the order of
`DrawnRun.texts`. A call or a result that comes back names the step that has its text.
"""

from typing import Any, Dict, Iterable, Iterator, List

from .._text.markup import html, preformatted
from ._data.moments import length_of, moment
from ._data.run_data import DrawnRun
from ._data.summary import groups_of

_COLUMNS = (
    *("Run", "Status", "Score", "Calls", "Wasted calls", "Wasted tokens", "Loops"),
    *("Began (UTC)", "Took"),
)


def plain_overview(summaries: List[Dict[str, Any]]) -> Iterator[str]:
    """Yield totals and one row a run, in the order of the page."""
    calls, wasted = (sum(each[key] for each in summaries) for key in ("calls", "wasted_calls"))
    stuck = sum(bool(each["loops"]) for each in summaries)
    yield f"<p>{len(summaries):,} runs, {stuck:,} with loops; "
    yield f"{wasted:,} of {calls:,} calls wasted.</p>\n"
    textless = sum(not each.get("has_text", True) for each in summaries)
    if textless:
        yield f"<p>The texts of {textless:,} runs are left out; --only all keeps them.</p>\n"
    yield from _groups(summaries)
    yield from plain_table(_COLUMNS, map(_cells, summaries))


def plain_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield a table of cells, which are HTML."""
    yield '<table class="plain">\n<tr>'
    yield from (f'<th scope="col">{name}</th>' for name in columns)
    yield "</tr>\n"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n"
    yield "</table>\n"


def _groups(summaries: List[Dict[str, Any]]) -> Iterator[str]:
    groups = groups_of(summaries)
    if groups:
        yield "<h3>The same loop in several runs</h3>\n<ul>\n"
        for each in groups:
            runs = f"{each.runs:,} runs, {each.wasted_calls:,} calls wasted in them"
            yield f"<li>{html(each.name)}: {runs}</li>\n"
        yield "</ul>\n"


def _cells(about: Dict[str, Any]) -> List[str]:
    tokens = (
        f"{'about ' if about['is_estimate'] and about['loops'] else ''}{about['wasted_tokens']:,}"
    )
    compared = f" ({about['change']})" if "change" in about else ""
    name = html(about["id"])
    if about.get("has_text", True):
        name = f'<a href="#plain-run-{about["number"]}">{name}</a>'
    return [
        f"{name}{html(compared)}",
        html(about["status"]),
        f"{about['score']:,}",
        f"{about['calls']:,}",
        f"{about['wasted_calls']:,}",
        tokens,
        html("; ".join(about["loops"])),
        moment(about["began_s"]),
        length_of(about["took_s"]),
    ]


def plain_run(about: Dict[str, Any], drawn: DrawnRun) -> Iterator[str]:
    """Yield a run, piece by piece."""
    number = about["number"]
    is_open = " open" if about["loops"] else ""
    yield f'<details class="plain" id="plain-run-{number}"{is_open}>\n'
    yield f"<summary>{html(about['id'])}: {html(summary(about))}</summary>\n"
    yield from _loops(drawn.data)
    yield from _rules(drawn.data)
    yield from _Timeline(drawn).lines()
    yield "</details>\n"


def summary(about: Dict[str, Any]) -> str:
    """Return a line on how a run did."""
    parts = [about["status"], f"score {about['score']:,}", f"{about['calls']:,} calls"]
    if about["wasted_calls"]:
        parts.append(f"{about['wasted_calls']:,} wasted")
    if about["began_s"] is not None:
        parts.append(f"began {moment(about['began_s'])} UTC, took {length_of(about['took_s'])}")
    parts += [each for each in (about["source"], about["agent"], about["model"]) if each]
    return ", ".join(parts)


def span_of(steps: List[int]) -> str:
    """Name the first and the last step.

    >>> span_of([4, 5, 7]), span_of([3])
    ('steps 4-7', 'step 3')
    """
    return f"steps {steps[0]}-{steps[-1]}" if len(steps) > 1 else f"step {steps[0]}"


def _loops(data: Dict[str, Any]) -> Iterator[str]:
    for loop in data["loops"]:
        about = "about " if loop["is_estimate"] else ""
        wasted = f"{loop['wasted']:,} calls and {about}{loop['tokens']:,} tokens wasted"
        yield f"<h3>{html(loop['label'])}, {span_of(loop['steps'])}, {wasted}</h3>\n"
        actions = ", ".join(f"{action} at step {step}" for step, action in loop["actions"])
        found = ", ".join(loop["detectors"])
        answer = f'"{loop["answer"]}". ' if loop["answer"] else ""
        yield f"<p>{html(loop['call'])}, {html(loop['times'])}. {html(answer)}"
        yield f"{html(loop['advice'])} {html(loop['summary'])}</p>\n"
        yield f"<p>Found by {html(found)}. It would have come: {html(actions)}.</p>\n"


def _rules(data: Dict[str, Any]) -> Iterator[str]:
    if data["rules"]:
        yield "<h3>Rules of health</h3>\n<ul>\n"
        for rule in data["rules"]:
            summary = f"-{rule['penalty']:g}: {rule['message']} {rule['why']} {rule['suggestion']}"
            yield f"<li>Step {rule['step']}, {html(summary)}</li>\n"
        yield "</ul>\n"


class _Timeline:
    """List what happened in a run, in its order."""

    def __init__(self, drawn: DrawnRun) -> None:
        self._data, self._texts = drawn.data, drawn.texts
        self._calls: Dict[int, int] = {}
        """For each call that was shown: the first step with it."""
        self._results: Dict[int, int] = {-1: -1}

    def lines(self) -> Iterator[str]:
        waiting = list(reversed(self._data["messages"]))
        for step in range(len(self._data["steps"])):
            while waiting and waiting[-1]["position"] <= step:
                yield from self._message(waiting.pop())
            yield from self._step(step)
        for message in reversed(waiting):
            yield from self._message(message)

    def _message(self, message: Dict[str, Any]) -> Iterator[str]:
        text = preformatted(self._texts[message["text"]])
        if "is_thought" in message:
            yield f'<details class="thoughts"><summary>Thoughts</summary>\n{text}</details>\n'
        else:
            yield f"<h4>Said by the {html(message['role'])}</h4>\n{text}"

    def _step(self, step: int) -> Iterator[str]:
        number, answer, _, is_seen = self._data["steps"][step]
        call = self._data["calls"][number]
        mark = f" ({call['mark']})" if "mark" in call else ""
        yield f"<h4>{step} {html(call['tool'])}{mark}</h4>\n"
        first = self._calls.setdefault(number, step)
        if first == step:
            yield preformatted(self._texts[call["text"]])
        else:
            yield f"<p>The call of step {first}.{' Nothing new.' if is_seen else ''}</p>\n"
        yield from self._answered(step, answer)

    def _answered(self, step: int, answer: int) -> Iterator[str]:
        first = self._results.setdefault(answer, step)
        if first == -1:
            yield "<p>Not recorded.</p>\n"
        elif first != step:
            yield f"<p>The result of step {first}.</p>\n"
        else:
            result = self._data["results"][answer]
            yield "<p>A failure:</p>\n" if "is_failure" in result else ""
            yield preformatted(self._texts[result["text"]])
