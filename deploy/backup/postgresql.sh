#!/usr/bin/env bash
# Backs up and restores the PostgreSQL store, with PostgreSQL's own programs (pg_dump, pg_restore, psql).
#
#   postgresql.sh backup FILE [URL]      while the service runs; FILE must not exist
#   postgresql.sh check FILE
#   postgresql.sh restore FILE [URL]     with the service stopped; all of the schema "buraco" is replaced, or nothing
#
# Without a URL the usual variables apply (PGHOST, PGDATABASE, PGUSER, PGPASSWORD, PGSSLMODE …). A password belongs there
# or into a PGPASSFILE: everybody on a machine can read command lines.
set -euo pipefail

refuse() {
    echo "$*" >&2
    exit 1
}

backup() {
    local file=$1
    draft=$1.part
    [ ! -e "$file" ] || refuse "$file already exists"
    trap 'rm -f "$draft"' EXIT
    # One snapshot of all tables of this schema, and of no other.
    pg_dump "${database[@]}" --format=custom --schema=buraco --no-owner --no-privileges --file="$draft"
    check "$draft"
    sync "$draft"
    mv "$draft" "$file"
}

check() {
    local contents
    contents=$(pg_restore --list "$1") || refuse "$1 is not a backup"
    grep --quiet 'TABLE DATA buraco tables' <<<"$contents" || refuse "$1 holds no tables of the service"
    # Read all of it, and discard the output.
    pg_restore --file=/dev/null "$1" || refuse "$1 is damaged"
}

restore() {
    local others
    check "$1"
    others=$(psql "${database[@]}" --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 --command "
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
    [ "$others" = 0 ] || refuse "the database is in use ($others sessions), stop the service first"
    pg_restore "${connection[@]}" --clean --if-exists --no-owner --no-privileges --single-transaction --exit-on-error "$1"
}

[ $# -ge 2 ] && [ $# -le 3 ] || refuse "usage: $0 backup FILE [URL] | check FILE | restore FILE [URL]"
database=()
connection=(--dbname="${PGDATABASE:-}")
if [ $# -eq 3 ]; then
    database=(--dbname="$3")
    connection=("${database[@]}")
fi
case $1 in
backup | check | restore) "$1" "$2" ;;
*) refuse "$1 is none of backup, check, restore" ;;
esac
