"""What runs the work of a scan: an executor like those of `concurrent.futures`."""

from concurrent.futures import Executor
from typing import ContextManager, Tuple

Engine = ContextManager[Tuple[Executor, int]]
"""Provides an executor and its number of workers, and closes the executor on exit."""


class EngineFailed(Exception):
    """The engine is not available or broke down; the message says what to do."""
