"""Documents: answers of several lines, to see when other questions bring the same lines again.

A search in other words that lists the same entries in another order has another answer, and still
it brings nothing new. The sentences inside an object are its lines: beside them stand scores, which
are new each time. A snapshot holds no texts, so lines are compared by checksums of 16 bits.
"""

from binascii import crc32
from typing import Any, FrozenSet, Iterable

LEAST_LINES = 5
"""Lines of the shortest document; a shorter answer may be a form with one value in it."""
_LEAST_SENTENCES = 3
_LEAST_WORDS = 4
"""Words of the shortest text in an object that is a sentence, and no name or time."""
_LAYOUT = frozenset(bytes([code]) for code in b":,[]{} \n")
"""The characters that begin a part of JSON between two texts."""
_MOST_LINES = 10
"""Lines of a document that are compared, so that a snapshot stays small."""
_MOST_TEXTS = 8
_WORD = 3
"""Characters of a text that many questions share, such as "asc"."""
_BITS, _DIGITS = 0xFFFF, 4

Checksums = FrozenSet[int]
NONE: Checksums = frozenset()


def lines_of(answer: str) -> Checksums:
    """Return the checksums of some different lines of an answer; none where these are few."""
    return _checksums(encoded(answer).split(b"\n"), LEAST_LINES)


def sentences_of(data: str) -> Checksums:
    """Return the checksums of some different sentences in JSON; none where these are few.

    >>> len(sentences_of('[["It is not here.", "No one knows it.", "Ask them all again.", 0.7]]'))
    3
    """
    parts = encoded(data).split(b'"')
    return _checksums([each for each in parts if _is_sentence(each)], _LEAST_SENTENCES)


def _is_sentence(part: bytes) -> bool:
    # To count spaces is quicker, and settles most parts.
    is_long = part.count(b" ") >= _LEAST_WORDS - 1 and len(part.split()) >= _LEAST_WORDS
    return is_long and part[:1] not in _LAYOUT


def _checksums(lines: Iterable[bytes], least: int) -> Checksums:
    sums = sorted(set(map(crc32, lines)))
    # The smallest: whatever stands around them, two texts with the same lines choose the same.
    return frozenset(map(_BITS.__and__, sums[:_MOST_LINES])) if len(sums) >= least else NONE


def texts_of(arguments: Any) -> Checksums:
    """Return the checksums of the texts that arguments hold; none where these are many."""
    given = arguments.values() if isinstance(arguments, dict) else ()
    texts = {each for each in given if isinstance(each, str) and len(each) > _WORD}
    if len(texts) > _MOST_TEXTS:
        return NONE
    return frozenset(crc32(encoded(text)) & _BITS for text in texts)


def written(checksums: Checksums, digits: int = _DIGITS) -> str:
    """Return checksums as one text, each with so many hexadecimal digits."""
    return "".join(f"{each:0{digits}x}" for each in sorted(checksums))


def read(text: str, digits: int = _DIGITS) -> Checksums:
    """Return the checksums that `written` wrote.

    Raises:
        ValueError: if the text is malformed.
    """
    return frozenset(int(text[at : at + digits], 16) for at in range(0, len(text), digits))


def encoded(text: str) -> bytes:
    """Return a text as UTF-8; lone surrogates are allowed."""
    return text.encode("utf-8", "surrogatepass")
