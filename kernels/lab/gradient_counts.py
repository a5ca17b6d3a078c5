#!/usr/bin/env python3
"""Counts the instructions of the loops of the backward kernels with mma.sync; kernel_profile.py writes them to kernels/*backward*/profile.toml.

Usage: kernels/lab/gradient_counts.py [ID...]      all of them where no id is given; fp16
  Needs nvcc and cuobjdump (on PATH, or NVCC=... with cuobjdump beside it).
Prints one line a loop, for what a warp executes in one step of it, that is for one pair of tiles. A part that masks scores counts as
skipped; one that only the threads of L and D execute counts for their share of the warps. `beside` is what is left of the
instructions once the arithmetic is taken off that sim/engine/instructions.cpp counts, with two for each ldmatrix.
"""
import argparse
import collections
import re

import kernel_profile as profile
from loop_counts import functions, opcode, target, tools

SOURCES = {
    "flash2_backward": "flash2_backward_fp16.cu",
    "flash2_backward_deterministic": "flash2_backward_deterministic_fp16.cu",
    "flash2_backward_two_pass": "flash2_backward_two_pass_fp16.cu",
    "flex_backward": "flex_backward_default.cu",
    "flash1_backward": "flash1_backward.cu",
}
STATISTICS = 64  # threads that load L and D of a query tile
KEYS = 128  # of a key tile; flash1_backward has tiles of its own


def is_product(text):
    return opcode(text) == "HMMA"


def loops(code):
    """Returns (begin, end) of the loops with products; not the jumps at the end of a function back from a wait."""
    found = []
    for (at, text), before in zip(code, [code[0], *code]):
        begin = target(text)
        is_wait = begin is not None and (target(before[1]) or at) < at and before[0] + 16 == at
        if begin is not None and begin < at and not is_wait and any(is_product(t) for a, t in code if begin <= a <= at):
            found.append((begin, at))
    return found


def weights(code, begin, end, inner, times, warps):
    """Returns how often a warp executes each instruction of a loop, by address."""
    weight = {at: 1.0 for at, _ in code if begin <= at <= end}
    for at in weight:
        if any(b <= at <= e for b, e in inner):
            weight[at] *= times
    for at, text in code:
        to = target(text)
        if not begin <= at <= end or to is None or not at < to <= end:
            continue
        skipped = [(a, t) for a, t in code if at < a < to]
        words = {opcode(t) for _, t in skipped}
        if "HMMA" in words:
            continue
        if sum("-INF" in t for _, t in skipped) > 8:
            once = 0.0
        elif "LDGSTS" in words:
            once = 1.0 / (times if any(b <= at <= e for b, e in inner) else 1)
        elif words & {"LDG", "STS"}:
            once = STATISTICS / 32 / warps
        else:
            continue
        for a, _ in skipped:
            weight[a] *= once
    return weight


def counted(kernel, dim, words, warps):
    """Returns the instructions of a warp that the model counts for a pair of tiles, and those of them on the ALU pipe."""
    first = kernel == "flash1_backward"
    elements = 64 * (64 if first else KEYS) / 32 / warps
    total = words["HMMA"] + 2 * words["LDSM"] + 3 * (words["LDGSTS"] + words["RED"]) + 4.5 * elements  # exponentials, minus D, times P
    if not first:
        return total, 0.5 * elements
    # Divided by l; D from dO and O, which is widened; dQ is widened and packed; two loads and a store through registers.
    of_rows = 64 * dim / 32 / warps
    return total + elements + 5 * of_rows + 9 * of_rows / 8, 0.5 * elements + of_rows


def kernels_asked_for(doc):
    """Returns the ids of the command line; all kernels where it has none."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", default=list(SOURCES))
    return parser.parse_args().ids


def build_of(kernel, function):
    """Returns the match of a function's name: head dimension, and 1 where it has a mask. None if it is no fp16 build, or has the probe."""
    if "5Probe" in function or f"{kernel}_kernel" not in function:
        return None
    return re.search(r"6__halfLi(\d+)E(?:[^b]*?Lb([01])E)?", function)


