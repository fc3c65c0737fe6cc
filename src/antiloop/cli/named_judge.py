"""A judge that is named on the command line, and asked about recorded runs."""

import argparse
import inspect
import logging
import os
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Awaitable, Optional, Tuple

from ..loop_detection import CaseFile, LoopDetector, SecondOpinion
from ..short_repr import counted
from .command import reason_of

if TYPE_CHECKING:
    from ..traces import RecordedRun


@dataclass(frozen=True)
class Asked:
    """How often a judge was asked about a run."""

    questions: int = 0
    unanswered: int = 0
    """How many of them brought no opinion."""
    why: str = ""
    """What went wrong with the first of these, where it is known."""

    def __add__(self, other: "Asked") -> "Asked":
        return Asked(
            self.questions + other.questions,
            self.unanswered + other.unanswered,
            self.why or other.why,
        )

    @property
    def complaint(self) -> str:
        """Say that the judge gave no opinion; empty where it always did."""
        if not self.unanswered:
            return ""
        questions = counted(self.questions, "question")
        why = f": {self.why}" if self.why else ""
        return f"the judge gave no opinion on {self.unanswered:,} of {questions}{why}"


class NamedJudge:
    """Whatever ``MODULE:NAME`` is; in another process it is imported again.

    Raises:
        ValueError: if there is no such thing, or it is no judge.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        found = _imported(name)
        is_settings = isinstance(found, SecondOpinion)
        if isinstance(found, type) or not (is_settings or callable(found)):
            raise ValueError(
                f"{name} is no judge: give a function of a CaseFile, or a SecondOpinion"
            )
        self.options: SecondOpinion = replace(
            found if is_settings else SecondOpinion(found), judge=self
        )
        self._judge: Any = found.judge if is_settings else found
        self.trouble = ""
        """What it raised last."""
        # What goes wrong is told once, at the end, and not with a traceback for each question.
        logging.getLogger("antiloop.agent.asking").addHandler(logging.NullHandler())

    def __reduce__(self) -> Tuple[Any, ...]:
        return NamedJudge, (self.name,)

    def __call__(self, case: CaseFile) -> Any:
        """Ask, sync or async."""
        try:
            answer = self._judge(case)
        except Exception as error:
            self.trouble = _told(error)
            raise
        return self._awaited(answer) if inspect.isawaitable(answer) else answer

    async def _awaited(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except Exception as error:
            self.trouble = _told(error)
            raise


def add_judge(parser: argparse.ArgumentParser) -> None:
    """Add ``--second-opinion`` to a command."""
    parser.add_argument(
        "--second-opinion",
        type=_named,
        metavar="MODULE:NAME",
        help="who is asked where no detector is certain: a function of a CaseFile, or a"
        " SecondOpinion; what was said when the run was recorded counts first",
    )


def with_judge(detector: LoopDetector, judge: Optional[NamedJudge]) -> LoopDetector:
    """Give a detector the judge that was named, if one was."""
    if judge is not None:
        detector.second_opinion = judge.options
    return detector


def consulted(run: "RecordedRun", detector: LoopDetector) -> "Tuple[RecordedRun, Optional[Asked]]":
    """Ask about a run where a live one would, and give it with what was said.

    Returns:
        The run, and how often its judge was asked; None where nobody was named.
    """
    options = detector.second_opinion
    if options is None or not isinstance(options.judge, NamedJudge):
        return run, None
    from ..agent.asking import ask
    from ..formats.moment import judged, moments_of

    monitor, asked = detector.monitor(live=False), Asked()
    monitor.consultation.begin(run.run_id, dict(run.opinions))
    for moment in moments_of(run):
        case = judged(monitor, run, moment).case
        if case is None:
            continue
        opinion = ask(options, case)
        asked += Asked(1) if opinion else Asked(1, 1, options.judge.trouble)
        monitor.answer(opinion)
    said = {**dict(run.opinions), **monitor.consultation.opinions}
    return replace(run, opinions=tuple(sorted(said.items()))), asked


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {reason_of(error)}"


def _imported(name: str) -> Any:
    """Import what is named; its module may stand in this directory."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that it gets in the way of nothing
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        raise ValueError(f"{name!r} names no judge: write MODULE:NAME, e.g. judges:strict")
    try:
        return getattr(import_module(module), attribute)
    except AttributeError:
        raise ValueError(f"the module {module} has no {attribute!r}") from None
    except Exception as error:
        raise ValueError(f"the module {module} cannot be imported: {reason_of(error)}") from error


def _named(name: str) -> NamedJudge:
    try:
        return NamedJudge(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
