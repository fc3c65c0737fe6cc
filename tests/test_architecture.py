"""What holds the project together: who imports whom, and what is public."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import is_dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "antiloop"
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = [
    {
        "types",
        "_types",
        "exceptions",
        "stability",
        "trace",
        "_trace",
        "_lazy",
        "version",
        "_decision_time",
    }
    | {
        "_amounts",
        "_frozen",
        "_json_schema",
        "_latest",
        "_mistral",
        "prices",
        "_process_lock",
        "_regular_file",
        "_replaced_file",
    }
    | {"_checks", "_short_repr", "_signals", "_text", "_text_enum", "_waste"},
    {"loop_detection"},
    {"agent", "formats"},
    {"integrations", "traces"},
    {"calibration", "explanation", "health"},
    {"report"},
    {"cli", "testing"},
    {"__main__", "__init__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
WITHIN_FOUNDATION = {
    "_types": {"_frozen", "_short_repr", "stability", "_text_enum"},
    "types": {"_types"},
    "trace": {"_trace"},
    "exceptions": {"stability", "types"},
    "stability": set(),
    "_decision_time": set(),
    "_lazy": set(),
    "version": set(),
    "_amounts": set(),
    "_latest": set(),
    "_mistral": set(),
    "_process_lock": set(),
    "_json_schema": {"_checks"},
    "_waste": {"_latest"},
    "prices": {"_checks", "_regular_file", "_short_repr", "stability"},
    "_regular_file": set(),
    "_replaced_file": {"_regular_file", "_signals"},
    "_signals": set(),
    "_short_repr": set(),
    "_checks": set(),
    "_frozen": {"_json_schema", "_short_repr"},
    "_text": {"stability"},
    "_text_enum": set(),
    "_trace": {"types", "exceptions", "stability", "_short_repr", "_frozen", "_text_enum"},
}
PUBLIC = {
    *("Agent", "AgentConfig", "AgentResult", "RunStatus", "tool", "ScriptedProvider"),
    *("AgentObserver", "AsyncAgentObserver", "LoggingObserver"),
    *("Message", "Role", "ToolCall", "ToolResult", "AgentTrace", "TraceStep", "StepType"),
    *("AgentError", "LoopDetectedError"),
    *("LoopDetector", "LoopDetection", "LoopMonitor", "LoopPolicy", "LoopVerdict", "LoopAction"),
    *("LoopSeverity", "Escalation", "ToolPolicy", "presets"),
    *("BaseDetector", "RepeatDetector", "StallDetector", "PingPongDetector"),
}

OF_ONE_KIND = {
    ".": "the ground",
    "loop_detection": "what a user configures, and what a run has",
    "loop_detection/_detectors": "one detector a file",
    "loop_detection/_evidence": "one feature of a call and its result a file",
    "traces/_readers": "one recorded format a file",
    "integrations": "one framework a file; further files of a framework begin with its name",
    "cli/_commands": "one command a file",
}
"""Folders of more than a dozen modules, and what the modules have in common."""


def part_of(path):
    """Name the part of the package that a module belongs to, e.g. ``"agent"``."""
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports_of(path):
    """Yield the dotted names that a module imports, relative ones made absolute."""
    package = ["antiloop", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")] if node.module else base
            yield from (".".join([*base, alias.name]) for alias in node.names)


def module_of(path):
    """Return the dotted name of a module, e.g. ``"antiloop.agent._core"``."""
    parts = ("antiloop", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_of(each) for each in MODULES}


def modules_imported_by(path):
    """Return the modules of this package that a module imports, those for the type checker too."""
    for name in filter(re.compile(r"antiloop\b").match, imports_of(path)):
        yield name if name in NAMES else name.rpartition(".")[0]


def parts_imported_by(path):
    """Return the parts of this package that a module imports."""
    names = [name.split(".") for name in imports_of(path) if name.startswith("antiloop")]
    parts = {name[1] for name in names if len(name) > 1 and name[1] in LEVEL}
    # ``from antiloop import LoopDetector`` goes through the package itself.
    return parts | {"__init__" for name in names if len(name) == 1 or name[1] not in LEVEL}


def loaded_by(statement):
    """Run a statement in a fresh interpreter and give the modules that it adds."""
    script = f"import sys, json; before = set(sys.modules); {statement}; "
    script += "print(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE.parent), "SYSTEMROOT": "C:\\Windows"},
    )
    return set(json.loads(done.stdout))


def top_level(modules):
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    part = part_of(path)
    for imported in parts_imported_by(path) - {part}:
        if LEVEL[part] == LEVEL[imported] == 0:
            assert imported in WITHIN_FOUNDATION[part]
        else:
            assert LEVEL[imported] < LEVEL[part], f"{part} imports {imported}"


FACES = ("__init__.py", "_internal.py")


def test_no_module_imports_itself_by_a_detour():
    # What a package names for its users is found when it is used, and no import of its own.
    waiting = {module_of(path): set(modules_imported_by(path)) for path in MODULES}
    for path in MODULES:
        if path.name in FACES and "lazily(" in path.read_text(encoding="utf-8"):
            waiting[module_of(path)] = set()
    while True:
        free = {name for name, imported in waiting.items() if not imported & waiting.keys()}
        if not free:
            break
        waiting = {name: imported for name, imported in waiting.items() if name not in free}
    assert waiting == {}


def test_loop_detection_knows_nothing_of_the_agent():
    imported = {
        part
        for path in MODULES
        if part_of(path) == "loop_detection"
        for part in parts_imported_by(path)
    }
    assert imported <= LAYERS[0] | {"loop_detection"}


def test_nothing_unplanned_stands_at_the_top_level():
    assert {part_of(path) for path in MODULES} <= LEVEL.keys()


def test_modules_stay_readable_in_one_sitting():
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > 400} == {}


def test_every_public_module_lists_its_names():
    public = [path for path in MODULES if "._" not in module_of(path)]
    silent = {"antiloop.version", "antiloop.__main__", "antiloop.cli"}
    unlisted = {
        module_of(path)
        for path in public
        if not re.search(r"^__all__ = ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert unlisted <= silent


def test_other_parts_are_used_through_their_faces():
    # A part has two: its package for everybody, and `_internal` for the parts above it.
    reaching = set()
    for path in MODULES:
        for name in modules_imported_by(path):
            _, part, *inner = [*name.split("."), ""]
            is_private = any(each.startswith("_") for each in inner) and inner[0] != "_internal"
            if part != part_of(path) and is_private and LEVEL[part]:
                reaching.add((module_of(path), name))
    assert reaching == set()


def test_what_a_part_gives_to_others_is_there_and_used():
    given, used = {}, {}
    for path in MODULES:
        for name in imports_of(path):
            home, _, found = name.rpartition(".")
            if home.endswith("._internal"):
                assert module_of(path).split(".")[1] != home.split(".")[1]
                used.setdefault(home, set()).add(found)
        if path.name == "_internal.py":
            module = importlib.import_module(module_of(path))
            typed = {name.rpartition(".")[2] for name in imports_of(path)}
            names = typed - {"TYPE_CHECKING", "by_name", "lazily"}
            assert all(hasattr(module, name) for name in names)
            if hasattr(module, "_HOMES"):  # they are imported when they are used
                assert names == {name for each in module._HOMES.values() for name in each.split()}
            given[module_of(path)] = names
    assert given == used


def test_pages_and_examples_use_public_modules_only():
    root = SOURCE.parents[1]
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    reach = re.compile(
        r"^(?:from|import) (?:antiloop[\w.]*\._\w+|antiloop\S* import _)", re.MULTILINE
    )
    found = {page.name: reach.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: names for name, names in found.items() if names} == {}


def test_a_folder_holds_about_a_dozen_modules_or_one_kind_of_them():
    files = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    crowded = {path.relative_to(SOURCE).as_posix() for path, count in files.items() if count > 12}
    assert crowded == set(OF_ONE_KIND)


def test_importing_the_package_loads_the_standard_library_only():
    loaded = loaded_by("import antiloop")
    assert not top_level(loaded) & {"asyncio", "openai", "anthropic"}
    if sys.version_info >= (3, 10):
        foreign = top_level(loaded) - sys.stdlib_module_names - {"antiloop"}
        assert foreign == set()


def test_importing_the_package_loads_no_reader_and_no_command_line():
    loaded = loaded_by("import antiloop")
    assert not {name for name in loaded if name.startswith(("antiloop.traces", "antiloop.cli"))}


def test_objects_that_a_notebook_draws_load_the_drawing_when_it_asks():
    made = "import antiloop; made = antiloop.AgentResult('r', antiloop.RunStatus.COMPLETED)"
    made += "; antiloop.health.HealthReport; antiloop.explanation.Explanation"
    assert not {name for name in loaded_by(made) if name.startswith("antiloop.report")}
    assert "antiloop.report._notebook" in loaded_by(f"{made}; made._repr_html_()")


def test_help_needs_no_detector():
    loaded = loaded_by("import antiloop.cli as cli; cli._parser()")
    assert not {name for name in loaded if name.startswith("antiloop.traces")}


def test_a_scan_loads_only_what_it_needs():
    loaded = loaded_by("import antiloop.cli._commands.scan, antiloop.cli._engines.scanning")
    assert not top_level(loaded) & {"multiprocessing", "secrets", "uuid", "zipfile"}
    assert "antiloop._text.chant_scan" not in loaded


def test_the_package_depends_on_nothing():
    project = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert "\ndependencies = []\n" in project


def test_the_public_names_are_just_these():
    import antiloop

    assert sorted(antiloop.__all__) == sorted(PUBLIC)  # sorted, so that none stands there twice
    assert all(hasattr(antiloop, name) for name in PUBLIC)


def test_importing_the_package_is_nearly_free():
    loaded = loaded_by("import antiloop.loop_detection")
    assert {name for name in loaded if name.startswith("antiloop")} == {
        "antiloop",
        "antiloop._lazy",
        "antiloop.loop_detection",
        "antiloop.version",
    }
    # `typing` is loaded, for 2 ms: editors that read with jedi see the names behind
    # ``if TYPE_CHECKING`` only where it comes from there, and a run loads it anyway.
    assert not {"json", "dataclasses", "inspect", "enum"} & loaded - loaded_by("import typing")


@pytest.mark.parametrize("package", ["antiloop", "antiloop.formats", "antiloop.loop_detection"])
def test_a_name_that_was_not_used_yet_is_there(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) for name in module.__all__)
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018 - to look at it is the point


def test_modules_that_hold_public_names_are_there_without_an_import():
    for name in ("agent", "exceptions", "health", "integrations", "prices", "trace", "traces"):
        statement = f"import antiloop; assert antiloop.{name}.__name__ == 'antiloop.{name}'"
        assert f"antiloop.{name}" in loaded_by(statement)


def test_a_look_at_the_package_shows_no_machinery():
    import antiloop

    shown = set(dir(antiloop))
    assert {"LoopDetector", "presets", "health", "traces", "__version__"} <= shown
    assert {name for name in shown if name[0] == "_"} == {"__version__"}
    assert not shown & {"lazily", "_lazy", "TYPE_CHECKING", "annotations"}


def public_names():
    """Yield every public class and function with the place where it is public."""
    packages = [path.parent for path in MODULES if path.name == "__init__.py"]
    for path in packages:
        name = ".".join(["antiloop", *path.relative_to(SOURCE).parts])
        module = importlib.import_module(name)
        yield from ((f"{name}.{each}", getattr(module, each)) for each in public_in(module))
    for name in ("exceptions", "prices", "types", "loop_detection.presets"):
        module = importlib.import_module(f"antiloop.{name}")
        yield from ((f"{name}.{each}", getattr(module, each)) for each in public_in(module))


def public_in(module):
    return getattr(module, "__all__", ())


def is_code(thing):
    return inspect.isclass(thing) or inspect.isfunction(thing)


def test_every_public_class_and_function_says_how_settled_it_is():
    marks = {
        name: vars(thing).get("__stability__") for name, thing in public_names() if is_code(thing)
    }
    assert {"antiloop.Agent", "antiloop.traces.read_runs", "exceptions.NoTrace"} <= set(marks)
    assert {name for name, mark in marks.items() if mark not in ("beta", "stable")} == set()


def test_what_the_engine_hands_on_does_not_change():
    """Values are frozen, but for two that belong to the state of a run."""
    names = [
        ".".join(("antiloop", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in MODULES
        if "loop_detection" in path.parts and path.stem != "__init__"
    ]
    changing = {
        thing.__name__
        for module in map(importlib.import_module, names)
        for thing in vars(module).values()
        if inspect.isclass(thing) and thing.__module__ == module.__name__
        if is_dataclass(thing) and not thing.__dataclass_params__.frozen
    }
    assert changing == {"Ask", "_Episode"}


def test_no_two_files_of_tests_are_imported_by_one_name():
    files = [path for path in Path(__file__).parent.rglob("*.py") if path.name != "conftest.py"]
    alone = [path.name for path in files if not (path.parent / "__init__.py").exists()]
    assert [name for name, times in Counter(alone).items() if times > 1] == []
