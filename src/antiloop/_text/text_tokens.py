"""The words of a text that arrives in pieces, and which of them are prose."""

import re
from typing import Iterator, NamedTuple

_LONGEST = 32
"""Characters of one token; a longer word is cut, so that little is held."""
_SIGNS = "\u0900-\u0eff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
"""Scripts that are read character by character: without spaces, or with vowels as marks."""
_TOKEN = re.compile(
    rf"\n|[^\S\n]{{1,{_LONGEST}}}|[{_SIGNS}]|[^\W\d_{_SIGNS}]{{1,{_LONGEST}}}"
    rf"|[\d_]{{1,{_LONGEST}}}|([^\w\s])\1{{0,{_LONGEST - 1}}}"
)
SIGN = re.compile(rf"[{_SIGNS}]")
"""A character of one of them."""
_STRUCTURE = frozenset("|>#{[<]}/$%@\\=-+~\u2022\u00b7\u2013\u2014")
"""Lines of lists, tables, headings, quotes, rules, JSON and logs begin with one of these."""
_BREAK = ("\n",)
_FENCES = ("```", "~~~")
_INDENT = 4
_WIDE = 3
"""Spaces between two words that are two columns."""
_LONG_LINE = 400
"""Characters of a line from which on it is prose, whatever it begins with."""


class Token(NamedTuple):
    """A word, a number, a run of one mark, or the end of a line."""

    text: str
    """As it was written, after a space if there was one before it."""
    is_prose: bool
    """Whether it is a word of a sentence: not of code, a table, a list, a rule or JSON."""


class TextTokens:
    """Splits a text into tokens; what comes out does not depend on where the pieces end."""

    def __init__(self) -> None:
        self._held = ""
        self._is_code = False
        self._begin_line()

    def add(self, piece: str) -> Iterator[Token]:
        """Take the next piece and yield the tokens that are complete."""
        text = self._held + piece
        done = 0
        for found in _TOKEN.finditer(text):
            token = found.group()
            if found.end() == len(text) and _may_go_on(token):
                break
            done = found.end()
            yield from self._classified(token)
        self._held = text[done:]

    def end(self) -> Iterator[Token]:
        """Yield the token that was held back, as no more text comes."""
        held, self._held = self._held, ""
        if held:
            yield from self._classified(held)

    def _begin_line(self) -> None:
        self._before = "\n"
        self._length = 0
        self._is_structure = False

    def _classified(self, token: str) -> Iterator[Token]:
        if token in _BREAK:
            self._begin_line()
            yield Token(token, is_prose=False)
            return
        if token.isspace():
            self._take_space(token)
        else:
            if not self._length:
                self._begin_words(token)
            gap = " " if self._before.isspace() else ""
            yield Token(gap + token, self._is_prose(token))
            self._length += len(token)
        self._before = token

    def _take_space(self, token: str) -> None:
        is_indent = not self._length and (len(token) >= _INDENT or "\t" in token)
        is_item = self._before == "*" and self._length == 1
        self._is_structure = self._is_structure or is_indent or is_item

    def _begin_words(self, token: str) -> None:
        """Look at the first token of a line, which tells what kind of line it is."""
        if token.startswith(_FENCES):
            self._is_code = not self._is_code
            self._is_structure = True
        elif token[0] in _STRUCTURE or token[0].isdigit():
            self._is_structure = True
        elif token[0] in "\"'" and self._before != "\n":
            self._is_structure = True  # a line of indented JSON

    def _is_prose(self, token: str) -> bool:
        if self._is_code or (self._is_structure and self._length < _LONG_LINE):
            return False
        if SIGN.match(token):
            return True
        is_word = token[0].isalpha() and self._before.isspace()
        return is_word and (len(self._before) < _WIDE or not self._length)


def _may_go_on(token: str) -> bool:
    is_whole = token in _BREAK or len(token) == _LONGEST or bool(SIGN.match(token))
    return not is_whole
