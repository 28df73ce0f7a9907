#!lua flags=no-writes
-- The requests whose claims have been open for longer than so many seconds.
-- KEYS: open claims. ARGV: seconds, how many.
local before = tonumber(redis.call('TIME')[1]) - tonumber(ARGV[1])
return redis.call('ZRANGE', KEYS[1], '-inf', before, 'BYSCORE', 'LIMIT', 0, ARGV[2])
