-- oldest program: 1
-- Nothing: the number is kept for what is built beside.
SELECT 1;
