-- oldest program: 1
-- Creates are remembered in `requests`, with revision 1, and not in a table of their own.

-- Older programs go on. Moves wait while the index is built, creates until the end. Locks are taken in the order in
-- which `expire_1` takes them.
LOCK TABLE buraco.requests IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE buraco.creations IN ACCESS EXCLUSIVE MODE;
CREATE UNIQUE INDEX requests_of_creates ON buraco.requests (request_id) WHERE revision = 1;
INSERT INTO buraco.requests SELECT number, 1, request_id, answer FROM buraco.creations;
ALTER TABLE buraco.creations RENAME TO creations_moved;

-- For older programs, which know answers only without the fingerprint before them. To go when none is left.
CREATE VIEW buraco.creations AS
SELECT number, request_id, CASE WHEN substr(answer, 1, 1) = '\x00' THEN substr(answer, 18) ELSE answer END AS answer
FROM buraco.requests WHERE revision = 1;
DO $$
DECLARE
    reader text;
BEGIN
    FOR reader IN
        SELECT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END
        FROM pg_class, aclexplode(relacl) AS acl
        WHERE oid = 'buraco.creations_moved'::regclass AND acl.privilege_type = 'SELECT'
    LOOP
        EXECUTE 'GRANT SELECT ON buraco.creations TO ' || reader;
    END LOOP;
END
$$;
DROP TABLE buraco.creations_moved;

CREATE OR REPLACE FUNCTION buraco.create_table_1(
    id text, state bytea, status text, seconds double precision, hour integer, entry bytea, request text, answer bytea,
    owner text
) RETURNS TABLE (outcome text, first_table text, first_answer bytea)
-- One row: 'created'; 'remembered' with the table and the answer of the first time; 'exists'.
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    given bigint;
    taken boolean;
BEGIN
    LOOP
        -- Looked at first: what took the id has its request there, too, when that is looked for.
        taken := EXISTS (SELECT FROM buraco.tables AS t WHERE t.table_id = id);
        -- By the request alone: a table that an older program created for it has an id of its own.
        SELECT t.table_id, r.answer INTO first_table, first_answer
        FROM buraco.requests AS r JOIN buraco.tables AS t USING (number)
        WHERE r.revision = 1 AND r.request_id = request;
        IF FOUND THEN
            outcome := 'remembered';
            EXIT;
        END IF;
        IF taken THEN
            outcome := 'exists';
            EXIT;
        END IF;
        -- Another create may be about to take the id or the request: then this waits for it, and looks again.
        INSERT INTO buraco.tables (table_id, created_at, updated_at, revision, log_start, hour, status, owner, state)
        VALUES (id, seconds, seconds, 1, 1, hour, status, owner, state)
        ON CONFLICT (table_id) DO NOTHING
        RETURNING number INTO given;
        CONTINUE WHEN NOT FOUND;
        IF request IS NOT NULL THEN
            INSERT INTO buraco.requests VALUES (given, 1, request, answer)
            ON CONFLICT (request_id) WHERE revision = 1 DO NOTHING;
            IF NOT FOUND THEN
                DELETE FROM buraco.tables AS t WHERE t.number = given;
                CONTINUE;
            END IF;
        END IF;
        INSERT INTO buraco.log VALUES (given, 1, entry);
        PERFORM pg_notify('buraco', '1 ' || char_length(id) || ' ' || id);
        outcome := 'created';
        EXIT;
    END LOOP;
    RETURN NEXT;
END
$$;

-- The others as they were, but: the request of revision 1 is never forgotten, and there are no creations to remove.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('buraco.commit_steps_1'::regproc),
        'r.revision <= step.drop_requests', 'r.revision BETWEEN 2 AND step.drop_requests'
    );
    EXECUTE replace(
        pg_get_functiondef('buraco.expire_1'::regproc), 'DELETE FROM buraco.creations WHERE number = ANY (numbers);', ''
    );
END
$$;
