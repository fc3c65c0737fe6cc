"""A run as plain HTML, for browsers that run no scripts; the script reads the texts out of it.

Each text stands here once, in a ``pre``, in the order of `DrawnRun.texts`. A call or a result that
comes back names the step that has its text.
"""

from typing import Any, Dict, Iterator, List

from .data.run_data import DrawnRun
from .markup import html, preformatted


def plain_run(about: Dict[str, Any], drawn: DrawnRun) -> Iterator[str]:
    """Yield a run, piece by piece.

    Args:
        about: its line of the overview.
        drawn: the run.
    """
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
        yield f"<p>{html(loop['message'])} {html(loop['summary'])}</p>\n"
        yield f"<p>Found by {html(found)}. It would have come: {html(actions)}.</p>\n"


def _rules(data: Dict[str, Any]) -> Iterator[str]:
    if data["rules"]:
        yield "<h3>Rules of health</h3>\n<ul>\n"
        for rule in data["rules"]:
            summary = f"-{rule['penalty']:g}: {rule['message']} {rule['why']} {rule['suggestion']}"
            yield f"<li>Step {rule['step']}, {html(summary)}</li>\n"
        yield "</ul>\n"


class _Timeline:
    """What happened in a run, in its order."""

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
