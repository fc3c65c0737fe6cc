"""Equality of calls and results: the SHA-256 of their canonical JSON."""

from hashlib import sha256
from typing import Any

from ..text.canonical import canonical_arguments, text_of


def call_fingerprint(tool_name: Any, arguments: Any) -> str:
    """Return the SHA-256 of a call, as hexadecimal digits."""
    name = text_of(tool_name)
    return text_fingerprint(f"{name}\x00{canonical_arguments(arguments)}")


def text_fingerprint(text: str) -> str:
    """Return the SHA-256 of a text, as hexadecimal digits; lone surrogates are allowed."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
    return sha256(data).hexdigest()
