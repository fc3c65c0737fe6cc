"""One run of ``antiloop hook AGENT``: an event on standard input, an answer on output.

Whatever goes wrong, the exit status is 0: agents take status 2 for a refusal, and a guard that
breaks must not break the session. A decision is answered even if the state cannot be kept.

The agent that is guarded can write the settings of its project. So a session keeps the detector
that it began with; what the file says later counts from the next session on. Settings that cannot
be read count as none, and settings that cannot be kept are not taken: the preset is used, and
standard error says so.
"""

import sys

from .agents import AGENTS, HookAgent, has_transcript, session_of
from .compact_json import UNREADABLE, dumps, loads
from .session_state import SessionFile, reason_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    from ...loop_detection import LoopVerdict

PRESET = "escalating"
_KEPT = "surrogateescape"  # keeps undecodable bytes different
_NEED_REPETITION = (None, "default", "escalating")  # the presets that a first look knows


class HookOptions:
    """The arguments of the hook's command.

    Args:
        arguments: ``--preset NAME``, ``--config FILE``, ``--shadow``, ``--isolated`` and
            ``--ignore TOOL``, the last one often.

    Raises:
        ValueError: for anything else.
    """

    def __init__(self, arguments: "Sequence[str]") -> None:
        self.given = list(arguments)
        self.preset: Optional[str] = None
        self.config: Optional[str] = None
        self.ignore: List[str] = []
        self.shadow = self.is_isolated = False
        waiting = list(reversed(arguments))
        while waiting:
            name, equals, value = waiting.pop().partition("=")
            if name in ("--shadow", "--isolated") and not equals:
                self.shadow = self.shadow or name == "--shadow"
                self.is_isolated = self.is_isolated or name == "--isolated"
                continue
            if name in ("--user", "--local", "--yes"):
                raise ValueError(f"{name} needs --install or --uninstall")
            if name not in ("--preset", "--config", "--ignore"):
                raise ValueError(f"unknown option {name!r}")
            if not equals and not waiting:
                raise ValueError(f"{name} needs a value")
            given = value if equals else waiting.pop()
            if name == "--ignore":
                self.ignore.append(given)
            else:
                setattr(self, name[2:], given)


class NoEvent(ValueError):
    """Standard input holds nothing that this agent sends to a hook."""

    def __init__(self, why: str, agent: HookAgent) -> None:
        super().__init__(
            f"no event of a {agent.title} hook on standard input: {why};"
            f" --install lets {agent.title} send them"
        )


def main(arguments: "Sequence[str]", name: str = "claude-code") -> int:
    """Answer one event of the agent of this name; the exit status is always 0."""
    try:
        if name not in AGENTS:  # settings that are shared may know a later version
            raise ValueError(f"no agent {name!r}; choose from {', '.join(AGENTS)}")
        agent = AGENTS[name]
        if sys.stdin is None or sys.stdin.isatty():
            raise NoEvent("it is empty", agent)
        event = _event(agent, sys.stdin.buffer.read().decode("utf-8", _KEPT))
        answer = _answer(name, event, HookOptions(arguments))
        if answer:
            sys.stdout.write(dumps(answer))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - a guard that breaks must not break the session
        _complain(reason_of(error))
    return 0


def _complain(why: str) -> None:
    """Write a line to standard error, if the agent has left it open."""
    words = f"antiloop hook: {why:.500}\n".replace("\n", " ").strip()
    try:
        sys.stderr.write(words.encode("ascii", "backslashreplace").decode() + "\n")
    except (AttributeError, OSError, ValueError):
        return  # there is nowhere left to say it


def _event(agent: HookAgent, text: str) -> "Dict[str, Any]":
    """Read what the agent sent; raises `NoEvent` for all else."""
    try:
        event = loads(text.lstrip("\ufeff"))
    except UNREADABLE as error:
        why = f"not JSON ({error})" if text.strip() else "it is empty"
        raise NoEvent(why, agent) from error
    if not isinstance(event, dict):
        raise NoEvent(f"expected a JSON object, got {type(event).__name__}", agent)
    for name in agent.needs:
        if not isinstance(event.get(name), str):
            raise NoEvent(f'no "{name}" in it', agent)
    return event


def _answer(name: str, event: "Dict[str, Any]", options: HookOptions) -> "Dict[str, Any]":
    agent = AGENTS[name]
    with SessionFile(name, session_of(agent, event)) as file:
        answer = _answer_in(file, name, event, options)
    if file.trouble:
        _complain(file.trouble)
    return answer


