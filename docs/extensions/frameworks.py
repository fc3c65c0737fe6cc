"""The frameworks of the adapters, which the site is built without."""

MOCKED = [
    *(
        "ag2",
        "agent_framework",
        "agents",
        "anthropic",
        "claude_agent_sdk",
        "crewai",
        "distributed",
        "google",
    ),
    *(
        "inspect_ai",
        "langchain",
        "langchain_core",
        "langgraph",
        "litellm",
        "mcp",
        "openai",
        "opentelemetry",
    ),
    *("prometheus_client", "pydantic_ai", "strands"),
]
"""Each is imported by one adapter; none is needed to read its docstrings."""
CLASSES = ["App", "ClaudeAgentOptions", "Client", "ClientSession", "ClientSessionGroup", "ToolNode"]
"""Their classes that docstrings name; they are described elsewhere."""
