#!/usr/bin/env python3
"""Compares what two builds of tilescope simulate for random requests. Exits with 1 if any differs.

    tests/same_numbers.py OLD/build/release/tilescope build/release/tilescope --count 100

Every request goes through `simulate --json` of both; all of the answer is compared but `host`. Requests draw from all programs,
GPUs, ragged and causal problems, orders, tiles and masks. A request that both refuse in the same words counts as equal.
"""
import argparse
import json
import random
import re
import subprocess
import sys


def programs(binary):
    """Returns the ids that `simulate --help` lists under --algorithm."""
    error = subprocess.run([binary, "simulate", "--algorithm", "?"], capture_output=True, text=True).stderr
    listed = re.search(r"there (?:are|is) (.*)", error) or re.search(r": (.*)", error)
    names = re.findall(r"\b[a-z][a-z0-9_]+\b", listed.group(1))
    known = [n for n in names if re.match(r"(standard|flash|flex|hopper|softmax|matmul)", n)]
    if not known:
        sys.exit(f"{binary} names no program in: {error}")
    return sorted(set(known))


def draw(rng, ids):
    gpu = rng.choice(["toy", "textbook", "h200", "h200", "h100", "a100", "rtx4090"])
    small = gpu in ("toy", "textbook")
    most = 160 if small else 1500
    n = rng.choice([rng.randint(1, most), 64, 128 if small else 1024])
    heads = rng.choice([1, 2, 4])
    algorithm = rng.choice(ids)
    args = ["--algorithm", algorithm, "--gpu", gpu, "--batch", rng.choice([1, 1, 2]), "--heads", heads,
            "--kv-heads", rng.choice([h for h in (1, 2, 4) if heads % h == 0]), "--seq", n,
            "--head-dim", rng.choice([8, 16, 32] if small else [40, 64, 128]), "--dtype", rng.choice(["fp16", "bf16"])]
    if rng.random() < 0.4:
        args += ["--seq-kv", rng.randint(1, most)]
    kind = rng.random()
    if kind < 0.35:
        args += ["--causal"]
    elif kind < 0.5:
        args += ["--preset", rng.choice(["sliding_window:window=100", "prefix_lm"])]
    elif kind < 0.6:
        args += ["--mask", rng.choice(["kv <= q", "(q + kv) % 3 != 0", "q // 32 == kv // 32"])]
    if rng.random() < 0.3:
        args += ["--block-order", rng.choice(["heads", "reversed", "longest", "grouped"])]
    if rng.random() < 0.3:
        args += ["--key-order", "descending"]
    if rng.random() < 0.3:
        args += ["--pass", rng.choice(["backward", "both"])]
    if rng.random() < 0.25:
        args += ["--blocks-per-sm", rng.choice([1, 2])]
    if rng.random() < 0.25:
        args += ["--set", rng.choice(["l2.capacity_bytes=0", "l2.capacity_bytes=8388608", "hbm.latency_cycles=3000", "sm.count=7"])]
    return [str(a) for a in args]


def answer(binary, args):
    done = subprocess.run([binary, "simulate", *args, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.returncode, done.stderr
    found = json.loads(done.stdout)
    found.pop("host", None)
    return 0, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--count", type=int, default=100, help="requests that are simulated, not refused")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    ids = programs(options.old)
    simulated = refused = differ = 0
    while simulated < options.count:
        args = draw(rng, ids)
        old, new = answer(options.old, args), answer(options.new, args)
        if old[0] == 0 or new[0] == 0:
            simulated += 1
        else:
            refused += 1
        if old != new:
            differ += 1
            print("differs: tilescope simulate", " ".join(args))
            print("  old", str(old)[:300], "\n  new", str(new)[:300])
    print(f"{simulated} simulated, {refused} refused by both, {differ} differ (seed {options.seed})")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
