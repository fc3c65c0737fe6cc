"""Features of calls of which no text is kept."""

from typing import Optional

from .call_features import CallFeatures
from .shown_arguments import UNKNOWN_ARGUMENTS
from .window import Window

_DERIVED = ("changes_world", "is_polled", "is_command", "is_missing", "only_looks")


class Missed:
    """Whether a comparison needed a text that is no longer kept."""

    __slots__ = ("has_happened",)

    def __init__(self) -> None:
        self.has_happened = False


class TextlessFeatures(CallFeatures):
    """The features of a call without its arguments and its result.

    They compare as before, except by a looser key that was not made while the texts were there.
    """

    __slots__ = ("_missed",)
    _missed: Missed

    @classmethod
    def without_texts(cls, full: CallFeatures, missed: Missed) -> "TextlessFeatures":
        """Make such features; `missed` notes a comparison that needs a text."""
        features = cls(full.tool, full.call, full.mutates, full.result, full.outcome, full.is_long)
        features.compare_as(full.call, full.result)
        # Near arguments are cheap to derive, and compared more often than all other texts.
        full.normalized("near")
        keys = {name: key for name, key in (full._normalized or {}).items() if key is not None}
        derived = {name: getattr(full, name) for name in _DERIVED}
        features.restore(keys, UNKNOWN_ARGUMENTS, **derived)
        features.masking = full.masking
        features._missed = missed
        return features

    def _made(self, name: str) -> Optional[str]:  # noqa: ARG002 - no key can be made any more
        # An unknown result has no text.
        self._missed.has_happened = self._missed.has_happened or self.result_key is not None
        return None


def forget_texts(window: Window, missed: Missed) -> None:
    """Let go of all texts in a window.

    What the window finds from now on counts only as long as `missed` has not happened, and its
    findings do not name the arguments of earlier calls.
    """
    for item in window:
        if not isinstance(item.features, TextlessFeatures):
            item.features = TextlessFeatures.without_texts(item.features, missed)
    window.compare_by_fingerprint()
