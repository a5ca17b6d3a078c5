"""Compares flex and hopper_flex with PyTorch's compiled FlexAttention in one run on one GPU: forward ms and ratios of eleven masks and
score changes. With --backward flex_backward with the gradients of PyTorch's, for seven of them.

Usage: python3 kernels/lab/beside_flex.py LIBRARY [OUT.json] [--backward]
LIBRARY is libtilescope_bench.so (target tilescope_bench). Needs PyTorch 2.5 or later with CUDA, and Triton for its timer.
B 2, H 16, N 8192, head dimensions 64 and 128, fp16. Documents have 700 tokens, windows 1024 keys; soft-capping is exact on both sides.
PyTorch runs before and after both, and its faster run counts. Also: flex against flash2 where the mask is causal.
"""
import json
import math
import sys

import torch
import torch._dynamo
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from triton.testing import do_bench

from bench_library import BenchLibrary, addresses_of, current_stream
from flex_cases import B, CASES, H, N, run

torch._dynamo.config.cache_size_limit = 64  # after 8 variants PyTorch falls back to an unfused kernel, and says nothing
library = BenchLibrary(sys.argv[1])
KERNELS = ("flex", "hopper_flex")
compiled = torch.compile(flex_attention, dynamic=False)

BACKWARD = ("full", "causal", "window1024", "document", "alibi", "softcap", "causal alibi")


def run_flash2(q, k, v, o, lse):
    library.run("flash2", (B, H, H, N, N, q.shape[-1]), addresses_of(dict(q=q, k=k, v=v, o=o, lse=lse)), causal=True,
                stream=current_stream())


def milliseconds(work):
    return do_bench(work, warmup=15, rep=50, return_mode="median")


def measure(dim, name, mask, score):
    q, k, v = (torch.randn(B, H, N, dim, device="cuda", dtype=torch.float16) for _ in range(3))
    o, lse = torch.full_like(q, float("nan")), torch.empty(B, H, N, device="cuda")
    blocks = create_block_mask(mask[1], None, None, N, N, device="cuda") if mask[1] else None

    def theirs():
        return compiled(q, k, v, score_mod=score[1], block_mask=blocks)

    expected = theirs()
    first = milliseconds(theirs)
    row = dict(case=name, d=dim)
    for kernel in KERNELS:
        o.fill_(float("nan"))
        run(library, kernel, (q, k, v, o, lse), mask[0], score[0])
        row[kernel + "_error"] = ((o.float() - expected.float()).norm() / expected.float().norm()).item()
        row[kernel + "_ms"] = milliseconds(lambda: run(library, kernel, (q, k, v, o, lse), mask[0], score[0]))
    row["pytorch_ms"] = min(first, milliseconds(theirs))
    for kernel in KERNELS:
        row[kernel + "_ratio"] = row["pytorch_ms"] / row[kernel + "_ms"]
    if name == "causal":
        row["flash2_causal_ms"] = milliseconds(lambda: run_flash2(q, k, v, o, lse))
    return row


def measure_backward(dim, name, mask, score):
    q, k, v = (torch.randn(B, H, N, dim, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
    d_o = torch.randn(B, H, N, dim, device="cuda", dtype=torch.float16)
    blocks = create_block_mask(mask[1], None, None, N, N, device="cuda") if mask[1] else None
    o, lse = compiled(q, k, v, score_mod=score[1], block_mask=blocks, return_lse=True)

    def theirs():
        return torch.autograd.grad(o, (q, k, v), d_o, retain_graph=True)

    expected = theirs()
    first = milliseconds(theirs)
    made = [torch.full_like(t, float("nan")) for t in (q, k, v)]
    delta, kept_o, kept_lse = torch.empty(B, H, N, device="cuda"), o.detach().contiguous(), lse.detach().float().contiguous()
    tensors = (q.detach(), k.detach(), v.detach(), kept_o, kept_lse, d_o, *made, delta)
    run(library, "flex_backward", tensors, mask[0], score[0])
    row = dict(case=name, d=dim)
    row["error"] = max(((a.float() - b.float()).norm() / b.float().norm()).item() for a, b in zip(made, expected))
    row["flex_backward_ms"] = milliseconds(lambda: run(library, "flex_backward", tensors, mask[0], score[0]))
    row["pytorch_ms"] = min(first, milliseconds(theirs))
    row["ratio"] = row["pytorch_ms"] / row["flex_backward_ms"]
    return row


def main_backward(out):
    rows = []
    for dim in (64, 128):
        for name in BACKWARD:
            rows.append(measure_backward(dim, name, *CASES[name]))
            print("{case:18} d {d:3}  PyTorch {pytorch_ms:.4f} ms  flex_backward {flex_backward_ms:.4f} ms, {ratio:.3f}, "
                  "error {error:.1e}".format(**rows[-1]), flush=True)
            ratios = [r["ratio"] for r in rows]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            if out:  # what there is so far
                with open(out, "w") as file:
                    json.dump(dict(device=torch.cuda.get_device_name(), torch=torch.__version__, cuda=torch.version.cuda,
                                   geometric_mean=mean, rows=rows), file, indent=1)
    print(f"geometric mean of flex_backward over PyTorch's: {mean:.3f} over {len(rows)} cases, least {min(ratios):.3f}")
    if any(r["error"] > 4e-3 for r in rows):
        sys.exit("flex_backward differs from PyTorch")


def main():
    if "--backward" in sys.argv:
        sys.argv.remove("--backward")
        return main_backward(sys.argv[2] if len(sys.argv) > 2 else None)
    rows = []
    for dim in (64, 128):
        for name, (mask, score) in CASES.items():
            rows.append(measure(dim, name, mask, score))
            print("{case:18} d {d:3}  PyTorch {pytorch_ms:.4f} ms  flex {flex_ms:.4f} ms, {flex_ratio:.3f}, error {flex_error:.1e}  "
                  "hopper_flex {hopper_flex_ms:.4f} ms, {hopper_flex_ratio:.3f}, error {hopper_flex_error:.1e}".format(**rows[-1]), flush=True)
            if "flash2_causal_ms" in rows[-1]:
                print(f"                         flash2 causal {rows[-1]['flash2_causal_ms']:.4f} ms")
    means = {}
    for kernel in KERNELS:
        ratios = [r[kernel + "_ratio"] for r in rows]
        means[kernel] = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean of {kernel} over PyTorch's FlexAttention: {means[kernel]:.3f} over {len(rows)} cases, least {min(ratios):.3f}")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            json.dump(dict(device=torch.cuda.get_device_name(), torch=torch.__version__, cuda=torch.version.cuda,
                           geometric_mean=means, rows=rows), file, indent=1)
    if any(r[kernel + "_error"] > 2e-3 for r in rows for kernel in KERNELS):
        sys.exit("flex or hopper_flex differs from PyTorch")


main()
