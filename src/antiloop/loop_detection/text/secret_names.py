"""Keys that name a secret, and keys that only look so."""

import re
from functools import lru_cache

NAME_LENGTH = 200
"""Characters of a key that are looked at."""

_SECRET_NAME = re.compile(
    r"passw(?:or)?d|passphrase|passcode|secret(?!ar)|credential|authori[sz]ation|cookie"
    r"|(?:api|access|private|signing|encryption|account|shared|master|ssh)key"
    r"|(?:access|refresh|auth|api|bearer|session|csrf|xsrf)token"
    r"|session(?:id|key)|token(?:value|string)?\d*$"
)
_SHORT_NAMES = frozenset(["pass", "pwd", "auth", "jwt", "creds", "session", "sessid", "bearer"])
_PLAIN_NAME = re.compile(  # names about secrets whose values are not secrets
    r"(?:count|limit|length|size|usage|budget|type|name|polic(?:y|ie)|file|path|dir|ur[li]|endpoint"
    r"|expiry|expires(?:at|in)?|expiration|ttl|required|enabled|valid|method|stdin|prompt|total"
    r"|strength|hint|field|index|rate|cost)s?\d*$"
    r"|^(?:max|min)|(?:max|min|next|page|prev|previous|continuation|pagination|eos|bos|pad)token$"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


def names_secret(key: str) -> bool:
    """Whether a key names a secret, in any case and with any separators.

    >>> [names_secret(key) for key in ("dbPassword", "X-API-Key", "max_tokens", "next_page_token")]
    [True, True, False, False]
    """
    if len(key) > NAME_LENGTH:
        key = key[: NAME_LENGTH // 2] + key[-NAME_LENGTH // 2 :]
    return _names_secret(key)


@lru_cache(maxsize=1024)
def _names_secret(key: str) -> bool:
    plain = _NO_LETTERS.sub("", key.lower())
    if _PLAIN_NAME.search(plain):
        return False
    words = {word.lower() for word in _WORD.findall(key)}
    return bool(_SECRET_NAME.search(plain)) or not _SHORT_NAMES.isdisjoint((plain, *words))
