"""A guest without a screen: the wire, and nothing between."""

from __future__ import annotations

import socket
from typing import Any

from tmux import PATIENCE

from protocol import frames
from protocol.messages import Act, Body, Hello, Join, Say


class Guest:
    """Sits at a host's first table that has a seat free, by a name that may be anything."""

    def __init__(self, port: int, name: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._id = 0
        self.view: dict[str, Any] = {}
        """The newest view."""
        self.said: list[dict[str, Any]] = []
        self.ask(Hello(versions=[1], client="guest"))
        tables = self.ask_type("tables")["tables"]
        table = next(table["table"] for table in tables if table["free"])
        self.ask(Join(table=table, name=name))

    def ask(self, body: Body) -> dict[str, Any]:
        """Sends a request and reads on till its answer, which must be a good one."""
        self._id += 1
        self._socket.sendall(frames.request_frame(self._id, body))
        return self._answer()

    def ask_type(self, kind: str) -> dict[str, Any]:
        """A request without fields."""
        self._id += 1
        self._socket.sendall(frames.frame(frames.pack({"type": kind, "id": self._id})))
        return self._answer()

    def bid(self, amount: int) -> None:
        """Bids in the step that is open now."""
        self.look()
        step = self.view["game"]["step"]
        self.ask(Act(step=step, action={"kind": "bid", "amount": str(amount)}))

    def say(self, text: str) -> None:
        self.ask(Say(text=text))

    def look(self) -> dict[str, Any]:
        """The newest view of all that the host has sent so far."""
        self.ask_type("ping")
        return self.view

    def wait_for(self, phase: str, auction: int) -> None:
        """Reads on until the game is there."""
        self.look()
        while (self.view["game"]["phase"], self.view["game"]["auction"]) != (phase, auction):
            self._read()

    def close(self) -> None:
        self._socket.close()

    def _answer(self) -> dict[str, Any]:
        while True:
            message = self._read()
            if message["type"] in ("ok", "error") and message["id"] == self._id:
                assert message["type"] == "ok", message
                result: dict[str, Any] = message["result"]
                return result

    def _read(self) -> dict[str, Any]:
        length = int.from_bytes(self._exactly(4), "big")
        message = frames.unpack(self._exactly(length))
        if message["type"] == "view":
            self.view = message
        elif message["type"] == "said":
            self.said.append(message)
        return message

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._socket.recv(count - len(found))
            assert part, "the host has closed"
            found += part
        return found
