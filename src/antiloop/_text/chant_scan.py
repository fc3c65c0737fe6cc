"""One text, searched for a stretch that repeats, while it arrives.

Two counts run side by side. A stretch that repeats exactly is found by the distance between equal
tokens. A few sentences that repeat in changing order have no such distance, so the latest
sentences are counted as well.
"""

from collections import Counter, deque
from typing import Deque, Dict, Iterable, List, NamedTuple, Optional, Tuple
from zlib import crc32

from .text_tokens import TextTokens, Token

LONGEST_LAP = 400
"""Tokens of the longest stretch that is found."""
_LEAST_PROSE = 0.6
"""This share of the repeated characters must be words of sentences."""
_FEW_WORDS, _FOR_FEW_WORDS = 3, 4
"""A stretch with fewer different words must go on for longer, by this factor."""
_ALIKE = 4
"""Equal tokens in a row that make a distance worth following."""
_ENDS = tuple(".!?\n\u3002")
"""A sentence ends with one of these."""
_FEW_SENTENCES = 8
"""The number of different sentences that may come in changing order."""
_SHOWN = 80
"""Characters of each of them that are shown."""
_BITS = 32
_CODE = (1 << _BITS) - 1
_KEY = (1 << _BITS * _ALIKE) - 1


class Chant(NamedTuple):
    """A stretch of a text that repeats."""

    laps: int
    """The number of times that it came until it was found."""
    key: Tuple[int, ...]
    """Equal keys mean the same stretch, also in another text, wherever in it one begins."""
    text: str
    """One lap of it."""


class _Sentence(NamedTuple):
    key: int
    begin: str
    length: int
    prose: int
    """The number of characters in words that are prose."""


class ChantScan:
    """Looks for a stretch that repeats; each token costs the same.

    Consecutive tokens that came before give the distance at which the text may repeat itself.
    As long as it does, the row is counted; where it does not, the latest tokens give another
    distance.

    Args:
        repetitions: how often a stretch comes before it is a chant.
        length: how many characters are repeated, spaces aside, before it is one.
    """

    def __init__(self, repetitions: int, length: int) -> None:
        self._repetitions = repetitions
        self._length = length
        self._tokens = TextTokens()
        self._count = 0
        self._key = 0
        self._keys = [0] * LONGEST_LAP
        self._latest: List[Token] = [Token("", is_prose=False)] * LONGEST_LAP
        self._seen: Dict[int, int] = {}
        self._sentences = _Sentences(repetitions, 2 * length)
        self._follow(0)

    @property
    def laps(self) -> Optional[int]:
        """Return how often the latest stretch came by now; None where nothing repeats."""
        return self._run // self._distance + 1 if self._run else None

    def add(self, piece: str) -> Optional[Chant]:
        """Take the next piece, and return the first chant that it shows."""
        return self._take(self._tokens.add(piece))

    def end(self) -> Optional[Chant]:
        """Return the chant that the end of the text shows."""
        return self._take(self._tokens.end())

    def _take(self, tokens: Iterable[Token]) -> Optional[Chant]:
        found = None
        for token in tokens:
            self._add(token)
            if self._chars >= self._next_look:
                found = found or self._look()
            few = self._sentences.add(token)
            if few is not None and not self._is_chant:  # else they are those of the chant
                found = found or few
        return found

    @property
    def _is_chant(self) -> bool:
        return (self.laps or 0) >= self._repetitions

    def _add(self, token: Token) -> None:
        code = crc32(token.text.strip(" ").lower().encode("utf-8", "replace"))
        earlier = self._keys[(self._count - self._distance) % LONGEST_LAP] & _CODE
        goes_on = bool(self._distance) and code == earlier
        self._key = (self._key << _BITS | code) & _KEY
        before = self._seen.get(self._key)
        self._remember(token)
        if goes_on:
            self._count_in(token)
        else:
            self._follow(0 if before is None else self._count - 1 - before)

    def _follow(self, distance: int) -> None:
        self._distance = distance
        self._run = self._chars = self._prose = 0
        self._next_look = self._length
        if distance:
            for back in range(1, _ALIKE + 1):
                self._count_in(self._latest[(self._count - back) % LONGEST_LAP])

    def _count_in(self, token: Token) -> None:
        length = len(token.text.strip())
        self._run += 1
        self._chars += length
        self._prose += length if token.is_prose else 0

    def _remember(self, token: Token) -> None:
        """Replace the oldest token."""
        at = self._count % LONGEST_LAP
        oldest = self._keys[at]
        if self._seen.get(oldest) == self._count - LONGEST_LAP:
            del self._seen[oldest]
        self._seen[self._key] = self._count
        self._keys[at], self._latest[at] = self._key, token
        self._count += 1

    def _look(self) -> Optional[Chant]:
        """Look at the stretch that repeats; the next look is due when it is twice as long."""
        self._next_look = 2 * self._chars
        laps = self._run // self._distance + 1
        if laps < self._repetitions:
            self._next_look = self._chars + 1
            return None
        if self._prose < _LEAST_PROSE * self._chars:
            return None
        places = [(self._count - back) % LONGEST_LAP for back in range(self._distance, 0, -1)]
        lap = [self._latest[place] for place in places]
        words = {token.text.lower() for token in lap if token.is_prose}
        if len(words) < _FEW_WORDS and self._chars < _FOR_FEW_WORDS * self._length:
            return None
        codes = (self._keys[place] & _CODE for place in places)
        return Chant(laps, tuple(sorted(codes)), _words_of(lap))


