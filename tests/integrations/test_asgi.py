"""The contract with the middleware under uvicorn, and what is special about it."""

import asyncio
import gzip
import json
import time
from contextlib import contextmanager

import pytest
from contract import FORWARD, IN_CIRCLES, Hearer, detector
from gateway_contract import GatewayContract
from hypothesis import example, given
from hypothesis import strategies as st
from model_server import model_server
from request_bodies import BODIES, chat, repeated

pytest.importorskip("httpx", reason="needs httpx and uvicorn")
pytest.importorskip("uvicorn", reason="needs httpx and uvicorn")
pytest.importorskip("openai", reason="needs openai and anthropic")
pytest.importorskip("anthropic", reason="needs openai and anthropic")

import httpx
import openai
from served import served

from antiloop import LoopDetector, LoopPolicy
from antiloop.integrations import asgi
from antiloop.integrations.asgi import LoopGuard
from antiloop.loop_detection._messages import NOTICE_MARKER

# A sync client that is closed leaves this to the interpreter.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

NOTIFY, STOP = detector(LoopPolicy.INJECT_MESSAGE), detector(LoopPolicy.STOP)
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
}


class Gateway:
    """Sends requests on to a model, as a small gateway of a user's own."""

    def __init__(self, url):
        self.url = url

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        assert dict(scope["headers"])[b"content-length"] == str(len(body)).encode()
        async with httpx.AsyncClient() as client:
            answer = await client.post(self.url + scope["path"], content=body)
        headers = [(b"content-type", answer.headers["content-type"].encode())]
        status = answer.status_code
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.content})


@contextmanager
def gateway():
    """Run a gateway whose guard each test makes, in front of a scripted model; give all three."""
    with model_server() as model:
        unguarded = Gateway(model.url)
        guards = [unguarded]

        async def app(scope, receive, send):
            await guards[-1](scope, receive, send)

        with served(app) as url:
            yield url, model, lambda **options: guards.append(LoopGuard(unguarded, **options))


class ASGIContract(GatewayContract):
    name = "asgi"
    start = staticmethod(gateway)


class TestChat(ASGIContract):
    kind = "openai_chat"


class TestResponses(ASGIContract):
    kind = "openai_responses"
    test_resumed_elsewhere = None  # as for `TestChat`: a guard reads each request for itself


class TestMessages(ASGIContract):
    kind = "anthropic"
    test_resumed_elsewhere = None  # the same


class Echo:
    """Remembers what it was sent, and answers with it."""

    def __init__(self):
        self.received, self.headers, self.ended = b"", {}, None

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            self.ended = scope["type"]
            return
        self.headers = dict(scope["headers"])
        more = True
        while more:
            message = await receive()
            self.received += message.get("body", b"")
            more = message.get("more_body", False)
        self.ended = message["type"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self.received})


def posted(guard, content, path=PATHS["openai_chat"], method="POST", **headers):
    """Send a request without a server."""
    transport = httpx.ASGITransport(app=guard)

    async def post():
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            return await client.request(method, path, content=content, headers=headers)

    return asyncio.run(post())


def written(rounds, kind="openai_chat", **more):
    return json.dumps(BODIES[kind](rounds, **more)).encode()


def test_a_request_that_is_sent_on_as_it_came_is_the_same_to_the_byte():
    odd = b'  {"messages" : [],\n "n":1.0}'
    for content in (odd, written(repeated(2))):
        assert posted(LoopGuard(Echo()), content).content == content


def test_a_changed_request_has_its_length():
    echo = Echo()
    told = posted(LoopGuard(echo, NOTIFY), written(repeated(3)))
    assert NOTICE_MARKER in told.json()["messages"][-1]["content"]
    assert echo.headers[b"content-length"] == str(len(told.content)).encode()
    assert sum(name == b"content-length" for name in echo.headers) == 1


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)


@given(kind=st.sampled_from(sorted(PATHS)), number=NUMBERS)
@example("anthropic", "1e400")
def test_a_changed_request_keeps_its_numbers_to_the_digit(kind, number):
    rounds = repeated(3, query="NUMBER")
    content = written(rounds, kind, top_p="NUMBER", seed=["NUMBER", 7], user=None)
    content = content.replace(b'"NUMBER"', number.encode())
    changed = posted(LoopGuard(Echo(), NOTIFY), content, PATHS[kind]).content
    read, sent = (json.loads(each, parse_float=str, parse_int=str) for each in (changed, content))
    place = "input" if kind == "openai_responses" else "messages"
    said, before = read.pop(place), sent.pop(place)
    assert NOTICE_MARKER in json.dumps(said[-1])
    assert said[: len(before) - 1] == before[:-1]
    assert read == sent
    assert sent["seed"] == [number, "7"]


