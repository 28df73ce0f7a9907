#!lua
-- Append an entry to an account, unless it has one under the key or the number is not the next.
-- Return {1} if it is written, {0} if the number is not the next, or the number and the entry under the key.
-- KEYS: entries, posted (see keys.py). ARGV: number, key, entry.
local posted = redis.call('HGET', KEYS[2], ARGV[2])
if posted then
    return {tonumber(posted), redis.call('LINDEX', KEYS[1], tonumber(posted) - 1)}
end
if redis.call('LLEN', KEYS[1]) + 1 ~= tonumber(ARGV[1]) then
    return {0}
end
redis.call('RPUSH', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])
return {1}
