from __future__ import annotations

import base64
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import deal_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec import events
from buraco_codec.moves import move_from_pb
from buraco_codec.views import view_to_pb
from buraco_rules import (
    PRESETS,
    PRESETS_BY_ID,
    Deal,
    Discard,
    DrawStock,
    IllegalMove,
    LayMeld,
    LayOff,
    Move,
    RuleSet,
    apply,
    legal_moves,
    server_seed,
    view_of,
)
from buraco_rules.events import DealEnded, Drew, PotTaken, TookRest
from tests.rules.redealing import Kept, redealt
from tests.service.announcing import Announcing
from tests.service.endings import offer_draw, resign
from tests.service.knowledge import Watched
from tests.service.refusals import Refusal, refused
from tests.service.rules_server import event_to_pb, redacted
from tests.service.scripts import Step, dealt, played, steps_to
from tests.service.table_server import (
    END,
    SEED,
    Play,
    Player,
    Replica,
    Updates,
    contents,
    create,
    join,
    join_raw,
    public_view,
    serving,
    sign_in,
    start,
    unchanged,
    watch,
)

EVERY_RULE_SET = pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
BOTH_SIZES = pytest.mark.parametrize("seats", [2, 4])


@BOTH_SIZES
@EVERY_RULE_SET
def test_view_does_not_depend_on_hidden_cards(rules: RuleSet, seats: int) -> None:
    """However the cards that a seat cannot see lie, its view is the same, and so are the moves it may make."""
    rng = random.Random(seats)
    changed = 0
    for step in played(dealt(rules, seats), rng):
        deal = step.before
        for seat in (None, *range(seats)):
            other = redealt(deal, seat, rng)
            changed += other != deal
            assert view_to_pb(view_of(other, seat)) == view_to_pb(view_of(deal, seat))
        other = redealt(deal, deal.seat_to_move, rng)
        assert legal_moves(other) == legal_moves(deal)
    assert changed > 100


@BOTH_SIZES
@EVERY_RULE_SET
def test_events_do_not_depend_on_hidden_cards(rules: RuleSet, seats: int) -> None:
    """Whatever the hidden cards are, a receiver gets the same events of the same move."""
    rng = random.Random(10 + seats)
    compared = changed = 0
    for step in played(dealt(rules, seats), rng):
        for receiver in (None, *range(seats)):
            other = redealt(step.before, receiver, rng, what_stays(step, receiver))
            try:
                _, happened = apply(other, step.move)
            except IllegalMove:
                # With another hand the move may leave the seat that makes it in a dead end.
                assert receiver != step.seat
                continue
            assert sent(happened, receiver) == sent(step.events, receiver)
            compared += 1
            changed += other != step.before
    assert compared > 300
    assert changed > compared / 2


def what_stays(step: Step, receiver: int | None) -> Kept:
    """What is not hidden from the receiver, or no longer after the move: what it names, and what it reveals."""
    cards: tuple[int, ...] = ()
    if isinstance(step.move, (LayMeld, LayOff)):
        cards = step.move.cards
    elif isinstance(step.move, Discard):
        cards = (step.move.card,)
    own = receiver == step.seat
    return Kept(
        cards,
        hands=any(isinstance(event, DealEnded) for event in step.events),
        stock_top=own and any(isinstance(event, Drew) for event in step.events),
        first_pot=own and any(isinstance(event, PotTaken) for event in step.events),
        pile=own and any(isinstance(event, TookRest) for event in step.events),
    )


def sent(events: Sequence[Any], receiver: int | None) -> list[Any]:
    """Events as a receiver gets them."""
    return [redacted(event_to_pb(event), receiver) for event in events]