def _answer_in(
    file: SessionFile, name: str, event: "Dict[str, Any]", options: HookOptions
) -> "Dict[str, Any]":
    agent = AGENTS[name]
    # Who starts the hook with other options wants another detector from here on.
    if file.value.get("options") != options.given:
        _begin(file, options)
    if file.value.get("is_plain") is True and _is_nothing_new(file, name, event, options):
        return {}
    # Imported here: loading the engine takes most of the time of an event.
    from importlib import import_module

    module = import_module(f"antiloop.integrations.{agent.module}")
    more: Dict[str, Any] = {"ignore": options.ignore, "observers": [_HookLog()]}
    guard = module.LoopGuard(_detector(file, options), **more)
    own = (file.value.get("profiles") or {}).get(name)
    if own:
        from ...loop_detection import ClientProfile

        guard.profile = ClientProfile.known_or_new(name, own)
    answer: Dict[str, Any] = (
        guard.answer(event) if has_transcript(agent) else guard.answer(event, file)
    )
    return answer


def _is_nothing_new(
    file: SessionFile, name: str, event: "Dict[str, Any]", options: HookOptions
) -> bool:
    """Whether nothing can come of an event; then it is noted."""
    if has_transcript(AGENTS[name]):
        from .transcript_tail import Look, tail_of, transcript_of

        look = Look(tail_of(transcript_of(event)), options.ignore)
        return look.is_all_new(event)
    from .first_look import LATER, SUMS, SeenCalls

    if file.value.get("calm", True) is not True or len(file.later) >= LATER:
        return False
    seen = SeenCalls(name, file, options.ignore)
    sums = seen.sums_of(event)
    return seen.is_nothing_new(event, sums) and file.append({**event, SUMS: sums})


def _begin(file: SessionFile, options: HookOptions) -> None:
    """Keep the detector with which a session begins; none for the preset as it is."""
    if options.preset is not None:
        _check_preset(options)
    is_plain = options.preset in _NEED_REPETITION and options.config is None
    path = None if options.is_isolated else _settings(options)
    detector: Any = None
    profiles: Any = {}
    if path is not None or options.config is not None:
        try:
            detector, profiles = _read(options, path)
            is_plain = False
        except (OSError, ValueError) as error:
            _complain(f"{reason_of(error)}; the preset {options.preset or PRESET} is used instead")
            path = None
    begun = {"options": options.given, "detector": detector, "is_plain": is_plain}
    begun["profiles"] = profiles
    if file.later:  # other options than before: the engine is to see these events first
        file.value = {**file.value, **begun, "is_plain": False}
        return
    file.write({**file.value, **begun})
    file.value = {**file.value, **begun}
    # Read again with each event, they could be changed by the agent meanwhile.
    if path is not None and file.trouble and options.config is None:
        _complain(f"{path} is not used, because the agent may change it")
        file.value = {**file.value, "detector": None}


def _check_preset(options: HookOptions) -> None:
    from ...loop_detection.presets import PRESETS

    if options.preset not in PRESETS:
        known = ", ".join(PRESETS)
        _complain(f"no preset {options.preset!r}; choose from {known}; {PRESET} is used instead")
        options.preset = PRESET


def _settings(options: HookOptions) -> "Optional[str]":
    """Return the path of the file of settings that counts; None for no file."""
    if options.config is not None and options.config.endswith(".toml"):
        return options.config
    from ...loop_detection._internal import find_settings

    return find_settings()


def _detector(file: SessionFile, options: HookOptions) -> "Any":
    """Make the detector with which the session began."""
    from ...loop_detection import LoopDetector, presets

    kept = file.value.get("detector")
    if isinstance(kept, dict):
        try:
            return LoopDetector.from_config(kept)
        except ValueError as error:
            _complain(f"{reason_of(error)}; the preset {options.preset or PRESET} is used instead")
    if options.preset is not None:
        _check_preset(options)  # it is given with each event, and not only with the first
    return presets.PRESETS[options.preset or PRESET](shadow=options.shadow)


def _read(options: HookOptions, settings: "Optional[str]") -> "Tuple[Any, Any]":
    """Read the configuration of the detector, and the profiles of clients, as plain JSON."""
    from ...loop_detection import LoopDetector, presets
    from ...loop_detection._internal import ProjectSettings

    instead = None
    if options.config is not None and options.config != settings:
        instead = _read_config(options.config)
    elif options.preset is not None:
        instead = presets.PRESETS[options.preset]()
    found = ProjectSettings() if settings is None else ProjectSettings.read(settings)
    detector = found.detector(LoopDetector, PRESET, instead, shadow=options.shadow)
    profiles = found.profiles and found.values["profiles"]  # the first raises for a malformed one
    return detector.to_config(), profiles


def _read_config(path: str) -> "Any":
    from ..._regular_file import opener
    from ...loop_detection import LoopDetector

    with open(path, encoding="utf-8-sig", opener=opener) as file:
        return LoopDetector.from_config(loads(file.read()))


class _HookLog:
    """An observer that writes a line for each verdict of a shadow detector.

    An action that is carried out needs no line: the agent shows it.
    """

    def on_verdict(self, run_id: str, verdict: "LoopVerdict") -> None:
        """Write what would be done."""
        if not verdict.is_shadow or verdict.detection is None:
            return
        from ..._text.shortening import visible

        said = visible(verdict.detection.message)
        _complain(f"shadow: would {verdict.action.value}: {said}")
