"""Being here puts this folder on the import path of the tests: `from models import build`."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
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


@pytest.fixture(scope="session")
def compiled_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a small network, which tests only read."""
    import onnx
    from guard_programs import network
    from tilec.tools.tile_compile import main

    folder = tmp_path_factory.mktemp("network")
    onnx.save(network(), folder / "net.onnx")
    assert main([str(folder / "net.onnx"), "-q", "-o", str(folder / "out")]) == 0
    return folder / "out"
