"""Being here puts this folder on the import path of the tests: `from models import build`."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# Whether a machine is busy with something else says nothing about the code.
settings.register_profile("tile", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tile")


def pytest_configure() -> None:
    """Takes signals that whoever started the tests ignores (`nohup`, a job in the background) as usual again, so that
    the tests of what tools do on a signal mean the same everywhere."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)
