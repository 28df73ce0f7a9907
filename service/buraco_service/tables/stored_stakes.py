"""The stakes of a table as a store keeps them (protobuf <-> values)."""

from buraco.v1 import table_pb2
from buraco_service.tables.state import HeldStake, StakeHold, Stakes
from buraco_service.tables.stored_timing import from_timestamp, to_timestamp


def stakes_to_pb(stakes: Stakes) -> table_pb2.StoredStakes:
    """Return the stakes of a table as a message."""
    return table_pb2.StoredStakes(
        lifetime_seconds=stakes.lifetime,
        reserved=[
            table_pb2.StoredHold(
                account_id=hold.account_id, key=hold.key, reserved_until=to_timestamp(hold.reserved_until)
            )
            for hold in stakes.reserved
        ],
        releasing=[table_pb2.StoredHold(account_id=hold.account_id, key=hold.key) for hold in stakes.releasing],
        settled=stakes.settled,
    )


def stakes_from_pb(message: table_pb2.StoredStakes) -> Stakes:
    """Return the stakes of a stored table."""
    return Stakes(
        lifetime=message.lifetime_seconds,
        reserved=tuple(
            [StakeHold(hold.account_id, hold.key, from_timestamp(hold.reserved_until)) for hold in message.reserved]
        ),
        releasing=tuple([StakeHold(hold.account_id, hold.key) for hold in message.releasing]),
        settled=message.settled,
    )


def put_stake(stake: HeldStake | None, message: table_pb2.StoredSeat) -> None:
    """Add to a seat who staked for it; nothing without a stake."""
    if stake is not None:
        message.account_id, message.hold_key, message.credit = stake.account_id, stake.key, stake.credit


def stake_from_pb(message: table_pb2.StoredSeat) -> HeldStake | None:
    """Return who staked for a stored seat; None without a stake."""
    return HeldStake(message.account_id, message.hold_key, message.credit) if message.hold_key else None
