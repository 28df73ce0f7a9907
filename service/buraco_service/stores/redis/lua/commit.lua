#!lua
-- Write the next revision of a table. Everything is decided before the first write.
-- KEYS: table, log, requests, order, names, ages, owned, records, due, labelled (see keys.py).
-- ARGV: table id, expected revision, request id or '', state, status, now, entry, answer,
--       last revision whose log entry may be dropped, channel, answers kept, prune step, seconds per hour,
--       highest revision, due time or '', labels in lines or '\n' to keep them, then deal and payload in turn.
local found = redis.call('HMGET', KEYS[1], 'revision', 'status', 'updated', 'start', 'owner', 'due')
if not found[1] then
    return {'missing'}
end
local has_request = ARGV[3] ~= ''
if has_request then
    local answer = redis.call('HGET', KEYS[3], ARGV[3])
    if answer then
        return {'remembered', answer}
    end
end
if found[1] ~= ARGV[2] then
    return {'conflict', found[1]}
end
local current = tonumber(found[1])
if current >= tonumber(ARGV[14]) then
    return {'exhausted'}
end
local revision = current + 1

redis.call('HSET', KEYS[1], 'revision', revision, 'state', ARGV[4], 'updated', ARGV[6])
redis.call('RPUSH', KEYS[2], ARGV[7])
redis.call('RPUSH', KEYS[4], ARGV[3])
if has_request then
    redis.call('HSET', KEYS[3], ARGV[3], revision .. ':' .. ARGV[8])
end
if found[2] ~= ARGV[5] then
    redis.call('HSET', KEYS[1], 'status', ARGV[5])
    redis.call('ZREM', KEYS[5], found[2] .. '\0' .. ARGV[1])
    redis.call('ZADD', KEYS[5], 0, ARGV[5] .. '\0' .. ARGV[1])
    if found[5] then
        redis.call('ZREM', KEYS[7], found[5] .. '\0' .. found[2] .. '\0' .. ARGV[1])
        redis.call('ZADD', KEYS[7], 0, found[5] .. '\0' .. ARGV[5] .. '\0' .. ARGV[1])
    end
end
local hour = tonumber(ARGV[13])
if math.floor(tonumber(found[3]) / hour) ~= math.floor(tonumber(ARGV[6]) / hour) then
    redis.call('ZADD', KEYS[6], ARGV[6], ARGV[1])
end
if (found[6] or '') ~= ARGV[15] then
    if ARGV[15] == '' then
        redis.call('HDEL', KEYS[1], 'due')
        redis.call('ZREM', KEYS[9], ARGV[1])
    else
        redis.call('HSET', KEYS[1], 'due', ARGV[15])
        redis.call('ZADD', KEYS[9], ARGV[15], ARGV[1])
    end
end
if ARGV[16] ~= '\n' then
    for label in string.gmatch(redis.call('HGET', KEYS[1], 'labels') or '', '[^\n]+') do
        redis.call('ZREM', KEYS[10], label .. '\0' .. ARGV[1])
    end
    for label in string.gmatch(ARGV[16], '[^\n]+') do
        redis.call('ZADD', KEYS[10], 0, label .. '\0' .. ARGV[1])
    end
    redis.call('HSET', KEYS[1], 'labels', ARGV[16])
end
for i = 17, #ARGV, 2 do
    redis.call('HSET', KEYS[8], ARGV[i], ARGV[i + 1])
end

local start = tonumber(found[4])
local count = math.min(tonumber(ARGV[9]), current) - start + 1
if count >= tonumber(ARGV[12]) then
    redis.call('LTRIM', KEYS[2], count, -1)
    redis.call('HSET', KEYS[1], 'start', start + count)
end
if revision % tonumber(ARGV[12]) == 0 then
    local old = redis.call('LLEN', KEYS[4]) - tonumber(ARGV[11])
    if old > 0 then
        for _, request in ipairs(redis.call('LPOP', KEYS[4], old)) do
            if request ~= '' then
                redis.call('HDEL', KEYS[3], request)
            end
        end
    end
end
redis.call('SPUBLISH', ARGV[10], revision)
return revision
