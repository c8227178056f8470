"""An independent referee of QE: knows the rules, and what everybody may see at every moment.

Made from docs/rules.md and docs/protocol.md alone; nothing of the project is imported. It is told
what the seats did, in the order in which the host took it, and says what each may be shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from reckoning import LEAST_SPENT, Deal, Tile, deal, score, tiles

Fields = dict[str, Any]
TIES_AT_MOST = 3


@dataclass
class Auction:
    """One auction. A stage is closed when all who were asked have bid."""

    number: int
    round: int | None
    auctioneer: int | None
    tile: Tile | None = None
    opening: int | None = None
    stages: list[dict[int, int]] = field(default_factory=list)
    closed: int = 0
    ties: list[list[int]] = field(default_factory=list)
    winner: int | None = None
    price: int | None = None
    zeros: list[int] = field(default_factory=list)

    def standing(self) -> dict[int, int]:
        """Each seat's bid as it stands, the opening included."""
        bids = {}
        if self.opening is not None and self.auctioneer is not None:
            bids[self.auctioneer] = self.opening
        for stage in self.stages:
            bids.update(stage)
        return bids

    def winning_stage(self) -> int | None:
        """The stage of the winning bid; None where the opening won, or nobody."""
        return max((n for n, stage in enumerate(self.stages) if self.winner in stage), default=None)


