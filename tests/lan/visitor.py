"""A client without a screen: goes to a host, takes or resumes a seat, and prints what it finds.

visitor.py HOME ADDRESS look|join|resume [NAME]        prints a JSON object
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from protocol.errors import FingerprintChanged, QEError
from protocol.invitation import parse
from protocol.messages import Join, Resume, TableList, Tables, View, decode_result
from protocol.stay import Stay
from protocol.tokens import Wallet
from protocol.trust import Pins


async def visit(home: Path, address: str, do: str, name: str) -> dict[str, Any]:
    where = parse(address)
    wallet = Wallet(home / "tokens")
    stay = Stay(
        where.address, where.port, tls=where.tls, pins=Pins(home / "pins.json"), wallet=wallet,
        fingerprint=where.fingerprint, timeout=5,
    )  # fmt: skip
    try:
        host = (await stay.open()).host
        found: dict[str, Any] = {"id": host.id, "name": host.name, "fp": stay.fingerprint}
        tables = decode_result(await stay.ask(Tables()), TableList).tables
        found["tables"] = [table.table for table in tables]
        table = where.table or tables[0].table
        if do == "join":
            found.update(await stay.ask(Join(table=table, name=name)))
        elif do == "resume":
            token = stay.saved(table, name)
            assert token is not None, "no token is kept"
            found.update(await stay.ask(Resume(table=table, token=token)))
        if do != "look":
            async for event in stay.events():
                if isinstance(event, View):
                    found["game"] = msgspec.msgpack.decode(msgspec.msgpack.encode(event.game))
                    found["you"] = msgspec.msgpack.decode(msgspec.msgpack.encode(event.you))
                    break
        found.pop("token", None)
        return found
    except FingerprintChanged as error:
        return {"changed": str(error)}
    except QEError as error:
        return {"error": str(error)}
    finally:
        await stay.close()


if __name__ == "__main__":
    home, address, do, *name = sys.argv[1:]
    print(json.dumps(asyncio.run(visit(Path(home), address, do, *(name or [""])))))
