#!/usr/bin/env python3
"""Walks a warp through the loops of the backward kernels, as if it had its scheduler to itself, and says what it waits for: `trips` in
kernels/*backward/profile.toml.

Usage: kernels/lab/warp_waits.py [ID...]      all of them where no id is given; fp16
  Needs nvcc and cuobjdump (on PATH, or NVCC=... with cuobjdump beside it).
An instruction issues once the stall count of the one before has passed and the results it needs are there: both stand in the machine
code. Latencies are those of assets/gpus/h100.toml where it has them. Masks are skipped; a tile ahead is asked for. Prints one line a loop:
the cycles of a step, those that the compiler encoded as stalls, and the waits by kind. A trip is a wait as long as a round trip to shared
memory. Waits for ldmatrix are no trips: the model counts one for each product. Neither are those for global memory: they are loads.
"""
import collections
import re
import tempfile

import kernel_profile as profile
from gradient_counts import SOURCES, build_of, count, kernels_asked_for, loops
from loop_counts import opcode, target, tools

SHARED = 29  # sm.shared_latency_cycles
PRODUCT, EXPONENTIAL = 6.1, 8  # cycles of a sub-partition for an instruction
LATENCY = {"LDS": SHARED, "SHFL": SHARED, "LDSM": SHARED + 4, "LDG": 500, "MUFU": 22,  # 500: any, loads are not counted
           "LDC": 35, "S2R": 25, "S2UR": 25, "SYNCS": 20, "R2UR": 12}  # not measured by us
TRIPS = ("LDS", "SHFL", "LDC", "S2R", "S2UR", "SYNCS", "R2UR")
OTHER = 10


def functions(kernel, nvcc, cuobjdump):
    """Yields each function of a kernel: its name, and (address, text, upper half of the code) of its instructions."""
    with tempfile.TemporaryDirectory() as folder:
        cubin, _ = profile.compile_one(nvcc, profile.ROOT / "kernels" / kernel / SOURCES.get(kernel, f"{kernel}.cu"), folder, profile.architecture_of(kernel))
        listing = profile.machine_code(cubin, cuobjdump)
    line = re.compile(r"/\*([0-9a-f]{4,})\*/\s+([^;]*?)\s*;\s+/\* 0x[0-9a-f]+ \*/\s*/\* (0x[0-9a-f]+) \*/")
    for part in listing.split("Function : ")[1:]:
        yield part.split()[0], [(int(at, 16), text, int(code, 16)) for at, text, code in line.findall(part)]


def walk(code, begin, end, inner=(-1, -1), times=1, jumps=lambda skipped: False):
    """Returns the instructions of one step in the order in which the first warp executes them. `inner`: a loop in it that is passed so
    many times. `jumps`: whether the warp jumps over more instructions than those of a mask, given their texts."""
    place = {at: n for n, (at, _, _) in enumerate(code)}
    done, n, turn = [], place[begin], 0
    while True:
        at, text, _ = code[n]
        done.append(code[n])
        to = target(text)
        if at == end and at != inner[1]:
            return done
        if to is not None and at == inner[1]:
            turn += 1
            if turn < times:
                n = place[inner[0]]
                continue
            if at == end:
                return done
        elif to is not None and to > at:
            skipped = [t for a, t, _ in code if at < a < to]
            words = {opcode(t) for t in skipped}
            is_mask = "HMMA" not in words and sum("-INF" in t for t in skipped) > 8
            if "@" not in text or is_mask or jumps(skipped) or ("LDGSTS" in words and "HMMA" not in words and turn > 0):
                n = place[to]
                continue
        n += 1


class Warp:
    """A warp alone on its scheduler, as it issues one instruction after another."""

    def __init__(self, latency):
        self.latency = latency  # of each opcode, in cycles; OTHER where it has none
        self.time = self.product = self.exponential = 0.0  # when it may issue next; when these units are free
        self.ready = [(0.0, "")] * 6  # when each scoreboard is, and the opcode that it is for

    def issue(self, text, code):
        """Issues an instruction with this upper half of its code. Returns its opcode, how long it waits for a result, and for whose."""
        word, at, what = opcode(text), self.time, ""
        for barrier in range(6):
            if code >> 52 + barrier & 1 and self.ready[barrier][0] > at:
                at, what = self.ready[barrier]
        waited = at - self.time
        if word == "HMMA":
            at = max(at, self.product)
            self.product = at + PRODUCT
        elif word == "MUFU":
            at = max(at, self.exponential)
            self.exponential = at + EXPONENTIAL
        for shift, name, latency in ((46, word, self.latency.get(word, OTHER)), (49, "operands", OTHER)):
            barrier = code >> shift & 7
            if barrier < 6 and at + latency > self.ready[barrier][0]:
                self.ready[barrier] = (at + latency, name)
        self.time = at + stall_of(code)
        return word, waited, what


def stall_of(code):
    """Returns the cycles until the next instruction that the compiler encoded in the upper half of one's code."""
    return max(1, code >> 41 & 15)


def waits(steps):
    """Returns the cycles of a step in the steady state, and those that it waits for results, by the opcode of what it waits for."""
    warp = Warp(LATENCY)
    for turn in range(3):
        start, lost = warp.time, collections.Counter()
        for _, text, code in steps:
            _, waited, what = warp.issue(text, code)
            if waited > 4:
                lost[what] += waited
    return warp.time - start, lost


def main():
    ids = kernels_asked_for(__doc__)
    nvcc, cuobjdump, compiler = tools()
    print(f"{compiler}; a warp alone on its scheduler, for a pair of tiles, fp16")
    for kernel in ids:
        for name, code in functions(kernel, nvcc, cuobjdump):
            shape = build_of(kernel, name)
            if shape is None:
                continue
            plain = [(at, text) for at, text, _ in code]
            # A loop that only surrounds another one repeats it: the two halves of the queries or keys of a step.
            found = sorted(set(loops(plain)), key=lambda loop: loop[1] - loop[0])
            seen = set()
            for begin, end in found:
                products = count(plain, (begin, end))
                wanted = {"flash1_backward": (80, 160), "flash2_backward": (320,), "flash2_backward_deterministic": (320,)}.get(kernel, (96, 128, 192, 256))
                if products not in wanted or products in seen:
                    continue
                around = [loop for loop in found if loop[0] < begin and end < loop[1] and count(plain, loop) == products]
                halves = products in (96, 128) and kernel in ("flash2_backward_two_pass", "flex_backward") and around
                outer = around[0] if halves else (begin, end)
                seen.add(products)
                steps = walk(code, *outer, (begin, end) if halves else (-1, -1), 2 if halves else 1)
                cycles, lost = waits(steps)
                kind = "keys" if products in (80, 160, 320, 128, 256) else "queries"
                total = sum(lost[word] for word in TRIPS)
                stalls = sum(stall_of(c) for _, _, c in steps)
                parts = ", ".join(f"{word} {lost[word]:.0f}" for word in sorted(lost))
                print(f"{kernel:30} d {shape[1]:3} {'mask' if shape[2] == '1' else '    '} {kind:7} {cycles:5.0f} cycles, {stalls} by stall counts; waits: {parts}; {total / SHARED:.1f} trips")


if __name__ == "__main__":
    profile.run(main)
