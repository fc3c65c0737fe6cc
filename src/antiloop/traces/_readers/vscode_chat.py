"""Copilot Chat in VS Code: ``chatSessions/*.json``, exports, and the newer ``*.jsonl``.

The newer files are a log of changes to one document, which is put together first: 0 begins it, 1
sets a value, 2 adds to a list (after cutting it, where ``i`` says so), 3 deletes a value.
"""

from typing import Any, Dict, Iterable, Iterator, List, Optional

from ...formats._internal import field_of, items_of, optional_text, tag_of, text_of, time_of
from .._recorded_run import RecordedRun
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import not_by_record
from .._shared.usage import ReplyUsage

_SESSION = {"responderUsername", "initialLocation", "creationDate", "sessionId"}
_LEVELS = 64
"""The depth in a result down to which its texts are looked for."""


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a session, or the first line of a log of its changes."""
    return _is_session(value) or _is_session(_begun_by(value))


def _is_session(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("requests"), list):
        return False
    return bool(_SESSION & value.keys())


def _begun_by(value: Any) -> Any:
    is_begin = isinstance(value, dict) and value.get("kind") == 0 and "k" not in value
    return value.get("v") if is_begin else None


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    yield from _FORMAT.read(_documents(found, on_trouble), name, on_trouble)


follow = not_by_record


def _documents(found: Iterable[Record], on_trouble: OnTrouble) -> Iterator[Record]:
    """Put logs of changes together."""
    begun: Optional[Record] = None
    for record in found:
        value = record.value
        if _is_session(_begun_by(value)):
            if begun is not None:
                yield begun
            begun = Record(record.line, value["v"], item=record.item)
        elif begun is None:
            yield record
        elif not _changed(begun.value, value):
            on_trouble(record.line, "")
    if begun is not None:
        yield begun


def _changed(session: Any, change: Any) -> bool:
    """Change a session, and say whether the change was understood."""
    path = items_of(field_of(change, "k"))
    kind, value = field_of(change, "kind"), field_of(change, "v")
    if not path or kind not in (1, 2, 3):
        return False
    *way, last = path
    holder = session
    for key in way:
        holder = _at(holder, key)
    if kind == 2:
        return _extend(_at(holder, last), value, field_of(change, "i"))
    if isinstance(holder, dict) and isinstance(last, str):
        holder.update({last: value}) if kind == 1 else holder.pop(last, None)
        return True
    if isinstance(holder, list) and type(last) is int and 0 <= last <= len(holder):
        holder[last : last + 1] = [value] if kind == 1 else []
        return True
    return False


def _extend(items: Any, more: Any, start: Any) -> bool:
    if not isinstance(items, list):
        return False
    if type(start) is int and start >= 0:
        del items[start:]
    items.extend(items_of(more))
    return True


def _at(holder: Any, key: Any) -> Any:
    if isinstance(holder, dict):
        return holder.get(key) if isinstance(key, str) else None
    is_there = isinstance(holder, list) and type(key) is int and 0 <= key < len(holder)
    return holder[key] if is_there else None


def _listed(value: Any) -> Iterator[Listed]:
    if _is_session(value):
        session = optional_text(value.get("sessionId"))
        for request in value["requests"]:
            yield session, "", request
        if not value["requests"]:
            yield session, "", None


def _take(run: ListedRun, request: Any) -> None:
    run.add_user_message(_text_of_message(field_of(request, "message")))
    at = time_of(request)
    model = optional_text(field_of(request, "modelId"))
    run.used(ReplyUsage(model), at)
    metadata = field_of(field_of(request, "result"), "metadata")
    rounds = items_of(field_of(metadata, "toolCallRounds"))
    parts = items_of(field_of(request, "response"))
    results = field_of(metadata, "toolCallResults")
    # Some versions keep only the thoughts of a round, and its calls where the editor shows them.
    if any(field_of(each, "toolCalls") for each in rounds) or not any(map(_is_tool, parts)):
        for each in rounds:
            _take_round(run, each, results)
        if not rounds:
            _take_parts(run, parts, results)
    else:
        _take_parts(run, parts, results)


def _take_round(run: ListedRun, round_: Any, results: Any) -> None:
    run.begin_reply()
    at = time_of(round_)
    run.add_thoughts(text_of(field_of(field_of(round_, "thinking"), "text")))
    run.add_reply(text_of(field_of(round_, "response")))
    calls = items_of(field_of(round_, "toolCalls"))
    for call in calls:
        run.ask(call, at)
    for call in calls:
        call_id = optional_text(field_of(call, "id"))
        _take_result(run, call_id, field_of(results, call_id) if call_id else None)


def _take_result(run: ListedRun, call_id: Optional[str], given: Any) -> None:
    if given is not None:
        text = "\n".join(_texts(field_of(given, "content")))
        run.result(text, call_id, failed=field_of(given, "isError") is True)


def _is_tool(part: Any) -> bool:
    return tag_of(part, "kind") == "toolInvocationSerialized"


def _take_parts(run: ListedRun, parts: List[Any], results: Any) -> None:
    """Take what the editor shows, which is all there is of a request under way."""
    for part in parts:
        kind = tag_of(part, "kind")
        if _is_tool(part):
            details, call_id = field_of(part, "resultDetails"), text_of(part.get("toolCallId"))
            run.begin_reply()
            run.call(field_of(part, "toolId"), _arguments_shown(part, details), call_id)
            given = field_of(results, call_id)
            output = "\n".join(_texts(field_of(details, "output")))
            if output and given is None:
                given = {"content": output, "isError": field_of(details, "isError")}
            _take_result(run, call_id, given)
        elif kind == "thinking":
            run.add_thoughts(*_texts(field_of(part, "value")))
        elif kind in ("", "markdownContent"):
            run.add_reply(*_texts(field_of(part, "value") or field_of(part, "content")))


def _arguments_shown(part: Any, details: Any) -> Any:
    """Return the arguments, or else what the editor shows of them."""
    given = field_of(details, "input")
    if given is not None:
        return given
    shown: Dict[str, Any] = {}
    for name in ("toolSpecificData", "invocationMessage"):
        value = field_of(part, name)
        if value is not None:
            shown[name] = value
    return shown


def _text_of_message(message: Any) -> str:
    text = field_of(message, "text")
    return text_of(message if text is None else text)


def _texts(value: Any, levels: int = _LEVELS) -> List[str]:
    """Return the texts in a value: under ``text`` and ``value``, in their order."""
    if isinstance(value, str):
        return [value] if value else []
    if not levels or not isinstance(value, (dict, list)):
        return []
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return [value["text"]] if value["text"] else []
        inner: Iterable[Any] = (each for each in value.values() if isinstance(each, (dict, list)))
        if isinstance(value.get("value"), str):
            inner = [value["value"]]
    else:
        inner = value
    return [text for each in inner for text in _texts(each, levels - 1)]


_FORMAT = ListedFormat(recognizes, _listed, _take, client="copilot-chat", is_document=True)
