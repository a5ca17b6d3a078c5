#!/usr/bin/env python3
"""Changes one operator at a time and counts how many of the changes the tests notice: those of the model, then the recorded cases.

    tests/mutants/mutants.py [--folder sim] [--count 20] [--seed S] [--jobs 1] [--build build/mutants]
                             [--only FILE:LINE:COLUMN ...]  these mutants; FILE:LINE:NEW are those that write NEW
                             [--seconds T]              draws no further mutant after T seconds
                             [--leave-out PATTERN]      test cases that fail without any change

The tests are built once. For a mutant its file is compiled with one operator changed, and linked in place of the original. The tests of the
changed folder run first, then all others of the model, then the sample of the recorded bundle that CI simulates: the first failure ends it.
A mutant that does not compile is drawn again and not counted. The seed is printed: the same seed draws the same mutants.
"""
import argparse
import concurrent.futures
import json
import pathlib
import queue
import random
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTILESCOPE_CUDA=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DTILESCOPE_MUTANTS=ON",
             f"-DTILESCOPE_IMGUI_DIR={ROOT / 'build/deps/imgui'}"]
# Each stage is linked and run where the one before passes: an executable and its arguments. {} is the changed folder, "sim/engine".
STAGES = [("test_sim", ["--abort-after=1", "--source-file=*/tests/{}/*"]),
          ("test_sim", ["--abort-after=1", "--source-file-exclude=*/tests/{}/*"]),
          ("test_validation", ["--source-file=*sample_test*"])]
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

    def names(self):
        place = f"{self.file}:{self.line}"
        return {place, f"{place}:{self.column}", f"{place}:{self.new.strip()}"}

    def text(self):
        lines = (ROOT / self.file).read_text().splitlines(keepends=True)
        line, at = lines[self.line - 1], self.column - 1
        lines[self.line - 1] = line[:at] + self.new + line[at + len(self.old):]
        return "".join(lines)


def code_of(line):
    """Blanks out comments and texts, so that columns stay."""
    line = re.sub(r'"(\\.|[^"\\])*"', lambda m: "\0" * len(m.group()), line)
    return re.sub(r"//.*", lambda m: "\0" * len(m.group()), line)


def all_mutants(folder):
    mutants = []
    for path in sorted((ROOT / folder).rglob("*.cpp")):
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


class Build:
    """The tests as they are, and the commands that compile one file and link it in place of the original."""

    def __init__(self, folder, leave_out):
        self.folder = folder
        self.leave_out = [f"-tce={leave_out}"] if leave_out else []
        executables = list(dict.fromkeys(name for name, _ in STAGES))
        for command in (["cmake", "-S", str(ROOT), "-B", str(folder), *CONFIGURE], ["cmake", "--build", str(folder), "--target", *executables]):
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
                sys.exit(f"mutants: {' '.join(command)} fails without any change")
        self.compile = {entry["file"]: entry["command"] for entry in json.loads((folder / "compile_commands.json").read_text())}
        self.link = {name: self.link_command(name) for name in executables}
        for name in executables:
            arguments = next(a for n, a in reversed(STAGES) if n == name)
            unchanged = subprocess.run([f"tests/{name}", *(a.format("none") for a in arguments if a != "--abort-after=1"), *self.leave_out],
                                       cwd=folder, capture_output=True, text=True)
            if unchanged.returncode not in (0, 77):  # 77: a test was skipped
                failing = sorted(set(re.findall(r"TEST CASE: +(.*)", unchanged.stdout)))
                sys.exit(f"mutants: {name} fails without any change: " + "; ".join(failing))

    def link_command(self, name):
        commands = subprocess.run(["ninja", "-C", str(self.folder), "-t", "commands", f"tests/{name}"], capture_output=True, text=True).stdout
        command = commands.splitlines()[-1]
        return re.search(r"^: && (.*) && :$", command).group(1) if command.startswith(": &&") else command

    def outcome(self, mutant, job):
        """'noticed', 'lives' or 'does not compile'."""
        source, made = self.folder / f"mutant_{job}.cpp", self.folder / f"mutant_{job}.o"
        source.write_text(mutant.text())
        command = self.compile[str(ROOT / mutant.file)].replace(str(ROOT / mutant.file), str(source))
        command = re.sub(r" -M\S+( \S+\.[od]\b)?", "", re.sub(r" -o \S+", f" -o {made}", command))
        if run(shlex.split(command), self.folder) != 0:
            return "does not compile"
        linked = None
        for name, arguments in STAGES:
            if linked != name:
                link = re.sub(rf" -o tests/{name}\b", f" {made} -o mutant_{job}", self.link[name], count=1)
                if run(shlex.split(link), self.folder) != 0:
                    return "does not compile"
                linked = name
            arguments = [a.format(pathlib.Path(mutant.file).parent) for a in arguments]
            if run([f"./mutant_{job}", *arguments, *self.leave_out], self.folder, SECONDS_OF_A_TEST_RUN) not in (0, 77):
                return "noticed"
        return "lives"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--folder", default="sim")
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--seconds", type=float, default=float("inf"), help="draws no further mutant after so long")
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants")
    options.add_argument("--only", nargs="+", default=[], help="all mutants of FILE:LINE, FILE:LINE:COLUMN or FILE:LINE:NEW")
    options.add_argument("--leave-out", help="test cases that fail without any change, as doctest's -tce")
    given = options.parse_args()

    mutants = all_mutants(given.folder)
    if given.only:
        mutants = [m for m in mutants if m.names() & set(given.only)]
        given.count = len(mutants)
        if unknown := set(given.only) - set().union(*(m.names() for m in mutants)):
            sys.exit("mutants: no mutant is " + ", ".join(sorted(unknown)))
    random.Random(given.seed).shuffle(mutants)
    print(f"mutants: seed {given.seed}, {len(mutants)} to draw from in {given.folder}", flush=True)
    build = Build(given.build.resolve(), given.leave_out)
    end = time.monotonic() + given.seconds

    jobs = queue.Queue()
    for job in range(given.jobs):
        jobs.put(job)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        counts = {"noticed": 0, "lives": 0, "does not compile": 0}

        def one(mutant):
            job = jobs.get()
            try:
                return mutant, build.outcome(mutant, job)
            finally:
                jobs.put(job)

        waiting = iter(mutants)
        running = {pool.submit(one, m) for _, m in zip(range(min(given.jobs, given.count)), waiting)}
        while running:
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                mutant, how = future.result()
                counts[how] += 1
                print(f"{how}: {mutant}", flush=True)
                wanted = given.count - counts["noticed"] - counts["lives"] - len(running)
                if wanted > 0 and time.monotonic() < end and (following := next(waiting, None)) is not None:
                    running.add(pool.submit(one, following))
    tried = counts["noticed"] + counts["lives"]
    print(f"mutants: {counts['noticed']} of {tried} noticed, {counts['lives']} live, {counts['does not compile']} did not compile")


if __name__ == "__main__":
    main()
