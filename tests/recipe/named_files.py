#!/usr/bin/env python3
"""Fails where a recipe of docs/contributing.md does not name exactly the files that tests/recipe changes.

Usage: named_files.py CONTRIBUTING.md FILE...
"""
import re
import sys

HEADINGS = ["How do I add a tile program?", "How do I add a panel?"]
IDS = {"How do I add a tile program?": "recipe_attention", "How do I add a panel?": "recipe"}


def named(text, heading):
    """The files in the numbered steps of a recipe."""
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    steps = re.findall(r"^\d\. (.*?)(?=^\d\. |\n\n(?! )|\Z)", part, re.S | re.M)
    files = re.findall(r"`((?:app|sim|assets|kernels)/[^`]*\.(?:cpp|h|toml))`", " ".join(steps))
    return {file.replace("<id>", IDS[heading]) for file in files}


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    changed = set(sys.argv[2:])
    asked = set().union(*(named(text, heading) for heading in HEADINGS))
    for file in sorted(asked - changed):
        print(f"docs/contributing.md names {file}, and tests/recipe did not need it")
    for file in sorted(changed - asked):
        print(f"tests/recipe changes {file}, and docs/contributing.md does not name it")
    sys.exit(1 if asked != changed else 0)


main()
