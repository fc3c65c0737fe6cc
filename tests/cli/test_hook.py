"""The hook in Claude Code's settings: what is shown, asked, written, kept and refused."""

import io
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys

import pytest

from antiloop import LoopDetector
from antiloop.__main__ import _status as program
from antiloop.cli import main
from antiloop.cli._hooks import hook_settings
from antiloop.cli._hooks.agent_settings import nested_entry
from antiloop.cli._hooks.agents import SETTINGS

CLAUDE = SETTINGS["claude-code"]
EVENTS, path_of = CLAUDE.events, CLAUDE.path_of
with_hook, without_hook = CLAUDE.with_hook, CLAUDE.without_hook

OWN = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint.sh"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "echo done"}]}],
    },
}
FILE = os.path.join(".claude", "settings.json")


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("PATH", program_in(tmp_path / "bin"))


def program_in(folder):
    """Put a program into a folder, and give that."""
    folder.mkdir()
    program = folder / "antiloop"
    program.write_text("", "utf-8")
    program.chmod(0o755)
    return str(folder)


def write(settings, path=FILE):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(settings if isinstance(settings, str) else json.dumps(settings, indent=2) + "\n")


def read(path=FILE):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def commands(settings):
    return [
        hook["command"]
        for event in EVENTS
        for each in settings["hooks"][event]
        for hook in each["hooks"]
        if "antiloop" in hook["command"]
    ]


def answering(monkeypatch, text):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(text))


def test_a_project_without_settings_gets_some():
    assert main(["hook", "claude-code", "--install", "--yes"]) == 0
    assert read() == {
        "hooks": {event: [nested_entry("antiloop hook claude-code; exit 0")] for event in EVENTS}
    }


def test_the_change_is_shown_first(capsys):
    write(OWN)
    main(["hook", "claude-code", "--install", "--yes"])
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == [f"--- {FILE}", f"+++ {FILE}"]
    assert sum("antiloop hook claude-code" in line and line[0] == "+" for line in out) == 2
    assert not any(line[0] == "-" and "lint.sh" in line for line in out)
    assert out[-1] == f"written: {FILE}"


@pytest.mark.parametrize(("answer", "is_written"), [("y\n", True), ("n\n", False), ("", False)])
def test_nothing_is_written_without_a_yes(answer, is_written, monkeypatch, capsys):
    answering(monkeypatch, answer)
    assert main(["hook", "claude-code", "--install"]) == 0
    assert os.path.exists(FILE) == is_written
    assert "Write this? [y/N]" in capsys.readouterr().out


def test_where_nobody_can_be_asked_nothing_is_written(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["hook", "claude-code", "--install"]) == 2
    assert "not a terminal, cannot ask. Use --yes. Nothing was changed." in capsys.readouterr().err
    assert not os.path.exists(FILE)


def test_what_is_there_is_kept():
    write(OWN)
    main(["hook", "claude-code", "--install", "--yes"])
    settings = read()
    assert settings["permissions"] == OWN["permissions"]
    assert settings["hooks"]["Stop"] == OWN["hooks"]["Stop"]
    assert settings["hooks"]["PreToolUse"][0] == OWN["hooks"]["PreToolUse"][0]
    assert len(settings["hooks"]["PreToolUse"]) == 2


def test_to_install_twice_changes_nothing(capsys):
    write(OWN)
    main(["hook", "claude-code", "--install", "--yes"])
    once = read()
    capsys.readouterr()
    assert main(["hook", "claude-code", "--install"]) == 0
    assert (read(), capsys.readouterr().out) == (once, f"{FILE}: nothing to change\n")


def test_other_options_take_the_place_of_the_old_ones(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(LoopDetector.default().to_config()), "utf-8")
    install = ["hook", "claude-code", "--install", "--yes"]
    main([*install, "--preset", "default", "--ignore", "my tool", "--ignore", "x"])
    words = "antiloop hook claude-code --preset default --ignore 'my tool' --ignore x"
    assert commands(read()) == [f"{words}; exit 0"] * 2
    main([*install, "--shadow"])
    assert commands(read()) == ["antiloop hook claude-code --shadow; exit 0"] * 2
    main([*install, "--config", "c.json"])
    path = shlex.quote(str(tmp_path / "c.json"))
    assert commands(read()) == [f"antiloop hook claude-code --config {path}; exit 0"] * 2


