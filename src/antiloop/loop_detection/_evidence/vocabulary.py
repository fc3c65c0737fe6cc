"""The words by which the rules recognize what a call does and how it ended.

They are read out of the rules themselves, so a rule that learns a word needs no second list.
Redaction keeps these words: they reveal nothing about a run, and without them it would be judged
differently.
"""

import re
from functools import lru_cache
from types import ModuleType
from typing import Any, FrozenSet, Iterator

from .. import _profile_table
from . import (
    amount,
    effect,
    job_state,
    noise,
    outcome,
    plain_answer,
    relayed,
    structure,
    waiting,
    wrapping,
)
from .effect import name_parts

_RULES = (
    *(amount, effect, job_state, noise, outcome, plain_answer, relayed, structure, waiting),
    *(wrapping, _profile_table),
)
_ESCAPE = re.compile(r"\\.")
_LITERAL = re.compile(r"[^\W\d_]{2,}\??")


@lru_cache(maxsize=1)
def rule_words() -> FrozenSet[str]:
    """Return the words, in lower case; of a name such as ``TaskOutput`` its parts, too."""
    return frozenset(word.lower() for module in _RULES for word in _words_of(module))


def _words_of(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if not name.startswith("__"):
            yield from _words_in(value)


def _words_in(value: Any) -> Iterator[str]:
    """Yield the words in texts and patterns, however deep in tables and lists."""
    if isinstance(value, re.Pattern):
        value = value.pattern
    if isinstance(value, str):
        for literal in _LITERAL.findall(_ESCAPE.sub(" ", value)):
            word = literal.rstrip("?")
            yield word
            if literal.endswith("?"):  # errors?
                yield word[:-1]
            if word.isascii():
                yield from name_parts(word)
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _words_in(pair)
    elif isinstance(value, (tuple, list, frozenset)):
        for each in value:
            yield from _words_in(each)
