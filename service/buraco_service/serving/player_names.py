"""Players' names, in the spirit of the Nickname profile of PRECIS (RFC 8266)."""

from typing import Final

from buraco_service.serving.visible_text import normalise_text

MAX_CHARACTERS: Final = 64
"""As people count them: extended grapheme clusters (UAX #29)."""
MAX_BYTES: Final = 2048
"""In UTF-8: room for 64 families of emoji, and a bound for sequences of joined ones."""


def normalise_player_name(sent: str) -> str:
    """Return a name in its normal form: composed (NFC), with single spaces inside and none around.

    Raise ValueError, which says what is wrong, for a name that cannot be shown.

    >>> normalise_player_name("  Zoe\u0308   Q ")
    'Zoë Q'
    """
    return normalise_text(sent, MAX_CHARACTERS, MAX_BYTES, "a name")
