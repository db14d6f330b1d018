"""An MCP server that answers each mistake of a client with one line (extra `mcp`).

The library answers wrong arguments with the text of its validation, over several lines, and a request that it cannot
decode not at all, so that the client waits for ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from codeguard.errors import MissingExtraError
from codeguard.escaping import escaped

try:
    import anyio
    from mcp import MCPError
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from mcp.types import INVALID_PARAMS, CallToolResult, ErrorData, JSONRPCError, TextContent
    from pydantic import ValidationError
except ImportError as error:
    raise MissingExtraError("the mcp package (2 or newer) is not installed", extra="mcp") from error

LONGEST_SHOWN = 200  # characters of an argument in an error
ONCE = "The answer is the structured content."
_SURROGATE = (
    "the request holds half of a surrogate pair (\\ud800 to \\udfff), expected Unicode text; "
    "send it again without it"
)


class AnsweringServer(MCPServer[Any]):
    """An MCP server whose errors about a request are one line: what, got, expected, and what to do."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; raise ToolError with one line for an unknown tool or wrong arguments."""
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            raise ToolError(f"no such tool, got {_shown(name)}, expected one of {', '.join(sorted(tools))}")
        schema = tools[name].input_schema
        for unknown in sorted(arguments.keys() - schema.get("properties", {}).keys()):
            # The library drops what it does not know, and a mistyped `k` would go unnoticed.
            raise ToolError(f"{name}: no such argument, got {_shown(unknown)}; it takes {_takes(schema)}")
        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {_said(error.__cause__, schema)}") from error
            raise
        if not isinstance(result, CallToolResult) or result.structured_content is None:
            return result
        # The library gives everything a second time as text, which doubles what a model has to read.
        return result.model_copy(update={"content": [TextContent(type="text", text=ONCE)]})

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> Any:
        """Return a prompt; raise MCPError with one line for an unknown one, or an unknown or missing argument."""
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            line = f"no such prompt, got {_shown(name)}, expected one of {', '.join(sorted(prompts))}"
            raise MCPError(INVALID_PARAMS, line)
        known = {item.name for item in prompts[name].arguments or []}
        for unknown in sorted((arguments or {}).keys() - known):
            line = f"{name}: no such argument, got {_shown(unknown)}; it takes {', '.join(sorted(known))}"
            raise MCPError(INVALID_PARAMS, line)
        for item in prompts[name].arguments or []:
            if item.required and item.name not in (arguments or {}):
                raise MCPError(INVALID_PARAMS, f"{name}: `{item.name}`, got nothing, expected text; add it")
        return await super().get_prompt(name, arguments, context)

    async def run_stdio_async(self) -> None:
        """Serve stdin and stdout; a request that cannot be decoded is answered with an error."""
        async with stdio_server() as (read, write):
            server = self._lowlevel_server  # the library offers no other way to put something in between
            await server.run(_Answering(read, write), write, server.create_initialization_options())


class _Answering:
    """A stream of requests that answers the undecodable ones itself."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read, self._write = read, write

    @property
    def last_context(self) -> Any:
        """The sender's context variables, which the library looks for here."""
        return self._read.last_context

    async def receive(self) -> Any:
        item = await self._read.receive()
        answer = _refusal(item) if isinstance(item, ValidationError) else None
        if answer is not None:
            await self._write.send(SessionMessage(answer))
        return item  # what was not decoded is left to the library, which records it

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._read.aclose()

    async def __aenter__(self) -> Self:
        await self._read.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        stopped: bool | None = await self._read.__aexit__(kind, value, trace)
        return stopped


def _refusal(error: ValidationError) -> JSONRPCError | None:
    """Return the answer to a request that the library cannot decode, None if nobody waits for one."""
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return None
    try:
        request = json.loads(first["input"])  # which takes what the library refuses
        number = request["id"] if "method" in request else None
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    if not isinstance(number, int | str) or isinstance(number, bool) or not _encodes(str(number)):
        return None
    said = (
        "the request cannot be decoded" if _encodes(json.dumps(request, ensure_ascii=False)) else _SURROGATE
    )
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=INVALID_PARAMS, message=said))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _said(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """Return the first thing that is wrong with the arguments, and what the tool takes."""
    properties = schema.get("properties", {})
    first = error.errors(include_url=False, include_context=False)[0]
    argument = str(first["loc"][0]) if first["loc"] else "arguments"
    kind = properties.get(argument, {}).get("type", "another value")
    got = "nothing" if first["type"] == "missing" else f"{_shown(first['input'])} ({_kind(first['input'])})"
    return f"`{argument}`, got {got}, expected {kind}; it takes {_takes(schema)}"


def _takes(schema: Mapping[str, Any]) -> str:
    """Return the arguments of a tool with their types."""
    required = schema.get("required", ())
    return ", ".join(
        f"{name} ({item.get('type', 'any')}{'' if name in required else ', may be left out'})"
        for name, item in schema.get("properties", {}).items()
    )


def _kind(value: Any) -> str:
    """Return the JSON type of a value."""
    kinds: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else kinds.get(type(value), "object")


def _shown(value: Any) -> str:
    text = repr(value[:LONGEST_SHOWN]) if isinstance(value, str) else repr(value)
    return escaped(text[:LONGEST_SHOWN])
