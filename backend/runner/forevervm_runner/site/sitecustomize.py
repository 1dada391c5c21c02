"""Python reads this when it starts (PYTHONPATH leads here): its sockets reach the outside.

Every Python that is started waits for it, so it imports as little as it can: no contextlib.
"""


def _reach(_: object) -> None:
    try:
        from forevervm_runner import socket_hooks

        socket_hooks.install()
    except Exception:
        pass


try:
    from forevervm_runner import afterimport

    afterimport.do("socket", _reach)
except Exception:
    pass
