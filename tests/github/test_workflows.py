"""Workflows run other people's actions at a known revision, with as few rights as they need."""

import re
from pathlib import Path

import pytest

WORKFLOWS = sorted((Path(__file__).parents[2] / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_actions_and_reads_only(path):
    text = path.read_text(encoding="utf-8")
    for name, revision in re.findall(r"uses: ([\w/-]+)@(\S+)", text):
        assert re.fullmatch(r"[0-9a-f]{40}", revision), name
    assert "\npermissions:\n  contents: read\n" in text
    assert set(re.findall(r"([\w-]+): write", text)) <= {"id-token", "attestations"}
    assert "password" not in text.replace("no password to steal", "")
