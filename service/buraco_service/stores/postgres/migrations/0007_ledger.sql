-- oldest program: 1
-- Accounts, and tables for which something is due do not expire.

CREATE TABLE buraco.ledger (
    account_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (account_id, number),
    UNIQUE (account_id, key)
);
DO $$
DECLARE
    writer text;
BEGIN
    -- Who may write tables may post entries.
    FOR writer IN
        SELECT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END
        FROM pg_class, aclexplode(relacl) AS acl
        WHERE oid = 'buraco.tables'::regclass AND acl.privilege_type = 'INSERT' AND acl.grantee <> relowner
    LOOP
        EXECUTE 'GRANT SELECT, INSERT ON buraco.ledger TO ' || writer;
    END LOOP;
    EXECUTE replace(
        pg_get_functiondef('buraco.expire_1'::regproc),
        't.updated_at < updated_before', 't.updated_at < updated_before AND t.due_at IS NULL'
    );
END
$$;
