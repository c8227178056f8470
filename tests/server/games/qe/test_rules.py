"""Play, action by action: what is allowed, what follows, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import Struct

from protocol import qe
from protocol.qe import MAX_DIGITS
from server.games.game import Illegal, Malformed, UnknownVersion
from server.games.qe import QE
from server.games.qe.rules import State

BIGGEST = 10**MAX_DIGITS - 1


class Nonsense(Struct, frozen=True):
    """An action of some other game."""


def refused(play: Any, state: State, seat: int, action: Struct | int | str) -> str:
    """The key of the reason why this is refused, which changes nothing."""
    if isinstance(action, (int, str)):
        action = qe.Bid(amount=str(action))
    before = play.seen(state)
    reason = QE.why_not(state, seat, action)
    assert reason is not None
    with pytest.raises(Illegal) as caught:
        QE.act(state, seat, action)
    assert caught.value.reason == reason
    assert str(caught.value) == reason.message
    assert reason.message.endswith(".")
    assert play.seen(state) == before
    return reason.key


# --- Start ----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [3, 4, 5])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_auctioneer_moves_on_seat_by_seat(players: int, first: int, play: Any) -> None:
    state = play.new(players, first)
    auctioneers, rounds = [], []
    for _ in range(15):
        auctioneers.append(QE.public(state).auctioneer)
        rounds.append((QE.public(state).round, QE.public(state).rounds))
        state = play.dull(state)
    assert auctioneers == [(first + n) % players for n in range(15)]
    count = {3: 5, 4: 4, 5: 3}[players]
    assert rounds == [(n // players + 1, count) for n in range(15)]


@pytest.mark.parametrize("players", [3, 4, 5])
def test_the_first_auctioneer_is_drawn_unless_the_host_is_to_open(players: int) -> None:
    drawn, host = qe.Rules(), qe.Rules(first="host")
    firsts = set()
    for n in range(60):
        (first,) = QE.waiting(QE.new(players, 1, drawn, f"seed {n}", 1, 1))
        assert QE.waiting(QE.new(players, 1, host, f"seed {n}", 1, 1)) == (1,)
        assert QE.waiting(QE.new(players, None, host, f"seed {n}", 1, 1)) == (first,)
        firsts.add(first)
    assert firsts == set(range(players))


def test_a_game_that_cannot_begin() -> None:
    assert QE.rules_version == 1
    with pytest.raises(UnknownVersion, match="version 2"):
        QE.new(4, 0, qe.Rules(), "seed", 1, 2)
    for seats in (2, 6):
        with pytest.raises(ValueError, match="3 to 5 players"):
            QE.new(seats, 0, qe.Rules(), "seed", 1, 1)
    with pytest.raises(ValueError, match="host"):
        QE.new(3, 3, qe.Rules(), "seed", 1, 1)
    with pytest.raises(TypeError):
        QE.new(3, 0, Nonsense(), "seed", 1, 1)


# --- Steps ----------------------------------------------------------------------------------


def test_steps_count_phases_from_the_given_number(play: Any) -> None:
    state = play.new(5, step=41)
    seen = [(QE.step(state), QE.public(state).phase)]

    def do(seat: int, amount: int) -> None:
        nonlocal state
        state = play.bid(state, seat, amount)
        seen.append((QE.step(state), QE.public(state).phase))

    do(0, 10)
    for seat, amount in ((1, 20), (1, 30), (2, 30), (3, 5), (4, 0)):
        do(seat, amount)
    do(2, 40)
    do(1, 41)
    state = play.peek(state, 3)
    seen.append((QE.step(state), QE.public(state).phase))
    assert seen == [
        (41, "opening"),
        *[(42, "secret")] * 5,
        *[(43, "rebid")] * 2,
        *[(44, "opening")] * 2,
    ]


def test_each_rebid_is_a_step_of_its_own(play: Any) -> None:
    state = play.bid(play.new(4), 0, 10)
    for seat, amount in ((1, 20), (2, 20), (3, 1)):
        state = play.bid(state, seat, amount)
    assert (QE.step(state), QE.public(state).rebids) == (3, 1)
    for seat in (1, 2):
        state = play.bid(state, seat, 30)
    assert (QE.step(state), QE.public(state).rebids) == (4, 2)
    for seat in (1, 2):
        state = play.bid(state, seat, 40)
    assert (QE.step(state), QE.public(state).phase, QE.public(state).rebids) == (5, "opening", 0)
    assert QE.public(state).history[-1].ties == [[1, 2]] * 3


# --- Who may bid, and what ------------------------------------------------------------------


def test_the_opening_bid(play: Any) -> None:
    state = play.new(4, 2)
    assert QE.waiting(state) == (2,)
    for seat in (0, 1, 3):
        assert refused(play, state, seat, 5) == "not_auctioneer"
    assert refused(play, state, 2, 0) == "opening_zero"
    assert QE.public(play.bid(state, 2, 1)).opening == "1"
    state = play.bid(state, 2, BIGGEST)
    assert QE.public(state).opening == str(BIGGEST)
    assert QE.waiting(state) == (0, 1, 3)
    assert refused(play, state, 2, 5) == "auctioneer"


def test_a_secret_bid_is_never_the_opening(play: Any) -> None:
    state = play.bid(play.new(4), 0, 100)
    for seat in (1, 2, 3):
        assert refused(play, state, seat, 100) == "equals_opening"
        for amount in (0, 99, 101, BIGGEST):
            assert play.reason(state, seat, amount) is None
    for seat in (1, 2, 3):
        state = play.bid(state, seat, 200 if seat < 3 else 3)
    assert refused(play, state, 1, 100) == "equals_opening"


def test_only_who_tied_bids_again(play: Any) -> None:
    state = play.bid(play.new(5), 0, 10)
    for seat, amount in ((1, 30), (2, 4), (3, 30), (4, 0)):
        state = play.bid(state, seat, amount)
    assert QE.waiting(state) == (1, 3)
    assert refused(play, state, 0, 50) == "auctioneer"
    assert refused(play, state, 2, 50) == "not_tied"
    assert refused(play, state, 4, 50) == "not_tied"
    for amount in (0, 9, 11, 30, 31):
        assert play.reason(state, 3, amount) is None


@pytest.mark.parametrize(
    "amount",
    [
        *["", " 1", "1 ", "1\n", "01", "00", "-1", "+1", "1.0", "1e3", "1_000", "1,000", "٣", "x"],
        pytest.param("1" + "0" * MAX_DIGITS, id="too long"),
    ],
)
def test_what_is_no_amount(amount: str, play: Any) -> None:
    opening = play.new(4)
    assert refused(play, opening, 0, amount) == "amount"
    assert refused(play, play.bid(opening, 0, 5), 1, amount) == "amount"
    assert refused(play, play.final(), 1, amount) == "amount"
    with pytest.raises(Malformed) as caught:
        QE.action({"kind": "bid", "amount": amount})
    with pytest.raises(Malformed) as other:
        QE.action({"kind": "fold"})
    assert str(caught.value) == str(other.value)


def test_other_refusals(play: Any) -> None:
    state = play.new(4)
    assert refused(play, state, 0, Nonsense()) == "action"
    for seat in (-1, 4, 255):
        assert refused(play, state, seat, 5) == "seat"
        assert refused(play, state, seat, qe.Peek()) == "seat"


@pytest.mark.parametrize("players", [3, 4, 5])
def test_nothing_is_allowed_when_it_is_over(players: int, play: Any) -> None:
    state = play.dull(play.new(players), 15)
    if players == 4:
        state = play.dull(state)
    if players == 3:
        for seat in range(3):
            state = play.bid(state, seat, seat)
    assert QE.public(state).phase == "over"
    assert QE.waiting(state) == ()
    for seat in range(players):
        assert refused(play, state, seat, 5) == "over"
        key = refused(play, state, seat, qe.Peek())
        assert key == ("over" if players == 5 else "peek_players")


# --- Changing a bid -------------------------------------------------------------------------


def test_a_secret_bid_may_be_changed_until_the_last_is_in(play: Any) -> None:
    state = play.bid(play.new(4), 0, 10)
    state = play.bid(state, 1, 500)
    changed = play.bid(state, 1, 0)
    assert QE.step(changed) == QE.step(state)
    assert QE.waiting(changed) == QE.waiting(state) == (2, 3)
    changed = play.bid(play.bid(changed, 1, 11), 2, 7)
    done = play.bid(changed, 3, 8)
    assert QE.public(done).history[-1].winner == 1
    assert QE.private(done, 1).spent == "11"
    assert [bid.amount for bid in QE.private(done, 1).known] == ["11"]
    assert refused(play, done, 2, 600) == "not_auctioneer"


def test_a_rebid_may_be_changed_too(play: Any) -> None:
    state = play.bid(play.new(4), 0, 10)
    for seat, amount in ((1, 20), (2, 20), (3, 15)):
        state = play.bid(state, seat, amount)
    state = play.bid(state, 1, 99)
    changed = play.bid(state, 1, 2)
    assert QE.step(changed) == QE.step(state)
    assert QE.waiting(changed) == (2,)
    done = play.bid(changed, 2, 1)
    assert QE.public(done).history[-1].winner == 3


def test_a_blind_bid_may_be_changed_too(play: Any) -> None:
    state = play.bid(play.final(), 0, 50)
    changed = play.bid(state, 0, 7)
    assert (QE.step(changed), QE.waiting(changed)) == (QE.step(state), (1, 2))
    done = play.bid(play.bid(changed, 1, 8), 2, 6)
    assert QE.public(done).history[-1].winner == 1


# --- Zero bids ------------------------------------------------------------------------------


def test_a_second_zero_in_a_round_is_shown_and_scores_nothing(play: Any) -> None:
    state = play.auction(play.new(4), 10, {1: 0, 2: 3, 3: 0})
    state = play.auction(state, 10, {0: 0, 2: 3, 3: 0})
    public = QE.public(state)
    assert [sale.zeros for sale in public.history] == [[1, 3], [0, 3]]
    assert [board.zeros for board in public.seats] == [[1], [1], [], [1]]
    assert QE.private(state, 3).score.zero_bids == 2
    state = play.auction(play.dull(state, 2), 10, {1: 2, 2: 3, 3: 0})
    assert QE.public(state).seats[3].zeros == [1, 2]
    assert QE.private(state, 3).score.zero_bids == 4


def test_a_zero_bid_again_over_by_a_rebid_does_not_stand(play: Any) -> None:
    """Seat 1 bids zero only in the first of its re-bids; seat 3's zero stands all along."""
    state = play.auction(play.new(5), 10, {1: 20, 2: 20, 3: 0, 4: 15}, {1: 0, 2: 15}, {2: 3, 4: 4})
    assert QE.public(state).history[-1].zeros == [1, 3]
    assert QE.public(state).history[-1].winner == 0
    state = play.auction(play.new(5), 10, {1: 20, 2: 20, 3: 0, 4: 5}, {1: 30, 2: 0})
    assert QE.public(state).history[-1].zeros == [2, 3]


