from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest

import buraco.v1
from buraco.v1 import card_pb2, deal_pb2, event_pb2, move_pb2, view_pb2
from buraco_client import BuracoError, Texts, errors, languages, texts
from buraco_service import errors as service_errors
from buraco_service.serving.chat_messages import PHRASES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import EnumDescriptor

ROOT = Path(__file__).resolve().parents[2]
SERVICE = ROOT / "service" / "buraco_service"
TEXTS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "clients" / "texts").glob("*.json")
}
ENGLISH = TEXTS["en"]
ALIKE = {"Joker"}
"""English texts that another language may share."""
FACES, OPTIONS = card_pb2.DESCRIPTOR.name, "buraco/v1/rule_set.proto"
"""Files of the contract whose enums have no texts: a table shows cards as faces, and rule sets by their names."""

FIVE, TEN, JOKER = card_pb2.CARD_FIVE_OF_HEARTS, card_pb2.CARD_TEN_OF_SPADES, card_pb2.CARD_JOKER
CARDS = [FIVE, card_pb2.CARD_SIX_OF_HEARTS, card_pb2.CARD_SEVEN_OF_HEARTS]
RUN, SET = (deal_pb2.Meld(kind=kind, cards=CARDS) for kind in (deal_pb2.MELD_KIND_RUN, deal_pb2.MELD_KIND_SET))
NAMES = ["Ada", "Blaise", "Carla", ""]
EVENTS = {
    "dealt": (event_pb2.Dealt(deal_number=2, starter=1), "Deal 2: Blaise starts"),
    "drew": (event_pb2.Drew(seat=1), "Blaise drew from the stock"),
    "drew.card": (event_pb2.Drew(seat=1, card=JOKER), "Blaise drew Joker from the stock"),
    "took_pile": (event_pb2.TookPile(seat=3, cards=[FIVE], count=7), "Seat 4 took the pile (7 cards)"),
    "took_rest": (event_pb2.TookRest(seat=0, count=1), "Ada took the rest of the pile (1 card)"),
    "melded": (event_pb2.Melded(meld=deal_pb2.Meld(cards=CARDS)), "Ada laid a meld: 5♥ 6♥ 7♥"),
    "melded.RUN": (event_pb2.Melded(meld=RUN), "Ada laid a run: 5♥ 6♥ 7♥"),
    "melded.SET": (event_pb2.Melded(meld=SET), "Ada laid a set: 5♥ 6♥ 7♥"),
    "laid_off": (event_pb2.LaidOff(seat=2, cards=[FIVE], meld=RUN), "Carla laid off 5♥"),
    "wild_moved": (event_pb2.WildMoved(seat=2, meld=RUN), "Carla moved the wild: 5♥ 6♥ 7♥"),
    "discarded": (event_pb2.Discarded(seat=1, card=TEN), "Blaise discarded 10♠"),
    "pot_taken": (event_pb2.PotTaken(seat=1), "Blaise took a pot"),
    "pot_taken.in_flight": (event_pb2.PotTaken(seat=1, in_flight=True), "Blaise took a pot in flight"),
    "pots_joined": (event_pb2.PotsJoined(stock_count=22), "The pots become the stock (22)"),
    "opened": (event_pb2.Opened(seat=1, points=80), "Blaise opened with 80"),
    "opening_failed": (
        event_pb2.OpeningFailed(seat=1, cards=CARDS, penalty=20, next_required=95),
        "Blaise failed to open: −20, next time 95 are needed",
    ),
    "undone": (event_pb2.Undone(seat=1, cards=CARDS), "Blaise took the last play back"),
    "deal_ended": (event_pb2.DealEnded(), "The deal is over"),
    "deal_ended.CLOSED": (event_pb2.DealEnded(ending=deal_pb2.ENDING_CLOSED, seat=1), "Blaise closed"),
    "deal_ended.STOCK": (
        event_pb2.DealEnded(ending=deal_pb2.ENDING_STOCK),
        "The deal is over: the stock ran out",
    ),
    "deal_ended.MAX_TURNS": (
        event_pb2.DealEnded(ending=deal_pb2.ENDING_MAX_TURNS),
        "The deal is over: too many turns",
    ),
    "deal_ended.TWOS_BURACO": (
        event_pb2.DealEnded(ending=deal_pb2.ENDING_TWOS_BURACO, seat=1),
        "Blaise wins the match with a buraco of 2s",
    ),
    "match_ended": (
        event_pb2.MatchEnded(winner=0, scores=[2010, -5]),
        "Ada & Carla win the match, 2010 : -5",
    ),
    "match_ended.draw": (event_pb2.MatchEnded(scores=[5, 5]), "The match ends in a draw, 5 : 5"),
    "match_ended.aborted": (
        event_pb2.MatchEnded(scores=[0, 0], how=event_pb2.MATCH_END_ABORTED),
        "The match was aborted",
    ),
    "resigned": (event_pb2.Resigned(seat=2), "Carla resigned"),
    "resigned.pending": (event_pb2.Resigned(seat=2, pending=True), "Carla offers to resign"),
    "draw_offered": (event_pb2.DrawOffered(seat=3), "Seat 4 offers a draw"),
    "offer_withdrawn": (event_pb2.OfferWithdrawn(seat=1), "The offer of Blaise is no longer open"),
    "aborted": (event_pb2.Aborted(seat=0), "Ada aborted the match"),
    "seat_changed": (event_pb2.SeatChanged(seat=0, player_name="Dora"), "Dora sat down"),
    "seat_changed.left": (event_pb2.SeatChanged(seat=1), "Blaise left the table"),
    "seat_changed.removed": (event_pb2.SeatChanged(seat=1, removed=True), "Blaise was removed from the table"),
    "turn_timed_out": (event_pb2.TurnTimedOut(seat=1), "Blaise ran out of time"),
    "turn_timed_out.absent": (
        event_pb2.TurnTimedOut(seat=1, absent=True),
        "Blaise ran out of time and is absent",
    ),
    "seat_absent": (event_pb2.SeatAbsent(seat=1), "Blaise is absent"),
    "seat_returned": (event_pb2.SeatReturned(seat=1), "Blaise is back"),
    "substitute_joined": (event_pb2.SubstituteJoined(seat=1, level="greedy"), "A bot plays for Blaise"),
    "substitute_left": (event_pb2.SubstituteLeft(seat=1), "The bot that played for Blaise has left"),
    "confirmation_awaited": (event_pb2.ConfirmationAwaited(deal_number=2), "The score of deal 2 is shown"),
    "score_confirmed": (event_pb2.ScoreConfirmed(seat=1), "Blaise has seen the score"),
}
"""For each text of an event, without its prefix: an event that it is shown for, and how."""


