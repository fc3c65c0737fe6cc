"""The lists of adapters agree: modules, tests, pages, extras, the reference."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from adapter_tables import HOW_TO, PAGE, ROOT, written
from adapters import ADAPTERS
from contract import Contract

SOURCE = ROOT / "src" / "antiloop" / "integrations"
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
OTHER_EXTRAS = {
    "anthropic",
    "browser",
    "completion",
    "dask",
    "dev",
    "docs",
    "mutants",
    "openai",
    "prometheus",
    "prose",
    "test",
} | {"toml"}
OTHER_MODULES = {"otel_metrics", "prometheus"}
OTHER_PAGES = {"guard-your-own-loop.md"}
WITH_EXTRA = [adapter for adapter in ADAPTERS.values() if adapter.extra]


def extras():
    """Return the requirements of each extra, as text."""
    part = PROJECT.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    return dict(re.findall(r"^([\w-]+) = \[(.*?)\]$", part, re.MULTILINE | re.DOTALL))


def is_adapter(path):
    """Whether a module has what a framework hooks in, or needs a framework."""
    text = path.read_text(encoding="utf-8")
    return bool(re.search(r"^class LoopGuard\b|^with needed\b", text, re.MULTILINE))


def test_every_module_that_is_an_adapter_is_listed():
    found = {path.stem for path in SOURCE.glob("*.py") if is_adapter(path)}
    listed = {adapter.name for adapter in ADAPTERS.values() if not adapter.through}
    assert found - OTHER_MODULES == listed
    assert {adapter.through for adapter in ADAPTERS.values()} <= {"", *listed}


def test_every_adapter_has_a_test_of_its_own():
    tests = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert {f"test_{name}" for name in ADAPTERS} <= tests


def test_every_page_that_guards_a_framework_is_that_of_an_adapter():
    pages = {path.name for path in HOW_TO.glob("guard-*.md")} - OTHER_PAGES
    assert pages == {adapter.page for adapter in ADAPTERS.values()}


def test_every_page_follows_the_template():
    template = ["Install", "Add the guard", "What the model sees", "What it cannot see"]
    template.append("Versions tested")
    for page in sorted({adapter.page for adapter in ADAPTERS.values()}):
        headings = re.findall(r"^## (.+)$", (HOW_TO / page).read_text("utf-8"), re.MULTILINE)
        assert (page, headings) == (page, template)


def test_every_extra_is_that_of_an_adapter_or_has_nothing_to_do_with_them():
    assert set(extras()) - OTHER_EXTRAS == {adapter.extra for adapter in WITH_EXTRA}


@pytest.mark.parametrize("adapter", WITH_EXTRA, ids=lambda adapter: adapter.name)
def test_the_oldest_version_that_is_tested_is_the_oldest_that_is_allowed(adapter):
    pins = dict(re.findall(r"([\w.-]+)(?:\[\w+\])?==([\d.]+)", " ".join(adapter.oldest)))
    bounds = re.findall(r'"([\w.-]+)(?:\[\w+\])?>=([\d.]+)', extras()[adapter.extra])
    plain = {name: re.sub(r"(\.0)+$", "", version) for name, version in pins.items()}
    assert [(name, plain.get(name)) for name, _ in bounds] == [
        (name, re.sub(r"(\.0)+$", "", bound) if pins else None) for name, bound in bounds
    ]


# What a framework left open is collected at some time, perhaps in here.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("adapter", WITH_EXTRA, ids=lambda adapter: adapter.name)
def test_a_missing_framework_is_named_with_its_remedy(adapter, monkeypatch):
    name = f"antiloop.integrations.{adapter.name}"
    for module in adapter.modules:
        loaded = [each for each in sys.modules if each.startswith(f"{module}.")]
        for each in (module, *loaded):
            monkeypatch.setitem(sys.modules, each, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError) as caught:
        importlib.import_module(name)
    assert str(caught.value).startswith(f"{name} needs ")
    assert str(caught.value).endswith(f': pip install "antiloop[{adapter.extra}]"')


def test_the_package_of_adapters_loads_no_adapter():
    script = "import sys, antiloop.integrations; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "antiloop.integrations" in loaded
    assert not {f"antiloop.integrations.{name}" for name in ADAPTERS} & loaded
    assert not {module for adapter in WITH_EXTRA for module in adapter.modules} & loaded


def test_the_reference_tells_what_the_list_tells():
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "write it with: python tests/integrations/adapter_tables.py"


def test_the_reference_tells_every_line_of_the_contract():
    _, _, section = PAGE.read_text(encoding="utf-8").partition("\n## What every adapter does\n")
    section = section.partition("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| [a-z]", section, re.MULTILINE)
    lines = [name[len("test_") :] for name in vars(Contract) if name.startswith("test_")]
    assert told == lines


def test_every_hole_is_a_line_of_the_contract_or_a_mode():
    lines = {name[len("test_") :] for name in vars(Contract) if name.startswith("test_")}
    for adapter in ADAPTERS.values():
        assert set(adapter.holes) <= lines | {"sync", "async", "stream"}
        assert {"sync", "async", "stream"} - set(adapter.modes) <= set(adapter.holes)
