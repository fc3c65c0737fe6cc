"""What all tests share: a machine that is slow is no reason for a property test to fail."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "antiloop", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("antiloop")
