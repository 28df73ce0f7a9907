#!lua flags=allow-oom
-- Remove a table that was not written since a time and for which nothing is due, or correct its age in the index.
-- Return the request for which an earlier version created it, '' if there is none, false if nothing was removed.
-- KEYS: table, log, requests, order, names, ages, owned, records, due, messages. ARGV: table id, the time, channel.
local found = redis.call('HMGET', KEYS[1], 'updated', 'status', 'owner', 'request', 'due')
if not found[1] then
    redis.call('ZREM', KEYS[6], ARGV[1])
    redis.call('ZREM', KEYS[9], ARGV[1])
    return false
end
if tonumber(found[1]) >= tonumber(ARGV[2]) then
    redis.call('ZADD', KEYS[6], found[1], ARGV[1])
    return false
end
if found[5] then
    -- Looked at again when tables written until now expire.
    redis.call('ZADD', KEYS[6], ARGV[2], ARGV[1])
    return false
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[8], KEYS[10])
redis.call('ZREM', KEYS[5], '\0' .. ARGV[1], found[2] .. '\0' .. ARGV[1])
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('ZREM', KEYS[9], ARGV[1])
if found[3] then
    redis.call('ZREM', KEYS[7], found[3] .. '\0' .. found[2] .. '\0' .. ARGV[1])
end
redis.call('SPUBLISH', ARGV[3], '')
return found[4] or ''
