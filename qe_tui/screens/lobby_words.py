"""The words of the lobby: what to do, who sits where, how it is played, what to tell others."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from protocol.invitation import Where
from protocol.messages import Room, SeatInfo
from protocol.text import printable
from qe_tui.i18n import _, ngettext
from qe_tui.model import Snapshot
from qe_tui.screens.form import Wishes, clock_name

FEWEST = 3
"""Players that a game needs."""


def missing(room: Room) -> str | None:
    """What a start still lacks, as a sentence."""
    short = FEWEST - sum(seat.kind != "open" for seat in room.seats)
    if short > 0:
        return ngettext(
            "A game needs three players: {n} more. a adds a computer.",
            "A game needs three players: {n} more. a adds a computer.",
            short,
        ).format(n=short)
    return None


def headline(snapshot: Snapshot) -> str:
    """What to do, or whom one waits for."""
    room = snapshot.room
    if snapshot.lost is not None:
        return _("Wait.  This is how it stood when the connection went.")
    open_seats = sum(seat.kind == "open" for seat in room.seats)
    waits = ngettext("{n} seat is open.", "{n} seats are open.", open_seats).format(n=open_seats)
    if room.standing:
        return _("It starts by itself when all seats are taken.  {waits}").format(waits=waits)
    if snapshot.hosting:
        if lacks := missing(room):
            return lacks
        if not open_seats:
            return _("Everybody is here.  s starts the game.")
        starts = ngettext(
            "s starts the game without it.", "s starts the game without them.", open_seats
        )
        return f"{waits}  {starts}"
    host = "" if room.host is None else printable(room.seats[room.host].name)
    sentence = (
        _("{host} starts the game.").format(host=host) if host else _("The host starts the game.")
    )
    if room.me is None:
        watching = _("You are watching.")
        if snapshot.broker is not None:
            watching = _("Watching through the broker {broker}.").format(
                broker=printable(snapshot.broker)
            )
            open_seats = 0  # not for who cannot ask for one
        sentence = watching + "  " + sentence
    return sentence + ("  " + waits if open_seats else "")


def seat(room: Room, seat: SeatInfo) -> Content:
    """A seat's row."""
    mine = seat.seat == room.me
    name = printable(seat.name)
    match seat.kind:
        case "open":
            return Content.styled(
                line(" ", str(seat.seat + 1), _("open"), _("whoever joins")), "$text-muted"
            )
        case "bot" | "stand_in":
            what = _("computer")
            if seat.level:
                what += f", {printable(seat.level)}"
        case _:
            what = _("away") if not seat.connected else ""
    if mine:
        what = _("you")
    if seat.seat == room.host:
        what += (", " if what else "") + _("host of the table")
    return Content.styled(
        line(">" if mine else " ", str(seat.seat + 1), name, what), "bold" if mine else ""
    )


def line(mark: str, number: str, name: str, what: str) -> str:
    """The columns of a row."""
    return f" {mark or ' '} {set_cell_size(number, 5)} {set_cell_size(name, 22)} {what}"


def rules(room: Room, high: bool) -> Content:
    """How it will be played; on a `high` screen a line for each."""
    wishes = Wishes.of(room)
    pairs = [
        (_("clock"), clock_name(wishes.options.turn_seconds)),
        (_("notes"), _("kept") if wishes.notes else _("none, by memory")),
        (_("first auctioneer"), _("the host") if wishes.first == "host" else _("random")),
        (_("password"), _("set") if room.locked else _("none")),
    ]
    if wishes.options.start_when_full and not room.standing:
        pairs.append((_("starts"), _("when full")))
    width = max(cell_len(label) for label, _value in pairs) if high else 0
    return Content("\n" if high else "  ").join(
        [
            Content.assemble(
                (f"{set_cell_size(label, width or cell_len(label))} ", "$text-muted"), value
            )
            for label, value in pairs
        ]
    )


def tell(snapshot: Snapshot, where: Where | None, most: int) -> Content:
    """What to tell others: the addresses where this client runs the host, else how they come to
    the table. `where` is the host's address as it is known here."""
    flags = "" if where is None or where.tls else " --no-tls"
    if not snapshot.addresses:
        address = _("ADDRESS")
        if where is not None and where.address not in ("localhost", "127.0.0.1", "::1"):
            address = printable(where.short)
        others = _("Others type") if snapshot.broker is None else _("To play:")
        command = f"qe join {address} --table {printable(snapshot.table)}{flags}"
        return Content.assemble((others + "  ", "$text-muted"), (command, "bold $secondary"))
    commands = Content("\n").join(
        [
            Content.styled(f"qe join {printable(address)}{flags}", "bold $secondary")
            for address in snapshot.addresses[:most]
        ]
    )
    hidden = len(snapshot.addresses) - most
    pieces: list[Content | tuple[str, str]] = [commands]
    if hidden > 0:
        more = ngettext("and {n} more", "and {n} more", hidden).format(n=hidden)
        pieces.append(("   " + more, "$text-muted"))
    if snapshot.room.locked:
        pieces.append(("\n" + _("and the password: they will be asked for it"), "$text-muted"))
    return Content.assemble(*pieces)
