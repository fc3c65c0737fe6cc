"""Agents written by hand over the official SDKs, which ask their model through a gateway.

Each API has an `Agent`: its conversation is plain JSON, as a user would keep it.
"""

import asyncio
import json
from importlib import import_module

MODEL = "m"


class Agent:
    """Asks the model and runs its tools until it calls none."""

    def __init__(self, url, mode, script, ran, conversation=None):
        self.url, self.mode, self.script, self.ran = url, mode, script, ran
        self.conversation = conversation or [{"role": "user", "content": "Go"}]
        self.answer = ""

    def run(self):
        """Work until the model calls no tool; `answer` is what it says then."""
        if self.mode == "async":
            asyncio.run(self.arun())
            return self
        with self.sync_client() as client:
            while self.heard(self.ask(client)):
                pass
        return self

    async def arun(self):
        async with self.async_client() as client:
            while self.heard(await self.ask(client)):
                pass

    def heard(self, reply):
        """Keep a reply, run its tools, and say whether there were any."""
        said, calls, self.answer = self.read(reply)
        self.conversation += said
        answers = [(id_, self.ran.answer(self.script, name)) for id_, name in calls]
        self.conversation += self.results(answers) if answers else []
        return bool(answers)

    def sync_client(self):
        return self.client("DefaultHttpxClient", self.clients[0])

    def async_client(self):
        return self.client("DefaultAsyncHttpxClient", self.clients[1])

    def client(self, http, kind):
        """Make a client of the SDK, which has classes of these names."""
        sdk = import_module(self.sdk)
        return getattr(sdk, kind)(
            base_url=self.url + self.path,
            api_key="sk-1234",
            max_retries=0,
            http_client=getattr(sdk, http)(timeout=60),
        )


class OpenAIAgent(Agent):
    path = "/v1"

    sdk = "openai"
    clients = ("OpenAI", "AsyncOpenAI")


class ChatAgent(OpenAIAgent):
    def ask(self, client):
        tools = [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in ("search", "note")
        ]
        asked = {"model": MODEL, "messages": self.conversation, "tools": tools}
        if self.mode != "stream":
            return client.chat.completions.create(**asked)
        with client.chat.completions.stream(**asked) as stream:
            return stream.get_final_completion()

    def read(self, reply):
        (choice,) = reply.choices
        said = choice.message
        calls = said.tool_calls or []
        assert choice.finish_reason == ("tool_calls" if calls else "stop")
        kept = {"role": "assistant", "content": said.content}
        written = [
            {
                "id": each.id,
                "type": "function",
                "function": {"name": each.function.name, "arguments": each.function.arguments},
            }
            for each in calls
        ]
        kept = {**kept, "tool_calls": written} if calls else kept
        return [kept], [(each.id, each.function.name) for each in calls], said.content

    def results(self, answers):
        return [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in answers]


class ResponsesAgent(OpenAIAgent):
    def ask(self, client):
        tools = [
            {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}
            for name in ("search", "note")
        ]
        asked = {"model": MODEL, "input": self.conversation, "tools": tools}
        if self.mode != "stream":
            return client.responses.create(**asked)
        with client.responses.stream(**asked) as stream:
            return stream.get_final_response()

    def read(self, reply):
        assert reply.status == "completed"
        calls = [item for item in reply.output if item.type == "function_call"]
        kept = [
            {
                "type": "function_call",
                "call_id": each.call_id,
                "name": each.name,
                "arguments": each.arguments,
            }
            for each in calls
        ]
        said = [{"role": "assistant", "content": reply.output_text}] if reply.output_text else []
        return [*said, *kept], [(each.call_id, each.name) for each in calls], reply.output_text

    def results(self, answers):
        return [
            {"type": "function_call_output", "call_id": id_, "output": text}
            for id_, text in answers
        ]


class AnthropicAgent(Agent):
    path = ""

    sdk = "anthropic"
    clients = ("Anthropic", "AsyncAnthropic")

    def ask(self, client):
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("search", "note")]
        model = f"claude-{MODEL}"
        asked = {"model": model, "max_tokens": 99, "messages": self.conversation, "tools": tools}
        if self.mode != "stream":
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            return stream.get_final_message()

    def read(self, reply):
        calls = [block for block in reply.content if block.type == "tool_use"]
        assert reply.stop_reason == ("tool_use" if calls else "end_turn")
        kept = json.loads(reply.model_dump_json(include={"content"}, exclude_none=True))["content"]
        text = "".join(block.text for block in reply.content if block.type == "text")
        return (
            [{"role": "assistant", "content": kept}],
            [(each.id, each.name) for each in calls],
            text,
        )

    def results(self, answers):
        given = [
            {"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in answers
        ]
        return [{"role": "user", "content": given}]


AGENTS = {
    "openai_chat": ChatAgent,
    "openai_responses": ResponsesAgent,
    "anthropic": AnthropicAgent,
}
