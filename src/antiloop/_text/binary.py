"""Binary content as a short text that is equal where the bytes are."""

import binascii
from base64 import b64decode
from hashlib import sha256

_PREFIX = "data:"
# Hexadecimal digits look like a random id, which is left out where results are compared.
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


def label_of(kind: str, content: bytes) -> str:
    """Return what stands for binary content in a text that is compared.

    >>> label_of("image/png", b"abc")
    '[image/png, 3 bytes, lkhibglpipabmpok]'
    """
    digest = sha256(content).hexdigest()[:16].translate(_LETTERS)
    return f"[{kind}, {len(content):,} bytes, {digest}]"


def label_of_base64(kind: str, text: str) -> str:
    """Return the same for base64 or a data URL; of what is none, the text decides.

    >>> label_of_base64("image", "data:image/png;base64,YWJj")
    '[image/png, 3 bytes, lkhibglpipabmpok]'
    """
    if text.startswith(_PREFIX):
        head, _, text = text.partition(",")
        kind = head[len(_PREFIX) :].partition(";")[0] or kind
    try:
        return label_of(kind, b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError):
        return label_of(kind, text.encode("utf-8", "surrogatepass"))
