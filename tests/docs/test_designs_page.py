"""The page about other designs names a test for each criterion, and each of them exists."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "designs.md"
TEST = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
ROW = re.compile(r"^\| (?!criterion|---)(.*) \|$", re.MULTILINE)

text = PAGE.read_text(encoding="utf-8")
moving = (PAGE.parents[1] / "how-to" / "come-from-another-library.md").read_text(encoding="utf-8")
rows = [row[1].split(" | ") for row in ROW.finditer(text)]


def test_each_criterion_has_a_test():
    assert len(rows) > 90
    assert [row for row in rows if not TEST.search(row[-1])] == []
    criteria = [row[0] for row in rows]
    assert sorted(set(criteria)) == sorted(criteria)


@pytest.mark.parametrize(("file", "name"), sorted(set(TEST.findall(text))))
def test_each_test_exists_once(file, name):
    (path,) = TESTS.rglob(file)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert [each.name for each in ast.walk(tree) if isinstance(each, functions)].count(name) == 1


def test_each_design_has_its_criteria():
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    designs = ["selectools", "LoopDetectionConfig", "OpenClaw", "Attractor", "LoopLens"]
    assert sections == [*designs, "Beyond them"]
    for preset in ("literal", "budgeted", "patient", "cycles"):
        assert f"`LoopDetector.{preset}(" in text


def before(design, language):
    """Return what the page for those who come from a design shows as theirs."""
    (section,) = re.findall(rf"^## {design}\n(.*?)(?=^## |\Z)", moving, re.MULTILINE | re.DOTALL)
    (block,) = re.findall(
        rf"^Before:\n\n```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL
    )
    return section, block


def test_the_settings_of_openclaw_become_options_with_the_same_values():
    section, settings = before("OpenClaw", "json5")
    names = dict(re.findall(r"^\| `(\w+): \d+` \| `(\w+)=\d+` \|$", section, re.MULTILINE))
    given = re.findall(r"(\w+): (\d+)", settings)
    options = [f"{names[name]}={value}" for name, value in given if name != "historySize"]
    assert f"LoopDetector.patient({', '.join(options)})" in section
    assert ("historySize", "30") in given  # our default


def test_the_events_of_attractor_are_read_as_its_text_says(capsys):
    told = SimpleNamespace(kind="LOOP_DETECTION", data={"message": "Loop detected"})
    other = SimpleNamespace(kind="TOOL_CALL_START", data={})
    _, listening = before("Attractor", "py")
    exec(listening, {"session": SimpleNamespace(events=lambda: [other, told])})
    assert capsys.readouterr().out == "Loop detected\n"
