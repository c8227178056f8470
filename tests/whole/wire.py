"""A client of the wire, made from docs/protocol.md alone: nothing of the project is imported.

It is strict about what a host may send: every frame is a map with string keys, of a documented
type, with the documented fields and no others.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgpack

LIMIT_FROM_HOST = 1_048_576
ACT_SIZE, ACT_STEP, VIEW_SIZE = 1536, 512, 4096
PATIENCE = 15.0

FIELDS = {
    "ok": {"type", "id", "result"},
    "error": {"type", "id", "code", "reason", "message"},
    "view": {"type", "table", "room", "game", "you"},
    "said": {"type", "table", "seat", "name", "text", "at"},
    "reacted": {"type", "table", "seat", "name", "kind"},
    "ping": {"type"},
    "bye": {"type", "code", "message"},
}
RESULTS = {
    "hello": {"version", "now", "host", "games"},
    "ping": {"now"},
    "tables": {"tables"},
    "create": {"table", "seat", "token"},
    "join": {"seat", "token"},
    "resume": {"seat", "token"},
    "add_bot": {"seat"},
}
CODES = {
    "bad_message", "bad_text", "unsupported_version", "not_hello", "unknown_table",
    "wrong_password", "table_full", "name_taken", "bad_token", "not_seated", "already_seated",
    "not_host", "not_ready", "already_started", "not_over", "stale", "illegal", "rate_limited",
    "host_full", "not_saved", "internal",
}  # fmt: skip
BYES = {
    "bad_frame", "too_large", "hello_timeout", "idle", "slow", "shutting_down", "replaced",
    "removed", "table_closed", "host_full",
}  # fmt: skip


class Frame(NamedTuple):
    """A frame as it came: its bytes without the length, and its map without `pad`."""

    payload: bytes
    fields: dict[str, Any]


class RefusedError(Exception):
    """The host answered with an error."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(f"{fields['code']}: {fields['message']}")
        self.code, self.reason, self.id = fields["code"], fields["reason"], fields["id"]


class GoneError(Exception):
    """The host has closed the connection."""


def tls_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def payload_of(fields: dict[str, Any]) -> bytes:
    """A request's map, an `act` padded to 1,536 bytes or the next 512."""
    payload: bytes = msgpack.packb(fields)
    if fields["type"] != "act":
        return payload
    bare = len(msgpack.packb({**fields, "pad": bytes(256)})) - 256
    size = ACT_SIZE
    while size < bare:
        size += ACT_STEP
    payload = msgpack.packb({**fields, "pad": bytes(size - bare)})
    assert len(payload) == size
    return payload


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def entries(payload: bytes) -> dict[str, bytes]:
    """The bytes of each value of a map, by its key, in order."""
    unpacker = msgpack.Unpacker(max_buffer_size=LIMIT_FROM_HOST)
    unpacker.feed(payload)
    found = {}
    for _ in range(unpacker.read_map_header()):
        key = unpacker.unpack()
        start = unpacker.tell()
        unpacker.skip()
        assert key not in found, f"{key} comes twice"
        found[key] = payload[start : unpacker.tell()]
    assert unpacker.tell() == len(payload), "something follows the map"
    return found


