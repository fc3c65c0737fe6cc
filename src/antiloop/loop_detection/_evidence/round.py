"""The calls of one model reply."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Dict, List, Optional, Tuple

from ..._short_repr import counted, quoted, short_repr
from ...stability import beta
from .call_features import CallFeatures
from .derived import derived
from .outcome import EMPTY, SILENT, SUCCESS, WAITING, Outcome


@beta
@dataclass(frozen=True, eq=False, repr=False)
class JudgedCall:
    """A call as the window marked it: a value that never changes."""

    index: int
    """The number of the call, counted from 0 over the run."""
    features: CallFeatures
    call_id: Optional[str] = None
    ended_at: Optional[float] = None
    """The time of the answer, in seconds of any clock; None where the run does not say."""
    is_fresh: bool = False
    """Whether the answer is a success that the window has not seen from this tool, and no echo.

    Another answer is also fresh if it leaves less to do than the one before: fewer tests fail, more
    of a job is done. Where nothing was said, or the answer is not known, a new call is fresh.
    """
    is_new: bool = False
    """Whether the window has not seen the call."""
    is_known: bool = False
    """Whether the window has seen this answer to this call."""
    is_retold: bool = False
    """Whether most lines of a new answer came in earlier answers of the tool to other questions."""
    is_unseen: bool = False
    """Whether the answer is not known while another call of the round brings something new.

    Some tools run at the provider and never show their results: they give no evidence."""

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.tool), f"index={self.index}", self.outcome.name)

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.features.tool

    @property
    def call(self) -> str:
        """The fingerprint of tool and arguments: equal for equal calls."""
        return self.features.call

    @property
    def result(self) -> Optional[str]:
        """The fingerprint of the result: equal for equal results, None if it is not known."""
        return self.features.result

    @property
    def outcome(self) -> Outcome:
        """The outcome of the call, as far as its answer tells."""
        return self.features.outcome

    def key(self, name: str) -> Optional[str]:
        """Return a key that a detector declares, as a text: equal values have equal keys.

        A number's key sorts like the number. None if the rule gave None or raised, and where a
        snapshot does not hold the key.

        Raises:
            KeyError: if no detector declares it.
        """
        keys = self.features.keys
        if name not in keys:
            known = ", ".join(map(repr, keys)) or "none"
            raise KeyError(f"no detector declares the key {name!r}; declared: {known}")
        return keys[name]

    @derived
    def is_change(self) -> bool:
        """Whether the call changed the world in a way that the window has not seen."""
        features = self.features
        # A long answer that was given before acknowledges nothing.
        is_readable = self.is_fresh or not features.is_long
        is_possible = self.is_new and is_readable and not features.outcome.is_failure
        # `git stash && pytest` has changed the files, though it fails at its end.
        return (is_possible and features.changes_world) or (self.is_new and features.changes_midway)

    @property
    def brings_news(self) -> bool:
        """Whether the answer is known and fresh, or the call changed something in a new way."""
        return self.is_change or (self.is_fresh and self.result is not None)

    @property
    def is_step_forward(self) -> bool:
        """Whether the answer is a failure, but better than the last one, or of another state."""
        is_better = self.is_fresh and self.outcome.counts_down
        return is_better or (self.is_new and self.features.switches_midway)

    @property
    def is_unproductive(self) -> bool:
        """Whether the call was unproductive: it failed, found nothing, or repeated a result."""
        kind = self.outcome
        # The next look shows what a wait or a scroll has brought.
        if kind is WAITING or self.features.moves:
            return False
        if kind is SILENT:  # a search without output found nothing
            return self.features.only_looks
        if kind.is_failure:
            return not self.is_fresh
        return kind is EMPTY or self.is_known


UNPRODUCTIVE, KNOWN, VAIN, FAILED = 1, 2, 4, 8
"""The traits of a round that bears evidence; each is a bit."""

fingerprint_of = attrgetter("call")
"""Returns the fingerprint of a judged call."""


@beta
class Round:
    """The calls of one model reply: each different call once, in the order of the reply.

    Args:
        number: the number that the caller gave it, if any.
        calls: its calls by their fingerprints.
    """

    def __init__(self, number: Optional[int], calls: Dict[str, JudgedCall]) -> None:
        self.number = number
        self.calls: Dict[str, JudgedCall] = _with_unseen(calls)
        """By their fingerprints."""
        self.evidence: List[JudgedCall] = list(self.calls.values())
        """In the order of the reply."""
        self.is_new: bool = all(map(_is_new, self.evidence))
        """Whether all its calls are new to the window and succeeded, each with a new answer or with
        a change of the world; a call that finishes the run is never new."""

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.evidence), "call"))

    @derived
    def sorted_evidence(self) -> List[JudgedCall]:
        """The evidence by fingerprints, the same for any order of the reply."""
        return sorted_by_fingerprint(self.evidence)

    @derived
    def fingerprints(self) -> str:
        """The fingerprints of the calls as one text: equal for the same calls in any order."""
        return " ".join(map(fingerprint_of, self.sorted_evidence))

    @derived
    def news(self) -> int:
        """The number of its calls that brought something new."""
        return sum(item.brings_news for item in self.evidence)

    @derived
    def traits(self) -> int:
        """The evidence that it bears: it failed, found nothing, or repeated what was known."""
        if self.is_new:
            return 0
        traits = UNPRODUCTIVE | VAIN
        # What is looked at beside a wait is part of the waiting.
        waits = any(item.features.waits for item in self.evidence)
        for item in self.evidence:
            kind = item.outcome
            if item.is_retold:
                traits = (traits | KNOWN) & ~VAIN
                continue
            if kind is SUCCESS and not item.is_known:
                # One call with something new makes the round productive, whatever its siblings did.
                traits &= ~(UNPRODUCTIVE | VAIN)
                # The same answer to another question is some evidence, and alone never enough.
                if not item.is_fresh and item.features.only_looks and not item.features.is_terse:
                    traits |= KNOWN
                continue
            is_vain = kind is EMPTY or (kind is SILENT and item.features.only_looks)
            if not is_vain:
                traits &= ~VAIN
                if not item.is_unproductive:
                    traits &= ~UNPRODUCTIVE
            if item.is_known and kind is not WAITING and not waits:  # a wait is patient
                traits |= KNOWN
            if kind.is_failure:
                traits |= FAILED
        return traits

    def brings_news_beside(self, call: str) -> bool:
        """Whether another call than this one brought something new."""
        return any(item.brings_news for key, item in self.calls.items() if key != call)


def _with_unseen(calls: Dict[str, JudgedCall]) -> Dict[str, JudgedCall]:
    """Mark the calls of a round whose answers are unknown while another one brings news."""
    if len(calls) < 2:
        return calls
    unknown = [key for key, item in calls.items() if item.result is None]
    # Where nothing in the round is known, its calls alone decide.
    if not unknown or not any(item.brings_news for item in calls.values()):
        return calls
    return {**calls, **{key: replace(calls[key], is_unseen=True) for key in unknown}}


def sorted_by_fingerprint(calls: List[JudgedCall]) -> List[JudgedCall]:
    """Sort calls by their fingerprints.

    The first call that fits is then the same in any order of the reply.
    """
    return sorted(calls, key=fingerprint_of) if len(calls) > 1 else calls


def answer_order(features: CallFeatures) -> Tuple[bool, str, str]:
    """Return what sorts the answers to equal calls, unknown ones last."""
    # Equal texts differ in outcome where one of them was reported as an error.
    return features.result is None, features.result or "", features.outcome.value


def _is_new(item: JudgedCall) -> bool:
    if not (item.is_new and item.outcome is SUCCESS):
        return False
    # However new its words are, `RepeatedFinishDetector` must see it.
    is_weak = item.features.finishes or item.is_retold
    return (item.is_fresh or item.is_change) and not is_weak
