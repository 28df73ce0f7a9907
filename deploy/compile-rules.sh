#!/bin/sh
# Compile the rules to C and put them beside their sources in an environment: an action of the engine takes two thirds of
# the time. Rule sets stay Python: compiled ones raise TypeError for a wrong value of an option before it can be validated.
# So do the collector of problems, which the service extends, and modules whose names begin with an underscore.
#
#   deploy/compile-rules.sh TOOLS SITE_PACKAGES     the folder of the `mypyc` program; where buraco_rules is installed
set -eu

mypyc=$(cd "$1" && pwd)/mypyc
site=$(cd "$2" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -r "$(dirname "$0")/../service/buraco_rules" "$build"
cd "$build"
find buraco_rules -name '[a-z]*.py' ! -name rule_sets.py ! -name problems.py \
    -exec env MYPYC_DEBUG_LEVEL=0 "$mypyc" --config-file= --strict {} +
find "$site/buraco_rules" -name '*.so' -delete
find . -path ./build -prune -o -name '*.so' -exec cp --parents {} "$site" \;
