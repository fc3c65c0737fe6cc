"""The adapters that the project has; needs no framework.

python tests/integrations/adapters.py           # the environments that .ci/integrations makes
WEEKLY=1 python tests/integrations/adapters.py  # those that are tested once a week
python tests/integrations/adapters.py absent    # files whose framework is not installed here
"""

import os
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Dict, Iterator, Optional, Tuple


@dataclass(frozen=True)
class Adapter:
    """One adapter, and what of the contract its framework cannot do."""

    name: str
    """Its module in `antiloop.integrations`."""
    extra: str
    """What is installed for it: ``pip install "antiloop[...]"``; empty: nothing."""
    modules: Tuple[str, ...]
    """What the framework is imported as."""
    page: str
    """Its page in ``docs/how-to``."""
    modes: Tuple[str, ...] = ("sync", "async", "stream")
    """How the framework runs an agent."""
    holes: Dict[str, str] = field(default_factory=dict)
    """Lines of the contract that do not apply, and why not."""
    needs: Tuple[str, ...] = ()
    """Requirements of the tests alone."""
    oldest: Tuple[str, ...] = ()
    """Requirements that pin the lowest supported versions."""
    python: Tuple[int, int] = (3, 10)
    """The oldest Python that the framework runs on."""
    newest_python: Optional[Tuple[int, int]] = None
    """The same of its newest version, where that needs a later one."""
    warnings: Tuple[str, ...] = ()
    """What the framework itself warns of, as filters that let it pass."""
    last_words: str = ""
    """How it asks for last words at ``conclude``; empty where that is ``stop``."""
    thoughts: str = ""
    """What it does about a model that repeats itself in its thoughts, or why nothing."""
    through: str = ""
    """The adapter that guards it, where it has no module of its own."""
    weekly: bool = False
    """Whether the framework is too large to be installed for every change."""


NONE = "`tool_choice` is `none`, and calls that come all the same are left out"
KEPT = "the tools stay in the request, and calls are answered with a refusal"

SERVED = "`tool_choice` is `none`; if calls come all the same, the next request is answered why"

LEFT = "where a run is streamed, the stream is left and the run ends with `Stopped: ...`"
UNSTREAMED = "nothing: the hooks receive calls, and not what is streamed"

SINGLE_CALLS = {
    "a_model_stuck_in_words_is_noticed": "calls are seen, and no replies of the model",
}

REPORTED = "all further calls are refused, so that the model answers in words before the run ends"
HOOK_HOLES = {
    "async": "the hook runs in a separate process, however the agent is run",
    "stream": "the hook runs in a separate process, however the agent is run",
    "raise": "no caller can catch an exception; it does what stop does",
    **dict.fromkeys(
        ("a_second_opinion_is_asked", "a_judge_that_fails_harms_nothing"),
        "a judge is code; the hook runs in a separate process, whose detector is written as JSON",
    ),
    **SINGLE_CALLS,
}

