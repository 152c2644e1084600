"""The server: the tools and resources over the protocol, on stdio or streamable HTTP.

The package's lower-level `Server` is used, not `MCPServer`: what a bank holds is only known when
somebody asks, so its resources cannot be registered beforehand, and a bad argument is answered
in our words, with a hint, rather than in those of a validation library.
"""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread
import mcp_types as mcp
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

import recollect
from recollect.discretion import told
from recollect.errors import InvalidInput, RecollectError
from recollect.mcp import resources
from recollect.mcp.answers import Answer
from recollect.mcp.arguments import Arguments, checked, schema_of
from recollect.mcp.conversation import Conversation, Conversations, Conversing, Meeting
from recollect.mcp.garbled import pass_on
from recollect.mcp.progress import stage_events
from recollect.mcp.tools import BY_NAME, CONVERSATION, INSTRUCTIONS, TOOLS, Tool
from recollect.mcp.verbs import Call, warm
from recollect.memory import check_bank_name
from recollect.telemetry import OnEvent

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

    from recollect.mcp.verbs import Memories
    from recollect.memory import Recollect

    # A store or a server, or what opens it when it is first needed, and is asked again when that
    # failed: an agent is told by a tool's answer why its memory is not there, not by a server that
    # did not start.
    Opened = Memories | Callable[[], Memories]

logger = logging.getLogger("recollect.mcp")

Allow = Callable[["Request", str, Literal["read", "write"]], bool]
"""May this HTTP request read, or write, that bank? A bank it may not read does not exist for it."""

Failed = Callable[["Request", Exception], None]
"""Told that a tool failed: it is answered with a result, and HTTP says 200."""

Context = ServerRequestContext[Any, Any]
_SESSION = "mcp-session-id"