def test_to_uninstall_leaves_what_was_there():
    write(OWN)
    for change in ("--install", "--uninstall"):
        assert main(["hook", "claude-code", change, "--yes"]) == 0
    assert read() == OWN
    assert main(["hook", "claude-code", "--uninstall"]) == 0


@pytest.mark.parametrize("where", ["project", "--user", "--local"])
def test_to_uninstall_leaves_no_file_in_which_nothing_is(where, capsys):
    words = ["hook", "claude-code", "--yes", *([where] if where[0] == "-" else [])]
    main([*words, "--install"])
    path = path_of(where.strip("-"))
    assert len(commands(read(path))) == 2
    assert main([*words, "--uninstall"]) == 0
    assert not os.path.exists(path)
    assert capsys.readouterr().out.endswith(f"deleted, because nothing else was in it: {path}\n")
    assert main([*words, "--uninstall"]) == 0
    assert not os.path.exists(path)


def test_a_file_that_held_nothing_before_stays_as_it_is():
    write("{}")
    assert main(["hook", "claude-code", "--uninstall", "--yes"]) == 0
    assert read() == {}


def test_a_link_to_a_file_in_which_nothing_is_left_goes_with_it(tmp_path):
    real = tmp_path / "real.json"
    real.write_text(json.dumps(with_hook({}, "antiloop hook claude-code")), "utf-8")
    os.mkdir(".claude")
    os.symlink(real, FILE)
    assert main(["hook", "claude-code", "--uninstall", "--yes"]) == 0
    assert not os.path.lexists(FILE)
    assert not real.exists()


def test_a_hook_beside_ours_in_one_entry_stays():
    beside = {"type": "command", "command": "lint.sh"}
    both = {"matcher": "*", "hooks": [beside, *nested_entry("antiloop hook claude-code")["hooks"]]}
    left = without_hook({"hooks": {"PreToolUse": [both]}})
    assert left == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [beside]}]}}


def test_what_is_empty_already_stays():
    for settings in ({}, {"hooks": {}}, {"hooks": {"Stop": []}}, {"hooks": {"Stop": [{}]}}):
        assert without_hook(settings) == settings
    assert without_hook(with_hook({"model": "x"}, "antiloop hook claude-code")) == {"model": "x"}


def test_the_users_own_settings_hold_the_full_path(tmp_path, monkeypatch):
    main(["hook", "claude-code", "--install", "--yes", "--user"])
    written = commands(read(tmp_path / "home" / ".claude" / "settings.json"))
    assert [shlex.split(each)[0] for each in written] == [sys.executable] * 2
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    main(["hook", "claude-code", "--install", "--yes", "--user"])
    assert commands(read(tmp_path / "elsewhere" / "settings.json")) == written


@pytest.mark.parametrize(
    ("found", "options"),
    [("True", ["-I", "-c", hook_settings.START]), ("False", ["-m", "antiloop"])],
)
def test_a_command_that_is_not_on_the_path_is_written_in_full(found, options, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(hook_settings, "_START_UP", f"import sys; sys.exit(not {found})")
    main(["hook", "claude-code", "--install", "--yes"])
    expected = [sys.executable, *options, "hook", "claude-code;", "exit", "0"]
    assert [shlex.split(each) for each in commands(read())] == [expected] * 2


def test_local_settings_are_not_those_of_the_project(capsys):
    assert main(["hook", "claude-code", "--install", "--yes", "--local"]) == 0
    assert not os.path.exists(FILE)
    written = commands(read(path_of("local")))
    assert [shlex.split(each)[0] for each in written] == [sys.executable] * 2
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("place", "is_told"), [("--project", True), ("--local", False), ("--user", False)]
)
def test_a_path_of_this_machine_in_shared_settings_is_told_before_it_is_asked(
    place, is_told, monkeypatch, capsys
):
    monkeypatch.setenv("PATH", "")
    answering(monkeypatch, "n\n")
    options = [] if place == "--project" else [place]
    assert main(["hook", "claude-code", "--install", *options]) == 0
    err = capsys.readouterr().err
    assert (f"the path of this machine's Python, {sys.executable}" in err) is is_told
    assert ("use --local to write your own settings" in err) is is_told


