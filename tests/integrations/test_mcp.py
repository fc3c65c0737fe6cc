"""The contract with the MCP SDK's own client and server, and what is special about them."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from contract import Contract, Ran, detector, functions
from hand_loop import converse, ended_by

pytest.importorskip("mcp", reason="needs the extra 'mcp'")

from mcp.types import CallToolResult, ImageContent, TextContent

try:
    from mcp import Client
    from mcp.server import MCPServer
except ImportError:  # version 1
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.shared.memory import create_connected_server_and_client_session

    def Client(server):  # noqa: N802 - the name in version 2
        return create_connected_server_and_client_session(server._mcp_server)


from antiloop import LoopDetectedError, LoopPolicy
from antiloop.integrations.mcp import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

# The server of version 1 says this of its own settings.
pytestmark = pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition")

STOP = detector(LoopPolicy.STOP)


@asynccontextmanager
async def connected(script, ran):
    server = MCPServer("tools")

    for function in functions(script, ran):
        server.tool()(function)
    async with Client(server) as session:
        yield session


async def agent(guard, script, ran, first=0):
    raised = None
    async with connected(script, ran) as guard.session:

        async def use_tools(calls):
            results = await asyncio.gather(*(guard.call_tool(*call) for call in calls))
            return ["\n".join(block.text for block in result.content) for result in results]

        try:
            with ended_by(guard):
                await converse(script, ran, use_tools, first)
        except (LoopDetectedError, ConnectionError) as error:
            raised = error  # a session would wrap what leaves it
    if raised:
        raise raised


class TestMCP(Contract):
    name = "mcp"
    users = ()

    def carry_out(self, mode, script, ran, **options):
        asyncio.run(agent(LoopGuard(None, **options), script, ran))

    def talk(self, script, ran, **options):
        guard = LoopGuard(None, **options)

        def speak():
            guard.user_message()
            asyncio.run(agent(guard, script, ran))

        return speak

    def begin(self, store, script, **options):
        guard = LoopGuard(None, **options)
        try:
            asyncio.run(agent(guard, script, Ran()))
        finally:
            store.write_text(json.dumps(guard.run.snapshot()), encoding="utf-8")

    def go_on(self, store, script, ran, **options):
        guard = LoopGuard(None, **options)
        guard.run.restore(json.loads(store.read_text(encoding="utf-8")))
        asyncio.run(agent(guard, script, ran, first=2))


class Session:
    """A session that answers with what it is given, and remembers how it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def call_tool(self, *args, **kwargs):
        self.asked.append((args, kwargs))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def list_tools(self):
        return ["search"]


def said(*texts, **fields):
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], **fields)


def is_error(result):
    return result.isError if hasattr(result, "isError") else result.is_error


async def ask(guard, times):
    return [await guard.call_tool("search", {"query": "a"}) for _ in range(times)]


async def test_a_refusal_is_an_error_that_the_server_never_sees():
    session = Session(said("nothing found"))
    results = await ask(LoopGuard(session, detector(Escalation(("block",)))), 4)
    assert len(session.asked) == 3
    assert [is_error(result) for result in results] == [False, False, False, True]
    assert results[-1].content[0].text.startswith(REFUSED_MARKER)


async def test_a_notice_is_a_further_block_of_the_result():
    guard = LoopGuard(Session(said("nothing found")), detector(LoopPolicy.INJECT_MESSAGE))
    results = await ask(guard, 4)
    assert [len(result.content) for result in results] == [1, 1, 2, 1]
    assert NOTICE_MARKER in results[2].content[1].text
    assert guard.verdict.message in results[2].content[1].text


async def test_all_arguments_reach_the_session_and_none_is_compared():
    session = Session(said("nothing found"))
    guard = LoopGuard(session, STOP)
    for number in range(2):
        await guard.call_tool("search", {"query": "a"}, number, progress_callback=print)
    assert session.asked[1] == (("search", {"query": "a"}, 1), {"progress_callback": print})
    with pytest.raises(LoopDetectedError):
        await guard.call_tool(name="search", arguments={"query": "a"})


async def test_all_else_is_the_sessions_own():
    guard = LoopGuard(Session())
    assert await guard.list_tools() == ["search"]
    with pytest.raises(AttributeError, match="nonsense"):
        guard.nonsense  # noqa: B018 - to look at it is the point


def test_a_guard_that_is_not_made_yet_has_no_session():
    with pytest.raises(AttributeError, match="session"):
        LoopGuard.__new__(LoopGuard).session  # noqa: B018


async def test_a_broken_connection_is_a_failure_and_reaches_the_caller():
    guard = LoopGuard(Session(ConnectionError("the server is gone")), STOP)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await ask(guard, 1)
    with pytest.raises(LoopDetectedError) as caught:
        await ask(guard, 1)
    assert isinstance(caught.value.__context__, ConnectionError)
    assert guard.verdict.detection.details["answer"] == "failure"


async def test_an_error_of_the_tool_is_a_failure():
    guard = LoopGuard(Session(said("it is raining", isError=True)), STOP)
    with pytest.raises(LoopDetectedError):
        await ask(guard, 3)
    assert guard.verdict.detection.details["answer"] == "failure"


async def test_images_that_change_are_progress():
    def picture(data):
        return CallToolResult(content=[ImageContent(type="image", data=data, mimeType="image/png")])

    await ask(LoopGuard(Session(*map(picture, ["AAAA", "AAAB", "AAAC"])), STOP), 3)
    with pytest.raises(LoopDetectedError):
        await ask(LoopGuard(Session(picture("AAAA")), STOP), 3)


async def test_structured_content_counts_where_there_is_no_other():
    def pages(count):
        return CallToolResult(content=[], structuredContent={"pages": count})

    await ask(LoopGuard(Session(pages(1), pages(2), pages(3)), STOP), 3)
    with pytest.raises(LoopDetectedError):
        await ask(LoopGuard(Session(pages(1)), STOP), 3)


async def test_a_result_that_is_none_yet_passes_as_it_is():
    wanted = {"resultType": "input_required"}
    guard = LoopGuard(Session(wanted), detector(LoopPolicy.INJECT_MESSAGE))
    assert await ask(guard, 4) == [wanted] * 4


async def test_the_users_word_is_progress():
    guard = LoopGuard(Session(said("nothing found")), STOP)
    await ask(guard, 2)
    guard.user_message()
    await ask(guard, 2)


async def test_a_cancelled_call_stays_cancelled():
    guard = LoopGuard(Session(asyncio.CancelledError()), STOP)
    for _ in range(3):
        with pytest.raises(asyncio.CancelledError):
            await ask(guard, 1)
