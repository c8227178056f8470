"""A game of three from the first tile to the last, a spectator, and another game after it."""

from __future__ import annotations

import hashlib
import re

import pytest
from director import OVER, Bid, Director, auction, seated, table_code
from tmux import Screen, Steps

from protocol import qe
from server.games.qe import rules, views

SEED = "three terminals"
NAMES = ("Ana", "Bo", "Cy")
ZEROS = {(2, "Ana"), (2, "Bo"), (2, "Cy"), (5, "Ana"), (11, "Bo"), (16, "Cy")}
TIED = 4


def script(number: int, name: str, stage: int | None) -> Bid:
    """Openings are small; secret bids have seven figures, which are nowhere else."""
    if stage is None:
        return str(1000 + number * 37), 1000 + number * 37
    if (number, name) in ZEROS:
        return "0", 0
    if number == TIED and stage == 0:
        return "4747474", 4_747_474
    if number == 7:
        million = {"Ana": 7_310_001, "Bo": 7_320_002, "Cy": 7_330_003}[name]
        return f"{million / 1_000_000}m", million
    if number == 13 and name == "Bo":
        return "271,828,182,845", 271_828_182_845
    figures = int(hashlib.sha256(f"{number}/{name}/{stage}".encode()).hexdigest(), 16)
    amount = 1_000_000 + figures % 9_000_000
    return str(amount), amount


def expected(seats: list[str], bids: list[tuple[int, int | None, str, int]]) -> qe.Game:
    """The end of this game, by the rules."""
    state = rules.new(3, None, qe.Rules(), f"{SEED}/1", 1)
    for number, _, name, amount in bids:
        assert state.auction is not None
        assert state.auction.number == number
        state = rules.act(state, seats.index(name), qe.Bid(amount=str(amount)))
    return views.public(state)


@pytest.mark.long
@pytest.mark.timeout(150)
def test_three_players_and_a_spectator(tmux, run_host, open_terminal) -> None:
    host = run_host("--players", "3", "--seed", SEED)
    players = {}
    for name in NAMES:
        players[name] = open_terminal(name, "join", *host.at, "--name", name)
        players[name].wait_for(seated, "a seat")
    for terminal in players.values():
        terminal.wait_for("auction 1/16")
    code = table_code(players["Ana"].screen)
    watcher = open_terminal("watcher", "watch", *host.at, "--table", code)
    watcher.wait_for("YOU ARE WATCHING.")
    play = Director(tmux, players, script, audience=[watcher])

    def look_at_the_ledger(name: str, screen: Screen) -> Steps:
        if auction(screen) == 16:
            terminal = players[name]
            terminal.keys("Tab")
            yield lambda: "YOUR LEDGER" in terminal.screen and " 15 " in terminal.screen
            terminal.keys("Tab")
            yield lambda: auction(terminal.screen) == 16

    play.play(slow=(3, 4, 9, 16), between=look_at_the_ledger)
    assert sorted(play.seats) == sorted(NAMES)

    final = expected(play.seats, play.bids)
    check_the_count(play)
    check_instructions(play)
    check_sealed(play)
    check_awards(play, final)
    check_ledger(play)
    check_tie(play)
    check_blind_final(play)
    check_end(play, final)
    check_nothing_written(play)
    check_place_in_the_next_game(play)


def shown(play: Director, name: str, number: int, words: str) -> list[Screen]:
    """The screens of an auction on which the instruction line had these words."""
    return [
        screen for screen in play.seen[name] if auction(screen) == number and words in screen.todo
    ]


def check_the_count(play: Director) -> None:
    for terminal, screens in play.seen.items():
        numbers = [n for screen in screens if (n := auction(screen)) is not None]
        assert sorted(set(numbers)) == list(range(1, 17)), terminal
        assert numbers == sorted(numbers), f"{terminal} went back"
        assert any("auction 9/16   round 3/5" in screen.header for screen in screens), terminal


