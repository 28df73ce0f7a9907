"""A check of stored tables with stakes, clocks and chat against what was acknowledged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.moves import move_from_pb
from buraco_rules import Deal, IllegalMove, Match, Phase, apply_for, deal_match, mix_seed, next_match, server_seed
from buraco_service.accounts.entries import HOUSE
from buraco_service.stores.base import Store, TableNotFound
from buraco_service.tables.finishing import finish_turn
from buraco_service.tables.idempotency import answer_of_any
from buraco_service.tables.state import MatchEnd, TableState, TableValue
from buraco_service.tables.stored import CorruptTable, parse_table
from tests.soak.audit import Findings
from tests.soak.ledger import Acknowledged, Ledger
from tests.soak.online import INITIAL, OnlineNotes, SentMessage

_PAGE: Final = 500


@dataclass(slots=True)
class OnlineFindings(Findings):
    """As `Findings`, with what tables have besides moves. The last four should be 0."""

    timeouts: int = 0
    """Turns that the clock finished."""
    absences: int = 0
    confirmations: int = 0
    messages: int = 0
    settled: int = 0
    """Tables whose stakes were settled."""
    credits_lost: int = 0
    """Credits that are missing in accounts, or that should not be there."""
    unsettled: int = 0
    """Tables whose match is over, but not the holds of their stakes; and waiting ones with holds left over."""
    lost_messages: int = 0
    doubled_messages: int = 0

    @property
    def has_no_loss(self) -> bool:
        """Whether everything acknowledged is stored, once, and every credit is where it belongs."""
        lost = self.credits_lost or self.unsettled or self.lost_messages or self.doubled_messages
        return not lost and super(OnlineFindings, self).has_no_loss


async def audit_online(store: Store, ledger: Ledger, notes: OnlineNotes) -> OnlineFindings:
    """Check every table whose creation was acknowledged, and every account."""
    findings = OnlineFindings(absences=notes.absences)
    balances = Counter(dict.fromkeys([guest.id for guest in notes.guests], INITIAL))
    held: Counter[str] = Counter()
    for table_id, acknowledged in ledger.tables.items():
        findings.tables += 1
        try:
            stored = await store.load(table_id)
            table = parse_table(stored.state, stored.revision)
            log = await _read_log(store, table)
        except TableNotFound:
            findings.lost_tables += 1
            findings.lost_moves += len(acknowledged)
            findings.problems.append(f"table {table_id} is not stored")
            continue
        except CorruptTable as error:
            findings.unsound += 1
            findings.problems.append(f"table {table_id}: {error}")
            continue
        findings.finished += table.state is TableState.FINISHED
        if table_id in ledger.finished and table.state is not TableState.FINISHED:
            findings.lost_moves += 1
            findings.problems.append(
                f"table {table_id}: its match ended for its players, but is not stored as finished"
            )
        _check_moves(findings, table, log, acknowledged)
        await _check_messages(findings, store, table_id, notes.messages[table_id])
        _check_stakes(findings, table, balances, held)
    for player_id in {*balances, HOUSE}:
        account = notes.accounts[player_id]
        wrong = abs(account.balance - balances[player_id]) + abs(account.held - held[player_id])
        findings.credits_lost += wrong
        if wrong:
            findings.problems.append(f"{account} instead of {balances[player_id]}, {held[player_id]} of them held")
    total = sum([account.balance for account in notes.accounts.values()])
    if total != INITIAL * len(notes.guests):
        findings.credits_lost += abs(total - INITIAL * len(notes.guests))
        findings.problems.append(f"{total} credits of {INITIAL * len(notes.guests)}")
    return findings


def _check_moves(
    findings: OnlineFindings,
    table: TableValue,
    log: dict[int, table_pb2.StoredEntry],
    acknowledged: list[Acknowledged],
) -> None:
    """Compare the log with what was acknowledged, and play it again."""
    by_clock = {revision for revision, entry in log.items() if _has(entry, "turn_timed_out")}
    findings.timeouts += len(by_clock)
    findings.confirmations += sum([_has(entry, "score_confirmed") for entry in log.values()])
    made = {
        revision: [(move.seat, move.move.SerializeToString(deterministic=True)) for move in entry.moves]
        for revision, entry in log.items()
        if entry.moves
    }
    findings.moves += sum(map(len, made.values()))
    lost = [answer for answer in acknowledged if made.get(answer.revision) != [(answer.seat, answer.move)]]
    answered = Counter([answer.revision for answer in acknowledged])
    twice = [revision for revision, count in answered.items() if count > 1]
    extra = made.keys() - answered.keys() - by_clock
    findings.lost_moves += len(lost) + len(twice)
    findings.doubled_moves += len(extra)
    if lost or twice or extra:
        findings.problems.append(f"table {table.id}: lost {lost[:3]}, twice {twice}, not acknowledged {extra}")
    try:
        deal = _replay(table, log, by_clock)
    except (IllegalMove, _Unsound) as error:
        findings.unsound += 1
        findings.problems.append(f"table {table.id}: {error}")
        return
    if table.state is TableState.FINISHED and table.how is not MatchEnd.PLAYED and deal is not None:
        deal = deal._replace(phase=Phase.OVER, turn=deal.turn._replace(undo=()))
    if deal != table.deal:
        findings.unsound += 1
        findings.problems.append(f"table {table.id}: its log does not lead to its state")


class _Unsound(Exception):
    """A log that cannot be."""


def _replay(table: TableValue, log: dict[int, table_pb2.StoredEntry], by_clock: set[int]) -> Deal | None:
    """Return the deal to which the log leads. Raise IllegalMove and _Unsound."""
    if sorted(log) != list(range(1, table.revision + 1)):
        raise _Unsound("its log has a gap")
    deal: Deal | None = None
    for revision, entry in sorted(log.items()):
        if revision in by_clock and (
            deal is None or [move_from_pb(move.move) for move in entry.moves] != list(finish_turn(deal))
        ):
            raise _Unsound(f"revision {revision} is not how the clock finishes a turn")
        for move in entry.moves:
            if deal is None:
                raise _Unsound(f"revision {revision} is a move before the deal")
            deal, _ = apply_for(deal, move.seat, move_from_pb(move.move))
        if _has(entry, "dealt"):
            match = Match(target_score=table.target_score, starter=-1) if deal is None else next_match(deal)
            seed = mix_seed(server_seed(table.master_seed, match.deal_number), table.entropies)
            deal, _ = deal_match(table.rules, len(table.seats), seed, match)
    return deal


def _has(entry: table_pb2.StoredEntry, kind: str) -> bool:
    return any([event.WhichOneof("event") == kind for event in entry.events])


async def _read_log(store: Store, table: TableValue) -> dict[int, table_pb2.StoredEntry]:
    """Return the whole log, by revision."""
    log: dict[int, table_pb2.StoredEntry] = {}
    while page := await store.read_log(table.id, max(log, default=0), _PAGE):
        log |= {entry.revision: table_pb2.StoredEntry.FromString(entry.payload) for entry in page}
    return log


async def _check_messages(findings: OnlineFindings, store: Store, table_id: str, sent: list[SentMessage]) -> None:
    """Compare the messages of a table with those sent: each is there once, and the numbers have no gap."""
    kept: list[SentMessage] = []
    for stored in await store.read_messages(table_id, 0, _PAGE):
        message = table_service_pb2.StoredMessage.FromString(answer_of_any(stored.payload)).message
        kept.append(SentMessage(stored.number, message.seat, message.text))
    findings.messages += len(kept)
    lost, extra = set(sent) - set(kept), set(kept) - set(sent)
    findings.lost_messages += len(lost)
    findings.doubled_messages += len(extra) + len(sent) - len(set(sent))
    if [message.number for message in kept] != list(range(1, len(kept) + 1)):
        findings.lost_messages += 1
        findings.problems.append(f"table {table_id}: the numbers of its messages have a gap")
    if lost or extra:
        findings.problems.append(f"table {table_id}: messages lost {lost}, not acknowledged {extra}")


def _check_stakes(findings: OnlineFindings, table: TableValue, balances: Counter[str], held: Counter[str]) -> None:
    """Add what the table has done to accounts, and check that nothing is left to be done."""
    stakes = table.stakes
    if stakes is None:
        findings.unsettled += 1
        findings.problems.append(f"table {table.id} has no stakes")
        return
    finished = table.state is TableState.FINISHED
    findings.settled += stakes.settled
    if stakes.reserved or stakes.releasing or stakes.settled is not finished:
        findings.unsettled += 1
        findings.problems.append(f"table {table.id}: {stakes}")
    if finished:
        for seat, payout in zip(table.seats, table.payouts, strict=True):
            balances[seat.player_id] += payout
    else:
        held.update({seat.player_id: table.stake for seat in table.seats if seat.player_id})
