#!lua flags=allow-oom
-- The claim's table is there: what it was to be made of is not needed any more.
-- KEYS: the request's claim, open claims. ARGV: request id, claim.
if redis.call('HGET', KEYS[1], 'claim') == ARGV[2] then
    redis.call('HDEL', KEYS[1], 'state', 'status', 'now', 'entry', 'answer', 'owner')
    redis.call('ZREM', KEYS[2], ARGV[1])
end
return false