def check_instructions(play: Director) -> None:
    for number in range(1, 16):
        opener = play.auctioneer(number)
        opening = script(number, opener, None)[1]
        (screen, *_) = shown(play, opener, number, "YOU OPEN.")
        assert "Everybody sees" in screen.todo
        assert "at least 1" in screen.todo.lower()
        assert shown(play, opener, number, "YOU OPENED.")
        for name in NAMES:
            if name == opener:
                continue
            (screen, *_) = shown(play, name, number, "YOUR SECRET BID.")
            assert f"Only {opener} will see it." in screen.todo
            assert re.search(rf"(Any number but|Not) {opening:,}\.", screen.todo), screen.todo
            assert "Zero: no VP" in screen.todo
        assert shown(play, "watcher", number, f"Only {opener} will see them.")


def check_sealed(play: Director) -> None:
    """In auction 9 one seals before the other: all see that, nobody sees what."""
    opener = play.auctioneer(9)
    first, second = (name for name in NAMES if name != opener)
    sealed = shown(play, first, 9, "SEALED.")
    assert sealed
    assert "[ SEALED ]" in sealed[-1]
    amount = script(9, first, 0)[1]
    for screen in sealed:
        assert f"{amount:,}" not in screen.text
        assert str(amount) not in screen.text
    for other in (opener, second, "watcher"):
        assert any(
            auction(screen) == 9 and re.search(rf"{first} .*sealed", screen.text)
            for screen in play.seen[other]
        ), other


def check_awards(play: Director, final: qe.Game) -> None:
    """What stands on the screens between two auctions."""
    for sale in final.history[:-1]:
        opener = play.auctioneer(sale.auction)
        last = {name: amount for number, _, name, amount in play.bids if number == sale.auction}
        winner = play.seats[sale.winner]
        after = sale.auction + 1
        eyes = award(play, opener, after)
        for amount in last.values():
            assert f"{amount:,}" in eyes, f"auction {sale.auction}\n{eyes.text}"
        if winner == opener:
            assert "price is known to all" in eyes
        else:
            assert re.search(rf"{winner} .*{last[winner]:,}.*WINS", eyes.text), eyes.text
        for name in (*NAMES, "watcher"):
            if name == opener:
                continue
            others = award(play, name, after)
            bought = "You buy it" if name == winner else f"{winner} buys it"
            assert bought in others
            assert f"{opener} is looking at the cheques." in others
            if winner == opener:
                assert f"{last[winner]:,}" in others
            elif name == winner:
                assert f"You pay {last[name]:,}." in others


def award(play: Director, name: str, after: int) -> Screen:
    """The award on a screen, while the next opening is written."""
    found = [s for s in play.seen[name] if auction(s) == after and "goes to" in s]
    assert found, f"{name} saw no award before auction {after}"
    return max(found, key=lambda screen: screen.lasted)


def ledgers(play: Director, name: str) -> list[Screen]:
    return [screen for screen in play.seen[name] if "YOUR LEDGER" in screen]


def check_ledger(play: Director) -> None:
    """The last auctioneer finds in the ledger what every bid was."""
    opener = play.auctioneer(15)
    (*_, ledger) = ledgers(play, opener)
    for number, _, _, amount in play.bids:
        if number == 15:
            assert f"{amount:,}" in ledger


def check_tie(play: Director) -> None:
    opener = play.auctioneer(TIED)
    tied = [name for name in NAMES if name != opener]
    for name in tied:
        other = tied[tied[0] == name]
        (screen, *_) = shown(play, name, TIED, "A TIE: BID AGAIN.")
        assert f"You tied with {other}." in screen.todo
        assert "Lower is fine." in screen.todo
    screens = shown(play, opener, TIED, "A TIE.")
    assert any(screen.text.count("4,747,474") == 2 for screen in screens)
    assert any(screen.text.count("TIED, bids again") == 2 for screen in screens)
    assert shown(play, "watcher", TIED, "A tie!")


