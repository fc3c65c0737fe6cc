"""An assertion that an agent did not get stuck."""

from typing import Any, Collection, Iterator, Sequence

from ..stability import beta
from ._found_loop import FoundLoop, Preset, loops_in
from ._given_runs import runs_of


@beta
def assert_no_loops(run: Any, preset: Preset = "default", allow: Collection[str] = ()) -> None:
    """Fail a test if a run got stuck in a tool-call loop, and show the loop.

    Args:
        run: the path of a file of recorded runs; a `RecordedRun`, a `History`, an `AgentResult` or
            its trace; the messages of a conversation, in any format that recorded runs are read
            from, as JSON or as objects of a library; or a list of runs.
        preset: the name of a preset, or a `LoopDetector` of your own.
        allow: names of tools that may be called over and over.

    Raises:
        AssertionError: if there is a loop.
        TraceUnreadable: if it holds no run, or cannot be read completely.
        ValueError: if the preset does not exist.
        TypeError: if `preset` is neither a name nor a detector, or `allow` not a list of names.

    >>> assert_no_loops("docs/examples/runs.jsonl")
    Traceback (most recent call last):
    AssertionError: run 'refund-window' (docs/examples/runs.jsonl:1) got stuck in 2 loops:
    ...
    """
    found = [loop for each in runs_of(run) for loop in loops_in(each, preset, allow)]
    if found:
        raise AssertionError(said_of(found))


def said_of(found: Sequence[FoundLoop]) -> str:
    """Show loops, run by run."""
    return "\n".join(_lines(found))


def _lines(found: Sequence[FoundLoop]) -> Iterator[str]:
    before = None
    for loop in found:
        if loop.run is not before:
            count = sum(each.run is loop.run for each in found)
            loops = "a loop" if count == 1 else f"{count} loops"
            source = f" ({loop.run.source})" if loop.run.source != loop.run.run_id else ""
            yield f"run {loop.run.run_id!r}{source} got stuck in {loops}:"
        before = loop.run
        yield from loop.lines()