class Referee:
    """A game. Without a seed the deal is learnt as it is seen, and checked when the seed opens."""

    def __init__(
        self, players: int, *, host: int | None, notes: bool, first: str, seed: str | None
    ) -> None:
        self.players, self.notes = players, notes
        self.first_rule, self.host, self.seed = first, host, seed
        self.dealt: Deal | None = None if seed is None else deal(players, seed)
        self.seen = Deal([], [], [""] * players, -1, "")
        self.step = 0
        self.newcomers: dict[int, int] = {}
        """Seats that somebody took over, and the step in which that was: until they have bid in
        it, they are not shown what was bid before them."""
        self.phase = ""
        self.asked: list[int] = []
        self.auctions: list[Auction] = []
        self.peeked: dict[int, int] = {}
        self.last = 15 if players == 5 else 16
        self.first = 0

    # --- The deal --------------------------------------------------------------------------------

    def learn(self, game: Fields, you: Fields | None) -> None:
        """Takes from a view what chance alone has decided and nobody has seen before."""
        if not self.phase:
            nations = [seat["nation"] for seat in game["seats"]]
            self.seen = self.seen._replace(
                first=game["auctioneer"], commitment=game["commitment"], nations=nations
            )
            self.begin(game["step"])
        if self.dealt is None:
            seen = game["tile"]
            if seen is not None and len(self.seen.deck) < game["auction"]:
                self.seen.deck.append(Tile(seen["nation"], seen["industry"], seen["value"]))
                self.auctions[-1].tile = self.seen.deck[-1]
            if you is not None and not self.seen.tokens[you["seat"]]:
                self.seen.tokens[you["seat"]] = you["industry"]
            if game["result"] is not None and self.seed is None:
                self.open_seed(game["result"]["seed"])

    def begin(self, step: int) -> None:
        """The game's first step."""
        self.step = step
        self.first = self._first()
        self._open()

    def _first(self) -> int:
        if self.first_rule == "host":
            assert self.host is not None
            return self.host
        return self.seen.first if self.dealt is None else self.dealt.first

    def _now(self) -> Deal:
        """What is dealt, as far as it is known."""
        return self.seen if self.dealt is None else self.dealt

    def open_seed(self, seed: str) -> None:
        """Checks that all that was seen follows from the seed."""
        assert len(seed) == 64
        assert set(seed) <= set("0123456789abcdef"), "the seed is not 64 hex digits"
        follows = deal(self.players, seed)
        first = follows.first if self.first_rule == "random" else self.seen.first
        assert self.seen == follows._replace(first=first), "the deal does not follow from the seed"
        self.seed = seed

    # --- What the seats do -----------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return self.phase == "over"

    @property
    def auction(self) -> Auction:
        return self.auctions[-1]

    @property
    def waiting(self) -> list[int]:
        if self.phase == "opening":
            return list(self.asked)
        given = {} if self.over else self.auction.stages[-1]
        return [seat for seat in self.asked if seat not in given]

    def bid_is_legal(self, seat: int, amount: int) -> bool:
        """Whether the seat may send this bid now."""
        if seat not in self.asked:
            return False
        return amount > 0 if self.phase == "opening" else amount != self.auction.opening

    def may_peek(self, seat: int) -> int | None:
        """The auction that a peek would show the seat."""
        done = [auction for auction in self.auctions if auction.winner is not None]
        if self.players != 5 or self.over or seat in self.peeked or not done:
            return None
        last = done[-1]
        return None if seat in (last.auctioneer, last.winner) or _open(last) else last.number

    def peek(self, seat: int) -> None:
        number = self.may_peek(seat)
        assert number is not None
        self.peeked[seat] = number

    def bid(self, seat: int, amount: int) -> None:
        """A legal bid, as the host has taken it."""
        self.newcomers.pop(seat, None)
        assert self.bid_is_legal(seat, amount)
        auction = self.auction
        if self.phase == "opening":
            auction.opening = amount
            self._stage("secret", [s for s in range(self.players) if s != seat])
            return
        auction.stages[-1][seat] = amount
        if not self.waiting:
            auction.closed = len(auction.stages)
            self._compare()

    def _stage(self, phase: str, asked: list[int]) -> None:
        self.phase, self.asked = phase, asked
        self.step += 1
        self.auction.stages.append({})

    def _open(self) -> None:
        """The next tile is turned up."""
        number = len(self.auctions) + 1
        blind = self.players == 3 and number == 16
        auctioneer = None if blind else (self.first + number - 1) % self.players
        around = None if blind else (number - 1) // self.players + 1
        auction = Auction(number, around, auctioneer)
        if self.dealt is not None:
            auction.tile = self.dealt.deck[number - 1]
        self.auctions.append(auction)
        if blind:
            self.phase, self.asked = "blind", list(range(self.players))
            auction.stages.append({})
        else:
            assert auctioneer is not None
            self.phase, self.asked = "opening", [auctioneer]

    def _compare(self) -> None:
        auction = self.auction
        bids = auction.standing()
        highest = max(bids.values())
        top = sorted(seat for seat, amount in bids.items() if amount == highest)
        if len(top) > 1:
            auction.ties.append(top)
            if auction.auctioneer is not None and len(auction.ties) < TIES_AT_MOST:
                self._stage("rebid", top)
                return
            once = [amount for amount, times in Counter(bids.values()).items() if times == 1]
            blind = auction.auctioneer is None
            top = [] if blind else [s for s, amount in bids.items() if amount == max(once)]
        if top:
            auction.winner = top[0]
            auction.price = bids[top[0]]
        if self.players > 3:
            auction.zeros = sorted(seat for seat, amount in bids.items() if amount == 0)
        self.step += 1
        if auction.number == self.last:
            self.phase, self.asked = "over", []
        else:
            self._open()

    # --- What follows from it --------------------------------------------------------------------

    def won(self, seat: int) -> list[Auction]:
        return [auction for auction in self.auctions if auction.winner == seat]

    def zero_rounds(self, seat: int) -> list[int]:
        """The rounds in which the seat scored a zero bid: one a round."""
        rounds = {a.round for a in self._done() if seat in a.zeros and a.round is not None}
        return sorted(rounds)

    def spent(self, seat: int) -> int:
        return sum(auction.price or 0 for auction in self.won(seat))

    def _done(self) -> list[Auction]:
        return self.auctions if self.over else self.auctions[:-1]

    def _score(self, seat: int, more: Tile | None = None) -> Fields:
        now = self._now()
        held = [auction.tile for auction in self.won(seat)] + ([more] if more else [])
        return score(
            self.players,
            now.nations[seat],
            now.tokens[seat],
            tuple(sorted(tile for tile in held if tile is not None)),
            len(self.zero_rounds(seat)),
        )

    # --- What is shown ---------------------------------------------------------------------------

    def game(self) -> Fields:
        """What everybody may know."""
        now, auction, over = self._now(), self.auction, self.over
        return {
            "phase": self.phase,
            "step": self.step,
            "auction": auction.number,
            "auctions": self.last,
            "round": None if over else auction.round,
            "rounds": None if over or auction.round is None else self._rounds(),
            "auctioneer": None if over else auction.auctioneer,
            "tile": None if over or auction.tile is None else auction.tile._asdict(),
            "opening": None if over else _text(auction.opening),
            "waiting": self.waiting,
            "rebids": 0 if over else max(0, len(auction.stages) - 1),
            "seats": [
                {
                    "seat": seat,
                    "nation": now.nations[seat],
                    "tiles": [
                        {**_tile(a), "auction": a.number, "price": self._shown_price(a)}
                        for a in self.won(seat)
                    ],
                    "zeros": self.zero_rounds(seat),
                    "peeked": self.peeked.get(seat),
                }
                for seat in range(self.players)
            ],
            "history": [
                {
                    "auction": a.number,
                    "round": a.round,
                    "tile": _tile(a),
                    "auctioneer": a.auctioneer,
                    "opening": _text(a.opening),
                    "winner": a.winner,
                    "price": self._shown_price(a),
                    "zeros": a.zeros,
                    "ties": a.ties,
                }
                for a in self._done()
            ],
            "commitment": now.commitment,
            "result": self._result() if over else None,
        }

    def _rounds(self) -> int:
        return {3: 5, 4: 4, 5: 3}[self.players]

    def _shown_price(self, auction: Auction) -> str | None:
        return _text(auction.price) if self.over or _open(auction) else None

    def you(self, seat: int) -> Fields:
        """What this seat may know beside that."""
        now, auction = self._now(), self.auction
        standing = self._score(seat)
        gain = None
        if not self.over:
            gain = self._score(seat, auction.tile)["subtotal"] - standing["subtotal"]
        return {
            "seat": seat,
            "industry": now.tokens[seat],
            "bid": _text(self._own_bid(seat)),
            "may_bid": self._may_bid(seat),
            "may_peek": self.may_peek(seat),
            "known": self._known(seat),
            "spent": str(self.spent(seat)),
            "score": standing,
            "gain": gain,
        }

    def _own_bid(self, seat: int) -> int | None:
        """The seat's bid as it stands; that of one who is to bid again stands until they have."""
        if self.over or (self.newcomers.get(seat) == self.step and seat in self.asked):
            return None
        return self.auction.standing().get(seat)

    def _may_bid(self, seat: int) -> Fields | None:
        if seat not in self.asked:
            return None
        minimum = "1" if self.phase == "opening" else "0"
        return {"minimum": minimum, "other_than": _text(self.auction.opening)}

    def _known(self, seat: int) -> list[Fields]:
        rows = []
        running = None if self.over else self.auction
        recent = {id(running), id(self._done()[-1]) if self._done() else None}
        for auction in self.auctions:
            price = auction.winning_stage()
            for number, stage in enumerate(auction.stages[: auction.closed]):
                for bidder, amount in sorted(stage.items()):
                    wins = bidder == auction.winner and number == price
                    if bidder == seat:
                        source = "own"
                    elif seat == auction.auctioneer:
                        source = "auctioneer"
                    elif wins and self.peeked.get(seat) == auction.number:
                        source = "peek"
                    else:
                        continue
                    if self.notes or id(auction) in recent or (wins and source == "own"):
                        rows.append(
                            {
                                "auction": auction.number,
                                "stage": number,
                                "seat": bidder,
                                "amount": str(amount),
                                "source": source,
                            }
                        )
        return rows

    def _result(self) -> Fields:
        spent = [self.spent(seat) for seat in range(self.players)]
        rows = []
        for seat in range(self.players):
            standing = self._score(seat)
            least = LEAST_SPENT[self.players == 5] if spent[seat] == min(spent) else 0
            rows.append(
                {
                    "seat": seat,
                    "industry": self._now().tokens[seat],
                    **standing,
                    "spent": str(spent[seat]),
                    "eliminated": spent[seat] == max(spent),
                    "least_spent": least,
                    "total": standing["subtotal"] + least,
                    "rank": None,
                }
            )
        stay = {row["seat"]: (-row["total"], spent[row["seat"]]) for row in rows
                if not row["eliminated"]}  # fmt: skip
        for seat, merit in stay.items():
            rows[seat]["rank"] = 1 + sum(other < merit for other in stay.values())
        return {
            "seats": rows,
            "winners": [row["seat"] for row in rows if row["rank"] == 1],
            "auctions": [
                {
                    "auction": auction.number,
                    "stages": [
                        [{"seat": s, "amount": str(amount)} for s, amount in sorted(stage.items())]
                        for stage in auction.stages
                    ],
                }
                for auction in self.auctions
            ],
            "seed": self.seed,
        }


