#!/usr/bin/env python3
"""Fails where docs/contributing.md and the tree differ.

Every file and folder that the page names is there. Every folder of app/, app/model/ and sim/ has one row in its tables, and so has every
source right in app/. Every source begins with a comment, which says what the file is.

Usage: contributing_names.py TREE
"""
import collections
import fnmatch
import pathlib
import re
import sys

SOURCES = {".cpp", ".h", ".cu", ".cuh"}
ENDINGS = (".cpp", ".h", ".cu", ".cuh", ".py", ".toml", ".txt", ".md", ".sh", ".json")
# What a reader is to add, or what a build makes.
NOT_THERE = {"my.toml", "out/pictures/"}


def files_of(tree):
    """Returns the paths of all files but those of builds, with slashes."""
    folders = ("app", "assets", "cmake", "docs", "kernels", "shaders", "sim", "tests")
    files = [path.relative_to(tree).as_posix() for folder in folders for path in (tree / folder).rglob("*") if path.is_file()]
    return files + [path.name for path in tree.iterdir() if path.is_file()]


def names_of(text):
    """Returns the files and folders that a page names: all in backticks that has an ending or a slash at its end."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M))
    words = [span.split()[0].removeprefix("./") for span in spans if span.strip()]
    return {word for word in words if re.fullmatch(r"[\w./<>*-]+", word) and word.endswith(ENDINGS + ("/",))} - NOT_THERE


def missing(names, files):
    """Returns the names that no file has, as a path or as the end of one."""
    folders = {folder.as_posix() + "/" for file in files for folder in pathlib.PurePosixPath(file).parents}
    found = []
    for name in sorted(names):
        pattern = re.sub(r"<[^>]*>", "*", name)
        there = folders if name.endswith("/") else files
        if not any(fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, "*/" + pattern) for path in there):
            found.append(f"docs/contributing.md names {name}, which is not there")
    return found


def rows_of(text, heading):
    """Returns the names in the first cells of the table whose heading row begins so."""
    table = text.split(f"\n{heading}")[1].split("\n\n")[0]
    return [name.rstrip("/") for row in table.split("\n")[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def unlisted(text, tree):
    """Returns what lacks its row of a table, and what has several."""
    found = []
    for folder, heading in (("sim", "| folder | may use |"), ("app", "| folder of `app/` |"), ("app/model", "| folder of `app/model/` |")):
        rows = collections.Counter(rows_of(text, heading))
        own = {path.name for path in (tree / folder).iterdir() if path.is_dir()}
        if folder == "app":
            own |= {path.name for path in (tree / folder).glob("*.cpp")} - {"main.cpp"}
        found += [f"docs/contributing.md has {rows[name]} rows for {folder}/{name}, not one" for name in sorted(own) if rows[name] != 1]
    return found


def without_first_line(files, tree):
    """Returns the sources of ours that do not begin with a comment."""
    ours = [file for file in files if pathlib.PurePosixPath(file).suffix in SOURCES and file.startswith(("app/", "sim/", "kernels/", "tests/"))]
    return [f"{file} does not begin with a comment that says what it is" for file in sorted(ours)
            if not (tree / file).read_text(encoding="utf-8").startswith(("//", "/*"))]


def main():
    tree = pathlib.Path(sys.argv[1])
    text = (tree / "docs/contributing.md").read_text(encoding="utf-8")
    files = files_of(tree)
    names = names_of(text)
    wrong = missing(names, files) + unlisted(text, tree) + without_first_line(files, tree)
    if len(names) < 100:
        wrong.append(f"only {len(names)} names were found in docs/contributing.md")
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
