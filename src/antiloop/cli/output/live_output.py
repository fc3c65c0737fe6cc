"""What `antiloop watch` prints: each verdict as it comes."""

import json
from typing import Optional

from ...loop_detection import LoopVerdict
from ...traces.shared.run_under_way import RunUnderWay
from .judged_output import tell_verdict, verdict_as_json
from .terminal import line_of, named, say, tell


class LiveTextWriter:
    """A line for each verdict, below a line for its run."""

    def __init__(self) -> None:
        self._run: Optional[RunUnderWay] = None

    def write(self, run: RunUnderWay, step: int, verdict: LoopVerdict) -> None:
        """Print one verdict."""
        if run is not self._run:
            tell(line_of(f"{named(run.run_id)} ({run.source})"))
            self._run = run
        tell_verdict(step, verdict)


class LiveJsonlWriter:
    """One line of JSON for each verdict."""

    def write(self, run: RunUnderWay, step: int, verdict: LoopVerdict) -> None:
        """Print one verdict."""
        beside = {"run_id": run.run_id, "source": run.source}
        say(json.dumps({**beside, **verdict_as_json(step, verdict)}))
