"""Compares flash2 and the standard kernels with PyTorch's attention back ends in one run on one GPU: median ms, TFLOP/s, ratios.

Usage: python3 kernels/lab/beside_pytorch.py LIBRARY [OUT.json]
LIBRARY is libtilescope_bench.so (target tilescope_bench). Needs PyTorch with CUDA, and Triton for its timer.
The shapes are the usual ones for comparing attention libraries: 16k tokens, hidden size 2048, fp16, forward.
"""
import ctypes
import json
import math
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from triton.testing import do_bench

library = ctypes.CDLL(sys.argv[1])
library.tilescope_run.restype = ctypes.c_char_p
names = ("q", "k", "v", "s", "p", "o", "lse", "m", "l", "d_o", "dq", "dk", "dv", "delta", "dq_acc", "dp", "ds")  # of the tensors


def run(kernel, q, k, v, tensors, causal):
    batch, heads, seq_q, dim = q.shape
    sizes = (ctypes.c_longlong * 7)(batch, heads, k.shape[1], seq_q, k.shape[2], dim, tensors.get("copies", 1))
    given = dict(tensors, q=q, k=k, v=v)
    addresses = (ctypes.c_void_p * len(names))(*(given[n].data_ptr() if n in given else None for n in names))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    error = library.tilescope_run(kernel.encode(), sizes, int(q.dtype == torch.bfloat16), int(causal), addresses, stream)
    if error:
        raise RuntimeError(error.decode())


def sdpa(backend, q, k, v, causal):
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def milliseconds(work):
    return do_bench(work, warmup=20, rep=60, return_mode="median")


def unfused(q, k, v, causal):
    s = (q @ k.transpose(-1, -2)) * (q.shape[-1] ** -0.5)
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool, device="cuda").triu(1), float("-inf"))
    return torch.softmax(s, -1) @ v


def measure(dim, n, causal):
    batch, heads = max(1, 16384 // n), 2048 // dim
    q, k, v = (torch.randn(batch, heads, n, dim, device="cuda", dtype=torch.float16) for _ in range(3))
    fused = dict(o=torch.full_like(q, float("nan")), lse=torch.empty(batch, heads, n, device="cuda"))
    run("flash2", q, k, v, fused, causal)
    expected = sdpa(SDPBackend.FLASH_ATTENTION, q, k, v, causal)
    error = ((fused["o"].float() - expected.float()).norm() / expected.float().norm()).item()
    # PyTorch runs before and after flash2, so that a drifting clock favours neither.
    row = dict(d=dim, n=n, batch=batch, heads=heads, causal=causal, error=error)
    first = milliseconds(lambda: sdpa(SDPBackend.FLASH_ATTENTION, q, k, v, causal))
    row["flash2_ms"] = milliseconds(lambda: run("flash2", q, k, v, fused, causal))
    row["pytorch_flash_ms"] = min(first, milliseconds(lambda: sdpa(SDPBackend.FLASH_ATTENTION, q, k, v, causal)))
    row["pytorch_cudnn_ms"] = milliseconds(lambda: sdpa(SDPBackend.CUDNN_ATTENTION, q, k, v, causal))
    if batch * heads * n * n * 4 < 40e9:
        s, p = (torch.empty(batch, heads, n, n, device="cuda", dtype=torch.float16) for _ in range(2))
        for kernel in ("standard", "standard_cublas"):
            row[kernel + "_ms"] = milliseconds(lambda: run(kernel, q, k, v, dict(fused, s=s, p=p), causal))
        del s, p
        if batch * heads * n * n * 8 < 60e9:
            row["pytorch_unfused_ms"] = milliseconds(lambda: unfused(q, k, v, causal))
    torch.cuda.empty_cache()
    flops = 4 * batch * heads * n * n * dim * (0.5 if causal else 1)
    row.update({key[:-3] + "_tflops": round(flops / value / 1e9, 1) for key, value in row.items() if key.endswith("_ms")})
    return row


def main():
    rows = [measure(d, n, c) for d in (64, 128) for n in (512, 1024, 2048, 4096, 8192, 16384) for c in (False, True)]
    ratios = [r["pytorch_flash_ms"] / r["flash2_ms"] for r in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    columns = ("flash2", "pytorch_flash", "pytorch_cudnn", "standard", "standard_cublas", "pytorch_unfused")
    print("d n causal | TFLOP/s: " + " ".join(columns) + " | flash2/pytorch_flash flash2/better standard | error")
    for r, ratio in zip(rows, ratios):
        standards = [r[c + "_ms"] for c in ("standard", "standard_cublas") if c + "_ms" in r]
        gain = f"{min(standards) / r['flash2_ms']:.2f}" if standards else "-"
        tflops = (r.get(c + "_tflops", "-") for c in columns)
        print(r["d"], r["n"], int(r["causal"]), "|", *tflops, f"| {ratio:.3f} {gain} | {r['error']:.1e}")
    spread = f"least {min(ratios):.3f}, most {max(ratios):.3f}"
    print(f"geometric mean of flash2 over PyTorch's flash back end: {mean:.3f} ({spread})")
    if len(sys.argv) > 2:
        device = torch.cuda.get_device_name()
        with open(sys.argv[2], "w") as file:
            json.dump(dict(device=device, torch=torch.__version__, cuda=torch.version.cuda, geometric_mean=mean, rows=rows), file, indent=1)
    if any(r["error"] > 2e-3 for r in rows):
        sys.exit("flash2 and PyTorch differ")


main()
