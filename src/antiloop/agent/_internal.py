"""The names of the agent that other parts of antiloop use; no promise to anyone else."""

from typing import TYPE_CHECKING

from .._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._drivers.asking import aask as aask
    from ._drivers.asking import ask as ask

_HOMES = {
    "_drivers.asking": "aask ask",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
