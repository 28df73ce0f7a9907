#!/usr/bin/env bash
# Backs up and restores the store in Valkey or Redis, with the server's own program (valkey-cli or redis-cli).
#
#   valkey.sh backup FILE [OPTION …]     while the service runs; FILE must not exist. The options are those of valkey-cli:
#                                        -h HOST -p PORT --user NAME --tls --cacert FILE …; the password: REDISCLI_AUTH
#   valkey.sh check FILE
#   valkey.sh restore FILE FOLDER        with the server stopped: FOLDER is its data folder (setting "dir")
#
# In a cluster each master is backed up and restored by itself. The backups of two masters are of two moments, which does
# no harm: a table is stored whole in one of them.
set -euo pipefail

refuse() {
    echo "$*" >&2
    exit 1
}

backup() {
    local file=$1 client
    draft=$1.part
    shift
    [ ! -e "$file" ] || refuse "$file already exists"
    client=$(command -v valkey-cli || command -v redis-cli) || refuse "neither valkey-cli nor redis-cli is in the PATH"
    trap 'rm -f "$draft"' EXIT
    # The server sends its data as it would to a new replica: as it is at one moment.
    "$client" "$@" --rdb "$draft" >&2
    check "$draft"
    sync "$draft"
    mv "$draft" "$file"
}

check() {
    [ -f "$1" ] || refuse "there is no $1"
    case $(head -c 6 "$1" | tr -d '\0') in
    REDIS* | VALKEY) ;;
    *) refuse "$1 is not a backup" ;;
    esac
    # An end mark and a checksum of eight bytes, which the server checks when it reads the file.
    [ "$(tail -c 9 "$1" | head -c 1 | od -An -tx1 | tr -d ' ')" = ff ] || refuse "$1 is not whole"
}

restore() {
    local file=$1 folder=$2 aside old
    check "$file"
    [ -d "$folder" ] || refuse "there is no folder $folder"
    aside=$folder/before-$(date +%Y%m%dT%H%M%S)
    for old in "$folder"/dump.rdb "$folder"/appendonlydir; do
        if [ -e "$old" ]; then
            mkdir -p "$aside"
            mv "$old" "$aside"
        fi
    done
    # With appendonly a server reads its append-only file at the start: the backup becomes the base of a new one.
    mkdir "$folder/appendonlydir"
    cp "$file" "$folder/appendonlydir/appendonly.aof.1.base.rdb"
    echo "file appendonly.aof.1.base.rdb seq 1 type b" >"$folder/appendonlydir/appendonly.aof.manifest"
    cp "$file" "$folder/dump.rdb"
    chown -R --reference="$folder" "$folder/appendonlydir" "$folder/dump.rdb"
    sync "$folder"/appendonlydir/* "$folder/dump.rdb"
}

[ $# -ge 2 ] || refuse "usage: $0 backup FILE [OPTION …] | check FILE | restore FILE FOLDER"
case $1 in
backup | check) "$@" ;;
restore)
    [ $# -eq 3 ] || refuse "usage: $0 restore FILE FOLDER"
    "$@"
    ;;
*) refuse "$1 is none of backup, check, restore" ;;
esac
