#!/usr/bin/env bash
# Holds docs/pictures against the docs: every picture that they show is there, and every one that is there is shown.
# Usage: pictures_shown.sh SOURCE_DIR
set -euo pipefail
cd "$1"
shown=$(grep -ohE 'pictures/[A-Za-z0-9_-]+\.(png|svg|gif)' README.md docs/*.md | sed 's#.*/##' | sort -u)
there=$(ls docs/pictures | sort -u)
missing=$(comm -23 <(echo "$shown") <(echo "$there"))
unused=$(comm -13 <(echo "$shown") <(echo "$there"))
for name in $missing; do echo "docs/pictures/$name is shown and not there: run docs/take_pictures.sh --shown"; done
for name in $unused; do echo "docs/pictures/$name is shown nowhere: remove it, or show it"; done
[ -z "$missing$unused" ] && echo "$(wc -w <<<"$shown") pictures"