def test_a_command_of_an_environment_in_shared_settings_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", "elsewhere")
    main(["hook", "claude-code", "--install", "--yes"])
    assert f"a command of the virtual environment {tmp_path}" in capsys.readouterr().err
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "other"))
    main(["hook", "claude-code", "--install", "--yes"])
    assert "virtual environment" not in capsys.readouterr().err


def test_a_configuration_of_this_machine_in_shared_settings_is_told(tmp_path, capsys):
    (tmp_path / "c.json").write_text(json.dumps(LoopDetector.default().to_config()), "utf-8")
    main(["hook", "claude-code", "--install", "--yes", "--config", "c.json"])
    assert f"the path of this machine's {tmp_path / 'c.json'}" in capsys.readouterr().err


# --- the status


def status(capsys):
    number = main(["hook", "claude-code", "--status"])
    out, err = capsys.readouterr()
    return number, out.splitlines(), err


def test_where_the_hook_is_installed_is_said(capsys):
    user, local = path_of("user"), path_of("local")
    nowhere = [f"{path}: not installed" for path in (user, FILE, local)]
    assert status(capsys) == (1, nowhere, "")
    main(["hook", "claude-code", "--install", "--yes"])
    capsys.readouterr()
    installed = f"{FILE}: antiloop hook claude-code; exit 0"
    assert status(capsys) == (0, [nowhere[0], installed, nowhere[2]], "")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"hooks": {"PreToolUse": [nested_entry("antiloop hook claude-code")]}},
            "the hook is not called at PostToolBatch; run --install again",
        ),
        (
            {**with_hook({}, "antiloop hook claude-code"), "disableAllHooks": True},
            "disableAllHooks turns all hooks off",
        ),
        (
            with_hook({}, "/gone/bin/antiloop hook claude-code"),
            "program /gone/bin/antiloop not found; run --install again",
        ),
        (with_hook({}, "'antiloop hook claude-code"), "program 'antiloop hook"),
    ],
)
def test_what_keeps_the_hook_from_running_is_said(settings, told, capsys):
    write(settings)
    number, out, _ = status(capsys)
    assert number == 1
    assert f"  {told}" in out[2]


def test_a_hook_that_is_called_twice_is_said(capsys):
    write(with_hook({}, "antiloop hook claude-code"))
    write(with_hook({}, "antiloop hook claude-code --preset default"), path_of("local"))
    number, out, _ = status(capsys)
    assert (number, out[3]) == (
        0,
        "Several commands call the hook, so it judges each call several times.",
    )


def test_settings_that_cannot_be_read_have_no_status(capsys):
    write("{")
    number, _, err = status(capsys)
    assert (number, err[: len(FILE) + 20]) == (2, f"antiloop: {FILE}: not JSON")


def test_a_person_who_asks_for_the_status_is_answered_by_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["antiloop", "hook", "claude-code", "--status"])
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        sys.exit(program())
    assert ended.value.code == 1
    assert "not installed" in capsys.readouterr().out


