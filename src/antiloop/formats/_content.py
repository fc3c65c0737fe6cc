"""Fields and text of messages, whether they are plain JSON or a library's objects."""

from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Tuple, Union

from .._amounts import moment_s
from .._text.binary import label_of_base64
from .._text.canonical import canonical_json, json_or

_THOUGHTS: Mapping[str, Tuple[str, ...]] = {
    "reasoning": ("reasoning", "summary", "content", "text"),
    "reasoning_content": ("reasoning_content",),
    "text_reasoning": ("text",),
    "thinking": ("thinking", "content", "text"),
}
"""The types of blocks that hold thoughts, and the fields that may have their text."""

_PICTURES = ("image", "screenshot")
"""Words in the types of blocks that hold a picture."""


def field_of(thing: Any, name: str) -> Any:
    """Read a key of a mapping or an attribute of an object; None where there is neither."""
    if type(thing) is dict:  # as in all recordings
        return thing.get(name)
    try:
        is_mapping = isinstance(thing, Mapping)
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
    """Read the first of some fields that holds more than nothing; None where none does.

    >>> filled_field({"content": "", "result": 0}, "content", "result")
    0
    """
    return next((field_of(thing, name) for name in names if _is_filled(thing, name)), None)


def _is_filled(thing: Any, name: str) -> bool:
    return isinstance(field_of(thing, name), (bool, int, float)) or flag_of(thing, name)


def first_field(thing: Any, *names: str) -> Any:
    """Read the first of some fields that holds something, else one that is empty; or None."""
    values = (filled_field(thing, *names), *(field_of(thing, name) for name in names))
    return next((value for value in values if value is not None), None)


def time_of(thing: Any) -> Optional[float]:
    """Read the timestamp of a message or an event, in seconds since 1970; None without one."""
    return moment_s(field_of(thing, "timestamp"))


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
    return _text_of_part(content) if flag_of(content, "image_url") else canonical_json(content)


def texts_in(content: Any) -> List[str]:
    """Return the texts of content; pictures, thoughts and other parts do not count.

    >>> texts_in([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}])
    ['Hello']
    """
    if isinstance(content, str):
        return [content] if content else []
    parts = content if isinstance(content, (list, tuple)) else [content]
    spoken = (part for part in parts if tag_of(part, "type") not in _THOUGHTS)
    texts = (part if isinstance(part, str) else field_of(part, "text") for part in spoken)
    return [text for text in texts if isinstance(text, str) and text]


def thoughts_in(content: Any) -> List[str]:
    """Return the texts of the blocks that hold thoughts; redacted ones have none.

    >>> thoughts_in([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}])
    ['hm']
    >>> thoughts_in([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}])
    ['hm']
    """
    readable = (block for block in items_of(content) if not flag_of(block, "redacted"))
    named = ((block, _THOUGHTS.get(tag_of(block, "type"), ())) for block in readable)
    return [text for block, names in named for text in texts_in(filled_field(block, *names))]


def is_compaction(block: Any) -> bool:
    """Whether a block says that the model no longer sees what came before; an empty one says no."""
    is_one = tag_of(block, "type") == "compaction"
    return is_one and filled_field(block, "content", "encrypted_content") is not None


def arguments_of(value: Any) -> Union[Mapping[str, Any], str, None]:
    """Return call arguments as a mapping; text that is not a JSON object stays text."""
    if value is None or isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        return canonical_json(value)
    parsed = json_or(value)
    return parsed if isinstance(parsed, dict) else value


def parsed(value: Any) -> Any:
    """Return what a JSON text says, None for any other text; a value stays as it is."""
    return json_or(value) if isinstance(value, str) else value


def optional_text(value: Any) -> Optional[str]:
    """Return an id or a name as text; None where it is missing or empty."""
    return text_of(value) or None


def items_of(value: Any) -> List[Any]:
    """Return the items of a list or tuple; none of anything else."""
    return list(value) if isinstance(value, (list, tuple)) else []


def mapping_of(value: Any) -> Dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _is_part(part: Any) -> bool:
    return isinstance(part, str) or isinstance(field_of(part, "type"), str)


def _text_of_part(part: Any) -> str:
    text = part if isinstance(part, str) else field_of(part, "text")
    if isinstance(text, str):
        return text
    image = _image_in(part) if any(kind in tag_of(part, "type") for kind in _PICTURES) else ""
    # By its bytes: another name of the file, or another order of the fields, is the same image.
    return label_of_base64("image", image) if image else canonical_json(part)


def _image_in(part: Any) -> str:
    """Return the image of a block as base64 or a data URL; empty where it holds none."""
    for name in ("data", "base64", "image_url", "url", "source", "image"):
        value = field_of(part, name)
        if isinstance(value, str) and (name in ("data", "base64") or value.startswith("data:")):
            return value
        if value is not None and not isinstance(value, str):
            image = _image_in(value)
            if image:
                return image
    return ""
