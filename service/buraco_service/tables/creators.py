"""Who creates tables: as one text at the table, and as the owner whose tables are counted."""

from typing import Final, NamedTuple

_PLAYER: Final = "player:"
_KEY: Final = "key:"


class Owner(NamedTuple):
    """For whom a table is created."""

    name: str | None
    """Whose tables are counted: the name of the API key, or the player; None for nobody."""
    creator: str = ""
    """Who may remove players from it; empty for nobody."""
    is_player: bool = False
    """A player who needs no API key."""


NOBODY: Final = Owner(None)


def owner_of(player_id: str, api_key: str | None, *, players_may: bool) -> Owner:
    """Return the owner by the player token and the API key of a call. `players_may`: whether players need no key.

    >>> owner_of("ada", "shop", players_may=True)
    Owner(name='shop', creator='player:ada', is_player=False)
    >>> owner_of("ada", None, players_may=True)
    Owner(name='player:ada', creator='player:ada', is_player=True)
    """
    creator = creator_of(player_id, api_key)
    if api_key is not None or not player_id or not players_may:
        return Owner(api_key, creator)
    return Owner(creator, creator, is_player=True)


def creator_of(player_id: str, api_key: str | None) -> str:
    """Return the creator by the player token, or else the API key, of a call; empty if it has neither.

    >>> creator_of("ada", "shop"), creator_of("", "shop"), creator_of("", None)
    ('player:ada', 'key:shop', '')
    """
    if player_id:
        return _PLAYER + player_id
    return "" if api_key is None else _KEY + api_key


def creator_player_id(creator: str) -> str:
    """Return the id of the player who created a table; empty if it was none.

    >>> creator_player_id("player:ada"), creator_player_id("key:shop")
    ('ada', '')
    """
    return creator.removeprefix(_PLAYER) if creator.startswith(_PLAYER) else ""
