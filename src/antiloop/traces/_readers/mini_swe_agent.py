"""mini-swe-agent's ``.traj.json`` files. Each is one JSON document, which is read whole."""

from bisect import bisect_left
from typing import Any, Dict, Iterator, List

from ..._amounts import number
from ...formats import History, from_mini_swe_agent
from ...formats._internal import field_of, items_of, optional_text, text_of
from .._recorded_run import RecordedRun, RunEvent
from .._shared.run_under_way import whole_runs
from .._shared.usage import ReplyUsage, chat_usage, reply_event, total_usage

_ENDED_WELL = ("", "Submitted")


def recognizes(value: Any) -> bool:
    """Whether a JSON value is one run of mini-swe-agent."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return text_of(value.get("trajectory_format")).startswith("mini-swe-agent")


def _replies(messages: List[Any], history: History) -> Iterator[RunEvent]:
    """Yield each reply of which it is known what it took."""
    rounds = [call.round or 0 for call in history.calls]
    for index, message in enumerate(messages):
        extra = field_of(message, "extra")
        usage = chat_usage(field_of(extra, "response"))
        cost = number(field_of(extra, "cost"))
        if (usage, cost) != (ReplyUsage(), None):
            yield reply_event(bisect_left(rounds, index), usage, cost=cost)


def _runs(value: Dict[str, Any], source: str) -> Iterator[RecordedRun]:
    messages = items_of(value["messages"])
    history = from_mini_swe_agent(messages)
    replies = tuple(_replies(messages, history))
    info = value.get("info")
    model = field_of(field_of(field_of(info, "config"), "model"), "model_name")
    yield RecordedRun(
        optional_text(value.get("instance_id")) or source,
        source=source,
        events=replies,
        cost=number(field_of(field_of(info, "model_stats"), "instance_cost")),
        failed=text_of(field_of(info, "exit_status")) not in _ENDED_WELL,
        **vars(history),
        **{**vars(total_usage(replies)), "model": optional_text(model)},
    )


read = whole_runs(recognizes, _runs)
