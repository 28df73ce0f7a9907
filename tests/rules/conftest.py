"""Settings of the property tests: bounded, repeatable, without a clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rules",
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rules")
