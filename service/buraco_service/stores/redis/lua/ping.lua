#!lua
-- Writes nothing, but is refused by a server that would refuse a write.
-- KEYS: any key of the bucket.
return 1
