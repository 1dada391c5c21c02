"""Calls that are cancelled through the official Python SDK's client.

Arguments: a mode of the client, and where the server is: URL TOKEN, or PROGRAM HOME.
"""

import sys
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

FOR_LONG = "print('begun', flush=True)\nimport time; time.sleep(600)"


async def main(mode: str, where: str, secret: str) -> None:
    """Cancels a call that runs, and looks what became of its code."""
    server: Any = StdioServerParameters(command=where, args=["mcp", "--home", secret])
    if where.startswith("http"):
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=60)
        server = streamable_http_client(f"{where}/mcp", http_client=http)
    async with Client(server, mode=mode) as client:
        print(client.session.protocol_version)
        made = await client.call_tool("create-python-repl")
        repl = made.content[0].text
        with anyio.CancelScope() as scope:

            async def begun(progress: float, total: float | None, message: str | None) -> None:
                if "begun" in (message or ""):
                    scope.cancel()

            arguments = {"replId": repl, "pythonCode": FOR_LONG}
            await client.call_tool("run-python-in-repl", arguments, progress_callback=begun)
        assert scope.cancelled_caught, "the call was answered"
        arguments = {"replId": repl, "pythonCode": "6 * 7"}
        with anyio.fail_after(30):
            after = await client.call_tool("run-python-in-repl", arguments)
        assert after.content[0].text == "42", after
        cancelled = await client.call_tool("read-output", {"replId": repl, "step": 1})
        assert "KeyboardInterrupt" in cancelled.content[0].text, cancelled
    print("fine")


anyio.run(main, *sys.argv[1:])
