#!/bin/sh
# Fails where an #include goes against the arrows of the design. docs/contributing.md lists those between folders; inside sim they are
#   analysis -> numerics -> engine -> memory, programs        programs, reference -> masks -> core        memory -> core
# and inside app
#   cli, views -> model -> sim, kernels        views -> ui -> platform        window, render and main see everything
# and inside app/model
#   lessons, session -> state -> run_data -> requests        lessons, session -> measurements -> requests, background
# platform is the bottom of app, so all of it may be used from above. It uses sim/core for errors.
# An arrow to one header only names the header in allowed().
# Usage: include_arrows.sh SOURCE_FOLDER
set -eu
cd "$1"
find sim kernels app -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort | xargs awk '
# A folder, all of sim, or one header.
function allowed(from) {
  if (from == "sim/core") return " sim/core sim/core/mask.h sim/masks/score_change.h "
  if (from == "sim/masks") return " sim/masks sim/core "
  if (from == "sim/reference") return " sim/reference sim/masks sim/core "
  if (from == "sim/memory") return " sim/memory sim/core "
  if (from == "sim/programs") return " sim/programs sim/masks sim/core "
  if (from == "sim/engine") return " sim/engine sim/memory sim/programs sim/masks sim/core "
  if (from == "sim/numerics") return " sim/numerics sim/engine/simulation.h sim/reference sim/programs sim/masks sim/core "
  if (from == "sim/analysis") return " sim/analysis sim/numerics sim/engine sim/reference sim/programs sim/masks sim/core "
  if (from == "kernels") return " kernels sim/reference sim/programs sim/masks sim/core "
  if (from == "kernels/lab") return " kernels kernels/lab sim "
  if (from == "app/platform") return " app/platform sim/core "
  if (from == "app/ui") return " app/ui app/platform sim "
  if (from == "app/model/background") return " app/model/background sim "
  if (from == "app/model/requests") return " app/model/requests app/platform sim "
  if (from == "app/model/run_data") return " app/model/run_data app/model/requests sim kernels "
  if (from == "app/model/measurements") return " app/model/measurements app/model/requests app/model/background app/platform sim kernels "
  if (from == "app/model/state") return " app/model/state app/model/run_data app/model/requests app/platform sim "
  if (from ~ /^app\/model\//) return " app/model app/platform sim kernels "
  if (from == "app/views") return " app/views app/ui app/model app/platform sim kernels "
  if (from == "app/cli") return " app/cli app/model app/platform sim kernels "
  return ""
}
function part(path,   n, step) {
  n = split(path, step, "/")
  if (step[1] == "app" && step[2] == "model" && n > 3) return "app/model/" step[3]
  if (step[1] == "app") return n > 2 ? "app/" step[2] : "app"
  if (step[1] == "sim") return n > 2 ? "sim/" step[2] : "sim"
  return step[1] == "kernels" && step[2] == "lab" ? "kernels/lab" : step[1]
}
function may(from, path,   list, top) {
  list = allowed(from)
  top = part(path)
  return index(list, " " top " ") || index(list, " " path " ") || (top ~ /^sim\// && index(list, " sim ")) || (top ~ /^app\/model\// && index(list, " app/model "))
}
FNR == 1 { from = part(FILENAME) }
/^[ \t]*#[ \t]*include[ \t]*"/ {
  ++seen
  split($0, quoted, "\"")
  if (from == "app" || quoted[2] !~ /\//) next
  if (allowed(from) == "") { print FILENAME ": the folder " from " has no arrows: add it to tests/include_arrows.sh"; bad = 1; nextfile }
  if (!may(from, quoted[2])) { print FILENAME ":" FNR ": " from " must not include " quoted[2]; bad = 1 }
}
# What draws or opens windows is no business of what does not draw.
/^[ \t]*#[ \t]*include[ \t]*</ && from ~ /^(sim\/[a-z]*|kernels|kernels\/lab|app\/model\/[a-z_]*|app\/cli)$/ && /imgui|GLFW|epoxy|GL\/|EGL/ {
  print FILENAME ":" FNR ": " from " must not include " $2; bad = 1
}
END {
  if (seen < 100) { print "only " seen + 0 " includes were found"; bad = 1 }
  exit bad
}'
