#!/usr/bin/env python3
"""Times each launch of a kernel, as CUPTI records them: how long it runs, and the gap to the launch before. The L2 is flushed before.

Usage: launch_times.py LIBRARY SUITE.txt [REPEATS]     LIBRARY: libtilescope_bench.so; needs PyTorch and a GPU
A line of the suite is one of assets/suites. Prints medians in microseconds.
"""
import statistics
import sys

import torch
from torch.profiler import ProfilerActivity, profile

from bench_library import BenchLibrary, addresses_of, current_stream


def tensors_of(batch, heads, kv_heads, n, n_kv, dim, dtype):
    """Returns what a backward kernel reads and writes. Values are random: only the time counts."""
    def half(planes, rows):
        return torch.randn(batch, planes, rows, dim, device="cuda", dtype=dtype)

    def single(*shape):
        return torch.rand(batch, heads, n, *shape, device="cuda")

    return {"q": half(heads, n), "k": half(kv_heads, n_kv), "v": half(kv_heads, n_kv), "o": half(heads, n), "d_o": half(heads, n),
            "lse": single() + 4, "m": single(), "l": single() + 1, "delta": single(), "dq": half(heads, n), "dk": half(kv_heads, n_kv),
            "dv": half(kv_heads, n_kv), "dq_acc": single(-(-dim // 32) * 32),
            **{name: single(-(-n_kv // 16) * 16).to(dtype) for name in ("s", "p", "dp", "ds")}}


def launches_of(library, kernel, shape, tensors, bf16, causal, scratch):
    """Returns (start, duration) of each launch in microseconds, the first at 0."""
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        scratch.zero_()
        library.run(kernel, shape, addresses_of(tensors), bf16=bf16, causal=causal, stream=current_stream())
        torch.cuda.synchronize()
    events = sorted((e.time_range.start, e.time_range.elapsed_us(), e.name) for e in recorded.events() if e.device_type.name == "CUDA")
    own = [e for e in events if "tilescope" in e[2]]
    return [(start - own[0][0], duration) for start, duration, _ in own]


def main():
    path, suite = sys.argv[1:3]
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    library = BenchLibrary(path)
    scratch = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)  # larger than any L2
    print(f"kernels/lab/launch_times.py on {torch.cuda.get_device_name()}")
    for line in open(suite):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        kernel, (batch, heads, kv_heads, n, n_kv, dim), kind, mask = fields[0], map(int, fields[1:7]), fields[7], fields[8]
        tensors = tensors_of(batch, heads, kv_heads, n, n_kv, dim, torch.bfloat16 if kind == "bf16" else torch.float16)
        runs = [launches_of(library, kernel, (batch, heads, kv_heads, n, n_kv, dim), tensors, kind == "bf16", mask == "causal", scratch)
                for _ in range(repeats + 3)][3:]
        text = ""
        for i in range(len(runs[0])):
            duration = statistics.median(run[i][1] for run in runs)
            gap = statistics.median(run[i][0] - run[i - 1][0] - run[i - 1][1] for run in runs) if i > 0 else 0
            text += f"{f'+{gap:.2f} ' if i > 0 else ''}{duration:7.2f} "
        whole = statistics.median(run[-1][0] + run[-1][1] for run in runs)
        print(f"{kernel:<28} B{batch} H{heads}/{kv_heads} N{n}x{n_kv} d{dim} {kind} {mask:<7} whole {whole:7.2f}  launches {text}", flush=True)


main()
