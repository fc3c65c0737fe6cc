"""Other words in the place of words: what a text said is gone, how it was built stays.

Each word becomes random letters of the same length and case, the same ones wherever the word comes
again, so texts stay equal, different, alike and as long as they were. Signs and spaces stay. So do

* the words that the caller wants kept, in any form that ends as English words do;
* single letters, and numbers of up to four digits; a longer number becomes another one;
* the endings by which words are compared (the plural) or names are known as those of an id.

The letters come from the system's source of randomness and are written down nowhere, so no one can
compute them from a guessed word. How often a word comes can still be counted.
"""

import re
from itertools import zip_longest
from random import SystemRandom
from typing import AbstractSet, Any, Callable, Dict, Set

from .text_tokens import SIGN

_TOKEN = re.compile(
    r"(?P<id>\b(?:0[xX][0-9a-fA-F]{6,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=[a-fA-F]{0,63}[0-9])(?=[0-9]{0,63}[a-fA-F])[0-9a-fA-F]{8,})\b)"
    r"|(?P<escaped>(?:\\u[0-9a-fA-F]{4})+)|(?P<control>\\[bfnrt])"
    r"|(?P<number>[0-9]+)|(?P<word>[A-Za-z]+)|(?P<foreign>[^\W_0-9A-Za-z]+)"
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONG_NUMBER = re.compile(r"[0-9]{5,}")
_SUFFIXES = tuple(
    """
    s es ed er ers ing d y ies ion ions ity ities ility ilities ence ences ation ations
    """.split()
)
_STEM = 4
# Without vowels they make no word that a rule could take for its own; without an "s", no plural.
_LETTERS = "bcdfghjklmnpqrtvwxz"
_FOREIGN = "".join(map(chr, [*range(0x3B1, 0x3C2), *range(0x430, 0x450), *range(0x561, 0x587)]))
_IDEOGRAPHS = "".join(map(chr, range(0x4E00, 0x5E00)))
_DIGITS, _HEXADECIMAL = "0123456789", "0123456789abcdef"
_OF_JSON = frozenset(["null", "true", "false"])
_SHORT_NUMBER = 4
_ENDINGS = ("timestamp", "time", "id")
_TRIES = 100


class Pseudonyms:
    """Replaces the words of texts and values, each by one other word, as long as it exists.

    Args:
        kept: words that stay, in lower case.
    """

    def __init__(self, kept: AbstractSet[str]) -> None:
        self._kept = kept | _OF_JSON
        self._random = SystemRandom()
        self._names: Dict[str, str] = {}
        self._taken: Set[str] = set()

    def value(self, value: Any) -> Any:
        """Return plain JSON values with other words, as keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        # 123456.5 and 1e+300: only its long runs of digits change.
        return type(value)(_LONG_NUMBER.sub(lambda found: self._number(found[0]), repr(value)))

    def text(self, text: str) -> str:
        """Return a text with other words."""
        return _TOKEN.sub(self._of_token, text)

    def _of_token(self, token: "re.Match[str]") -> str:
        said = token[0]
        if token.lastgroup == "word":
            return self._of_word(said)
        if token.lastgroup == "number":
            return self._number(said)
        if token.lastgroup == "id":
            return self._id(said)
        if token.lastgroup == "escaped":
            return _escaped(self.text(_unescaped(said)))
        return said if token.lastgroup == "control" else self._foreign(said)

    def _of_word(self, word: str) -> str:
        if self._is_kept(word.lower()):
            return word
        return "".join(_in_case_of(part, self._name(part.lower())) for part in _PARTS.findall(word))

    def _is_kept(self, word: str) -> bool:
        if len(word) < 2 or word in self._kept:
            return True
        stems = (word[: -len(each)] for each in _SUFFIXES if word.endswith(each))
        return any(len(stem) >= _STEM and stem in self._kept for stem in stems)

    def _name(self, word: str) -> str:
        """Return the pseudonym of a word in lower case."""
        if self._is_kept(word):
            return word
        if len(word) > 3 and word[-1] == "s":
            return self._name(word[:-1]) + "s"
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) > len(ending) + 1:
                return self._name(word[: -len(ending)]) + ending
        # "agents: 3" reads like the field of a time, "ts", and "agendas: 3" does not.
        last = "t" if word[-1] == "t" else _LETTERS.replace("t", "")
        return self._once(
            word, lambda more: self._any(_LETTERS, len(word) - 1 + more) + self._any(last, 1)
        )

    def _number(self, digits: str) -> str:
        if len(digits) <= _SHORT_NUMBER:
            return digits
        # A time in seconds since 1970 begins with 1 for a long while, and is known by it.
        firsts = digits[0] if digits[0] in "01" else "23456789"
        return self._once(
            digits, lambda more: self._any(firsts, 1) + self._any(_DIGITS, len(digits) - 1 + more)
        )

    def _id(self, said: str) -> str:
        start = 2 if said[:2] in ("0x", "0X") else 0

        def other(more: int) -> str:
            digits = "".join(
                "-" if sign == "-" else self._any(_HEXADECIMAL, 1) for sign in said[start + 2 :]
            ) + self._any(_HEXADECIMAL, more)
            return f"{said[:start]}{self._any(_DIGITS, 1)}{self._any('abcdef', 1)}{digits}"

        made = self._once(said.lower(), other)
        return made if said == said.lower() else made[:start] + made[start:].upper()

    def _foreign(self, word: str) -> str:
        if len(word) == 1:
            return word
        letters = _IDEOGRAPHS if SIGN.search(word) else _FOREIGN
        return self._once(word, lambda more: self._any(letters, len(word) + more))

    def _once(self, word: str, other: Callable[[int], str]) -> str:
        """Return what was made for a word; where it is new, make what is like no other.

        Args:
            word: the word.
            other: makes one, longer by so many characters.
        """
        if word not in self._names:
            tries, made = 0, other(0)
            # Of two letters there are few words; once they are used up, a longer one will do.
            while made in self._taken or self._is_kept(made):
                tries += 1
                made = other(tries // _TRIES)
            self._taken.add(made)
            self._names[word] = made
        return self._names[word]

    def _any(self, letters: str, count: int) -> str:
        return "".join(self._random.choices(letters, k=count))


def _in_case_of(word: str, other: str) -> str:
    if word.islower():
        return other
    cases = zip_longest(word, other, fillvalue=word[-1])  # of few letters the other may have more
    return "".join(new.upper() if old.isupper() else new for old, new in cases)


def _unescaped(text: str) -> str:
    units = bytes.fromhex(text.replace("\\u", ""))
    return units.decode("utf-16-be", "surrogatepass")


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
