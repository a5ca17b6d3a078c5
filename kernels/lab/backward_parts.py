#!/usr/bin/env python3
"""Times flash3_backward without one of its parts each, and so finds what the part costs. The results are then wrong, only the time counts.

Usage: backward_parts.py BUILD OUT.txt     BUILD: folder that kernels/build_gpu_check.sh filled; needs nvcc, PyTorch and an H100 or H200
FMT_INCLUDE as for kernels/build_gpu_check.sh. Prints cycles of the whole kernel, at the SM's highest clock, per pair of tiles and SM.
"""
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

from bench_library import BenchLibrary, addresses_of, current_stream

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = "kernels/flash3_backward/flash3_backward_kernel.cuh"
ADD = ("if (lane == 0) add_queries(added);", "")
PUT = ("    put_queries(dq, added);\n    wgmma_wait<1>();", "    wgmma_wait<1>();")
PARTS = {
    "all": [],
    "no addition": [ADD],
    "no addition, dQ not to shared memory": [ADD, PUT],
    "no exponentials": [("exp2_fast(s[4 * t + i] * scale_log2 - offset[2 * t + (i & 1)])", "(s[4 * t + i] * scale_log2 - offset[2 * t + (i & 1)])")],
    "L and D not from shared memory": [("load_four(x + i, stats + i * 4);", "x[i] = x[i + 1] = x[i + 2] = x[i + 3] = __int_as_float(stats);")],
    "dS not to shared memory": [("      if (t & 1)\n        store_matrices", "      if (t == 1)\n        store_matrices")],
}
SHAPES = [(1, 2, 1, 7296, 64), (1, 2, 1, 7296, 128), (3, 12, 6, 4608, 64), (3, 12, 6, 4608, 128)]  # B, H, Hkv, N, d


def library_without(changes, build, folder):
    """Builds libtilescope_bench.so from a copy of the tree's kernel with the changes."""
    text = (ROOT / KERNEL).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    header = folder / KERNEL
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(text)
    include = ["-isystem", os.environ["FMT_INCLUDE"]] if "FMT_INCLUDE" in os.environ else []
    made = folder / "flash3_backward.o"
    subprocess.run(["nvcc", "-std=c++20", "-O3", f"-I{folder}", f"-I{ROOT}", "-DFMT_HEADER_ONLY", "-DFMT_CONSTEVAL=", "-DFMT_USE_CONSTEXPR=1", *include,
                    "-Xcompiler", "-fPIC", "-gencode", "arch=compute_90a,code=sm_90a", "-c", str(ROOT / KERNEL.replace("_kernel.cuh", ".cu")), "-o", made],
                   check=True, stderr=subprocess.DEVNULL)
    left_out = ("record_suite", "record_probes", "gpu_check.cpp.o", "flash3_backward_flash3_backward.cu.o")
    others = [o for o in glob.glob(f"{build}/*.o") if not any(name in o for name in left_out)]
    library = folder / "parts.so"
    subprocess.run(["nvcc", "-shared", "-cudart", "static", "-o", library, made, *others, "-ldl"], check=True)
    return BenchLibrary(library)


def microseconds(library, batch, heads, kv_heads, n, dim):
    def half(h):
        return torch.randn(batch, h, n, dim, device="cuda", dtype=torch.float16)

    def single(*more):
        return torch.full((batch, heads, n, *more), dim**0.5, device="cuda")

    given = {"q": half(heads), "k": half(kv_heads), "v": half(kv_heads), "o": half(heads), "d_o": half(heads), "lse": single(), "delta": single(),
             "dq": half(heads), "dk": half(kv_heads), "dv": half(kv_heads), "dq_acc": single(dim)}
    best = float("inf")
    for turn in range(10):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        library.run("flash3_backward", (batch, heads, kv_heads, n, n, dim), addresses_of(given), stream=current_stream())
        end.record()
        torch.cuda.synchronize()
        if turn > 2:
            best = min(best, 1000 * start.elapsed_time(end))
    return best


def main():
    build, out = sys.argv[1:]
    device = torch.cuda.get_device_properties(0)
    clock = int(subprocess.run(["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout.split()[0])
    lines = [f"kernels/lab/backward_parts.py, {device.name}, fp16, no mask; cycles at {clock} MHz per pair of tiles and SM", "",
             f"{'':38s}" + "".join(f"{f'B{b} H{h}/{g} N{n} d{d}':>22}" for b, h, g, n, d in SHAPES)]
    for name, changes in PARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            library = library_without(changes, build, pathlib.Path(folder))
            cells = ""
            for batch, heads, kv_heads, n, dim in SHAPES:
                blocks = n // 128 * kv_heads * batch
                pairs = blocks * (heads // kv_heads) * n // (128 if dim == 64 else 64)
                cells += f"{microseconds(library, batch, heads, kv_heads, n, dim) * clock / (pairs / min(blocks, device.multi_processor_count)):22.0f}"
            lines.append(f"{name:38s}{cells}")
            print(lines[-1], flush=True)
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


main()
