"""The hook in the settings of the agents beside Claude Code: written, found, taken out."""

import os
import shlex
import subprocess

import pytest

from antiloop.cli import main
from antiloop.cli._hooks.agent_settings import PROJECT, USER
from antiloop.cli._hooks.agents import SETTINGS
from antiloop.integrations._hooks.agents import AGENTS

OTHERS = sorted(set(SETTINGS) - {"claude-code"})
IN_JSON = sorted(set(OTHERS) - {"opencode"})
TRUST = '[projects."{}"]\ntrust_level = "{}"\n'
LISTS = {
    "codex": ("hooks.json", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "PreCompact"]),
    "copilot": (
        "antiloop.json",
        ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact"],
    ),
    "openhands": ("hooks.json", ["PreToolUse", "PostToolUse", "UserPromptSubmit"]),
    "opencode": ("antiloop.js", ["tool.execute.before", "tool.execute.after", "chat.message"]),
    "gemini-cli": ("settings.json", ["BeforeTool", "AfterTool", "BeforeAgent"]),
}


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "antiloop"
    program.parent.mkdir()
    program.write_text("", "utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for each in SETTINGS.values():
        monkeypatch.delenv(each.variable or "ANTILOOP_NONE", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))
    trusted = tmp_path / "home" / ".codex" / "config.toml"
    trusted.parent.mkdir(parents=True)
    trusted.write_text(TRUST.format(os.path.realpath(tmp_path), "trusted"), "utf-8")


def test_every_agent_that_calls_the_hook_has_settings():
    assert set(SETTINGS) == set(AGENTS)


@pytest.mark.parametrize("agent", OTHERS)
@pytest.mark.parametrize("place", [PROJECT, USER])
def test_the_hook_is_written_found_and_taken_out(agent, place, capsys):
    settings = SETTINGS[agent]
    path = settings.path_of(place)
    words = ["hook", agent, "--yes", *(["--user"] if place == USER else [])]
    assert main([*words, "--install"]) == 0
    with open(path, encoding="utf-8") as file:
        written = settings.parsed(file.read())
    file_name, events = LISTS[agent]
    assert os.path.basename(path) == file_name
    assert list(settings.commands_in(written)) == events
    for commands in settings.commands_in(written).values():
        (command,) = commands
        named = shlex.split(command.replace("; exit 0", ""))
        assert named[-2:] == ["hook", agent]
    assert main([*words, "--install"]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert main(["hook", agent, "--status"]) == 0
    assert f"{path}: " in capsys.readouterr().out
    assert main([*words, "--uninstall"]) == 0
    assert not os.path.exists(path)
    assert main(["hook", agent, "--status"]) == 1


@pytest.mark.parametrize("agent", ["claude-code", "copilot", "gemini-cli"])
def test_a_program_that_is_missing_makes_no_agent_refuse_all_calls(agent):
    settings = SETTINGS[agent]
    written = settings.with_hook({}, f"/nowhere/antiloop hook {agent}")
    for (command,) in settings.commands_in(written).values():
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("agent", IN_JSON)
def test_what_was_there_stays(agent):
    settings = SETTINGS[agent]
    own = settings.entry("lint.sh")
    before = {**settings.frame, "theme": "dark", "hooks": {settings.events[0]: [own]}}
    after = settings.with_hook(before, f"antiloop hook {agent}")
    assert after["hooks"][settings.events[0]][0] == own
    assert settings.without_hook(after) == before
    assert settings.with_hook(after, f"antiloop hook {agent}") == after


@pytest.mark.parametrize("agent", OTHERS)
def test_settings_that_an_agent_does_not_have_are_named(agent, capsys):
    assert main(["hook", agent, "--install", "--yes", "--local"]) == 2
    told = f"antiloop: {agent} has no local settings, only user and project settings\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("agent", OTHERS)
def test_a_path_of_this_machine_names_the_settings_that_there_are(agent, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert main(["hook", agent, "--install", "--yes"]) == 0
    assert "use --user to write your own settings" in capsys.readouterr().err


def test_codex_is_told_to_trust_the_hook(capsys):
    main(["hook", "codex", "--install", "--yes"])
    assert "you trust it" in capsys.readouterr().out


def test_the_folder_of_an_agent_may_be_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert main(["hook", "codex", "--install", "--yes", "--user"]) == 0
    assert (tmp_path / "elsewhere" / "hooks.json").exists()


def test_what_gemini_cli_keeps_beside_the_events_stays():
    gemini, beside = SETTINGS["gemini-cli"], {"enabled": True, "disabled": ["lint"]}
    after = gemini.with_hook({"hooks": beside}, "antiloop hook gemini-cli")
    assert gemini.without_hook(after) == {"hooks": beside}


def test_another_plugin_of_the_same_name_stays_as_it_is(capsys):
    path = SETTINGS["opencode"].path_of(PROJECT)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("export const Mine = 1\n")
    for change in ("--install", "--uninstall"):
        assert main(["hook", "opencode", change, "--yes"]) == 2
        assert "another plugin has this name; move it elsewhere" in capsys.readouterr().err
    assert main(["hook", "opencode", "--status"]) == 2
    with open(path, encoding="utf-8") as file:
        assert file.read() == "export const Mine = 1\n"


@pytest.mark.parametrize("command", ["[]", '["antiloop", 3]', "[antiloop]"])
def test_a_plugin_whose_command_is_damaged_is_named_and_replaced(command, capsys):
    path = SETTINGS["opencode"].path_of(PROJECT)
    assert main(["hook", "opencode", "--install", "--yes"]) == 0
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole.replace('["antiloop", "hook", "opencode"]', command))
    capsys.readouterr()
    assert main(["hook", "opencode", "--status"]) == 2
    assert f"antiloop: {path}: " in capsys.readouterr().err
    assert main(["hook", "opencode", "--install", "--yes"]) == 0
    assert main(["hook", "opencode", "--status"]) == 0


@pytest.mark.parametrize(
    ("config", "is_told"),
    [
        (None, True),
        ("", True),
        (TRUST.format("{here}", "untrusted"), True),
        (TRUST.format("/elsewhere", "trusted"), True),
        ('model = "x"\n' + TRUST.format("{here}", "trusted") + "[other]\n", False),
        (TRUST.format("{above}", "trusted"), False),
    ],
)
def test_a_project_that_codex_does_not_trust_is_told(
    config, is_told, tmp_path, monkeypatch, capsys
):
    home = tmp_path / "home-of-codex"
    home.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(home))
    here = os.path.realpath(os.curdir)
    if config is not None:
        text = config.replace("{here}", here).replace("{above}", os.path.dirname(here))
        (home / "config.toml").write_text(text, "utf-8")
    assert main(["hook", "codex", "--install", "--yes"]) == 0
    capsys.readouterr()
    assert main(["hook", "codex", "--status"]) == (1 if is_told else 0)
    assert ("Codex does not trust this project" in capsys.readouterr().out) is is_told
