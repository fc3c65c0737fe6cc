"""What all tests share: a machine that is slow is no reason for a property test to fail."""

import asyncio
import gc
import signal
import ssl
import tempfile
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, settings

# The same examples each time: what breaks is due to what has changed.
settings.register_profile(
    "antiloop",
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
# For all runs of a check but one: what differs there is no matter of many examples.
settings.register_profile("few", settings.get_profile("antiloop"), max_examples=10)
# Once a week: other examples each time, and many of them.
settings.register_profile(
    "many", settings.get_profile("antiloop"), derandomize=False, max_examples=400
)
settings.load_profile("antiloop")
# Chosen by .ci/mutants: few examples, and all tests run more than once.
settings.register_profile(
    "mutants",
    settings.get_profile("antiloop"),
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)


def pytest_make_parametrize_id(val, argname):
    """Name no test after bytes: what is packed holds the time, and all workers collect the same."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_finish(session):
    """Leave the thousands of tests to no search for garbage: each would take half a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_event_loop_by_default():
    """Have no loop that nobody closes: older interpreters make one for whoever asks."""
    asyncio.set_event_loop(None)


@pytest.fixture(scope="session", autouse=True)
def _no_folders_of_the_user(tmp_path_factory):
    """Keep states of hooks, and what examples leave, out of folders where they would stay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_read_once():
    """Let all HTTP clients share a context: each would read all certificates of the system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", lru_cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """Let an interrupt arrive, here and in new processes, where who started us ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
