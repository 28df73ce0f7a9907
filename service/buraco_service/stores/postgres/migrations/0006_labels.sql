-- oldest program: 1
-- Tables have labels, by which they are listed: `label_tables_1` replaces those of new tables, `commit_labelled_1` those of
-- tables that a commit changes.

CREATE TABLE buraco.labels (
    label text COLLATE "C" NOT NULL,
    table_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (label, table_id)
);
CREATE INDEX labels_of_table ON buraco.labels (number);
SELECT buraco.grant_like_1('buraco.labels', 'buraco.log');

-- A trigger, because older programs remove tables, too.
CREATE FUNCTION buraco.remove_labels_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM buraco.labels AS l USING removed WHERE l.number = removed.number;
    RETURN NULL;
END
$$;
CREATE TRIGGER labels_of_removed AFTER DELETE ON buraco.tables
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION buraco.remove_labels_1();

CREATE FUNCTION buraco.label_table_1(id text, labels text[]) RETURNS void
-- Replaces the labels of a table that the transaction has just written, so that nobody else can.
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM buraco.labels AS l USING buraco.tables AS t WHERE t.table_id = id AND l.number = t.number;
    INSERT INTO buraco.labels (label, table_id, number)
    SELECT DISTINCT given, id, t.number FROM buraco.tables AS t, unnest(labels) AS given WHERE t.table_id = id;
END
$$;

CREATE FUNCTION buraco.create_labelled_1(
    id text, state bytea, status text, seconds double precision, hour integer, entry bytea, request text, answer bytea,
    owner text, due_at double precision, labels text[]
) RETURNS TABLE (outcome text, first_table text, first_answer bytea)
-- As `create_table_2`, with labels.
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    SELECT * INTO outcome, first_table, first_answer FROM buraco.create_table_2(
        id, state, status, seconds, hour, entry, request, answer, owner, due_at
    );
    IF outcome = 'created' THEN
        PERFORM buraco.label_table_1(id, labels);
    END IF;
    RETURN NEXT;
END
$$;

CREATE FUNCTION buraco.commit_labelled_1(
    table_ids text[], expected bigint[], states bytea[], statuses text[], times double precision[], hours integer[],
    due_times double precision[], entries bytea[], request_ids text[], answers bytea[], drop_log bigint[],
    drop_requests integer[], record_steps integer[], record_deals integer[], record_payloads bytea[],
    prune_step integer, last_revision integer, relabelled_steps integer[], label_steps integer[], labels text[]
) RETURNS TABLE (outcome text, made integer, first_answer bytea)
-- As `commit_steps_2`; the steps in `relabelled_steps` that are committed replace the labels of their table, by those of
-- `labels` that `label_steps` has at the same place for the step.
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    step record;
BEGIN
    FOR step IN
        SELECT * FROM buraco.commit_steps_2(
            table_ids, expected, states, statuses, times, hours, due_times, entries, request_ids, answers, drop_log,
            drop_requests, record_steps, record_deals, record_payloads, prune_step, last_revision
        ) WITH ORDINALITY AS done(outcome, made, first_answer, place)
    LOOP
        IF step.outcome = 'committed' AND step.place = ANY (relabelled_steps) THEN
            PERFORM buraco.label_table_1(
                table_ids[step.place],
                ARRAY(
                    SELECT given.label FROM unnest(label_steps, labels) AS given(place, label)
                    WHERE given.place = step.place
                )
            );
        END IF;
        outcome := step.outcome; made := step.made; first_answer := step.first_answer;
        RETURN NEXT;
    END LOOP;
END
$$;
