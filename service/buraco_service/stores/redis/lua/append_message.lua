#!lua
-- Append a message to those of a table. Everything is decided before the first write.
-- KEYS: table, messages (see keys.py).
-- ARGV: request id, sender, now, payload, how many messages of the sender may be later than the next, that time,
--       messages kept, channel.
local found = redis.call('HMGET', KEYS[1], 'revision', 'messages')
if not found[1] then
    return {'missing'}
end
local newest = tonumber(found[2] or 0)
-- Without a number there may be messages of a table that a replica removed that knew of none.
local kept = newest > 0 and redis.call('LRANGE', KEYS[2], 0, -1) or {}
local counted, nth_at = 0, nil
for i = #kept, 1, -1 do
    local request, sender, sent_at, at = string.match(kept[i], '^([^%z]*)%z([^%z]*)%z([^%z]*)%z()')
    if request == ARGV[1] then
        return {'known', newest - #kept + i, string.sub(kept[i], at)}
    end
    if sender == ARGV[2] then
        counted = counted + 1
        if counted == tonumber(ARGV[5]) then
            nth_at = sent_at
        end
    end
end
if nth_at and tonumber(nth_at) > tonumber(ARGV[6]) then
    return {'many', nth_at}
end

if newest == 0 then
    redis.call('UNLINK', KEYS[2])
end
redis.call('HSET', KEYS[1], 'messages', newest + 1)
redis.call('RPUSH', KEYS[2], table.concat({ARGV[1], ARGV[2], ARGV[3], ARGV[4]}, '\0'))
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[7]), -1)
redis.call('SPUBLISH', ARGV[8], -(newest + 1))
return newest + 1