class Game:
    """A match over gRPC in which everything that anybody is sent is looked at."""

    def __init__(self, replica: Replica, rng: random.Random) -> None:
        self.replica = replica
        self.rng = rng
        self.watched = Watched()
        self.players: list[Player] = []
        self.player_tokens: dict[int, str] = {}
        """By seat; the others have none."""
        self.streams: list[Play] = []
        self.watches: list[tuple[Updates, int | None]] = []
        self.refusals = self.undos = self.offers = 0

    async def play(self, rules: RuleSet, seats: int) -> None:
        """Random moves to the end of one deal, by calls and streams, with illegal ones and undos in between."""
        table = await create(self.replica, rule_set_id=rules.id, seats=seats)
        self.watches.append((watch(self.replica, table.id, views=True), None))
        await self.note(table.id)
        for number in range(seats):
            if number % 2:
                self.player_tokens[number] = (await sign_in(self.replica, f"guest {number}")).player_token
            token = self.player_tokens.get(number)
            self.players.append(await join(self.replica, table.id, player_token=token, player_name=f"player {number}"))
            await self.note(table.id)
        revision = 1 + seats
        self.streams = [await player.play(0, legal_moves=True, views=True) for player in self.players]
        self.watches.append((self.players[-1].watch(0, legal_moves=True, views=True), self.players[-1].seat))
        deal = await self.look_at(revision)
        while not deal.ending:
            if self.rng.random() < 0.2:
                await self.try_what_is_illegal(deal)
            if self.rng.random() < 0.05:
                await self.ask(deal)
            if self.rng.random() < 0.05:
                revision += 1
                await self.offer(revision)
            answer = await self.change(deal)
            revision += 1
            seat, deal = deal.seat_to_move, await self.look_at(revision)
            if answer is not None:
                self.watched.check_view(answer.view, seat, revision)
                self.watched.check_events(answer.events, seat, revision)
        for updates in [*self.streams, *[updates for updates, _ in self.watches]]:
            assert await updates.next() is END

    async def note(self, table_id: str) -> None:
        """Take down what is stored."""
        self.watched.note(await self.replica.table(table_id))

    async def look_at(self, revision: int) -> Deal:
        """Read what everybody is sent up to a revision, the views and the turn of the seat to move included."""
        receivers: list[tuple[Updates, int | None]] = [*zip(self.streams, range(4), strict=False), *self.watches]
        sent = [(await updates.until(revision), seat) for updates, seat in receivers]
        # Only now it is certain that the change has been stored.
        await self.note(self.players[0].table_id)
        for messages, seat in sent:
            for update in messages:
                self.watched.check_update(update, seat)
        deal = self.watched.tables[revision].deal
        assert deal is not None
        for updates, seat in receivers:
            is_to_move = not deal.ending and seat == deal.seat_to_move
            for kind in ("view", "turn") if is_to_move else ("view",):
                update = await updates.next()
                assert (update.kind, update.message.revision) == (kind, revision)
                self.watched.check_update(update, seat)
        return deal

    async def change(self, deal: Deal) -> pb.SubmitMovesResponse | pb.UndoMoveResponse | None:
        """A random move, or an undo, by a call (then its answer is returned) or by the stream."""
        seat = deal.seat_to_move
        player, stream = self.players[seat], self.streams[seat]
        by_call = self.rng.random() < 0.3
        if deal.turn.undo and self.rng.random() < 0.4:
            self.undos += 1
            if by_call:
                return await player.undo()
            await stream.undo()
            return None
        move = self.rng.choice(legal_moves(deal))
        if by_call:
            return await player.submit(move)
        await stream.submit(move)
        return None

    async def offer(self, revision: int) -> None:
        """A seat offers a draw, or withdraws that if it is still open."""
        self.offers += 1
        table = await offer_draw(self.players[0], withdraw=bool(self.watched.tables[revision - 1].offers))
        await self.look_at(revision)
        self.watched.check_table(table)

    async def try_what_is_illegal(self, deal: Deal) -> None:
        """A move with the cards of somebody else, at the right time or not, by a call and by the stream."""
        seat = self.rng.randrange(deal.seats)
        other = deal.hands[(seat + 1) % deal.seats] or (1,)
        cards = tuple(self.rng.choices(other, k=3))
        moves: list[Move] = [LayMeld(cards), LayOff(0, cards[:1]), Discard(self.rng.choice(other)), LayMeld(cards * 9)]
        if seat != deal.seat_to_move:
            moves.append(DrawStock())
        move = self.rng.choice(moves)
        try:
            if seat == deal.seat_to_move:
                apply(deal, move)
                return  # one may hold what another holds
        except IllegalMove:
            pass
        self.refusals += 1
        self.watched.check_refusal(await refused(self.players[seat].submit(move)))
        request = await self.streams[seat].submit(move)
        self.watched.check_error(await self.streams[seat].denied(request))
        if Counter(cards) - Counter(deal.hands[seat]):
            self.watched.check_refusal(await refused(self.players[seat].arrange(cards)), of_moves=False)

    async def ask(self, deal: Deal) -> None:
        """All that can be asked without changing anything."""
        for player in self.players:
            look = await player.look()
            self.watched.check_view(look.view, player.seat, look.revision)
            legal = await player.legal()
            self.watched.check_moves(legal.moves, player.seat, legal.revision)
            assert [move_from_pb(move) for move in legal.moves] == (
                legal_moves(deal) if player.seat == deal.seat_to_move else []
            )
            hand, melds = deal.hands[player.seat], deal.sides[player.seat % 2].melds
            if len(hand) >= 3:
                cards = self.rng.sample(hand, 3)
                for meld in (None, *range(len(melds))):
                    self.watched.check_arrangements(await player.arrange(cards, meld), player.seat, cards, meld)
        for seat, token in self.player_tokens.items():
            back = await join_raw(self.replica, self.players[0].table_id, token)
            self.watched.check_table(back.table)
            self.watched.check_view(
                (await self.players[seat]._replace(token=back.token).look()).view, seat, back.table.revision
            )
        look = await public_view(self.replica, self.players[0].table_id)
        self.watched.check_view(look.view, None, look.revision)


