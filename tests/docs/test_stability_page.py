"""The page about stability lists each public name under the mark that it bears."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from antiloop import LoopDetection

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")
MODULES = (
    *("antiloop", "antiloop.loop_detection", "antiloop.agent", "antiloop.agent.providers"),
    *("antiloop.health", "antiloop.traces", "antiloop.formats", "antiloop.testing"),
    *("antiloop.calibration", "antiloop.explanation", "antiloop.report", "antiloop.prices"),
    *("antiloop.exceptions", "antiloop.types", "antiloop.integrations"),
)
"""Where a name is in two of them, the page lists it at the first one."""
UNMARKED = ("antiloop.stability", "antiloop.trace")


def marked(level):
    """Return the names that bear a mark, as rows of the page: the module, then its names."""
    rows, seen = {}, set()
    for name in MODULES:
        module = importlib.import_module(name)
        things = [(each, getattr(module, each)) for each in module.__all__]
        for each, thing in things:
            is_code = inspect.isclass(thing) or inspect.isfunction(thing)
            if is_code and thing not in seen and vars(thing).get("__stability__") == level:
                rows.setdefault(name, []).append(each)
            seen.update([thing] if is_code else [])
    return {module: sorted(names) for module, names in rows.items()}


def listed(heading):
    part = re.search(rf"^## {heading}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)[1]
    rows = re.findall(r"^\| `([\w.]+)` \| (`.*`) \|$", part, re.MULTILINE)
    return {module: sorted(re.findall(r"`(\w+)`", names)) for module, names in rows}


@pytest.mark.parametrize("level", ["stable", "beta"])
def test_the_page_lists_the_names_with_each_mark(level):
    assert listed(level.capitalize()) == marked(level)


def test_no_public_name_is_missing():
    listed_names = set(re.findall(r"`(\w+)`", PAGE))
    for name in (*MODULES, "antiloop.loop_detection.presets", *UNMARKED):
        assert set(importlib.import_module(name).__all__) <= listed_names, name


def test_the_guard_of_each_adapter_is_stable_and_the_rest_is_beta():
    # Read from the source: most frameworks are not installed here.
    marks = {}
    for path in sorted((ROOT / "src" / "antiloop" / "integrations").glob("[!_]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                found = {ast.unparse(each) for each in node.decorator_list}
                marks[path.stem, node.name] = sorted(found & {"beta", "stable"})
    assert len(marks) > 25
    unmarked = {key for key, found in marks.items() if not found}
    assert {name for _, name in unmarked} & {"LoopGuard", "Guard", "Webhook"} == set()
    stable = {name for (_, name), found in marks.items() if found == ["stable"]}
    assert stable == {"LoopGuard"}
    assert all(found == ["stable"] for (_, name), found in marks.items() if name == "LoopGuard")


def test_the_fields_of_a_detection_that_are_stable_are_its_own():
    told = re.search(r"these fields are stable: (.*?)\. The other", PAGE, re.DOTALL)[1]
    fields = re.findall(r"`(\w+)`", told)
    assert len(fields) == 8
    assert set(fields) <= set(LoopDetection.__dataclass_fields__)
