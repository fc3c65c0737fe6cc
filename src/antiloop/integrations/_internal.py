"""The names of the adapters that other parts of antiloop use; no promise to anyone else."""

from .._lazy import TYPE_CHECKING, by_name, lazily

if TYPE_CHECKING:
    from ._hooks import hook_process
    from ._hooks.agents import AGENTS
    from ._lookout import Lookout

_HOMES = {"_hooks.agents": "AGENTS", "_hooks.hook_process": "hook_process", "_lookout": "Lookout"}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
