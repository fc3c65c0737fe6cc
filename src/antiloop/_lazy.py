"""Names that are imported when they are first used, so that importing a package costs little.

A hook that is started for each tool call pays for every import, and so does ``antiloop --help``.
"""

import sys

TYPE_CHECKING = False  # that of `typing`, which takes long to import
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping


def lazily(package: str, homes: "Mapping[str, str]") -> "Callable[[str], Any]":
    """Make the ``__getattr__`` of a package whose names live in its modules, and its ``__dir__``.

    Args:
        package: the package's ``__name__``.
        homes: the module of each name, e.g. ``"_monitor"``, or ``"._checks"`` for one beside the
            package. A module that is given itself is called as the last part of its home.
    """

    def import_name(name: str) -> "Any":
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        home = import_module(f".{homes[name]}", package)
        is_module = homes[name].rpartition(".")[2] == name
        value = home if is_module else getattr(home, name)
        names[name] = value  # so that it is asked for once
        return value

    names = vars(sys.modules[package])
    names["__dir__"] = lambda: sorted({*names, *homes})
    return import_name


def by_name(homes: "Mapping[str, str]", beside: str = "") -> "Dict[str, str]":
    """Return the home of each name, for `lazily`, from a table of the names in each home.

    >>> by_name({"_monitor": "LoopMonitor", "_policy": "Escalation LoopPolicy"}, ".")
    {'LoopMonitor': '._monitor', 'Escalation': '._policy', 'LoopPolicy': '._policy'}

    Args:
        homes: the names in each module, with spaces between them.
        beside: ``"."`` where the modules are beside the one that gives the names.
    """
    return {name: f"{beside}{home}" for home, names in homes.items() for name in names.split()}


def lazy_method(module: str, name: str) -> "Callable[[Any], Any]":
    """Make a method that a function of another module carries out, imported when first called.

    Args:
        module: the module, counted from this package, e.g. ``"report._page"``.
        name: the function, which takes the object.
    """

    def method(self: "Any") -> "Any":
        from importlib import import_module

        return getattr(import_module(f"{__package__}.{module}"), name)(self)

    return method
