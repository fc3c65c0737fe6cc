"""The part of a text that is kept for comparisons that allow for noise: a few kB."""

import re
from typing import NamedTuple, Tuple

from .fingerprint import text_fingerprint
from .noise import LONG, has_words, without_noise, without_places

_BLOCK = 4_096
_END = 400  # characters at the end of a long text whose lines often say how long it took
_LEFT_OUT = ("...", "…")  # these stand for omitted text
_TERSE = 20  # characters of the longest mere value, and one more
# How JSON and markup begin: their words are values. "[cut] Ask again for the rest" is a remark.
_DATA = re.compile(r"[{<]|\[(?![^\W\d_])")
_OBJECTS = ("{", "[{")  # a workflow gives a list of its items, mostly of one
_VALUE = re.compile(r"\W{0,3}[A-Za-z0-9_.-]*\W{0,3}")
BEGINNING = LONG + _BLOCK
"""Characters of a text that is kept whole."""


class KeptText(NamedTuple):
    """The beginning of a text, and what there is to know of the rest."""

    begin: str
    """More than `noise.LONG` characters, all of a text that is not long."""
    rest: str = ""
    """A fingerprint of what follows, empty where nothing does."""
    has_words: bool = False
    """Whether there are words in what follows."""
    is_object: bool = False
    """Whether it came in an object; most such texts acknowledge, the same for many acts."""

    @property
    def is_data(self) -> bool:
        """Whether the text begins as JSON and markup do."""
        return _DATA.match(self.begin) is not None

    @property
    def is_cut(self) -> bool:
        """Whether the text begins with a sign that something was left out."""
        return self.begin.lstrip().startswith(_LEFT_OUT)

    @property
    def is_value(self) -> bool:
        """Whether the text is a value such as "available", an object, or a list of them."""
        said = self.begin[:_TERSE]
        return said.startswith(_OBJECTS) or _VALUE.fullmatch(said) is not None

    def without_noise(self, keeps_counts: bool = False, is_failure: bool = False) -> str:
        """Return a text that is equal for two whole texts that are equal without noise."""
        begin = without_places(self.begin) if is_failure else self.begin
        masked = without_noise(begin, keeps_counts, self.has_words)
        return "".join(_folded(masked, self.rest, 0))


def kept_text(text: str, is_object: bool = False) -> KeptText:
    """Keep of a text what comparisons need: at most `BEGINNING` characters.

    >>> [len(part) for part in kept_text("word " * 100_000)[:2]]
    [4384, 64]
    """
    if len(text) > LONG:
        text = _with_masked_end(text)
    if len(text) <= BEGINNING:
        return KeptText(text, is_object=is_object)  # most texts
    # One character more than is masked: the last two may be the first of a word.
    begin, rest = _folded(text, "", LONG + 1)
    return KeptText(begin, rest, has_words(text, len(begin) - 1), is_object)


def _with_masked_end(text: str) -> str:
    """Mask noise in the last lines of a long text: no comparison comes so far to do it."""
    start = text.find("\n", len(text) - _END)
    return text if start < 0 else text[:start] + without_noise(text[start:], goes_on=True)


def _folded(text: str, rest: str, least: int) -> Tuple[str, str]:
    """Fold blocks from the end of a text into the fingerprint of the rest.

    Counted from the end, blocks stay the same where noise at the beginning gets longer or shorter.
    """
    end = len(text)
    while end >= least + _BLOCK:
        end -= _BLOCK
        rest = text_fingerprint(text[end : end + _BLOCK] + rest)
    return text[:end], rest
