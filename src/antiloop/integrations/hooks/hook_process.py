"""One run of ``antiloop hook AGENT``: an event on standard input, an answer on output.

Whatever goes wrong, the exit status is 0 and there is no answer: agents take status 2 for a
refusal, and a guard that breaks must not break the session.
"""

import sys

from .hook_agents import AGENTS, HookAgent
from .transcript_tail import PLANNING, Look, tail_of, transcript_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

PRESET = "escalating"
_KEPT = "surrogateescape"  # keeps undecodable bytes different
_SPACE = " \t\r\n"
_NEED_REPETITION = (None, "default", "escalating")  # the presets that `Look` knows


class Options:
    """How the hook was called.

    Args:
        arguments: ``--preset NAME``, ``--config FILE``, ``--shadow``, ``--isolated`` and
            ``--ignore TOOL``, the last one often.

    Raises:
        ValueError: for anything else.
    """

    def __init__(self, arguments: "Sequence[str]") -> None:
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
            self._set(name, value if equals else waiting.pop())

    def _set(self, name: str, value: str) -> None:
        if name == "--ignore":
            self.ignore.append(value)
        elif name == "--config":
            self.config = value
        else:
            self.preset = value


class NoEvent(ValueError):
    """What came on standard input is nothing that this agent sends to a hook."""

    def __init__(self, why: str, agent: HookAgent) -> None:
        super().__init__(
            f"no event of a {agent.title} hook on standard input: {why};"
            f" --install lets {agent.title} send them"
        )


def main(arguments: "Sequence[str]", name: str = "claude-code") -> int:
    """Answer one event of the agent of this name; the exit status is always 0."""
    agent = AGENTS[name]
    try:
        if sys.stdin is None or sys.stdin.isatty():
            raise NoEvent("it is empty", agent)
        text = sys.stdin.buffer.read().decode("utf-8", _KEPT)
        answer = _answer(agent, text, Options(arguments))
        if answer:
            import json

            sys.stdout.write(json.dumps(answer))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - a guard that breaks must not break the session
        words = f"antiloop hook: {_reason(error):.500}\n".replace("\n", " ").strip()
        _complain(words.encode("ascii", "backslashreplace").decode() + "\n")
    return 0


def _complain(words: str) -> None:
    """Write to standard error, if the agent has left it open."""
    try:
        sys.stderr.write(words)
    except (AttributeError, OSError, ValueError):
        return  # there is nowhere left to say it


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _answer(agent: HookAgent, text: str, options: Options) -> "Dict[str, Any]":
    loads = _reader()
    event = _event(agent, text, loads)
    settings = _settings(options)
    needs_repetition = (
        settings is None and options.preset in _NEED_REPETITION and options.config is None
    )
    if _has_transcript(agent) and needs_repetition:
        look = Look(tail_of(transcript_of(event)), loads, (*PLANNING, *options.ignore))
        if look.is_all_new(event):
            return {}
    from importlib import import_module

    module = import_module(f"antiloop.integrations.{agent.module}")
    from .hook_log import HookLog

    guard = module.LoopGuard(
        _detector(options, settings), ignore=options.ignore, observers=[HookLog()]
    )
    answer: Dict[str, Any] = guard.answer(event)
    return answer


def _has_transcript(agent: HookAgent) -> bool:
    return "transcript_path" in agent.needs


def _event(agent: HookAgent, text: str, loads: "Callable[[str], Any]") -> "Dict[str, Any]":
    """Read what the agent sent; raises `NoEvent` for all else."""
    try:
        event = loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        why = f"not JSON ({error})" if text.strip() else "it is empty"
        raise NoEvent(why, agent) from error
    if not isinstance(event, dict):
        raise NoEvent(f"expected a JSON object, got {type(event).__name__}", agent)
    for name in agent.needs:
        if not isinstance(event.get(name), str):
            raise NoEvent(f'no "{name}" in it', agent)
    return event


def _settings(options: Options) -> "Optional[str]":
    """Return the path of the file of settings that counts; None for no file."""
    if options.config is not None and options.config.endswith(".toml"):
        return options.config
    if options.is_isolated:
        return None
    from ...loop_detection.project import find_settings

    return find_settings()


def _detector(options: Options, settings: "Optional[str]") -> "Any":
    from ...loop_detection import LoopDetector
    from ...loop_detection.presets import PRESETS
    from ...loop_detection.project.settings import Settings

    instead = None
    if options.config is not None and options.config != settings:
        instead = _read_detector(options.config)
    elif options.preset is not None:
        if options.preset not in PRESETS:
            raise ValueError(f"no preset {options.preset!r}; choose from {', '.join(PRESETS)}")
        instead = PRESETS[options.preset]()
    found = Settings() if settings is None else Settings.read(settings)
    return found.detector(LoopDetector, PRESET, instead, shadow=options.shadow)


def _read_detector(path: str) -> "Any":
    import json

    from ...loop_detection import LoopDetector
    from ...regular_file import opener

    with open(path, encoding="utf-8-sig", opener=opener) as file:
        return LoopDetector.from_config(json.load(file))


def _reader() -> "Callable[[str], Any]":
    """Return what reads one JSON text.

    Importing `json` takes two thirds of the time that the interpreter needs to start, for the
    regular expressions of a decoder that is written in C anyway.
    """
    try:
        from _json import make_scanner  # type: ignore[import-not-found]
    except ImportError:  # another interpreter than CPython
        from json import loads

        return loads
    decoder: Any = _Decoder()
    scan = make_scanner(decoder)

    def read(text: str) -> "Any":
        try:
            value, end = scan(text, len(text) - len(text.lstrip(_SPACE)))
        except (StopIteration, SystemError):
            # StopIteration: no value begins here. SystemError, in Python 3.10 and 3.11: what is
            # wrong is named by a class of json.decoder, and that module is not imported.
            end = -1
        if end < 0 or text[end:].strip(_SPACE):
            from json import loads

            return loads(text)
        return value

    return read


class _Decoder:
    """What the scanner asks of a decoder."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int

    def __init__(self) -> None:
        self.memo: Dict[str, str] = {}
