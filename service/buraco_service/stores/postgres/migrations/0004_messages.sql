-- oldest program: 1
-- Messages beside the tables, and `append_message_1`, which writes them; `grant_like_1`, for new tables.

-- Without an index of requests or senders: of a table there are 200 messages at most.
CREATE TABLE buraco.messages (
    number bigint NOT NULL,
    message integer NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    sender integer NOT NULL,
    sent_at double precision NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (number, message)
);

CREATE FUNCTION buraco.grant_like_1(fresh regclass, known regclass) RETURNS void
-- Whoever may read or write one table may do so with another: programs that run meanwhile need no GRANT.
LANGUAGE plpgsql AS $$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT acl.privilege_type AS privilege,
            CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS grantee
        FROM pg_class, aclexplode(relacl) AS acl
        WHERE oid = known AND acl.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
            AND acl.grantee <> relowner
    LOOP
        EXECUTE format('GRANT %s ON %s TO %s', given.privilege, fresh, given.grantee);
    END LOOP;
END
$$;
SELECT buraco.grant_like_1('buraco.messages', 'buraco.log');

-- Older programs remove messages with their tables, too.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('buraco.expire_1'::regproc),
        'DELETE FROM buraco.tables WHERE number = ANY (numbers);',
        'DELETE FROM buraco.messages WHERE number = ANY (numbers);'
        '    DELETE FROM buraco.tables WHERE number = ANY (numbers);'
    );
END
$$;

CREATE FUNCTION buraco.append_message_1(
    id text, request text, sender integer, seconds double precision, payload bytea, most integer,
    since double precision, kept integer
) RETURNS TABLE (outcome text, message integer, first_payload bytea, oldest_at double precision)
-- One row: 'appended' with the number; 'known' with the number and the payload of the first time; 'many' with the time
-- of the oldest of so many messages; 'missing'. A notification has the number as a negative revision: so programs
-- that know of no messages find nothing new.
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of_table bigint;
BEGIN
    -- The table cannot be removed meanwhile, but its moves go on.
    SELECT t.number INTO of_table FROM buraco.tables AS t WHERE t.table_id = id FOR KEY SHARE;
    IF NOT FOUND THEN
        outcome := 'missing';
        RETURN NEXT;
        RETURN;
    END IF;
    -- Messages of one table come one after the other. Each statement from here on sees those before.
    -- The first number is that of these locks alone.
    PERFORM pg_advisory_xact_lock(1112888932, (of_table % 2147483648)::integer);
    SELECT m.message, m.payload INTO message, first_payload
    FROM buraco.messages AS m WHERE m.number = of_table AND m.request_id = request;
    IF FOUND THEN
        outcome := 'known';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT m.sent_at INTO oldest_at FROM buraco.messages AS m
    WHERE m.number = of_table AND m.sender = sender ORDER BY m.message DESC LIMIT 1 OFFSET most - 1;
    IF oldest_at > since THEN
        outcome := 'many';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT coalesce(max(m.message), 0) + 1 INTO message FROM buraco.messages AS m WHERE m.number = of_table;
    INSERT INTO buraco.messages VALUES (of_table, message, request, sender, seconds, payload);
    DELETE FROM buraco.messages AS m WHERE m.number = of_table AND m.message <= message - kept;
    PERFORM pg_notify('buraco', -message || ' ' || char_length(id) || ' ' || id);
    outcome := 'appended';
    RETURN NEXT;
END
$$;