def event_of(kind: str) -> event_pb2.Event:
    """The event of EVENTS."""
    return event_pb2.Event(**{kind.partition(".")[0]: EVENTS[kind][0]})  # type: ignore[arg-type]


def forms(text: str | dict[str, str]) -> list[str]:
    """A text in all of its plural forms."""
    return list(text.values()) if isinstance(text, dict) else [text]


def placeholders(text: str) -> set[str]:
    """The names of the placeholders of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def keys(prefix: str) -> set[str]:
    """The English keys with a prefix, without it."""
    return {key.removeprefix(prefix) for key in ENGLISH if key.startswith(prefix)}


def enums() -> Iterator[EnumDescriptor]:
    """The enums of the contract that have texts."""
    for module in pkgutil.iter_modules(buraco.v1.__path__):
        if module.name.endswith("_pb2"):
            descriptor = importlib.import_module(f"buraco.v1.{module.name}").DESCRIPTOR
            if descriptor.name not in (FACES, OPTIONS):
                yield from descriptor.enum_types_by_name.values()


def reasons_of_the_service() -> set[str]:
    """The reasons in the code of the service, without those that are names of violations.

    These are the literals and constants that are an argument `reason`, or a value of something called so.
    """
    places = {
        name: list(inspect.signature(function).parameters).index("reason")
        for name, function in inspect.getmembers(service_errors, inspect.isfunction)
        if "reason" in inspect.signature(function).parameters
    }
    # Errors are made by their class too: code, reason, message.
    places |= {"ApiError": 1, "__init__": 1}
    found: set[str] = set()
    for path in SERVICE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            values: list[ast.AST | None] = []
            if isinstance(node, ast.Call):
                values = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
                place = places.get(getattr(node.func, "attr", getattr(node.func, "id", "")))
                values += node.args[place : place + 1] if place is not None else []
            elif isinstance(node, ast.Assign):
                names = [getattr(target, "attr", getattr(target, "id", "")) for target in node.targets]
                values = [node.value] if {"reason", "_reason"} & set(names) else []
            elif isinstance(node, ast.FunctionDef):
                values = [
                    default
                    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                    if argument.arg == "reason"
                ]
            parts = [part for value in values if value for part in ast.walk(value)]
            literals = {str(part.value) for part in parts if isinstance(part, ast.Constant)}
            literals |= {str(getattr(service_errors, part.id, "")) for part in parts if isinstance(part, ast.Name)}
            found |= {literal for literal in literals if re.fullmatch("[A-Z_]+", literal)}
    return found


# ---- the data --------------------------------------------------------------------------------------


def test_languages() -> None:
    """There are texts in English, Italian, Portuguese and Spanish."""
    assert languages() == {code: TEXTS[code]["language"] for code in ("en", "es", "it", "pt")}


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_every_language_is_complete(language: str) -> None:
    """A language has every key, in the same order, the same placeholders, and plural forms where English has them."""
    assert list(TEXTS[language]) == list(ENGLISH)
    for key, text in TEXTS[language].items():
        assert type(text) is type(ENGLISH[key]), key
        assert not isinstance(text, dict) or list(text) == ["one", "other"], key
        for form in forms(text):
            assert placeholders(form) == placeholders(forms(ENGLISH[key])[0]), key
            assert form.strip() == form != "", key


def test_plural_forms_are_chosen_by_the_count() -> None:
    """Exactly the texts with plural forms have the placeholder `count`, apart from those that count names."""
    plural = {key for key, text in ENGLISH.items() if isinstance(text, dict)}
    counting = {key for key, text in ENGLISH.items() if "count" in placeholders(forms(text)[0])}
    assert plural == counting | {"event.match_ended"}


@pytest.mark.parametrize("language", sorted(TEXTS.keys() - {"en"}))
def test_nothing_is_left_in_english(language: str) -> None:
    """No text is the English one, except for words that are the same."""
    same = {key for key, text in TEXTS[language].items() if text == ENGLISH[key] and text not in ALIKE}
    assert same == set()


def test_every_enum_value_has_a_text() -> None:
    """Each value of an enum of the contract has a text, and there are no texts for others."""
    for enum in enums():
        prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
        names = {value.name.removeprefix(prefix) for value in enum.values[1:]}
        assert keys(f"{prefix.lower().rstrip('_')}.") == names


def test_every_event_and_move_has_a_text() -> None:
    """Each kind of event and move has a text, and there are no texts for others."""
    kinds = {field.name for field in event_pb2.Event.DESCRIPTOR.fields}
    assert {key for key in keys("event.") if "." not in key} == kinds
    assert keys("event.") == EVENTS.keys()
    assert keys("move.") == {field.name for field in move_pb2.Move.DESCRIPTOR.fields}


def test_every_reason_has_a_text() -> None:
    """Each reason in the code of the service has a text, and there are no texts for others."""
    assert keys("reason.") == reasons_of_the_service()


def test_every_documented_reason_has_a_text() -> None:
    """Each reason that the comments of the contract's services name has a text."""
    comments = "\n".join(
        line.partition("//")[2]
        for path in (ROOT / "protos/buraco/v1").glob("*_service.proto")
        for line in path.read_text().splitlines()
    )
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", comments)) - set(grpc.StatusCode.__members__)
    assert len(named) > 15
    assert named <= keys("reason.") | keys("violation.") | keys("phrase.")


