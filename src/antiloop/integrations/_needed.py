"""The libraries that adapters need beside antiloop."""

from contextlib import contextmanager
from typing import Iterator


@contextmanager
def needed(what: str, extra: str, by: str) -> Iterator[None]:
    """Say how to install what cannot be imported in this block.

    Args:
        what: the library, and from which version on.
        extra: of antiloop, which brings it.
        by: the module that needs it.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{by} needs {what}: pip install "antiloop[{extra}]"') from error
