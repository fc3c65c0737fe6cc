"""The result of a tool, as the model reads it."""

import base64
import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, groupby
from typing import Any, AsyncIterator, Iterable, List, Optional

from ..._text.binary import label_of, label_of_base64
from ..._trace import to_plain
from ...types import Image, ToolResult

_MOST_ITEMS = 100_000
_MOST_TEXT = 2_000_000
"""Characters of what a generator yields that are taken; as much as `to_plain` takes of a value."""
_BYTES_FOR_TEXT = 5
"""Bytes that are taken for one character: they may be an image, which is larger than a text."""
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
    images: List[Image] = []

    def read(part: Any) -> Any:
        if isinstance(part, (Image, *_BYTES)):
            made = result_of(part)
            images.extend(made.images)
            return made.text
        return _bounded(part) if isinstance(part, Iterator) else part

    text = json.dumps(to_plain(value, read), ensure_ascii=False)
    return ToolResult(text, images=tuple(images))


async def collected(items: AsyncIterator[Any]) -> ToolResult:
    """Return what an async generator yields."""
    taken = _Taken()
    async for item in items:
        if not taken.add(item):
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
            break
    return _joined(taken.items)


def is_collected(value: Any) -> bool:
    """Whether a value is to be given to `collected`."""
    return inspect.isasyncgen(value) or hasattr(value, "__anext__")


class _Taken:
    """Takes what a generator yields, up to a bound."""

    def __init__(self) -> None:
        self.items: List[Any] = []
        self._size = 0

    def add(self, item: Any) -> bool:
        """Take an item, and return whether there is room for more."""
        self.items.append(item)
        self._size += len(item) if isinstance(item, str) else 1
        if isinstance(item, _BYTES):
            self._size += len(item) // _BYTES_FOR_TEXT
        has_room = len(self.items) <= _MOST_ITEMS and self._size <= _MOST_TEXT
        if not has_room:
            self.items.append("...")
        return has_room


def _bounded(items: Iterable[Any]) -> List[Any]:
    taken = _Taken()
    for item in items:
        if not taken.add(item):
            break
    return taken.items


def _whole(pieces: List[bytes]) -> List[bytes]:
    """Return bytes that come in pieces; a letter, or an image, may be cut in two."""
    if all(map(_is_text, pieces)):
        return pieces
    starts = [at for at, piece in enumerate(pieces) if not at or _media_type(piece)]
    return [b"".join(pieces[at:end]) for at, end in zip(starts, [*starts[1:], len(pieces)])]


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _joined(items: Iterable[Any]) -> ToolResult:
    grouped = groupby(items, lambda item: isinstance(item, _BYTES))
    whole = (_whole(list(map(bytes, some))) if are_bytes else some for are_bytes, some in grouped)
    parts = [result_of(item) for item in chain.from_iterable(whole)]
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
    text = content.decode("utf-8") if _is_text(content) else label_of("binary data", content)
    return ToolResult(text)


def _is_image(value: Any) -> bool:
    return isinstance(value, Image) or (
        isinstance(value, _BYTES) and _media_type(bytes(value)) is not None
    )


def _media_type(content: bytes) -> Optional[str]:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), None)