def test_code_texts_are_of_status_codes() -> None:
    """Texts for status codes are of codes that there are, and UNKNOWN has one for all others."""
    assert {"UNKNOWN"} <= keys("code.") <= set(grpc.StatusCode.__members__)


def test_all_groups_of_keys_are_checked() -> None:
    """Every key belongs to a group that one of these tests checks, or is listed here."""
    prefixes = {enum.values[0].name.removesuffix("_UNSPECIFIED").lower() for enum in enums()}
    groups = {key.partition(".")[0] for key in ENGLISH}
    others = {"card", "code", "event", "language", "move", "phrase", "reason", "seat", "wild_place"}
    assert groups == prefixes | others
    assert keys("card.") == {"JOKER"}
    assert keys("wild_place.") == {"LEFT", "MIDDLE", "RIGHT"}


def test_phrases_are_codes() -> None:
    """Phrases have codes like values of an enum, and fit into a chat."""
    assert len(keys("phrase.")) >= 20
    assert all(re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code) for code in keys("phrase."))
    for language in TEXTS:
        assert all(len(text) <= 40 for text in Texts(language).phrases.values())


def test_the_service_knows_the_phrases() -> None:
    """The service takes exactly the phrases that have a text."""
    assert keys("phrase.") == PHRASES


# ---- the texts as they are shown -------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_events_in_words(kind: str) -> None:
    """Each text of an event is shown for such an event, with the names, cards and numbers of it."""
    assert Texts("en").event(event_of(kind), NAMES) == EVENTS[kind][1]


