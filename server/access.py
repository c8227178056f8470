"""Who gets in: seat tokens, table passwords, and how often one may be wrong or loud."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field


def new_token() -> str:
    """A seat's token: 128 random bits, in hex."""
    return secrets.token_hex(16)


def token_hash(token: str) -> bytes:
    """How a token is kept. A random token needs no salt and no slow hash."""
    return hashlib.sha256(token.encode()).digest()


async def password_hash(password: str) -> str:
    """How a table's password is kept. Runs in a thread, since it is slow on purpose."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{(await asyncio.to_thread(_scrypt, password, salt)).hex()}"


async def password_fits(password: str, kept: str) -> bool:
    """Whether this is the password that was kept as `kept`."""
    salt, digest = (bytes.fromhex(part) for part in kept.split(":"))
    return hmac.compare_digest(await asyncio.to_thread(_scrypt, password, salt), digest)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**12, r=8, p=1)


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