GATEWAY_HOLES = {
    "block": "a single call cannot be refused at a gateway; no tool may be called at all",
    "raise": "no caller can catch an exception; the client gets an error with the status 400",
    "a_refused_call_tells_the_model_why": "nothing is refused; a notice tells why no tool may be"
    " called",
}

ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(
            "langchain",
            "langchain",
            ("langchain", "langgraph"),
            "guard-langchain.md",
            thoughts=LEFT.replace("streamed", "streamed token by token"),
            last_words=KEPT,
            needs=("langgraph-checkpoint-sqlite",),
            oldest=("langchain==1.0.8", "langgraph-prebuilt==1.0.5"),
        ),
        Adapter(
            "deepagents",
            "",
            ("deepagents", "langgraph_supervisor", "langgraph_swarm"),
            "guard-deepagents.md",
            thoughts=LEFT.replace("streamed", "streamed token by token"),
            last_words=KEPT,
            needs=(
                "deepagents",
                "langgraph-supervisor",
                "langgraph-swarm",
                "langgraph-checkpoint-sqlite",
            ),
            through="langchain",
            python=(3, 11),
        ),
        Adapter(
            "langgraph",
            "langgraph",
            ("langgraph", "langchain_core"),
            "guard-langgraph.md",
            thoughts="nothing: your own node reads the stream; pass the pieces to"
            " `monitor.thinking`",
            needs=("langgraph-checkpoint-sqlite",),
            oldest=("langgraph==1.0.6", "langgraph-prebuilt==1.0.5"),
        ),
        Adapter(
            "openai_agents",
            "openai-agents",
            ("agents",),
            "guard-openai-agents.md",
            thoughts="nothing: no hook receives what is streamed; in `stream_events()`, pass the"
            " pieces to `monitor.thinking` and call `result.cancel()`",
            last_words=KEPT,
            oldest=("openai-agents==0.4.0", "openai==2.2.0"),
        ),
        Adapter(
            "pydantic_ai",
            "pydantic-ai",
            ("pydantic_ai",),
            "guard-pydantic-ai.md",
            thoughts=LEFT + "; from version 2.55 on",
            last_words=NONE,
            oldest=("pydantic-ai-slim==2.16.0",),
            newest_python=(3, 11),
        ),
        Adapter(
            "strands",
            "strands",
            ("strands",),
            "guard-strands.md",
            thoughts="the run is cancelled, with `Stopped: ...` as its last message; in versions"
            " with `Agent.add_middleware`",
            last_words=KEPT,
            oldest=("strands-agents==1.43.0",),
        ),
        Adapter(
            "adk",
            "adk",
            ("google.adk",),
            "guard-adk.md",
            thoughts="nothing: `after_model_callback` receives the pieces, but only an error leaves"
            " a stream",
            last_words=NONE.replace("`tool_choice`", "the calling mode").replace(
                "`none`", "`NONE`"
            ),
            oldest=("google-adk==2.10.0",),
            newest_python=(3, 11),
        ),
        Adapter(
            "agent_framework",
            "agent-framework",
            ("agent_framework",),
            "guard-agent-framework.md",
            thoughts=LEFT,
            last_words=NONE,
            modes=("async", "stream"),
            holes={"sync": "the framework is async"},
            oldest=("agent-framework-core==1.3.0",),
        ),
        Adapter(
            "ag2",
            "ag2",
            ("ag2",),
            "guard-ag2.md",
            thoughts="the reply is left where its client streams, and the turn ends with `Stopped:"
            " ...`",
            last_words="the tools stay in the request, and calls are left out",
            modes=("async", "stream"),
            holes={"sync": "the framework is async"},
            oldest=("ag2==1.0.0",),
        ),
        Adapter(
            "crewai",
            "crewai",
            ("crewai",),
            "guard-crewai.md",
            thoughts="nothing: what a listener of its events raises is logged, and the stream goes"
            " on",
            holes={
                "resumed_elsewhere": "a task that broke off starts from the beginning",
                **dict.fromkeys(
                    ("a_user_message_keeps_the_rung", "a_user_message_ends_a_block"),
                    "the user does not speak during a task",
                ),
                **SINGLE_CALLS,
            },
            oldest=("crewai==1.15.19",),
            warnings=("ignore::DeprecationWarning",),
            weekly=True,
        ),
        Adapter(
            "mcp",
            "mcp",
            ("mcp",),
            "guard-mcp.md",
            thoughts="nothing: calls are seen, and no replies of the model",
            modes=("async",),
            holes={
                "sync": "the SDK's sessions are async",
                "stream": "a tool gives one result",
                **SINGLE_CALLS,
            },
            oldest=("mcp==1.21.1",),
        ),
        Adapter(
            "litellm",
            "litellm",
            ("litellm",),
            "guard-gateway.md",
            thoughts="a streamed chat completion ends with the finish reason `length`",
            last_words=SERVED,
            holes=GATEWAY_HOLES,
            needs=("openai", "anthropic"),
            oldest=("litellm==1.106.2",),
        ),
        Adapter(
            "asgi",
            "",
            (),
            "guard-gateway.md",
            thoughts="a streamed chat completion ends with the finish reason `length`",
            last_words=SERVED,
            holes=GATEWAY_HOLES,
            needs=("openai", "anthropic", "httpx", "uvicorn"),
            python=(3, 10),
        ),
        Adapter(
            "otel",
            "otel",
            ("opentelemetry.sdk",),
            "guard-opentelemetry.md",
            thoughts="nothing: spans are watched, and report a reply when it has ended",
            modes=("sync", "async"),
            holes={
                "stream": "a span reports a call when it has ended, streamed or not",
                **dict.fromkeys(
                    (
                        *("notify", "block", "stop", "conclude", "raise", "ladder", "own_words"),
                        *("a_user_message_keeps_the_rung", "a_user_message_ends_a_block"),
                    ),
                    "spans are watched; nothing can be done to the run",
                ),
                "a_refused_call_tells_the_model_why": "nothing is refused",
                "resumed_elsewhere": "spans of another process are not seen in this one",
                **dict.fromkeys(
                    ("a_second_opinion_is_asked", "a_judge_that_fails_harms_nothing"),
                    "a span processor must not keep the application waiting",
                ),
                **SINGLE_CALLS,
            },
            oldest=("opentelemetry-proto==1.20.0", "opentelemetry-sdk==1.20.0"),
        ),
        Adapter(
            "claude_code",
            "",
            (),
            "guard-claude-code.md",
            thoughts=UNSTREAMED,
            modes=("sync",),
            holes={
                **HOOK_HOLES,
                **dict.fromkeys(("stop", "conclude", "ladder", "own_words"), REPORTED),
                "raise": "no caller can catch an exception; the session ends as it does for stop",
                "resumed_elsewhere": "a separate process answers each event; a session"
                " continues with a user message, which starts a new turn",
                "a_detector_that_raises_harms_nothing": "a detector of your own cannot be written"
                " as JSON",
                "observers_are_notified": "the hook runs in a separate process",
            },
            needs=("claude-agent-sdk",),
            python=(3, 10),
        ),
        Adapter(
            "codex",
            "",
            (),
            "guard-codex.md",
            thoughts=UNSTREAMED,
            modes=("sync",),
            holes={
                **HOOK_HOLES,
                **dict.fromkeys(
                    ("stop", "conclude", "ladder", "own_words"),
                    "no hook can end a turn of Codex; all further calls are refused instead",
                ),
            },
            python=(3, 9),
        ),
        Adapter(
            "gemini_cli",
            "",
            (),
            "guard-gemini-cli.md",
            thoughts=UNSTREAMED,
            modes=("sync",),
            holes={
                **HOOK_HOLES,
                **dict.fromkeys(("stop", "conclude", "ladder", "own_words"), REPORTED),
            },
            python=(3, 9),
        ),
        Adapter(
            "copilot",
            "",
            (),
            "guard-copilot.md",
            thoughts=UNSTREAMED,
            modes=("sync",),
            holes={
                **HOOK_HOLES,
                **dict.fromkeys(
                    ("stop", "conclude", "ladder", "own_words"),
                    "no hook can end a run of Copilot; all further calls are refused instead",
                ),
            },
            python=(3, 9),
        ),
        Adapter(
            "openhands",
            "",
            (),
            "guard-openhands.md",
            thoughts=UNSTREAMED,
            modes=("sync",),
            holes={
                **HOOK_HOLES,
                **dict.fromkeys(
                    ("stop", "conclude", "ladder", "own_words"),
                    "no hook can end a run of OpenHands; all further calls are refused instead",
                ),
                "notify": "the model of OpenHands can only get the reason why a call is refused",
            },
            python=(3, 9),
        ),
        Adapter(
            "opencode",
            "",
            (),
            "guard-opencode.md",
            thoughts=UNSTREAMED,
            modes=("sync",),
            holes={
                **HOOK_HOLES,
                **dict.fromkeys(("stop", "conclude", "ladder", "own_words"), REPORTED),
            },
            python=(3, 9),
        ),
        Adapter(
            "claude_agent_sdk",
            "claude-agent-sdk",
            ("claude_agent_sdk",),
            "guard-claude-agent-sdk.md",
            thoughts=(
                UNSTREAMED + "; with `include_partial_messages`, pass the pieces to"
                " `monitor.thinking` and call `client.interrupt()`"
            ),
            modes=("async",),
            holes={
                "sync": "the SDK is async",
                "stream": "the SDK has one way to ask, which gives messages as they come",
                "conclude": REPORTED,
                "resumed_elsewhere": "a session continues with a user message, which starts a"
                " new turn",
                **SINGLE_CALLS,
            },
            oldest=("claude-agent-sdk==0.2.82", "mcp==1.23.0"),
        ),
        Adapter(
            "inspect_ai",
            "inspect",
            ("inspect_ai",),
            "guard-inspect.md",
            thoughts="nothing: its hooks receive a reply when it has ended",
            last_words=KEPT,
            modes=("sync", "async"),
            holes={
                "stream": "an evaluation gives its log when it is over",
                "raise": "an error of a sample is one of the evaluation; it does what stop does",
                "resumed_elsewhere": "a sample that broke off starts from the beginning",
            },
            oldest=("inspect-ai==0.3.246",),
            warnings=(
                "ignore:The 'initial' parameter:DeprecationWarning",
                "ignore:Exception ignored in. <(function MemoryObject|_io.FileIO):"
                "pytest.PytestUnraisableExceptionWarning",
            ),
        ),
        Adapter(
            "functions",
            "",
            (),
            "guard-functions.md",
            thoughts="nothing: calls are seen, and no replies of the model",
            modes=("sync", "async"),
            holes={
                "stream": "what a function yields is not a result; such functions are refused",
                **SINGLE_CALLS,
            },
            python=(3, 9),
        ),
    )
}


