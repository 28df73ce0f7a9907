from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest

from buraco.v1 import (
    card_pb2,
    deal_pb2,
    event_pb2,
    move_pb2,
    rule_set_pb2,
    rules_service_pb2,
    score_pb2,
    table_pb2,
    table_service_pb2,
    view_pb2,
)
from buraco_client import BuracoClient, BuracoError

if TYPE_CHECKING:
    from tests.client.scripted import Script

HOUSE = rule_set_pb2.RuleSet(id="house", jokers=4)
SNAPSHOT = deal_pb2.Snapshot(seats=2)


async def test_token_goes_with_the_calls_of_a_seat(client: BuracoClient, script: Script) -> None:
    """A seat proves itself with its token; what is public is asked for without one."""
    script.on("GetView", *[table_service_pb2.TableServiceGetViewResponse(revision=3)] * 2)
    assert (await client.restore_seat("t", 0, "abc").get_view()).revision == 3
    assert (await client.get_view("t")).revision == 3
    seat, public = script.metadata["GetView"]
    assert seat["authorization"] == "Bearer abc"
    assert "authorization" not in public


async def test_joined_seat_is_ready_to_play(client: BuracoClient, script: Script) -> None:
    """Joining gives a seat that holds its token and the table as it was."""
    table = table_pb2.Table(id="t", revision=2)
    script.on("JoinTable", table_service_pb2.JoinTableResponse(seat=3, token="abc", table=table))
    script.on("ListLegalMoves", table_service_pb2.TableServiceListLegalMovesResponse(revision=5))
    arranged = table_service_pb2.TableServiceArrangeMeldResponse(revision=5, violations=[move_pb2.VIOLATION_GAP])
    script.on("ArrangeMeld", arranged, arranged)
    script.on("UndoMove", table_service_pb2.UndoMoveResponse(revision=6))
    script.on("LeaveTable", table_service_pb2.LeaveTableResponse(table=table))
    script.on("ConfirmScore", table_service_pb2.ConfirmScoreResponse(table=table))
    seat = await client.join_table("t", "Ana", seat=3, entropy=b"dice")
    assert seat.table == table
    assert (await seat.list_legal_moves()).revision == 5
    assert await seat.arrange_meld([card_pb2.CARD_JOKER]) == arranged
    assert await seat.arrange_meld([card_pb2.CARD_JOKER], 2) == arranged
    assert [request.HasField("meld") for request in script.requests["ArrangeMeld"]] == [False, True]
    assert (script.requests["ArrangeMeld"][1].meld, script.requests["ArrangeMeld"][1].cards) == (
        2,
        [card_pb2.CARD_JOKER],
    )
    assert (await seat.undo(5)).revision == 6
    assert await seat.confirm_score(4) == table
    assert await seat.leave() == table
    (join,) = script.requests["JoinTable"]
    assert (join.table_id, join.player_name, join.seat, join.entropy) == ("t", "Ana", 3, b"dice")
    for method in ("ListLegalMoves", "ArrangeMeld", "UndoMove", "ConfirmScore", "LeaveTable"):
        assert script.requests[method][0].table_id == "t"
        assert script.metadata[method][0]["authorization"] == "Bearer abc"
    assert script.requests["UndoMove"][0].revision == 5
    assert script.requests["ConfirmScore"][0].deal_number == 4


@pytest.mark.parametrize("method", ["Resign", "OfferDraw"])
async def test_offers_are_made_and_withdrawn(client: BuracoClient, script: Script, method: str) -> None:
    """A resignation or a draw is offered, and withdrawn when that is asked for; the table comes back."""
    table = table_pb2.Table(id="t", offers=[event_pb2.Offer(seat=1)])
    response = getattr(table_service_pb2, f"{method}Response")(table=table)
    script.on(method, response, response)
    seat = client.restore_seat("t", 1, "abc")
    call = seat.resign if method == "Resign" else seat.offer_draw
    assert await call() == table
    assert await call(withdraw=True, request_id="r") == table
    assert [request.withdraw for request in script.requests[method]] == [False, True]
    assert script.requests[method][1].request_id == "r"
    assert {request.table_id for request in script.requests[method]} == {"t"}
    assert {sent["authorization"] for sent in script.metadata[method]} == {"Bearer abc"}


