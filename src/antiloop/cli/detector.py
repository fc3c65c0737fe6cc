"""Which detector a command works with: that of the settings, a preset, or a configuration."""

import argparse
import inspect
import json
import sys
from typing import Iterator, Optional, Union

from ..exceptions import SettingsError
from ..loop_detection import LoopDetector
from ..loop_detection.presets import PRESETS
from ..loop_detection.project_settings import Settings
from ..prices import Prices
from ..regular_file import opener
from .command import add_names, reason_of
from .named_judge import with_judge

Config = Union[LoopDetector, Settings]


def add_detector(parser: argparse.ArgumentParser) -> None:
    """Add what chooses a detector to a command, and a line on each preset to its help."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--preset",
        choices=PRESETS,
        metavar="NAME",
        help="detector preset (default: that of antiloop.toml, or else default)",
    )
    choice.add_argument(
        "--config",
        type=read_config,
        metavar="FILE",
        help="settings from FILE.toml, or a detector from JSON that calibrate or"
        " LoopDetector.to_config wrote; - is JSON from standard input",
    )
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="read no antiloop.toml and no pyproject.toml",
    )
    add_names(parser, "presets", _presets())


def settings_of(args: argparse.Namespace) -> Settings:
    """Read the settings that hold for a command.

    Raises:
        SettingsError: for what is wrong in the file.
    """
    if isinstance(args.config, Settings):
        return args.config
    return Settings() if args.isolated else Settings.read()


def detector_of(args: argparse.Namespace, preset: str = "default") -> LoopDetector:
    """Make the detector that was chosen, with the judge that was named.

    Args:
        args: of the command.
        preset: which preset, where nothing else is said.

    Raises:
        SettingsError: for what is wrong in the file of settings.
    """
    instead = args.config if isinstance(args.config, LoopDetector) else None
    if args.preset is not None:
        instead = PRESETS[args.preset]()
    chosen = settings_of(args).detector(LoopDetector, preset, instead)
    return with_judge(chosen, getattr(args, "second_opinion", None))


def add_prices(parser: argparse.ArgumentParser) -> None:
    """Add ``--prices`` to a command."""
    parser.add_argument(
        "--prices",
        type=_read_prices,
        metavar="FILE",
        help="what models cost, in LiteLLM's format (model_prices_and_context_window.json)",
    )


def prices_of(args: argparse.Namespace) -> Optional[Prices]:
    """Give what models cost, from the command line or else the settings; None where not known.

    Raises:
        SettingsError: for what is wrong in the file of settings.
    """
    given: Optional[Prices] = args.prices
    return settings_of(args).prices if given is None else given


def _read_prices(path: str) -> Prices:
    try:
        return Prices.read(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _presets() -> Iterator[str]:
    for name, make in PRESETS.items():
        about, _, _ = (inspect.getdoc(make) or "").partition("\n")
        yield f"{name:<11} {about}"


def read_config(path: str) -> Config:
    """Read a configuration or settings; what is wrong is told as a wrong argument."""
    try:
        if path.endswith(".toml"):
            return Settings.read(path)
        return LoopDetector.from_config(json.loads(_read(path)))
    except SettingsError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except (OSError, RecursionError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error


def _read(path: str) -> str:
    if path == "-":
        if sys.stdin is None:
            raise OSError("not open")
        return sys.stdin.read()
    with open(path, encoding="utf-8-sig", opener=opener) as file:
        return file.read()
