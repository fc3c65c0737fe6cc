"""One call of a run, and what it was worth when it came."""

from typing import Optional

from .call_features import CallFeatures
from .outcome import EMPTY, SILENT, WAITING


class JudgedCall:
    """One call of a run: its features, and what they were worth when they came."""

    __slots__ = (
        *("_is_change", "call_id", "features", "index"),
        *("is_fresh", "is_known", "is_new", "is_unseen"),
    )

    def __init__(
        self,
        index: int,
        features: CallFeatures,
        call_id: Optional[str],
        is_fresh: bool,
        is_new: bool,
        is_known: bool,
        is_change: Optional[bool] = None,
        is_unseen: bool = False,
    ) -> None:
        self.index = index
        self.features = features
        self.call_id = call_id
        self.is_fresh = is_fresh
        """Whether the answer is a success that the window has not seen from this tool.

        Another answer is also fresh if it leaves less to do than the one before:
        fewer tests fail, more of a job is done.
        """
        self.is_new = is_new
        """Whether the window has not seen the call."""
        self.is_known = is_known
        """Whether the window has seen this answer to this call."""
        self.is_unseen = is_unseen
        """Whether the answer is not known while another call of the round brings something new.

        Some tools run at the provider and never show their results: they give no evidence."""
        self._is_change = is_change

    @property
    def is_change(self) -> bool:
        """Whether the call changed the world in a way that the window has not seen."""
        if self._is_change is None:
            features = self.features
            # A long answer that was given before acknowledges nothing.
            is_readable = self.is_fresh or not features.is_long
            is_possible = self.is_new and is_readable and not features.outcome.is_failure
            self._is_change = is_possible and features.changes_world
        return self._is_change

    @property
    def brings_news(self) -> bool:
        """Whether the answer is known, and is fresh or acknowledges a change."""
        return self.features.result_key is not None and (self.is_fresh or self.is_change)

    @property
    def is_step_forward(self) -> bool:
        """Whether the answer is a failure, but better than the last one."""
        return self.is_fresh and self.features.outcome.counts_down

    @property
    def is_unproductive(self) -> bool:
        """Whether the call was unproductive: it failed, found nothing, or repeated a result."""
        kind = self.features.outcome
        if kind is WAITING:
            return False
        if kind is SILENT:  # a search without output found nothing
            return self.features.only_looks
        if kind.is_failure:
            return not self.is_fresh
        return kind is EMPTY or self.is_known
