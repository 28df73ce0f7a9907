#!lua flags=no-writes
-- Read messages: the number of the first, then payloads.
-- KEYS: table, messages. ARGV: the number after which to read, limit.
local found = redis.call('HMGET', KEYS[1], 'revision', 'messages')
if not found[1] then
    return {'missing'}
end
local newest = tonumber(found[2] or 0)
if newest <= tonumber(ARGV[1]) then
    return {'messages', 0, {}}
end
local oldest = newest - redis.call('LLEN', KEYS[2]) + 1
local first = math.max(oldest, tonumber(ARGV[1]) + 1)
local found_messages = redis.call('LRANGE', KEYS[2], first - oldest, first - oldest + tonumber(ARGV[2]) - 1)
for i, message in ipairs(found_messages) do
    found_messages[i] = string.match(message, '^[^%z]*%z[^%z]*%z[^%z]*%z(.*)$')
end
return {'messages', first, found_messages}
