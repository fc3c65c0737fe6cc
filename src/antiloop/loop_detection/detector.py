"""The facade: detectors, what is done about their findings, and the presets."""

from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ..stability import beta
from ..types import ToolCall
from . import preset_makers
from .config import read_config, write_config
from .detection import LoopDetection
from .evidence.compared import Result
from .evidence.tool_policy import ToolPolicy
from .evidence.window import Window
from .monitor import LoopMonitor
from .project_settings import Settings
from .second_opinion.second_opinion import Judge, SecondOpinion
from .settings import DetectorSettings


@beta
class LoopDetector(DetectorSettings):
    """Detectors, and the policy that says what is done when one of them finds a loop.

    It keeps no state: one object can serve every run of the process. What belongs to a run lives
    in the monitor that `monitor` makes.

    Args:
        detectors: asked in this order.
        policy: what to do: a `LoopPolicy` or its name, or an `Escalation` for a ladder of your own.
        escalations: other ladders for certain detectors, by name.
        inject_message: the words of a notice instead of our own: a text, or a function of the
            detection that gives one.
        window: how many recent calls are looked at.
        tools: what is declared about tools, by name.
        notice_role: who says a notice: system (default) or user.
        mask: what of the arguments is shown and kept: all but ``"secrets"``, none of the
            ``"arguments"``, or what a function gives that is called with them or with a text.
        log_verdicts: log each notice as a warning, and what is stronger as an error, with the
            logger ``antiloop``.
        second_opinion: who is asked where a run looks stuck and no detector is certain: a function
            of a `CaseFile`, sync or async, or a `SecondOpinion` that says when, too.
        shadow: decide as ever and tell listeners, observers and the trace what would be done, and
            do nothing: each verdict is to go on, and what it would be stands in `would_be`.

    Raises:
        ValueError: for no detectors, or a window in which a detector could never fire.
        TypeError: for a detector that is no `BaseDetector`, or anything else of another type.
    """

    @classmethod
    def default(
        cls, second_opinion: Union[SecondOpinion, Judge, None] = None, *, shadow: bool = False
    ) -> "LoopDetector":
        """Give repeat, stall and ping-pong, set so that normal work is not stopped; raises.

        Unchanged results keep polling and scrolling out, and to look at fruitless answers only
        keeps acknowledgements out.
        """
        return preset_makers.default(cls, second_opinion=second_opinion, shadow=shadow)

    @classmethod
    def escalating(
        cls, second_opinion: Union[SecondOpinion, Judge, None] = None, *, shadow: bool = False
    ) -> "LoopDetector":
        """Give all detectors, and the ladder notify, block, stop: for unattended agents."""
        return preset_makers.escalating(cls, second_opinion=second_opinion, shadow=shadow)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "LoopDetector":
        """Make a detector of what `to_config` gave, e.g. read from a JSON file.

        Raises:
            ValueError: naming the place, for anything that is no such configuration.
        """
        return cls(**read_config(config))

    @classmethod
    def from_file(cls, path: Optional[str] = None, *, preset: str = "default") -> "LoopDetector":
        """Make a detector of a file of settings: antiloop.toml, or a table of pyproject.toml.

        Args:
            path: the file; the nearest one from the working folder upwards if None.
            preset: which preset, where the file names none or there is none.

        Raises:
            SettingsError: naming file, key and remedy, for what is wrong in it.
        """
        return Settings.read(path).detector(cls, preset)

    def to_config(self) -> Dict[str, Any]:
        """Give the configuration as plain JSON, for `from_config`.

        Raises:
            ValueError: naming the place, where it holds code: a detector of your own, a function.
        """
        return write_config(self)

    def check(
        self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Optional[LoopDetection]:
        """Look at a run's calls and results up to now; the first detection wins.

        Only the last `window` calls are looked at, so the cost does not grow with the run.

        Args:
            tool_calls: oldest first.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; what is missing, or
                None, is unknown.
        """
        window = Window.of(
            tool_calls, tool_results, self.window, self.tools, self.counted, self.masking
        )
        return next(self.findings(window, tool_calls, tool_results), None)

    def monitor(
        self, tools: Optional[Mapping[str, ToolPolicy]] = None, *, live: bool = True
    ) -> LoopMonitor:
        """Make the monitor of one run.

        Args:
            tools: what the run's tools declare themselves; the detector's own declarations win.
            live: False where a recorded run is replayed: what happened is not logged again, and
                the verdicts of a shadow detector are given as they are, since nobody acts on them.
        """
        return LoopMonitor(self, {**(tools or {}), **self.tools}, live)
