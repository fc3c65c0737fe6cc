"""One run of ``antiloop hook claude-code``: an event on standard input, an answer on output.

Whatever goes wrong, the exit status is 0 and the answer is none: Claude Code takes status 2 for a
refusal, and a guard that breaks must not break the session.
"""

import sys

from .transcript_tail import PLANNING, Look, tail_of, transcript_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

PRESET = "escalating"
_KNOW_NEWS = ("default", "escalating")  # the presets that `Look` knows


class Options:
    """How the hook was called.

    Args:
        arguments: ``--preset NAME``, ``--config FILE`` and ``--ignore TOOL``, the last one often.

    Raises:
        ValueError: for anything else.
    """

    def __init__(self, arguments: "Sequence[str]") -> None:
        self.preset = PRESET
        self.config: Optional[str] = None
        self.ignore: List[str] = []
        waiting = list(reversed(arguments))
        while waiting:
            name, equals, value = waiting.pop().partition("=")
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


def main(arguments: "Sequence[str]") -> int:
    """Answer one event; the exit status is always 0."""
    try:
        if sys.stdin.isatty():
            raise ValueError("no event on standard input; --install lets Claude Code call this")
        answer = _answer(sys.stdin.buffer.read().decode(), Options(arguments))
        if answer:
            import json

            sys.stdout.write(json.dumps(answer))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - a guard that breaks must not break the session
        sys.stderr.write(
            f"antiloop hook: {type(error).__name__}: {error!s:.500}".encode(
                "ascii", "backslashreplace"
            ).decode()
            + "\n"
        )
    return 0


def _answer(text: str, options: Options) -> "Dict[str, Any]":
    loads = _reader()
    event = loads(text)
    if options.config is None and options.preset in _KNOW_NEWS:
        look = Look(tail_of(transcript_of(event)), loads, (*PLANNING, *options.ignore))
        if look.is_news(event):
            return {}
    from .claude_code import LoopGuard

    return LoopGuard(_detector(options), ignore=options.ignore).answer(event)


def _detector(options: Options) -> "Any":
    from ..loop_detection import LoopDetector
    from ..loop_detection.presets import PRESETS

    if options.config is not None:
        import json

        with open(options.config, encoding="utf-8-sig") as file:
            return LoopDetector.from_config(json.load(file))
    if options.preset not in PRESETS:
        raise ValueError(f"no preset {options.preset!r}; choose from {', '.join(PRESETS)}")
    return PRESETS[options.preset]()


def _reader() -> "Callable[[str], Any]":
    """Give what reads one JSON text.

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
    return lambda text: scan(text, len(text) - len(text.lstrip()))[0]


class _Decoder:
    """What the scanner asks of a decoder."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int

    def __init__(self) -> None:
        self.memo: Dict[str, str] = {}
