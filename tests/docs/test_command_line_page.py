"""The page about the command line names every command with every option."""

import pytest
from command_line_page import COMMAND, PAGE, commands_of, page

from antiloop.cli import _parser

COMMANDS = commands_of(_parser())


def test_the_page_is_that_of_the_parser():
    assert PAGE.read_text(encoding="utf-8") == page(), f"make the page again: {COMMAND}"


@pytest.mark.parametrize(("name", "parser"), COMMANDS, ids=dict(COMMANDS))
def test_a_command_says_what_it_does_and_what_its_options_are(name, parser):
    assert parser.description
    assert [action.dest for action in parser._actions if not action.help] == []


@pytest.mark.parametrize(("name", "parser"), COMMANDS, ids=dict(COMMANDS))
def test_a_help_ends_with_an_example_that_can_be_called(name, parser):
    program, *arguments = parser.epilog.strip().splitlines()[-1].split()
    assert (program, arguments[0]) == ("antiloop", name)
    assert _parser().parse_args(arguments).run
