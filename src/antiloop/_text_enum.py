"""Choices that are texts."""

from enum import Enum


class TextEnum(str, Enum):
    """A choice that is its text, in an f-string too: Python 3.12 would write its name."""

    def __format__(self, spec: str) -> str:
        return str.__format__(self.value, spec)
