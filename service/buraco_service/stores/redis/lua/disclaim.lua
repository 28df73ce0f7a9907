#!lua flags=allow-oom
-- Forgets a claim.
-- KEYS: the request's claim, open claims. ARGV: request id, claim.
if redis.call('HGET', KEYS[1], 'claim') == ARGV[2] then
    redis.call('UNLINK', KEYS[1])
    redis.call('ZREM', KEYS[2], ARGV[1])
end
return false
