"""Fields and text of messages, whether they are plain JSON or a library's objects."""

import json
from collections.abc import Mapping
from typing import Any, List, Optional, Union

from ..loop_detection.text.canonical import canonical_json

_UNPARSABLE = (ValueError, RecursionError)


def field_of(thing: Any, name: str) -> Any:
    """Read a key of a mapping or an attribute of an object; None where there is neither."""
    try:
        # A dictionary is found out at once; asking an abstract class takes its time.
        is_mapping = isinstance(thing, (dict, Mapping))
        return thing.get(name) if is_mapping else getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - foreign code ran: what it does not give is not there
        return None


def tag_of(thing: Any, name: str) -> str:
    """Read a field that holds one of a format's own words; empty text where it holds no text."""
    tag = field_of(thing, name)
    return tag if isinstance(tag, str) else ""


def flag_of(thing: Any, name: str) -> bool:
    """Read a field that says yes or no; what is there and cannot tell says yes."""
    try:
        return bool(field_of(thing, name))
    except Exception:  # noqa: BLE001 - foreign code ran, such as that of an array
        return True


def filled_field(thing: Any, *names: str) -> Any:
    """Read the first of some fields that holds more than nothing; None where none does."""
    return next((field_of(thing, name) for name in names if flag_of(thing, name)), None)


def text_of(content: Any) -> str:
    r"""Return content as text: text itself, the texts of parts line by line, or canonical JSON.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\nb'
    >>> text_of({"b": 1, "a": None})
    '{"a":null,"b":1}'
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, (list, tuple)) and all(map(_is_part, content)):
        return "\n".join(map(_text_of_part, content))
    return canonical_json(content)


def texts_in(content: Any) -> List[str]:
    """Return the texts of content; pictures, thoughts and other parts do not count.

    >>> texts_in([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}])
    ['Hello']
    """
    parts = content if isinstance(content, (list, tuple)) else [content]
    texts = (part if isinstance(part, str) else field_of(part, "text") for part in parts)
    return [text for text in texts if isinstance(text, str) and text]


def arguments_of(value: Any) -> Union[Mapping[str, Any], str, None]:
    """Return call arguments as a mapping; text that is not a JSON object stays text."""
    if value is None or isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        return canonical_json(value)
    try:
        parsed = json.loads(value)
    except _UNPARSABLE:
        return value
    return parsed if isinstance(parsed, dict) else value


def optional_text(value: Any) -> Optional[str]:
    """Return an id or a name as text; None where it is missing or empty."""
    return text_of(value) or None


def items_of(value: Any) -> List[Any]:
    """Return the items of a list or tuple; none of anything else."""
    return list(value) if isinstance(value, (list, tuple)) else []


def _is_part(part: Any) -> bool:
    return isinstance(part, str) or isinstance(field_of(part, "type"), str)


def _text_of_part(part: Any) -> str:
    text = part if isinstance(part, str) else field_of(part, "text")
    return text if isinstance(text, str) else canonical_json(part)
