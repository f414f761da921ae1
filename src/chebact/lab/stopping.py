"""Signals that stop a command: Ctrl-C, `kill`, or the end of its terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

__all__ = ["Stopped", "stop_by_exception"]

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE = 2.0  # seconds in which a repeated signal is ignored; `timeout` sends each one twice


class Stopped(KeyboardInterrupt):
    """A signal asks the process to end; `code` is the exit code that shells give to such an end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.code = 128 + number


@contextlib.contextmanager
def stop_by_exception() -> Iterator[None]:
    """Within this context a signal to stop raises `Stopped` in the main thread, so that everything is cleaned up.

    A second one, `PATIENCE` seconds later or more, ends the process at once. Signals that the process ignored when it
    started (by `nohup`, say) stay ignored. Outside the main thread, where Python allows no handlers, nothing changes.

    >>> with contextlib.suppress(Stopped), stop_by_exception():
    ...     signal.raise_signal(signal.SIGTERM)
    """
    first: list[float] = []

    def handle(number: int, _: FrameType | None) -> None:
        if not first:
            first.append(time.monotonic())
            raise Stopped(number)
        if time.monotonic() - first[0] > PATIENCE:
            os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        for number, handler in before.items():
            if handler not in (signal.SIG_IGN, None):
                signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
