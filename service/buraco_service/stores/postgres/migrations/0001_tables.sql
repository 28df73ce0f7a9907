-- oldest program: 1
-- Tables, their logs, remembered requests and records, and the functions that write them.

-- An ordinary commit changes no indexed value (`hour` is updated_at in hours: expire needs no index that changes with
-- every move) and finds room on its page, so that it is a HOT update. Rows of up to a page stay in line.
CREATE TABLE buraco.tables (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id text COLLATE "C" NOT NULL UNIQUE,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    revision integer NOT NULL,
    log_start integer NOT NULL,
    hour integer NOT NULL,
    status text COLLATE "C" NOT NULL,
    owner text COLLATE "C",
    state bytea NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 8160);
CREATE INDEX tables_by_status ON buraco.tables (status, table_id);
CREATE INDEX tables_by_hour ON buraco.tables (hour);
CREATE INDEX tables_by_owner ON buraco.tables (owner, status) WHERE owner IS NOT NULL;

-- No foreign keys: only the functions below write here, and a check would lock a row with every insert.
CREATE TABLE buraco.creations (
    number bigint PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    answer bytea NOT NULL
);
CREATE TABLE buraco.log (
    number bigint NOT NULL,
    revision integer NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (number, revision)
) WITH (toast_tuple_target = 8160);
CREATE TABLE buraco.requests (
    number bigint NOT NULL,
    revision integer NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    answer bytea NOT NULL,
    PRIMARY KEY (number, request_id)
) WITH (toast_tuple_target = 8160);
CREATE TABLE buraco.records (
    number bigint NOT NULL,
    deal integer NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (number, deal)
);

-- Every function that writes tells the channel `buraco` which tables have come to which revision (0: they are gone):
-- one payload for many tables, as "revision length id" for each, one behind the other. The length is in characters.

CREATE FUNCTION buraco.create_table_1(
    id text, state bytea, status text, seconds double precision, hour integer, entry bytea, request text, answer bytea,
    owner text
) RETURNS TABLE (outcome text, first_table text, first_answer bytea)
-- One row: 'created'; 'remembered' with the table and the answer of the first time; 'exists'.
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    given bigint;
BEGIN
    LOOP
        SELECT t.table_id, c.answer INTO first_table, first_answer
        FROM buraco.creations AS c JOIN buraco.tables AS t USING (number) WHERE c.request_id = request;
        IF FOUND THEN
            outcome := 'remembered';
            EXIT;
        END IF;
        PERFORM FROM buraco.tables AS t WHERE t.table_id = id;
        IF FOUND THEN
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
            INSERT INTO buraco.creations VALUES (given, request, answer) ON CONFLICT (request_id) DO NOTHING;
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

CREATE FUNCTION buraco.commit_steps_1(
    table_ids text[], expected bigint[], states bytea[], statuses text[], times double precision[], hours integer[],
    entries bytea[], request_ids text[], answers bytea[], drop_log bigint[], drop_requests integer[],
    record_steps integer[], record_deals integer[], record_payloads bytea[], prune_step integer, last_revision integer
) RETURNS TABLE (outcome text, made integer, first_answer bytea)
-- Each step is decided by itself and gets one row, in order:
-- 'committed' with the new revision; 'remembered' with the revision and the answer of the first time; 'lost' with the
-- table's revision; 'full' when there is no revision left; 'missing'. Steps have to come in the order of their table
-- ids, so that two calls never wait for each other.
LANGUAGE plpgsql
-- The plan fits every table: no need to think of a better one at each call.
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    step record;
    written record;
    notes text := '';
    note text;
