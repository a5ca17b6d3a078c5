#!/usr/bin/env bash
# Opens the program on a virtual display, looks whether it drew, closes it and looks whether it remembers. Skips (77) without Xvfb.
# Usage: window_on_display.sh TILESCOPE
. "$(dirname "$0")/virtual_display.sh"

"$tilescope" --theme light >"$work/output" 2>&1 &
window=$!
await_drawing $window || true
if ! kill -0 $window 2>/dev/null; then
  cat "$work/output"
  echo "failed: the program ended by itself"
  exit 1
fi
[ "$colours" -gt 100 ] || { echo "failed: the window stays blank ($colours different bytes)"; exit 1; }

kill -TERM $window || true
status=0
wait $window || status=$?
[ "$status" = 0 ] || { cat "$work/output"; echo "failed: exit code $status"; exit 1; }
settings=$work/config/tilescope/settings.toml
grep -q "width = 1280" "$settings" || { echo "failed: the size that the display gave was not remembered"; exit 1; }
grep -q "theme = 'dark'" "$settings" || { echo "failed: a theme for this run alone was remembered"; exit 1; }
state=$work/state/tilescope/window.toml
grep -q "closed = true" "$state" || { echo "failed: the state is not marked as closed"; exit 1; }

# A presenter's window that is still open at the end closes with the other one. The key needs xdotool.
if command -v xdotool >/dev/null; then
  "$tilescope" >"$work/output" 2>&1 &
  window=$!
  for _ in $(seq 100); do xdotool search --name '^TileScope' >/dev/null 2>&1 && break; sleep 0.2; done
  sleep 2
  presenter=""
  for _ in $(seq 20); do
    kill -0 $window 2>/dev/null || break
    xdotool windowfocus "$(xdotool search --name '^TileScope' | head -n 1)" key p
    sleep 1
    presenter=$(xdotool search --name presenter 2>/dev/null | head -n 1 || true)
    [ -n "$presenter" ] && break
  done
  [ -n "$presenter" ] || { cat "$work/output"; echo "failed: P opens no presenter's window"; exit 1; }
  kill -TERM $window || true
  status=0
  wait $window || status=$?
  [ "$status" = 0 ] || { cat "$work/output"; echo "failed: exit code $status with a presenter's window"; exit 1; }
fi

# Killed while it runs, it leaves its state behind for the next window.
rm "$state"
"$tilescope" --open seq=96 >"$work/output" 2>&1 &
window=$!
for _ in $(seq 100); do [ -s "$state" ] && break; sleep 0.2; done
kill -KILL $window
wait $window || true
grep -q "closed = false" "$state" && grep -q "seq=96" "$state" || { cat "$work/output"; echo "failed: no state is left behind"; exit 1; }
echo "opened, drew, closed, remembered; killed, left its state"
