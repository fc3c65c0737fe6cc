"""The scripts that let a shell complete commands, options and files."""

import shutil
import subprocess
import sys

import pytest

from antiloop.cli import main

BASH = shutil.which("bash")
INSTALLED = list(filter(shutil.which, ("bash", "zsh", "fish")))
COMMANDS = {
    "calibrate",
    "completion",
    "config",
    "demo",
    "explain",
    "help",
    "hook",
    "redact",
    "report",
}


@pytest.fixture
def script(capsys):
    """Return the script for a shell."""
    pytest.importorskip("shtab", reason='needs the extra: "antiloop[completion]"')

    def printed(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return printed


@pytest.fixture
def completed(script, tmp_path):
    """Let bash complete the last of some words, and give what it offers."""

    def offered(*words):
        path = tmp_path / "completion.bash"
        path.write_text(script("bash"), encoding="utf-8")
        ask = f'. "{path}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_antiloop'
        ask += '; printf "%s\\n" "${COMPREPLY[@]}"'
        call = [BASH, "-c", ask, "bash", "antiloop", *words]
        done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout.split()

    return offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_names_all_commands(shell, script):
    written = script(shell)
    assert {name for name in COMMANDS if name not in written} == set()


@pytest.mark.parametrize("shell", INSTALLED)
def test_the_shell_accepts_its_script(shell, script):
    done = subprocess.run([shell, "-n"], input=script(shell), text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_completes_a_command(completed):
    assert completed("sca") == ["scan"]
    assert set(completed("")) >= COMMANDS


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_completes_options_and_their_values(completed):
    assert completed("scan", "--pres") == ["--preset"]
    assert completed("scan", "--preset", "esc") == ["escalating"]
    assert completed("completion", "f") == ["fish"]


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_completes_the_names_of_files(completed, tmp_path):
    (tmp_path / "monday.jsonl").touch()
    assert completed("scan", "mon") == ["monday.jsonl"]
    assert completed("scan", "--prices", "mon") == ["monday.jsonl"]


def test_without_the_library_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    told = 'antiloop: completion needs: pip install "antiloop[completion]"\n'
    assert capsys.readouterr() == ("", told)


def test_an_unknown_shell_is_told_what_there_is(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "ksh"])
    assert "'ksh' is not one of bash, zsh, fish" in capsys.readouterr().err
