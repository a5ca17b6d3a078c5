"""Compares our kernels with PyTorch's attention back ends in one run on one GPU: median ms, TFLOP/s, ratios.

Usage: python3 kernels/lab/beside_pytorch.py LIBRARY [OUT.json]                 forward
       python3 kernels/lab/beside_pytorch.py LIBRARY [OUT.json] --backward      backward alone, and both passes against unfused attention
LIBRARY is libtilescope_bench.so (target tilescope_bench). Needs PyTorch with CUDA, and Triton for its timer.
The shapes are the usual ones for comparing attention libraries: 16k tokens, hidden size 2048, fp16.
"""
import argparse
import json
import math
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from triton.testing import do_bench

from bench_library import BenchLibrary, addresses_of, current_stream

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("library")
parser.add_argument("out", nargs="?")
parser.add_argument("--backward", action="store_true")
arguments = parser.parse_args()
library = BenchLibrary(arguments.library)


def run(kernel, q, k, v, tensors, causal):
    batch, heads, seq_q, dim = q.shape
    given = dict(tensors, q=q, k=k, v=v)
    copies = given.pop("copies", 1)
    library.run(kernel, (batch, heads, k.shape[1], seq_q, k.shape[2], dim), addresses_of(given), q.dtype == torch.bfloat16, causal, copies,
                current_stream())


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


def gradients(q, k, v, causal, backend, d_o):
    """Returns a function that runs PyTorch's backward pass alone, on a forward pass that ran before."""
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out = unfused(*leaves, causal) if backend is None else sdpa(backend, *leaves, causal)
    return lambda: torch.autograd.grad(out, leaves, d_o, retain_graph=True)


def train(q, k, v, causal, backend, d_o):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out = unfused(*leaves, causal) if backend is None else sdpa(backend, *leaves, causal)
    return torch.autograd.grad(out, leaves, d_o)