def test_with_three_a_zero_is_allowed_and_neither_shown_nor_scored(play: Any) -> None:
    state = play.auction(play.new(3), 10, {1: 0, 2: 0})
    assert QE.public(state).history[-1].zeros == []
    assert [board.zeros for board in QE.public(state).seats] == [[], [], []]
    assert QE.private(state, 1).score.zero_bids == 0


# --- Three players: the final ---------------------------------------------------------------


def test_the_blind_final(play: Any) -> None:
    state = play.final()
    step = QE.step(state)
    public = QE.public(state)
    assert (public.auctioneer, public.opening, public.round, public.rounds) == (None,) * 4
    assert QE.waiting(state) == (0, 1, 2)
    state = play.bid(state, 1, 0)
    assert QE.waiting(state) == (0, 2)
    state = play.bid(play.bid(state, 0, 10), 2, 10)
    sale = QE.public(state).history[-1]
    assert (sale.winner, sale.price, sale.ties, sale.zeros) == (None, None, [[0, 2]], [])
    assert (QE.step(state), QE.public(state).phase) == (step + 1, "over")
    assert sum(len(board.tiles) for board in QE.public(state).seats) == 15
    assert QE.winners(state) is not None


# --- The peek -------------------------------------------------------------------------------

SOLD_BY_0_TO_2 = (10, {1: 5, 2: 30, 3: 7, 4: 0})


