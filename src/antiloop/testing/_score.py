"""A score for evaluations: whether a run stayed free of loops."""

from typing import Any, Collection, NamedTuple

from .._short_repr import held, short_repr
from ..stability import beta
from ._found_loop import Preset, loops_in
from ._given_runs import runs_of


@beta
class LoopScore(NamedTuple):
    """The result of an evaluator: a score, a label, and an explanation."""

    score: float
    """1 for a run without loops, 0 for one that got stuck: the mean is the share without."""
    label: str
    """``loop_free`` or ``stuck``."""
    explanation: str
    """The findings, one line for each loop."""

    def __repr__(self) -> str:
        said = (f"{name}={held(value)}" for name, value in zip(self._fields, self))
        return short_repr(self, *said)


@beta
def loop_score(run: Any, preset: Preset = "default", allow: Collection[str] = ()) -> LoopScore:
    """Score one run.

    Args:
        run: as for `assert_no_loops`, but one run.
        preset: the name of a preset, or a `LoopDetector` of your own.
        allow: names of tools that may be called over and over.

    Raises:
        TraceUnreadable: if it holds no run, or cannot be read completely.
        ValueError: if there are several runs, or the preset does not exist.
        TypeError: if `preset` is neither a name nor a detector, or `allow` not a list of names.
    """
    runs = runs_of(run)
    if len(runs) > 1:
        raise ValueError(f"expected one run, got {len(runs)}; score each of read_runs(...)")
    found = loops_in(runs[0], preset, allow)
    if not found:
        return LoopScore(1.0, "loop_free", "No tool-call loop.")
    lines = (f"step {each.step}: {each.message}" for each in found)
    return LoopScore(0.0, "stuck", "\n".join(lines))
