"""Questions to the person, through the official Python SDK's client.

Arguments: a mode of the client, and where the server is: URL TOKEN, or PROGRAM HOME. Machines ask
before they reach a new host.
"""

import sys
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

REACH = """import urllib.request
for _ in range(2):
    try:
        urllib.request.urlopen("http://{host}/", timeout=60)
    except urllib.error.HTTPError as refusal:
        print(refusal.read().decode())
"""


async def main(mode: str, where: str, secret: str) -> None:
    """Has the server ask, and answers in each way."""
    server: Any = StdioServerParameters(command=where, args=["mcp", "--home", secret])
    if where.startswith("http"):
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=90)
        server = streamable_http_client(f"{where}/mcp", http_client=http)
    asked: list[str] = []
    answers: list[ElicitResult] = []

    async def person(_: Any, question: Any) -> ElicitResult:
        asked.append(question.message)
        return answers.pop(0)

    async with Client(server, mode=mode, elicitation_callback=person) as client:
        print(client.session.protocol_version)

        async def call(tool: str, arguments: dict[str, Any], *given: ElicitResult) -> str:
            """What a call answers. All that is given is asked for, and no more."""
            asked.clear()
            answers[:] = given
            result = await client.call_tool(tool, arguments)
            assert len(asked) == len(given), (tool, asked, result)
            return result.content[0].text

        yes, no = ElicitResult(action="accept", content={}), ElicitResult(action="decline")

        # More memory than usual.
        refused = await call("create-python-repl", {"memoryMb": 3072}, no)
        assert "The user did not allow it" in refused and "3 GB" in asked[0], (refused, asked)
        repl = await call("create-python-repl", {"memoryMb": 3072}, yes)
        assert await call("run-python-in-repl", {"replId": repl, "pythonCode": "x = 1; x"}) == "1"

        # Going back, over little and over a lot of work.
        made = await call("checkpoint-python-repl", {"replId": repl})
        to = {"replId": repl, "checkpointId": made.split()[3].rstrip(".")}
        await call("run-python-in-repl", {"replId": repl, "pythonCode": "x += 1"})
        assert "is as it was" in await call("rewind-python-repl", to)
        for _ in range(11):
            await call("run-python-in-repl", {"replId": repl, "pythonCode": "x += 1"})
        refused = await call("rewind-python-repl", to, ElicitResult(action="cancel"))
        assert "fork" in refused and "undoes 11 steps" in asked[0], (refused, asked)
        left = await call("rewind-python-repl", to, yes)
        assert "is as it was" in left, left
        first = {"replId": repl, "checkpointId": left.split('"')[-2]}
        for _ in range(11):
            await call("run-python-in-repl", {"replId": repl, "pythonCode": "x += 1"})
        # To another branch and back: its steps came later, and those of the present one go.
        left = await call("rewind-python-repl", first, yes)
        second = {"replId": repl, "checkpointId": left.split('"')[-2]}
        await call("rewind-python-repl", second, no)
        assert "undoes 11 steps" in asked[0], asked
        assert "is as it was" in await call("rewind-python-repl", to, yes)
        assert await call("run-python-in-repl", {"replId": repl, "pythonCode": "x"}) == "1"

        # A new host. The answer holds for the second connection, too.
        code = {"replId": repl, "pythonCode": REACH.format(host="one.invalid")}
        said = await call("run-python-in-repl", code, no)
        assert "wants to reach one.invalid (port 80)" in asked[0], asked
        assert "denied" in said, said
        once = ElicitResult(action="accept", content={"allow": "For this step"})
        code = {"replId": repl, "pythonCode": REACH.format(host="two.invalid")}
        said = await call("run-python-in-repl", code, once)
        assert "denied" not in said and said, said
        always = ElicitResult(action="accept", content={"allow": "Always, for this machine"})
        await call("run-python-in-repl", code, always)
        await call("run-python-in-repl", code)
    print("fine")


anyio.run(main, *sys.argv[1:])
