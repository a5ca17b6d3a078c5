#!/usr/bin/env python3
"""Fails where a recipe of docs/contributing.md does not name exactly the files that it takes.

Two recipes are followed by tests/recipe, and must name what that changes. The others must name every file that mentions a thing which is
there already, such as the operation tanh: a new one of its kind goes to the same places. Those of a GPU, a lesson and a word of the glossary
name a folder or a file alone: other tests read all that is in it.

Usage: named_files.py TREE FILE...     the files that tests/recipe changes
"""
import glob
import pathlib
import re
import sys

IDS = {"How do I add a tile program?": "recipe_attention", "How do I add a panel?": "recipe"}
# By recipe: what to look for, in which files, and in which not: those of the example alone.
EXAMPLES = {
    "How do I add a CUDA kernel?":
        (r'plan_flash1\b|"flash1"|^flash1\b|flash1_kernel_needs\b', ["kernels/*", "kernels/lab/kernel_profile.py", "kernels/measure/*", "sim/programs/kernel_needs.cpp"], []),
    "How do I add a mask preset?":
        (r"attention_sink|StreamingLLM", ["sim/**/*", "app/**/*", "docs/masks.md", "assets/lang/*", "tests/sim/masks/*.cpp"], []),
    "How do I add an export format?":
        (r'ExportFormat::svg\b|"svg"|mp4, svg|\.png,? \.svg', ["app/**/*"], []),
    "How do I add a rung of the ladder?":
        (r'"hopper_overlap"|HopperRungId::overlap\b|hopper_overlap_program|plan_hopper_overlap\b|hopper_overlap/|^hopper_overlap\b',
         ["sim/**/*", "kernels/*", "kernels/lab/*.*", "kernels/measure/*", "assets/suites/*"], ["assets/suites/new_shapes.txt", "assets/suites/starts.txt"]),
    "How do I add an operation to the mask language?":
        (r"ExprOp::(tanh|less)\b|^  tanh,$", ["sim/**/*", "kernels/**/*.cpp"], ["sim/masks/table_gradient.cpp"]),
    "How do I add a kind of operation to tile programs?": (r"OpKind::gather\b|^  gather,", ["sim/**/*"], []),
    "How do I add a number to the GPU specs?":
        (r"hbm_tile_latency_cycles = |hbm\.tile_latency_cycles|^tile_latency_cycles ", ["sim/core/*", "assets/gpus/*", "kernels/calibrate/*.cpp"], []),
    "How do I add a view made of many simulations?":
        (r"WorkKind::roofline\b|RooflineStudy\b|^  roofline,$", ["app/**/*"], ["app/views/roofline/*"]),
}


def steps_of(text, heading):
    """Returns the numbered steps of a recipe."""
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\d\. (.*?)(?=^\d\. |\n\n(?! )|\Z)", part, re.S | re.M)


def changed_by(text, heading):
    """Returns the files in the steps of a recipe that tests/recipe follows."""
    files = re.findall(r"`((?:app|sim|assets|kernels)/[^`]*\.(?:cpp|h|toml))`", " ".join(steps_of(text, heading)))
    return {file.replace("<id>", IDS[heading]) for file in files}


def named(text, heading, tree):
    """Returns the files in the steps of a recipe. A name without a folder is in the folder that the step named last."""
    files = set()
    for step in steps_of(text, heading):
        folder = ""
        for name in re.findall(r"`([\w/.*<>-]+\.(?:cpp|h|cu|py|toml|txt|md))`|`(kernels/CMakeLists\.txt)`", step):
            path = next(filter(None, name))
            folder = path.rpartition("/")[0] or folder
            path = path if "/" in path else f"{folder}/{path}"
            files.update(glob.glob(path, root_dir=tree) or {path})
    return files


def mentioning(pattern, where, tree):
    """Returns the files in which a line matches."""
    files = {file for place in where for file in glob.glob(place, root_dir=tree, recursive=True) if (tree / file).is_file()}
    return {file for file in files if re.search(pattern, (tree / file).read_text(encoding="utf-8", errors="ignore"), re.M)}


def main():
    tree, changed = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    text = (tree / "docs/contributing.md").read_text(encoding="utf-8")
    asked = set().union(*(changed_by(text, heading) for heading in IDS))
    wrong = [f"docs/contributing.md names {file}, and tests/recipe did not need it" for file in sorted(asked - changed)]
    wrong += [f"tests/recipe changes {file}, and docs/contributing.md does not name it" for file in sorted(changed - asked)]
    for heading, (pattern, where, own) in EXAMPLES.items():
        example = {file for place in own for file in glob.glob(place, root_dir=tree)}
        takes, names = mentioning(pattern, where, tree) - example, named(text, heading, tree)
        if len(takes) < 4:
            wrong.append(f"{heading} only {len(takes)} files mention {pattern}")
        wrong += [f"{heading} {file} is not named" for file in sorted(takes - names)]
        wrong += [f"{heading} there is no {file}" for file in sorted(names) if "<id>" not in file and not (tree / file).exists()]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
