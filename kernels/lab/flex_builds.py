"""Times flex, or another kernel, of several builds beside one another, in one process: what does a change of the kernel bring?

Usage: flex_builds.py [KERNEL] [--pytorch] [--d64] NAME=LIBRARY.so[:KERNEL]...     libraries as kernels/build_gpu_check.sh builds libtilescope_bench.so, each from its own checkout
A build may have its own KERNEL: hopper_flex=LIBRARY.so two_blocks=LIBRARY.so:two_blocks times two kernels of one build.
Prints for each of the eleven cases the median of nine runs in ms of each build, and the ratio of the first to the others. With --pytorch
PyTorch's compiled FlexAttention is the first, and the largest relative difference from its O is printed. --d64: that head dimension alone.
"""
import os
import sys

import torch

from bench_library import BenchLibrary
from flex_cases import B, CASES, H, N, run
from medians import medians

beside_pytorch = "--pytorch" in sys.argv
if beside_pytorch:
    sys.argv.remove("--pytorch")
    import torch._dynamo
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    torch._dynamo.config.cache_size_limit = 64  # after 8 variants PyTorch falls back to an unfused kernel, and says nothing
    compiled = torch.compile(flex_attention, dynamic=False)
head_dims = (64, 128)
if "--d64" in sys.argv:
    sys.argv.remove("--d64")
    head_dims = (64,)
kernel = next((argument for argument in sys.argv[1:] if "=" not in argument), "flex")
builds = {}
for name, build in (argument.split("=") for argument in sys.argv[1:] if "=" in argument):
    path, _, own = build.partition(":")
    builds[name] = (BenchLibrary(path), own or kernel)

print(torch.cuda.get_device_name())
for d in head_dims:
    q, k, v = (torch.randn(B, H, N, d, device="cuda", dtype=torch.float16) for _ in range(3))
    for case, (mask, score) in CASES.items():
        outputs = {name: torch.empty_like(q) for name in builds}
        lse = torch.empty(B, H, N, device="cuda")

        def of(name):
            # Each build has its own compiled kernels.
            os.environ["TILESCOPE_CACHE"] = f"/tmp/flex_builds_{name}"
            run(*builds[name], (q, k, v, outputs[name], lse), mask[0], score[0])

        works = {name: lambda name=name: of(name) for name in builds}
        differs = ""
        if beside_pytorch:
            blocks = create_block_mask(mask[1], None, None, N, N, device="cuda") if mask[1] else None

            def theirs():
                return compiled(q, k, v, score_mod=score[1], block_mask=blocks)

            expected = theirs().float()
            works = {"pytorch": theirs, **works}
        times = medians(works)
        first = next(iter(works))
        if beside_pytorch:
            differs = f"differs by {max(((o.float() - expected).norm() / expected.norm()).item() for o in outputs.values()):.1e}"
        else:
            differs = "" if all(torch.equal(outputs[first], output) for output in outputs.values()) else "other bits"
        print(f"d {d:3} {case:18}", "  ".join(f"{name} {ms:.4f} ({times[first] / ms:.3f})" for name, ms in times.items()), "", differs,
              flush=True)
