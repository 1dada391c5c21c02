"""One round of the comparison on Jupyter's side: jupyter_client starts an ipykernel.

Reads the pieces of code as JSON on standard input, prints one JSON object: {measure: seconds}.
"""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel

measures = json.load(sys.stdin)


class Session:
    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def run(self, code):
        """Runs code, takes in all it puts out, returns the last rich result."""
        result = None

        def hook(message):
            nonlocal result
            if message["msg_type"] in ("execute_result", "display_data"):
                result = message["content"]["data"]

        reply = self.client.execute_interactive(
            code, store_history=False, timeout=60, output_hook=hook
        )
        assert reply["content"]["status"] == "ok", reply
        return result


record = {}
session = None
for measure in measures:
    start = time.perf_counter()
    if session is None:
        session = Session()
    session.run(measure["code"])
    times = [time.perf_counter() - start]
    for _ in range(measure["repeat"] - 1):
        start = time.perf_counter()
        session.run(measure["code"])
        times.append(time.perf_counter() - start)
    record[measure["name"]] = sorted(times)[len(times) // 2]

assert session, "no measure was asked for"
session.client.stop_channels()
session.manager.shutdown_kernel(now=True)
print(json.dumps(record))