BEGIN
    FOR step IN
        SELECT * FROM unnest(
            table_ids, expected, states, statuses, times, hours, entries, request_ids, answers, drop_log, drop_requests
        ) WITH ORDINALITY AS given(
            table_id, expected, state, status, now, hour, entry, request_id, answer, drop_log, drop_requests, place
        )
    LOOP
        LOOP
            UPDATE buraco.tables AS t
            SET revision = t.revision + 1, updated_at = step.now, hour = step.hour, status = step.status,
                state = step.state
            WHERE t.table_id = step.table_id AND t.revision = step.expected AND t.revision < last_revision
                AND NOT EXISTS (
                    SELECT FROM buraco.requests AS r WHERE r.number = t.number AND r.request_id = step.request_id
                )
            RETURNING t.number, t.revision, t.log_start INTO written;
            IF FOUND THEN
                outcome := 'committed'; made := written.revision; first_answer := NULL;
                EXIT;
            END IF;
            SELECT t.revision, r.revision AS first_made, r.answer INTO written
            FROM buraco.tables AS t LEFT JOIN buraco.requests AS r
                ON r.number = t.number AND r.request_id = step.request_id
            WHERE t.table_id = step.table_id;
            IF NOT FOUND THEN
                outcome := 'missing'; made := NULL; first_answer := NULL;
            ELSIF written.first_made IS NOT NULL THEN
                outcome := 'remembered'; made := written.first_made; first_answer := written.answer;
            ELSIF written.revision <> step.expected THEN
                outcome := 'lost'; made := written.revision; first_answer := NULL;
            ELSIF written.revision >= last_revision THEN
                outcome := 'full'; made := NULL; first_answer := NULL;
            ELSE
                CONTINUE;  -- by now the step fits: the update saw an older state of the table
            END IF;
            EXIT;
        END LOOP;
        IF outcome = 'committed' THEN
            INSERT INTO buraco.log VALUES (written.number, written.revision, step.entry);
            IF step.request_id IS NOT NULL THEN
                INSERT INTO buraco.requests VALUES (written.number, written.revision, step.request_id, step.answer);
            END IF;
            IF step.drop_log - written.log_start + 1 >= prune_step THEN
                DELETE FROM buraco.log AS l WHERE l.number = written.number AND l.revision <= step.drop_log;
                UPDATE buraco.tables AS t SET log_start = step.drop_log + 1 WHERE t.number = written.number;
            END IF;
            IF step.drop_requests IS NOT NULL THEN
                DELETE FROM buraco.requests AS r
                WHERE r.number = written.number AND r.revision <= step.drop_requests;
            END IF;
            IF step.place = ANY (record_steps) THEN
                INSERT INTO buraco.records
                SELECT written.number, given.deal, given.payload
                FROM unnest(record_steps, record_deals, record_payloads) AS given(place, deal, payload)
                WHERE given.place = step.place
                ON CONFLICT (number, deal) DO UPDATE SET payload = excluded.payload;
            END IF;
            note := written.revision || ' ' || char_length(step.table_id) || ' ' || step.table_id;
            IF octet_length(notes) + octet_length(note) > 7900 THEN  -- a payload has less than 8000 bytes
                PERFORM pg_notify('buraco', notes);
                notes := '';
            END IF;
            notes := notes || note;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF notes <> '' THEN
        PERFORM pg_notify('buraco', notes);
    END IF;
END
$$;

CREATE FUNCTION buraco.expire_1(updated_before double precision, before_hour integer, most integer) RETURNS integer
-- How many tables were removed. Tables that somebody is writing, or removing, are passed over.
LANGUAGE plpgsql AS $$
DECLARE
    numbers bigint[];
    ids text[];
    id text;
BEGIN
    SELECT array_agg(old.number), array_agg(old.table_id) INTO numbers, ids
    FROM (
        SELECT t.number, t.table_id FROM buraco.tables AS t
        WHERE t.hour <= before_hour AND t.updated_at < updated_before
        ORDER BY t.hour LIMIT most FOR UPDATE SKIP LOCKED
    ) AS old;
    IF numbers IS NULL THEN
        RETURN 0;
    END IF;
    DELETE FROM buraco.log WHERE number = ANY (numbers);
    DELETE FROM buraco.requests WHERE number = ANY (numbers);
    DELETE FROM buraco.records WHERE number = ANY (numbers);
    DELETE FROM buraco.creations WHERE number = ANY (numbers);
    DELETE FROM buraco.tables WHERE number = ANY (numbers);
    FOREACH id IN ARRAY ids LOOP
        PERFORM pg_notify('buraco', '0 ' || char_length(id) || ' ' || id);
    END LOOP;
    RETURN cardinality(ids);
END
$$;
