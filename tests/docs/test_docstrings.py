"""Examples in docstrings run as written."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).replace(".__init__", "")
    for path in sorted((SOURCE / "antiloop").rglob("*.py"))
    if path.stem != "__main__"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name, monkeypatch):
    monkeypatch.chdir(SOURCE.parent)
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if 'pip install "antiloop[' not in str(error):
            raise
        pytest.skip(str(error))
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0
