"""What somebody writes today with the published Python SDK.

Exits with an error when anything is not as expected.
"""

import asyncio
import os
import sys
import threading

from forevervm_sdk import ForeverVM

base, token = os.environ["FOREVERVM_API_BASE"], os.environ["FOREVERVM_TOKEN"]
fvm = ForeverVM(token=token, base_url=base)

assert fvm.whoami()["account"]


def settle():
    """Wait for what a REPL leaves behind.

    The SDK's library leaves a thread that still reads from the socket that it has closed. Where the
    next connection gets that socket's number, the thread takes bytes of its TLS.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(60)


# REST: create, list, run, result
name = fvm.create_machine(tags={"who": sys.argv[1]}, memory_mb=512)["machine_name"]
listed = next(m for m in fvm.list_machines()["machines"] if m["name"] == name)
assert listed["tags"] == {"who": sys.argv[1]}, listed
assert listed["has_pending_instructions"] is False and listed["expires_at"] is None, listed

run = fvm.exec("x = 40\nx + 2", machine_name=name)
assert run["machine"] == name and run["instruction_seq"] == 0 and run["interrupted"] is False, run
result = fvm.exec_result(name, run["instruction_seq"])["result"]
assert result["value"] == "42" and result.get("data") is None and "error" not in result, result

run = fvm.exec("1/0", machine_name=name)
result = fvm.exec_result(name, run["instruction_seq"])["result"]
assert "ZeroDivisionError" in result["error"] and "value" not in result, result

run = fvm.exec("while True: pass", machine_name=name, timeout_seconds=1)
result = fvm.exec_result(name, run["instruction_seq"])["result"]
assert "Timed out" in result["error"], result

run = fvm.exec("import time; time.sleep(600)", machine_name=name, timeout_seconds=1000)
nxt = fvm.exec("x", machine_name=name, interrupt=True)
assert nxt["interrupted"] is True, nxt
error = fvm.exec_result(name, run["instruction_seq"])["result"]["error"]
# On a busy computer it may not have begun yet.
assert "KeyboardInterrupt" in error or "Cancelled" in error, error
assert fvm.exec_result(name, nxt["instruction_seq"])["result"]["value"] == "40"

# the REPL over a WebSocket
with fvm.repl(name) as repl:
    running = repl.exec("for i in range(10): print(i)\n'done'")
    assert [c["data"] for c in running.output] == [str(i) for i in range(10)]
    assert running.result["value"] == "'done'", running.result
    running = repl.exec("import sys; print('é😀'); print('low', file=sys.stderr)")
    # Order is kept within a stream, not between the two.
    assert sorted((c["stream"], c["data"]) for c in running.output) == [
        ("stderr", "low"),
        ("stdout", "é😀"),
    ]
    assert running.result["value"] is None
    assert repl.exec("x").result["value"] == "40"  # the state that REST left

settle()

with fvm.repl() as repl:  # a new machine
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()"
    result = repl.exec(plot).result
    import base64

    assert base64.b64decode(result["data"]["png"]).startswith(b"\x89PNG"), result

settle()


async def asynchronous():
    run = await fvm.exec_async("'async'")
    result = await fvm.exec_result_async(run["machine"], run["instruction_seq"])
    assert result["result"]["value"] == "'async'"


asyncio.run(asynchronous())
print("fine")
