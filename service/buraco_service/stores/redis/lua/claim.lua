#!lua
-- Lets a request stand for one table. The first claim holds, unless it is the one named as void.
-- KEYS: the request's claim, open claims. ARGV: request id, claim, void claim or '', then table id, state, status, now,
--       entry, answer, owner or ''.
local holder = redis.call('HGET', KEYS[1], 'claim')
if holder and holder ~= ARGV[3] then
    return redis.call('HMGET', KEYS[1], 'claim', 'table', 'state', 'status', 'now', 'entry', 'answer',
        'owner')
end
redis.call('HSET', KEYS[1], 'claim', ARGV[2], 'table', ARGV[4], 'state', ARGV[5], 'status', ARGV[6], 'now', ARGV[7],
    'entry', ARGV[8], 'answer', ARGV[9], 'owner', ARGV[10])
redis.call('ZADD', KEYS[2], redis.call('TIME')[1], ARGV[1])
return false
