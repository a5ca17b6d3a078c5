#!/usr/bin/env python3
"""Times an expression from text to result: compiled for the first time, from the file cache, and in a program that knows the kernel.

Usage: python3 kernels/lab/flex_latency.py LIBRARY [OUT.txt]
LIBRARY is libtilescope_bench.so (target tilescope_bench). Needs PyTorch with CUDA. B 1, H 16, N 4096, d 64, fp16; hopper_flex, flex and
flex_backward. The result is there when the stream is. "another constant": a window of another width, whose kernel is loaded; its lists
are made and copied. "the same": lists and kernel are known.
"""
import os
import sys
import tempfile
import time

import torch

from bench_library import FLEX_KERNELS, BenchLibrary, current_stream

B, H, N, D = 1, 16, 4096, 64
library = BenchLibrary(sys.argv[1])


def seconds(kernel, mask, score, tensors):
    addresses = [t.data_ptr() for t in tensors]
    torch.cuda.synchronize()
    start = time.perf_counter()
    library.run_flex(kernel, (B, H, H, N, N, D), addresses, mask, score, stream=current_stream())
    torch.cuda.synchronize()
    return time.perf_counter() - start


def one_process(kernel):
    """Prints ms of the first use, of other constants (least, median, most of 9), and of the same request (median of 9)."""
    q, k, v, o, d_o, dq, dk, dv = (torch.randn(B, H, N, D, device="cuda", dtype=torch.float16) for _ in range(8))
    lse, delta = torch.randn(B, H, N, device="cuda"), torch.empty(B, H, N, device="cuda")
    tensors = (q, k, v, o, lse, d_o, dq, dk, dv, delta) if kernel == "flex_backward" else (q, k, v, o, lse)
    run = lambda window: 1e3 * seconds(kernel, f"q >= kv && q - kv <= {window}", "20 * tanh(score / 20)", tensors)
    first = run(1024)
    others = sorted(run(window) for window in range(1000, 1009))
    same = sorted(run(1004) for _ in range(9))
    print(f"{first:9.2f} {others[0]:9.2f} {others[4]:9.2f} {others[8]:9.2f} {same[4]:9.2f}", flush=True)


if len(sys.argv) > 2 and sys.argv[2] in FLEX_KERNELS:
    one_process(sys.argv[2])
    sys.exit()
lines = [f"# {torch.cuda.get_device_name()}: ms from the text of a mask and a score change to the result; B {B}, H {H}, N {N}, d {D}, fp16",
         "# first use, then another constant (least, median, most of 9), then the same request (median of 9)"]
for kernel in FLEX_KERNELS:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("compiled", "from the file"):
            made = os.popen(f"TILESCOPE_CACHE={folder} {sys.executable} {sys.argv[0]} {sys.argv[1]} {kernel}").read().strip()
            lines.append(f"{kernel:14} {name:14} {made}")
text = "\n".join(lines)
print(text)
if len(sys.argv) > 2:
    open(sys.argv[2], "w").write(text + "\n")
