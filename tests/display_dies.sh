#!/usr/bin/env bash
# Takes the display away from under the window: exit code 3, one line, and what was remembered is not lost. Skips (77) without Xvfb.
# Usage: display_dies.sh TILESCOPE
. "$(dirname "$0")/virtual_display.sh"

mkdir -p "$work/config/tilescope"
printf "[window]\ntheme = 'light'\n" >"$work/config/tilescope/settings.toml"
"$tilescope" >"$work/output" 2>&1 &
window=$!
await_drawing $window || { cat "$work/output"; echo "failed: the window never drew"; exit 1; }

kill -KILL $server
status=0
wait $window || status=$?
cat "$work/output"
[ "$status" = 3 ] || { echo "failed: exit code $status, not 3"; exit 1; }
[ "$(wc -l <"$work/output")" = 1 ] || { echo "failed: more or less than one line"; exit 1; }
grep -q '^tilescope: the display is gone' "$work/output" || { echo "failed: another sentence"; exit 1; }
grep -q "theme = 'light'" "$work/config/tilescope/settings.toml" || { echo "failed: the theme was forgotten"; exit 1; }
