"""Times several builds of the ladder's kernels beside one another and cuDNN, in one process: what does a change of a kernel bring?

Usage: beside_builds.py NAME=LIBRARY.so...     libraries as kernels/lab/beside_ladder.sh builds them, each from its own checkout
Prints the median of nine cold runs in ms for each kernel and build, and in brackets how many times as fast as cuDNN it is.
"""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ladder_library import runner
from medians import medians
from rungs import RUNGS

KERNELS = [*RUNGS, "flash3", "no turns"]
builds = {name: runner(path) for name, path in (argument.split("=") for argument in sys.argv[1:])}


def cudnn(q, k, v, causal):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))


flush = torch.empty(200 * 2**20, dtype=torch.uint8, device="cuda")
print(torch.cuda.get_device_name(), "cuDNN", torch.backends.cudnn.version())
for d in (64, 128):
    for n in (1024, 4096, 16384):
        for causal in (0, 1):
            batch, heads = 16384 // n, 2048 // d
            q, k, v = (torch.randn(batch, heads, n, d, device="cuda", dtype=torch.float16) for _ in range(3))
            o, lse = torch.empty_like(q), torch.empty(batch, heads, n, device="cuda")
            functions = {(kernel, build): lambda kernel=kernel, build=build: builds[build](kernel, q, k, v, o, lse, causal)
                         for kernel in KERNELS for build in builds}
            functions["cudnn"] = lambda: cudnn(q, k, v, causal)
            times = medians(functions, before=flush.zero_)
            print(f"d {d} N {n} causal {causal} cuDNN {times['cudnn']:.3f} ms")
            for kernel in KERNELS:
                print(f"   {kernel:20}", "  ".join(f"{build} {times[kernel, build]:.3f} ({times['cudnn'] / times[kernel, build]:.3f})"
                                                   for build in builds))
