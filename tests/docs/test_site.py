"""The site has all public names; the build itself, with all its checks, is a step of `.ci/run`."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "antiloop"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README_LINKS = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]


@pytest.fixture(scope="module")
def site():
    path = ROOT / "docs" / "extensions" / "public_names.py"
    spec = importlib.util.spec_from_file_location("public_names", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_of(path):
    parts = ("antiloop", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_package_that_lists_its_names_is_on_the_site(site):
    listing = {
        module_of(path)
        for path in SOURCE.rglob("__init__.py")
        if "\n__all__ = " in path.read_text(encoding="utf-8")
    }
    assert {"antiloop", "antiloop.health"} <= listing <= set(site.public_names())


def test_every_thing_marked_as_settled_is_on_the_site(site):
    described = {name for names in site.public_names().values() for name in names}
    marked = {
        f"{module_of(path)}.{name}"
        for path in SOURCE.rglob("*.py")
        for name in site.marked_in(site.tree_of(module_of(path)))
        if name not in described
    }
    assert marked == set()


@pytest.mark.parametrize("name", ["LoopDetector", "presets", "Agent"])
def test_names_of_the_package_are_on_its_page(site, name):
    assert name in site.public_names()["antiloop"]


def test_the_home_of_the_site_begins_as_the_readme_does():
    readme, home = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/README.md")
    )
    opening = readme.partition("\n## ")[0].partition("\n")[2].replace("](docs/", "](")
    for told in ("![", "8 of 10 loops", "Counting equal calls", "antiloop demo", "record_call"):
        assert told in opening
    assert home.partition("\n## ")[0].partition("\n")[2] == opening


def test_the_home_of_the_site_leads_to_changelog_api_and_stability():
    home = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in ("../CHANGELOG.md", "reference/api.md", "reference/stability.md"):
        assert f"]({page})" in home


def with_address(text, address):
    (rule,) = README_LINKS
    return re.sub(rule["pattern"], rule["replacement"].replace("](", f"]({address}"), text)


def test_the_readme_is_unchanged_while_there_is_no_address():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_address(text, "") == text


def test_one_setting_makes_the_links_of_the_readme_absolute():
    changed = with_address((ROOT / "README.md").read_text(encoding="utf-8"), "https://a.test/")
    assert "](https://a.test/docs/tutorial.md)" in changed
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", changed) == []


@given(st.sampled_from(["https://b.test/x", "http://b.test", "#ways-in"]))
def test_other_links_stay(link):
    assert with_address(f"[x]({link})", "https://a.test/") == f"[x]({link})"
