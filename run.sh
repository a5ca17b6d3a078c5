#!/usr/bin/env bash
# Installs what is missing, builds TileScope and opens it; arguments go to the program (./run.sh simulate --gpu h200).
# Without a display it renders the demonstration to out/demo/ instead and names the pictures.
set -euo pipefail
cd "$(dirname "$0")"

cmake/setup.sh run
log=build/run.log
echo "tilescope: building (the first time takes a few minutes; $log has the details)"
if ! cmake/build.sh release --target tilescope >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "tilescope: the build failed; the whole log is $log" >&2
  exit 1
fi
tilescope=build/release/tilescope

if [ $# -gt 0 ]; then exec "$tilescope" "$@"; fi

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  status=0
  "$tilescope" || status=$?
  [ "$status" = 3 ] || exit "$status"
  echo "tilescope: the window could not be opened; rendering the demonstration instead"
else
  echo "tilescope: there is no display here; rendering the demonstration instead"
fi

demo=out/demo
mkdir -p "$demo"
picture() { # name, then arguments of render
  local name=$1
  shift
  "$tilescope" render "$@" --out "$demo/$name.png"
  echo "  $demo/$name.png"
}
picture 1-flash2-on-toy --algorithm flash2 --gpu toy --seq 64 --head-dim 16 --step 24
picture 2-standard-on-toy --algorithm standard --gpu toy --seq 64 --head-dim 16 --step 30
picture 3-race-on-toy --algorithm flash2 --gpu toy --seq 64 --head-dim 16 --race --step 40
picture 4-flash2-on-h200 --algorithm flash2 --gpu h200 --heads 16 --seq 4096 --head-dim 64 --step 200
picture 5-flash2-light --algorithm flash2 --gpu toy --seq 64 --head-dim 16 --step 24 --theme light
"$tilescope" simulate --algorithm flash2 --gpu toy --seq 64 --head-dim 16
