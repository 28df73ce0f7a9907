-- oldest program: 1
-- Leases of seats whose players are seen, apart from the tables.

CREATE TABLE buraco.presence (
    number bigint NOT NULL,
    seat integer NOT NULL,
    until double precision,
    absent_at double precision,
    PRIMARY KEY (number, seat)
) WITH (fillfactor = 50);
CREATE INDEX presence_by_absence ON buraco.presence (absent_at) WHERE absent_at IS NOT NULL;
SELECT buraco.grant_like_1('buraco.presence', 'buraco.log');

-- Older programs remove tables by the same function.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('buraco.expire_1'::regproc),
        'DELETE FROM buraco.log WHERE number = ANY (numbers);',
        'DELETE FROM buraco.log WHERE number = ANY (numbers);
    DELETE FROM buraco.presence WHERE number = ANY (numbers);'
    );
END
$$;
