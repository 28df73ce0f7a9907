"""Texts of players: in any script, with emoji, and fit to be shown at a table and in a terminal.

In the spirit of the profiles of PRECIS (RFC 8265, RFC 8266): letters, marks, digits, punctuation, symbols and single
spaces. What is invisible or changes the direction of a text is refused, except where a script or an emoji is written
with it (UAX #31, UTS #51).
"""

import unicodedata
from typing import Final

import regex

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


def normalise_text(sent: str, max_characters: int, max_bytes: int, what: str) -> str:
    """Return a text in its normal form: composed (NFC), with single spaces inside and none around.

    Characters are counted as people do: extended grapheme clusters (UAX #29). Raise ValueError, which says what is
    wrong and never quotes the text, for one that cannot be shown; `what` names it, as "a name".

    >>> normalise_text("  Zoe\u0308   Q ", 3, 100, "a name")
    Traceback (most recent call last):
    ValueError: at most 3 characters, and 100 bytes in UTF-8
    """
    if len(sent.encode()) <= max_bytes:
        text = _SPACES.sub(" ", unicodedata.normalize("NFC", sent)).strip(" ")
        if not text:
            raise ValueError("has no visible character")
        unfit = _FIT.sub("", text, count=1)
        if unfit:
            raise ValueError(f"{_named(unfit[0])} is not allowed in {what}, or not in this place")
        if len(text.encode()) <= max_bytes and len(_CHARACTER.findall(text)) <= max_characters:
            return text
    raise ValueError(f"at most {max_characters} characters, and {max_bytes} bytes in UTF-8")


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
