"""For users' own tests: runs without loops, and a model that replies by script.

>>> from antiloop.testing import assert_no_loops, loop_score
>>> assert_no_loops("docs/examples/good-runs.jsonl", allow=["job_status"])
>>> loop_score([{"role": "user", "content": "Hello"}])
LoopScore(score=1.0, label='loop_free', explanation='No tool-call loop.')
"""

from typing import TYPE_CHECKING

from .._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._assertion import LoopScore, assert_no_loops, loop_score
    from ._no_loops import NoLoops
    from ._scripts import (
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
    "_assertion": "LoopScore assert_no_loops loop_score",
    "_no_loops": "NoLoops",
    "_scripts": "ScriptedProvider ToolCall ping_pong_script repeating_script stall_script",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES))