def loop_of_step(code, all_loops, begin, end, halves):
    """Returns the loop of one step: the two halves of the queries of a key tile have a loop of their own inside it."""
    if not halves:
        return begin, end
    around = [l for l in all_loops if l[0] < begin and end < l[1] and count(code, l) == count(code, (begin, end))]
    return min(around, key=lambda l: l[1] - l[0])


def steps(kernel, nvcc, cuobjdump):
    """Yields each loop of the fp16 builds without a probe, as one step executes it: its head dimension, mask, kind and counts."""
    for name, code in functions(kernel, SOURCES[kernel], nvcc, cuobjdump):
        shape = build_of(kernel, name)
        if shape is None:
            continue
        dim, masked = int(shape[1]), shape[2] == "1"
        warps = 8 if dim == 128 or kernel == "flash1_backward" else 4
        all_loops = loops(code)
        outer = [l for l in all_loops if not any(o != l and l[0] <= o[0] and o[1] <= l[1] and count(code, o) == count(code, l) for o in all_loops)]
        for begin, end in outer:
            # The two halves of the queries of a key tile, where d is 64 and dQ is left to others.
            halves = count(code, (begin, end)) == 128 and kernel in ("flash2_backward_two_pass", "flex_backward")
            whole = loop_of_step(code, all_loops, begin, end, halves)
            weight = weights(code, *whole, [(begin, end)] if halves else [], 2 if halves else 1, warps)
            pipes, words = collections.Counter(), collections.Counter()
            for at, text in code:
                if at in weight:
                    pipes[profile.PIPE_OF.get(opcode(text), "other")] += weight[at]
                    words["RED" if opcode(text) == "REDG" else opcode(text)] += weight[at]
                    words["waits"] += weight[at] if "TRYWAIT" in text else 0
            total = sum(pipes.values())
            arithmetic, alu = counted(kernel, dim, words, warps)
            yield dim, masked, "queries" if words["HMMA"] == 192 else "keys", {
                "pipes": pipes, "words": words, "total": total, "beside": total - arithmetic, "alu": pipes["alu"] - alu}


def rows(kernel, nvcc, cuobjdump):
    """Returns the rows of [[counted]] in the profile of a kernel. A step that takes fewer instructions than the model counts has none."""
    found = []
    for dim, masked, kind, counts in steps(kernel, nvcc, cuobjdump):
        beside = round(counts["beside"])
        if masked or beside <= 0:
            continue
        at = "pair" if kernel == "flash1_backward" else "query_step" if kind == "queries" else "key_step"
        found.append({"launch": "gradients", "at": at, "head_dim": dim, "instructions": beside, "alu": min(round(counts["alu"]), beside)})
    return found


def main():
    ids = kernels_asked_for(__doc__)
    nvcc, cuobjdump, compiler = tools()
    print(f"{compiler}; instructions of a warp for a pair of tiles, fp16, no mask")
    for kernel in ids:
        for dim, masked, kind, counts in steps(kernel, nvcc, cuobjdump):
            pipes, words = counts["pipes"], counts["words"]
            print(f"{kernel:30} d {dim:3} {'mask' if masked else '    '} {kind:7} {counts['total']:6.0f}: {words['HMMA']:.0f} HMMA, {words['LDSM']:.0f} LDSM, "
                  f"{words['MUFU']:.0f} MUFU, {words['LDS']:.0f} LDS, {words['STS'] + words['STSM']:.0f} STS, {words['RED']:.0f} RED, "
                  f"{words['waits']:.0f} mbarrier waits, {words['BAR']:.0f} barriers, {pipes['fp32']:.0f} fp32, {pipes['alu']:.0f} alu, {pipes['uniform']:.0f} uniform; "
                  f"beside {counts['beside']:.0f}, {counts['alu']:.0f} on the ALU pipe")


def count(code, loop):
    return sum(is_product(text) for at, text in code if loop[0] <= at <= loop[1])


if __name__ == "__main__":
    profile.run(main)