@dataclass(frozen=True)
class Recipe:
    """A page whose examples need a framework that has no adapter."""

    name: str
    """Its environment, and its page in ``docs/how-to``."""
    modules: Tuple[str, ...]
    """What the framework is imported as."""
    packages: Tuple[str, ...]
    """What is installed for it."""
    python: Tuple[int, int] = (3, 10)
    """The oldest Python that the framework runs on."""
    warnings: Tuple[str, ...] = ()
    """What the framework itself warns of, as filters that let it pass."""

    @property
    def page(self) -> str:
        return f"{self.name}.md"


RECIPES = (
    Recipe("recipe-agno", ("agno",), ("agno",)),
    Recipe("recipe-haystack", ("haystack",), ("haystack-ai",), (3, 11)),
    Recipe(
        "recipe-llama-index",
        ("llama_index.core",),
        ("llama-index-core",),
        warnings=("ignore::DeprecationWarning",),
    ),
    Recipe("recipe-smolagents", ("smolagents",), ("smolagents",)),
    Recipe(
        "come-from-another-library",
        ("selectools", "looplens", "xerxes"),
        ("selectools", "looplens", "xerxes-agent"),
        (3, 11),
    ),
)

WARNINGS = {each.page: each.warnings for each in (*ADAPTERS.values(), *RECIPES) if each.warnings}
"""What else than an error the examples of a page may give rise to."""

