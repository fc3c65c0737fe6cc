"""Logs of Inspect AI: ``.eval`` archives, of which each sample is a value, and ``.json`` documents.

Long texts that several places share stand once in a sample, as attachments.
"""

from bisect import bisect_left
from dataclasses import replace
from typing import Any, Dict, Iterable, Iterator, List, Optional

from ..._amounts import moment_s
from ...formats import History, from_inspect
from ...formats._internal import (
    field_of,
    items_of,
    mapping_of,
    optional_text,
    tag_of,
    text_of,
    time_of,
    timed,
)
from .._recorded_run import RecordedRun, RunEvent
from .._shared.records import OnTrouble, Record
from .._shared.usage import ReplyUsage, reply_event, total_usage, usage_of

_ATTACHMENT = "attachment://"
MAX_MESSAGES = 100_000
"""Messages of a sample at most: a small archive unpacks to millions."""
MAX_ATTACHED = 1 << 26
"""Characters that attachments put into a sample at most: one may be named a thousand times."""
_LEVELS = 64
"""The depth in a message down to which names of attachments are looked for."""
_READ = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
_WRITTEN = ("output_tokens",)


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a log, the head of one, or one sample of it."""
    return _is_log(value) or _is_sample(value)


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each sample, skipping other values."""
    for record in found:
        if _is_sample(record.value):
            yield from _runs(record.value, record, name, on_trouble)
        elif _is_log(record.value):
            for item, sample in enumerate(items_of(record.value.get("samples"))):
                if _is_sample(sample):
                    place = Record(record.line, item=item)
                    yield from _runs(sample, place, name, on_trouble)
                else:
                    on_trouble(record.line, "")
        else:
            on_trouble(record.line, "")


def _is_log(value: Any) -> bool:
    """Whether it is a log, its head without samples, or the head of one under way."""
    if not isinstance(value, dict) or not isinstance(value.get("eval"), dict):
        return False
    return "task" in value["eval"] and ("plan" in value or "samples" in value)


def _is_sample(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return {"id", "epoch", "input", "target"} <= value.keys()


def _runs(
    sample: Dict[str, Any], place: Record, name: str, on_trouble: OnTrouble
) -> Iterator[RecordedRun]:
    """Yield the run of a sample, unless it passes a bound."""
    texts = mapping_of(sample.get("attachments"))
    if len(sample["messages"]) > MAX_MESSAGES:
        on_trouble(place.line, f"a sample of more than {MAX_MESSAGES:,} messages")
    elif texts and _attached(sample["messages"], texts) > MAX_ATTACHED:
        on_trouble(place.line, f"a sample with more than {MAX_ATTACHED:,} characters attached")
    else:
        yield _run(sample, texts, place.place(name))


def _attached(value: Any, texts: Dict[str, Any], levels: int = _LEVELS) -> int:
    """Count the characters that attachments put in."""
    if isinstance(value, str):
        text = texts.get(value[len(_ATTACHMENT) :]) if _is_name(value) else None
        return len(text) if isinstance(text, str) else 0
    inner = value.values() if isinstance(value, dict) else items_of(value)
    return sum(_attached(item, texts, levels - 1) for item in inner) if levels else 0


def _run(sample: Dict[str, Any], texts: Dict[str, Any], source: str) -> RecordedRun:
    messages = _with_attachments(sample["messages"], texts)
    history = _with_times(from_inspect(messages), sample)
    events = tuple(_replies(sample, messages, history))
    return RecordedRun(
        f"{text_of(sample['id'])}_epoch_{text_of(sample['epoch'])}",
        source=source,
        events=events,
        failed=bool(sample.get("error")),
        **vars(history),
        **vars(_usage(sample)),
    )


def _with_times(history: History, sample: Dict[str, Any]) -> History:
    """Add the times of calls: the messages lack them, and the events of the tools have them."""
    events = {
        optional_text(field_of(event, "id")): event
        for event in items_of(sample.get("events"))
        if tag_of(event, "event") == "tool"
    }
    found = [events.get(call.id) if call.id else None for call in history.calls]
    begun = [time_of(event) for event in found]
    ended = [moment_s(field_of(event, "completed")) for event in found]
    calls = tuple(replace(call, started_at=at) for call, at in zip(history.calls, begun))
    answers = zip(history.results, calls, ended)
    results = tuple(result and timed(result, call, at) for result, call, at in answers)
    return replace(history, calls=calls, results=results)


def _with_attachments(value: Any, texts: Dict[str, Any], levels: int = _LEVELS) -> Any:
    """Replace the names of attachments by their texts; what lies deeper stays as it is."""
    if isinstance(value, str):
        return texts.get(value[len(_ATTACHMENT) :], value) if _is_name(value) else value
    if levels and isinstance(value, list):
        return [_with_attachments(item, texts, levels - 1) for item in value]
    if levels and isinstance(value, dict):
        return {key: _with_attachments(item, texts, levels - 1) for key, item in value.items()}
    return value


def _is_name(text: str) -> bool:
    return text.startswith(_ATTACHMENT)


def _usage(sample: Dict[str, Any]) -> ReplyUsage:
    """Return what the models of a sample used together."""
    by_model = sample.get("model_usage")
    named = by_model.items() if isinstance(by_model, dict) else ()
    usage = total_usage(usage_of(model, amounts, _READ, _WRITTEN) for model, amounts in named)
    answered = optional_text(field_of(sample.get("output"), "model"))
    return ReplyUsage(usage.model or answered, usage.input_tokens, usage.output_tokens)


def _replies(sample: Dict[str, Any], messages: List[Any], history: History) -> Iterator[RunEvent]:
    """Yield each reply of the conversation of which it is known what it took."""
    rounds = [call.round or 0 for call in history.calls]
    places = {text_of(field_of(message, "id")): at for at, message in enumerate(messages)}
    for event in items_of(sample.get("events")):
        output = field_of(event, "output") if tag_of(event, "event") == "model" else None
        at = places.get(_reply_id(output) or "")
        if at is not None:
            usage = usage_of(field_of(output, "model"), field_of(output, "usage"), _READ, _WRITTEN)
            time_s = time_of(event)
            yield reply_event(bisect_left(rounds, at), usage, time_s=time_s)


def _reply_id(output: Any) -> Optional[str]:
    choices = items_of(field_of(output, "choices"))
    return optional_text(field_of(field_of(choices[0], "message"), "id")) if choices else None
