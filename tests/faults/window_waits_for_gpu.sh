#!/usr/bin/env bash
# Measures in the window on a GPU whose answer takes 10 seconds: the window goes on, and closes within 2 seconds. A busy machine
# gets 4. Skips (77) without Xvfb or xdotool.
# Usage: window_waits_for_gpu.sh TILESCOPE_FAILING_DEVICE
. "$(dirname "$0")/../virtual_display.sh"
command -v xdotool >/dev/null || { echo "skipped: there is no xdotool here"; exit 77; }
export TILESCOPE_FAULT=wait:1:slow TILESCOPE_FAULT_FIRED="$work/fired"
fail() { cat "$work/output"; echo "failed: $1"; exit 1; }

"$tilescope" --gpu h100 --seq 64 --head-dim 64 >"$work/output" 2>&1 &
window=$!
for _ in $(seq 100); do xdotool search --name '^TileScope' >/dev/null 2>&1 && break; sleep 0.1; done
for _ in $(seq 40); do
  [ -e "$work/fired" ] && break
  kill -0 $window 2>/dev/null || fail "the program ended by itself"
  xdotool windowfocus "$(xdotool search --name '^TileScope' | head -n 1)" key m 2>/dev/null || true
  sleep 0.3
done
[ -e "$work/fired" ] || fail "M measures nothing"

# While the GPU is waited for, a step forward is drawn.
picture() { md5sum <"$work/Xvfb_screen0"; }
moved=no
for _ in 1 2 3; do
  before=$(picture)
  xdotool key Right
  sleep 0.4
  [ "$(picture)" = "$before" ] || moved=yes
done
[ $moved = yes ] || fail "the window does not go on while the GPU is waited for"

asked=$(date +%s%N)
kill -TERM $window
status=0
wait $window || status=$?
took=$((($(date +%s%N) - asked) / 1000000))
[ "$status" = 0 ] || fail "exit code $status"
[ "$took" -lt 4000 ] || fail "closing took $took ms"
grep -q "closed = true" "$work/state/tilescope/window.toml" || fail "the state is not marked as closed"
echo "went on and closed in $took ms while the GPU did not answer"
