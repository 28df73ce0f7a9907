#!lua flags=no-writes
-- Read records.
-- KEYS: table, records. ARGV: the deal after which to read, limit.
if redis.call('EXISTS', KEYS[1]) == 0 then
    return {'missing'}
end
local after, deals = tonumber(ARGV[1]), {}
for _, deal in ipairs(redis.call('HKEYS', KEYS[2])) do
    if tonumber(deal) > after then
        deals[#deals + 1] = tonumber(deal)
    end
end
table.sort(deals)
local answer = {}
for i = 1, math.min(#deals, tonumber(ARGV[2])) do
    answer[2 * i - 1] = deals[i]
    answer[2 * i] = redis.call('HGET', KEYS[2], deals[i])
end
return {'records', answer}
