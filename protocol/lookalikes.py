"""Characters that look like a Latin letter, a digit, or each other, in most terminal fonts.

In the spirit of Unicode Technical Standard 39 but much smaller: what somebody could type, or find
in a table of characters, to sit at a table under another player's name.
"""

from __future__ import annotations

_LATIN = "abcdefghijklmnopqrstuvwxyz"

_PAIRS: dict[str, str] = {
    # Greek. Only where the shapes are the same or nearly so.
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺϳϜ": "ABEZHIKMNOPTYXCMjF",
    "αγηικνορτυχϲωϝ": "aynikvoptuxcwf",
    # Cyrillic.
    "АВЕЅІЈКМНОРСТУХҮԌԜԚЬГПӀӠҺԁҪЗБ": "ABESIJKMHOPCTYXYGWQbrnl3hdC36",
    "авеѕіјкмнорстухүԍԝԛьгпӏӡһҫзб": "abesijkmhopctyxygwqbrnl3hc36",
    # Armenian.
    "ՕՍՏԼօսոհցյզգղ": "OUSLounhgjqqn",
    # Cherokee.
    "ᎪᏴᏟᎠᎬᎫᎻᎢᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᎥ": "ABCDEJHTJKLMPRSTVWZi",
    # Lisu.
    "ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ": "BPDTGKJCZFMNLSRVHWXYAEIOU",
    # Latin: small capitals, letters of phonetics, and letters with strokes, which no
    # normalization takes away.
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ": "abcdefghijklmnoprstuvwyz",
    "ıȷɑɡɩʋɯƖǀ": "ijagiuwll",
    "øđðħłŧƀɨɵØĐÐĦŁŦɃƗƟ": "oddhltbioODDHLTBIO",
    # Dashes, quotes, spaces without ink.
    "‐‒–—―−⁃﹘ー": "---------",
    "’‘ʼʹ′`´": "'''''''",
    "\u2800": " ",
}

_ALIKE = {"0": "o", "1": "l", "i": "l", "I": "l", "|": "l", "!": "l", "5": "s"}

TABLE = str.maketrans(
    {
        source: _ALIKE.get(target, target)
        for sources, targets in _PAIRS.items()
        for source, target in zip(sources, targets, strict=True)
    }
    | _ALIKE
)
"""For `str.translate`, before case is folded and once more after it."""

SEQUENCES = (("rn", "m"), ("vv", "w"))
"""Shapes of two letters that look like one."""