def test_a_changed_request_that_came_in_chunks_is_chunked_no_more():
    chunked = {"Transfer-Encoding": "chunked"}
    echo = Echo()
    posted(LoopGuard(echo), written(repeated(2)), **chunked)
    assert echo.headers[b"transfer-encoding"] == b"chunked"
    echo = Echo()
    told = posted(LoopGuard(echo, NOTIFY), written(repeated(3)), **chunked)
    assert b"transfer-encoding" not in echo.headers
    assert echo.headers[b"content-length"] == str(len(told.content)).encode()


@pytest.mark.parametrize("kind", PATHS)
def test_the_path_tells_the_api(kind):
    content = written(repeated(3), kind)
    for path in (PATHS[kind], f"/gateway{PATHS[kind]}/"):
        assert "Stopped:" in posted(LoopGuard(Echo(), STOP), content, path).text
    assert posted(LoopGuard(Echo(), STOP), content, "/v1/embeddings").content == content
    own = LoopGuard(Echo(), STOP, paths={"/ask": kind})
    assert "Stopped:" in posted(own, content, "/ask").text
    assert posted(own, content, PATHS[kind]).content == content


def test_an_unknown_api_is_named_when_the_guard_is_made():
    with pytest.raises(ValueError, match="unknown kind 'gemini'"):
        LoopGuard(Echo(), paths={"/ask": "gemini"})


