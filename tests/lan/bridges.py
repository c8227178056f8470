"""A network of one's own: two bridges and machines on them, each in a network namespace.

Everything has a name with a random part, lives outside the machine's own network, and goes with
`end`. Machine N has the addresses 10.77.0.N and fd77::N on the first bridge, 10.77.1.N and
fd77:1::N on the second, and link-local ones.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

PATIENCE = 25.0
"""Seconds after which something that should happen has not happened."""
BRIDGES = (0, 1)


class NotPermitted(Exception):
    """There can be no network namespaces here. The message says why, for a skipped test."""


class Machine:
    """A network namespace with an interface on each bridge: eth0 and eth1."""

    def __init__(self, network: Network, number: int, bridges: Sequence[int]) -> None:
        self._network = network
        self.number = number
        self.bridges = bridges
        self.namespace = f"{network.name}-{len(network.machines) + 1}"

    @property
    def prefix(self) -> list[str]:
        """What runs a command line on this machine."""
        return ["ip", "netns", "exec", self.namespace]

    def address(self, bridge: int = 0) -> str:
        return f"10.77.{bridge}.{self.number}"

    def address6(self, bridge: int = 0) -> str:
        return f"fd77:{bridge or ''}::{self.number}".replace(":::", "::")

    def link_local(self, bridge: int = 0) -> str:
        """The address that the kernel gave the interface, without its zone."""
        shown = self.run("ip", "-6", "-o", "address", "show", "dev", f"eth{bridge}")
        return next(
            word.partition("/")[0] for word in shown.split() if word.lower().startswith("fe80:")
        )

    def run(self, *command: str) -> str:
        return _run([*self.prefix, *command])

    def popen(
        self, command: Sequence[str], *, environment: dict[str, str], output: Path
    ) -> subprocess.Popen[bytes]:
        """Starts a program on this machine; what it says on standard error goes to a file."""
        with output.open("a") as errors:
            process = subprocess.Popen(
                [*self.prefix, *command],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._network.processes.append(process)
        return process

    def move(self, number: int) -> None:
        """Gives the machine other addresses, as another network would; the old ones are gone."""
        for bridge in self.bridges:
            for address in (f"{self.address(bridge)}/24", f"{self.address6(bridge)}/64"):
                self.run("ip", "address", "del", address, "dev", f"eth{bridge}")
        self.number = number
        _batch(self.namespace, self._addresses())

    def _addresses(self) -> list[str]:
        return [
            line
            for bridge in self.bridges
            for line in (
                f"address add {self.address(bridge)}/24 dev eth{bridge}",
                f"address add {self.address6(bridge)}/64 dev eth{bridge} nodad",
            )
        ]

    def unplug(self, bridge: int = 0) -> None:
        """Pulls the cable, at the bridge's end."""
        self._network.port(self.namespace, bridge, "down")

    def plug(self, bridge: int = 0) -> None:
        self._network.port(self.namespace, bridge, "up")


class Network:
    """Two bridges in a namespace of their own, and the machines that are plugged in."""

    def __init__(self) -> None:
        if os.getuid() != 0:
            raise NotPermitted("network namespaces need root")
        if shutil.which("ip") is None:
            raise NotPermitted("iproute2 is not installed")
        self.name = f"qe-lan-{uuid.uuid4().hex[:6]}"
        self.machines: list[Machine] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self._switch = f"{self.name}-switch"
        try:
            _run(["ip", "netns", "add", self._switch])
            lines = ["link set lo up"]
            for bridge in BRIDGES:
                lines += [f"link add br{bridge} type bridge forward_delay 0 mcast_snooping 0"]
                lines += [f"link set br{bridge} up"]
            _batch(self._switch, lines)
        except AssertionError as error:
            self.end()
            raise NotPermitted(f"network namespaces are not permitted here ({error})") from None

    def machine(self, number: int, bridges: Sequence[int] = BRIDGES) -> Machine:
        machine = Machine(self, number, bridges)
        self.machines.append(machine)
        _run(["ip", "netns", "add", machine.namespace])
        # Addresses count at once: nobody else has them, so that nobody need be asked.
        settings = [
            f"echo 0 > /proc/sys/net/ipv6/conf/{scope}/{setting}"
            for scope in ("all", "default")
            for setting in ("accept_dad", "disable_ipv6")
        ]
        machine.run("sh", "-ec", "\n".join(settings))
        ports = [
            f"link add {self._port(machine.namespace, bridge)} type veth "
            f"peer name eth{bridge} netns {machine.namespace}"
            for bridge in bridges
        ]
        _batch(self._switch, ports)
        lines = ["link set lo up"]
        lines += [f"link set eth{bridge} up" for bridge in bridges]
        _batch(machine.namespace, lines + machine._addresses())
        for bridge in bridges:
            _run(["ip", "-n", self._switch, "link", "set", self._port(machine.namespace, bridge),
                  "master", f"br{bridge}", "up"])  # fmt: skip
        return machine

    def _port(self, namespace: str, bridge: int) -> str:
        return f"p{namespace.rpartition('-')[2]}-{bridge}"

    def port(self, namespace: str, bridge: int, state: str) -> None:
        _run(["ip", "-n", self._switch, "link", "set", self._port(namespace, bridge), state])

    def stop_multicast(self) -> None:
        """From now on the bridges forward nothing that is for a group, as some networks do.

        So there is no mDNS, and no IPv6 either, which finds its neighbours in that way.
        """
        for machine in self.machines:
            for bridge in machine.bridges:
                port = self._port(machine.namespace, bridge)
                _run(["bridge", "-n", self._switch, "link", "set", "dev", port,
                      "mcast_flood", "off"])  # fmt: skip

    def end(self) -> None:
        """Ends every program on the network, and takes the network away."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()
        for namespace in [*(machine.namespace for machine in self.machines), self._switch]:
            with contextlib.suppress(AssertionError):
                for pid in _run(["ip", "netns", "pids", namespace]).split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            with contextlib.suppress(AssertionError):
                _run(["ip", "netns", "del", namespace])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}"
    return done.stdout


def _batch(namespace: str, lines: Sequence[str]) -> None:
    done = subprocess.run(
        ["ip", "-n", namespace, "-batch", "-"], input="\n".join(lines) + "\n",
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"ip -n {namespace}: {done.stderr.strip()}"


def until(ready: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + patience
    while not ready():
        assert time.monotonic() < end, f"did not come: {what}"
        time.sleep(0.05)
