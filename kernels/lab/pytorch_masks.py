#!/usr/bin/env python3
"""Writes what PyTorch's FlexAttention makes of our presets and of random expressions: tests/sim/masks/pytorch_flex.txt; with
--gradients its gradients: tests/sim/masks/pytorch_flex_gradients.txt; with --tables those of captured tables:
tests/sim/masks/pytorch_table_gradients.txt.

Usage: pytorch_masks.py OUT.txt [--gradients | --tables]        needs PyTorch; a GPU is used where there is one
The masks are written here a second time, as functions of tensors, from the papers and attention-gym: they do not come from the
text in sim/masks/presets.cpp, which the test parses. A line of the file is one of
  mask NAME N NK B H        then a line for each b, h, query tile of 128: rows b h tile | partial key tiles | full key tiles
                            and for each key tile: columns b h tile | partial query tiles | full query tiles
  values KIND TEXT          then a line for each row kept: h q L | O (16 numbers); float32, N = NK = 160, H 4, HKV 2, d 16
  values masks NAME N H     the same of a preset, with N = NK and HKV 1
  gradients KIND TEXT       then lines of some rows: dQ h q | 16 numbers; dK and dV with a head of keys and a key. dO is the fourth input
  tables NAME SHAPE | MASK | TEXT     then lines: element | the gradient of the table's element, counted as one row. MASK may be empty
Tables and inputs follow formulas that tests/sim/masks/pytorch_fixture_test.cpp repeats.
"""
import datetime
import math
import random
import sys

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BLOCK = 128


