#!lua
-- Write a table with revision 1, unless there is one.
-- KEYS: table, log, requests, order, names, ages, owned, records, due, labelled (see keys.py).
-- ARGV: table id, request id or '', state, status, now, entry, answer, channel, owner or '', due time or '',
--       then labels.
if redis.call('EXISTS', KEYS[1]) == 1 then
    local first = redis.call('HGET', KEYS[3], ARGV[2])
    if first and string.sub(first, 1, 2) == '1:' then
        return {'remembered', first}
    end
    return {'exists'}
end
redis.call('HSET', KEYS[1], 'revision', 1, 'state', ARGV[3], 'status', ARGV[4], 'created', ARGV[5],
    'updated', ARGV[5], 'start', 1)
redis.call('RPUSH', KEYS[2], ARGV[6])
if ARGV[2] ~= '' then
    redis.call('HSET', KEYS[3], ARGV[2], '1:' .. ARGV[7])
end
redis.call('RPUSH', KEYS[4], '')  -- its answer is kept as long as the table
redis.call('ZADD', KEYS[5], 0, '\0' .. ARGV[1], 0, ARGV[4] .. '\0' .. ARGV[1])
redis.call('ZADD', KEYS[6], ARGV[5], ARGV[1])
if ARGV[9] ~= '' then
    redis.call('HSET', KEYS[1], 'owner', ARGV[9])
    redis.call('ZADD', KEYS[7], 0, ARGV[9] .. '\0' .. ARGV[4] .. '\0' .. ARGV[1])
end
if ARGV[10] ~= '' then
    redis.call('HSET', KEYS[1], 'due', ARGV[10])
    redis.call('ZADD', KEYS[9], ARGV[10], ARGV[1])
end
if #ARGV > 10 then
    for i = 11, #ARGV do
        redis.call('ZADD', KEYS[10], 0, ARGV[i] .. '\0' .. ARGV[1])
    end
    redis.call('HSET', KEYS[1], 'labels', table.concat(ARGV, '\n', 11))
end
redis.call('SPUBLISH', ARGV[8], 1)
return {'created'}
