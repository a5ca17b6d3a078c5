#!/bin/sh
# Fails where an #include goes against the arrows of the design: sim and kernels know nothing above them, and inside app
#   cli, views -> model -> sim, kernels        views -> ui -> platform        window, render and main see everything
# platform is the bottom of app, so all of it may be used from above. It uses sim/core for errors.
# Usage: include_arrows.sh SOURCE_FOLDER
set -eu
cd "$1"
find sim kernels app -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort | xargs awk '
function allowed(from) {
  if (from == "sim") return " sim "
  if (from == "kernels") return " kernels sim "
  if (from == "app/platform") return " app/platform sim "
  if (from == "app/ui") return " app/ui app/platform sim "
  if (from == "app/model") return " app/model app/platform sim kernels "
  if (from == "app/views") return " app/views app/ui app/model app/platform sim kernels "
  if (from == "app/cli") return " app/cli app/model app/platform sim kernels "
  return ""
}
function part(path,   n, step) {
  n = split(path, step, "/")
  if (step[1] == "app") return n > 2 ? "app/" step[2] : "app"
  return step[1]
}
FNR == 1 { from = part(FILENAME) }
/^[ \t]*#[ \t]*include[ \t]*"/ {
  ++seen
  split($0, quoted, "\"")
  to = part(quoted[2])
  if (from == "app" || quoted[2] !~ /\//) next
  if (allowed(from) == "") { print FILENAME ": the folder " from " has no arrows: add it to tests/include_arrows.sh"; bad = 1; nextfile }
  if (index(allowed(from), " " to " ") == 0) { print FILENAME ":" FNR ": " from " must not include " quoted[2]; bad = 1 }
}
# What draws or opens windows is no business of what does not draw.
/^[ \t]*#[ \t]*include[ \t]*</ && from ~ /^(sim|kernels|app\/model|app\/cli)$/ && /imgui|GLFW|epoxy|GL\/|EGL/ {
  print FILENAME ":" FNR ": " from " must not include " $2; bad = 1
}
END {
  if (seen < 100) { print "only " seen + 0 " includes were found"; bad = 1 }
  exit bad
}'
