"""Names that are imported when they are first used, so that importing a package costs little.

A hook that is started for each tool call pays for every import, and so does ``antiloop --help``.
"""

import sys

TYPE_CHECKING = False  # that of `typing`, without the price of importing it
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping


def lazily(package: str, homes: "Mapping[str, str]") -> "Callable[[str], Any]":
    """Make the ``__getattr__`` of a package whose names live in its modules.

    Args:
        package: the package's ``__name__``.
        homes: the module of each name; a module that is its own home is given itself.
    """

    def import_name(name: str) -> "Any":
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        home = import_module(f"{package}.{homes[name]}")
        value = home if name == homes[name] else getattr(home, name)
        setattr(sys.modules[package], name, value)  # so that it is asked for once
        return value

    return import_name


def lazy_method(module: str, name: str) -> "Callable[[Any], Any]":
    """Make a method that a function of another module carries out, imported when first called.

    Args:
        module: the module, counted from this package, e.g. ``"report.notebook"``.
        name: the function, which takes the object.
    """

    def method(self: "Any") -> "Any":
        from importlib import import_module

        return getattr(import_module(f"{__package__}.{module}"), name)(self)

    return method
