"""Logs of Inspect AI: ``.eval`` archives, of which each sample is a value, and ``.json`` documents.

Long texts that several places share stand once in a sample, as attachments.
"""

from bisect import bisect_left
from typing import Any, Dict, Iterable, Iterator, List, Optional

from ...formats import History, from_inspect
from ...formats.amounts import moment_s
from ...formats.content import field_of, items_of, optional_text, tag_of, text_of
from ..recorded_run import RecordedRun
from ..run_event import RunEvent
from ..shared.records import OnTrouble, Record
from ..shared.usage import Usage, reply_event, total_usage, usage_of

_NO_SAMPLE = "no sample of Inspect AI here"
_ATTACHMENT = "attachment://"
_LEVELS = 64
"""How deep in a message the names of attachments are looked for."""
_READ = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
_WRITTEN = ("output_tokens",)


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a log, the head of one, or one sample of it."""
    return _is_log(value) or _is_sample(value)


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each sample, skipping other values."""
    for record in found:
        if _is_sample(record.value):
            yield _run(record.value, record.place(name))
        elif _is_log(record.value):
            for item, sample in enumerate(items_of(record.value.get("samples"))):
                if _is_sample(sample):
                    yield _run(sample, Record(record.line, item=item).place(name))
                else:
                    on_trouble(record.line, _NO_SAMPLE)
        else:
            on_trouble(record.line, _NO_SAMPLE)


def _is_log(value: Any) -> bool:
    """Whether it is a log, its head without samples, or the head of one under way."""
    if not isinstance(value, dict) or not isinstance(value.get("eval"), dict):
        return False
    return "task" in value["eval"] and ("plan" in value or "samples" in value)


def _is_sample(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return {"id", "epoch", "input", "target"} <= value.keys()


def _run(sample: Dict[str, Any], source: str) -> RecordedRun:
    attached = sample.get("attachments")
    texts: Dict[str, Any] = attached if isinstance(attached, dict) else {}
    messages = _with_attachments(sample["messages"], texts)
    history = from_inspect(messages)
    events = tuple(_replies(sample, messages, history))
    return RecordedRun(
        f"{text_of(sample['id'])}_epoch_{text_of(sample['epoch'])}",
        source=source,
        events=events,
        failed=bool(sample.get("error")),
        **vars(history),
        **vars(_usage(sample)),
    )


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


def _usage(sample: Dict[str, Any]) -> Usage:
    """Return what the models of a sample used together."""
    by_model = sample.get("model_usage")
    named = by_model.items() if isinstance(by_model, dict) else ()
    usage = total_usage(usage_of(model, amounts, _READ, _WRITTEN) for model, amounts in named)
    answered = optional_text(field_of(sample.get("output"), "model"))
    return Usage(usage.model or answered, usage.input_tokens, usage.output_tokens)


def _replies(sample: Dict[str, Any], messages: List[Any], history: History) -> Iterator[RunEvent]:
    """Yield each reply of the conversation of which it is known what it took."""
    rounds = [call.round or 0 for call in history.calls]
    places = {text_of(field_of(message, "id")): at for at, message in enumerate(messages)}
    for event in items_of(sample.get("events")):
        output = field_of(event, "output") if tag_of(event, "event") == "model" else None
        at = places.get(_reply_id(output) or "")
        if at is not None:
            usage = usage_of(field_of(output, "model"), field_of(output, "usage"), _READ, _WRITTEN)
            time_s = moment_s(field_of(event, "timestamp"))
            yield reply_event(bisect_left(rounds, at), usage, time_s=time_s)


def _reply_id(output: Any) -> Optional[str]:
    choices = items_of(field_of(output, "choices"))
    return optional_text(field_of(field_of(choices[0], "message"), "id")) if choices else None
