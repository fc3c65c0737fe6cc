import subprocess
import sys

import pytest

RUN = """
import sys
from antiloop.agent import Agent, ScriptedProvider
from antiloop import ToolCall, AgentObserver, AgentConfig
def look(): return "x"
agent = Agent([look], ScriptedProvider([[ToolCall("look"), ToolCall("look")], "Done"]),
              AgentConfig(observers=[AgentObserver()], tool_timeout_s=5))
assert agent.run("Go").text == "Done"
"""


@pytest.mark.parametrize(
    "code",
    ["import sys, antiloop", "import sys, antiloop.agent", "import sys, antiloop.testing", RUN],
    ids=["package", "agent", "testing", "sync run"],
)
def test_neither_asyncio_nor_an_sdk_is_loaded(code):
    check = "print([m for m in ('asyncio', 'openai', 'anthropic') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
