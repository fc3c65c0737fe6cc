"""What runs the work of a scan: an executor like those of `concurrent.futures`."""

from concurrent.futures import Executor
from typing import ContextManager, Tuple

Engine = ContextManager[Tuple[Executor, int]]
"""Gives an executor and how many workers it has; after that, or an error, nothing is left of it."""


class EngineFailed(Exception):
    """There is no such engine, or it broke down; the message says what to do."""
