"""Times flex, or another kernel, of several builds beside one another, in one process: what does a change of the kernel bring?

Usage: flex_builds.py [KERNEL] NAME=LIBRARY.so...     libraries as kernels/build_gpu_check.sh builds libtilescope_bench.so, each from its own checkout
Prints for each of the eleven cases the median of nine runs in ms of each build, and the ratio of the first to the others.
"""
import os
import sys

import torch

from bench_library import BenchLibrary
from flex_cases import B, CASES, H, N, run
from medians import medians

kernel = next((argument for argument in sys.argv[1:] if "=" not in argument), "flex")
builds = {name: BenchLibrary(path) for name, path in (argument.split("=") for argument in sys.argv[1:] if "=" in argument)}

print(torch.cuda.get_device_name())
for d in (64, 128):
    q, k, v = (torch.randn(B, H, N, d, device="cuda", dtype=torch.float16) for _ in range(3))
    for case, (mask, score) in CASES.items():
        outputs = {name: torch.empty_like(q) for name in builds}
        lse = torch.empty(B, H, N, device="cuda")

        def of(name):
            # Each build has its own compiled kernels.
            os.environ["TILESCOPE_CACHE"] = f"/tmp/flex_builds_{name}"
            run(builds[name], kernel, (q, k, v, outputs[name], lse), mask[0], score[0])

        times = medians({name: lambda name=name: of(name) for name in builds})
        first = next(iter(builds))
        same = all(torch.equal(outputs[first], output) for output in outputs.values())
        print(f"d {d:3} {case:18}", "  ".join(f"{name} {ms:.4f} ({times[first] / ms:.3f})" for name, ms in times.items()),
              "" if same else "  other bits", flush=True)
