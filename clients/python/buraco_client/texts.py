"""What a table shows, in the language of its player: the texts of clients/texts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from buraco.v1 import deal_pb2, event_pb2, move_pb2
from buraco_client.cards import JOKER, rank_of, suit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from google.protobuf.internal.enum_type_wrapper import _EnumTypeWrapper

    from buraco.v1.card_pb2 import Card
    from buraco.v1.event_pb2 import Event, MatchEnded
    from buraco.v1.move_pb2 import Move
    from buraco_client.errors import BuracoError

# One text, or its plural forms `one` and `other`.
_Text: TypeAlias = str | dict[str, str]

_DEFAULT: Final = "en"
# Beside this module in an installed package, in clients/ in a checkout.
_INSTALLED: Final = Path(__file__).with_name("text_files")
_FOLDER: Final = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[2] / "texts"
# Numbers with the plural form `one`, as CLDR has it; in other languages 1 alone.
_ONE: Final = {"pt": (0, 1)}


def languages() -> dict[str, str]:
    """Return the languages that there are texts in: their codes and their own names.

    >>> languages()
    {'en': 'English', 'es': 'Español', 'it': 'Italiano', 'pt': 'Português'}
    """
    return {code: cast("str", _read(code)["language"]) for code in sorted(path.stem for path in _FOLDER.glob("*.json"))}


class Texts:
    """The texts of one language. Where it lacks one, the English text is shown, and where that is missing, the key.

    >>> italian = Texts("it-IT")
    >>> italian.language, italian.violation(move_pb2.VIOLATION_PILE_EMPTY), italian.phrases["THANKS"]
    ('it', 'Il monte degli scarti è vuoto.', 'Grazie!')
    """

    def __init__(self, language: str) -> None:
        """`language` is a tag such as `pt-BR`, of which the first part counts; English if there are no texts in it."""
        code = language.replace("_", "-").partition("-")[0].lower()
        self.language = code if code in languages() else _DEFAULT
        self._texts = _read(_DEFAULT) | _read(self.language)

    def text(self, key: str, **values: object) -> str:
        """Return the text of a key, with values for its placeholders; `count` chooses the plural form.

        >>> Texts("en").text("event.took_pile", player="Ada", count=7)
        'Ada took the pile (7 cards)'
        """
        text = self._texts.get(key)
        if text is None:
            return key
        if isinstance(text, dict):
            text = text["one" if values["count"] in _ONE.get(self.language, (1,)) else "other"]
        return text.format_map(values)

    def value(self, enum: _EnumTypeWrapper[Any], number: int) -> str:
        """Return the text of a value of one of the contract's enums, such as `BuracoKind` or `NextAction`.

        >>> Texts("pt").value(deal_pb2.BuracoKind, deal_pb2.BURACO_KIND_CLEAN)
        'canastra limpa'
        """
        group, name = _names(enum, number)
        return self.text(f"{group}.{name}")

    def violation(self, violation: move_pb2.Violation.ValueType) -> str:
        """Return why a move is illegal.

        >>> Texts("es").violation(move_pb2.VIOLATION_CLOSE_NEEDS_CLEAN)
        'Para cerrar, tu bando necesita una canasta limpia.'
        """
        return self.value(move_pb2.Violation, violation)

    def reason(self, error: BuracoError) -> str:
        """Return why a call failed, by its reason; by its status code if it has none, or one without a text.

        >>> import grpc
        >>> from buraco_client.errors import BuracoError
        >>> Texts("en").reason(BuracoError(grpc.StatusCode.FAILED_PRECONDITION, "TABLE_FULL"))
        'The table is full.'
        >>> Texts("en").reason(BuracoError(grpc.StatusCode.UNAVAILABLE))
        'No connection to the game server.'
        """
        keys = (f"violation.{error.reason}", f"reason.{error.reason}", f"code.{error.code.name}")
        return self.text(next((key for key in keys if key in self._texts), "code.UNKNOWN"))

    @property
    def phrases(self) -> dict[str, str]:
        """The phrases of the chat by their codes, in the order of a menu.

        >>> list(Texts("en").phrases.items())[:2]
        [('HELLO', 'Hello!'), ('GOOD_LUCK', 'Good luck!')]
        """
        return {key.removeprefix("phrase."): self.text(key) for key in self._texts if key.startswith("phrase.")}

    def cards(self, cards: Iterable[Card.ValueType]) -> str:
        """Return the faces of cards.

        >>> Texts("it").cards([10, 26, 53])
        '10♠ K♥ Jolly'
        """
        return " ".join(self.text("card.JOKER") if card == JOKER else _face(card) for card in cards)

    def move(self, move: Move) -> str:
        """Return what a move does, as on a button; empty for a kind that this client does not know.

        Melds are counted from 1.

        >>> from buraco.v1.move_pb2 import LayOff, Move
        >>> Texts("en").move(Move(lay_off=LayOff(meld=0, cards=[18])))
        'Lay off 5♥ on meld 1'
        """
        kind = move.WhichOneof("move")
        if kind is None:
            return ""
        values = self._values(getattr(move, kind))
        return self.text(f"move.{kind}", **values, number=values.get("meld", 0) + 1)

    def event(self, event: Event, names: Sequence[str] = ()) -> str:
        """Return what happened, as in the log of a table; empty for an event that has nothing to show.

        `names` are those of the players, by seat; a seat without one is shown by its number, from 1.

        >>> from buraco.v1.event_pb2 import Discarded, Drew, Event
        >>> Texts("it").event(Event(drew=Drew(seat=1)), ["Ada", "Blaise"])
        'Blaise ha pescato dal tallone'
        >>> Texts("en").event(Event(discarded=Discarded(seat=0, card=18)))
        'Seat 1 discarded 5♥'
        """
        kind = event.WhichOneof("event")
        happened = getattr(event, kind) if kind else None
        if happened is None or (kind == "took_rest" and not happened.count):
            return ""
        values = self._values(happened)
        if kind == "match_ended":
            winners = [self._name(names, seat) for seat in range(happened.winner, max(len(names), 2), 2)]
            values |= {"players": " & ".join(winners), "count": len(winners)}
            values["score"] = " : ".join(map(str, happened.scores))
        else:
            values["player"] = values.get("player_name") or self._name(names, values.get("starter", values.get("seat")))
        key = f"event.{kind}"
        variant = f"{key}.{_VARIANTS[kind](happened)}" if kind in _VARIANTS else key
        return self.text(variant if variant in self._texts else key, **values)

    def _values(self, message: Any) -> dict[str, Any]:
        """Return the fields of a message, cards as they are shown: its own, else those of its meld."""
        fields = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
        card = [fields["card"]] if fields.get("card") else []
        cards = fields["cards"] if fields.get("cards") else getattr(fields.get("meld"), "cards", ())
        return fields | {"card": self.cards(card), "cards": self.cards(cards)}

    def _name(self, names: Sequence[str], seat: int | None) -> str:
        if seat is None:
            return ""
        return (names[seat] if seat < len(names) else "") or self.text("seat", number=seat + 1)


@cache
def _read(language: str) -> dict[str, _Text]:
    return cast("dict[str, _Text]", json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8")))


def _names(enum: _EnumTypeWrapper[Any], number: int) -> tuple[str, str]:
    """Return an enum's name and a value's name as keys have them: `buraco_kind`, `CLEAN`."""
    prefix = enum.keys()[0].removesuffix("UNSPECIFIED")
    value = enum.DESCRIPTOR.values_by_number.get(number)
    return prefix.lower().rstrip("_"), value.name.removeprefix(prefix) if value else str(number)


def _face(card: Card.ValueType) -> str:
    ranks = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
    return ranks[rank_of(card) - 1] + "♠♥♦♣"[suit_of(card)]


def _match_variant(ended: MatchEnded) -> str:
    if ended.HasField("winner"):
        return ""
    return "aborted" if ended.how == event_pb2.MATCH_END_ABORTED else "draw"


# Texts of an event that depend on more than its kind, by the part that is added to its key.
_VARIANTS: Final[dict[str, Callable[[Any], str]]] = {
    "drew": lambda drew: "card" if drew.card else "",
    "melded": lambda melded: _names(deal_pb2.MeldKind, melded.meld.kind)[1],
    "pot_taken": lambda taken: "in_flight" if taken.in_flight else "",
    "deal_ended": lambda ended: _names(deal_pb2.Ending, ended.ending)[1],
    "match_ended": _match_variant,
    "seat_changed": lambda changed: "" if changed.player_name else "removed" if changed.removed else "left",
    "turn_timed_out": lambda timed_out: "absent" if timed_out.absent else "",
    "resigned": lambda resigned: "pending" if resigned.pending else "",
}
