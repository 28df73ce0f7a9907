#!lua flags=no-writes
-- Read log entries.
-- KEYS: table, log. ARGV: the revision after which to read, limit.
local found = redis.call('HMGET', KEYS[1], 'revision', 'start')
if not found[1] then
    return {'missing'}
end
local after, start = tonumber(ARGV[1]), tonumber(found[2])
if after >= tonumber(found[1]) then
    return {'log', {}}
end
if after < start - 1 then
    return {'gone', start}
end
local first = after + 1 - start
return {'log', redis.call('LRANGE', KEYS[2], first, first + tonumber(ARGV[2]) - 1)}
