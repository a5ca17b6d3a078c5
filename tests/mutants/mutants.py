#!/usr/bin/env python3
"""Changes one operator at a time and counts how many of the changes the tests notice: those of the model, then the recorded cases.

    tests/mutants/mutants.py [--folder sim] [--count 20] [--seed S] [--jobs 1] [--build build/mutants] [--only FILE:LINE:COLUMN]
                             [--leave-out PATTERN]      test cases that fail without any change

Each job has a copy of the tree in the build folder. It changes one operator there and builds `test_sim`, which compiles that one file.
The tests of the changed folder run first, then all others, then the sample of the recorded bundle that CI simulates (`test_validation`):
the first that fails ends it. Then the line is put back.
A mutant that does not compile is drawn again and not counted. The seed is printed: the same seed draws the same mutants.
"""
import argparse
import concurrent.futures
import pathlib
import queue
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURE = ["cmake", "-S", ".", "-B", "build/mutant", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTILESCOPE_CUDA=OFF",
             f"-DTILESCOPE_IMGUI_DIR={ROOT / 'build/deps/imgui'}"]
# Each is built and run where the one before passes. {} is the changed folder, "sim/engine".
BUILD_SIM = ["cmake", "--build", "build/mutant", "--target", "test_sim"]
STAGES = [(BUILD_SIM, ["build/mutant/tests/test_sim", "--abort-after=1", "--source-file=*/tests/{}/*"]),
          (BUILD_SIM, ["build/mutant/tests/test_sim", "--abort-after=1", "--source-file-exclude=*/tests/{}/*"]),
          (["cmake", "--build", "build/mutant", "--target", "test_validation"],
           ["build/mutant/tests/test_validation", "--source-file=*sample_test*"])]
SECONDS_OF_A_TEST_RUN = 900

# An operator with blanks around it: < of a template and * of a pointer have none.
CHANGES = {
    " + ": [" - "], " - ": [" + "], " * ": [" / "], " / ": [" * "], " % ": [" * "],
    " < ": [" <= ", " > "], " <= ": [" < "], " > ": [" >= ", " < "], " >= ": [" > "],
    " == ": [" != "], " != ": [" == "], " && ": [" || "], " || ": [" && "],
    " += ": [" -= "], " -= ": [" += "], "std::max(": ["std::min("], "std::min(": ["std::max("],
    "true": ["false"], "false": ["true"], "return true": ["return false"],
}
OPERATOR = re.compile("|".join(sorted((rf"\b{re.escape(o)}\b" if o.isalpha() else re.escape(o) for o in CHANGES), key=len, reverse=True)))


class Mutant:
    def __init__(self, file, line, column, old, new):
        self.file, self.line, self.column, self.old, self.new = file, line, column, old, new

    def __str__(self):
        return f"{self.file}:{self.line}:{self.column}: '{self.old.strip()}' to '{self.new.strip()}'"


def code_of(line):
    """Blanks out comments and texts, so that columns stay."""
    line = re.sub(r'"(\\.|[^"\\])*"', lambda m: "\0" * len(m.group()), line)
    return re.sub(r"//.*", lambda m: "\0" * len(m.group()), line)


def all_mutants(folder, headers):
    mutants = []
    for path in sorted(p for p in (ROOT / folder).rglob("*") if p.suffix == ".cpp" or (headers and p.suffix == ".h")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.lstrip().startswith(("#", "//", "template", "static_assert")):
                continue
            for found in OPERATOR.finditer(code_of(line)):
                for new in CHANGES[found.group()]:
                    mutants.append(Mutant(str(path.relative_to(ROOT)), number, found.start() + 1, found.group(), new))
    return mutants


def run(command, folder, seconds=None):
    """Returns the exit code; 'slow' counts as noticed, since CI would not end either."""
    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        return "slow"


def prepare(folder):
    """Copies what the tests are made of, and builds them once without a change."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("sim", "app", "shaders", "tests", "cmake", "assets", "kernels", "docs"):
        shutil.rmtree(folder / name, ignore_errors=True)
        # With times of their own: those of the tree are older than what an interrupted run left built.
        shutil.copytree(ROOT / name, folder / name, copy_function=shutil.copy)
    shutil.copy(ROOT / "CMakeLists.txt", folder)
    for command in (CONFIGURE, BUILD_SIM, STAGES[-1][0]):
        if run(command, folder) != 0:
            sys.exit(f"mutants: {' '.join(command)} fails in {folder} without any change")
    for _, test in STAGES[1:]:
        unchanged = subprocess.run([part.format("none") for part in test if part != "--abort-after=1"], cwd=folder, capture_output=True,
                                   text=True)
        if unchanged.returncode != 0:
            failing = sorted(set(re.findall(r"TEST CASE: +(.*)", unchanged.stdout)))
            sys.exit(f"mutants: {test[0]} fails without any change: " + "; ".join(failing))


def outcome(folder, mutant):
    """'noticed', 'lives' or 'does not compile'."""
    path = folder / mutant.file
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    line = lines[mutant.line - 1]
    at = mutant.column - 1
    lines[mutant.line - 1] = line[:at] + mutant.new + line[at + len(mutant.old):]
    path.write_text("".join(lines))
    try:
        for build, test in STAGES:
            if run(build, folder) != 0:
                return "does not compile"
            if run([part.format(pathlib.Path(mutant.file).parent) for part in test], folder, SECONDS_OF_A_TEST_RUN) != 0:
                return "noticed"
        return "lives"
    finally:
        path.write_text(text)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--folder", default="sim")
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants")
    options.add_argument("--headers", action="store_true", help="headers too, after which much is built again")
    options.add_argument("--only", help="mutants of FILE:LINE or FILE:LINE:COLUMN alone")
    options.add_argument("--leave-out", help="test cases that fail without any change, as doctest's -tce")
    given = options.parse_args()
    if given.leave_out:
        for _, test in STAGES:
            test.append(f"-tce={given.leave_out}")

    mutants = all_mutants(given.folder, given.headers or bool(given.only))
    if given.only:
        mutants = [m for m in mutants if f"{m.file}:{m.line}:{m.column}:".startswith(given.only + ":")]
    random.Random(given.seed).shuffle(mutants)
    print(f"mutants: seed {given.seed}, {len(mutants)} to draw from in {given.folder}", flush=True)

    folders = queue.Queue()
    for job in range(given.jobs):
        folders.put(given.build / str(job))
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(prepare, list(folders.queue)))
        counts = {"noticed": 0, "lives": 0, "does not compile": 0}

        def one(mutant):
            folder = folders.get()
            try:
                return mutant, outcome(folder, mutant)
            finally:
                folders.put(folder)

        waiting = iter(mutants)
        running = {pool.submit(one, m) for _, m in zip(range(given.jobs), waiting)}
        while running:
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                mutant, how = future.result()
                counts[how] += 1
                print(f"{how}: {mutant}", flush=True)
                wanted = given.count - counts["noticed"] - counts["lives"] - len(running)
                if wanted > 0 and (following := next(waiting, None)) is not None:
                    running.add(pool.submit(one, following))
    tried = counts["noticed"] + counts["lives"]
    print(f"mutants: {counts['noticed']} of {tried} noticed, {counts['lives']} live, {counts['does not compile']} did not compile")


if __name__ == "__main__":
    main()