def peek_reasons(play: Any, state: State) -> list[str | None]:
    reasons = [play.reason(state, seat, qe.Peek()) for seat in range(state.players)]
    for seat, reason in enumerate(reasons):
        last = QE.public(state).history[-1].auction if QE.public(state).history else None
        assert QE.private(state, seat).may_peek == (None if reason else last)
        if reason:
            assert refused(play, state, seat, qe.Peek()) == reason
    return reasons


def test_nobody_peeks_before_an_award(play: Any) -> None:
    state = play.new(5)
    assert peek_reasons(play, state) == ["peek_nothing"] * 5
    assert peek_reasons(play, play.bid(state, 0, 10)) == ["peek_nothing"] * 5


@pytest.mark.parametrize("players", [3, 4])
def test_nobody_peeks_in_a_smaller_game(players: int, play: Any) -> None:
    state = play.new(players)
    assert peek_reasons(play, state) == ["peek_players"] * players
    state = play.auction(state, 10, {seat: 10 + seat for seat in range(1, players)})
    assert peek_reasons(play, state) == ["peek_players"] * players


def test_who_may_peek_when_another_than_the_auctioneer_has_won(play: Any) -> None:
    state = play.auction(play.new(5), *SOLD_BY_0_TO_2)
    expected = ["peek_auctioneer", None, "peek_winner", None, None]
    assert peek_reasons(play, state) == expected
    assert peek_reasons(play, play.bid(state, 1, 4)) == expected


