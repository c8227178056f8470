"""Hosts and guests on a network: found, cut off, moved, and where there is no mDNS."""

from __future__ import annotations

import re
import time

from director import OPEN, SECRET, Bid, Director, auction, seated, write
from people import Lan
from tmux import Steps, Terminal

DISCOVERED_WITHIN = 15.0
"""Seconds that a host may take until it is found after a start."""


def found(lan: Lan, machine, who: str, names: set[str]) -> list[dict]:
    """The tables that are found, as soon as these hosts are among them."""
    end = time.monotonic() + DISCOVERED_WITHIN
    while True:
        rows, said = lan.tables(machine, who)
        if names <= {row["host"] for row in rows}:
            return rows
        assert time.monotonic() < end, (rows, said)


def where(row: dict) -> str:
    """A table that was found, as one would type it: without the certificate."""
    return f"qe://{row['address']}:{row['port']}/{row['table']}"


def test_three_hosts_are_found_once_each_and_joined(lan: Lan) -> None:
    """Each has two interfaces; one speaks IPv4, one IPv6, and one has plain TCP."""
    den = lan.host(lan.network.machine(11), "den", "--players", "3", "--bots", "1")
    lan.host(lan.network.machine(12), "attic", "--players", "4", "--bind", "::", "--port", "7400")
    lan.host(lan.network.machine(13), "cellar", "--players", "5", "--no-tls")
    guest = lan.network.machine(31)
    rows = found(lan, guest, "ana", {"den", "attic", "cellar"})
    assert sorted(row["host"] for row in rows) == ["attic", "cellar", "den"], "once each"
    assert len({row["host_id"] for row in rows}) == 3
    by_name = {row["host"]: row for row in rows}
    assert {name: row["port"] for name, row in by_name.items()} == {
        "den": 7373, "attic": 7400, "cellar": 7373,
    }  # fmt: skip
    assert {name: row["tls"] for name, row in by_name.items()} == {
        "den": True, "attic": True, "cellar": False,
    }  # fmt: skip
    assert re.match("10.77.[01].11", by_name["den"]["address"])
    assert ":" in by_name["attic"]["address"]

    # Whatever was found can be joined as it is written, and by each address that a host has.
    for name, row in by_name.items():
        joined = lan.visit(guest, "ana", row["invitation"], "join", f"Ana-{name}")
        assert (joined.get("id"), joined.get("fp")) == (row["host_id"], row["fp"]), joined
        assert "seat" in joined
    attic = lan.network.machines[1]
    for address in (
        f"[{attic.address6(0)}]:7400",
        f"[{attic.address6(1)}]:7400",
        f"[{attic.link_local(0)}%eth0]:7400",
        f"[{attic.link_local(1)}%eth1]:7400",
    ):
        seen = lan.visit(guest, "bo", address, "look")
        assert seen.get("name") == "attic", (address, seen)
    printed = {line.split()[-1] for line in den.lines if line.startswith(("listening", "also"))}
    assert {"10.77.0.11:7373", "10.77.1.11:7373"} <= printed
    (invitation,) = [line.split()[1] for line in den.lines if line.startswith("invitation ")]
    assert lan.visit(guest, "bo", invitation, "look")["id"] == by_name["den"]["host_id"]

    # A host that goes says so, and one that is cut off is not waited for.
    den.kill()
    lan.network.machines[2].unplug(0)
    lan.network.machines[2].unplug(1)
    assert [row["host"] for row in found(lan, guest, "ana", {"attic"})] == ["attic"]


def script(number: int, name: str, stage: int | None) -> Bid:
    amount = 10 * number if stage is None else 1_000_000 * number + 1000 * len(name) + 7
    return str(amount), amount


def insist(terminal: Terminal) -> Steps:
    """Presses Enter now and then, as long as a bid is asked for."""
    while SECRET in terminal.screen.todo:
        pressed = time.monotonic()
        terminal.keys("Enter")
        yield (
            lambda pressed=pressed: (
                SECRET not in terminal.screen.todo or time.monotonic() - pressed > 1
            )
        )
    yield lambda: True


