#!/usr/bin/env python3
"""Counts the instructions of an inner step of flash1, part by part; kernel_profile.py writes them to kernels/flash1/profile.toml.

Usage: kernels/lab/step_counts.py
  Needs nvcc and cuobjdump (on PATH, or NVCC=... with cuobjdump beside it).
Prints one line a part of each build without a probe, for a whole tile without a mask: what a warp executes; the cycles that it takes alone
on its scheduler, if loads from global memory took none; the stall counts among them; what it waits for (as warp_waits.py says it); and
what goes to the profile:
  requests    from the start of a step to its first load
  loads       from there to the last load of O: the copies queue behind one another meanwhile, so it is not in the profile
  arrival     from there to the barrier behind which the tile is in shared memory
  scores      the first product: the model counts all of it
  statistics  up to the second product
  rescale     from there to the last element of O in shared memory, with the second product
  store       the rest
Instructions are what is left once the arithmetic is taken off that sim/engine/instructions.cpp counts, with two for each ldmatrix: of the
parts before the products that is everything. Stall cycles are their share of the stall counts of the part.
"""
import collections
import re

import kernel_profile as profile
from gradient_counts import loops
from loop_counts import opcode, tools
from warp_waits import LATENCY, SHARED, Warp, functions, stall_of, walk

TILE, WARPS = 64, 4  # rows and keys of a tile, warps of a block
ROUND_TRIPS = ("LDS", "SHFL", "LDC")  # of a row's maximum the model counts two itself
PARTS = ("requests", "loads", "arrival", "scores", "statistics", "rescale", "store")


def one_step(code):
    """Returns the instructions of the inner loop in the order in which a warp executes them: no mask, and no row past the last."""
    begin, end = min(loops([(at, text) for at, text, _ in code]), key=lambda loop: loop[1] - loop[0])
    return walk(code, begin, end, jumps=lambda skipped: sum(opcode(text) == "STS" and "RZ" in text for text in skipped) > 2)


def ends_of(steps):
    """Returns where each of PARTS ends."""
    words, wide = [opcode(text) for _, text, _ in steps], [".128" in text for _, text, _ in steps]
    products = [n for n, word in enumerate(words) if word == "HMMA"]
    half = len(products) // 2
    return [words.index("LDGSTS"), max(n for n in range(products[0]) if words[n] == "LDG" and wide[n]) + 1, words.index("BAR") + 1, products[half - 1] + 1, products[half],
            max(n for n, word in enumerate(words) if word == "STS") + 1, len(words)]


def arithmetic(part, words, dim):
    """Returns the instructions of a warp in a part that the model counts as arithmetic or as a product, a load or a store."""
    elements, of_rows, groups = TILE * TILE / 32 / WARPS, TILE * dim / 32 / WARPS, TILE / 8 / WARPS
    ldmatrix = 2 * words["LDSM"]
    return {"scores": words["HMMA"] + ldmatrix,
            # Two row maxima, of the tile and of both; exponentials; the sum; alpha, beta and l.
            "statistics": 4.5 * elements + 6 * groups + 6 * groups + groups + 4 * groups + 3 * groups + ldmatrix,
            "rescale": words["HMMA"] + ldmatrix + 4 * of_rows,
            "store": 3 * (2 * of_rows / 16 + 2 * 4 * TILE / 16 / 32 / WARPS)}.get(part, 0)


def parts_of(steps, dim):
    """Yields each part of a step: its name, the counts of its opcodes, its cycles, its stall counts, its waits, and what is overhead."""
    warp, begin = Warp({**LATENCY, "LDG": 0}), 0
    for part, end in zip(PARTS, ends_of(steps)):
        start, words, waits = warp.time, collections.Counter(), collections.Counter()
        for _, text, code in steps[begin:end]:
            word, waited, what = warp.issue(text, code)
            words[word] += 1
            waits[what] += waited
        stalls = sum(stall_of(code) for _, _, code in steps[begin:end])
        trips = sum(waits[word] for word in ROUND_TRIPS) / SHARED - (2 if part == "statistics" else 0)
        left = round(end - begin - arithmetic(part, words, dim))
        overhead = {"instructions": max(left, 0), "shared_round_trips": max(round(trips), 0), "barriers": words["BAR"],
                    "stall_cycles": round(stalls * max(left, 0) / (end - begin))}
        yield part, words, warp.time - start, stalls, waits, overhead
        begin = end


def builds(nvcc, cuobjdump):
    """Yields the type, the head dimension and the parts of each build without a probe."""
    for name, code in functions("flash1", nvcc, cuobjdump):
        shape = re.search(r"Shape(?:I6__half|I13__nv_bfloat16)Li(\d+)E", name)
        if shape is not None and "5Probe" not in name:
            dim = int(shape[1])
            yield "fp16" if "6__half" in name else "bf16", dim, list(parts_of(one_step(code), dim))


def rows(kernel, nvcc, cuobjdump):
    """Returns the rows of [[counted]] in the profile of the kernel."""
    return [{"launch": "attention", "at": part, "head_dim": dim, **{name: value for name, value in overhead.items() if value > 0}}
            for dtype, dim, parts in builds(nvcc, cuobjdump) if dtype == "fp16"
            for part, *_, overhead in parts if part not in ("loads", "scores")]


def main():
    nvcc, cuobjdump, compiler = tools()
    print(f"{compiler}; a warp alone on its scheduler, for a whole tile, no mask, loads at once")
    for dtype, dim, parts in builds(nvcc, cuobjdump):
        for part, words, cycles, stalls, waits, overhead in parts:
            waited = ", ".join(f"{word} {waits[word]:.0f}" for word in sorted(waits) if waits[word] >= 5)
            print(f"flash1 {dtype} d {dim:3} {part:10} {sum(words.values()):4} instructions in {cycles:5.0f} cycles, {stalls:4} by stall counts; "
                  f"waits: {waited or 'none'}; beside the arithmetic {overhead}")


if __name__ == "__main__":
    profile.run(main)
