#!/usr/bin/env bash
# Takes the display away from under the window: exit code 3, one line, and what was remembered is not lost. Skips (77) without Xvfb.
# Usage: display_dies.sh TILESCOPE
set -euo pipefail
tilescope=$(realpath "$1")
command -v Xvfb >/dev/null || { echo "skipped: there is no Xvfb here"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

Xvfb -noreset -displayfd 3 -screen 0 1280x720x24 -fbdir "$work" 3>"$work/display" >/dev/null 2>&1 &
server=$!
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
[ -s "$work/display" ] || { echo "skipped: Xvfb does not start here"; exit 77; }
DISPLAY=:$(cat "$work/display")
export DISPLAY XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state" LIBGL_ALWAYS_SOFTWARE=1

mkdir -p "$work/config/tilescope"
printf "[window]\ntheme = 'light'\n" >"$work/config/tilescope/settings.toml"
"$tilescope" >"$work/output" 2>&1 &
window=$!
colours=0
for _ in $(seq 100); do
  sleep 0.2
  kill -0 $window 2>/dev/null || break
  colours=$(od -An -v -tu1 -w1 "$work/Xvfb_screen0" | sort -un | wc -l)
  [ "$colours" -gt 100 ] && break
done
[ "$colours" -gt 100 ] || { cat "$work/output"; echo "failed: the window never drew"; exit 1; }

kill -KILL $server
status=0
wait $window || status=$?
cat "$work/output"
[ "$status" = 3 ] || { echo "failed: exit code $status, not 3"; exit 1; }
[ "$(wc -l <"$work/output")" = 1 ] || { echo "failed: more or less than one line"; exit 1; }
grep -q '^tilescope: the display is gone' "$work/output" || { echo "failed: another sentence"; exit 1; }
grep -q "theme = 'light'" "$work/config/tilescope/settings.toml" || { echo "failed: the theme was forgotten"; exit 1; }
