"""Reading a file of settings: ``antiloop.toml``, or a table in pyproject.toml."""

import os
import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Mapping

from ...exceptions import SettingsError
from ...regular_file import opener, what_it_is
from . import PROJECT

_TOML = "tomllib" if sys.version_info >= (3, 11) else "tomli"
_WITHOUT_TOML = 'Python {}.{} reads no TOML by itself: pip install "antiloop[toml]"'


@dataclass(frozen=True)
class SettingsFile:
    """The content of a settings file, as it was written."""

    path: str
    """Where the file is, as it was given or found."""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file as messages call it."""
        is_project = os.path.basename(self.path) == PROJECT
        return f"{self.path} [tool.antiloop]" if is_project else self.path

    def beside(self, path: str) -> str:
        """Return a path that the file names; it is relative to where the file is."""
        folder = os.path.dirname(self.path)
        return os.path.normpath(os.path.join(folder, path)) if folder else path


def read_settings(path: str) -> SettingsFile:
    """Read a file of settings.

    Raises:
        SettingsError: if it cannot be read or is not TOML; the message names the file.
    """
    try:
        with open(path, encoding="utf-8-sig", opener=opener) as file:
            text = file.read()
    except OSError as error:
        raise SettingsError(f"{path}: {what_it_is(path) or error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not a text in UTF-8") from error
    values = _parsed(text, path)
    if os.path.basename(path) == PROJECT:
        tool = values.get("tool")
        values = tool.get("antiloop", {}) if isinstance(tool, dict) else {}
        if not isinstance(values, dict):
            raise SettingsError(f"{path}: tool.antiloop must be a table, got {values!r}")
    return SettingsFile(path, values)


def _parsed(text: str, path: str) -> Any:
    try:
        return import_module(_TOML).loads(text)
    except ImportError as error:
        raise SettingsError(f"{path}: {_WITHOUT_TOML.format(*sys.version_info[:2])}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error
