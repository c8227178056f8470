"""Who gets in: seat tokens, table passwords, and how often one may be wrong or loud."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

MOST_KNOWN = 10_000
"""Passwords that are known to be right, which cost no slow hash."""


def new_token() -> str:
    """A seat's token: 128 random bits, in hex."""
    return secrets.token_hex(16)


def token_hash(token: str) -> bytes:
    """How a token is kept. A random token needs no salt and no slow hash."""
    return hashlib.sha256(token.encode()).digest()


async def password_hash(password: str, who: str) -> str:
    """How a table's password is kept, for `who` sets it. Slow on purpose, and made in a thread."""
    salt = secrets.token_bytes(16)
    kept = f"{salt.hex()}:{(await _hashing.scrypt(password, salt, who)).hex()}"
    _known.learn(password, kept)
    return kept


async def password_fits(password: str, kept: str, who: str) -> bool:
    """Whether this is the password that was kept as `kept`, which `who` wants to know.

    It is slow only until the right one has been seen once since the host was started: guesses
    cost the host nothing, and who knows the password never waits behind those who do not.
    """
    known = _known.fits(password, kept)
    if known is not None:
        return known
    salt, digest = (bytes.fromhex(part) for part in kept.split(":"))
    fits = hmac.compare_digest(await _hashing.scrypt(password, salt, who), digest)
    if fits:
        _known.learn(password, kept)
    return fits


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**12, r=8, p=1)


class _KnownPasswords:
    """The passwords that are known to be right, as digests under a key of this process alone."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._digests: OrderedDict[str, bytes] = OrderedDict()

    def learn(self, password: str, kept: str) -> None:
        self._digests[kept] = self._digest(password)
        while len(self._digests) > MOST_KNOWN:
            self._digests.popitem(last=False)

    def fits(self, password: str, kept: str) -> bool | None:
        """Whether it is the one that is kept so; None where that one is not known."""
        known = self._digests.get(kept)
        if known is None:
            return None
        self._digests.move_to_end(kept)
        return hmac.compare_digest(known, self._digest(password))

    def _digest(self, password: str) -> bytes:
        return hashlib.blake2b(password.encode(), key=self._key, digest_size=32).digest()


class _HashQueue:
    """Where slow hashes are made: one at a time, in a thread, so that the host stays awake.

    Those who ask take turns, and of one's own the newest comes first: a pile of guesses holds up
    neither others nor, for long, whoever shares its address.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, list[tuple[Future[bytes], str, bytes]]] = OrderedDict()
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="scrypt")

    async def scrypt(self, password: str, salt: bytes, who: str) -> bytes:
        future: Future[bytes] = Future()
        with self._lock:
            self._waiting.setdefault(who, []).append((future, password, salt))
        self._worker.submit(self._make_one)
        return await asyncio.wrap_future(future)

    def _make_one(self) -> None:
        with self._lock:
            who, pile = self._waiting.popitem(last=False)
            future, password, salt = pile.pop()
            if pile:
                self._waiting[who] = pile
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(_scrypt(password, salt))
            except Exception as error:
                future.set_exception(error)


_hashing = _HashQueue()
_known = _KnownPasswords()


@dataclass(slots=True)
class Rate:
    """Token buckets: `burst` at once, then `per_second`. The least recently used are forgotten."""

    burst: float
    per_second: float
    clock: Callable[[], float] = time.monotonic
    remembered: int = 10_000
    _buckets: OrderedDict[Hashable, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, key: Hashable) -> bool:
        """Takes one from the key's bucket; False where it is empty."""
        now = self.clock()
        level, then = self._buckets.pop(key, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.per_second)
        enough = level >= 1
        self._buckets[key] = (level - 1 if enough else level, now)
        while len(self._buckets) > self.remembered:
            self._buckets.popitem(last=False)
        return enough