def assert_nothing_in_logs(stream: Announcing, secrets: Sequence[str]) -> None:
    """Every line is made of known parts, none of which can hold a card; and no secret is anywhere in the text."""
    lines = stream.lines()
    assert len([line for line in lines if line["event"] == "call"]) > 50
    forms = {
        "event": r"call|serving|stopping|stopped|refusals not logged",
        "method": r"/buraco\.v1\.(Table|Account)Service/[A-Za-z]+",
        "caller": r"operator",
        "code": r"[A-Z_]+",
        "reason": r"[A-Z_]+",
        "request_id": r"[0-9a-f]{12}-[0-9a-f]+",
        "table_id": r"[0-9a-f]{32}",
        "level": r"info|debug|warning",
        "seconds": r"\d+(\.\d+)?(e-\d+)?",
        "timestamp": r"[-0-9T:.]+Z",
    }
    for line in lines:
        if line["event"] == "call":
            assert set(line) <= set(forms)
        for key, value in line.items():
            if key in forms:
                assert re.fullmatch(forms[key], str(value)), (key, value)
    text = stream.getvalue()
    for secret in secrets:
        assert secret not in text


async def play_and_look(path: Path, log_stream: Announcing, rules: RuleSet, seats: int) -> None:
    """A game, everything that anybody was sent, what it left in the log, and what it left in the store."""
    async with serving(path, log_format="json") as replica:
        game = Game(replica, random.Random(seats))
        await game.play(rules, seats)
        assert game.watched.checked > 500
        assert game.refusals > 10
        assert game.offers > 1
        tokens = [*[player.token for player in game.players], *game.player_tokens.values()]
        seeds = [SEED, server_seed(SEED, 1)]
        forms = [form for seed in seeds for form in (seed.hex(), base64.b64encode(seed).decode(), repr(seed)[2:-1])]
        assert_nothing_in_logs(log_stream, [*tokens, *forms, *[json.dumps(form)[1:-1] for form in forms]])
        signatures = [token.rpartition(".")[2] for token in tokens]
        rows = repr(contents(replica))
        raw = b"".join([file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name)])
        for secret in (*tokens, *signatures):
            assert secret not in rows
            assert secret.encode() not in raw


@pytest.mark.parametrize(
    ("rule_set", "seats"), [(rules.id, 2 + number % 2 * 2) for number, rules in enumerate(PRESETS)]
)
async def test_nothing_hidden_is_told(tmp_path: Path, log_stream: Announcing, rule_set: str, seats: int) -> None:
    """No message, refusal or log line of a match shows anybody a card that is hidden from them."""
    await play_and_look(tmp_path / "tables.db", log_stream, PRESETS_BY_ID[rule_set], seats)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule_set", "seats"), [(rules.id, 4 - number % 2 * 2) for number, rules in enumerate(PRESETS)]
)
async def test_nothing_hidden_is_told_to_others(
    tmp_path: Path, log_stream: Announcing, rule_set: str, seats: int
) -> None:
    """The same with the other number of seats."""
    await play_and_look(tmp_path / "tables.db", log_stream, PRESETS_BY_ID[rule_set], seats)


