"""Writes down which lines of the contract held, into the file that ANTILOOP_MATRIX names."""

import asyncio
import os
from contextlib import ExitStack
from functools import lru_cache

import pytest
from matrix import Recorder


def pytest_configure(config):
    path = os.environ.get("ANTILOOP_MATRIX")
    if path:
        config.pluginmanager.register(Recorder(path))


@pytest.fixture
def thread_loop():
    """Return the thread an event loop: sync runs of some frameworks make one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="session")
def gateway_of():
    """Return what starts a gateway once, and gives what it is made of."""
    with ExitStack() as stack:
        yield lru_cache(lambda start: stack.enter_context(start()))
