"""Whether a round can matter at all, before a conversation is replayed."""

from typing import Any, Collection, Container

from ...formats import History
from ...loop_detection import LoopDetector
from ...loop_detection.evidence.plain_answer import is_plain_success
from ...loop_detection.text.canonical import parsed_arguments
from ...types import ToolCall

_PRESETS = (LoopDetector.default, LoopDetector.escalating)


def needs_repetition(detector: LoopDetector) -> bool:
    """Whether a detector finds a loop only if something comes back that was there before.

    It holds for the detectors of the presets ``default`` and ``escalating``, whatever is done about
    what they find, unless something is declared about tools.
    """
    if detector.tools:
        return False
    known = [preset().to_config()["detectors"] for preset in _PRESETS]
    try:
        # Not the detector itself: its words and masks may be code, which makes no difference here.
        own = LoopDetector(detector.detectors, window=detector.window).to_config()["detectors"]
    except ValueError:  # it has a detector of the user's own
        return False
    return own in known


def is_all_new(history: History, last: History, ignored: Container[str] = ()) -> bool:
    """Whether the last round has calls that were never made, with successes that were never given.

    Args:
        history: the turn.
        last: its last round.
        ignored: names of tools whose calls do not count.
    """
    past = len(history) - len(last)
    calls = history.calls[:past]
    texts = {result.text for result in history.results[:past] if result is not None}
    for call, result in zip(last.calls, last.results):
        if call.tool_name in ignored:
            continue
        if result is None or result.text in texts or _was_made(call, calls):
            return False
        if not is_plain_success(result.text, result.is_error):
            return False
    return True


def _was_made(call: ToolCall, calls: Collection[ToolCall]) -> bool:
    arguments = _arguments(call)
    # True equals 1 here and nowhere else: then the closer look is taken, which knows better.
    return any(_arguments(each) == arguments for each in calls if each.tool_name == call.tool_name)


def _arguments(call: ToolCall) -> Any:
    """Return arguments to compare; an empty value is written in several ways."""
    given = call.arguments
    return given if isinstance(given, dict) else parsed_arguments(given)