@pytest.mark.parametrize("rule_set", ["closed", "open"])
async def test_nothing_hidden_is_told_by_an_early_end(tmp_path: Path, rule_set: str) -> None:
    """Who ends a match early shows nobody a card by it: events, views and table stay as hidden as they were."""
    deal = dealt(PRESETS_BY_ID[rule_set])
    # In the middle of taking a closed pile its rest is hidden from all; where a meld was laid it could be taken back.
    steps = steps_to(
        lambda deal: bool(deal.turn.must_meld if deal.rules.closed_pile else deal.turn.undo), deal, random.Random(1)
    )
    async with serving(tmp_path / "tables.db") as replica:
        players = await start(replica, rule_set_id=rule_set)
        for step in steps:
            await players[step.seat].submit(step.move)
        watched = Watched()
        watched.note(await replica.table(players[0].table_id))
        receivers: list[tuple[Updates, int | None]] = [(watch(replica, players[0].table_id), None)]
        receivers += [(player.watch(), player.seat) for player in players]
        receivers += [(await player.play(), player.seat) for player in players]
        for updates, seat in receivers:
            watched.check_update(await updates.next(), seat)
        before = [await player.view() for player in players]
        table = await resign(players[0])
        watched.note(await replica.table(table.id))
        watched.check_table(table)
        for updates, seat in receivers:
            watched.check_update(await updates.next(), seat)
            assert await updates.next() is END
        for player in players:
            look = await player.look()
            watched.check_view(look.view, player.seat, look.revision)
            shown = before[player.seat]
            shown.phase = deal_pb2.PHASE_OVER
            shown.ClearField("next_actions")
            # The streams have ended, or are about to.
            for held in (*shown.seats, *look.view.seats):
                held.present = False
            assert look.view == shown
            watched.check_update(await player.watch().next(), player.seat)
            assert not (await player.legal()).moves
        look = await public_view(replica, players[0].table_id)
        watched.check_view(look.view, None, look.revision)
        assert watched.checked > 20


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """What takes a kind of event off the list of what may be seen."""

    def take_off(kind: str) -> None:
        monkeypatch.delitem(events.VISIBLE, kind)
        events._redacted.cache_clear()

    yield take_off
    events._redacted.cache_clear()


def logged(stream: Announcing, refusal: Refusal, kind: str) -> bool:
    """Whether a caller got nothing but the id under which the log names the kind of event."""
    assert refusal.short == ("INTERNAL", "INTERNAL")
    assert refusal.message == "internal error"
    (line,) = [line for line in stream.lines("unforeseen error") if line["error_id"] == refusal.metadata["errorId"]]
    return f"UnlistedEvent: it is not listed who may see what of an event ({kind})" in line["exception"]


async def test_unlisted_event_is_not_committed(
    tmp_path: Path, log_stream: Announcing, unlisted: Callable[[str], None]
) -> None:
    """A move whose event is of no listed kind fails with an error that is logged, and changes nothing."""
    async with serving(tmp_path / "tables.db", log_format="json") as replica:
        players = await start(replica)
        mover = players[(await players[0].view()).seat_to_move]
        stream = await mover.play()
        await stream.expect("state")
        unlisted("drew")
        with unchanged(replica):
            assert logged(log_stream, await refused(mover.submit(DrawStock())), "drew")
            await stream.submit(DrawStock())
            assert logged(log_stream, await refused(stream.next()), "drew")


async def test_unlisted_event_is_not_told(
    tmp_path: Path, log_stream: Announcing, unlisted: Callable[[str], None]
) -> None:
    """Watchers of a table at which something happens that is of no listed kind get an error, and nothing of it."""
    async with serving(tmp_path / "tables.db", log_format="json") as replica:
        table = await create(replica)
        first = await join(replica, table.id)
        streams = [watch(replica, table.id), first.watch()]
        for stream in streams:
            await stream.expect("state")
        unlisted("seat_changed")
        await join(replica, table.id)
        for stream in streams:
            assert logged(log_stream, await refused(stream.next()), "seat_changed")