def table(values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


def documents(n):
    """Returns each token's document and the offsets of the documents, with the end. Lengths cycle through 700, 300, 1100, 50, 513."""
    lengths, doc, offsets = [700, 300, 1100, 50, 513], [], [0]
    while len(doc) < n:
        length = min(lengths[(len(offsets) - 1) % 5], n - len(doc))
        doc += [len(offsets) - 1] * length
        offsets.append(len(doc))
    return doc, offsets


def ancestors(n):
    """Returns the matrix of a binary tree in breadth-first order: 1 if the column is the row or one of its ancestors."""
    seen = [[0] * n for _ in range(n)]
    for i in range(n):
        at = i
        while True:
            seen[i][at] = 1
            if at == 0:
                break
            at = (at - 1) // 2
    return seen


def morton(i):
    x = 0
    for bit in range(16):
        x = x | ((i >> (2 * bit)) & 1) << bit
    return x


def near(width, height, kernel, x_of, y_of):
    r = kernel // 2

    def mask(b, h, q, kv):
        x, y = torch.clamp(x_of(q), r, width - 1 - r), torch.clamp(y_of(q), r, height - 1 - r)
        return ((x - x_of(kv)).abs() <= r) & ((y - y_of(kv)).abs() <= r)
    return mask


def sliding_tiles(q, kv, sizes, kernels, position):
    """Returns whether the key's tile is in the window of `kernels` tiles around the query's tile; the window is shifted to lie inside the canvas."""
    seen = None
    for axis, (size, kernel) in enumerate(zip(sizes, kernels)):
        left, right = kernel // 2, kernel // 2 + kernel % 2 - 1
        middle = torch.clamp(position(q, axis), left, size - 1 - right)
        inside = (position(kv, axis) >= middle - left) & (position(kv, axis) <= middle + right)
        seen = inside if seen is None else seen & inside
    return seen


def preset_masks(n):
    doc_list, offset_list = documents(n)
    doc, offsets = table(doc_list), table(offset_list)
    is_global = table([int(i % 173 == 0) for i in range(n)])
    prefix_of = table([d - d % 3 for d in range(len(offset_list) - 1)])
    chosen_tiles = n // 64
    chosen = table([[[[(17 * (t + 1) * (i + 1) + 5 * h + 3 * b) % chosen_tiles for i in range(8)] for t in range(chosen_tiles)]
                     for h in range(2)] for b in range(2)])
    intervals = table([[k * 100, k * 100 + 250] for k in range(n // 64)])
    ancestor = table(ancestors(n))

    def shared_prefix(b, h, q, kv):
        d = doc[q]
        p = prefix_of[d]
        return ((kv >= offsets[d]) & (q >= kv)) | ((d != p) & (kv >= offsets[p]) & (kv < offsets[p + 1]))

    def block_diffusion(b, h, q, kv):
        clean, size = n // 2, 128
        noised_q, noised_k, block_q, block_k = q < clean, kv < clean, (q % clean) // size, (kv % clean) // size
        return ((block_q == block_k) & (noised_q == noised_k)) | ((block_q > block_k) & noised_q & ~noised_k) | (
            (block_q >= block_k) & ~noised_q & ~noised_k)

    def vsa(b, h, q, kv):
        seen = chosen[b, h, q // 64, 0] == kv // 64
        for i in range(1, 8):
            seen = seen | (chosen[b, h, q // 64, i] == kv // 64)
        return seen

    def sta(b, h, q, kv):  # a canvas of 64 x 32 in tiles of 8 x 8, windows of 24 x 24
        return sliding_tiles(q, kv, (4, 8), (3, 3), lambda i, axis: i // 64 // 8 if axis == 0 else i // 64 % 8)

    def sta_video(b, h, q, kv):  # 8 frames of 16 x 16 in tiles of 4 x 8 x 8, windows of 3 tiles each way where they fit
        return sliding_tiles(q, kv, (2, 2, 2), (1, 1, 1), lambda i, axis: (i // 256 // 4, i // 256 % 4 // 2, i // 256 % 2)[axis])

    # name in our language, mask, heads of the mask, its batch elements if there are several
    rows = [
        ("causal", lambda b, h, q, kv: q >= kv, 1),
        ("sliding_window:window=300", lambda b, h, q, kv: (q >= kv) & (q - kv <= 300), 1),
        ("dilated_sliding_window:window=300,dilation=3",
         lambda b, h, q, kv: ((q - kv).abs() <= 300) & ((q - kv).abs() % 3 == 0), 1),
        ("global_sliding_window:window=100",
         lambda b, h, q, kv: ((q - kv).abs() <= 100) | (is_global[q] + is_global[kv] > 0), 1),
        ("prefix_lm:prefix=500", lambda b, h, q, kv: (kv < 500) | (q >= kv), 1),
        ("attention_sink:sinks=4,window=300", lambda b, h, q, kv: (q >= kv) & ((q - kv <= 300) | (kv < 4)), 1),
        ("document", lambda b, h, q, kv: doc[q] == doc[kv], 1),
        ("document_causal", lambda b, h, q, kv: (doc[q] == doc[kv]) & (q >= kv), 1),
        ("packed_causal", lambda b, h, q, kv: (kv >= offsets[doc[q]]) & (q >= kv), 1),
        ("fixed_documents:length=700", lambda b, h, q, kv: q // 700 == kv // 700, 1),
        ("shared_prefix", shared_prefix, 1),
        ("batchify:size=384", lambda b, h, q, kv: (q // 384 == kv // 384) & (q % 384 >= kv % 384), 1),
        (f"block_diffusion:clean={n // 2},size=128", block_diffusion, 1),
        ("sta:width=64,height=32,kernel=24,tile=8,text=0", sta, 1),
        ("sta_video:frames=8,width=16,height=16,kernel=1,tile=8,depth=4,text=0", sta_video, 1),
        ("svg_spatial:prompt=226,frame=1350,width=1,round=128",
         lambda b, h, q, kv: (kv < 226) | (q < 226) | ((q - kv).abs() < 1350 // 128 * 128), 1),
        ("svg_temporal:prompt=226,frame=260,width=2,frames=13",
         lambda b, h, q, kv: (kv < 226) | (q < 226) | (((q - 226) % 260 - (kv - 226) % 260).abs() < 40), 1),
        ("vsa", vsa, 2),
        ("vsa", vsa, 2, 2),
        ("flamingo", lambda b, h, q, kv: (q >= intervals[kv // 64, 0]) & (q < intervals[kv // 64, 1]), 1),
        ("tree:prefix=0", lambda b, h, q, kv: ancestor[q, kv] != 0, 1),
        ("draft_training:prefix=512,size=8",
         lambda b, h, q, kv: (kv < 512) | ((q // 8 == (kv - 512) // 8) & ((kv - 512) % 8 <= q % 8)), 1),
    ]
    return rows


def canvas_masks():
    """Masks of a canvas of 32 x 32 tokens."""
    return [
        ("natten:width=32,height=32,kernel=7", near(32, 32, 7, lambda i: i // 32, lambda i: i % 32), 1),
        ("natten_tiled:width=32,height=32,kernel=7,tile=8",
         near(32, 32, 7, lambda i: i // 64 % 4 * 8 + i % 64 % 8, lambda i: i // 64 // 4 * 8 + i % 64 // 8), 1),
        ("natten_morton:width=32,height=32,kernel=7", near(32, 32, 7, morton, lambda i: morton(i >> 1)), 1),
    ]


def tiles(numbers):
    return " ".join(str(int(i)) for i in numbers)


def write_lists(out, word, heads, batch, counts, indices, full_counts, full_indices):
    counts, indices, full_counts, full_indices = (t.cpu() for t in (counts, indices, full_counts, full_indices))
    for b in range(batch):
        for h in range(heads):
            for at in range(counts.shape[-1]):
                partial = sorted(indices[b, h, at, :counts[b, h, at]].tolist())
                full = sorted(full_indices[b, h, at, :full_counts[b, h, at]].tolist())
                out.write(f"{word} {b} {h} {at} | {tiles(partial)} | {tiles(full)}\n")


def blocks_of(n, mask, heads, batch=1):
    return create_block_mask(mask, batch if batch > 1 or heads > 1 else None, heads if heads > 1 else None, n, n, device=DEVICE, BLOCK_SIZE=BLOCK)


def write_masks(out, n, masks):
    for name, mask, heads, *more in masks:
        batch = more[0] if more else 1
        blocks = blocks_of(n, mask, heads, batch)
        out.write(f"mask {name} {n} {n} {batch} {heads}\n")
        write_lists(out, "rows", heads, batch, blocks.kv_num_blocks, blocks.kv_indices, blocks.full_kv_num_blocks, blocks.full_kv_indices)
        write_lists(out, "columns", heads, batch, blocks.q_num_blocks, blocks.q_indices, blocks.full_q_num_blocks, blocks.full_q_indices)


# Values: a small problem, in float32 as PyTorch's uncompiled FlexAttention computes it.
N, HEADS, KV_HEADS, D = 160, 4, 2, 16
ROWS = [0, 37, 100, 159]


def inputs(n=N, heads=HEADS, kv_heads=KV_HEADS):
    def tensor(which, heads):
        i = torch.arange(n).view(1, 1, n, 1)
        c = torch.arange(D).view(1, 1, 1, D)
        h = torch.arange(heads).view(1, heads, 1, 1)
        return (((i * 31 + c * 17 + h * 7 + which * 13 + i * c) % 64 - 32).float() / 32).to(DEVICE)
    return tensor(0, heads), tensor(1, kv_heads), tensor(2, kv_heads), tensor(3, heads)


def write_values(out, kind, text, score, mask, heads=(0, 3)):
    torch._dynamo.reset()  # its guards ignore captured variables, so it would reuse a compiled expression of the same form
    q, k, v, _ = inputs()
    blocks = create_block_mask(mask, None, HEADS, N, N, device=DEVICE) if mask else None
    o, lse = flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=True, return_lse=True)
    out.write(f"values {kind} {text}\n")
    write_rows(out, o, lse, heads, ROWS)


def write_rows(out, o, lse, heads, rows):
    for h in heads:
        for row in rows:
            numbers = " ".join(f"{x:.6g}" for x in o[0, h, row].tolist())
            out.write(f"{h} {row} {lse[0, h, row].item():.7g} | {numbers}\n")


def write_mask_values(out, n, masks):
    for name, mask, heads, *more in masks:
        if more:
            continue  # the values of its first batch element stand there
        torch._dynamo.reset()
        q, k, v, _ = inputs(n, heads, 1)
        o, lse = flex_attention(q, k, v, block_mask=blocks_of(n, mask, heads), enable_gqa=True, return_lse=True)
        out.write(f"values masks {name} {n} {heads}\n")
        write_rows(out, o, lse, range(heads), [0, 37, n // 2 + 5, n - 1])


def write_gradients(out, kind, text, score, mask, heads=(0, 3)):
    torch._dynamo.reset()
    q, k, v, d_o = inputs()
    for tensor in (q, k, v):
        tensor.requires_grad_(True)
    blocks = create_block_mask(mask, None, HEADS, N, N, device=DEVICE) if mask else None
    o = flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=True)
    gradients = torch.autograd.grad(o, (q, k, v), d_o)
    out.write(f"gradients {kind} {text}\n")
    for name, gradient in zip(("dQ", "dK", "dV"), gradients):
        for h in sorted({h if name == "dQ" else h * KV_HEADS // HEADS for h in heads}):
            for row in ROWS[1:3]:
                out.write(f"{name} {h} {row} | " + " ".join(f"{x:.6g}" for x in gradient[0, h, row].tolist()) + "\n")


def write_tables(out):
    def values(*shape):
        size = math.prod(shape)
        numbers = torch.tensor([((i * 37) % 64 - 32) / 64 for i in range(size)], device=DEVICE)
        return numbers.view(shape).requires_grad_(True)
    none, causal = ("", None), ("q >= kv", lambda b, h, q, kv: q >= kv)
    cases = [
        ("slope", (HEADS,), "score + slope[h] * (kv - q)", lambda t: lambda s, b, h, q, kv: s + t[h] * (kv - q)),
        ("slope", (HEADS,), "score * slope[h]", lambda t: lambda s, b, h, q, kv: s * t[h]),
        ("relative", (2 * N - 1,), "score + relative[q - kv + NK - 1]", lambda t: lambda s, b, h, q, kv: s + t[q - kv + N - 1]),
        ("far", (HEADS, 2 * N - 1), "score + far[h, q - kv + NK - 1]", lambda t: lambda s, b, h, q, kv: s + t[h, q - kv + N - 1]),
        ("column", (HEADS, N), "score + column[h, kv]", lambda t: lambda s, b, h, q, kv: s + t[h, kv]),
        ("row", (N,), "score * row[q]", lambda t: lambda s, b, h, q, kv: s * t[q]),
        ("pair", (HEADS, N, N), "score + pair[h, q, kv]", lambda t: lambda s, b, h, q, kv: s + t[h, q, kv]),
        ("small", (17,), "score + small[clamp(q - kv, -8, 8) + 8]",
         lambda t: lambda s, b, h, q, kv: s + t[torch.clamp(q - kv, -8, 8) + 8]),
        ("relative", (2 * N - 1,), "2 * tanh((score + relative[q - kv + NK - 1]) / 2)",
         lambda t: lambda s, b, h, q, kv: 2 * torch.tanh((s + t[q - kv + N - 1]) / 2)),
    ]
    for name, shape, text, score_of in cases:
        for mask_text, mask in (none, causal):
            torch._dynamo.reset()
            q, k, v, d_o = inputs()
            t = values(*shape)
            blocks = create_block_mask(mask, None, HEADS, N, N, device=DEVICE) if mask else None
            o = flex_attention(q, k, v, score_mod=score_of(t), block_mask=blocks, enable_gqa=True)
            gradient = torch.autograd.grad(o, t, d_o)[0].flatten().tolist()
            out.write(f"tables {name} {' '.join(map(str, shape))} | {mask_text} | {text}\n")
            step = max(1, len(gradient) // 60)
            for element in range(0, len(gradient), step):
                out.write(f"{element} | {gradient[element]:.7g}\n")


def write_presets(out, write):
    bias = torch.tensor([((i * 37) % 64 - 32) / 16 for i in range(2 * N - 1)], device=DEVICE)

    def sandwich(score, b, h, q, kv):
        total = 0.0
        for i in range(64):
            total = total + torch.cos((q - kv).abs() * math.exp(-9.210340371976184 * 2 * i / 128))
        return score + total * (HEADS / (8.0 * (h + 1)))

    hop, kinds = torch.arange(4, device=DEVICE), torch.arange(6, device=DEVICE)
    heads, width = torch.arange(HEADS, device=DEVICE), torch.arange(16, device=DEVICE)
    positions, kv_heads = torch.arange(N, device=DEVICE), torch.arange(KV_HEADS, device=DEVICE)
    distance = (positions[:, None] * 3 + positions * 5) % 8
    spatial = ((heads[:, None] * 5 + torch.arange(8, device=DEVICE) * 11) % 32 - 16).float() / 16
    path_length = positions[:, None] * positions % 6
    path = (positions[:, None, None] + 2 * positions[:, None] + 3 * hop) % 6
    edge = ((heads[:, None, None] * 13 + hop[:, None] * 7 + kinds * 3) % 32 - 16).float() / 16
    q_rope = ((heads[:, None, None] * 5 + positions[:, None] * 7 + width * 3) % 64 - 32).float() / 64
    k_rope = ((kv_heads[:, None, None] * 3 + positions[:, None] * 5 + width * 11) % 64 - 32).float() / 64

    def graphormer_edge(score, b, h, q, kv):
        n, total = torch.clamp(path_length[q, kv], max=4), 0.0
        for i in range(4):
            total = total + torch.where(i < n, edge[h, i, path[q, kv, i]], 0.0)
        return score + total / torch.clamp(n, min=1)

    def mla_rope(score, b, h, q, kv):
        total = 0.0
        for i in range(16):
            total = total + q_rope[h, q, i] * k_rope[h // (HEADS // KV_HEADS), kv, i]
        return score + total
    scores = [
        ("alibi", lambda s, b, h, q, kv: s + torch.exp2(-8.0 * (h + 1) / HEADS) * (kv - q)),
        ("softcap:cap=2", lambda s, b, h, q, kv: 2 * torch.tanh(s / 2)),
        ("relative", lambda s, b, h, q, kv: s + (q - kv)),
        ("relative_bias", lambda s, b, h, q, kv: s + bias[q - kv + N - 1]),
        ("sandwich:width=128", sandwich),
        ("activation:offset=1", lambda s, b, h, q, kv: torch.log(torch.sigmoid(s) + 1)),
        ("graphormer_spatial", lambda s, b, h, q, kv: s + spatial[h, distance[q, kv]]),
        ("graphormer_edge", graphormer_edge),
        ("mla_rope", mla_rope),
    ]
    for name, score in scores:
        write(out, "preset", name, score, None)


class Random:
    """A random expression, as text in our language and as a function of tensors."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def whole(self, depth):
        pick = self.draw.randrange(7 if depth > 0 else 4)
        if pick < 3:
            name = ["q", "kv", "h"][pick]
            return name, lambda e, name=name: e[name]
        if pick == 3:
            number = self.draw.randrange(1, 64)
            return str(number), lambda e, number=number: torch.tensor(number, device=DEVICE)
        (ta, a), (tb, b) = self.whole(depth - 1), self.whole(depth - 1)
        divisor = self.draw.randrange(2, 24)
        return [(f"({ta} - {tb})", lambda e: a(e) - b(e)), (f"({ta} % {divisor})", lambda e: a(e) % divisor),
                (f"({ta} // {divisor})", lambda e: a(e) // divisor)][pick - 4]

    def condition(self, depth):
        pick = self.draw.randrange(6 if depth > 0 else 3)
        if pick < 3:
            (ta, a), (tb, b) = self.whole(2), self.whole(2)
            return [(f"({ta} <= {tb})", lambda e: a(e) <= b(e)), (f"({ta} > {tb})", lambda e: a(e) > b(e)),
                    (f"({ta} != {tb})", lambda e: a(e) != b(e))][pick]
        (ta, a), (tb, b) = self.condition(depth - 1), self.condition(depth - 1)
        return [(f"({ta} && {tb})", lambda e: a(e) & b(e)), (f"({ta} || {tb})", lambda e: a(e) | b(e)),
                (f"(!{ta})", lambda e: ~a(e))][pick - 3]

    def score(self, depth):
        pick = self.draw.randrange(8 if depth > 0 else 2)
        if pick == 0:
            return "score", lambda e: e["score"]
        if pick == 1:
            ta, a = self.whole(1)
            return f"({ta} * 0.03125)", lambda e: a(e) * 0.03125
        ta, a = self.score(depth - 1)
        tb, b = self.score(depth - 1)
        tc, c = self.condition(1)
        return [(f"({ta} + {tb})", lambda e: a(e) + b(e)), (f"({ta} - {tb})", lambda e: a(e) - b(e)),
                (f"({ta} * {tb})", lambda e: a(e) * b(e)), (f"tanh({ta})", lambda e: torch.tanh(a(e) * 1.0)),
                (f"max({ta}, {tb})", lambda e: torch.maximum(a(e) * 1.0, b(e) * 1.0)),
                (f"({tc} ? {ta} : {tb})", lambda e: torch.where(c(e), a(e) * 1.0, b(e) * 1.0))][pick - 2]


def write_random(out, write, count):
    for seed in range(count):
        text, evaluate = Random(seed).condition(2)
        write(out, "mask", text, None, lambda b, h, q, kv, f=evaluate: f({"q": q, "kv": kv, "h": h}), heads=(seed % HEADS,))
    for seed in range(100, 100 + count):
        text, evaluate = Random(seed).score(3)
        change = lambda s, b, h, q, kv, f=evaluate: f({"score": s, "q": q, "kv": kv, "h": h}) + s * 0.0
        write(out, "score", text, change, None, heads=(seed % HEADS,))


def main():
    gradients, tables = "--gradients" in sys.argv, "--tables" in sys.argv
    sys.argv = [word for word in sys.argv if word not in ("--gradients", "--tables")]
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else "a CPU"
    with open(sys.argv[1], "w") as out:
        out.write(f"# PyTorch {torch.__version__} on {device}, {datetime.date.today()}: kernels/lab/pytorch_masks.py\n")
        if tables:
            return write_tables(out)
        if gradients:
            write_presets(out, write_gradients)
            return write_random(out, write_gradients, 40)
        write_masks(out, 2048, preset_masks(2048))
        write_masks(out, 1024, canvas_masks())
        write_presets(out, write_values)
        write_random(out, write_values, 100)
        write_mask_values(out, 2048, preset_masks(2048))
        write_mask_values(out, 1024, canvas_masks())


main()
