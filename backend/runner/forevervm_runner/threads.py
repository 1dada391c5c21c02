"""The runner's own threads."""

import signal
import threading
from collections.abc import Callable

STACK_BYTES = 512 << 10


def start(serve: Callable[[], None]) -> None:
    """Runs `serve` in a thread. Signals are for the main thread, where Python handles them."""

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        serve()

    threading.stack_size(STACK_BYTES)
    threading.Thread(target=run, name="forevervm", daemon=True).start()
    threading.stack_size(0)
