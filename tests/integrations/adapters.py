"""The adapters that the project has; needs no framework."""

from dataclasses import dataclass, field
from typing import Dict, Tuple


@dataclass(frozen=True)
class Adapter:
    """One adapter, and what of the contract its framework cannot do."""

    name: str
    """Its module in `antiloop.integrations`."""
    extra: str
    """What is installed for it: ``pip install "antiloop[...]"``."""
    modules: Tuple[str, ...]
    """What the framework is imported as."""
    page: str
    """Its page in ``docs/how-to``."""
    modes: Tuple[str, ...] = ("sync", "async", "stream")
    """How the framework runs an agent."""
    holes: Dict[str, str] = field(default_factory=dict)
    """Lines of the contract that do not apply, and why not."""
    oldest: Tuple[str, ...] = ()
    """Requirements that pin the lowest supported versions."""
    python: Tuple[int, int] = (3, 10)
    """The oldest Python that the framework runs on."""


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(
            "langchain",
            "langchain",
            ("langchain", "langgraph"),
            "guard-langchain.md",
            oldest=("langchain==1.0.8", "langgraph-prebuilt==1.0.5"),
        ),
    )
}


def main() -> None:
    """Print a line for each environment to test: name, newest or oldest, Python, requirements."""
    for adapter in ADAPTERS.values():
        python = ".".join(map(str, adapter.python))
        print(adapter.name, "newest", python, f".[{adapter.extra},test]")
        if adapter.oldest:
            print(adapter.name, "oldest", python, f".[{adapter.extra},test]", *adapter.oldest)


if __name__ == "__main__":
    main()
