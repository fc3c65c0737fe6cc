"""For users' own tests: runs without loops, and a model that replies by script.

>>> from antiloop.testing import assert_no_loops, loop_score
>>> assert_no_loops("docs/examples/good-runs.jsonl", allow=["job_status"])
>>> loop_score([{"role": "user", "content": "Hello"}])
LoopScore(score=1.0, label='loop_free', explanation='No tool-call loop.')
"""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .assertion import assert_no_loops
    from .no_loops import NoLoops
    from .score import LoopScore, loop_score
    from .scripts import (
        ScriptedProvider,
        ToolCall,
        ping_pong_script,
        repeating_script,
        stall_script,
    )

__all__ = [
    "LoopScore",
    "NoLoops",
    "ScriptedProvider",
    "ToolCall",
    "assert_no_loops",
    "loop_score",
    "ping_pong_script",
    "repeating_script",
    "stall_script",
]

_HOMES = {
    "ScriptedProvider": "scripts",
    "ToolCall": "scripts",
    "assert_no_loops": "assertion",
    "NoLoops": "no_loops",
    "LoopScore": "score",
    "loop_score": "score",
    "ping_pong_script": "scripts",
    "repeating_script": "scripts",
    "stall_script": "scripts",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _HOMES)


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
