"""The page about other designs names a test for each criterion, and each of them exists."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "designs.md"
TEST = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
ROW = re.compile(r"^\| (?!criterion|---)(.*) \|$", re.MULTILINE)

text = PAGE.read_text(encoding="utf-8")
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