def test_who_may_peek_when_the_auctioneer_has_won(play: Any) -> None:
    state = play.dull(play.new(5))
    assert peek_reasons(play, state) == ["peek_open"] * 5


def test_who_may_peek_after_a_tie(play: Any) -> None:
    tie = {1: 30, 2: 4, 3: 30, 4: 20}
    to_a_third = play.auction(play.new(5), 10, tie, {1: 8, 3: 0})
    assert peek_reasons(play, to_a_third) == ["peek_auctioneer", None, None, None, "peek_winner"]
    known = QE.private(play.peek(to_a_third, 2), 2).known
    assert [(b.stage, b.seat, b.amount, b.source) for b in known] == [
        (0, 2, "4", "own"),
        (0, 4, "20", "peek"),
    ]
    to_one_who_tied = play.auction(play.new(5), 10, tie, {1: 25, 3: 0})
    assert peek_reasons(play, to_one_who_tied)[1] == "peek_winner"
    known = QE.private(play.peek(to_one_who_tied, 3), 3).known
    assert [(b.stage, b.seat, b.amount, b.source) for b in known] == [
        (0, 3, "30", "own"),
        (1, 1, "25", "peek"),
        (1, 3, "0", "own"),
    ]
    to_the_auctioneer = play.auction(play.new(5), 50, {1: 60, 2: 60, 3: 1, 4: 2}, {1: 3, 2: 4})
    assert peek_reasons(play, to_the_auctioneer) == ["peek_open"] * 5


def test_a_peek_is_of_the_newest_auction_only(play: Any) -> None:
    state = play.auction(play.new(5), *SOLD_BY_0_TO_2)
    state = play.auction(state, 10, {0: 40, 2: 5, 3: 7, 4: 1})
    assert peek_reasons(play, state) == ["peek_winner", "peek_auctioneer", None, None, None]
    state = play.peek(state, 2)
    known = [bid for bid in QE.private(state, 2).known if bid.source == "peek"]
    assert [(bid.auction, bid.seat, bid.amount) for bid in known] == [(2, 0, "40")]
    assert QE.public(state).seats[2].peeked == 2