def test_a_cable_is_pulled_in_mid_auction_and_put_back(lan: Lan) -> None:
    den = lan.network.machine(11)
    lan.host(den, "den", "--players", "3")
    machines = {name: lan.network.machine(31 + n) for n, name in enumerate(("Ana", "Bo", "Cyril"))}
    players: dict[str, Terminal] = {}
    for name, machine in machines.items():
        players[name] = lan.open(machine, name, "join", den.address(), "--name", name)
        players[name].wait_for(seated, "a seat")
    ana = players["Ana"]
    for terminal in players.values():
        terminal.wait_for("auction 1/16")
    director = Director(lan.tmux, players, script)

    # To an auction in which it is Ana's to bid in secret, before anybody else.
    number = 2
    director.play(until=number)
    while OPEN in ana.look().todo:
        number += 1
        director.play(until=number)
    (opener,) = [name for name, terminal in players.items() if OPEN in terminal.look().todo]
    lan.tmux.act({players[opener]: write(players[opener], str(10 * number), 10 * number)})
    director.bids.append((number, None, opener, 10 * number))
    ana.wait_for(lambda screen: SECRET in screen.todo)

    machines["Ana"].unplug()
    _, amount = script(number, "Ana", 0)
    lan.tmux.act({ana: write(ana, str(amount), amount)})
    lan.lost(ana)
    assert auction(ana.screen) == number
    for name in ("Bo", "Cyril"):
        assert "CONNECTION LOST" not in players[name].look()
    machines["Ana"].plug()
    ana.wait_for(lambda screen: "CONNECTION LOST." not in screen, "the banner goes")
    # Either the network has brought the bid after all, or what she typed waits for her Enter.
    lan.tmux.act({ana: insist(ana)})
    director.play(until=number + 2)
    ana.keys("C-q")
    assert ana.status() == 0
    code = re.search(r"--table ([A-Z]{4})", ana.scrolled())
    assert code is not None
    back = lan.visit(machines["Ana"], "Ana", f"qe://{den.address()}/{code[1]}", "resume", "Ana")
    own = [(seen["auction"], seen["stage"], int(seen["amount"])) for seen in back["you"]["known"]
           if seen["source"] == "own"]  # fmt: skip
    assert [each for each in own if each[0] == number] == [(number, 0, amount)]
    assert len(own) == len(set(own))
    assert [row["auction"] for row in back["game"]["history"]] == list(range(1, number + 2))


def test_a_host_comes_back_under_another_address(lan: Lan) -> None:
    machine = lan.network.machine(11)
    host = lan.host(machine, "den", "--players", "3", "--bots", "1", "--bot-delay", "0")
    ana, bob = lan.network.machine(31), lan.network.machine(32)
    old = machine.address()
    terminal = lan.open(ana, "Ana", "join", old, "--name", "Ana")
    terminal.wait_for(seated, "a seat")
    (before,) = found(lan, bob, "Bob", {"den"})
    bobs = lan.visit(bob, "Bob", where(before), "join", "Bob")
    terminal.wait_for("auction 1/16")

    host.kill()
    machine.move(14)
    host.start()
    lan.lost(terminal)
    assert auction(terminal.screen) == 1, "the table stays in sight"
    after = [row for row in found(lan, bob, "Bob", {"den"}) if row["stage"] == "playing"]
    assert [row["host_id"] for row in after] == [before["host_id"]], "one line, as before"
    assert re.match(r"10\.77\.[01]\.14", after[0]["address"])
    assert after[0]["fp"] == before["fp"]

    # Bob finds it by mDNS. What he has pinned, and his seat, are the host's, not the address's.
    again = lan.visit(bob, "Bob", where(after[0]), "resume", "Bob")
    assert (again.get("id"), again.get("seat")) == (bobs["id"], bobs["seat"]), again

    # Ana typed the old address: that is where she is told that nobody answers.
    terminal.keys("C-q")
    assert terminal.status() == 0
    nobody = lan.visit(ana, "Ana", old, "look")
    assert "error" in nobody, nobody
    screen = lan.open(ana, "Ana", "join", machine.address(), "--name", "Ana", title="again")
    assert "You" in screen.wait_for("auction 1/16")

    # Somebody else at the old address is not believed.
    stranger = lan.network.machine(11)
    lan.host(stranger, "stranger", "--players", "3")
    ana.run("ip", "neighbour", "flush", "all")
    refused = lan.visit(ana, "Ana", old, "look")
    assert "changed" in refused, refused
    assert refused["changed"]


def test_without_multicast_addresses_are_typed(lan: Lan) -> None:
    machine, guest = lan.network.machine(11), lan.network.machine(31)
    lan.network.stop_multicast()
    host = lan.host(machine, "den", "--players", "3")
    rows, said = lan.tables(guest, "ana")
    assert rows == []
    assert len(said.strip().splitlines()) == 1, said
    assert "address" in said
    assert lan.visit(guest, "ana", machine.address(), "join", "Ana")["seat"] == 0
    assert len(host.log.splitlines()) <= 1


def test_a_machine_without_a_network_runs_a_host(lan: Lan) -> None:
    """Only the loopback is up: nothing can be announced, and nothing fails."""
    machine = lan.network.machine(11, bridges=())
    host = lan.host(machine, "alone", "--players", "3")
    assert host.lines[0] == "listening on 127.0.0.1:7373"
    assert lan.visit(machine, "ana", "127.0.0.1", "join", "Ana")["seat"] == 0
    rows, said = lan.tables(machine, "ana")
    assert "network" in said
    assert rows == []
    assert len(host.log.splitlines()) <= 1
