"""What all tests share: a machine that is slow is no reason for a property test to fail."""

import asyncio

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "antiloop", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("antiloop")


@pytest.fixture(scope="session", autouse=True)
def _no_event_loop_by_default():
    """Have no loop that nobody closes: older interpreters make one for whoever asks."""
    asyncio.set_event_loop(None)
