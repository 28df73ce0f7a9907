#!lua
-- Write nothing, but be refused by a server that would refuse a write.
-- KEYS: any key of the bucket.
return 1
