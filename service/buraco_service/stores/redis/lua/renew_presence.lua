#!lua
-- Write the lease of a seat, if there is the table.
-- KEYS: table, presence, lapses (see keys.py). ARGV: table id, seat, until or '', absent_at or '', seconds to keep it.
if redis.call('EXISTS', KEYS[1]) == 0 then
    return 0
end
if ARGV[3] ~= '' then
    redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
end
if ARGV[4] ~= '' then
    redis.call('HSET', KEYS[2], ARGV[2] .. ':absent', ARGV[4])
    redis.call('ZADD', KEYS[3], ARGV[4], ARGV[2] .. ':' .. ARGV[1])
end
redis.call('EXPIRE', KEYS[2], ARGV[5])
return 1
