#!/usr/bin/env bash
# Serve the built page with the service and a fleet of bots, until Ctrl-C. Run by `make play`.
# WEB_PORT (8080) is the page's port; PLAY_FOLDER (build/play) keeps tables and keys, so that seats outlive a restart.
# BOTS are bots by name, in place of those that the page offers; PAUSE (0.3-1) is how long they take to move, in seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."

buraco=${BURACO:-.venv/bin/buraco}
port=${WEB_PORT:-8080}
folder=${PLAY_FOLDER:-build/play}
ready=$folder/ready.json
mkdir -p "$folder"
rm -f "$ready"
[ -s "$folder/keys" ] || (umask 077 && .venv/bin/python -c 'import secrets; print("play", secrets.token_hex(32))' >"$folder/keys")

# Each in a process group of its own, so that Ctrl-C reaches this script alone, which stops them in order.
set -m
service=
fleet=
stop() {
	trap - EXIT
	# A second Ctrl-C would leave one of them behind.
	trap '' INT TERM
	for process in $fleet $service; do
		kill "$process" 2>/dev/null || true
		wait "$process" 2>/dev/null || true
	done
}
trap stop EXIT
trap 'exit 0' INT TERM

"$buraco" serve --port 0 --metrics-port -1 --web-port "$port" --web-root clients/web/dist --ready-file "$ready" \
	--store "sqlite:///$folder/tables.db" --signing-keys-file "$folder/keys" 2>"$folder/service.log" >&2 &
service=$!
until [ -s "$ready" ]; do
	kill -0 "$service" 2>/dev/null || { tail -n 5 "$folder/service.log" >&2; exit 1; }
	sleep 0.1
done
field() { .venv/bin/python -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$ready" "$1"; }
levels() { .venv/bin/python -c "import json; levels = json.load(open('clients/web/src/game/levels.json')); print($1)"; }
bots=(--bots "$(levels "','.join(levels['offered'])")" --free-seats "$(levels "levels['default']")")
[ -z "${BOTS:-}" ] || bots=(--bots "$BOTS")
"$buraco" fleet --server "$(field address)" "${bots[@]}" --pause "${PAUSE:-0.3-1}" --courtesy 5 --seats-limit 60 \
	2>"$folder/fleet.log" >&2 &
fleet=$!

echo "Buraco is at http://$(field web_address)/ ; bots take the free seats of a new table after 5 seconds. Ctrl-C stops it."
wait "$service"