FRAMEWORKS = {each.page: each.modules for each in (*ADAPTERS.values(), *RECIPES)}
"""What must be installed to run the examples of a page, by the page's name."""


def environments(weekly: bool = False) -> Iterator[str]:
    """Yield a line for each: name, which end, Python, page, what is shown, requirements.

    Args:
        weekly: those that are tested once a week, and not those that are tested with every change.
    """
    for adapter in ADAPTERS.values():
        if adapter.weekly is not weekly:
            continue
        python = ".".join(map(str, adapter.python))
        extras = ",".join(filter(None, [adapter.extra, "test"]))
        shown = ",".join(pin.partition("==")[0] for pin in adapter.oldest or adapter.needs) or "-"
        own = (python, adapter.page, shown, f".[{extras}]", *adapter.needs)
        yield " ".join((adapter.name, "newest", *own))
        if adapter.oldest:
            yield " ".join((adapter.name, "oldest", *own, *adapter.oldest))
    for recipe in () if weekly else RECIPES:
        python = ".".join(map(str, recipe.python))
        wanted = (",".join(recipe.packages), ".[test]", *recipe.packages)
        yield " ".join((recipe.name, "newest", python, recipe.page, *wanted))


def absent() -> Iterator[str]:
    """Yield the files of the adapters whose framework is not installed here."""
    for adapter in ADAPTERS.values():
        if not adapter.through and not all(map(is_installed, adapter.modules)):
            yield f"*/antiloop/integrations/{adapter.name}*.py"


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # what it is a part of is not installed
        return False


if __name__ == "__main__":
    if sys.argv[1:] == ["absent"]:
        print(",".join(absent()))
    else:
        print("\n".join(environments(weekly="WEEKLY" in os.environ)))
