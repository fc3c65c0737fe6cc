"""The facade: detectors, the policy for their findings, and the presets."""

from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ..stability import beta
from ..types import ToolCall
from . import preset_makers
from .arguments import check_lists, tools_of
from .config import TYPES, read_config, write_config
from .detection import LoopDetection
from .evidence.compared import Result
from .evidence.tool_policy import ToolPolicy
from .evidence.window import Window
from .monitor import LoopMonitor
from .project.settings import Settings
from .second_opinion.second_opinion import Judge, SecondOpinion
from .settings import DetectorSettings
from .threshold import check_flag


@beta
class LoopDetector(DetectorSettings):
    """A list of detectors, and the policy for the loops that they find.

    A `LoopDetector` keeps no state, so one object can serve every run of the process. The state of
    a run lives in the monitor that `monitor` makes.

    Args:
        detectors: the detectors, asked in this order.
        policy: what to do: a `LoopPolicy` or its name, or your own ladder as an `Escalation`.
        escalations: other ladders for some detectors, by detector name.
        inject_message: your own text of a notice: a string, or a function that takes the detection
            and returns a string.
        window: how many recent calls the detectors compare.
        tools: a `ToolPolicy` for each tool, by tool name.
        notice_role: role of a notice: system (default) or user.
        mask: what to hide when arguments are shown or stored: ``"secrets"``, all
            ``"arguments"``, or a function that takes arguments or a text and returns the masked
            version.
        log_verdicts: log each notice as a warning and each stronger action as an error, with the
            logger ``antiloop``.
        second_opinion: the judge to ask when a run looks stuck and no detector is certain: a
            function that takes a `CaseFile`, sync or async, or a `SecondOpinion`, which also sets
            when to ask.
        shadow: decide as usual and report the decision to listeners, observers and the trace, but
            do nothing: each verdict says continue, and its `would_be` holds the decision.

    Raises:
        ValueError: if there are no detectors, or a detector can never fire within the window.
        TypeError: if a detector is not a `BaseDetector`, or another argument has a wrong type.
    """

    @classmethod
    def default(
        cls, second_opinion: Union[SecondOpinion, Judge, None] = None, *, shadow: bool = False
    ) -> "LoopDetector":
        """Make a detector of repeat, stall and ping-pong that spares normal work; policy: raise.

        Polling and scrolling pass because their results change; "ok" replies pass because only
        failures and empty results count.
        """
        return preset_makers.default(cls, second_opinion=second_opinion, shadow=shadow)

    @classmethod
    def escalating(
        cls, second_opinion: Union[SecondOpinion, Judge, None] = None, *, shadow: bool = False
    ) -> "LoopDetector":
        """Make most detectors, with the ladder notify, block, stop: for unattended agents."""
        return preset_makers.escalating(cls, second_opinion=second_opinion, shadow=shadow)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "LoopDetector":
        """Make a detector from the result of `to_config`, e.g. read from a JSON file.

        Raises:
            ValueError: if the configuration is malformed; the message names the place.
        """
        return cls(**read_config(config))

    @classmethod
    def from_file(cls, path: Optional[str] = None, *, preset: str = "default") -> "LoopDetector":
        """Make a detector from a settings file: antiloop.toml, or a table in pyproject.toml.

        Args:
            path: the file; None means the nearest one from the working folder upwards.
            preset: the preset to use if the file names none or does not exist.

        Raises:
            SettingsError: if the file is malformed; the message names file, key and remedy.
            ValueError: if the preset does not exist.
        """
        if preset not in preset_makers.MAKERS:
            known = ", ".join(preset_makers.MAKERS)
            raise ValueError(f"unknown preset {preset!r}; choose from {known}")
        return Settings.read(path).detector(cls, preset)

    def to_config(self) -> Dict[str, Any]:
        """Return the configuration as plain JSON, for `from_config`.

        Raises:
            ValueError: if it holds code (a custom detector, a function); the message names the
                place.
        """
        return write_config(self)

    def check(
        self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Optional[LoopDetection]:
        """Check a run's calls and results so far; return the first detection, or None.

        Only the last `window` calls are compared, so the cost does not grow with the run.

        Args:
            tool_calls: oldest first.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; a missing result, or
                None, is unknown.

        Raises:
            TypeError: for anything but a list of `ToolCall` and a list of results.
        """
        check_lists("check", tool_calls, tool_results, self.window)
        window = Window.of(
            tool_calls, tool_results, self.window, self.tools, self.counted, self.masking
        )
        return next(self.findings(window, tool_calls, tool_results), None)

    def monitor(
        self, tools: Optional[Mapping[str, ToolPolicy]] = None, *, live: bool = True
    ) -> LoopMonitor:
        """Make the monitor of one run.

        Args:
            tools: policies that the run's tools declare; those of the detector override them.
            live: False for the replay of a recorded run: nothing is logged again, and the verdicts
                of a shadow detector show their decision, because nothing acts on them.

        Raises:
            ValueError: if a policy has a threshold for a detector that does not exist.
            TypeError: if a policy is not a `ToolPolicy`, or `live` not True or False.
        """
        check_flag("live", live)
        declared = tools_of(tools)
        # A tool may serve several detectors, so it may name one of ours that is not among these.
        self._validate_names(declared, TYPES)
        return LoopMonitor(self, {**declared, **self.tools}, live)
