"""The parser of the command line: it names what it does not know and suggests what is meant."""

import argparse
import shutil
from textwrap import wrap
from typing import Any, Iterable, Iterator, List, Mapping, NoReturn, Optional, Sequence, Tuple

from .._json_schema import nearest
from ._output.terminal import printable

_WIDEST = 100
_PROGRAM = "  antiloop "


class Parser(argparse.ArgumentParser):
    """Reads a command line and escapes its error messages."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(  # type: ignore[override]
        self, args: Optional[Sequence[str]] = None, namespace: Optional[Any] = None
    ) -> Tuple[argparse.Namespace, List[str]]:
        """Read the arguments; refuse any that is unknown."""
        words = list(args or ())
        for word in _options_in(words, is_whole=self._subparsers is None):
            name = word.partition("=")[0]
            if name not in self._option_string_actions:
                options = self._option_string_actions
                self._refuse("option", name, list(_with_choice(name[2:], options)) or options)
        known, rest = super().parse_known_args(words, namespace)
        if rest:
            is_option = rest[0].startswith("-")
            names = self._option_string_actions if is_option else ()
            self._refuse("option" if is_option else "argument", rest[0], names)
        return known, rest

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and exit with status 2."""
        super().error(printable(message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        if isinstance(action, argparse._SubParsersAction):
            self._refuse("command", value, action.choices, listed=True)
        problem = f"{value!r} is not one of {', '.join(action.choices)}"
        raise argparse.ArgumentError(action, problem + nearest(str(value).lower(), action.choices))

    def _refuse(self, kind: str, word: str, known: Iterable[str], listed: bool = False) -> NoReturn:
        choices = f"; choose from {', '.join(known)}" if listed else ""
        self.error(f"unknown {kind} {word!r}{nearest(word.lower(), known) or choices}")


class HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs to any width and keeps indented lines apart."""

    def __init__(self, prog: str) -> None:
        width = min(shutil.get_terminal_size().columns, _WIDEST) - 2
        super().__init__(prog, max_help_position=min(24, width // 3), width=width)

    def add_usage(
        self,
        usage: Optional[str],
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: Optional[str] = None,
    ) -> None:
        """Write a short usage line; the options are listed below it with their meaning."""
        listed = list(actions)
        options = ["[OPTION ...]"] if any(each.option_strings for each in listed) else []
        words = ["%(prog)s", *options, *filter(None, map(_placed, listed))]
        room = max(11, self._width - len("usage: "))
        lines = wrap(" ".join(words).replace("%(prog)s", self._prog), room)
        short = "\n       ".join(lines).replace("%", "%%")
        super().add_usage(usage or short, listed, groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - as argparse calls it
        blocks = (self._block(block, width) for block in text.strip().split("\n\n"))
        return "\n\n".join(blocks) + "\n"

    def _block(self, block: str, width: int) -> str:
        lines: List[str] = []
        prose: List[str] = []
        for line in [*block.split("\n"), "  "]:
            if not line.startswith(" "):
                prose.append(line)
                continue
            lines += wrap(" ".join(prose), width, break_on_hyphens=False)
            prose = []
            lines += _indented(line, width)
        return "\n".join(lines)


def _indented(line: str, width: int) -> List[str]:
    """Break a line of a list, or a line of an example in a way that a shell accepts."""
    is_example = line.startswith(_PROGRAM)
    end = " \\" if is_example else ""
    options = {"break_on_hyphens": False, "break_long_words": not is_example}
    parts = wrap(line, width - len(end), subsequent_indent="    ", **options)  # type: ignore[arg-type]
    return [part + end for part in parts[:-1]] + parts[-1:]


def _placed(action: argparse.Action) -> str:
    """Write down a positional argument; empty for an option."""
    if action.option_strings:
        return ""
    name = str(action.metavar)
    shapes = {"+": f"{name} [{name} ...]", "?": f"[{name}]", argparse.PARSER: f"{name} ..."}
    return shapes.get(str(action.nargs), name)


def _options_in(words: Sequence[str], *, is_whole: bool) -> Iterator[str]:
    """Yield the words that can only be long options; outside a command, those before it."""
    for word in words:
        if word == "--" or not (is_whole or word.startswith("-")):
            return
        if word.startswith("--") and " " not in word:
            yield word


def _with_choice(word: str, options: Mapping[str, argparse.Action]) -> Iterator[str]:
    """Yield the option that has a word as a choice, for who wrote ``--json``."""
    for option, action in options.items():
        if word in (action.choices or ()):
            yield f"{option} {word}"
