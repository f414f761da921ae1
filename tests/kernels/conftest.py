"""What the tests of the kernels share."""

import pytest

from chebact import kernels


@pytest.fixture
def left_alone(monkeypatch):
    """The choice is automatic, no kernel has failed and nothing has been said yet; nothing of it stays."""
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    monkeypatch.setattr(kernels, "_said", set())
    monkeypatch.setattr(kernels, "_failed", set())
    kernels._chosen.cache_clear()
    kernels._plans.clear()
    yield
    kernels._chosen.cache_clear()
    kernels._plans.clear()
