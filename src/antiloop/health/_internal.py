"""The names of health that other parts of antiloop use; no promise to anyone else."""

from typing import TYPE_CHECKING

from .._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._numbers import budget_from_environment as budget_from_environment

_HOMES = {
    "_numbers": "budget_from_environment",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