async def test_abort(client: BuracoClient, script: Script) -> None:
    """Aborting returns the table as it ended."""
    table = table_pb2.Table(id="t", state=table_pb2.TABLE_STATE_FINISHED)
    script.on("AbortTable", table_service_pb2.AbortTableResponse(table=table))
    assert await client.restore_seat("t", 1, "abc").abort() == table
    assert script.metadata["AbortTable"][0]["authorization"] == "Bearer abc"


async def test_rematch_gives_a_seat_at_the_new_table(client: BuracoClient, script: Script) -> None:
    """The seat of a rematch has the table, the token and its expiry of the answer, and plays there."""
    answer = table_service_pb2.RematchResponse(seat=1, token="new", table=table_pb2.Table(id="u", revision=2))
    answer.token_expires_at.seconds = 4_000_000_000
    script.on("Rematch", answer)
    script.on("GetView", table_service_pb2.TableServiceGetViewResponse(revision=3))
    again = await client.restore_seat("t", 1, "abc").rematch(entropy=b"dice")
    assert (again.table_id, again.seat, again.token, again.token_expires_at) == ("u", 1, "new", 4_000_000_000)
    assert again.table == answer.table
    await again.get_view()
    (sent,) = script.requests["Rematch"]
    assert (sent.table_id, sent.entropy) == ("t", b"dice")
    assert script.metadata["Rematch"][0]["authorization"] == "Bearer abc"
    assert script.metadata["GetView"][0]["authorization"] == "Bearer new"


@pytest.mark.parametrize("deal_number", [0, 1, 3])
async def test_deal_that_was_cut_off(client: BuracoClient, script: Script, deal_number: int) -> None:
    """The record of the deal that was cut off is asked for by its number; without one there is none."""
    record = table_service_pb2.GetRecordResponse()
    if deal_number == 3:
        record.cut_off.deal_number = 3
    table = table_pb2.Table(id="t", match=deal_pb2.Match(deal_number=deal_number))
    script.on("GetTable", table_service_pb2.GetTableResponse(table=table))
    script.on("GetRecord", record)
    found = await client.get_cut_off_deal("t")
    assert found == (record.cut_off if deal_number == 3 else None)
    assert script.requests["GetRecord"][0].after_deal == max(deal_number - 1, 0)


@pytest.mark.parametrize("rules", ["classic", HOUSE])
async def test_table_is_created_by_id_or_by_house_rules(
    client: BuracoClient, script: Script, rules: str | rule_set_pb2.RuleSet
) -> None:
    """Every argument for rules takes a preset's id or a rule set."""
    script.on("CreateTable", table_service_pb2.CreateTableResponse(table=table_pb2.Table(id="t")))
    options = table_pb2.TableOptions(absent_after_turns=2)
    await client.create_table(rules, 4, target_score=0, stake=10, seed=bytes(32), options=options)
    (sent,) = script.requests["CreateTable"]
    assert sent.options == options
    assert sent.rule_set == HOUSE if rules is HOUSE else sent.rule_set_id == "classic"
    assert (sent.seats, sent.target_score, sent.stake, sent.seed) == (4, 0, 10, bytes(32))
    assert sent.HasField("target_score")


async def test_absent_options_are_not_sent(client: BuracoClient, script: Script) -> None:
    """What is left to the service is left out, and not sent as a zero."""
    script.on("CreateTable", table_service_pb2.CreateTableResponse())
    await client.create_table("classic", 2)
    (sent,) = script.requests["CreateTable"]
    assert not sent.HasField("target_score")
    assert not sent.HasField("seed")
    assert not sent.HasField("options")


async def test_tables_come_page_after_page(client: BuracoClient, script: Script) -> None:
    """Listing fetches the next page when the one before is used up."""
    tables = {name: table_pb2.Table(id=name) for name in "abc"}
    pages = [
        table_service_pb2.ListTablesResponse(tables=[tables["a"], tables["b"]], next_page_token="more"),
        table_service_pb2.ListTablesResponse(tables=[tables["c"]]),
    ]
    script.on("ListTables", *pages)
    listing = client.list_tables(table_pb2.TABLE_STATE_WAITING, page_size=2)
    assert [table.id async for table in listing] == ["a", "b", "c"]
    first, second = script.requests["ListTables"]
    assert (first.page_token, first.page_size, first.state) == ("", 2, table_pb2.TABLE_STATE_WAITING)
    assert (second.page_token, second.page_size, second.state) == ("more", 2, table_pb2.TABLE_STATE_WAITING)


