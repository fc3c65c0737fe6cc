"""The settings of a project: the checked values of a file, and the detector from them."""

import json
import logging
import os
import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar

from ..._json_schema import schema_errors, with_whole_numbers
from ..._regular_file import opener, what_it_is
from ...exceptions import SettingsError
from ...prices import Price, Prices
from .._config import read_config, write_config
from .._presets import arguments_of
from .._profiles import ClientProfile
from .._registry import PRESETS
from .._settings import DetectorSettings
from . import PROJECT, find_settings
from .schema import settings_schema

_TOML = "tomllib" if sys.version_info >= (3, 11) else "tomli"
_WITHOUT_TOML = 'Python {}.{} reads no TOML by itself: pip install "antiloop[toml]"'
_NAME_IT = '; to use a JSON configuration, name it in antiloop.toml: config = "FILE.json"'


@dataclass(frozen=True)
class SettingsFile:
    """The content of a settings file, as it was written."""

    path: str
    """The path of the file, as it was given or found."""
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
        remedy = _NAME_IT if path.endswith(".json") else ""
        raise SettingsError(f"{path}: not TOML: {error}{remedy}") from error


T = TypeVar("T")
_logger = logging.getLogger("antiloop")

DETECTING = ("preset", "config", "policy", "thresholds", "window")
"""Settings that choose the detector; another preset or configuration replaces them."""
_COPIED = ("policy", "shadow", "mask", "window", "notice_role", "inject_message", "log_verdicts")


@dataclass(frozen=True)
class ProjectSettings:
    """Checked settings; empty without a file.

    Raises:
        SettingsError: if the file is malformed; the message names file, key and remedy.
    """

    file: SettingsFile = field(default_factory=lambda: SettingsFile(""))

    def __post_init__(self) -> None:
        errors = self.values and schema_errors(self.values, settings_schema(), "")
        if errors:
            # TOML says table where JSON says object.
            raise self._error(errors[0].lstrip(".").replace("an object", "a table"))
        if "preset" in self.file.values and "config" in self.file.values:
            raise self._error("preset and config exclude each other: remove one of them")

    @classmethod
    def read(cls, path: Optional[str] = None, *, required: bool = False) -> "ProjectSettings":
        """Read a file; None means the nearest one from the working folder upwards.

        Raises:
            SettingsError: if there is none, and one is required.
        """
        found = find_settings() if path is None else path
        if found is None and required:
            raise SettingsError(
                f"no antiloop.toml, and no [tool.antiloop] in a pyproject.toml, in {os.getcwd()} or"
                " above; write one, or name its path"
            )
        return cls() if found is None else cls(read_settings(found))

    def log(self, preset: str, detector: DetectorSettings) -> None:
        """Log which file was taken; without a file, warn, because one may have been expected."""
        ladder = detector.escalation.actions
        done = ", ".join(str(getattr(each, "value", each)) for each in ladder)
        if self.file.path:
            _logger.info("settings of %s are used; actions on a loop: %s", self.file.name, done)
        else:
            said = "no settings file was found; preset %r is used; actions on a loop: %s"
            _logger.warning(said, self.values.get("preset", preset), done)

    @property
    def values(self) -> Mapping[str, Any]:
        """The values in the file; 3.0 is a whole number, as the schema has it."""
        values: Mapping[str, Any] = with_whole_numbers(self.file.values)
        return values

    @property
    def ignore(self) -> Tuple[str, ...]:
        """Tools whose calls are ignored."""
        return tuple(self.values.get("ignore", ()))

    @property
    def baseline(self) -> Optional[str]:
        """The path of the baseline of known loops."""
        named = self.values.get("baseline")
        return None if named is None else self.file.beside(named)

    @property
    def prices(self) -> Optional[Prices]:
        """The prices of models; None if the file sets none.

        Raises:
            SettingsError: if the file of prices cannot be read.
        """
        given = self.values.get("prices")
        if given is None:
            return None
        try:
            if isinstance(given, str):
                return Prices.read(self.file.beside(given))
            return Prices({model: Price(**price) for model, price in given.items()})
        except OSError as error:
            raise self._error(f"prices: {given}: {error.strerror or error}") from error
        except ValueError as error:
            raise self._error(f"prices: {error}") from error

    @property
    def profiles(self) -> Dict[str, ClientProfile]:
        """The profiles that the file adds, by name; of a known client, with what is known of it.

        Raises:
            SettingsError: for a malformed one; the message names the place.
        """
        given = self.values.get("profiles", {})
        try:
            return {name: ClientProfile.known_or_new(name, given[name]) for name in given}
        except SettingsError as error:
            raise self._error(str(error)) from error

    def detector(
        self,
        make: Callable[..., T],
        preset: str = "default",
        instead: Optional[DetectorSettings] = None,
        *,
        shadow: bool = False,
    ) -> T:
        """Make the detector.

        Args:
            make: `LoopDetector`.
            preset: the preset to use if the file names none.
            instead: a detector that replaces the detectors in the file; the file's settings for
                tools, masks and shadow mode still apply.
            shadow: make a shadow detector even if the file does not.
        """
        if not self.values and instead is None:
            return make(**arguments_of(PRESETS[preset], {"shadow": shadow}))
        config = self._config(preset) if instead is None else write_config(instead)
        for name in _COPIED:
            if name in self.values and (instead is None or name not in DETECTING):
                config[name] = self.values[name]
        config["shadow"] = config["shadow"] or shadow
        self._declare_tools(config["tools"])
        try:
            return make(**read_config(config))
        except ValueError as error:
            raise self._error(str(error)) from error

    def _config(self, preset: str) -> Dict[str, Any]:
        """Return the configuration that the file names, with its thresholds and its window."""
        named = self.values.get("config")
        base = PRESETS[self.values.get("preset", preset)] if named is None else self._read(named)
        chosen = {
            name: self.values[name] for name in ("thresholds", "window") if name in self.values
        }
        try:
            config = write_config(DetectorSettings(**arguments_of(base, chosen)))
        except ValueError as error:
            raise self._error(str(error)) from error
        if "policy" in self.values:
            config["escalations"] = {}  # the file's policy is for all detectors
        return config

    def _read(self, named: str) -> Dict[str, Any]:
        """Read the JSON configuration that the file names."""
        path = self.file.beside(named)
        try:
            with open(path, encoding="utf-8-sig", opener=opener) as file:
                return write_config(DetectorSettings(**read_config(json.load(file))))
        except OSError as error:
            raise self._error(f"config: {path}: {error.strerror or error}") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise self._error(f"config: {path}: {error}") from error

    def _declare_tools(self, tools: Dict[str, Any]) -> None:
        for name, options in self.values.get("tools", {}).items():
            tools[name] = {**tools.get(name, {}), **options}
        for name in self.ignore:
            tools[name] = {**tools.get(name, {}), "exempt": True}

    def _error(self, what: str) -> SettingsError:
        return SettingsError(f"{self.file.name}: {what}" if self.file.path else what)
