"""What a hook says on standard error: agents keep it in their logs and do not show it."""

import sys

from ...loop_detection import LoopVerdict
from ...loop_detection.text.shortening import visible


class HookLog:
    """An observer that writes a line for each verdict of a shadow detector.

    What is done needs no line: the agent shows it.
    """

    def on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Write what would be done."""
        if not verdict.is_shadow or verdict.detection is None:
            return
        said = visible(verdict.detection.message)
        line = f"antiloop hook: shadow: would {verdict.action.value}: {said}\n"
        sys.stderr.write(line.encode("ascii", "backslashreplace").decode())
