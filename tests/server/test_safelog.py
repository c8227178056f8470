"""A log tells where something failed, never with what."""

from __future__ import annotations

import asyncio
import logging

from server.safelog import loop_handler, where

SECRET = "31415926535"


def failing(amount: str) -> None:
    raise ValueError(f"{amount} is too much")


def test_where_names_type_and_place_only() -> None:
    try:
        failing(SECRET)
    except ValueError as error:
        shown = where(error)
    assert shown.startswith("ValueError at test_safelog.py:")
    assert shown.endswith(" failing")
    assert SECRET not in shown
    assert "/" not in shown
    assert where(KeyError(SECRET)) == "KeyError at an unknown place"


async def test_what_the_event_loop_catches_is_told_without_its_words(caplog):
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(loop_handler)
    with caplog.at_level(logging.DEBUG):
        loop.call_soon(failing, SECRET)
        loop.call_exception_handler({"message": f"no bid of {SECRET}"})
        await asyncio.sleep(0.01)
    assert "ValueError at" in caplog.text
    assert SECRET not in caplog.text
