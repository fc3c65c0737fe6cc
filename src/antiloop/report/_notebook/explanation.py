"""The explanation of one step in a notebook."""

from ..._short_repr import counted
from ..._text.markup import html
from ...explanation import Count, Explanation, Match, Rung
from .frame import frame, head, listed, more, quiet, text
from .strip import BAD, INK, TONES, Mark, Strip

_ROWS = 12  # detectors, and loops on their ladders
_GRID = (
    "display:grid;grid-template-columns:minmax(7rem,20%) minmax(7rem,20%) 1fr;gap:0 1rem;"
    "align-items:center;margin:.25rem 0"
)


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation as a notebook shows it.

    Each detector has a row: what it counted, how much it needs, and where in the window that is.
    """
    found = explanation.verdict.detection
    rounds = counted(explanation.window_rounds, "round")
    line = head(
        f"Explanation of step {explanation.step}",
        explanation.verdict.action.value if found else "no verdict",
        f"{rounds} in the window, from step {explanation.window_start}",
        f"{explanation.news} with a new answer",
    )
    message = f"<div>{text(found.summary)}</div>" if found else ""
    calls = listed([_call(each) for each in explanation.matches])
    rungs = listed([_rung(each) for each in explanation.rungs], _ROWS)
    return frame(line, message, calls, _counts(explanation), rungs)


def _call(match: Match) -> str:
    """Name a call, and where in the window it stands, too."""
    same = (
        f"the same call {counted(len(match.seen), 'time')} before" if match.seen else "a new call"
    )
    answer = f"{match.answer}, {'new' if match.is_new_answer else 'not new'}"
    call = f"{text(match.tool, 40)} {quiet(text(match.arguments, 80))}"
    return f"step {match.step}: {call} {quiet(f'{same}; its result: {html(answer)}')}"


def _counts(explanation: Explanation) -> str:
    rows = "".join(_count(explanation, each) for each in explanation.counts[:_ROWS])
    grid = f'<div style="{_GRID}">{rows}</div>' if rows else ""
    return grid + "".join(more(len(explanation.counts) - _ROWS))


def _count(explanation: Explanation, count: Count) -> str:
    made = "-" if count.count is None else f"{count.count:,}"
    counts = f"{made} of {count.needed:,} {html(count.unit)}"
    name = text(count.detector, 40)
    if count.is_enough:
        name, counts = f"<b>{name}</b>", f'<b style="color:{BAD}">{counts}</b>'
    return "".join(f"<div>{cell}</div>" for cell in (name, counts, _window(explanation, count)))


def _window(explanation: Explanation, count: Count) -> str:
    """Draw the window, with the calls that were counted."""
    first = explanation.window_start
    size = max(0, explanation.step - first + 1) if count.indices else 0
    if not size:
        return ""
    chosen = {step - first for step in count.indices}
    tone = BAD if count.is_enough else TONES[0]
    marks = [
        Mark(step, 0, tone, rank=1) if step in chosen else Mark(step, 0, INK, rank=-1)
        for step in range(size)
    ]
    strip = Strip(size, marks, 1)
    return f'<div style="width:{strip.width}%">{strip.svg()}</div>'


def _rung(rung: Rung) -> str:
    at = min(rung.climbed, len(rung.actions)) - 1
    ladder = " &#8594; ".join(
        f"<b>{html(name)}</b>" if at == here else html(name)
        for here, name in enumerate(rung.actions)
    )
    refused = "; its calls are blocked" if rung.is_refused else ""
    return f"{text(rung.detector, 40)}: {ladder}{refused}"
