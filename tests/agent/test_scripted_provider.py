import pytest

from antiloop import Agent, AgentConfig, Message, Role, RunStatus, ScriptedProvider, ToolCall
from antiloop.agent import ModelReply, ModelRequest, Usage
from antiloop.exceptions import ProviderError

CALL = ToolCall("look", {"at": "x"})


def request(turn=0):
    return ModelRequest((Message(Role.USER, "Hi"), *[Message(Role.ASSISTANT, "...")] * turn))


def test_each_kind_of_line_becomes_a_reply():
    full = ModelReply("Full.", (CALL,), Usage(1, 2))
    provider = ScriptedProvider(["Text.", CALL, [CALL, CALL], full, []])
    replies = [provider.complete(request(turn)) for turn in range(5)]
    assert replies == [
        ModelReply("Text."),
        ModelReply(tool_calls=(CALL,)),
        ModelReply(tool_calls=(CALL, CALL)),
        full,
        ModelReply(),
    ]


def test_a_line_may_be_a_function_of_the_request():
    provider = ScriptedProvider([lambda asked: asked.messages[0].content + "!"])
    assert provider.complete(request()).text == "Hi!"


def test_the_turn_is_read_from_the_conversation_so_one_provider_serves_many_runs():
    provider = ScriptedProvider(["one", "two"])
    assert provider.complete(request(1)).text == "two"
    assert provider.complete(request(0)).text == "one"


def test_a_script_that_is_over_says_so():
    with pytest.raises(ProviderError, match="has 1 replies and was asked for number 2"):
        ScriptedProvider(["one"]).complete(request(1))


def test_the_last_line_may_be_repeated_forever():
    provider = ScriptedProvider([CALL, "again"], repeat_last=True)
    assert provider.complete(request(99)).text == "again"


def test_a_run_of_a_repeated_call_ends_with_the_iterations():
    agent = Agent([], ScriptedProvider([CALL], repeat_last=True), AgentConfig(max_iterations=4))
    assert agent.run("Go").status is RunStatus.MAX_ITERATIONS


def test_an_empty_script_is_refused():
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedProvider([])


def test_a_text_instead_of_a_list_is_refused():
    with pytest.raises(TypeError, match="must be a list of replies, got the text 'Hello'"):
        ScriptedProvider("Hello")


@pytest.mark.parametrize("line", [3, [CALL, "x"], lambda _: None])
def test_a_line_that_is_no_reply_is_named(line):
    with pytest.raises(ProviderError, match="must be a reply, a text or tool calls"):
        ScriptedProvider([line]).complete(request())


@pytest.mark.parametrize("text", ["Two words.\n\n And more ", "", "  ", "one"])
async def test_all_four_ways_of_asking_give_the_same(text):
    provider = ScriptedProvider([ModelReply(text, (CALL,))])
    reply = provider.complete(request())
    assert await provider.acomplete(request()) == reply
    sync_items = list(provider.stream(request()))
    async_items = [item async for item in provider.astream(request())]
    assert sync_items == async_items
    assert sync_items[-1] == reply
    assert "".join(sync_items[:-1]) == text


def test_text_is_streamed_in_pieces():
    assert list(ScriptedProvider(["a b c"]).stream(request()))[:-1] == ["a ", "b ", "c"]
