#!lua
-- Writes a table with revision 1, once: a repeat with the same claim finds its own work.
-- KEYS: table, log, requests, order, names, ages, owned (see keys.py).
-- ARGV: table id, claim, request id, state, status, now, entry, answer, channel,
--       owner or ''.
local found = redis.call('HMGET', KEYS[1], 'revision', 'claim')
if found[1] then
    if ARGV[2] ~= '' and found[2] == ARGV[2] then
        return 'made'
    end
    return 'taken'
end
redis.call('HSET', KEYS[1], 'revision', 1, 'state', ARGV[4], 'status', ARGV[5], 'created', ARGV[6],
    'updated', ARGV[6], 'start', 1, 'claim', ARGV[2], 'request', ARGV[3], 'answer', ARGV[8])
redis.call('RPUSH', KEYS[2], ARGV[7])
redis.call('RPUSH', KEYS[4], '')
redis.call('ZADD', KEYS[5], 0, '\0' .. ARGV[1], 0, ARGV[5] .. '\0' .. ARGV[1])
redis.call('ZADD', KEYS[6], ARGV[6], ARGV[1])
if ARGV[10] ~= '' then
    redis.call('HSET', KEYS[1], 'owner', ARGV[10])
    redis.call('ZADD', KEYS[7], 0, ARGV[10] .. '\0' .. ARGV[5] .. '\0' .. ARGV[1])
end
redis.call('SPUBLISH', ARGV[9], 1)
return 'made'
