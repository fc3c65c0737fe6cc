"""What stands for a call or a result outside the process: the SHA-256 of its canonical JSON."""

from functools import lru_cache
from hashlib import sha256
from typing import Any

from ..text.canonical import canonical_arguments, plain_json, text_of

KEY_LENGTH = 10
"""Hexadecimal digits of a fingerprint that are kept: 40 bits tell the calls of a window apart."""
_KEY_BYTES = KEY_LENGTH // 2


def call_fingerprint(tool_name: Any, arguments: Any) -> str:
    """Return the SHA-256 of a call, as hexadecimal digits."""
    name = text_of(tool_name)
    return text_fingerprint(f"{name}\x00{canonical_arguments(arguments)}")


def text_fingerprint(text: str) -> str:
    """Return the SHA-256 of a text, as hexadecimal digits; lone surrogates are allowed."""
    return digest_of(text).hex()


def digest_of(text: str) -> bytes:
    """Return the SHA-256 of a text, which no text equals; lone surrogates are allowed."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def short_call_fingerprint(tool: str, arguments: Any) -> str:
    """Return a short key: its first half is of the arguments, its second of tool and arguments.

    Calls sorted by their keys are sorted by their arguments, whatever the tools are named.

    Args:
        tool: the name of the tool.
        arguments: as plain JSON values.
    """
    digest = digest_of(plain_json(arguments))
    number = int.from_bytes(digest[:_KEY_BYTES], "big") ^ _half_key(tool)
    return number.to_bytes(_KEY_BYTES, "big").hex()


@lru_cache(maxsize=1024)
def _half_key(tool: str) -> int:
    return int(text_fingerprint(tool)[: KEY_LENGTH // 2], 16)
