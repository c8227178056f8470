"""Computer players: whole games by the real rules, strength, secrecy, and extreme amounts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any

import msgspec
import pytest

from protocol.qe import MAX_DIGITS, Bid, Game, KnownBid, Peek, Rules, You
from server.games.qe import QE
from server.games.qe.bots import choose
from server.games.qe.estimate import antilog, log, money

Player = Callable[[Game, You, Random], Bid | Peek | None]
HUGE = "9" * MAX_DIGITS
NOTES = Rules()


def bot(public: Game, private: You, rng: Random) -> Bid | Peek | None:
    return choose("normal", public, private, rng)


def one_and_zero(public: Game, private: You, rng: Random) -> Bid:
    return Bid(amount="1" if public.phase == "opening" else "0")


def up_to_a_thousand(public: Game, private: You, rng: Random) -> Bid:
    amount = rng.randint(1, 1000)
    return Bid(amount=str(amount + (str(amount) == public.opening)))


def madman(public: Game, private: You, rng: Random) -> Bid:
    """Bids amounts of any size whatever, zero and the largest included."""
    digits = rng.choice((1, 1, 2, 6, 40, 999, MAX_DIGITS))
    amount = rng.choice((int("9" * digits), rng.randrange(10**digits), 0, 1, 2))
    if public.phase == "opening":
        amount = max(1, amount)
    if str(amount) == public.opening:
        amount = amount - 1 if amount > 1 else amount + 1
    return Bid(amount=str(amount))


# --- Playing --------------------------------------------------------------------------------


@dataclass
class Played:
    """A game that is over: its last public view, and what was asked of players on the way."""

    public: Game
    winners: Sequence[int]
    choices: Counter[str] = field(default_factory=Counter)


def turns(state: Any, bots: Sequence[int]) -> Iterator[int]:
    """Who is asked at a table: a computer at every change, anybody else when waited for."""
    waiting = list(QE.waiting(state))
    peekers = [seat for seat in bots if seat not in waiting and len(state.peeks) == 5]
    yield from peekers
    yield from waiting


def play(
    players: Sequence[Player], seed: str, rules: Rules = NOTES, first_moves: Sequence[Bid] = ()
) -> Played:
    """A whole game. Every action goes through the real rules, which raise where it is illegal."""
    state = QE.new(len(players), None, rules, seed, 1, 1)
    rngs = [Random(f"{seed}/{seat}") for seat in range(len(players))]
    scripted = list(first_moves)
    bots = [seat for seat, player in enumerate(players) if player is bot]
    choices: Counter[str] = Counter()
    while QE.winners(state) is None:
        step = QE.step(state)
        for seat in turns(state, bots):
            if QE.step(state) != step:
                break
            due = seat in QE.waiting(state)
            if due and scripted:
                state = QE.act(state, seat, scripted.pop(0))
                continue
            action = players[seat](QE.public(state), QE.private(state, seat), rngs[seat])
            if action is None:
                assert not due, "a seat that is waited for must act"
                continue
            choices[type(action).__name__] += 1
            state = QE.act(state, seat, action)
    winners = QE.winners(state)
    assert winners is not None
    public = QE.public(state)
    assert isinstance(public, Game)
    return Played(public, winners, choices)


class Series(dict[int, list[Played]]):
    """By number of players, games of computers only, every third one without notes; played when
    they are first asked for."""

    def __missing__(self, players: int) -> list[Played]:
        self[players] = [
            play([bot] * players, f"series {number}", Rules(notes=number % 3 != 0))
            for number in range(26)
        ]
        return self[players]


@pytest.fixture(scope="module")
def games() -> Series:
    return Series()


def prices(game: Played) -> list[int]:
    return [int(sale.price) for sale in game.public.history if sale.price is not None]


def openings(game: Played) -> list[int]:
    return [int(sale.opening) for sale in game.public.history if sale.opening is not None]


# --- Whole games ----------------------------------------------------------------------------


@pytest.mark.parametrize("players", [3, 4, 5])
def test_whole_games_end(games: Series, players: int) -> None:
    for game in games[players]:
        assert game.public.phase == "over"
        assert len(game.public.history) == game.public.auctions


@pytest.mark.parametrize("players", [3, 4, 5])
def test_somebody_is_left_to_win(games: Series, players: int) -> None:
    """Nobody runs so far ahead, or so much in step, that the game falls apart."""
    ratios = []
    for game in games[players]:
        assert game.public.result is not None
        seats = game.public.result.seats
        assert sum(seat.eliminated for seat in seats) < players
        spent = sorted(int(seat.spent) for seat in seats)
        ratios.append(log(spent[-1]) - log(spent[-2]))
    alone = [game for game in games[players] if len(game.winners) == 1]
    assert len(alone) > 0.95 * len(games[players])
    # The seat that is out was in the race: it seldom spent ten times what the next one did.
    assert sum(ratio < 1 for ratio in ratios) > 0.9 * len(ratios)
    assert median(ratios) < 0.3


@pytest.mark.parametrize("players", [3, 4, 5])
def test_prices_look_like_those_of_people(games: Series, players: int) -> None:
    """Neither everything for 1, nor beyond all bounds, nor always the same."""
    all_openings = [amount for game in games[players] for amount in openings(game)]
    assert sum(amount == 1 for amount in all_openings) < 0.1 * len(all_openings)
    usual = [median(prices(game)) for game in games[players]]
    assert 20 < median(usual) < 20_000
    assert max(usual) > 10 * min(usual), "every table has prices of its own"
    assert max(max(prices(game)) for game in games[players]) < 10**9
    for game in games[players]:
        assert len(set(prices(game))) > len(prices(game)) / 2
    rounds = [price for game in games[players] for price in prices(game) if price >= 100]
    assert sum(price % 10 == 0 for price in rounds) < 0.05 * len(rounds)
    ties = sum(len(sale.ties) for game in games[players] for sale in game.public.history)
    assert ties < 2 * len(games[players])


@pytest.mark.parametrize("players", [3, 4, 5])
def test_tiles_are_shared_among_seats(games: Series, players: int) -> None:
    """Everybody takes part: it is rare to get nothing, and nobody takes all."""
    held = [len(board.tiles) for game in games[players] for board in game.public.seats]
    assert sum(tiles == 0 for tiles in held) < 0.1 * len(held)
    assert max(held) < games[players][0].public.auctions * 0.75


@pytest.mark.parametrize("players", [4, 5])
def test_zero_bids_are_used_in_most_rounds(games: Series, players: int) -> None:
    rounds = {4: 4, 5: 3}[players]
    scored = [len(board.zeros) for game in games[players] for board in game.public.seats]
    assert 0.4 * rounds < sum(scored) / len(scored) <= rounds
    # Not everybody at every chance: somebody must want the tile.
    stood = [len(sale.zeros) for game in games[players] for sale in game.public.history]
    assert sum(stood) / len(stood) < 0.7 * (players - 1)


def test_most_peeks_of_a_game_of_five_are_used(games: Series) -> None:
    peeked = [board.peeked for game in games[5] for board in game.public.seats]
    used = [auction for auction in peeked if auction is not None]
    assert len(used) > 0.8 * len(peeked)
    assert min(used) > 2, "not before there is anything to compare it with"
    assert sum(game.choices["Peek"] for game in games[5]) == len(used)
    assert not any(game.choices["Peek"] for game in [*games[3], *games[4]])


# --- Strength -------------------------------------------------------------------------------


@pytest.mark.parametrize(("players", "at_least"), [(3, 0.38), (4, 0.5), (5, 0.4)])
def test_alone_among_random_bidders_it_wins_more_than_its_share(
    players: int, at_least: float
) -> None:
    """An equal share would be 0.33, 0.25 and 0.2."""
    won = 0
    for number in range(30):
        seat = number % players
        seats: list[Player] = [up_to_a_thousand] * players
        seats[seat] = bot
        won += seat in play(seats, f"random {number}").winners
    assert won / 30 >= at_least


@pytest.mark.long
@pytest.mark.parametrize(("other", "share"), [(one_and_zero, 0.25), (up_to_a_thousand, 0.6)])
def test_a_simple_player_among_computers_wins_less_than_its_share(
    other: Player, share: float
) -> None:
    """`share` is of equal chances. To open at 1 and to bid zero is no way to win."""
    won, equal = 0, 0.0
    for players in (3, 4, 5):
        for number in range(15):
            seat = number % players
            seats: list[Player] = [bot] * players
            seats[seat] = other
            won += seat in play(seats, f"simple {number}").winners
            equal += 1 / players
    assert won <= share * equal


# --- Secrecy --------------------------------------------------------------------------------


def test_the_same_views_and_chance_give_the_same_choice() -> None:
    state = QE.new(4, None, Rules(), "again", 1, 1)
    seat = QE.waiting(state)[0]
    public, private = QE.public(state), QE.private(state, seat)
    first = choose("normal", public, private, Random(5))
    copied = (
        msgspec.convert(msgspec.to_builtins(public), Game),
        msgspec.convert(msgspec.to_builtins(private), You),
    )
    assert choose("normal", *copied, Random(5)) == first
    others = {choose("normal", public, private, Random(n)) for n in range(20)}
    assert len(others) > 5, "chance has a part in it"


@pytest.mark.parametrize("players", [3, 4, 5])
def test_a_bid_it_may_not_know_changes_no_choice(players: int) -> None:
    """Two games that differ in what one seat lost with: another seat, no auctioneer, does the
    same in both from then on, until it would rightly see the bid."""

    def after(secret: str) -> list[Any]:
        state = QE.new(players, 0, Rules(first="host"), "secret", 1, 1)
        state = QE.act(state, 0, Bid(amount="100"))
        state = QE.act(state, 1, Bid(amount="900"))
        state = QE.act(state, 2, Bid(amount=secret))
        for seat in range(3, players):
            state = QE.act(state, seat, Bid(amount="50"))
        state = QE.act(state, 1, Bid(amount="77"))
        watched = range(3, players) if players > 3 else [1]
        return [
            choose("normal", QE.public(state), QE.private(state, seat), Random(7))
            for seat in watched
            for _ in range(2)
        ]

    assert after("3") == after("812")


def test_winning_bids_it_may_not_know_change_no_choice() -> None:
    def after(winning: str) -> Any:
        state = QE.new(4, 0, Rules(first="host"), "price", 1, 1)
        for seat, amount in ((0, "100"), (1, winning), (2, "300"), (3, "0"), (1, "40")):
            state = QE.act(state, seat, Bid(amount=amount))
        return choose("normal", QE.public(state), QE.private(state, 2), Random(3))

    assert after("301") == after(HUGE)


# --- Extremes -------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [3, 4, 5])
@pytest.mark.parametrize("notes", [True, False])
def test_it_plays_on_among_amounts_of_any_size(players: int, notes: bool) -> None:
    for number in range(6):
        seats: list[Player] = [madman] * players
        seats[0] = bot
        seats[number % (players - 1) + 1] = bot
        play(seats, f"mad {number}", Rules(notes=notes))


@pytest.mark.parametrize("opening", [HUGE, "1" + "0" * 999, "9" * 400, "1"])
@pytest.mark.parametrize("players", [3, 4, 5])
def test_an_absurd_opening_is_left_to_its_auctioneer(players: int, opening: str) -> None:
    game = play([bot] * players, f"absurd {players}", first_moves=[Bid(amount=opening)])
    if opening != "1":
        first = game.public.history[0]
        assert first.winner == first.auctioneer
        assert max(prices(game)[1:]) < 10**60, "one absurd amount does not carry the others away"


def test_it_knows_who_can_no_longer_be_reached() -> None:
    """Once somebody has surely spent more than all it could cost, it is bold."""
    state = QE.new(4, 0, Rules(first="host"), "bold", 1, 1)
    for seat, amount in ((0, "1000000"), (1, "0"), (2, "0"), (3, "0"), (1, "200")):
        state = QE.act(state, seat, Bid(amount=amount))
    public, private = QE.public(state), QE.private(state, 2)
    purses = money(public, private, 2.0)
    assert purses.ceiling == 1_000_000
    bids = [choose("normal", public, private, Random(n)) for n in range(30)]
    amounts = [int(bid.amount) for bid in bids if isinstance(bid, Bid)]
    assert len(amounts) == 30
    assert sum(amount > 200 for amount in amounts) > 15
    assert max(amounts) < 1_000_000


@pytest.mark.parametrize("tied", ["30", "777", HUGE])
def test_it_bids_again_after_a_tie(tied: str) -> None:
    state = QE.new(4, 0, Rules(first="host"), "tie", 1, 1)
    for seat, amount in ((0, "4"), (1, tied), (2, tied), (3, "0")):
        state = QE.act(state, seat, Bid(amount=amount))
    assert QE.public(state).phase == "rebid"
    public, private = QE.public(state), QE.private(state, 1)
    seen = set()
    for number in range(40):
        bid = choose("normal", public, private, Random(number))
        assert isinstance(bid, Bid)
        assert QE.why_not(state, 1, bid) is None
        seen.add(bid.amount)
    assert len(seen) > 1 or int(tied) > 100, "who tied may not do the same again and again"


def test_what_it_says_is_always_an_amount() -> None:
    pattern = re.compile(r"(?:0|[1-9][0-9]{0,999})")
    for seed in range(20):
        state = QE.new(5, None, Rules(), f"{seed}", 1, 1)
        for _ in range(8):
            seat = QE.waiting(state)[0]
            bid = choose("normal", QE.public(state), QE.private(state, seat), Random(seed))
            if isinstance(bid, Bid):
                assert pattern.fullmatch(bid.amount)
            assert bid is not None
            state = QE.act(state, seat, bid)


def test_it_does_nothing_where_it_need_not() -> None:
    state = QE.new(4, 0, Rules(first="host"), "idle", 1, 1)
    assert choose("normal", QE.public(state), QE.private(state, 1), Random(1)) is None
    state = QE.act(state, 0, Bid(amount="10"))
    state = QE.act(state, 1, Bid(amount="11"))
    assert QE.private(state, 1).may_bid is not None
    assert choose("normal", QE.public(state), QE.private(state, 1), Random(1)) is None


# --- What it infers -------------------------------------------------------------------------


def test_logarithms_of_any_size() -> None:
    assert log(0) == log(1) == 0
    assert math.isclose(log(int(HUGE)), 1000)
    for decades in (0.0, 1.5, 14.9, 15.1, 300.25, 1001.9):
        assert math.isclose(log(antilog(decades)), decades, abs_tol=0.1 / (1 + decades))


def test_a_rival_has_spent_at_least_what_is_seen_and_what_was_outbid() -> None:
    """Seat 2 bids in three auctions: lost one to seat 1, saw seat 0 pay openly, and sold one."""
    state = QE.new(3, 0, Rules(first="host"), "floors", 1, 1)
    script = [
        *((0, "10"), (1, "90"), (2, "60")),  # seat 1 paid over 60
        *((1, "500"), (0, "501"), (2, "1")),  # seat 0 paid over 500
        *((2, "7"), (0, "8"), (1, "3000")),  # as auctioneer seat 2 sees 3000
        *((0, "20000"), (1, "1"), (2, "2")),  # an open price
    ]
    for seat, amount in script:
        state = QE.act(state, seat, Bid(amount=amount))
    rivals = money(QE.public(state), QE.private(state, 2), 2.0).rivals
    assert rivals[0].floor == 501 + 20_000
    assert rivals[1].floor == 61 + 3000
    assert (rivals[0].unsure, rivals[1].unsure) == (1, 1)
    assert all(purse.floor <= purse.likely < 2 * purse.floor for purse in rivals.values())


def test_a_third_tie_says_nothing_of_the_price_but_that_it_is_over_the_opening() -> None:
    """Seats 1 and 2 tie at 70 three times; seat 3 takes it for 30, which seat 1 cannot tell."""
    state = QE.new(4, 0, Rules(first="host"), "third", 1, 1)
    moves = ((0, "5"), (1, "70"), (2, "70"), (3, "30"), (1, "70"), (2, "70"), (1, "70"), (2, "70"))
    for seat, amount in moves:
        state = QE.act(state, seat, Bid(amount=amount))
    public = QE.public(state)
    assert public.history[0].winner == 3
    assert money(public, QE.private(state, 1), 2.0).rivals[3].floor == 6
    assert money(public, QE.private(state, 0), 2.0).rivals[3].floor == 30


def test_the_floor_is_never_above_the_truth(games: Series) -> None:
    """In games of all sorts, whatever a seat sees."""
    for number in range(6):
        players: list[Player] = [bot, madman, up_to_a_thousand, bot][: 3 + number % 2]
        state = QE.new(len(players), None, Rules(notes=number % 3 > 0), f"floor {number}", 1, 1)
        rng = Random(number)
        while QE.winners(state) is None:
            seat = QE.waiting(state)[0]
            public = QE.public(state)
            for reader in range(len(players)):
                seen = money(public, QE.private(state, reader), 2.0)
                assert seen.spent == state.spent(reader)
                for rival, purse in seen.rivals.items():
                    assert purse.floor <= state.spent(rival)
            action = players[seat](public, QE.private(state, seat), rng)
            assert action is not None
            state = QE.act(state, seat, action)


def test_known_bids_of_a_peek_are_used() -> None:
    state = QE.new(5, 0, Rules(first="host"), "peek", 1, 1)
    for seat, amount in ((0, "10"), (1, "44000"), (2, "60"), (3, "0"), (4, "1")):
        state = QE.act(state, seat, Bid(amount=amount))
    assert money(QE.public(state), QE.private(state, 2), 2.0).rivals[1].floor == 61
    state = QE.act(state, 2, Peek())
    private = QE.private(state, 2)
    assert KnownBid(auction=1, stage=0, seat=1, amount="44000", source="peek") in private.known
    after = money(QE.public(state), private, 2.0).rivals[1]
    assert (after.floor, after.likely, after.unsure) == (44_000, 44_000, 0)
