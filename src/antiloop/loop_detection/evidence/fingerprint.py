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


def call_key(tool: str, arguments: str, length: int) -> str:
    """Return a short key: its first half is of the arguments, its second of tool and arguments.

    Calls sorted by their keys are sorted by their arguments, whatever the tools are named.
    """
    try:
        first, rest = arguments.encode(), f"\x00{tool}".encode()
    except UnicodeEncodeError:
        first, rest = (text.encode("utf-8", "surrogatepass") for text in (arguments, f"\x00{tool}"))
    half = length // 2
    digest = sha256(first)
    of_arguments = digest.hexdigest()[:half]
    digest.update(rest)
    return of_arguments + digest.hexdigest()[: length - half]
