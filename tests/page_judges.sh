#!/bin/sh
# A lesson's page without the program: its script judges the answers of a table as the program does, and a drawing by points and by
# bend. It runs without a browser.
# Usage: page_judges.sh tilescope. 77 without Node.js.
command -v node > /dev/null || { echo "page_judges: Node.js is not installed"; exit 77; }
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
"$1" export --lesson 1 --size 320x180 --out "$folder/lesson.html" > /dev/null || exit 1
here=$(dirname "$0")
node "$here/page_judges.js" "$folder/lesson.html" "$here/app/model/lessons/typed_answers.json"
