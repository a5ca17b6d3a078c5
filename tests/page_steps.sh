#!/usr/bin/env bash
# Steps exported pages with the arrow keys in a headless Chromium, from disk. Skips (77) without one.
# Usage: page_steps.sh TILESCOPE
set -euo pipefail
tilescope=$(realpath "$1")
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || { echo "skipped: there is no Chromium here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LIBGL_ALWAYS_SOFTWARE=1

# Presses keys once the page is there and leaves what is shown in the title.
# $1: file, $2: keys, separated by commas; prints the title.
press() {
  cat "$1" - >"$work/pressed.html" <<END
<script>
for(const key of '$2'.split(','))dispatchEvent(new KeyboardEvent('keydown',{key}));
const shown=[...document.querySelectorAll('.step')].filter(s=>getComputedStyle(s).display!=='none');
document.title='shown '+shown.length+': '+shown.map(s=>s.id).join(' ');
</script>
END
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --dump-dom "file://$work/pressed.html" \
    2>/dev/null | grep -o '<title>[^<]*' | head -1
}
expect() {
  local found
  found=$(press "$1" "$2")
  [ "$found" = "<title>shown 1: $3" ] || { echo "failed: after $2 in $(basename "$1"): '$found', not '$3'"; exit 1; }
}

"$tilescope" export --quiet --steps 2:6 --panel stage --size 640x400 --out "$work/steps.html"
expect "$work/steps.html" Home step-2
expect "$work/steps.html" ArrowRight,ArrowRight step-4
expect "$work/steps.html" End,ArrowLeft step-5
expect "$work/steps.html" End,ArrowRight,PageDown step-6

"$tilescope" export --quiet --lesson 6 --size 640x400 --out "$work/lesson.html"
expect "$work/lesson.html" Home page-1
expect "$work/lesson.html" ArrowRight,ArrowRight,ArrowRight,ArrowLeft page-3
echo "two pages were stepped with the arrow keys"