def test_a_peek_goes_once_a_game_and_changes_no_step(play: Any) -> None:
    state = play.auction(play.new(5), *SOLD_BY_0_TO_2)
    peeked = play.peek(state, 3)
    assert QE.step(peeked) == QE.step(state)
    assert QE.waiting(peeked) == QE.waiting(state)
    assert refused(play, peeked, 3, qe.Peek()) == "peek_once"
    assert peek_reasons(play, play.peek(peeked, 4))[1] is None
    later = play.auction(peeked, 10, {0: 40, 2: 5, 3: 7, 4: 1})
    assert peek_reasons(play, later)[3] == "peek_once"
    assert QE.public(later).seats[3].peeked == 1


def test_a_peek_during_a_rebid(play: Any) -> None:
    state = play.bid(play.auction(play.new(5), *SOLD_BY_0_TO_2), 1, 10)
    for seat, amount in ((0, 90), (2, 90), (3, 2), (4, 3)):
        state = play.bid(state, seat, amount)
    assert QE.public(state).phase == "rebid"
    expected = ["peek_auctioneer", None, "peek_winner", None, None]
    assert peek_reasons(play, state) == expected
    peeked = play.peek(state, 4)
    known = [bid for bid in QE.private(peeked, 4).known if bid.source == "peek"]
    assert [(bid.auction, bid.seat, bid.amount) for bid in known] == [(1, 2, "30")]
    assert QE.waiting(peeked) == (0, 2)
    assert QE.step(peeked) == QE.step(state)


def test_a_peek_while_the_own_bid_is_in_or_awaited(play: Any) -> None:
    state = play.bid(play.auction(play.new(5), *SOLD_BY_0_TO_2), 1, 10)
    state = play.peek(play.bid(state, 3, 6), 3)
    assert QE.private(state, 3).bid == "6"
    state = play.peek(state, 4)
    assert QE.waiting(state) == (0, 2, 4)


def test_nobody_peeks_at_the_last_auction(play: Any) -> None:
    state = play.dull(play.new(5), 14)
    state = play.auction(state, 10, {0: 1, 1: 20, 2: 2, 3: 3})
    assert peek_reasons(play, state) == ["over"] * 5


# --- Clocks ---------------------------------------------------------------------------------


def timed_out(play: Any, state: State) -> tuple[State, set[str]]:
    """Everybody's time runs out, once."""
    amounts = set()
    for seat in QE.waiting(state):
        action = QE.timeout(state, seat)
        assert QE.why_not(state, seat, action) is None
        assert isinstance(action, qe.Bid)
        amounts.add(action.amount)
        state = QE.act(state, seat, action)
    return state, amounts


def test_time_runs_out_in_each_phase(play: Any) -> None:
    opened, amounts = timed_out(play, play.new(4))
    assert amounts == {"1"}
    assert QE.public(opened).opening == "1"
    done, amounts = timed_out(play, opened)
    assert amounts == {"0"}
    assert QE.public(done).history[-1].winner == 0
    assert QE.public(done).history[-1].zeros == [1, 2, 3]

    dearer = play.bid(play.new(4), 0, 2)
    done, amounts = timed_out(play, dearer)
    assert amounts == {"1"}
    assert QE.public(done).history[-1].winner == 0

    for opening, expected in ((1, "0"), (2, "1")):
        tied = play.bid(play.new(4), 0, opening)
        for seat, amount in ((1, 9), (2, 9), (3, 5)):
            tied = play.bid(tied, seat, amount)
        assert QE.public(tied).phase == "rebid"
        done, amounts = timed_out(play, tied)
        assert amounts == {expected}
        assert QE.public(done).history[-1].winner == 3

    done, amounts = timed_out(play, play.final())
    assert amounts == {"1"}
    assert QE.public(done).history[-1].ties == [[0, 1, 2]]


@pytest.mark.parametrize("players", [3, 4, 5])
def test_a_game_that_nobody_plays_comes_to_its_end(players: int, play: Any) -> None:
    state = play.new(players)
    while QE.winners(state) is None:
        state, _ = timed_out(play, state)
    assert len(QE.public(state).history) == (15 if players == 5 else 16)


# --- Maps -----------------------------------------------------------------------------------


