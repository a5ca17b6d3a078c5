"""Times the ladder to Hopper beside cuDNN and PyTorch's flash back end, in one process on one GPU, after checking every kernel.

Usage: kernels/lab/beside_ladder.sh OUT.json [ideas|check [NAME...]|unmasked]   (builds ladder.so and calls beside_ladder.py ladder.so with these)
With "ideas", it times those beside the ladder, or the named ones, each with the kernels that it is compared with. With "check", it
only compares them with float64. With "unmasked", it times the last rungs without a mask in both types: which should flash3 launch?
Each kernel is first compared with float64 on ragged shapes, inside guarded memory that holds NaN. Then all kernels of a shape run in
turn, again and again, the L2 flushed before each: so all of them see the same clock. Times are medians of cold runs.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ladder_library import runner
from rungs import IDEAS, LADDER

ABLATIONS = ["no turns", "no overlap", "no ring"]
# B, H, Hkv, N, Nk, causal
RAGGED = [(1, 1, 1, 128, 128, 0), (2, 3, 1, 300, 500, 0), (1, 2, 2, 64, 1, 0), (1, 4, 2, 1, 77, 0), (1, 2, 1, 777, 1023, 0),
          (2, 8, 2, 513, 129, 0), (1, 2, 2, 128, 128, 1), (1, 2, 1, 500, 500, 1), (1, 4, 2, 300, 513, 1), (1, 2, 2, 600, 200, 1),
          (1, 3, 3, 1, 300, 1), (1, 2, 2, 1025, 1024, 1), (3, 8, 4, 700, 900, 1), (1, 1, 1, 2048, 2048, 1), (33, 8, 8, 333, 333, 1)]
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
run = runner(sys.argv[1])


def sdpa(backend, q, k, v, causal):
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=q.shape[1] != k.shape[1])


def reference(q, k, v, causal):
    q, k, v = (t.double() for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    n, nk = s.shape[-2:]
    if causal:
        s = s.masked_fill(torch.ones(n, nk, device="cuda", dtype=torch.bool).triu(1 + nk - n), -math.inf)
    lse = torch.logsumexp(s, -1)
    return torch.exp(s - torch.where(lse.isinf(), 0.0, lse)[..., None]) @ v, lse


def head_dims(kernel):
    return IDEAS[kernel].head_dims if kernel in IDEAS else (64, 128)


def check(kernel):
    """Returns the worst relative error of O and the worst error of L."""
    worst = [0.0, 0.0]
    for dtype, bound in ((torch.float16, 8e-4), (torch.bfloat16, 6e-3)):
        for d in head_dims(kernel):
            for batch, heads, kv_heads, n, nk, causal in RAGGED:
                q = torch.randn(batch, heads, n, d, device="cuda", dtype=dtype) * 2
                k, v = (torch.randn(batch, kv_heads, nk, d, device="cuda", dtype=dtype) for _ in range(2))
                guard = 4096
                o_memory = torch.full((q.numel() + 2 * guard,), math.nan, device="cuda", dtype=dtype)
                lse_memory = torch.full((batch * heads * n + 2 * guard,), math.nan, device="cuda")
                o, lse = o_memory[guard:-guard].view_as(q), lse_memory[guard:-guard].view(batch, heads, n)
                run(kernel, q, k, v, o, lse, causal)
                want_o, want_lse = reference(q, k, v, causal)
                finite = ~want_lse.isinf()
                errors = [((o.double() - want_o).norm() / want_o.norm().clamp_min(1e-30)).item(),
                          (lse.double() - want_lse)[finite].abs().max().item() if finite.any() else 0.0]
                outside = all(m[part].isnan().all() for m in (o_memory, lse_memory) for part in (slice(guard), slice(-guard, None)))
                if not (errors[0] < bound and errors[1] < 2e-3 and (lse.isinf() == want_lse.isinf()).all() and outside):
                    sys.exit(f"{kernel} d {d} {dtype} {(batch, heads, kv_heads, n, nk, causal)}: errors {errors}, outside untouched: {outside}")
                worst = [max(a, b) for a, b in zip(worst, errors)]
    return worst


def in_turn(works, rounds):
    """Returns the median ms of each piece of work; every round runs all of them, beginning with another one."""
    names, events = list(works), {name: [] for name in works}
    for name in names * 2:
        works[name]()
    for first in range(rounds):
        for name in names[first % len(names):] + names[:first % len(names)]:
            flush.zero_()
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            works[name]()
            pair[1].record()
            events[name].append(pair)
        torch.cuda.synchronize()
    return {name: sorted(a.elapsed_time(b) for a, b in events[name])[rounds // 2] for name in names}


def measure(batch, heads, kv_heads, n, d, causal, dtype, kernels, rounds=15):
    q = torch.randn(batch, heads, n, d, device="cuda", dtype=dtype)
    k, v = (torch.randn(batch, kv_heads, n, d, device="cuda", dtype=dtype) for _ in range(2))
    o, lse = torch.empty_like(q), torch.empty(batch, heads, n, device="cuda")
    works = {kernel: lambda kernel=kernel: run(kernel, q, k, v, o, lse, causal) for kernel in kernels}
    works["cudnn"] = lambda: sdpa(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
    works["pytorch_flash"] = lambda: sdpa(SDPBackend.FLASH_ATTENTION, q, k, v, causal)
    flops = 4 * batch * heads * n * n * d * (0.5 if causal else 1)
    times = in_turn(works, rounds)
    return dict(batch=batch, heads=heads, kv_heads=kv_heads, n=n, d=d, causal=bool(causal), dtype=str(dtype)[6:],
                ms={name: round(t, 5) for name, t in times.items()},
                tflops={name: round(flops / t / 1e9, 1) for name, t in times.items()})


def mean_ratio(rows, kernel, other):
    ratios = [row["tflops"][kernel] / row["tflops"][other] for row in rows if kernel in row["tflops"]]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)), min(ratios), max(ratios)


def check_all(kernels):
    errors = {kernel: check(kernel) for kernel in kernels}
    for kernel, (o, lse) in errors.items():
        print(f"{kernel:22} agrees with float64: O {o:.1e}, L {lse:.1e}", flush=True)
    return errors


def measure_all(kernels_of):
    """Measures kernels_of(d, causal) on the usual shapes, prints their rates and returns one row a shape."""
    rows = []
    for d in (64, 128):
        for causal in (0, 1):
            shapes = [measure(max(1, 16384 // n), 2048 // d, 2048 // d, n, d, causal, torch.float16, kernels_of(d, causal)) for n in LENGTHS]
            rows += shapes
            print(f"\nd {d} {'causal' if causal else 'unmasked'}, TFLOP/s at N = {LENGTHS}, over cuDNN")
            for name in shapes[0]["tflops"]:
                mean, least, most = mean_ratio(shapes, name, "cudnn")
                print(f"{name:22}" + " ".join(f"{r['tflops'][name]:7.1f}" for r in shapes) + f"   {mean:.3f} ({least:.3f} to {most:.3f})", flush=True)
    return rows


def about():
    return dict(device=torch.cuda.get_device_name(), torch=torch.__version__, cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version())


def write(recorded):
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            json.dump(recorded, file, indent=1)


def ideas(names):
    """Records ideas beside the ladder, each with the kernels that it is compared with."""
    def kernels(d, causal):
        own = [name for name in names if d in IDEAS[name].head_dims]
        return sorted({pair[causal] for name in own for pair in IDEAS[name].over} - set(own)) + ["flash3"] + own
    errors = check_all(names)
    rows = measure_all(kernels)
    write(dict(about(), errors=errors, rows=rows))


def unmasked():
    """Records the last rungs without a mask, in fp16 and, with grouped heads, in bf16; each rate over that of hopper_causal."""
    kernels = ["hopper_ping_pong", "hopper_persistent", "hopper_causal", "flash3"]
    rows = []
    for d in (64, 128):
        for name, dtype, heads_of in (("fp16", torch.float16, lambda n: (max(1, 16384 // n), 2048 // d, 2048 // d)),
                                      ("bf16", torch.bfloat16, lambda n: (max(1, 16384 // n), 2048 // d, 2048 // d)),
                                      ("bf16 grouped", torch.bfloat16, lambda n: (1, 64, 8))):
            shapes = [measure(*heads_of(n), n, d, 0, dtype, kernels, 31) for n in (*LENGTHS, 333, 3000)]
            rows += shapes
            print(f"\nd {d} {name}, unmasked, over hopper_causal at N = {[r['n'] for r in shapes]}")
            for kernel in shapes[0]["tflops"]:
                mean, least, most = mean_ratio(shapes, kernel, "hopper_causal")
                ratios = " ".join(f"{r['tflops'][kernel] / r['tflops']['hopper_causal']:6.3f}" for r in shapes)
                print(f"{kernel:22}{ratios}   {mean:.3f} ({least:.3f} to {most:.3f})", flush=True)
    write(dict(about(), rows=rows))


def main():
    errors = check_all(LADDER + ["flash2_longest", "hopper_wgmma_longest"] + ABLATIONS)
    rows = measure_all(lambda d, causal: LADDER + ABLATIONS + (["flash2_longest", "hopper_wgmma_longest"] if causal else []))
    grouped = [measure(1, 64, 8, n, d, causal, torch.bfloat16, ["flash2", "flash3"]) for d in (64, 128) for causal in (0, 1) for n in LENGTHS]
    print("\nbf16, B 1, 64 query heads, 8 key heads: flash3 over cuDNN")
    for r in grouped:
        print(r["d"], r["n"], r["causal"], r["tflops"], round(r["tflops"]["flash3"] / r["tflops"]["cudnn"], 3))
    summary = {f"flash3 over {other}, {name}": mean_ratio(part, "flash3", other) for other in ("cudnn", "pytorch_flash")
               for name, part in (("fp16", rows), ("bf16 grouped", grouped))}
    print(about())
    for name, (mean, least, most) in summary.items():
        print(f"{name}: geometric mean {mean:.3f}, least {least:.3f}, most {most:.3f}")
    write(dict(about(), errors=errors, summary=summary, rows=rows, grouped=grouped))


flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
mode, names = sys.argv[3:4], sys.argv[4:] or list(IDEAS)
if mode == ["check"]:
    check_all(names)
elif mode == ["ideas"]:
    ideas(names)
elif mode == ["unmasked"]:
    unmasked()
else:
    main()