class Connection:
    """One connection. What comes is sorted: answers, views, and the rest in order of arrival."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, tls: bool
    ) -> None:
        self.tls = tls
        self.frames: list[bytes] = []
        self.views: asyncio.Queue[Frame] = asyncio.Queue()
        self.said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.strays: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.bye: dict[str, Any] | None = None
        self.welcome: dict[str, Any] = {}
        self.fault: BaseException | None = None
        self.pings = 0
        self.answers_pings = True
        self._reader, self._writer = reader, writer
        self._next_id = 0
        self._asked: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._last_view: dict[str, bytes] = {}
        self._repeats = 0
        self._ended = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def open(
        cls,
        port: int,
        *,
        tls: bool,
        hello: bool = True,
        fingerprint: str | None = None,
        patience: float = PATIENCE,
    ) -> Connection:
        """Connects, checks the certificate where a fingerprint is given, and says hello."""
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=tls_context() if tls else None
            )
        if fingerprint is not None:
            shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            assert hashlib.sha256(shown).hexdigest() == fingerprint
        self = cls(reader, writer, tls=tls)
        if hello:
            self.welcome = await self.ask("hello", versions=[1], client="referee")
        return self

    # --- Asking ----------------------------------------------------------------------------------

    async def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        """The result of a request. Raises RefusedError, GoneError."""
        return await self.send(type, **fields)

    def send(self, type: str, **fields: Any) -> asyncio.Future[dict[str, Any]]:
        """Sends a request without waiting; the future is its result."""
        self._next_id += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if self.ended:
            answer.set_exception(GoneError("the connection has ended"))
            return answer
        self._asked[self._next_id] = (type, answer)
        if type in ("create", "join", "resume", "watch"):
            self._repeats += 1  # whoever comes to a table anew is shown it
        self.write(framed(payload_of({"type": type, "id": self._next_id, **fields})))
        loop = asyncio.get_running_loop()
        late = loop.call_later(PATIENCE, self._late, self._next_id)
        answer.add_done_callback(lambda _: late.cancel())
        return answer

    async def refused(self, code: str, type: str, **fields: Any) -> RefusedError:
        """Asks what must be refused with this code."""
        answer = self.send(type, **fields)
        await asyncio.wait({answer})
        outcome = answer.exception()
        assert isinstance(outcome, RefusedError), f"{type} was not refused: {outcome!r}"
        assert outcome.code == code, f"{type} was refused with {outcome}, not {code}"
        return outcome

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    def _late(self, id: int) -> None:
        kind, answer = self._asked.pop(id)
        if not answer.done():
            answer.set_exception(TimeoutError(f"no answer to {kind}"))

    # --- What comes ------------------------------------------------------------------------------

    async def view(self) -> Frame:
        """The next view."""
        frame: Frame = await self._next(self.views)
        return frame

    async def word(self) -> dict[str, Any]:
        """The next `said` or `reacted`."""
        fields: dict[str, Any] = await self._next(self.said)
        return fields

    async def stray(self) -> dict[str, Any]:
        """The next answer that belongs to no request sent by `send`."""
        fields: dict[str, Any] = await self._next(self.strays)
        return fields

    async def _next(self, queue: asyncio.Queue[Any]) -> Any:
        getting = asyncio.ensure_future(queue.get())
        ending = asyncio.ensure_future(self._ended.wait())
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait({getting, ending}, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
            raise self.fault or GoneError(f"the host has closed: {self.bye}")
        finally:
            getting.cancel()
            ending.cancel()

    async def silent(self) -> None:
        """Makes sure that nothing has been sent that was not looked at."""
        await self.ask("ping")
        assert self.views.empty(), "a view came that nothing had changed for"
        assert self.said.empty(), "something was said that nobody had said"
        assert self.strays.empty(), "an answer came that nothing had been asked for"

    async def goodbye(self, code: str | None) -> None:
        """Waits until the host has closed, having said why (None: having said nothing)."""
        async with asyncio.timeout(PATIENCE):
            await self._ended.wait()
        if self.fault is not None:
            raise self.fault
        said = None if self.bye is None else self.bye["code"]
        assert said == code, f"the host said {self.bye}, not {code}"

    def stop_reading(self) -> None:
        """From now on nothing is taken from the wire; what may still be sent is."""
        self._task.cancel()
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    async def close(self) -> None:
        """Closes from this side."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writer.transport.abort()
        if self.fault is not None:
            raise self.fault

    async def _read(self) -> None:
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(4), "big")
                assert 0 < length <= LIMIT_FROM_HOST, f"a frame of {length} bytes"
                self._sort(await self._reader.readexactly(length))
        except asyncio.IncompleteReadError as end:
            if end.partial:
                self.fault = AssertionError("half a frame, then the end")
        except OSError:
            pass
        except asyncio.CancelledError:
            raise
        except BaseException as fault:
            self.fault = fault
        finally:
            self._ended.set()
            for _, answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(self.fault or GoneError("the connection ended"))
                    answer.exception()
            self._asked.clear()

    def _sort(self, payload: bytes) -> None:
        self.frames.append(payload)
        fields = msgpack.unpackb(payload, strict_map_key=True)
        assert isinstance(fields, dict), "a frame that is no map"
        pad = fields.pop("pad", b"")
        assert isinstance(pad, bytes)
        kind = fields.get("type")
        assert kind in FIELDS, f"an unknown type: {kind}"
        assert set(fields) == FIELDS[kind], f"the fields of {kind} are {sorted(fields)}"
        assert self.bye is None, f"{kind} after bye"
        match kind:
            case "ok":
                self._granted(fields)
            case "error":
                self._refused(fields)
            case "view":
                self._check_size(payload, fields)
                self.views.put_nowait(Frame(payload, fields))
            case "said" | "reacted":
                self.said.put_nowait(fields)
            case "bye":
                assert fields["code"] in BYES, f"an unknown goodbye: {fields['code']}"
                _check_sentence(fields["message"])
                self.bye = fields
            case _:
                self.pings += 1
                if self.answers_pings:
                    self.send("ping").add_done_callback(lambda done: done.exception())

    def _granted(self, fields: dict[str, Any]) -> None:
        if fields["id"] not in self._asked:
            self.strays.put_nowait(fields)
            return
        kind, answer = self._asked.pop(fields["id"])
        result = fields["result"]
        wanted = RESULTS.get(kind, set())
        assert set(result) == wanted, f"the result of {kind} has {sorted(result)}"
        if not answer.done():
            answer.set_result(result)

    def _refused(self, fields: dict[str, Any]) -> None:
        assert fields["code"] in CODES, f"an unknown code: {fields['code']}"
        assert isinstance(fields["reason"], str)
        assert fields["reason"]
        _check_sentence(fields["message"])
        if fields["id"] in self._asked:
            _, answer = self._asked.pop(fields["id"])
            if not answer.done():
                answer.set_exception(RefusedError(fields))
        else:
            self.strays.put_nowait(fields)

    def _check_size(self, payload: bytes, fields: dict[str, Any]) -> None:
        """A seat's view is padded where TLS is spoken; no view comes twice running."""
        if self.tls and fields["room"]["me"] is not None:
            assert len(payload) % VIEW_SIZE == 0, f"a seat's view of {len(payload)} bytes"
        values = entries(payload)
        assert list(values)[-1] == "pad" or "pad" not in values, "the padding is not at the end"
        values.pop("pad", None)
        if values == self._last_view:
            assert self._repeats > 0, "the same view came twice"
            self._repeats -= 1
        self._last_view = values


async def until(true: Callable[[], bool | Awaitable[bool]]) -> None:
    """Waits for what no frame tells of."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = true()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.005)


def _check_sentence(text: object) -> None:
    assert isinstance(text, str)
    assert text.endswith((".", "?")), f"no sentence: {text!r}"
    assert text[0].isupper()
    assert text.isprintable()
