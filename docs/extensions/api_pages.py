"""Writes a page for each public module; the build fails where one lacks a public name.

The pages are in ``docs/reference/api`` while the site is built.
"""

import ast
import importlib
import inspect
import shutil
from functools import cache
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from frameworks import MOCKED
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc.mock import mock
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

from public_names import public_names, tree_of

_logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> Dict[str, Any]:
    """Connect to the build."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_whole, priority=400)
    app.connect("autodoc-process-docstring", add_mark, priority=900)
    app.connect("env-updated", add_other_names)
    app.connect("env-check-consistency", check_names)
    app.connect("build-finished", remove_pages)
    return {"parallel_read_safe": True}


def folder_of(app: Sphinx) -> Path:
    """Return the folder of the pages."""
    return Path(app.srcdir) / "reference" / "api"


def write_pages(app: Sphinx) -> None:
    """Write all pages; each thing is described on the first page that has its name."""
    folder = folder_of(app)
    folder.mkdir(exist_ok=True)
    for module, names in public_names().items():
        lines = "\n".join(page(module, names))
        (folder / f"{module}.rst").write_text(lines, encoding="utf-8")


def page(module: str, names: List[str]) -> Iterator[str]:
    """Yield what the module says, its own names, and links to those described elsewhere."""
    own = [name for name in names if homes()[f"{module}.{name}"] == f"{module}.{name}"]
    own = [name for name in own if not inspect.ismodule(found_in(module, name))]
    others = [f":py:obj:`{name} <{module}.{name}>`" for name in names if name not in own]
    yield from (module, "=" * len(module), "", f".. automodule:: {module}", "")
    for name in own:
        yield from entry(module, name)
    if others:
        yield f"Also in ``{module}``: {', '.join(others)}."


def entry(module: str, name: str) -> Iterator[str]:
    """Yield the directive that describes one name."""
    thing = found_in(module, name)
    if inspect.isclass(thing):
        named = {each.__name__ for each in thing.__bases__} - {"object", "Shown"}
        bases = ["   :show-inheritance:"] if named else []
        yield from (f".. autoclass:: {module}.{name}", "   :members:", *bases, "")
    elif inspect.isroutine(thing):
        yield from (f".. autofunction:: {module}.{name}", "")
    else:
        text = value_docs(module, name)
        yield from (f".. py:data:: {name}", f"   :module: {module}", "", *text, "")


def value_docs(module: str, name: str) -> List[str]:
    """Return the docstring of a value that a package took from one of its modules."""
    for node in ast.walk(tree_of(module)):
        if not isinstance(node, ast.ImportFrom):
            continue
        if name in [each.asname or each.name for each in node.names]:
            analyzer = ModuleAnalyzer.for_module(f"{module}.{node.module}")
            analyzer.analyze()
            return [f"   {line}" for line in analyzer.attr_docs.get(("", name), [])]
    return []


def found_in(module: str, name: str) -> Any:
    """Import a module, without its framework, and give what it has under a name."""
    with mock(MOCKED):
        return getattr(importlib.import_module(module), name)


@cache
def homes() -> Dict[str, str]:
    """Return, for each public name, the name under which the thing is described."""
    first: Dict[int, str] = {}
    found = {}
    for module, names in public_names().items():
        for name in names:
            thing, full = found_in(module, name), f"{module}.{name}"
            is_module = inspect.ismodule(thing)
            found[full] = thing.__name__ if is_module else first.setdefault(id(thing), full)
    return found


def add_other_names(app: Sphinx, env: BuildEnvironment) -> List[str]:
    """Let the other names of a thing lead to where it is described."""
    domain = env.domains.python_domain
    for name, home in [*homes().items(), *places()]:
        for known, entry in list(domain.objects.items()):
            if name != home and (known == home or known.startswith(f"{home}.")):
                alias = name + known[len(home) :]
                domain.objects.setdefault(alias, entry._replace(aliased=True))
        if name != home and home in domain.modules:
            domain.modules.setdefault(name, domain.modules[home])
    return []


def places() -> Iterator[Tuple[str, str]]:
    """Yield the modules that define things, ``antiloop.agent._agent.Agent``, with their homes."""
    for home in set(homes().values()):
        thing = found_in(*home.rsplit(".", 1))
        if hasattr(thing, "__qualname__"):
            yield f"{thing.__module__}.{thing.__qualname__}", home


def check_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of each public name without a description."""
    for name in homes():
        if name not in env.domains.python_domain.objects:
            _logger.warning("%s is public and is described on no page", name)


def remove_pages(app: Sphinx, exception: object) -> None:
    """Leave the clone as it was."""
    shutil.rmtree(folder_of(app), ignore_errors=True)


def keep_whole(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: List[str]
) -> None:
    """Keep napoleon, which comes next, from reading ``sentence: rest`` as the type of a value."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def add_mark(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: List[str]) -> None:
    """Tell after the first paragraph whether it is stable or beta; that is not inherited."""
    level = vars(thing).get("__stability__") if what in ("class", "exception", "function") else None
    if level:
        at = lines.index("") if "" in lines else len(lines)
        lines[at:at] = ["", f"*{level.capitalize()}*: see :doc:`stability </reference/stability>`."]
