"""What a receiver may know, decided independently of the code that redacts: every card sent has to be accounted for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from buraco.v1 import card_pb2, event_pb2, table_pb2, view_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_rules import VIOLATION_TEXT, Deal, Violation, commitment, server_seed
from buraco_service.tables.state import TableValue
from tests.service.refusals import Refusal
from tests.service.table_server import Update

_CARD: Final = card_pb2.Card.DESCRIPTOR
_PUBLIC: Final = {
    "dealt.upcard",
    "took_pile.cards",
    "melded.meld.cards",
    "laid_off.cards",
    "laid_off.meld.cards",
    "wild_moved.meld.cards",
    "discarded.card",
    "opening_failed.cards",
    "undone.cards",
    "undone.meld.cards",
}
"""Where events show cards that everybody saw."""
_OWN: Final = {"drew.card", "took_rest.cards", "pot_taken.cards"}
"""Where events show cards to the seat that got them."""


def contained(message: Message, path: str = "") -> Iterator[tuple[str, str, list[Any]]]:
    """All cards ("card") and bytes ("bytes") in a message, with the path of the field that holds them."""
    for field, value in message.ListFields():
        here = f"{path}.{field.name}" if path else field.name
        values = list(value) if field.is_repeated else [value]
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in values:
                if isinstance(inner, Message):
                    yield from contained(inner, here)
        elif field.enum_type is _CARD:
            yield "card", here, values
        elif field.type == FieldDescriptor.TYPE_BYTES:
            yield "bytes", here, values


class Secrets:
    """Texts that are meant for some receivers alone, by the names that a test has for them."""

    def __init__(self) -> None:
        self.known: dict[str, frozenset[str]] = {}
        self.checked = 0
        """Messages that were looked at."""

    def keep(self, text: str, *readers: str) -> None:
        """From now on nobody but the readers may be sent the text."""
        assert text
        self.known[text] = frozenset(readers)

    def check(self, message: object, receiver: str) -> None:
        """A message, refusal or text that somebody was sent."""
        text = str(message)
        found = [secret for secret, readers in self.known.items() if receiver not in readers and secret in text]
        assert not found, (found, receiver, text)
        self.checked += 1


class Watched:
    """The truth of one table, revision by revision, and what may be sent of it."""

    def __init__(self) -> None:
        self.tables: dict[int, TableValue] = {}
        self.checked = 0
        """Messages that were looked at."""

    def note(self, table: TableValue) -> None:
        """The table as it is stored at its newest revision."""
        self.tables[table.revision] = table

    def check_update(self, update: Update, seat: int | None) -> None:
        """A message that came down a stream to a seat, or (None) to everybody."""
        kind, message = update
        if kind == "state":
            self.check_table(message.table)
            if message.HasField("view"):
                self.check_view(message.view, seat, message.table.revision)
        elif kind == "events":
            self.check_events(message.events, seat, message.revision)
        elif kind == "turn":
            assert seat is not None
            self.check_view(message.view, seat, message.revision)
            self.check_moves(message.moves, seat, message.revision)
        elif kind == "view":
            self.check_view(message.view, seat, message.revision)
        elif kind == "answer" and message.HasField("accepted"):
            self.check_events(message.accepted.events, seat, message.accepted.revision)
        elif kind == "answer":
            self.check_error(message.error)
        else:
            assert not list(contained(message)), update

    def check_table(self, table: table_pb2.Table) -> None:
        """The public form of a table: of the seeds only the commitment, no cards but those of a score that is shown."""
        truth = self.tables[table.revision]
        number = 1 if truth.deal is None else truth.deal.match.deal_number
        shown = commitment(server_seed(truth.master_seed, number))
        found = [
            part for part in contained(table) if not part[1].startswith("awaiting_confirmation.score.sides.melds.")
        ]
        assert found == [("bytes", "commitment", [shown])]
        if table.HasField("awaiting_confirmation"):
            assert truth.deal is not None
            assert truth.deal.ending
        for held in truth.seats:
            assert not held.token_id or held.token_id not in str(table)
        self.checked += 1

    def check_view(self, view: view_pb2.View, seat: int | None, revision: int) -> None:
        """A view: the own hand, melds, what can be seen of the pile, and what binds the turn."""
        deal = self._deal(revision)
        assert (view.seat if view.HasField("seat") else None) == seat
        visible: Sequence[int] = deal.pile
        if deal.rules.closed_pile:
            visible = () if deal.turn.must_meld else deal.pile[-1:]
        expected = {
            "hand": [] if seat is None else list(deal.hands[seat]),
            "sides.melds.cards": [card for side in deal.sides for meld in side.melds for card in meld.cards],
            "pile": list(visible),
            "locked_card": [deal.turn.locked_card] if deal.turn.locked_card else [],
            "must_meld": [deal.turn.must_meld] if deal.turn.must_meld else [],
        }
        found: dict[str, list[int]] = {}
        for kind, path, values in contained(view):
            assert kind == "card", path
            found.setdefault(path, []).extend(values)
        assert found == {path: cards for path, cards in expected.items() if cards}
        names = [held.player_name for held in self.tables[revision].seats]
        assert [shown.player_name for shown in view.seats] == names
        self.checked += 1

    def check_arrangements(
        self, answer: pb.TableServiceArrangeMeldResponse, seat: int, cards: Sequence[int], meld: int | None
    ) -> None:
        """Arrangements: of the cards asked about and those of the meld, which everybody sees, and of no others."""
        deal = self._deal(answer.revision)
        base = () if meld is None else deal.sides[seat % 2].melds[meld].cards
        for arrangement in answer.arrangements:
            assert sorted(arrangement.meld.cards) == sorted([*base, *cards])
        assert bool(answer.arrangements) != bool(answer.violations)
        self.checked += 1

    def check_moves(self, moves: Sequence[Message], seat: int, revision: int) -> None:
        """Legal moves: of the seat to move only, and with cards of its hand only."""
        deal = self._deal(revision)
        assert not moves or seat == deal.seat_to_move
        for move in moves:
            for _, _, cards in contained(move):
                assert set(cards) <= set(deal.hands[seat])
        self.checked += 1

    def check_events(self, events: Sequence[event_pb2.Event], seat: int | None, revision: int) -> None:
        """Events of one change that was one move: each card is public, or the receiver's own."""
        for event in events:
            for kind, path, values in contained(event):
                self._check_field(event, kind, path, values, seat, revision)
        self.checked += 1

    def _check_field(
        self, event: event_pb2.Event, kind: str, path: str, values: list[Any], seat: int | None, revision: int
    ) -> None:
        before, after = self.tables[revision - 1].deal, self._deal(revision)
        name = event.WhichOneof("event")
        assert name is not None
        inner = getattr(event, name)
        if path in _OWN:
            assert before is not None
            assert inner.seat == seat == before.seat_to_move
            # The clock draws and discards in one change.
            kept = {*after.hands[before.seat_to_move], *after.pile}
            assert set(values) <= kept or after.ending
        elif path == "dealt.hand":
            assert seat is not None
            assert values == list(after.hands[seat])
        elif path == "dealt.commitment":
            (shown,) = values
            assert shown == commitment(server_seed(self.tables[revision].master_seed, after.match.deal_number))
        elif path == "deal_ended.score.sides.melds.cards":
            assert before is not None
            assert self._ended(revision)
            # All lay there before, but for what the move that ended the deal laid: of the hand of who made it.
            lay = [card for side in before.sides for meld in side.melds for card in meld.cards]
            assert set(values) <= {*lay, *before.hands[before.seat_to_move]}
        elif path in ("deal_ended.hands.cards", "deal_ended.seed"):
            assert self._ended(revision), "nothing is revealed before the deal is over"
            if kind == "bytes":
                assert before is not None
                assert values == [server_seed(self.tables[revision].master_seed, before.match.deal_number)]
        else:
            assert path in _PUBLIC, path
            if path == "took_pile.cards":
                assert before is not None
                assert values == list(before.pile[-1:] if before.rules.closed_pile else before.pile)
            elif path == "dealt.upcard":
                assert values == list(after.pile)

    def _ended(self, revision: int) -> bool:
        before, after = self.tables[revision - 1].deal, self._deal(revision)
        return bool(after.ending) or (before is not None and before.match.deal_number < after.match.deal_number)

    def check_error(self, error: pb.PlayError) -> None:
        """A refusal of moves on a stream: fixed texts, and which move it was."""
        self._check_words(error.message, [Violation(violation) for violation in error.violations])
        self._check_metadata(dict(error.metadata))

    def check_refusal(self, refusal: Refusal, *, of_moves: bool = True) -> None:
        """The same of a call."""
        assert not refusal.fields
        self._check_words(refusal.message, [Violation[name] for name, _ in refusal.broken])
        if of_moves:
            self._check_metadata(refusal.metadata)
        else:
            assert not refusal.metadata

    def _check_words(self, text: str, violations: Sequence[Violation]) -> None:
        assert violations
        assert text == "; ".join([f"{violation.name}: {VIOLATION_TEXT[violation]}" for violation in violations])
        self.checked += 1

    def _check_metadata(self, metadata: dict[str, str]) -> None:
        assert metadata == {"moveIndex": "0"}

    def _deal(self, revision: int) -> Deal:
        deal = self.tables[revision].deal
        assert deal is not None
        return deal
