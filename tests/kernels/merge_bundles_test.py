"""Follows the recipe of docs/measuring.md as far as it needs no GPU: a suite in two parts, merged, is the bundle in one piece.

Usage: python3 tests/kernels/merge_bundles_test.py SOURCE_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
script = source / "kernels/lab/merge_bundles.py"
recorded = source / "assets/measured/h200-longest.json"
suite = source / "assets/suites/longest.txt"


def case_blocks(text):
    """Returns the text before the cases, and the text of each."""
    head, rest = text.split(' "cases": [\n')
    start = '  {\n   "kernel"'
    body = rest[:rest.rindex("\n ]\n}")]
    return head, [start + each for each in (",\n" + body).split(",\n" + start)[1:]]


def bundle_of(head, cases):
    return head + ' "cases": [\n' + ",\n".join(cases) + "\n ]\n}\n"


def merge(*arguments):
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)


def expect(what, holds):
    if not holds:
        sys.exit(f"failed: {what}")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    head, cases = case_blocks(recorded.read_text())
    first, second, out = folder / "part-0.json", folder / "part-1.json", folder / "whole.json"
    # The parts come back in any order, and each holds what its call measured.
    first.write_text(bundle_of(head, cases[1::2]))
    second.write_text(bundle_of(head, cases[::2]))
    merged = merge(suite, out, second, first)
    expect(f"two parts are merged: {merged.stderr}", merged.returncode == 0)
    before, after = json.loads(recorded.read_text()), json.loads(out.read_text())
    expect("the cases are those of the bundle in one piece, in the order of the suite", after["cases"] == before["cases"])
    expect("the command says that there were parts", after["command"].endswith("in 2 parts"))
    expect("nothing else differs", {**after, "command": ""} == {**before, "command": ""})

    missing = merge(suite, folder / "x.json", first)
    expect("a missing part is named", missing.returncode == 1 and "are in no part, the first is" in missing.stderr)
    twice = merge(suite, folder / "x.json", first, second, second)
    expect("a case that was measured twice is named", twice.returncode == 1 and "measured twice" in twice.stderr)
    second.write_text(bundle_of(head.replace(before["commit"], "0000000"), cases[::2]))
    other = merge(suite, folder / "x.json", first, second)
    expect("parts of two commits are refused", other.returncode == 1 and "commit is" in other.stderr)
    expect("a refusal writes nothing", not (folder / "x.json").exists())

recipe = (source / "docs/measuring.md").read_text()
for command in ("kernels/build_gpu_check.sh", "tilescope_record_suite", "kernels/lab/merge_bundles.py", "tilescope validate --bundle"):
    expect(f"docs/measuring.md has {command}", command in recipe)
print("the recipe holds")
