"""A type checker knows the options of `tool`, and what an error keeps of a run."""

from pathlib import Path

import pytest

check = pytest.importorskip("mypy.api", reason="mypy reads the types").run
SOURCE = Path(__file__).parents[2] / "src"
HEAD = """from antiloop import LoopDetectedError, LoopVerdict, tool

error = LoopDetectedError("stuck")
verdict = LoopVerdict()

def search(query: str) -> str:
    return query

"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Check each line in a function of its own, and give what is told of it."""
    folder = tmp_path_factory.mktemp("types")
    lines = {
        "fine": 'tool(name="find", timeout_s=3, poll=True, key=["query"])(search)',
        "plain": "tool(search).name.upper()",
        "called": 'tool(search, strip=["id"], thresholds={"repeat": 9}).timeout_s',
        "misspelt": "tool(pol=True)(search)",
        "wrong": "tool(timeout_s='soon')(search)",
        "kept": "if error.partial_result: error.partial_result.messages[0].content.upper()",
        "loop": "verdict.loop.message.upper()",
        "perhaps_none": "error.partial_result.messages",
        "not_kept": "if error.partial_result: error.partial_result.mesages",
        "no_list": "tool(key=3)(search)",
    }
    numbers = {}
    text = HEAD
    for name, line in lines.items():
        text += f"{line}\n"
        numbers[name] = text.count("\n")
    (folder / "mine.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", str(SOURCE))
        out, err, _ = check(
            ["--strict", f"--cache-dir={folder / 'cache'}", "--config-file=", f"{folder}/mine.py"]
        )
    assert err == ""
    return {
        name: [line for line in out.splitlines() if f"mine.py:{number}: error" in line]
        for name, number in numbers.items()
    }


@pytest.mark.parametrize("name", ["fine", "plain", "called", "kept", "loop"])
def test_what_works_is_accepted(told, name):
    assert told[name] == []


@pytest.mark.parametrize("name", ["misspelt", "wrong", "no_list", "perhaps_none", "not_kept"])
def test_what_cannot_work_is_named(told, name):
    assert told[name] != []
