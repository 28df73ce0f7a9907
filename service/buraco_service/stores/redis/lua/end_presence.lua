#!lua flags=allow-oom
-- Remove a table's leases that made a seat absent up to a time from the index.
-- KEYS: presence, lapses. ARGV: table id, the time, the highest seat.
for seat = 0, tonumber(ARGV[3]) do
    local member = seat .. ':' .. ARGV[1]
    local absent_at = redis.call('ZSCORE', KEYS[2], member)
    if absent_at and tonumber(absent_at) <= tonumber(ARGV[2]) then
        redis.call('ZREM', KEYS[2], member)
        redis.call('HDEL', KEYS[1], seat .. ':absent')
    end
end
return 1
