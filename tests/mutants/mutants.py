#!/usr/bin/env python3
"""Changes one operator at a time and counts how many of the changes the tests notice: those of the model, then the recorded cases.

    tests/mutants/mutants.py [--folder sim] [--count 20] [--seed S] [--jobs 1] [--build build/mutants]
                             [--only FILE:LINE:COLUMN ...]  these mutants; FILE:LINE:NEW are those that write NEW
                             [--seconds T]              draws no further mutant after T seconds
                             [--leave-out PATTERN]      test cases that fail without any change

The tests are built once. For a mutant its file is compiled with one operator changed, and linked in place of the original. The test of the
changed file runs first, then those of its folder, the quickest first. Mutants that live then wait until all are drawn. After that they meet
the other quick tests of the model, and in the end the slow ones and the sample of the recorded bundle that CI simulates. The first failure
ends each mutant. A test may use three times the processor time that it uses without a change, and a minute more: not the clock decides what
is a time-out, so that a busy machine makes none.
A mutant that does not compile is drawn again and not counted. The seed is printed: the same seed draws the same mutants.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import queue
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURE = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTILESCOPE_CUDA=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DTILESCOPE_MUTANTS=ON",
             f"-DTILESCOPE_IMGUI_DIR={ROOT / 'build/deps/imgui'}"]
# The executables, and which of their test files run.
EXECUTABLES = {"test_sim": "*", "test_validation": "*sample_test*"}
# Who may notice a mutant, and in which round: the later ones are for mutants that live in all earlier ones.
NOTICED_BY = ["its own test", "its folder", "other tests", "recorded cases", "a time-out"]
QUICK_SECONDS = 1  # a test file of another folder that takes longer waits for the last round
SKIPPED = 77  # the exit code where a test was skipped
MEMORY_BYTES = 8 << 30  # a loop without end that also allocates must not take the machine's memory

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


def succeeds(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Build:
    """The tests as they are, and the commands that compile one file and link it in place of the original."""

    def __init__(self, folder, leave_out):
        self.folder = folder
        self.leave_out = [f"-tce={leave_out}"] if leave_out else []
        for command in (["cmake", "-S", str(ROOT), "-B", str(folder), *CONFIGURE],
                        ["cmake", "--build", str(folder), "--target", *EXECUTABLES]):
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
                sys.exit(f"mutants: {' '.join(command)} fails without any change")
        self.compile = {entry["file"]: entry["command"] for entry in json.loads((folder / "compile_commands.json").read_text())}
        self.link = {name: self.link_command(name) for name in EXECUTABLES}
        # By executable and test file: the processor time without any change. Kept, since it takes two minutes to measure.
        kept = folder / "seconds.json"
        if not kept.exists() or any(kept.stat().st_mtime < (folder / "tests" / name).stat().st_mtime for name in EXECUTABLES):
            kept.write_text(json.dumps({name: self.unchanged_run(name) for name in EXECUTABLES}, indent=1))
        self.seconds = json.loads(kept.read_text())

    def unchanged_run(self, name):
        """The processor time of each test file without any change."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([f"tests/{name}", f"--source-file={EXECUTABLES[name]}", "--reporters=xml", "--duration=true", *self.leave_out],
                              cwd=self.folder, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, failing = collections.Counter(), []
        for case in xml.etree.ElementTree.fromstring(done.stdout).iter("TestCase"):
            if (result := case.find("OverallResultsAsserts")) is not None:
                seconds[case.get("filename")] += float(result.get("duration"))
                failing += [case.get("name")] if result.get("test_case_success") == "false" else []
        if done.returncode not in (0, SKIPPED):
            sys.exit(f"mutants: {name} fails without any change: " + "; ".join(failing))
        # The clock saw the parts, but a busy machine stretches them.
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        scale = used / max(sum(seconds.values()), 1e-9)
        return {file: of * scale for file, of in seconds.items()}

    def link_command(self, name):
        commands = subprocess.run(["ninja", "-C", str(self.folder), "-t", "commands", f"tests/{name}"], capture_output=True, text=True).stdout
        command = commands.splitlines()[-1]
        return re.search(r"^: && (.*) && :$", command).group(1) if command.startswith(": &&") else command

    def rounds(self, mutant):
        """What runs for a mutant, round by round: (who, executable, test file, seconds), the quickest first."""
        path = pathlib.PurePath(mutant.file)
        rounds = [[], [], []]
        for name, files in self.seconds.items():
            for file, seconds in files.items():
                own = file.endswith(f"/tests/{path.parent}/{path.stem}_test.cpp")
                of_folder = f"/tests/{path.parent}/" in file
                who = 3 if name != "test_sim" else 0 if own else 1 if of_folder else 2
                rounds[0 if who < 2 else 1 if who == 2 and seconds < QUICK_SECONDS else 2].append((who, seconds, name, file))
        return [[(NOTICED_BY[who], name, file, seconds) for who, seconds, name, file in sorted(runs)] for runs in rounds]

    def outcome(self, mutant, job, number):
        """Who notices it in this round, 'lives' or 'does not compile'."""
        source, made = self.folder / f"mutant_{job}.cpp", self.folder / f"mutant_{job}.o"
        source.write_text(mutant.text())
        command = self.compile[str(ROOT / mutant.file)].replace(str(ROOT / mutant.file), str(source))
        command = re.sub(r" -M\S+( \S+\.[od]\b)?", "", re.sub(r" -o \S+", f" -o {made}", command))
        if not succeeds(shlex.split(command), self.folder):
            return "does not compile"
        linked = None
        for who, name, file, seconds in self.rounds(mutant)[number]:
            if linked != name:
                link = re.sub(rf" -o tests/{name}\b", f" {made} -o mutant_{job}", self.link[name], count=1)
                if not succeeds(shlex.split(link), self.folder):
                    return "does not compile"
                linked = name
            limit = 60 + int(3 * seconds)
            command = ["prlimit", "--core=0", f"--as={MEMORY_BYTES}", f"--cpu={limit}:{limit + 9}",
                       f"./mutant_{job}", "--abort-after=1", f"--source-file={file}", *self.leave_out]
            ended = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            if ended == -signal.SIGXCPU:
                return "a time-out"
            if ended not in (0, SKIPPED):
                return who
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
    counts = collections.Counter()

    def one(mutant, number):
        job = jobs.get()
        try:
            return mutant, build.outcome(mutant, job, number)
        finally:
            jobs.put(job)

    def note(how, mutant, number):
        if how != "lives" or number == 2:
            counts[how] += 1
        else:
            how = ["lives in its folder", "lives in quick tests"][number]
        print(f"noticed by {how}:" if how in NOTICED_BY else f"{how}:", mutant, flush=True)

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        living, waiting, drawn = [], iter(mutants), 0
        running = set()
        while True:
            while len(running) < given.jobs and drawn < given.count and time.monotonic() < end and (mutant := next(waiting, None)):
                running.add(pool.submit(one, mutant, 0))
                drawn += 1
            if not running:
                break
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                mutant, how = future.result()
                note(how, mutant, 0)
                living += [mutant] if how == "lives" else []
                drawn -= how == "does not compile"
        for number in (1, 2):
            met, living = [pool.submit(one, mutant, number) for mutant in living], []
            for future in met:
                mutant, how = future.result()
                note(how, mutant, number)
                living += [mutant] if how == "lives" else []
    noticed = sum(counts[who] for who in NOTICED_BY)
    print(f"mutants: {noticed} of {noticed + counts['lives']} noticed, {counts['lives']} live, {counts['does not compile']} did not compile;",
          ", ".join(f"{counts[who]} by {who}" for who in NOTICED_BY))


if __name__ == "__main__":
    main()