async def test_records_come_page_after_page(client: BuracoClient, script: Script) -> None:
    """Reading a match's record goes on after the last deal of the page before."""
    deals = {number: table_pb2.DealRecord(deal_number=number) for number in (2, 3, 4)}
    pages = [
        table_service_pb2.GetRecordResponse(deals=[deals[2], deals[3]], more=True),
        table_service_pb2.GetRecordResponse(deals=[deals[4]]),
    ]
    script.on("GetRecord", *pages)
    assert [deal.deal_number async for deal in client.get_record("t", after_deal=1)] == [2, 3, 4]
    assert [request.after_deal for request in script.requests["GetRecord"]] == [1, 3]


async def test_rules_are_called_with_a_snapshot(client: BuracoClient, script: Script) -> None:
    """Every call of the rules sends what it was given and hands back what came."""
    rules = client.rules
    draw = move_pb2.Move(draw_stock=move_pb2.DrawStock())
    validated = rules_service_pb2.ValidateMovesResponse(legal=True)
    dealt = rules_service_pb2.DealResponse(seed=bytes(32))
    arranged = rules_service_pb2.ArrangeMeldResponse(violations=[move_pb2.VIOLATION_GAP])
    script.on("ListRuleSets", rules_service_pb2.ListRuleSetsResponse(rule_sets=[HOUSE]))
    script.on("Deal", dealt)
    script.on("ValidateMoves", validated)
    script.on("ListLegalMoves", rules_service_pb2.RulesServiceListLegalMovesResponse(moves=[draw]))
    script.on("ScoreDeal", rules_service_pb2.ScoreDealResponse(score=score_pb2.DealScore(final=True)))
    script.on("GetView", rules_service_pb2.RulesServiceGetViewResponse(view=view_pb2.View(seat=1)))
    script.on("ArrangeMeld", arranged)
    assert list(await rules.list_rule_sets()) == [HOUSE]
    assert await rules.deal("classic", 2, starter=0) == dealt
    assert await rules.validate_moves(SNAPSHOT, 1, [draw]) == validated
    assert list(await rules.list_legal_moves(SNAPSHOT, 1)) == [draw]
    assert (await rules.score_deal(SNAPSHOT)).final
    assert (await rules.get_view(SNAPSHOT, 1)).seat == 1
    assert await rules.arrange_meld(HOUSE, [card_pb2.CARD_JOKER]) == arranged
    sent = {method: requests[0] for method, requests in script.requests.items()}
    assert sent["Deal"] == rules_service_pb2.DealRequest(rule_set_id="classic", seats=2, starter=0)
    assert sent["ValidateMoves"] == rules_service_pb2.ValidateMovesRequest(snapshot=SNAPSHOT, seat=1, moves=[draw])
    assert (sent["ListLegalMoves"].snapshot, sent["ListLegalMoves"].seat) == (SNAPSHOT, 1)
    assert sent["ScoreDeal"].snapshot == SNAPSHOT
    assert (sent["GetView"].snapshot, sent["GetView"].seat) == (SNAPSHOT, 1)
    assert sent["ArrangeMeld"] == rules_service_pb2.ArrangeMeldRequest(rule_set=HOUSE, cards=[card_pb2.CARD_JOKER])


async def test_request_larger_than_the_service_takes_is_refused_here(client: BuracoClient, script: Script) -> None:
    """A message above 1 MiB does not leave the client."""
    snapshot = deal_pb2.Snapshot(rule_set=rule_set_pb2.RuleSet(display_name="x" * (1 << 20)))
    with pytest.raises(BuracoError) as caught:
        await client.rules.score_deal(snapshot)
    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not script.requests["ScoreDeal"]


def test_client_belongs_to_a_running_loop() -> None:
    """A client made outside of an event loop fails at once, not at its first call."""
    with pytest.raises(RuntimeError, match="no running event loop"):
        BuracoClient("127.0.0.1:1")
