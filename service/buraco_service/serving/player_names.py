"""Players' names: in any script, with emoji, and fit to be shown at a table and in a terminal.

In the spirit of the Nickname profile of PRECIS (RFC 8266): letters, marks, digits, punctuation, symbols and single
spaces. What is invisible or changes the direction of a text is refused, except where a script or an emoji is written
with it (UAX #31, UTS #51).
"""

import unicodedata
from typing import Final

import regex

MAX_CHARACTERS: Final = 64
"""As people count them: extended grapheme clusters (UAX #29)."""
MAX_BYTES: Final = 2048
"""In UTF-8: room for 64 families of emoji, and a bound for sequences of joined ones."""

# U+2800 is the blank among the braille patterns.
_SPACES: Final = regex.compile(r"[\p{Zs}\u2800]+")
_CHARACTER: Final = regex.compile(r"\X")
_EMOJI: Final = r"[\p{ExtPict}--[\p{Cn}]][\uFE0E\uFE0F\p{EMod}]?"
_CURSIVE: Final = r"[\p{jt=D}\p{jt=R}\p{jt=L}[\p{Arabic}&&\p{L}]]"
_FIT: Final = regex.compile(
    rf"""(?V1x)(?:
        # A flag spelled in tags; emoji, alone or joined to one; a keycap.
        \U0001F3F4 [\U000E0030-\U000E0039\U000E0061-\U000E007A]{{3,6}} \U000E007F
        | {_EMOJI} (?:\u200D {_EMOJI})*
        | [0-9\#*] \uFE0F \u20E3
        # What is visible by itself: no fillers, blanks or replacement characters.
        | [[\p{{L}}\p{{N}}\p{{P}}\p{{S}}]--[\p{{DI}}\p{{Cn}}\u2800\uFFFC\uFFFD\U0001D159\U00013441\U00013442]]
        | [ ]
        # Up to six marks on something visible.
        | (?<! ^ | [ ] | \p{{M}}{{6}}) [\p{{M}}--[\p{{DI}}]]
        # Variants of Han and Mongolian letters.
        | (?<=\p{{Han}}) [\uFE00-\uFE02\U000E0100-\U000E01EF]
        | (?<=[\p{{Mongolian}}&&\p{{L}}]) [\u180B-\u180F]
        # Joiners between cursive letters, behind a virama, and before the virama of a Bengali ya.
        | (?<={_CURSIVE} \p{{M}}*) [\u200C\u200D] (?={_CURSIVE})
        | (?<=\p{{ccc=9}}) [\u200C\u200D]
        | (?<=\p{{Bengali}}) \u200D (?=\u09CD)
    )*+"""
)


def normalise_player_name(sent: str) -> str:
    r"""Return a name in its normal form: composed (NFC), with single spaces inside and none around.

    Raise ValueError, which says what is wrong, for a name that cannot be shown.

    >>> normalise_player_name("  Zoe\u0308   Q ")
    'Zoë Q'
    """
    if len(sent.encode()) <= MAX_BYTES:
        name = _SPACES.sub(" ", unicodedata.normalize("NFC", sent)).strip(" ")
        if not name:
            raise ValueError("has no visible character")
        unfit = _FIT.sub("", name, count=1)
        if unfit:
            raise ValueError(f"{_named(unfit[0])} is not allowed in a name, or not in this place")
        if len(name.encode()) <= MAX_BYTES and len(_CHARACTER.findall(name)) <= MAX_CHARACTERS:
            return name
    raise ValueError(f"at most {MAX_CHARACTERS} characters, and {MAX_BYTES} bytes in UTF-8")


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
