#!/usr/bin/env bash
# Make (or bring up to date) the virtual environment .venv/NAME with the package's EXTRAS: tools/venv.sh NAME EXTRAS
# A stamp remembers what it was made from, so that a second call costs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 extras=$2
venv=.venv/$name stamp=.venv/$name.stamp
python=${PYTHON:-python3}

wanted="$extras $("$python" -VV) $(cat setup.cfg pyproject.toml tools/venv.sh | cksum) $PWD"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi

mkdir -p .venv
exec 9> ".venv/$name.lock"      # two makes at once would install into one directory
if command -v flock > /dev/null; then flock 9; fi
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi

echo "-- environment $venv [$extras]"
rm -rf "$venv" "$stamp"
"$python" -m venv "$venv" || {
  echo "$python cannot make a virtual environment; on Debian and Ubuntu install its 'python3-venv' package" >&2
  exit 1
}
# without bytecode: most of what is installed is never imported; the C of this tree is for `make compile`
MPIGRAD_COMPILED=0 "$venv/bin/python" -m pip install -qq --no-compile --disable-pip-version-check --editable ".[$extras]"
echo "$wanted" > "$stamp"
