#!lua flags=no-writes
-- Read entries of an account. Return the number of the newest of them, and all in order.
-- KEYS: entries. ARGV: the highest number, limit.
local last = math.min(redis.call('LLEN', KEYS[1]), tonumber(ARGV[1]))
if last < 1 then
    return {0, {}}
end
return {last, redis.call('LRANGE', KEYS[1], math.max(0, last - tonumber(ARGV[2])), last - 1)}
