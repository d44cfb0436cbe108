#!/bin/sh
# run.sh: the tests of bindings/python, beside C (LW_REGION_PEER) and Node; with the library that
# LOCKWORD_LIBRARY names.
set -eu
root=$(realpath "$(dirname "$0")/../..")
version=$(sed -n 's/^  "version": "\(.*\)",/\1/p' "$root/package.json")
grep -qx "__version__ = \"$version\"" "$root/bindings/python/lockword/__init__.py" || {
    echo "bindings/python does not have the library's version, $version"
    exit 1
}
node "$root/bindings/node/build.js"
# Debian's Python, if it is there.
python=$(PATH=/usr/bin:$PATH command -v python3)
export LW_REGION_NODE=1 PYTHONPATH="$root/bindings/python" PYTHONDONTWRITEBYTECODE=1
exec "$python" -X faulthandler -W default "$root/test/python/test_lockword.py"
