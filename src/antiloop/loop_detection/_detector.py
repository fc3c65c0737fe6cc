"""The facade: detectors, the policy for their findings, and the presets."""

from inspect import signature
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional, Sequence, Union

from .._checks import check_choice, check_flag, check_kind
from .._decision_time import Measure
from ..stability import stable
from ..types import ToolCall
from . import _presets as presets
from ._arguments import check_options, opinions_of, tools_of
from ._config import read_config, write_config
from ._detection import LoopDetection
from ._evidence.answered import Result
from ._evidence.tool_policy import ToolPolicy
from ._lists import check_lists
from ._monitor import LoopMonitor
from ._presets import PresetOptions, arguments_of
from ._profiles import NO_CLIENT, ClientProfile, client_of
from ._registry import DETECTORS, PRESETS
from ._run.listeners import Listener
from ._second_opinion.opinion import Opinion
from ._settings import DetectorSettings, new_window

if TYPE_CHECKING:
    from typing_extensions import Unpack


@stable
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
        ValueError: if there are no detectors, one has no name or that of one of another class, or a
            detector can never fire within the window.
        TypeError: if a detector is not a `BaseDetector`, or another argument has a wrong type.
    """

    @classmethod
    def default(cls, **options: "Unpack[PresetOptions]") -> "LoopDetector":
        """Make a detector of repeat, stall and ping-pong that spares normal work; policy: raise.

        Polling and scrolling pass because their results change; "ok" replies pass because only
        failures and empty results count.

        Args:
            options: see `PresetOptions`; all presets take the same.
        """
        return cls(**arguments_of(PRESETS["default"], options))

    @classmethod
    def escalating(cls, **options: "Unpack[PresetOptions]") -> "LoopDetector":
        """Make most detectors, with the ladder notify, block, stop: for unattended agents."""
        return cls(**arguments_of(PRESETS["escalating"], options))

    @classmethod
    def thorough(cls, **options: "Unpack[PresetOptions]") -> "LoopDetector":
        """Raise at once as `default`, and find more: near repeats, failures, calls without effect.

        The further detectors need more rounds than in `escalating`, because nothing is said to the
        model first.
        """
        return cls(**arguments_of(PRESETS["thorough"], options))

    @classmethod
    def literal(cls, **options: "Unpack[PresetOptions]") -> "LoopDetector":
        """Repeat 3, stall 3, ping-pong 2x3 on tool names, raise: each exactly as the bare class."""
        return cls(**arguments_of(PRESETS["literal"], options))

    @classmethod
    def patient(
        cls,
        *,
        warning_threshold: int = 10,
        critical_threshold: int = 20,
        global_circuit_breaker_threshold: int = 30,
        **options: "Unpack[PresetOptions]",
    ) -> "LoopDetector":
        """Warn late and refuse later: 10, 20, 30 within the last 30 calls, as OpenClaw does.

        A repeated call causes a warning at 10. The same call with the same result is blocked at 20.
        Two alternating calls cause a warning at 10 and are blocked at 20, as long as their results
        stay the same. At 30 outcomes without progress a breaker stops the run, in whatever order
        the calls come. Polls are judged by their results alone, timestamps left out:
        `command_status`, and `process` with the action poll or log, which may also be tools named
        `process.poll` and `process.log`. Every warning, block and stop is logged.

        Args:
            warning_threshold: calls for a warning; of alternating calls, the next even number.
            critical_threshold: calls without progress that are blocked; likewise.
            global_circuit_breaker_threshold: rounds without progress at which any loop is stopped.
            options: see `PresetOptions`.

        Raises:
            ValueError: if a count is below 2 or above the one that follows.
        """
        breaker = global_circuit_breaker_threshold
        preset = presets.patient(warning_threshold, critical_threshold, breaker)
        return cls(**arguments_of(preset, options, cls.patient))

    @classmethod
    def cycles(cls, laps: int = 3, **options: "Unpack[PresetOptions]") -> "LoopDetector":
        """Find cycles of one, two and three calls: warn as the user, warn again, stop.

        Calls are compared by tool and arguments. A cycle counts if it repeats completely and
        without a gap.

        Args:
            laps: laps that make a loop, 2 or more.
            options: see `PresetOptions`.

        Raises:
            ValueError: if laps is below 2.
        """
        return cls(**arguments_of(presets.cycles(laps), options, cls.cycles))

    @classmethod
    def budgeted(
        cls,
        *,
        same_call_warning: int = 3,
        same_call_critical: int = 5,
        pingpong_warning: int = 4,
        pingpong_critical: int = 6,
        max_tool_calls_per_turn: int = 25,
        **options: "Unpack[PresetOptions]",
    ) -> "LoopDetector":
        """Warn at 3 and refuse at 5 equal calls, at 4 and 6 alternating ones; 25 calls a turn.

        The budget is checked first, then equal calls, then alternating calls. Each call past a
        threshold causes another warning or block, and a different call starts a new count. Every
        warning and block is logged. Messages and snapshots contain no arguments.

        Args:
            same_call_warning: equal calls in a row for a warning.
            same_call_critical: equal calls in a row that are blocked.
            pingpong_warning: calls of two alternating tools for a warning; the next even number.
            pingpong_critical: calls of two alternating tools that are blocked.
            max_tool_calls_per_turn: calls from one user message to the next. The first beyond them
                still runs, as do those beside it; all later ones are refused.
            options: see `PresetOptions`.

        Raises:
            ValueError: if a count is below 2, or a warning comes after its block.
        """
        same, turns = (same_call_warning, same_call_critical), (pingpong_warning, pingpong_critical)
        preset = presets.budgeted(*same, *turns, max_tool_calls_per_turn)
        return cls(**arguments_of(preset, options, cls.budgeted))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "LoopDetector":
        """Make a detector from the result of `to_config`, e.g. read from a JSON file.

        Raises:
            ValueError: if the configuration is malformed; the message names the place.
        """
        return cls(**read_config(config))

    @classmethod
    def from_file(
        cls, path: Optional[str] = None, *, preset: str = "default", required: bool = False
    ) -> "LoopDetector":
        """Make a detector from a settings file: antiloop.toml, or a table in pyproject.toml.

        Args:
            path: the file; None means the nearest one from the working folder upwards.
            preset: the preset to use if the file names none or does not exist.
            required: refuse to go on without a file. The log says which file was taken, or that
                there is none, and what is done about a loop.

        Raises:
            SettingsError: if the file is malformed, or required and not there; the message names
                file, key and remedy.
            ValueError: if the preset does not exist.
            TypeError: if its name is not a text.
        """
        check_choice("preset", preset, PRESETS)
        check_flag("required", required)
        # Most detectors are made in code, which needs neither the schema of the file nor prices.
        from ._project.settings import ProjectSettings

        settings = ProjectSettings.read(path, required=required)
        detector = settings.detector(cls, preset)
        settings.log(preset, detector)
        return detector

    def with_options(self, **options: Any) -> "LoopDetector":
        """Make another detector that differs in some arguments; see the class for their names.

        As for a preset, a `policy` replaces the separate ladders of detectors as well.

        >>> LoopDetector.default().with_options(shadow=True)
        LoopDetector([repeat, stall, ping_pong], raise, shadow)
        """
        names = list(signature(DetectorSettings.__init__).parameters)[1:]
        check_options(options, names, names)
        kept = {name: getattr(self, name) for name in names}
        if "policy" in options:
            del kept["escalations"]
        return type(self)(**{**kept, **options})

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
        window = new_window(self, self.tools, NO_CLIENT).fill(tool_calls, tool_results)
        return next(self.findings(window, tool_calls, tool_results), None)

    def monitor(
        self,
        tools: Optional[Mapping[str, ToolPolicy]] = None,
        *,
        client: Union[ClientProfile, str, None] = None,
        run_id: str = "",
        live: bool = True,
        logs: bool = True,
        can_ask: bool = True,
        opinions: Optional[Mapping[int, Opinion]] = None,
        measure: Optional[Measure] = None,
        observers: Iterable[Listener] = (),
    ) -> LoopMonitor:
        """Make the monitor of one run.

        Args:
            tools: policies that the run's tools declare; those of the detector override them.
            client: the program that runs the agent and its tools, or its profile's name: what its
                tools wait for, look at and do is then known and need not be inferred.
            run_id: the run's id, for listeners, logs and judges.
            live: False for the replay of a recorded run: nothing is logged again, and the verdicts
                of a shadow detector show their decision, because nothing acts on them.
            logs: False to log no verdict, even if the detector's ``log_verdicts`` is set.
            can_ask: whether somebody answers the cases of the verdicts. False: none is made.
            opinions: earlier opinions of judges on this run, by step; they count again, and no
                judge is asked about these steps.
            measure: makes a context manager within which each decision is made, e.g. to time it;
                the library reads no clock.
            observers: what `LoopMonitor.add_listener` takes; agents and adapters take the same
                list.

        Raises:
            ValueError: if a policy has a threshold that cannot count, e.g. for a detector that does
                not exist, or no profile has that name.
            TypeError: if a policy is not a `ToolPolicy`, an opinion not an `Opinion`, a flag not
                True or False, or observers not a list of them.
        """
        for name, flag in (("live", live), ("logs", logs), ("can_ask", can_ask)):
            check_flag(name, flag)
        if isinstance(tools, str):
            raise TypeError(
                f"monitor takes policies of tools, got {tools!r}; pass run_id={tools!r}"
            )
        declared = tools_of(tools)
        # A tool may serve several detectors, so it may name one of ours that is not among these.
        self._check_thresholds(declared, DETECTORS)
        if not hasattr(observers, "__iter__"):
            raise TypeError(f"observers must be a list of observers, got {observers!r}")
        monitor = LoopMonitor(
            self,
            {**declared, **self.tools},
            client_of(client),
            run_id=run_id,
            live=live,
            logs=logs,
            can_ask=can_ask,
            opinions=opinions_of(opinions),
            measure=measure,
        )
        for each in observers:
            monitor.add_listener(each)
        return monitor


def check_detector(sentence: str, given: Any) -> None:
    """Raise TypeError for anything but a `LoopDetector`; the sentence says where it was given."""
    check_kind(f"{sentence} a LoopDetector", given, LoopDetector, "pass LoopDetector.default()")
