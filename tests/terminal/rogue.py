"""A host that wishes nobody well: every text that it sends is meant for the terminal.

It deals one table of three, where the guest is seated and bids in secret.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import msgspec

from protocol import frames, qe
from protocol.messages import Options
from server.games.qe import rules, views

TITLE_CHANGE = "\x1b]0;PWNED\x07"
CLEAR = "\x1b[2J\x1b[H"
C1 = "\x9b31mred\x9d0;PWNED\x9c"
BACKWARDS = "\u202ekcab\u2066iso\u2069"
UNSEEN = "zero\u200bwidth\u00ad\ufeff"
MARKUP = "[/b][@click=app.quit]here[/]"
CONTROLS = "\n\r\t\x00\x08Z\u0301\u0301\u0301\u0301"
NASTY = f"{TITLE_CHANGE}{CLEAR}{C1}{BACKWARDS}{UNSEEN}{MARKUP}{CONTROLS}"


class Rogue:
    """Listens on the loopback until closed."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.peers: list[socket.socket] = []
        state = rules.new(3, 1, qe.Rules(first="host"), "rogue", 1)
        self._state = rules.act(state, 1, qe.Bid(amount="100"))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()
        for peer in self.peers:
            peer.close()

    def send(self, **fields: Any) -> None:
        """Sends a message to whoever came last."""
        self.peers[-1].sendall(frames.frame(frames.pack(fields)))

    def half_a_frame(self) -> None:
        """Sends the beginning of a frame and closes."""
        self.peers[-1].sendall(b"\x00\x00\x10\x00\x81\xa4type")
        self.peers[-1].shutdown(socket.SHUT_RDWR)

    def show(self, **changes: Any) -> None:
        """Shows the game, with some of its public fields changed."""
        self.send(
            type="view",
            table="WOLF",
            room=self._room(),
            game=msgspec.to_builtins(views.public(self._state)) | changes,
            you=msgspec.to_builtins(views.private(self._state, 0)),
        )

    def _room(self) -> dict[str, Any]:
        names = [f"Ana{NASTY}", f"{NASTY}Bo", f"C{NASTY}y" * 20]
        seats = [
            {"seat": n, "name": name, "kind": "human", "level": NASTY, "connected": True,
             "released": False}
            for n, name in enumerate(names)
        ]  # fmt: skip
        return {
            "title": NASTY, "game": "qe", "stage": "playing", "standing": False, "locked": False,
            "size": 3, "host": 0, "me": 0, "seats": seats, "spectators": 1,
            "options": msgspec.to_builtins(Options()), "rules": {"notes": True}, "paused": False,
            "since": 0, "deadline": None, "results": [],
        }  # fmt: skip

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listening.accept()
            except OSError:
                return
            self.peers.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer.makefile("rb") as stream:
                while header := stream.read(4):
                    request = frames.unpack(stream.read(int.from_bytes(header, "big")))
                    self._answer(request)
        except (OSError, ValueError):
            return

    def _answer(self, request: dict[str, Any]) -> None:
        id = request["id"]
        now = time.time_ns() // 1_000_000
        results: dict[str, dict[str, Any]] = {
            "hello": {
                "version": 1, "now": now,
                "host": {"id": f"h{NASTY}", "name": NASTY, "version": NASTY},
                "games": {"qe": {"seats": [3, 5], "levels": [NASTY]}},
            },
            "tables": {"tables": [
                {"table": "WOLF", "title": NASTY, "game": "qe", "stage": "lobby", "seats": 3,
                 "taken": 2, "free": 1, "bots": 0, "spectators": 0, "locked": False,
                 "standing": False},
                {"table": "LYNX", "title": NASTY, "game": NASTY, "stage": "lobby", "seats": 3,
                 "taken": 0, "free": 3, "bots": 0, "spectators": 0, "locked": False,
                 "standing": False},
                {"table": NASTY, "title": "two", "game": NASTY, "stage": "lobby", "seats": 3,
                 "taken": 0, "free": 3, "bots": 0, "spectators": 0, "locked": False,
                 "standing": False},
            ]},
            "join": {"seat": 0, "token": NASTY},
            "resume": {"seat": 0, "token": NASTY},
            "ping": {"now": now},
        }  # fmt: skip
        kind = request["type"]
        if kind in results:
            self.send(type="ok", id=id, result=results[kind])
        else:
            self.send(type="error", id=id, code="illegal", reason=NASTY, message=NASTY)
        if kind in ("join", "resume"):
            self.show()
            self.send(type="said", table="WOLF", seat=1, name=NASTY, text=NASTY, at=now)
