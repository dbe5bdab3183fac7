"""Made-up inputs may take their time: how fast they are made says nothing about the product on a busy machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("busy-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy-machine")
