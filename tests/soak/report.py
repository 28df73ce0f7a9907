"""The figures of one load, as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.soak.audit import Findings
from tests.soak.faults import Faults
from tests.soak.growth import growth_after
from tests.soak.ledger import Ledger, Timed
from tests.soak.meters import Reading
from tests.soak.online_audit import OnlineFindings
from tests.soak.replicas import Replica

_MIB = 1 << 20
_WIDTH = 1000
# The client cancels its own streams when it is done with them.
_CANCELLED = ("PlayTable: CANCELLED", "WatchTable: CANCELLED")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of one load."""

    store: str
    tables_at_a_time: int
    seconds: float
    calm: float
    """When the last fault had ended, by `time.monotonic`."""
    ledger: Ledger
    faults: Faults
    replicas: Sequence[Replica]
    before: Reading
    after: Reading
    replica_seconds: float
    """Processor time of the replicas."""
    driver_seconds: float
    """Processor time of the bots' process."""
    counters: Counter[str]
    """The counters of the replicas' metrics, summed."""
    findings: Findings
    error_lines: Sequence[str]
    """Errors of the replicas; see `Replica.error_lines`."""

    @property
    def has_passed(self) -> bool:
        """Whether nothing was lost, no error reached a bot, and no replica logged one."""
        return self.findings.has_no_loss and not self.ledger.errors and not self.error_lines


def report(outcome: Outcome) -> str:
    """Return the table."""
    rows = [*_rates(outcome), *_latencies(outcome), *_errors(outcome), *_memory(outcome), *_storage(outcome)]
    rows += _losses(outcome)
    width = max(len(name) for name, _ in rows)
    kind = "online tables" if isinstance(outcome.findings, OnlineFindings) else "tables"
    title = f"{outcome.store}: {outcome.tables_at_a_time} {kind} at a time for {outcome.seconds:.0f} s, 2 replicas"
    lines = [title, *(f"  {name:<{width}}  {value}" for name, value in rows)]
    problems = [*outcome.findings.problems[:10], *[line[:_WIDTH] for line in outcome.error_lines[:3]]]
    lines += [f"  ! {problem}" for problem in problems]
    return "\n".join(lines)


def _rates(outcome: Outcome) -> list[tuple[str, str]]:
    ledger, moves = outcome.ledger, max(1, len(outcome.ledger.moves))
    calls = sum(count for name, count in ledger.attempts.items() if not name.endswith((": opened", *_CANCELLED)))
    kills = [fault.kill for fault in outcome.faults.past]
    store_seconds = outcome.after.processor - outcome.before.processor
    return [
        ("replicas killed / stopped in order", f"{kills.count(True)} / {kills.count(False)}"),
        ("moves/s acknowledged", f"{moves / outcome.seconds:.0f}"),
        ("calls/s (and moves on streams)", f"{calls / outcome.seconds:.0f}"),
        (
            "processor time a move, ms",
            f"replicas {1e3 * outcome.replica_seconds / moves:.2f}, store {1e3 * store_seconds / moves:.2f}",
        ),
        ("the bots' process was busy for", f"{outcome.driver_seconds / outcome.seconds:.0%} of the time"),
        ("bytes down a move on streams", f"{ledger.received / max(1, ledger.played):.0f}, all seats together"),
    ]


def _latencies(outcome: Outcome) -> list[tuple[str, str]]:
    faults = outcome.faults
    within = [move for move in outcome.ledger.moves if faults.during(*move)]
    without = [move for move in outcome.ledger.moves if not faults.during(*move)]
    away = sum(fault.end - fault.begin for fault in faults.past)
    return [
        ("latency of a move, ms", _quantiles(without)),
        ("… while a replica is away", f"{_quantiles(within)} ({away:.0f} s in all)"),
    ]


def _quantiles(moves: Sequence[Timed]) -> str:
    if not moves:
        return "none"
    took = sorted(1e3 * (move.end - move.begin) for move in moves)
    middle, high = took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)]
    return f"p50 {middle:.1f}, p99 {high:.1f}, max {took[-1]:.0f}; {len(took)} moves"


def _errors(outcome: Outcome) -> list[tuple[str, str]]:
    ledger = outcome.ledger
    opened = sum(count for name, count in ledger.attempts.items() if name.endswith(": opened"))
    expected = (": OK", ": opened", *_CANCELLED)
    tries = {name: count for name, count in ledger.attempts.items() if not name.endswith(expected)}
    return [
        ("errors that reached a bot", _counts(ledger.errors)),
        ("errors before the client's next try", _counts(tries)),
        ("moves that came too late (contested seats)", str(ledger.conflicts)),
        (
            "lost races in the store, operations of it",
            f"{outcome.counters['buraco_store_conflicts_total']}, {outcome.counters['buraco_store_operations_total']}",
        ),
        ("streams opened again", str(opened - ledger.streams)),
    ]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "0"


def _memory(outcome: Outcome) -> list[tuple[str, str]]:
    rows = []
    for replica in outcome.replicas:
        last = [sample for sample in replica.samples if sample.life == replica.lives and sample.at > outcome.calm]
        text = f"{replica.samples[0].resident / _MIB:.0f} at first"
        if len(last) > 2:
            text += (
                f", {last[-1].resident / _MIB:.0f} at the end, where it grew by {growth_after(last):+.1f} a minute"
                f" for {last[-1].at - last[0].at:.0f} s"
            )
        rows.append((f"memory of {replica.name}, MiB", text))
    return rows


def _storage(outcome: Outcome) -> list[tuple[str, str]]:
    tables, moves = max(1, outcome.findings.tables), max(1, outcome.findings.moves)
    grown, logged = outcome.after.size - outcome.before.size, outcome.after.logged - outcome.before.logged
    size = f"{grown / _MIB:.1f} MiB more: {grown / tables / 1024:.1f} KiB a table, {grown / moves:.0f} B a move"
    rows = [("size of the store", size)]
    if logged:
        rows.append(("its durable log", f"{logged / _MIB:.1f} MiB more: {logged / moves:.0f} B a move"))
    return rows


def _losses(outcome: Outcome) -> list[tuple[str, str]]:
    findings = outcome.findings
    rows = [
        ("tables", f"{findings.tables}, {findings.finished} of them finished, {findings.moves} moves"),
        ("tables lost / unsound", f"{findings.lost_tables} / {findings.unsound}"),
        ("moves lost / made twice", f"{findings.lost_moves} / {findings.doubled_moves}"),
        ("errors in the replicas' logs", str(len(outcome.error_lines))),
    ]
    if isinstance(findings, OnlineFindings):
        rows += [
            ("turns finished by the clock", f"{findings.timeouts}; players stayed away {findings.absences} times"),
            ("scores confirmed, messages", f"{findings.confirmations}, {findings.messages}"),
            ("credits lost", str(findings.credits_lost)),
            ("stakes settled / left unsettled", f"{findings.settled} / {findings.unsettled}"),
            ("messages lost / made twice", f"{findings.lost_messages} / {findings.doubled_messages}"),
        ]
    return rows
