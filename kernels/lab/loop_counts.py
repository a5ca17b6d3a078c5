#!/usr/bin/env python3
"""Counts the instructions of the key loop of the Hopper kernels; kernel_profile.py writes them to kernels/hopper_*/profile.toml.

Usage: kernels/lab/loop_counts.py [ID...]      all rungs where no id is given; fp16, without a causal mask
  Needs nvcc and cuobjdump (on PATH, or NVCC=... with cuobjdump beside it).
Prints one line a loop: instructions by pipe, without those that a tile inside the mask jumps over, and what is left of them once the
arithmetic that the model counts (sim/engine/instructions.cpp) is taken off. The overhead of a tile is what then is neither between two
wgmma of a product, where it passes while the first is issued, nor part of a wait. Where no warp is a producer, one thread asks for the
copies, and all others jump over its instructions: they are counted apart. Below it, the instructions up to each wait for products.
"""
import argparse
import collections
import re
import tempfile

import kernel_profile as profile
from rungs import RUNGS

KEYS = 128  # of a tile
WAITS = {"SYNCS", "BAR", "WARPGROUP", "BRA"}  # the model has measured costs for waits and arrivals


def counted(head_dim):
    """Returns the instructions of a warp that the model counts for a tile, and those of them on the ALU pipe."""
    scores = KEYS // 2  # of a lane: 16 rows x 128 keys over 32 lanes
    products = head_dim // 16 + KEYS // 16
    maximum, exponentials, alpha, row_sum, rescale = scores + 12, scores * 5 // 2, 4, scores + 2, head_dim // 2
    return products + maximum + exponentials + alpha + row_sum + rescale, scores + 6 + scores // 2


def tools():
    """Returns nvcc, cuobjdump and the name of the compiler."""
    nvcc, cuobjdump, compiler = profile.tools()
    if cuobjdump is None:
        raise profile.Fail("cuobjdump was not found beside nvcc")
    return nvcc, cuobjdump, compiler


def functions(kernel, source, nvcc, cuobjdump):
    """Compiles a source of a kernel. Yields each of its functions: its name, and (address, text) of its instructions."""
    with tempfile.TemporaryDirectory() as folder:
        cubin, _ = profile.compile_one(nvcc, profile.ROOT / "kernels" / kernel / source, folder, profile.architecture_of(kernel))
        listing = profile.machine_code(cubin, cuobjdump)
    for part in listing.split("Function : ")[1:]:
        yield part.split()[0], [(int(at, 16), text.strip()) for at, text in re.findall(r"/\*([0-9a-f]{4,})\*/\s+([^;]*);", part)]


def opcode(text):
    return re.match(r"(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", text)[1]


def target(text):
    found = re.search(r"\bBRA.*?0x([0-9a-f]+)", text)
    return int(found[1], 16) if found else None


def key_loop(code):
    """Returns the instructions of the innermost loop with both products, as an unmasked tile executes them: of all warps, and of the
    thread that asks for copies alone."""
    loops = []
    for at, text in code:
        begin = target(text)
        if begin is not None and begin < at:
            body = [one for one in code if begin <= one[0] <= at]
            if sum(opcode(text) == "HGMMA" for _, text in body) >= 12:
                loops.append(body)
    if not loops:
        raise profile.Fail("no loop with two products was found")
    body, requests = min(loops, key=len), []
    for at, text in body:
        end = target(text)
        if end is not None and at < end <= body[-1][0]:
            skipped = [one for one in body if at < one[0] < end]
            has_request = any(opcode(text) == "UTMALDG" for _, text in skipped)
            if has_request:
                requests += skipped
            if has_request or sum("-INF" in text for _, text in skipped) > KEYS // 8:
                body = [one for one in body if one not in skipped]
    return body, requests


def between_products(body):
    """Returns the instructions between the first and the last wgmma of each product: they pass while the one before is issued."""
    at = [n for n, (_, text) in enumerate(body) if opcode(text) == "HGMMA"]
    runs = [[at[0]]]
    for last, n in zip(at, at[1:]):
        new = any("WARPGROUP" in text or "SYNCS" in text for _, text in body[last:n])
        runs.append([n]) if new else runs[-1].append(n)
    return sum(run[-1] - run[0] + 1 - len(run) for run in runs)


def key_loops(kernel, nvcc, cuobjdump):
    """Yields the key loop of each fp16 build without a causal mask and a probe: its head dimension, instructions, and counts of them."""
    for name, code in functions(kernel, f"{kernel}.cu", nvcc, cuobjdump):
        shape = re.search(r"6__halfLi(\d+)E[^b]*?Lb0E", name)
        if shape is None or "5Probe" in name:
            continue
        head_dim, (body, requests) = int(shape[1]), key_loop(code)
        pipes = collections.Counter(profile.PIPE_OF.get(opcode(text), "other") for _, text in body)
        arithmetic, alu = counted(head_dim)
        between, waits = between_products(body), sum(opcode(text) in WAITS for _, text in body)
        yield head_dim, body, {"pipes": pipes, "beside": len(body) - arithmetic, "between": between, "waits": waits,
                               "others": len(body) - arithmetic - between - waits, "alu": pipes["alu"] - alu,
               "requests": sum(opcode(text) not in WAITS | {"UTMALDG"} for _, text in requests)}


def rows(kernel, nvcc, cuobjdump):
    """Returns the rows of [[counted]] in the profile of a kernel."""
    found = []
    for head_dim, _, counts in key_loops(kernel, nvcc, cuobjdump):
        found.append({"launch": "attention", "at": "tile", "head_dim": head_dim, "instructions": counts["others"], "alu": counts["alu"]})
        if counts["requests"] > 0:
            found.append({"launch": "attention", "at": "request", "head_dim": head_dim, "instructions": counts["requests"]})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", default=RUNGS)
    ids = parser.parse_args().ids
    nvcc, cuobjdump, compiler = tools()
    print(f"{compiler}; instructions of a warp for a key tile of {KEYS} keys, fp16, no causal mask")
    for kernel in ids:
        for head_dim, body, counts in key_loops(kernel, nvcc, cuobjdump):
            pipes = counts["pipes"]
            print(f"{kernel:20} d {head_dim:3}  {len(body)} instructions: " + ", ".join(f"{pipes[pipe]} {pipe}" for pipe in sorted(pipes)) +
                  f"; beside the arithmetic {counts['beside']}: {counts['between']} between two wgmma, {counts['waits']} for waits, "
                  f"{counts['others']} others; {counts['alu']} on the ALU pipe; {counts['requests']} of one thread for copies")
            since = 0
            for n, (_, text) in enumerate(body):
                if "WARPGROUP.DEPBAR" in text:
                    print(f"{'':29}{n - since} before the wait for all but {int(text.split()[-1], 16)} products")
                    since = n
            print(f"{'':29}{len(body) - since} after it")


if __name__ == "__main__":
    profile.run(main)