def test_the_quick_start_answers_events():
    started = subprocess.run(
        [sys.executable, "-c", hook_settings.START, "hook", "claude-code"],
        input="{}",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert started.stderr.startswith("antiloop hook: no event of a Claude Code hook")


def test_a_link_and_the_rights_of_a_file_stay(tmp_path):
    real = tmp_path / "real" / "settings.json"
    write(OWN, str(real))
    real.chmod(0o600)
    os.mkdir(".claude")
    os.symlink(real, FILE)
    main(["hook", "claude-code", "--install", "--yes"])
    assert os.path.islink(FILE)
    assert len(commands(read(real))) == 2
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert os.listdir(real.parent) == ["settings.json"]


def test_settings_of_a_project_that_lead_out_of_it_are_refused(tmp_path, monkeypatch, capsys):
    mine, project = tmp_path / "mine.json", tmp_path / "project"
    mine.write_text("{}", "utf-8")
    for link, target in ((FILE, mine), (".claude", tmp_path / "folder")):
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(project, ignore_errors=True)
        os.makedirs(project / os.path.dirname(link))
        (tmp_path / "folder").mkdir(exist_ok=True)
        monkeypatch.chdir(project)
        os.symlink(target, link)
        assert main(["hook", "claude-code", "--install", "--yes"]) == 2
        assert f"{FILE}: a link to {tmp_path}" in capsys.readouterr().err
    assert mine.read_text("utf-8") == "{}"
    assert os.listdir(tmp_path / "folder") == []


def test_your_own_settings_may_be_a_link_to_anywhere(tmp_path, monkeypatch):
    real, folder = tmp_path / "dotfiles" / "settings.json", tmp_path / "home" / ".claude"
    write("{}", str(real))
    folder.mkdir(parents=True)
    os.symlink(real, folder / "settings.json")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    assert main(["hook", "claude-code", "--install", "--yes", "--user"]) == 0
    assert len(commands(read(real))) == 2
    assert os.path.islink(folder / "settings.json")


@pytest.mark.parametrize("change", ["--install", "--uninstall", "--status"])
def test_settings_that_are_a_pipe_are_refused_and_not_waited_for(change, capsys):
    os.mkdir(".claude")
    os.mkfifo(FILE)
    assert main(["hook", "claude-code", change, *(["--yes"] if change != "--status" else [])]) == 2
    assert capsys.readouterr().err.startswith(f"antiloop: {FILE}: a named pipe, not a file")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('{"hooks": {', "not JSON: Expecting property name enclosed in double quotes at line 1"),
        ("// mine\n{}", "not JSON: Expecting value at line 1, column 1"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "the file must be an object, got list"),
        ('{"hooks": []}', "hooks must be an object, got list"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop must be a list, got dict"),
        ('{"hooks": {"Stop": [1]}}', "hooks.Stop[0] must be an object, got int"),
        ('{"hooks": {"Stop": [{"hooks": 1}]}}', "hooks.Stop[0].hooks must be a list, got int"),
    ],
)
def test_a_broken_file_is_refused_and_stays_as_it_is(settings, told, capsys):
    write(settings)
    assert main(["hook", "claude-code", "--install", "--yes"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"antiloop: {FILE}: ")
    assert told in err
    assert err.endswith(". Nothing was changed.\n")
    assert out == ""
    with open(FILE, encoding="utf-8") as file:
        assert file.read() == settings


def test_a_file_that_cannot_be_read_is_named(capsys):
    os.makedirs(FILE)
    assert main(["hook", "claude-code", "--install", "--yes"]) == 2
    assert capsys.readouterr().err == f"antiloop: {FILE}: Is a directory. Nothing was changed.\n"


@pytest.mark.parametrize("value", ['"\\ud800"', "1e999", "NaN"])
def test_what_cannot_be_written_as_json_again_is_left_as_it_is(value, capsys):
    write(f'{{"own": {value}}}')
    assert main(["hook", "claude-code", "--install", "--yes"]) == 2
    assert ". Nothing was changed.\n" in capsys.readouterr().err
    assert os.listdir(".claude") == ["settings.json"]
    with open(FILE, encoding="utf-8") as file:
        assert file.read() == f'{{"own": {value}}}'


def test_a_person_without_an_event_is_told_what_to_say(monkeypatch, capsys):
    answering(monkeypatch, "")
    monkeypatch.setattr(sys, "argv", ["antiloop", "hook", "claude-code"])
    with pytest.raises(SystemExit) as ended:
        sys.exit(program())
    assert ended.value.code == 2
    assert "set that up with --install" in capsys.readouterr().err


def test_where_standard_input_is_closed_nobody_is_asked(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["hook", "claude-code", "--install"]) == 2
    assert "not a terminal, cannot ask" in capsys.readouterr().err


def test_an_empty_file_counts_as_none():
    write("\ufeff \n")
    assert main(["hook", "claude-code", "--install", "--yes"]) == 0
    assert len(commands(read())) == 2


@pytest.mark.parametrize("config", ["absent.json", "-"])
def test_a_configuration_that_cannot_be_read_is_not_written_down(config, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["hook", "claude-code", "--install", "--yes", "--config", config])
    assert ended.value.code == 2
    assert f"argument --config: {config}: " in capsys.readouterr().err
    assert not os.path.exists(FILE)


def test_without_a_change_an_event_is_answered(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert main(["hook", "claude-code", "--preset", "default"]) == 0
    assert capsys.readouterr().err.startswith("antiloop hook: no event of a Claude Code hook")
