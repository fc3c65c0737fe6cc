"""The settings of a project: the checked values of a file, and the detector from them."""

import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar

from ...exceptions import SettingsError
from ...json_schema import nearest, schema_errors
from ...prices import Price, Prices
from ...regular_file import opener
from ..config import read_config, read_detector, write_config
from ..preset_makers import MAKERS
from ..settings import DetectorSettings
from . import find_settings
from .file import SettingsFile, read_settings
from .schema import settings_schema

T = TypeVar("T")

DETECTING = ("preset", "config", "policy", "thresholds", "window")
"""Settings that choose the detector; another preset or configuration replaces them."""
_MAIN = ("threshold", "repetitions", "limit")
_NOT_BELOW = ("patience", "varied", "in_a_row")
_COPIED = ("policy", "shadow", "mask", "window", "notice_role", "inject_message", "log_verdicts")


@dataclass(frozen=True)
class Settings:
    """Checked settings; empty without a file.

    Raises:
        SettingsError: if the file is malformed; the message names file, key and remedy.
    """

    file: SettingsFile = field(default_factory=lambda: SettingsFile(""))

    def __post_init__(self) -> None:
        errors = self.values and schema_errors(self.values, settings_schema(), "")
        if errors:
            raise self._error(errors[0].lstrip("."))
        if "preset" in self.file.values and "config" in self.file.values:
            raise self._error("preset and config exclude each other: remove one of them")

    @classmethod
    def read(cls, path: Optional[str] = None) -> "Settings":
        """Read a file; None means the nearest one from the working folder upwards."""
        found = find_settings() if path is None else path
        return cls() if found is None else cls(read_settings(found))

    @property
    def values(self) -> Mapping[str, Any]:
        """The values in the file."""
        return self.file.values

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
            made: T = MAKERS[preset](make, shadow=shadow)
            return made
        config = self._base(preset) if instead is None else write_config(instead)
        for name in _COPIED:
            if name in self.values and (instead is None or name not in DETECTING):
                config[name] = self.values[name]
        if instead is None:
            for name, value in self.values.get("thresholds", {}).items():
                self._set_threshold(config["detectors"], name, value)
        config["shadow"] = config["shadow"] or shadow
        self._declare_tools(config["tools"])
        try:
            return make(**read_config(config))
        except ValueError as error:
            raise self._error(str(error)) from error

    def _base(self, preset: str) -> Dict[str, Any]:
        named = self.values.get("config")
        if named is None:
            return write_config(MAKERS[self.values.get("preset", preset)](DetectorSettings))
        path = self.file.beside(named)
        try:
            with open(path, encoding="utf-8-sig", opener=opener) as file:
                return write_config(DetectorSettings(**read_config(json.load(file))))
        except OSError as error:
            raise self._error(f"config: {path}: {error.strerror or error}") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise self._error(f"config: {path}: {error}") from error

    def _set_threshold(self, detectors: List[Dict[str, Any]], name: str, value: Any) -> None:
        """Set the threshold of a detector, or several of its options."""
        named = [each for each in detectors if each.get("name", each["type"]) == name]
        if not named:
            known = [each.get("name", each["type"]) for each in detectors]
            hint = nearest(name, known) or f"; there are {', '.join(known)}"
            raise self._error(f"thresholds.{name}: no such detector here{hint}")
        for options in named:
            _change(options, value)
            try:
                read_detector(options)
            except (TypeError, ValueError) as error:
                raise self._error(f"thresholds.{name}: {error}") from error

    def _declare_tools(self, tools: Dict[str, Any]) -> None:
        for name, options in self.values.get("tools", {}).items():
            tools[name] = {**tools.get(name, {}), **options}
        for name in self.ignore:
            tools[name] = {**tools.get(name, {}), "exempt": True}

    def _error(self, what: str) -> SettingsError:
        return SettingsError(f"{self.file.name}: {what}" if self.file.path else what)


def _change(options: Dict[str, Any], value: Any) -> None:
    """Change the threshold of a detector, or several of its options, in place."""
    if isinstance(value, Mapping):
        options.update(value)
        return
    main = next(each for each in _MAIN if each in options)
    options[main] = value
    for other in _NOT_BELOW:
        if other in options:
            options[other] = max(options[other], value)