def check_blind_final(play: Director) -> None:
    for name in NAMES:
        screens = shown(play, name, 16, "EVERYONE BIDS BLIND.")
        screen = next(screen for screen in screens if "no opening bid" in screen)
        assert "A TIE, AND NOBODY GETS IT." in screen.todo
        assert "THE LAST TILE   no auctioneer" in screen.header
        assert "with this bid" in screen
    assert shown(play, "watcher", 16, "All bid blind.")


def check_end(play: Director, final: qe.Game) -> None:
    """The reveal, then the winner, who is out, and the sheet, on all screens."""
    result = final.result
    assert result is not None
    for terminal in play.everybody:
        screen = terminal.wait_for("THE CHEQUES ARE TURNED UP")
        assert "GAME OVER   3 players, 16 auctions" in screen.header
        terminal.keys("Space")
    order = sorted(result.seats, key=lambda line: (line.rank is None, line.rank or 0))
    (winner,) = result.winners
    (out,) = (line for line in result.seats if line.eliminated)
    for terminal in play.everybody:
        viewer = play.viewer(terminal)
        screen = terminal.wait_for("TOTAL")
        name = play.seats[winner]
        won = f"{name.upper()} ({final.seats[winner].nation}) WINS"
        won = "YOU WIN" if name == viewer else won
        won += f" WITH {result.seats[winner].total} VP"
        assert " ".join(won) in screen, screen.text
        who = "You printed" if play.seats[out.seat] == viewer else f"{play.seats[out.seat]} printed"
        (loud,) = (line for line in screen.lines if who in line)
        assert re.search(rf"{int(out.spent):,} and (is|are) OUT, with {out.total} VP", loud)
        heads = [
            ("You" if play.seats[line.seat] == viewer else play.seats[line.seat])
            + f" {final.seats[line.seat].nation}"
            for line in order
        ]
        assert re.split(r"  +", screen.line(heads[0]).strip()) == heads
        for title, figures in {
            "companies": [line.companies for line in order],
            "nationalization": [line.nationalization for line in order],
            "monopolization": [line.monopolization for line in order],
            "diversification": [line.diversification for line in order],
            "least spent": [line.least_spent for line in order],
        }.items():
            assert cells(screen, title) == [str(figure or "-") for figure in figures]
        assert cells(screen, "SPENT") == [f"{int(line.spent):,}" for line in order]
        places = {1: "1st", 2: "2nd", 3: "3rd", None: "OUT"}
        assert cells(screen, "TOTAL") == [
            word for line in order for word in (str(line.total), places[line.rank])
        ]
        assert "honest" in screen


def cells(screen: Screen, title: str) -> list[str]:
    """The figures of a row of the score sheet."""
    line = screen.line(f" {title} ")
    return line.replace(title, "", 1).split()


def check_nothing_written(play: Director) -> None:
    """Not even for a moment, between two looks, was a secret amount written to a wrong terminal."""
    for terminal in play.everybody:
        before, _, _ = terminal.written.decode().partition(OVER)
        assert "auction 16/16" in before
        viewer = play.viewer(terminal)
        known = {s.amount for s in play.secrets if viewer in (s.name, s.opener)}
        for secret in play.secrets:
            if secret.canary and secret.amount not in known:
                for look in secret.looks:
                    assert look not in before, f"{terminal.name} was told {secret}"


def check_place_in_the_next_game(play: Director) -> None:
    for terminal in play.players.values():
        assert terminal.look().line("p play again")
        terminal.keys("p")
    for terminal in play.players.values():
        viewer = play.viewer(terminal)
        others = [f"{name} in" for name in NAMES if name != viewer]
        screen = terminal.wait_for(
            lambda screen, others=others: all(one in screen.line("NEXT GAME") for one in others),
            "the others in for the next game",
        )
        assert "You in" in screen.line("NEXT GAME")
