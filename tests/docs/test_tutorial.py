"""The tutorial works as its readers use it: block for block, pasted into the interactive Python.

There an empty line ends what is indented, so a block that is a fine script may still fail.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT / "src"),
    "PYTHONIOENCODING": "utf-8",
    "PYTHONSTARTUP": "",
}
PROMPTS = re.compile(r"(>>> |\.\.\. )+")


def interactive(code):
    """Return what the interactive Python prints, and what it complains of."""
    process = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=code,
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return process.stdout, PROMPTS.sub("", process.stderr).strip()


def test_the_tutorial_can_be_pasted_into_the_interactive_python():
    blocks = BLOCK.findall(TUTORIAL)
    code = "\n".join(f"{text}\n" for language, text in blocks if language == "python")
    printed, complaints = interactive(code)
    assert complaints == ""
    assert printed == "".join(text for language, text in blocks if language == "text")


@pytest.mark.parametrize("code", ["class A:\n    a = 1\n\n    b = 2\n\n", "nothing_here\n"])
def test_what_cannot_be_pasted_is_noticed(code):
    assert "Error" in interactive(code)[1]
