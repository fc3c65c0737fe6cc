"""Make the page about the command line out of the parser, which alone knows all options.

    PYTHONPATH=src python tests/docs/command_line_page.py

It reads the parser's actions and not its help, whose words differ from one Python to the next.
"""

import argparse
import re
from pathlib import Path

from antiloop.cli import _parser

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
COMMAND = "PYTHONPATH=src python tests/docs/command_line_page.py"
HEAD = """\
# The command line

This page lists the commands of `antiloop` with their arguments, options and examples. It has the
same content as `antiloop help COMMAND` and `antiloop COMMAND --help`. `antiloop --version` prints
the version.

Findings go to standard output, errors and warnings to standard error. A command ends with one of
these exit statuses, unless its section says something else:

| exit status | meaning |
|---|---|
| 0 | nothing was found |
| 1 | something was found |
| 2 | a part of the work could not be done, or the command was called wrongly |
| 130 | Ctrl-C ended the command |
| 141 | the pipe that reads the output was closed |

On a terminal, antiloop breaks lines to fit the width, uses colors, and shows the progress of long
work. In a file or a pipe the output is plain. Everything from a recording is escaped, so that a
recording cannot control your terminal.

Write the names of options in full. A misspelled name is an error that suggests the right one.

These options work before or after a command:
"""
EVERYWHERE = ("verbosity", "color")
NAMES = {
    "presets:": "\nThe page [Presets](presets.md) describes each preset.\n",
    "formats:": "\nThe page [Formats of recorded runs](formats.md) says what each reader reads.\n",
}


def page():
    """Return the page as it should be."""
    commands = commands_of(_parser())
    rows = [
        f"| [`{name}`](#antiloop-{name.replace(' ', '-')}) | {about(parser)} |"
        for name, parser in commands
    ]
    overview = "\n".join(["", "| command | what it does |", "|---|---|", *rows, ""])
    common = [action for action in _parser()._actions if action.dest in EVERYWHERE]
    return (
        HEAD
        + table(_parser(), common)
        + overview
        + "".join(section(name, parser) for name, parser in commands)
    )


def commands_of(parser, before=""):
    """Return ``(name, parser)`` for each command and its own commands, in order, no aliases."""
    commands = []
    for found in filter(has_commands, parser._actions):
        for choice in found._choices_actions:
            name, own = before + choice.dest, found.choices[choice.dest]
            commands += [(name, own), *commands_of(own, f"{name} ")]
    return commands


def has_commands(action):
    return isinstance(action, argparse._SubParsersAction)


def about(parser):
    return parser.description.partition("\n")[0]


def section(name, parser):
    actions = [action for action in parser._actions if action.dest not in ("help", *EVERYWHERE)]
    text = f"\n## `antiloop {name}`\n\n{parser.description}\n"
    if actions:
        text += "\n".join(["", "```sh", usage(parser, actions), "```", ""])
        text += table(parser, [action for action in actions if not has_commands(action)])
    return text + "".join(map(paragraph, (parser.epilog or "").strip().split("\n\n")))


def table(parser, actions):
    rows = [row(parser, action) for action in actions]
    return "\n".join(["", "| argument | values | what it is |", "|---|---|---|", *rows, ""])


def usage(parser, actions):
    """Write down how a command is called, in one line."""
    exclusive = [group._group_actions for group in parser._mutually_exclusive_groups]
    words = [parser.prog]
    for action in [each for each in actions if each.option_strings] + positional(actions):
        group = next((group for group in exclusive if action in group), [action])
        if action is group[0]:
            words.append(joined(group))
    return " ".join(words)


def positional(actions):
    return [action for action in actions if not action.option_strings]


def joined(group):
    if not group[0].option_strings:
        name = group[0].metavar
        return {"+": f"{name} [{name} ...]", "*": f"[{name} ...]", "?": f"[{name}]"}.get(
            group[0].nargs, name
        )
    words = " | ".join(" ".join(filter(None, (a.option_strings[-1], value(a)))) for a in group)
    return words if any(action.required for action in group) else f"[{words}]"


def value(action):
    """Name what an option takes, nothing for a switch."""
    if action.nargs == 0:
        return ""
    return action.metavar or ("NAME" if action.choices else action.dest.upper())


def row(parser, action):
    names = ", ".join(f"`{name}`" for name in action.option_strings or [action.metavar])
    values = [f"`{choice}`" for choice in action.choices or ()]
    if not values and action.option_strings and value(action):
        values = [f"`{value(action)}`"]
    told = parser._get_formatter()._expand_help(action).replace(listed(action), "")
    return f"| {names} | {', '.join(values)} | {' '.join(told.split())} |".replace("|  |", "| |")


def listed(action):
    """Return what a help says of the choices, which have a column of their own."""
    return f": {', '.join(action.choices)}" if "%(choices)s" in action.help else "\0"


def paragraph(text):
    """Write a part of a help's end: names as a link, an example as code, others as prose."""
    first, _, rest = text.partition("\n")
    if first in NAMES:
        return NAMES[first]
    if re.match(r"examples?\b.*:$", first):
        lines = [line.strip() for line in rest.splitlines()]
        return "\n".join([f"\n{first.capitalize()}\n", "```sh", *lines, "```", ""])
    return f"\n{text}\n"


if __name__ == "__main__":
    PAGE.write_bytes(page().encode())
