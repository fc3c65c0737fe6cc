"""A baseline lets known loops pass, and no others."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiloop.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "gate-in-ci.md"
COMMANDS = re.findall(r"^antiloop .*baseline.*$", PAGE.read_text("utf-8"), re.MULTILINE)


def steps(tool_name, count=4):
    return [
        {"tool_name": tool_name, "arguments": {"p": "."}, "result": "a.py", "round": round_}
        for round_ in range(count)
    ]


def run_line(run_id, *tools):
    """Write a run that gets stuck on each of these tools; without any it is fine."""
    record = {"run_id": run_id, "steps": [step for tool in tools for step in steps(tool)]}
    return json.dumps({name: value for name, value in record.items() if value is not None}) + "\n"


@pytest.fixture(autouse=True)
def _somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("recordings").mkdir()


def record(name, *lines):
    Path("recordings", name).write_text("".join(lines))


def write(*options):
    return main(["scan", "--write-baseline", "known.jsonl", *options, "recordings"])


def check(*options):
    return main(["scan", "--baseline", "known.jsonl", *options, "recordings"])


def test_the_recipe_of_the_guide_passes_what_is_known_and_fails_for_a_new_loop(capsys):
    write_it, check_it = (shlex.split(command)[1:] for command in COMMANDS)
    record("a.jsonl", run_line("login", "ls"), run_line("pay"))
    assert main(write_it) == 0
    assert main(check_it) == 0
    record("a.jsonl", run_line("login", "ls"), run_line("pay", "cat"))
    capsys.readouterr()
    assert main(check_it) == 1
    out, err = capsys.readouterr()
    assert "pay, 4 steps" in out
    assert "login" not in out
    assert out.endswith("2 of 2 runs got stuck; 1 known loop not shown.\n")
    assert err == ""


def test_a_new_loop_in_a_run_with_a_known_one_is_new(capsys):
    record("a.jsonl", run_line("login", "ls"))
    write()
    record("a.jsonl", run_line("login", "ls", "cat"))
    capsys.readouterr()
    assert check() == 1
    out = capsys.readouterr().out
    assert 'cat "."' in out
    assert "'ls'" not in out


@pytest.mark.parametrize("stuck", [0, 1, 2])
def test_runs_with_the_same_id_are_told_apart(stuck):
    def recorded(*numbers):
        return [run_line("r", *(["ls"] if number in numbers else [])) for number in range(3)]

    record("a.jsonl", *recorded(stuck))
    write()
    assert check() == 0
    for other in {0, 1, 2} - {stuck}:
        record("a.jsonl", *recorded(stuck, other))
        assert check() == 1
        record("a.jsonl", *recorded(other))
        assert check() == 1


def test_runs_with_the_same_id_in_two_files_are_told_apart():
    record("a.jsonl", run_line("r"))
    record("b.jsonl", run_line("r", "ls"))
    write()
    assert check() == 0
    record("a.jsonl", run_line("r", "ls"))
    record("b.jsonl", run_line("r"))
    assert check() == 1


def test_runs_without_an_id_are_told_apart_and_may_move_down_in_the_file():
    record("a.jsonl", run_line(None, "ls"), run_line(None))
    write()
    record("a.jsonl", "\n\n", run_line(None, "ls"), run_line(None))
    assert check() == 0
    record("a.jsonl", run_line(None), run_line(None, "ls"))
    assert check() == 1


def test_a_file_may_be_renamed_but_not_copied():
    record("a.jsonl", run_line("r", "ls"))
    write()
    Path("recordings", "a.jsonl").rename(Path("recordings", "b.jsonl"))
    assert check() == 0
    record("c.jsonl", run_line("r", "ls"))
    assert check() == 1


def test_a_known_loop_stays_known_with_other_thresholds_and_presets():
    record("a.jsonl", run_line("r", "ls"), run_line("s", "cat"))
    write("--preset", "literal")
    for preset in ("literal", "default", "escalating"):
        assert check("--preset", preset) == 0


def test_a_known_loop_stays_known_from_another_directory_by_its_whole_path(monkeypatch):
    record("a.jsonl", run_line("r", "ls"))
    write()
    here = Path.cwd()
    assert main(["scan", "--baseline", "known.jsonl", str(here / "recordings")]) == 0
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert main(["scan", "--baseline", "../known.jsonl", "../recordings/a.jsonl"]) == 0


runs = st.lists(
    st.tuples(
        st.sampled_from(["a.jsonl", "b.jsonl"]),
        st.sampled_from(["r", "s", None]),
        st.lists(st.sampled_from(["ls", "cat", "rm"]), unique=True, max_size=2),
    ),
    min_size=1,
    max_size=6,
)


def record_all(made):
    for path in Path("recordings").iterdir():
        path.unlink()
    for name, run_id, tools in made:
        with Path("recordings", name).open("a") as file:
            file.write(run_line(run_id, *tools))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs, st.data())
def test_what_was_written_passes_and_any_further_loop_fails(made, data):
    record_all(made)
    assert write() == 0
    assert check() == 0
    at = data.draw(st.integers(0, len(made) - 1))
    name, run_id, tools = made[at]
    record_all([*made[:at], (name, run_id, [*tools, "make"]), *made[at + 1 :]])
    assert check() == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs)
def test_the_file_is_text_in_an_order_of_its_own(made):
    record_all(made)
    write()
    text = Path("known.jsonl").read_text("ascii")
    names = sorted({f"recordings/{name}" for name, _, _ in made}, reverse=True)
    assert main(["scan", "--write-baseline", "known.jsonl", *names, *names[-1:]]) == 0
    assert Path("known.jsonl").read_text("ascii") == text
    first, *loops = map(json.loads, text.splitlines())
    assert first == {"antiloop": "baseline", "version": 1}
    assert [each["file"] for each in loops] == sorted(each["file"] for each in loops)


def test_processes_write_and_compare_the_same():
    for number in range(6):
        record(f"{number}.jsonl", run_line("r", "ls"), run_line("r", "cat"))
    write()
    alone = Path("known.jsonl").read_text("ascii")
    assert write("--jobs", "2") == 0
    assert Path("known.jsonl").read_text("ascii") == alone
    assert check("--jobs", "2") == 0
    record("3.jsonl", run_line("r", "ls"), run_line("r", "cat", "rm"))
    assert check("--jobs", "2") == 1


def test_json_says_which_loops_are_known(capsys):
    record("a.jsonl", run_line("r", "ls"))
    write()
    record("a.jsonl", run_line("r", "ls", "cat"))
    capsys.readouterr()
    check("--format", "jsonl")
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert [verdict["known"] for verdict in verdicts] == [True, True, False, False]
    main(["scan", "--format", "jsonl", "recordings"])
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert not any(verdict["known"] for verdict in verdicts)


def test_sarif_says_which_loops_are_new(capsys):
    record("a.jsonl", run_line("r", "ls"))
    write()
    record("a.jsonl", run_line("r", "ls", "cat"))
    capsys.readouterr()
    check("--format", "sarif")
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert [result["baselineState"] for result in results] == ["unchanged", "new"]
    main(["scan", "--format", "sarif", "recordings"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert not any("baselineState" in result for result in results)


def test_sarif_tells_runs_with_the_same_id_apart(capsys):
    record("a.jsonl", run_line("r", "ls"), run_line("r", "ls"))
    main(["scan", "--format", "sarif", "recordings"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]
    assert len(set(prints)) == 2


def test_known_loops_that_are_gone_are_told_and_do_not_fail(capsys):
    record("a.jsonl", run_line("r", "ls", "cat"))
    write()
    record("a.jsonl", run_line("r", "ls"))
    capsys.readouterr()
    assert check() == 0
    assert capsys.readouterr().err == "antiloop: known.jsonl: 1 known loop no longer found\n"


def test_known_loops_of_files_that_are_not_scanned_are_left_alone(capsys):
    record("a.jsonl", run_line("r", "ls"))
    record("b.jsonl", run_line("s", "ls"))
    write()
    capsys.readouterr()
    assert main(["scan", "--baseline", "known.jsonl", "recordings/a.jsonl"]) == 0
    assert capsys.readouterr().err == ""


def test_nothing_is_written_of_what_could_not_be_read_whole(capsys):
    record("a.jsonl", run_line("r", "ls"))
    write()
    before = Path("known.jsonl").read_text("ascii")
    assert main(["scan", "--write-baseline", "known.jsonl", "recordings", "missing"]) == 2
    assert (
        "known.jsonl: not written because some recordings could not be read"
        in capsys.readouterr().err
    )
    assert Path("known.jsonl").read_text("ascii") == before


def test_a_baseline_that_cannot_be_written_is_2_and_named(capsys):
    record("a.jsonl", run_line("r", "ls"))
    assert main(["scan", "--write-baseline", "no/known.jsonl", "recordings"]) == 2
    assert "no/known.jsonl: No such file or directory" in capsys.readouterr().err


def test_a_baseline_without_a_name_is_2_and_written_nowhere(capsys):
    record("a.jsonl", run_line("r", "ls"))
    assert main(["scan", "--write-baseline", "", "recordings"]) == 2
    assert ": Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "no such file; create it with --write-baseline known.jsonl"),
        ("", "not a baseline of this version; create one with --write-baseline"),
        (run_line("r", "ls"), "not a baseline of this version"),
        ("{broken", "line 1: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('HEAD{"run": 1}\n', "line 2: not a known loop; delete the line"),
        ("HEAD\n\n[]\n", "line 4: not a known loop"),
        ("HEAD{\n", "line 2: not JSON"),
        ('HEAD{"file": 1, "run": "", "nth": 1, "loop": "", "calls": ""}', "line 2: not a known"),
    ],
)
def test_a_baseline_that_is_none_is_2_and_told(text, told, capsys):
    head = '{"antiloop": "baseline", "version": 1}\n'
    if text is not None:
        Path("known.jsonl").write_text(text.replace("HEAD", head))
    record("a.jsonl", run_line("r"))
    with pytest.raises(SystemExit) as exit_:
        check()
    assert exit_.value.code == 2
    assert f"argument --baseline: known.jsonl: {told}" in capsys.readouterr().err


def test_a_baseline_that_is_no_file_is_not_opened(capsys):
    record("a.jsonl", run_line("r"))
    Path("known.jsonl").symlink_to(os.devnull)
    with pytest.raises(SystemExit) as exit_:
        check()
    assert exit_.value.code == 2
    assert "argument --baseline: known.jsonl: a device, not a file" in capsys.readouterr().err


def test_one_may_be_read_or_written(capsys):
    with pytest.raises(SystemExit) as exit_:
        check("--write-baseline", "known.jsonl")
    assert exit_.value.code == 2