class _Sentences:
    """The latest sentences of a text, which may be a few that come again and again in any order.

    Sentences of code and numbers count as well, so that they show a text that is about something.

    Args:
        repetitions: how often a sentence of them comes on average.
        length: characters of words that they have at least, spaces aside.
    """

    def __init__(self, repetitions: int, length: int) -> None:
        self._length = length
        self._most = repetitions * _FEW_SENTENCES
        self._open: List[Token] = []
        self._begin()

    def _begin(self) -> None:
        self._latest: Deque[_Sentence] = deque()
        self._counts: Counter[int] = Counter()

    def add(self, token: Token) -> Optional[Chant]:
        """Take the next token, and return the sentences if too many of them came before."""
        self._open.append(token)
        if token.text[-1] not in _ENDS and len(self._open) < LONGEST_LAP:
            return None
        ended, self._open = self._open, []
        return self._end(ended) if len(ended) > 1 else None  # else it is an empty line

    def _end(self, ended: List[Token]) -> Optional[Chant]:
        text = "".join(token.text for token in ended).strip()
        prose = sum(len(token.text.strip()) for token in ended if token.is_prose)
        key = crc32(text.lower().encode("utf-8", "replace"))
        sentence = _Sentence(key, text[:_SHOWN], len(text), prose)
        self._latest.append(sentence)
        self._counts[sentence.key] += 1
        if len(self._latest) > self._most:
            oldest = self._latest.popleft()
            self._counts[oldest.key] -= 1
            if not self._counts[oldest.key]:
                del self._counts[oldest.key]
        is_few = len(self._latest) == self._most and len(self._counts) <= _FEW_SENTENCES
        return self._found() if is_few else None

    def _found(self) -> Optional[Chant]:
        prose = sum(each.prose for each in self._latest)
        if prose < max(self._length, _LEAST_PROSE * sum(each.length for each in self._latest)):
            return None
        laps = len(self._latest) // len(self._counts)
        different = {each.key: each.begin for each in self._latest}
        self._begin()  # so many must come once more before they are found again
        return Chant(laps, tuple(sorted(different)), " ".join(different.values()))


def _words_of(lap: List[Token]) -> str:
    """Write a lap from the beginning of a sentence on, if one begins in it."""
    ends = (at for at, token in enumerate(lap, 1) if token.text.strip(" ")[-1:] in _ENDS)
    begin = next(ends, 0)
    return "".join(token.text for token in lap[begin:] + lap[:begin]).strip()
