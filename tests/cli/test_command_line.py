"""How the command line is read, and how what it says looks on a terminal."""

import argparse
import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.cli import _parser, main
from antiloop.cli import _recordings as recordings
from antiloop.cli._output import terminal
from antiloop.cli._output.terminal import columns, fitted

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
EXAMPLE = str(EXAMPLES / "runs.jsonl")
THREADS = "concurrent.futures:ThreadPoolExecutor"
COLOR = re.compile(r"\x1b\[\d+m")


PARSER = _parser()
"""What `main` makes anew for each call."""


def commands():
    """Return the parser of each command by its name."""
    (found,) = (each for each in PARSER._actions if isinstance(each, argparse._SubParsersAction))
    return found.choices


OPTIONS = [
    (command, name)
    for command, parser in commands().items()
    for action in parser._actions
    for name in action.option_strings
    if name.startswith("--")
]
SIMPLE = {"demo": [], "explain": [EXAMPLE, "--run", "refund-window"], "scan": [EXAMPLE]}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Run a command on a terminal so many columns wide; give what it shows there."""

    def run(*arguments, width=80, stderr=False):
        out, err = Terminal(), Terminal() if stderr else io.StringIO()
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        main(list(arguments))
        return err.getvalue() if stderr else out.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return run


def refused(arguments, capsys, read=main):
    """Return what is said of a command line that is wrong."""
    with pytest.raises(SystemExit) as exit_:
        read(arguments)
    assert exit_.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()[-1]


def misspelt(name):
    """Yield a name with a letter too few, too many, and two letters in the wrong order."""
    at = len(name) // 2 + 1
    yield name[:at] + name[at + 1 :]
    yield name[:at] + "x" + name[at:]
    if name[at - 1] != name[at]:
        yield name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :]


@pytest.mark.parametrize("name", commands())
def test_a_misspelt_command_is_told_what_it_may_mean(name, capsys):
    for word in misspelt(name):
        assert refused([word], capsys, PARSER.parse_args) == (
            f"antiloop: error: unknown command {word!r}; did you mean {name!r}?"
        )
        assert refused(["help", word], capsys).endswith(f"did you mean {name!r}?")


def test_a_command_like_no_other_is_told_which_there_are(capsys):
    told = refused(["dance"], capsys)
    assert told == f"antiloop: error: unknown command 'dance'; choose from {', '.join(commands())}"


@pytest.mark.parametrize(("command", "name"), OPTIONS)
def test_a_misspelt_option_is_told_what_it_may_mean(command, name, capsys):
    known = [each for which, each in OPTIONS if which == command]
    for word in set(misspelt(name)) - set(known):
        told = refused([command, word], capsys, PARSER.parse_args)
        assert told.startswith(f"antiloop {command}: error: unknown option {word!r}; did you mean")
        assert any(repr(each) in told for each in known)


@pytest.mark.parametrize(("command", "name"), OPTIONS)
def test_no_option_is_abbreviated(command, name, capsys):
    known = [each for which, each in OPTIONS if which == command]
    for length in range(3, len(name)):
        if name[:length] not in known:
            told = refused([command, f"{name[:length]}=1", "f"], capsys, PARSER.parse_args)
            assert f"error: unknown option {name[:length]!r}" in told


def test_an_option_before_the_command_is_checked_too(capsys):
    assert "did you mean '--color'?" in refused(["--colour", "never", "demo"], capsys)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("scan --json", "--format json"),
        ("summary --json", "--format json"),
        ("scan --sarif", "--format sarif"),
        ("explain --thorough", "--preset thorough"),
        ("scan --jbs", "--jobs"),
    ],
)
def test_a_choice_that_is_written_as_an_option_is_told_its_option(words, meant, capsys):
    assert refused([*words.split(), "f"], capsys).endswith(f"; did you mean {meant!r}?")


def test_a_misspelt_choice_is_told_what_it_may_mean(capsys):
    told = refused(["scan", "--preset", "escalatin", "f"], capsys)
    assert told.startswith("antiloop scan: error: argument --preset: 'escalatin' is not one of")
    assert told.endswith("; did you mean 'escalating'?")
    assert "did you mean" not in refused(["scan", "--preset", "zzz", "f"], capsys)


def test_an_argument_too_many_is_named(capsys):
    assert refused(["demo", "now"], capsys) == "antiloop demo: error: unknown argument 'now'"
    assert "unknown option '-x'" in refused(["demo", "-x"], capsys)


def test_what_follows_two_dashes_is_no_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("--hlep").write_text(Path(EXAMPLE).read_text("utf-8"))
    assert main(["scan", "--", "--hlep"]) == 1


@pytest.mark.parametrize("name", commands())
def test_help_says_the_same_as_the_option(name, capsys):
    pages = []
    for arguments in (["help", name], [name, "--help"]):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1] != ""


def test_help_alone_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["help"])
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert all(f"\n    {name} " in out for name in commands())


@pytest.mark.parametrize("name", [None, *commands()])
@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_help_fits_the_terminal(name, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        main(["help", *filter(None, [name])])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > min(width, 100)] == []


def test_an_example_that_is_broken_over_lines_is_still_one_command(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    with pytest.raises(SystemExit):
        main(["help", "scan"])
    out = capsys.readouterr().out
    assert out.endswith("  antiloop scan \\\n    docs/examples/runs.jsonl\n")


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30)


@given(st.lists(words), st.integers(0, 20), st.integers(6, 100), st.integers(0, 40) | st.none())
def test_lines_that_fit_hold_the_same_text(parts, indent, width, hang):
    line = " " * indent + " ".join(parts)
    lines = fitted(line, width, hang)
    if indent < width // 3:
        assert all(columns(each) <= width for each in lines)
    assert "".join("".join(lines).split()) == "".join(line.split())


@given(st.lists(words, min_size=1), st.integers(1, 20))
def test_a_line_that_fits_stays_as_it_is(parts, indent):
    line = " " * indent + "  ".join(parts)
    assert fitted(line, columns(line)) == [line]


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan", *map(str, sorted(EXAMPLES.glob("*.jsonl")))],
        ["scan", "--preset", "escalating", "-v", EXAMPLE],
        ["explain", EXAMPLE, "--run", "refund-window"],
        ["explain", EXAMPLE, "--run", "refund-window", "--step", "10"],
        ["calibrate", "--max-false-stops", "0.1", str(EXAMPLES / "good-runs.jsonl")],
        ["demo"],
    ],
)
@pytest.mark.parametrize("width", [30, 44, 70, 120])
def test_pages_fit_the_terminal(arguments, width, on_terminal):
    shown = COLOR.sub("", on_terminal(*arguments, width=width))
    assert [line for line in shown.splitlines() if columns(line) > width] == []


@pytest.mark.parametrize("form", ["json", "jsonl", "sarif"])
def test_json_is_never_broken_over_lines_nor_coloured(form, on_terminal, capsys):
    shown = on_terminal("scan", "--format", form, "--color", "always", EXAMPLE, width=30)
    assert "\x1b" not in shown
    for text in shown.splitlines() if form == "jsonl" else [shown]:
        json.loads(text)


def test_a_pipe_gets_whole_lines(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    main(["scan", EXAMPLE])
    assert max(map(len, capsys.readouterr().out.splitlines())) > 60


@pytest.mark.parametrize(
    ("options", "environment", "is_colored"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--color", "auto"], {"NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {}, False),
    ],
)
def test_colours_on_a_terminal(options, environment, is_colored, on_terminal, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert bool(COLOR.search(on_terminal("scan", EXAMPLE, *options))) is is_colored
    shown = on_terminal(*options, "scan", "no such file", stderr=True)
    assert bool(COLOR.search(shown)) is is_colored


def test_a_pipe_gets_colours_only_on_demand(monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["scan", EXAMPLE])
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    main(["scan", "--color", "always", EXAMPLE])
    colored = capsys.readouterr().out
    assert COLOR.search(colored)
    assert COLOR.sub("", colored) == plain


def test_a_choice_holds_for_one_call_only(capsys):
    main(["--color", "always", "-q", "scan", EXAMPLE])
    main(["demo"])
    assert not terminal.is_quiet()
    assert "\x1b" not in capsys.readouterr().out.rpartition("The user asks")[2]


@pytest.mark.parametrize("before", [True, False])
def test_quiet_tells_findings_and_trouble_only(before, capsys, tmp_path):
    options = ["scan", EXAMPLE, str(tmp_path / "missing"), str(ROOT / "docs" / "examples")]
    assert main(["-q", *options] if before else [*options, "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("refund-window, 18 steps")
    assert "got stuck" not in out
    assert "Healthy" not in out
    assert err == f"antiloop: {tmp_path / 'missing'}: No such file or directory\n"


def test_quiet_leaves_out_what_is_no_trouble(capsys, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing\n")
    (tmp_path / "runs.jsonl").write_text(Path(EXAMPLE).read_text("utf-8"))
    main(["scan", str(tmp_path)])
    assert "1 of 2 files hold no runs" in capsys.readouterr().err
    main(["scan", "-q", str(tmp_path)])
    assert capsys.readouterr().err == ""


def test_a_quiet_report_says_nothing_of_itself(capsys, tmp_path):
    main(["report", "-q", EXAMPLE, "-o", str(tmp_path / "page.html")])
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("before", [True, False])
def test_verbose_names_files_and_runs_that_are_fine(before, capsys):
    assert main(["-v", "scan", EXAMPLE] if before else ["scan", "-v", EXAMPLE]) == 1
    out, err = capsys.readouterr()
    assert f"sales-report, 8 steps ({EXAMPLE}:2)\n  nothing found\n\n" in out
    assert err == f"antiloop: reading {EXAMPLE}\n"


def test_verbose_tells_all_that_is_skipped(capsys, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(Path(EXAMPLE).read_text("utf-8") + "{broken\n" * 30)
    main(["scan", str(path)])
    assert "20 further places" in capsys.readouterr().err
    main(["scan", "-v", str(path)])
    err = capsys.readouterr().err
    assert err.count("not JSON") == 30
    assert "further" not in err


def test_verbose_shows_known_loops(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["scan", "--write-baseline", "known.jsonl", EXAMPLE])
    capsys.readouterr()
    assert main(["scan", "-v", "--baseline", "known.jsonl", EXAMPLE]) == 0
    out = capsys.readouterr().out
    assert out.count(" (known)\n") == 2
    assert out.endswith("1 of 2 runs got stuck; 2 known loops.\n")


@pytest.mark.parametrize(("first", "last", "is_quiet"), [("-q", "-v", False), ("-v", "-q", True)])
def test_the_last_word_counts(first, last, is_quiet, capsys):
    main([first, "scan", EXAMPLE, last])
    assert ("got stuck" not in capsys.readouterr().out) is is_quiet


@pytest.fixture
def clock(monkeypatch):
    """Let each look at the clock take a second."""
    times = iter(range(1000))
    monkeypatch.setattr(recordings.time, "monotonic", lambda: next(times))


def test_progress_names_files_runs_rate_and_file(clock, on_terminal):
    shown = on_terminal("scan", EXAMPLE, EXAMPLE, width=200, stderr=True).split("\r\x1b[K")
    assert shown[-1] == ""
    assert [text for text in shown if text] == [
        f"file 1 of 2, 0 runs, 0 a second: {EXAMPLE}",
        f"file 1 of 2, 1 run, 0 a second: {EXAMPLE}",
        f"file 1 of 2, 2 runs, 1 a second: {EXAMPLE}",
        f"file 2 of 2, 2 runs, 0 a second: {EXAMPLE}",
        f"file 2 of 2, 3 runs, 1 a second: {EXAMPLE}",
        f"file 2 of 2, 4 runs, 1 a second: {EXAMPLE}",
    ]


@pytest.mark.parametrize("width", [1, 10, 30, 60])
def test_progress_fits_in_one_line_so_that_it_can_be_taken_away(clock, on_terminal, width):
    shown = on_terminal("scan", EXAMPLE, width=width, stderr=True).split("\r\x1b[K")
    assert len(shown) > 2
    assert all(len(part) < max(2, width) for part in shown)


def test_progress_is_shown_to_a_person_only(clock, capsys):
    main(["scan", EXAMPLE])
    assert capsys.readouterr().err == ""


def test_quiet_shows_no_progress(clock, on_terminal):
    assert on_terminal("scan", "-q", EXAMPLE, stderr=True) == ""


def test_a_short_scan_shows_no_progress(monkeypatch, on_terminal):
    monkeypatch.setattr(recordings.time, "monotonic", lambda: 0)
    assert on_terminal("scan", EXAMPLE, stderr=True) == ""


def test_the_width_is_what_the_terminal_says(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal.columns_of(io.StringIO()) == 80
    monkeypatch.setattr(
        terminal.os, "get_terminal_size", lambda _: terminal.os.terminal_size((33, 9))
    )
    with open(EXAMPLE) as file:
        assert terminal.columns_of(file) == 33
    monkeypatch.setenv("COLUMNS", "wide")
    with open(EXAMPLE) as file:
        assert terminal.columns_of(file) == 33


@pytest.mark.parametrize("text", ["", "\n", " \n\n", "\ufeff"])
@pytest.mark.parametrize("options", [[], ["--from", "openai-chat"], ["--engine", THREADS]])
def test_an_empty_file_is_called_so(text, options, tmp_path, capsys):
    path = tmp_path / "empty"
    path.write_text(text, encoding="utf-8")
    assert main(["scan", *options, str(path)]) == 2
    told = f"antiloop: {path}: no recorded runs here: it is empty\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("command", ["explain", "calibrate", "report"])
def test_every_command_calls_an_empty_file_so(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("")
    assert main([command, "empty"]) == 2
    assert "antiloop: empty: no recorded runs here: it is empty\n" in capsys.readouterr().err


@pytest.mark.parametrize("verbose", [[], ["--verbose"]])
def test_verbose_shows_where_an_error_came_from(verbose, capsys):
    assert main(["watch", "-", "runs.jsonl", *verbose]) == 2
    told = capsys.readouterr().err
    assert ("Traceback" in told) is bool(verbose)
    assert told.splitlines()[-1].startswith("antiloop: - is standard input")