@pytest.mark.parametrize("content", [b"", b"not JSON", b"[1]", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_request_passes(content):
    assert posted(LoopGuard(Echo()), content).content == content


def test_a_compressed_request_passes_unread():
    content = written(repeated(3))
    sent = posted(LoopGuard(Echo(), STOP), content, **{"content-encoding": "gzip"})
    assert sent.content == content
    sent = posted(LoopGuard(Echo(), STOP), content, **{"content-encoding": "identity"})
    assert "Stopped:" in sent.text


def test_other_methods_pass():
    content = written(repeated(3))
    assert posted(LoopGuard(Echo(), STOP), content, method="PUT").content == content


def test_what_is_no_http_passes():
    echo = Echo()
    asyncio.run(LoopGuard(echo)({"type": "lifespan"}, None, None))
    assert echo.ended == "lifespan"


def received(guard, *messages):
    """Send the messages of a request, and tell what was answered."""
    waiting, sent = iter(messages), []

    async def receive():
        return next(waiting)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "headers": []}
    asyncio.run(guard(scope, receive, send))
    return sent


def parts(content, size):
    starts = range(0, len(content), size)
    return [
        {"type": "http.request", "body": content[at : at + size], "more_body": at != starts[-1]}
        for at in starts
    ]


def test_a_request_may_come_in_parts():
    content = written(repeated(3), "anthropic")
    _, body = received(LoopGuard(Echo(), STOP), *parts(content, 100))
    assert b"Stopped:" in body["body"]


def test_a_request_that_is_too_large_passes_unread(monkeypatch):
    monkeypatch.setattr(asgi, "_MAX_SIZE", 250)
    content, echo = written(repeated(3), "anthropic"), Echo()
    received(LoopGuard(echo, STOP), *parts(content, 100))
    assert echo.received == content


def test_a_client_that_has_gone_is_told_of():
    echo = Echo()
    received(LoopGuard(echo, STOP), *parts(b"x" * 200, 100)[:1], {"type": "http.disconnect"})
    assert echo.ended == "http.disconnect"


def test_observers_hear_of_which_session():
    hearer = Hearer()
    guard = LoopGuard(Echo(), STOP, observers=[hearer])
    posted(guard, written(repeated(3)), **{"X-Session-Id": "session-1"})
    posted(guard, json.dumps(chat(repeated(3))).encode())
    assert hearer.runs == ["session-1", ""]


def test_what_goes_wrong_harms_no_request(monkeypatch, caplog):
    guard, content = LoopGuard(Echo(), STOP), written(repeated(3))
    monkeypatch.setattr(guard, "ajudge_request", lambda *_: 1 / 0)
    assert posted(guard, content).content == content
    assert "could not be judged" in caplog.text


@pytest.mark.parametrize("kind", PATHS)
def test_a_streamed_answer_is_an_event_stream(kind):
    content = written(repeated(3), kind, stream=True)
    answer = posted(LoopGuard(Echo(), STOP), content, PATHS[kind])
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.text.endswith("\n\n")


def test_a_stream_of_chat_completions_ends_with_its_usage_if_asked():
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    for options, count in (({"stream": True}, 0), (asked, 1)):
        answer = posted(LoopGuard(Echo(), STOP), written(repeated(3), **options))
        assert answer.text.count('"usage"') == count


def chunk(**delta):
    head = {"id": "c-1", "object": "chat.completion.chunk", "created": 7, "model": "small"}
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def event(data):
    return f"data: {json.dumps(data)}\n\n".encode()


def thinking(pieces, field="reasoning_content"):
    return [event(chunk(**{field: piece})) for piece in pieces]


class Streaming:
    """Streams parts of an answer one by one."""

    def __init__(self, parts, *headers, kind=b"text/event-stream; charset=utf-8"):
        self.parts, self.left = iter(parts), None
        self.headers = [(b"content-type", kind), *headers]

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        start = {"type": "http.response.start", "status": 200, "headers": self.headers}
        await send(start)
        try:
            for part in self.parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except OSError as error:
            self.left = error
            raise


ASK = json.dumps({"model": "small", "messages": [], "stream": True}).encode()
LAST = event({**chunk(), "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})


def in_parts(content, size):
    return [content[at : at + size] for at in range(0, len(content), size)]


@given(st.integers(1, 500), st.sampled_from(["reasoning_content", "reasoning"]))
def test_a_stream_of_thoughts_that_repeat_ends_for_its_length(size, field):
    hearer, whole = Hearer(), b"".join(thinking(IN_CIRCLES, field))
    app = Streaming(in_parts(whole, size))
    guard = LoopGuard(app, observers=[hearer])
    answer = posted(guard, ASK, **{"x-session-id": "session-1"}).content
    events = list(filter(None, answer.split(b"\n\n")))
    assert events[-2].strip() + b"\n\n" == LAST
    assert events[-1] == b"data: [DONE]"
    kept = events[:-2]
    assert kept == whole.split(b"\n\n")[: len(kept)]
    assert len(kept) < 30
    assert app.left is not None
    assert (hearer.heard, hearer.runs) == (["chant"], ["session-1"])


def test_a_long_line_of_a_stream_is_read_once_however_it_is_cut():
    line = event(chunk(image="A" * 16_000_000))
    app = Streaming(in_parts(line, 4_096))
    began = time.perf_counter()
    assert posted(LoopGuard(app), ASK).content == line
    assert time.perf_counter() - began < 15  # it took a minute as long as each part was added to it


STREAMS = {
    "thoughts that move on": ({}, thinking(FORWARD), {}),
    "words": ({}, [event(chunk(content=piece)) for piece in IN_CIRCLES], {}),
    "a shadow": ({"detector": LoopDetector.escalating(shadow=True)}, thinking(IN_CIRCLES), {}),
    "a detector of calls": ({"detector": STOP}, thinking(IN_CIRCLES), {}),
    "no events": ({}, thinking(IN_CIRCLES), {"kind": b"application/json"}),
    "odd events": ({}, [b"data: [1]\n\n", b"data: {\n\n", event({"choices": [7]}), b": hm\n"], {}),
}


@pytest.mark.parametrize("name", STREAMS)
def test_another_stream_is_the_same_to_the_byte(name):
    options, parts, more = STREAMS[name]
    app = Streaming(parts, **more)
    assert posted(LoopGuard(app, **options), ASK).content == b"".join(parts)
    assert app.left is None


def test_a_compressed_stream_passes_unread():
    parts = [gzip.compress(b"".join(thinking(IN_CIRCLES)))]
    app = Streaming(parts, (b"content-encoding", b"gzip"))
    assert posted(LoopGuard(app), ASK).content == b"".join(thinking(IN_CIRCLES))


@pytest.mark.parametrize("kind", ["openai_responses", "anthropic"])
def test_the_streams_of_other_apis_pass_unread(kind):
    app = Streaming(thinking(IN_CIRCLES))
    content = json.dumps({**json.loads(ASK), "input": []}).encode()
    answer = posted(LoopGuard(app), content, path=PATHS[kind])
    assert answer.content == b"".join(thinking(IN_CIRCLES))


def test_an_error_of_the_application_is_its_own():
    def failing():
        yield event(chunk(content="Hi"))
        raise KeyError("model")

    with pytest.raises(KeyError, match="model"):
        posted(LoopGuard(Streaming(failing())), ASK)


def test_a_client_of_openai_reads_the_end_of_a_stream_that_was_left():
    with served(LoopGuard(Streaming(thinking(IN_CIRCLES)))) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        asked = client.chat.completions.create(model="small", messages=[], stream=True)
        reasons = [each.choices[0].finish_reason for each in asked]
    assert reasons == [None] * (len(reasons) - 1) + ["length"]
    assert len(reasons) < 30
