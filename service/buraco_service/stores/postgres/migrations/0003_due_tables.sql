-- oldest program: 1
-- Tables have a time at which something is due, and `commit_steps_2` and `create_table_2` write it.

-- Older programs go on with the functions that they know: they never write a table that has such a time.
ALTER TABLE buraco.tables ADD COLUMN due_at double precision;
CREATE INDEX tables_by_due ON buraco.tables (due_at) WHERE due_at IS NOT NULL;

-- An ordinary commit leaves `due_at` as it is, and so stays a HOT update.
DO $$
DECLARE
    source text := pg_get_functiondef('buraco.commit_steps_1'::regproc);
BEGIN
    source := replace(source, 'buraco.commit_steps_1(', 'buraco.commit_steps_2(');
    source := replace(source, 'hours integer[], ', 'hours integer[], due_times double precision[], ');
    source := replace(source, 'times, hours, entries', 'times, hours, due_times, entries');
    source := replace(source, 'now, hour, entry', 'now, hour, due_at, entry');
    source := replace(source, 'hour = step.hour,', 'hour = step.hour, due_at = step.due_at,');
    EXECUTE source;
    source := pg_get_functiondef('buraco.create_table_1'::regproc);
    source := replace(source, 'buraco.create_table_1(', 'buraco.create_table_2(');
    source := replace(source, 'owner text)', 'owner text, due_at double precision)');
    source := replace(source, 'hour, status, owner, state)', 'hour, status, owner, state, due_at)');
    EXECUTE source;
END
$$;
