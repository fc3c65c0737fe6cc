"""The result of a tool, as the model reads it."""

import base64
import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, AsyncIterator, Iterable, List, Mapping, Optional

from ..._text.binary import label_of, label_of_base64
from ..._trace import to_plain
from ...types import Image, ToolResult

_MOST_ITEMS = 100_000
_MOST_TEXT = 2_000_000
"""Characters of what a generator yields that are taken; as much as `to_plain` takes of a value."""
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_BYTES = (bytes, bytearray, memoryview)


def result_of(value: Any) -> ToolResult:
    """Return what a tool returned as the model reads it.

    Text is taken as it is, None as "", images as images, bytes as text where they are UTF-8, what a
    generator yields as the pieces of a text, and the rest as JSON, pydantic models included.
    """
    if isinstance(value, ToolResult):
        return value if type(value.text) is str else replace(value, text=result_of(value.text).text)
    if value is None or isinstance(value, str):
        return ToolResult(value or "")
    if isinstance(value, Image):
        return _image_result(value)
    if isinstance(value, _BYTES):
        return _bytes_result(bytes(value))
    if isinstance(value, Iterator):
        return _joined(_bounded(value))
    if isinstance(value, (list, tuple)) and any(map(_is_image, value)):
        return _joined(value)
    return ToolResult(json.dumps(to_plain(_listed(value)), ensure_ascii=False))


def _listed(value: Any, depth: int = 3) -> Any:
    """Return a mapping or a list with what its generators yield; another value as it is.

    Only so deep: an object may be inside itself, and `to_plain` bounds the rest.
    """
    if isinstance(value, Iterator):
        return _bounded(value)
    if depth and isinstance(value, Mapping):
        return {key: _listed(each, depth - 1) for key, each in value.items()}
    if depth and type(value) in (list, tuple):
        return [_listed(each, depth - 1) for each in value]
    return value


async def collected(items: AsyncIterator[Any]) -> ToolResult:
    """Return what an async generator yields."""
    taken: List[Any] = []
    size = 0
    async for item in items:
        taken.append(item)
        size += len(item) if isinstance(item, str) else 1
        if len(taken) > _MOST_ITEMS or size > _MOST_TEXT:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
            taken.append("...")
            break
    return _joined(taken)


def is_collected(value: Any) -> bool:
    """Whether a value is to be given to `collected`."""
    return inspect.isasyncgen(value) or hasattr(value, "__anext__")


def _bounded(items: Iterable[Any]) -> List[Any]:
    taken: List[Any] = []
    size = 0
    for item in items:
        taken.append(item)
        size += len(item) if isinstance(item, str) else 1
        if len(taken) > _MOST_ITEMS or size > _MOST_TEXT:
            taken.append("...")
            break
    return taken


def _joined(items: Iterable[Any]) -> ToolResult:
    parts = [result_of(item) for item in items]
    texts = [part.text for part in parts]
    # Pieces of a text have white space at their ends somewhere; items of a list have none.
    are_pieces = any(text != text.strip() for text in texts)
    text = ("" if are_pieces else "\n").join(texts)
    is_error = any(part.is_error for part in parts)
    return ToolResult(text, is_error, images=tuple(each for part in parts for each in part.images))


def _image_result(image: Image) -> ToolResult:
    # Two images are the same result where their bytes are: the text is what is compared.
    return ToolResult(label_of_base64(image.media_type, image.data), images=(image,))


def _bytes_result(content: bytes) -> ToolResult:
    kind = _media_type(content)
    if kind is not None:
        return _image_result(Image(base64.b64encode(content).decode("ascii"), kind))
    try:
        return ToolResult(content.decode("utf-8"))
    except UnicodeDecodeError:
        return ToolResult(label_of("binary data", content))


def _is_image(value: Any) -> bool:
    return isinstance(value, Image) or (
        isinstance(value, _BYTES) and _media_type(bytes(value)) is not None
    )


def _media_type(content: bytes) -> Optional[str]:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), None)