def peak_bytes(work):
    """Returns what `work` allocates beyond what lives before it."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def difference(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm()).item()


def copies_of(kernel, q):
    batch, heads, n, dim = q.shape
    return library.sum_copies(kernel, (batch, heads, heads, n, n, dim), torch.cuda.get_device_properties(0).multi_processor_count)


hopper_kernels = ("flash3_backward",) if torch.cuda.get_device_capability() == (9, 0) else ()


def measure_backward(dim, n, causal):
    batch, heads = max(1, 16384 // n), 2048 // dim
    planes = batch * heads
    q, k, v, d_o = (torch.randn(batch, heads, n, dim, device="cuda", dtype=torch.float16) for _ in range(4))
    ours = dict(d_o=d_o, o=torch.empty_like(q), dq=torch.empty_like(q), dk=torch.empty_like(q), dv=torch.empty_like(q))
    statistics = {name: torch.empty(batch, heads, n, device="cuda") for name in ("lse", "delta", "l", "m")}
    given = dict(ours, lse=statistics["lse"], delta=statistics["delta"])
    run("flash2", q, k, v, given, causal)
    flash = gradients(q, k, v, causal, SDPBackend.FLASH_ATTENTION, d_o)
    expected = flash()
    row = dict(d=dim, n=n, batch=batch, heads=heads, causal=causal, errors={})
    # PyTorch runs before and after our kernels, so that a drifting clock favours neither.
    first = milliseconds(flash)
    cudnn = gradients(q, k, v, causal, SDPBackend.CUDNN_ATTENTION, d_o)
    first_cudnn = milliseconds(cudnn)
    for kernel in ("flash2_backward", "flash2_backward_two_pass", "flash2_backward_deterministic", *hopper_kernels):
        copies = copies_of(kernel, q)
        sums = dict(given, copies=copies, dq_acc=torch.empty(copies, batch, heads, n, dim, device="cuda"))
        for name in ("dq", "dk", "dv"):
            ours[name].fill_(float("nan"))
        run(kernel, q, k, v, sums, causal)
        row["errors"][kernel] = max(difference(ours[x], y) for x, y in zip(("dq", "dk", "dv"), expected))
        row[kernel + "_ms"] = milliseconds(lambda: run(kernel, q, k, v, sums, causal))
        if kernel == "flash2_backward":
            row["pytorch_flash_ms"] = min(first, milliseconds(flash))

            def both():
                run("flash2", q, k, v, sums, causal)
                run(kernel, q, k, v, sums, causal)
            row["both_flash2_ms"] = milliseconds(both)
            # What training keeps or makes besides Q, K, V, O and their gradients.
            row["both_flash2_bytes"] = sum(sums[x].nbytes for x in ("lse", "delta", "dq_acc"))
        del sums
    row["pytorch_cudnn_ms"] = min(first_cudnn, milliseconds(cudnn))
    row["both_pytorch_flash_ms"] = milliseconds(lambda: train(q, k, v, causal, SDPBackend.FLASH_ATTENTION, d_o))
    del flash, cudnn, expected
    torch.cuda.empty_cache()
    matrix = planes * n * n * 2
    if matrix * 4 < 40e9:
        p, dp, ds = (torch.empty(batch, heads, n, n, device="cuda", dtype=torch.float16) for _ in range(3))
        forward = dict(ours, p=p, s=ds)
        run("standard", q, k, v, forward, causal)
        matrices = dict(ours, p=p, dp=dp, ds=ds)
        row["standard_backward_ms"] = milliseconds(lambda: run("standard_backward", q, k, v, matrices, causal))
        del p, dp, ds, forward, matrices
        torch.cuda.empty_cache()
    if n <= 1024 and not causal:
        run("flash1", q, k, v, dict(ours, l=statistics["l"], m=statistics["m"]), causal)
        row["flash1_backward_ms"] = milliseconds(
            lambda: run("flash1_backward", q, k, v, dict(ours, l=statistics["l"], m=statistics["m"]), causal))
    if matrix * 8 < 60e9:
        gradient_bytes = 4 * q.nbytes  # O and the three gradients, which every way needs
        row["both_unfused_bytes"] = peak_bytes(lambda: train(q, k, v, causal, None, d_o)) - gradient_bytes
        row["both_unfused_ms"] = milliseconds(lambda: train(q, k, v, causal, None, d_o))
    torch.cuda.empty_cache()
    forward_flops = 4 * planes * n * n * dim * (0.5 if causal else 1)
    for key, value in list(row.items()):
        if key.endswith("_ms"):
            row[key[:-3] + "_tflops"] = round(forward_flops * (3.5 if key.startswith("both_") else 2.5) / value / 1e9, 1)
    return row


SHAPES = [(d, n, c) for d in (64, 128) for n in (512, 1024, 2048, 4096, 8192, 16384) for c in (False, True)]


def save(rows, **more):
    if arguments.out:
        device = torch.cuda.get_device_name()
        with open(arguments.out, "w") as file:
            json.dump(dict(device=device, torch=torch.__version__, cuda=torch.version.cuda, **more, rows=rows), file, indent=1)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def compare_backward():
    rows = [measure_backward(*shape) for shape in SHAPES]
    alone = (*hopper_kernels, "flash2_backward", "pytorch_flash", "pytorch_cudnn", "flash2_backward_two_pass", "flash2_backward_deterministic",
             "standard_backward", "flash1_backward")
    both = ("both_flash2", "both_pytorch_flash", "both_unfused")
    print("d n causal | backward TFLOP/s: " + " ".join(alone) + " | flash2_backward over flash, over cuDNN | both passes: " + " ".join(both)
          + " | MB besides the inputs, O and gradients: flash2, unfused | error")
    over_flash = [r["pytorch_flash_ms"] / r["flash2_backward_ms"] for r in rows]
    over_cudnn = [r["pytorch_cudnn_ms"] / r["flash2_backward_ms"] for r in rows]
    for r, flash, cudnn in zip(rows, over_flash, over_cudnn):
        tflops = (r.get(c + "_tflops", "-") for c in alone)
        times = (r.get(c + "_tflops", "-") for c in both)
        memory = (f"{r[c] / 1e6:.1f}" if c in r else "-" for c in ("both_flash2_bytes", "both_unfused_bytes"))
        print(r["d"], r["n"], int(r["causal"]), "|", *tflops, f"| {flash:.3f} {cudnn:.3f} |", *times, "|", *memory,
              f"| {max(r['errors'].values()):.1e}")
    means = dict(mean_over_flash=geometric_mean(over_flash), mean_over_cudnn=geometric_mean(over_cudnn))
    print(f"geometric mean of flash2_backward over PyTorch's flash back end: {means['mean_over_flash']:.3f} "
          f"(least {min(over_flash):.3f}), over cuDNN: {means['mean_over_cudnn']:.3f} (least {min(over_cudnn):.3f})")
    for kernel in hopper_kernels:
        over_cudnn = [r["pytorch_cudnn_ms"] / r[kernel + "_ms"] for r in rows]
        means[f"mean_of_{kernel}_over_cudnn"] = geometric_mean(over_cudnn)
        print(f"geometric mean of {kernel} over cuDNN: {geometric_mean(over_cudnn):.3f} (least {min(over_cudnn):.3f}, "
              f"most {max(over_cudnn):.3f})")
    save(rows, **means)
    if any(max(r["errors"].values()) > 4e-3 for r in rows):
        sys.exit("a backward kernel and PyTorch differ")


def main():
    rows = [measure(*shape) for shape in SHAPES]
    ratios = [r["pytorch_flash_ms"] / r["flash2_ms"] for r in rows]
    mean = geometric_mean(ratios)
    columns = ("flash2", "pytorch_flash", "pytorch_cudnn", "standard", "standard_cublas", "pytorch_unfused")
    print("d n causal | TFLOP/s: " + " ".join(columns) + " | flash2/pytorch_flash flash2/better standard | error")
    for r, ratio in zip(rows, ratios):
        standards = [r[c + "_ms"] for c in ("standard", "standard_cublas") if c + "_ms" in r]
        gain = f"{min(standards) / r['flash2_ms']:.2f}" if standards else "-"
        tflops = (r.get(c + "_tflops", "-") for c in columns)
        print(r["d"], r["n"], int(r["causal"]), "|", *tflops, f"| {ratio:.3f} {gain} | {r['error']:.1e}")
    spread = f"least {min(ratios):.3f}, most {max(ratios):.3f}"
    print(f"geometric mean of flash2 over PyTorch's flash back end: {mean:.3f} ({spread})")
    save(rows, geometric_mean=mean)
    if any(r["error"] > 2e-3 for r in rows):
        sys.exit("flash2 and PyTorch differ")


if arguments.backward:
    compare_backward()
else:
    main()
