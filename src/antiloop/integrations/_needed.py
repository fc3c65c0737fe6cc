"""The libraries that adapters need beside antiloop."""

from contextlib import contextmanager
from typing import Iterator


@contextmanager
def needed(what: str, extra: str, by: str) -> Iterator[None]:
    """Name the extra of antiloop that brings what cannot be imported in this block."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{by} needs {what}: pip install "antiloop[{extra}]"') from error
