"""The official MCP client of Python against `bub-wasm mcp serve` (PROGRAM) and `/mcp` of `serve` (BASE, TOKEN)."""

import os

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult


async def accept(context, params):
    assert "write `by-python.txt`" in params.message, params
    return ElicitResult(action="accept", content={"decision": "once"})


async def speak(client, asks):
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert "fs_read" in names and "run_turn" in names, names
    result = await client.call_tool("fs_read", {"path": "notes.txt"})
    assert not result.is_error and "two" in result.content[0].text, result
    result = await client.call_tool("fs_read", {"path": "absent.txt"})
    assert result.is_error and "absent.txt" in result.content[0].text, result
    try:
        result = await client.call_tool("no_such_tool", {})
        raise AssertionError(result)
    except MCPError as error:
        assert "no_such_tool" in str(error), error
    if asks:
        result = await client.call_tool("fs_write", {"path": "by-python.txt", "content": "x"})
        assert not result.is_error, result
    heard = []

    async def progress(progress, total, message):
        heard.append((progress, message))

    result = await client.call_tool("run_turn", {"message": "hello"}, progress_callback=progress)
    assert not result.is_error and result.content[0].text == "good morning", result
    assert heard and all(isinstance(progress, (int, float)) for progress, _ in heard), heard
    with anyio.move_on_after(1) as scope:
        await client.call_tool("run_turn", {"message": "slowly"})
    assert scope.cancelled_caught
    # The session is free again.
    result = await client.call_tool("fs_read", {"path": "notes.txt"})
    assert not result.is_error, result
    listed = (await client.list_resources()).resources
    assert listed and str(listed[0].uri).startswith("bub://sessions/"), listed
    read = await client.read_resource(str(listed[0].uri))
    assert '"kind"' in read.contents[0].text, read
    templates = (await client.list_resource_templates()).resource_templates
    assert templates[0].uri_template.startswith("bub://sessions/"), templates


async def main():
    local = StdioServerParameters(command=os.environ["PROGRAM"])
    for mode in ["legacy", "auto"]:
        with_answers = mode == "legacy"
        async with Client(local, mode=mode, elicitation_callback=accept if with_answers else None) as client:
            await speak(client, asks=with_answers)
            print("stdio", mode, client.protocol_version)
        headers = {"Authorization": "Bearer " + os.environ["TOKEN"]}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(os.environ["BASE"] + "/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                await speak(client, asks=False)
                print("http", mode, client.protocol_version)


anyio.run(main)
print("python is content")
