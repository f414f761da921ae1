"""What the tests of the kernels share."""

import pytest

from chebact import kernels


@pytest.fixture
def left_alone(monkeypatch):
    """The choice is automatic, no kernel has failed and nothing has been said yet; nothing of it stays."""
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    monkeypatch.setattr(kernels.selection, "_warned", set())
    monkeypatch.setattr(kernels.selection, "_failed", set())
    kernels.selection._choose.cache_clear()
    kernels.fast_path._plans.clear()
    yield
    kernels.selection._choose.cache_clear()
    kernels.fast_path._plans.clear()
