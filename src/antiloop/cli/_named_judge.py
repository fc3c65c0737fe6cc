"""A judge that the command line names, for recorded runs."""

import inspect
import logging
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Awaitable, Optional, Tuple

from .._short_repr import counted
from ..loop_detection import CaseFile, LoopDetector, SecondOpinion
from ._command import reason_of

if TYPE_CHECKING:
    from ..traces import RecordedRun


@dataclass(frozen=True)
class QuestionCount:
    """Count how often a judge was asked about a run."""

    questions: int = 0
    unanswered: int = 0
    """The number of these questions that got no opinion."""
    why: str = ""
    """The error of the first unanswered question, if known."""

    def __add__(self, other: "QuestionCount") -> "QuestionCount":
        return QuestionCount(
            self.questions + other.questions,
            self.unanswered + other.unanswered,
            self.why or other.why,
        )

    @property
    def complaint(self) -> str:
        """Describe how many questions got no opinion; empty if all got one."""
        if not self.unanswered:
            return ""
        questions = counted(self.questions, "question")
        why = f": {self.why}" if self.why else ""
        return f"the judge gave no opinion on {self.unanswered:,} of {questions}{why}"


class NamedJudge:
    """The judge that ``MODULE:NAME`` names; another process imports it again.

    Raises:
        ArgumentTypeError: if the name cannot be imported or does not name a judge.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        found = imported(name, "judge")
        is_settings = isinstance(found, SecondOpinion)
        if isinstance(found, type) or not (is_settings or callable(found)):
            raise ArgumentTypeError(
                f"{name} is not a judge; pass a function that takes a CaseFile, or a SecondOpinion"
            )
        self.options: SecondOpinion = replace(
            found if is_settings else SecondOpinion(found), judge=self
        )
        self._judge: Any = found.judge if is_settings else found
        self.trouble = ""
        """The error that it raised last."""
        # Errors are reported once, at the end, and not with a traceback for each question.
        logging.getLogger("antiloop.agent._drivers.asking").addHandler(logging.NullHandler())

    def __reduce__(self) -> Tuple[Any, ...]:
        return NamedJudge, (self.name,)

    def __call__(self, case: CaseFile) -> Any:
        """Ask, sync or async."""
        try:
            answer = self._judge(case)
        except Exception as error:
            self.trouble = _described(error)
            raise
        return self._awaited(answer) if inspect.isawaitable(answer) else answer

    async def _awaited(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except Exception as error:
            self.trouble = _described(error)
            raise


def add_judge(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--second-opinion",
        type=NamedJudge,
        metavar="MODULE:NAME",
        help="judge to ask when no detector is certain: a function that takes a CaseFile, or a"
        " SecondOpinion; opinions in the recording are used first",
    )


def with_judge(detector: LoopDetector, judge: Optional[NamedJudge]) -> LoopDetector:
    """Return the detector with the judge from the command line, if there is one."""
    return detector if judge is None else detector.with_options(second_opinion=judge.options)


def consulted(
    run: "RecordedRun", detector: LoopDetector
) -> "Tuple[RecordedRun, Optional[QuestionCount]]":
    """Ask about a recorded run where a live run would ask, and add the opinions to it.

    Returns:
        The run, and how often its judge was asked; None if no judge was named.
    """
    options = detector.second_opinion
    if options is None or not isinstance(options.judge, NamedJudge):
        return run, None
    from ..agent._internal import ask
    from ..formats._internal import moments_of, verdict_at

    asked, known = QuestionCount(), dict(run.opinions)
    monitor = detector.monitor(client=run.client, run_id=run.run_id, live=False, opinions=known)
    for moment in moments_of(run):
        case = verdict_at(monitor, run, moment).case
        if case is None:
            continue
        opinion = ask(options, case)
        asked += QuestionCount(1) if opinion else QuestionCount(1, 1, options.judge.trouble)
        monitor.answer(opinion)
    said = {**known, **monitor.opinions}
    return replace(run, opinions=tuple(sorted(said.items()))), asked


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {reason_of(error)}"


def imported(name: str, noun: str) -> Any:
    """Import an object that an option names; its module may be in the working directory.

    Raises:
        ArgumentTypeError: if that fails; the noun says what the name should be of.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that it shadows no installed module
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        raise ArgumentTypeError(
            f"{name!r} does not name a {noun}; write MODULE:NAME, e.g. my_agent:{noun}"
        )
    try:
        return getattr(import_module(module), attribute)
    except AttributeError:
        raise ArgumentTypeError(f"module {module} has no attribute {attribute!r}") from None
    except Exception as error:
        raise ArgumentTypeError(f"cannot import module {module}: {reason_of(error)}") from error
