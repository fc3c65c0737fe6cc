"""What is public: the names of each public module, read from its source."""

import ast
from functools import cache
from pathlib import Path
from typing import Dict, Iterator, List, Optional

SOURCE = Path(__file__).parents[2] / "src"
MODULES = (
    *("antiloop", "antiloop.loop_detection", "antiloop.loop_detection.presets"),
    "antiloop.loop_detection._detectors.text_detector",
    *("antiloop.agent", "antiloop.agent.providers", "antiloop.agent.providers._openai"),
    *("antiloop.agent.providers._anthropic", "antiloop.health", "antiloop.traces"),
    *("antiloop.formats", "antiloop.testing", "antiloop.calibration", "antiloop.explanation"),
    *("antiloop.report", "antiloop.prices", "antiloop.exceptions", "antiloop.types"),
    "antiloop.trace",
    "antiloop.integrations",
)
"""Where a name is in two of them, the first one describes it. The adapters come after these."""


@cache
def public_names() -> Dict[str, List[str]]:
    """Return the public names of each public module."""
    names = {module: names_in(module) for module in (*MODULES, *adapters())}
    return {module: found for module, found in names.items() if found}


def adapters() -> Iterator[str]:
    """Yield the modules of `antiloop.integrations`."""
    for path in sorted((SOURCE / "antiloop" / "integrations").rglob("*.py")):
        if path.name != "__init__.py":
            yield ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def names_in(module: str) -> List[str]:
    """Return what a module lists in ``__all__``, else what it marks as stable or beta."""
    tree = tree_of(module)
    listed = listed_in(tree)
    return marked_in(tree) if listed is None else listed


def tree_of(module: str) -> ast.Module:
    """Parse the source of a module."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def listed_in(tree: ast.Module) -> Optional[List[str]]:
    """Return the names of ``__all__``, or None without it."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: List[str] = ast.literal_eval(node.value)
            return names
    return None


def marked_in(tree: ast.Module) -> List[str]:
    """Return the classes and functions that are marked as stable or beta."""
    return [
        node.name
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and {"beta", "stable"} & {ast.unparse(each) for each in node.decorator_list}
    ]
