"""All answers of a service about a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from tests.service.table_server import bearing


async def read_answers(tables: pb_grpc.TableServiceStub, table_id: str, tokens: Sequence[str]) -> dict[str, Any]:
    """Return the table, its records, its view for everybody and for each token's seat, and the legal moves of each."""
    views, moves = [], []
    for metadata in ((), *map(bearing, tokens)):
        views.append(await tables.GetView(pb.TableServiceGetViewRequest(table_id=table_id), metadata=metadata))
        if metadata:
            listing = pb.TableServiceListLegalMovesRequest(table_id=table_id)
            moves.append(await tables.ListLegalMoves(listing, metadata=metadata))
    return {
        "table": MessageToDict((await tables.GetTable(pb.GetTableRequest(table_id=table_id))).table),
        "record": MessageToDict(await tables.GetRecord(pb.GetRecordRequest(table_id=table_id))),
        "views": [MessageToDict(view) for view in views],
        "moves": [MessageToDict(listed) for listed in moves],
    }
