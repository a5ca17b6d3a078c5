"""Runs short kernels once each from a cold L2, for Nsight Compute, or times them with events.

Usage: launch_parts.py LIBRARY            prints the median of 41 times between two events, in ns
       ncu ... launch_parts.py LIBRARY --once
"""
import ctypes
import statistics
import sys

import torch

CASES = [("flash2", 1, 1, 128, 64), ("flash2", 1, 4, 256, 64), ("flash2", 3, 1, 246, 64), ("flash2", 1, 1, 512, 64), ("flash2", 1, 2, 256, 128), ("matmul_tiled", 1, 4, 256, 64),
         ("softmax_online", 1, 4, 256, 64), ("hopper_wgmma", 4, 1, 256, 128), ("hopper_producer", 4, 1, 256, 128), ("hopper_ping_pong", 4, 1, 256, 128),
         ("hopper_causal", 4, 1, 256, 128), ("flash1", 1, 4, 128, 64)]

library = ctypes.CDLL(next(a for a in sys.argv[1:] if not a.startswith("--")))
library.tilescope_run.restype = ctypes.c_char_p
scratch = torch.zeros(4 * torch.cuda.get_device_properties(0).L2_cache_size // 4, device="cuda")
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def run(kernel, b, h, n, d):
    sizes = (ctypes.c_longlong * 8)(b, h, h, n, n, d, 1, 0)
    large = [torch.randn(b, h, n, d, device="cuda", dtype=torch.float16) for _ in range(4)]
    square = [torch.zeros(b, h, n, n + 128, device="cuda", dtype=torch.float16) for _ in range(2)]
    rows = [torch.zeros(b, h, n, device="cuda") for _ in range(3)]
    q, k, v, o = large
    addresses = (ctypes.c_void_p * 17)(*(t.data_ptr() for t in (q, k, v, *square, o, *rows)), *(None,) * 8)

    def once():
        error = library.tilescope_run(kernel.encode(), sizes, 0, 0, addresses, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if error:
            raise RuntimeError(error.decode())

    if "--once" in sys.argv:
        once()
        return torch.cuda.synchronize()
    times = []
    for _ in range(41):
        scratch.sum()
        begin.record()
        once()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e6)
    print(f"{kernel:18} B{b} H{h} N{n} d{d}: {statistics.median(times):6.0f} ns", flush=True)


for case in CASES:
    run(*case)