class Face:
    """The handlers of one server: which store, which default bank, whose conversation."""

    def __init__(
        self,
        memory: Opened,
        bank: str,
        *,
        allow: Allow | None = None,
        failed: Failed | None = None,
        http: Meeting | None = None,
    ) -> None:
        check_bank_name(bank)
        self._memory = memory
        self._bank = bank
        self._allow = allow
        self._failed = failed
        self._http = http  # where conversations are held there
        self._only = Conversation()  # a process on stdio serves one conversation

    # --- tools -------------------------------------------------------------------------------

    async def list_tools(self, ctx: Context, params: Any) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=[self._described(tool) for tool in TOOLS])

    def _described(self, tool: Tool) -> mcp.Tool:
        return mcp.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.says,
            input_schema=schema_of(self.arguments(tool)),
            output_schema=dict(tool.gives),
            annotations=mcp.ToolAnnotations(
                read_only_hint=tool.reads,
                destructive_hint=tool.destroys,
                idempotent_hint=tool.idempotent,
                open_world_hint=False,
            ),
        )

    def arguments(self, tool: Tool) -> Arguments:
        takes_name = self._http is not None and tool.name in ("recall", "load_memory")
        return {**tool.arguments, "conversation": CONVERSATION} if takes_name else tool.arguments

    async def call_tool(
        self, ctx: Context, params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult:
        try:
            answer = await self._answer(ctx, params.name, params.arguments or {})
        except RecollectError as error:
            self._note(ctx, error)
            return _failed(self._said(error))
        except Exception as error:  # the agent is told, and the server lives on
            self._note(ctx, error)
            logger.exception("the tool %s failed", params.name)
            return _failed(
                f"{params.name} failed unexpectedly\n\nhint: the server's log (stderr) says why"
            )
        return mcp.CallToolResult(
            content=[_text(answer.text)], structured_content=answer.structured
        )

    def _note(self, ctx: Context, error: Exception) -> None:
        request: Any = ctx.request
        if self._failed is not None:
            self._failed(request, error)

    def _said(self, error: RecollectError) -> str:
        """The error in words. Agents on other machines are not told where things are kept."""
        if self._http is None:
            return str(error)
        logger.warning("%s", error.message)
        return "{}\n\nhint: {}".format(*told(error))

    async def _answer(self, ctx: Context, name: str, given: dict[str, Any]) -> Answer:
        tool = BY_NAME.get(name)
        if tool is None:
            raise InvalidInput(f"there is no tool {name!r}", hint="tools: " + ", ".join(BY_NAME))
        arguments = checked(name, self.arguments(tool), given)
        named = arguments.pop("conversation", None) or self._session(ctx)
        # Without a session the answer carries a name to come back with.
        minted = None if named or self._http is None or name != "recall" else secrets.token_hex(3)
        async with stage_events(ctx) as on_event:
            answer = await _in_thread(
                lambda: tool.run(self._call(ctx, named or minted, on_event), arguments)
            )
        return answer if minted is None else _to_come_back(answer, minted)

    def _call(
        self, ctx: Context, conversation: str | None, on_event: OnEvent | None = None
    ) -> Call:
        """Called on a worker thread, because the store may have to be opened."""
        memory = self._memory() if callable(self._memory) else self._memory
        held = self._conversation(ctx, conversation)
        if self._allow is None:
            return Call(memory, self._bank, held, on_event=on_event)
        request: Any = ctx.request
        return Call(memory, self._bank, held, partial(self._allow, request), on_event)

    def _conversation(self, ctx: Context, name: str | None) -> Conversing:
        """On HTTP by name: the session's, or one that a call gives. The credentials are part of
        the key, so that nobody meets another's conversation."""
        if self._http is None:
            return self._only
        if name is None:
            return Conversation()
        who = _headers(ctx).get("authorization", "").encode()
        return self._http.of((blake2b(who, digest_size=16).digest(), name))

    def _session(self, ctx: Context) -> str | None:
        return _headers(ctx).get(_SESSION) if self._http is not None else None

    # --- resources ---------------------------------------------------------------------------

    async def list_resources(self, ctx: Context, params: Any) -> mcp.ListResourcesResult:
        session = self._session(ctx)
        try:
            listed = await _in_thread(lambda: list(resources.listing(self._call(ctx, session))))
        except RecollectError as error:
            raise MCPError(INTERNAL_ERROR, self._said(error)) from error
        return mcp.ListResourcesResult(
            resources=[
                mcp.Resource(uri=r.uri, name=r.name, description=r.says, mime_type=r.mime)
                for r in listed
            ]
        )

    async def list_templates(self, ctx: Context, params: Any) -> mcp.ListResourceTemplatesResult:
        return mcp.ListResourceTemplatesResult(
            resource_templates=[
                mcp.ResourceTemplate(
                    uri_template=t.uri, name=t.name, description=t.says, mime_type=t.mime
                )
                for t in resources.TEMPLATES
            ]
        )

    async def read_resource(
        self, ctx: Context, params: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult:
        session = self._session(ctx)
        try:
            mime, text = await _in_thread(
                lambda: resources.read(self._call(ctx, session), params.uri)
            )
        except RecollectError as error:
            raise MCPError(INVALID_PARAMS, self._said(error), {"uri": params.uri}) from error
        contents = mcp.TextResourceContents(uri=params.uri, mime_type=mime, text=text)
        return mcp.ReadResourceResult(contents=[contents])


def make_server(
    memory: Opened,
    *,
    bank: str = "default",
    allow: Allow | None = None,
    failed: Failed | None = None,
    http: Meeting | None = None,
) -> Server[Any]:
    """The tools and resources of a store as an MCP server that no transport carries yet."""
    face = Face(memory, bank, allow=allow, failed=failed, http=http)
    return Server(
        "recollect",
        version=recollect.__version__,
        title="recollect",
        description="A long-term memory for agents",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: (
            schema_of(BY_NAME[name].arguments) if name in BY_NAME else None
        ),
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_list_resources=face.list_resources,
        on_list_resource_templates=face.list_templates,
        on_read_resource=face.read_resource,
    )


def http_app(
    memory: Recollect,
    *,
    bank: str = "default",
    allow: Allow | None = None,
    failed: Failed | None = None,
    path: str = "/",
    hosts: list[str] | None = None,
    conversations: Meeting | None = None,
) -> Starlette:
    """An ASGI application that speaks streamable HTTP at `path`, to be mounted at `/mcp`.

    `memory` stays yours to close. `bank` is the default; `allow(request, bank, "read" | "write")`
    decides for each request what it may see (credentials are yours to check, as middleware
    before the mount or in `allow`); `failed(request, error)` hears of a tool that failed, whose answer
    is a success to HTTP. Requests with a Host other than loopback are refused, which
    keeps web pages from reaching a local server by DNS rebinding; `hosts` names those to accept
    instead, `["*"]` all.

    A mounted application's lifespan is not run by its parent, and this one has a session
    manager to start, so the parent's lifespan enters it:

        mcp = http_app(memory)

        @asynccontextmanager
        async def lifespan(app):
            async with mcp.router.lifespan_context(mcp):
                yield

        app = FastAPI(lifespan=lifespan)
        app.mount("/mcp", mcp)

    Where several processes serve one address, `conversations` is what they share
    (`recollect.mcp.together`): then no session is kept, since each call may reach another of them.

    An application is used once: make a new one to start again. Sessions are apart from each other: each
    remembers only what itself was given, and they end after half an hour unused. In the protocol
    revision without sessions the first recall's answer carries a name for the conversation, and
    later calls give it back. `allow` is called on a worker thread of anyio's: one that must await
    something can do so with `anyio.from_thread.run`.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    meeting = conversations or Conversations()
    server = make_server(memory, bank=bank, allow=allow, failed=failed, http=meeting)
    security = None  # the package's own: loopback only
    if hosts is not None:
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection="*" not in hosts,
            allowed_hosts=hosts,
            allowed_origins=[f"{s}://{host}" for host in hosts for s in ("http", "https")],
        )
    return server.streamable_http_app(
        streamable_http_path=path,
        transport_security=security,
        stateless_http=conversations is not None,
    )


def serve_stdio(memory: Opened, *, bank: str = "default") -> None:
    """Serve one client on stdin and stdout until it closes them. Talk goes to stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    server = make_server(memory, bank=bank)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            tasks.start_soon(_warm, memory, bank)
            heard, understood = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.start_soon(pass_on, incoming, heard, outgoing)
            await server.run(understood, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)


async def _warm(memory: Opened, bank: str) -> None:
    """Meanwhile the client reads what tools there are."""
    try:
        await _in_thread(lambda: warm(memory() if callable(memory) else memory, bank))
    except RecollectError as error:
        logger.warning("%s", error)  # and the first recall will say so, too


# --- small parts -----------------------------------------------------------------------------


async def _in_thread(work: Callable[[], Any]) -> Any:
    # A call that is cancelled is not waited for; what it was writing is still written whole.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _headers(ctx: Context) -> Mapping[str, str]:
    return getattr(ctx.request, "headers", {})


def _to_come_back(answer: Answer, conversation: str) -> Answer:
    note = f"Give conversation={conversation!r} in later calls, so that nothing is repeated."
    return Answer(f"{answer.text}\n{note}", {**answer.structured, "conversation": conversation})


def _text(text: str) -> mcp.TextContent:
    return mcp.TextContent(type="text", text=text)


def _failed(text: str) -> mcp.CallToolResult:
    return mcp.CallToolResult(content=[_text(text)], is_error=True)