@pytest.mark.parametrize("language", sorted(TEXTS))
@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_events_in_every_language(kind: str, language: str) -> None:
    """The text of an event is filled in in each language."""
    shown = Texts(language).event(event_of(kind), NAMES)
    patterns = [re.sub(r"\\{\w+\\}", ".+", re.escape(form)) for form in forms(TEXTS[language][f"event.{kind}"])]
    assert any(re.fullmatch(pattern, shown) for pattern in patterns), shown
    assert "{" not in shown


def test_nothing_to_show() -> None:
    """Events and moves of a kind that a later version adds, and the rest of a pile of one card, are empty."""
    assert Texts("en").event(event_pb2.Event()) == ""
    assert Texts("en").move(move_pb2.Move()) == ""
    assert Texts("en").event(event_pb2.Event(took_rest=event_pb2.TookRest(seat=1, count=0))) == ""


def test_winners_without_names() -> None:
    """Without names the winner is one seat of the side."""
    ended = event_pb2.Event(match_ended=event_pb2.MatchEnded(winner=1, scores=[0, 9]))
    assert Texts("en").event(ended) == "Seat 2 wins the match, 0 : 9"
    assert Texts("it").event(ended, ["Ada", "Blaise"]) == "Blaise vince la partita, 0 : 9"


def test_a_kind_that_is_not_known_is_shown_without_it() -> None:
    """A meld of a kind that a later version adds is still shown as a meld."""
    meld = deal_pb2.Meld(cards=CARDS)
    meld.MergeFromString(b"\x08\x63")
    assert meld.kind == 99
    shown = Texts("en").event(event_pb2.Event(melded=event_pb2.Melded(seat=0, meld=meld)), NAMES)
    assert shown == "Ada laid a meld: 5♥ 6♥ 7♥"


def test_moves_in_words() -> None:
    """Each kind of move is shown with its cards and the number of its meld."""
    moves = [
        move_pb2.Move(draw_stock=move_pb2.DrawStock()),
        move_pb2.Move(take_pile=move_pb2.TakePile()),
        move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=CARDS)),
        move_pb2.Move(lay_off=move_pb2.LayOff(meld=1, cards=CARDS)),
        move_pb2.Move(move_wild=move_pb2.MoveWild(meld=2, wild_position=4)),
        move_pb2.Move(discard=move_pb2.Discard(card=JOKER)),
    ]
    assert [Texts("it").move(move) for move in moves] == [
        "Pesca dal tallone",
        "Raccogli gli scarti",
        "Cala 5♥ 6♥ 7♥",
        "Attacca 5♥ 6♥ 7♥ al gioco 2",
        "Sposta la matta del gioco 3",
        "Scarta Jolly",
    ]