def _open(auction: Auction) -> bool:
    """Whether the whole table knows the price: the auctioneer won."""
    return auction.winner is not None and auction.winner == auction.auctioneer


def _tile(auction: Auction) -> Fields:
    assert auction.tile is not None
    return auction.tile._asdict()


def _text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def all_tiles_once(referee: Referee) -> bool:
    """Whether what was auctioned is the whole deck, each tile once."""
    return Counter(a.tile for a in referee.auctions) == Counter(tiles(referee.players))


def replayed(view: Fields, seat: int) -> tuple[Fields, Fields]:
    """What the end of a game must show, from the bids that it turns up and nothing else."""
    game, rules = view["game"], view["room"]["rules"]
    referee = Referee(
        len(game["seats"]), host=view["room"]["host"], notes=rules["notes"], first=rules["first"],
        seed=game["result"]["seed"],
    )  # fmt: skip
    steps = sum(
        len(auction["stages"]) + (row["auctioneer"] is not None)
        for auction, row in zip(game["result"]["auctions"], game["history"], strict=True)
    )
    referee.begin(game["step"] - steps)
    for auction, row in zip(game["result"]["auctions"], game["history"], strict=True):
        if row["opening"] is not None:
            referee.bid(row["auctioneer"], int(row["opening"]))
        for stage in auction["stages"]:
            for bid in stage:
                referee.bid(bid["seat"], int(bid["amount"]))
        for board in game["seats"]:
            if board["peeked"] == row["auction"]:
                referee.peek(board["seat"])
    return referee.game(), referee.you(seat)