def test_maps_become_rules_and_actions() -> None:
    assert QE.rules({}) == qe.Rules(notes=True, first="random")
    assert QE.rules({"notes": False, "first": "host"}) == qe.Rules(notes=False, first="host")
    assert QE.action({"kind": "peek"}) == qe.Peek()
    assert QE.action({"kind": "bid", "amount": str(BIGGEST)}) == qe.Bid(amount=str(BIGGEST))


def nested() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kind": "bid"},
        {"kind": "bid", "amount": 5},
        {"kind": "bid", "amount": 5.0},
        {"kind": "bid", "amount": True},
        {"kind": "bid", "amount": None},
        {"kind": "bid", "amount": b"5"},
        {"kind": "bid", "amount": ["5"]},
        {"kind": "bid", "amount": "5\ud800"},
        {"kind": "bid", "amount": "5", "more": 1},
        {"kind": "peek", "amount": "5"},
        {"kind": "fold"},
        {"kind": ["bid"]},
        {"kind": None},
        {"amount": "5"},
        {5: 5},
        [],
        None,
        "bid",
        5,
    ],
)
def test_a_map_that_is_no_action(given: Any) -> None:
    with pytest.raises(Malformed, match=r"^An action of QE is .*\.\Z"):
        QE.action(given)


def test_a_bottomless_map_is_no_action() -> None:
    for given in ({"kind": "bid", "amount": nested()}, {"kind": nested()}, {"x": nested()}):
        with pytest.raises(Malformed):
            QE.action(given)


@pytest.mark.parametrize(
    "given",
    [
        {"notes": 1},
        {"notes": "true"},
        {"notes": None},
        {"first": "last"},
        {"first": None},
        {"notes": True, "speed": 3},
        {"first": "\ud800"},
        [1],
        None,
    ],
)
def test_a_map_that_is_no_rules(given: Any) -> None:
    with pytest.raises(Malformed, match=r"^The rules of QE are .*\.\Z"):
        QE.rules(given)


# --- Values ---------------------------------------------------------------------------------


def test_the_contract_names_the_game() -> None:
    assert (QE.name, QE.seats, tuple(QE.levels), QE.rules_version) == ("qe", (3, 5), ("normal",), 1)


def test_states_do_not_change(play: Any) -> None:
    state = play.new(4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.step = 9
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.auction.opening = 9
    before = play.seen(state)
    play.bid(state, 0, 77)
    assert play.seen(state) == before
    assert hash(state) == hash(play.new(4))


def test_no_repr_shows_an_amount_a_token_or_the_seed(play: Any) -> None:
    seed = "a seed that nobody may read"
    state = QE.new(5, 0, qe.Rules(first="host"), seed, 1, 1)
    state = play.auction(
        state, 7_654_321, {1: 7_777_771, 2: 7_777_772, 3: 7_777_779, 4: 7_777_779}, {3: 5, 4: 6}
    )
    state = play.bid(play.peek(state, 1), 1, 8_888_881)
    for seat in (0, 2, 3):
        state = play.bid(state, seat, 8_888_882)
    shown = [state, state.auction, *state.awards, state.deal, QE.public(state)]
    shown += [QE.private(state, seat) for seat in range(5)]
    shown += [qe.Bid(amount="7777771"), QE.timeout(state, 0)]
    for value in shown:
        text = repr(value)
        assert "77777" not in text
        assert "88888" not in text
        assert "7654321" not in text
        assert seed not in text
        tokens = [token for token in state.deal.tokens if f"industry='{token}'" not in text]
        assert not any(token in text for token in tokens)


def test_amounts_of_a_thousand_digits(play: Any) -> None:
    state = play.auction(play.new(4), BIGGEST, {1: BIGGEST - 1, 2: 0, 3: 1})
    assert QE.public(state).history[-1].price == str(BIGGEST)
    state = play.auction(state, 1, {0: BIGGEST, 2: 2, 3: BIGGEST - 1})
    assert QE.private(state, 0).spent == str(2 * BIGGEST)
    assert len(QE.private(state, 0).spent) == MAX_DIGITS + 1


def test_nobody_has_won_before_the_end(play: Any) -> None:
    state = play.new(4)
    assert QE.winners(state) is None
    with pytest.raises(ValueError, match="not over"):
        QE.totals(state)
