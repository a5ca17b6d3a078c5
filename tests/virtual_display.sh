# Sourced by the tests that open a window. Starts a virtual display of 1280 by 720 and sets: tilescope, the program; work, a folder
# that goes at the end, with $work/Xvfb_screen0, what the display shows; server, the display's process; and settings of its own.
# Skips (77) without Xvfb. Usage: . virtual_display.sh PROGRAM
set -euo pipefail
tilescope=$(realpath "$1")
command -v Xvfb >/dev/null || { echo "skipped: there is no Xvfb here"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# Without -noreset the server starts over once its last client has gone, and refuses the next window meanwhile.
Xvfb -noreset -displayfd 3 -screen 0 1280x720x24 -fbdir "$work" 3>"$work/display" >/dev/null 2>&1 &
server=$!
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
[ -s "$work/display" ] || { echo "skipped: Xvfb does not start here"; exit 77; }
DISPLAY=:$(cat "$work/display")
export DISPLAY XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state" LIBGL_ALWAYS_SOFTWARE=1

# Waits until the window of process $1 has drawn, and counts the different bytes on the display in `colours`. A blank screen has a handful of different bytes; the window, with its anti-aliased
# text, has nearly all there are.
await_drawing() {
  colours=0
  for _ in $(seq 100); do
    sleep 0.2
    kill -0 "$1" 2>/dev/null || return 1
    colours=$(od -An -v -tu1 -w1 "$work/Xvfb_screen0" | sort -un | wc -l)
    [ "$colours" -gt 100 ] && return
  done
  return 1
}