def test_every_face() -> None:
    """Each card is shown as rank and suit, each once."""
    faces = [Texts("en").cards([card]) for card in card_pb2.Card.values()[1:]]
    assert len(set(faces)) == 53
    assert faces[::13] == ["A♠", "A♥", "A♦", "A♣", "Joker"]
    assert faces[9:13] == ["10♠", "J♠", "Q♠", "K♠"]


@pytest.mark.parametrize(
    ("language", "count", "shown"),
    [
        ("en", 0, "Ada took the pile (0 cards)"),
        ("en", 1, "Ada took the pile (1 card)"),
        ("it", 0, "Ada ha raccolto gli scarti (0 carte)"),
        ("it", 1, "Ada ha raccolto gli scarti (1 carta)"),
        ("pt", 0, "Ada pegou o lixo (0 carta)"),
        ("pt", 1, "Ada pegou o lixo (1 carta)"),
        ("pt", 2, "Ada pegou o lixo (2 cartas)"),
        ("es", 2, "Ada tomó el pozo (2 cartas)"),
    ],
)
def test_plural_forms(language: str, count: int, shown: str) -> None:
    """Numbers take the plural form that CLDR gives them: in Portuguese 0 is like 1."""
    assert Texts(language).text("event.took_pile", player="Ada", count=count) == shown


@pytest.mark.parametrize(
    ("tag", "language"),
    [("it", "it"), ("pt-BR", "pt"), ("pt_PT", "pt"), ("ES-419", "es"), ("de", "en"), ("", "en"), ("../en", "en")],
)
def test_language_of_a_tag(tag: str, language: str) -> None:
    """The first part of a language tag counts, and languages without texts are English."""
    assert Texts(tag).language == language


def test_missing_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that a language lacks is shown in English, one that English lacks as its key, whatever is in it."""
    for language, content in (("en", {"language": "English", "phrase.YES": "Yes"}), ("xx", {"language": "X"})):
        (tmp_path / f"{language}.json").write_text(json.dumps(content))
    monkeypatch.setattr(texts, "_FOLDER", tmp_path)
    monkeypatch.setattr(texts, "_read", texts._read.__wrapped__)
    incomplete = Texts("xx")
    assert incomplete.language == "xx"
    assert incomplete.text("phrase.YES") == "Yes"
    assert incomplete.text("phrase.{player}") == "phrase.{player}"


def test_values_of_enums() -> None:
    """A value is shown by its name, one of a later version by its number."""
    assert Texts("pt").value(view_pb2.NextAction, view_pb2.NEXT_ACTION_DISCARD) == "pode descartar"
    assert Texts("en").value(view_pb2.NextAction, 99) == "next_action.99"


@pytest.mark.parametrize(
    ("code", "reason", "shown"),
    [
        ("FAILED_PRECONDITION", "TABLE_FULL", "The table is full."),
        ("FAILED_PRECONDITION", "MAKART", ENGLISH["violation.MAKART"]),
        ("FAILED_PRECONDITION", "LATER_REASON", "This is not possible now."),
        ("UNAVAILABLE", "", "No connection to the game server."),
        ("DATA_LOSS", "", "Something went wrong."),
    ],
)
def test_reasons_of_errors(code: str, reason: str, shown: str) -> None:
    """An error is explained by its reason, by its code where the reason is not known, and else in general."""
    assert Texts("en").reason(BuracoError(grpc.StatusCode[code], reason)) == shown


def test_reasons_that_the_client_knows_have_texts() -> None:
    """Each reason that the client has a class of error for has a text."""
    assert errors._BY_REASON.keys() <= keys("reason.") | keys("violation.")
