"""The games that this host has, by the name they have on the wire."""

from __future__ import annotations

from collections.abc import Mapping

from server.games.game import Game
from server.games.qe import QE

GAMES: Mapping[str, Game] = {QE.name: QE}
