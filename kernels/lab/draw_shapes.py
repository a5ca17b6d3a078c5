"""Draws random shapes for the list "judge": lines for the table in kernels/measure/default_suite.cpp. The same seed gives the same lines.

Usage: python3 kernels/lab/draw_shapes.py SEED [KERNEL...]     without kernels: all that run forward; "backward": all that run backward
       python3 kernels/lab/draw_shapes.py SEED ladder|flex|hopper_flex|flex_masks_backward|flex_pages     shapes for all rungs of the ladder; masks and score changes; pages
       python3 kernels/lab/draw_shapes.py SEED tiles     shapes for all tiles of flash2 that kernels/lab/flash2_tiles.cu compiles
Lengths, batches and heads are uniform on a log scale; half of the lengths are multiples of 64. A shape that would take long on an H200,
or needs more than 4 GiB for S, is drawn again. After a validation by this list, move its cases to "build" in the table and draw new ones.
"""
import math
import random
import sys

from rungs import RUNGS

forward = {"flash2": 14, "standard": 7, "standard_cublas": 3, "flash1": 6, "softmax_safe": 4, "softmax_online": 4, "softmax_fused": 4,
           "matmul_naive": 4, "matmul_tiled": 4}
backward = {"standard_backward": 6, "flash1_backward": 6, "flash2_backward": 9, "flash2_backward_two_pass": 6,
            "flash2_backward_deterministic": 6, "flex_backward": 6}
on_hopper = {"flash3": 30, "flash3_backward": 28}
longest = {"flash2": 40000, "standard": 12000, "standard_cublas": 12000, "flash1": 6000, "matmul_naive": 2500,
           "standard_backward": 10000, "flash1_backward": 3000}
most_work = {"flash1": 2**38, "matmul_naive": 2**34, "flash1_backward": 2**36}  # multiply-adds of one product
longest.update({kernel: 16000 for kernel in backward if "flash2" in kernel or "flex" in kernel})
most_work.update({kernel: 2**41 for kernel in backward if "flash2" in kernel or "flex" in kernel})
longest["flash3"] = 40000
longest["flash3_backward"], most_work["flash3_backward"] = 16000, 2**41
attention = {"flash2", "standard", "standard_cublas", "flash1", *backward, *on_hopper}
keeps_matrix = {*forward, "standard_backward"} - {"flash2", "flash1"}


def log_uniform(low, high):
    return round(math.exp(random.uniform(math.log(low), math.log(high))))


def draw(kernel):
    masked = kernel in attention and random.random() < 0.5
    rows = log_uniform(192, longest.get(kernel, 6000))
    if random.random() < 0.5:
        rows = max(64, rows // 64 * 64)
    keys = rows
    if random.random() < 0.25:
        keys = max(64, round(rows * random.choice([0.25, 0.5, 2, 3])))
    if masked:
        keys = max(keys, rows)  # the causal mask is aligned to the last key
    batch, heads = log_uniform(1, 6), log_uniform(1, 48)
    group = random.choice([1, 1, 2, 4]) if kernel in attention else 1
    heads = max(group, heads // group * group)
    dim = random.choice([64, 128])
    planes = batch * heads
    too_large = 2 * planes * rows * keys > 2**32 and kernel in keeps_matrix
    if too_large or planes * rows * keys * dim > most_work.get(kernel, 2**43):
        return draw(kernel)
    return (f"{kernel:<{width}}{batch:>3}{heads:>4}{heads // group:>4}{rows:>7}{keys:>7}{dim:>4}  {random.choice(['fp16', 'bf16'])}  "
            f"{'causal' if masked else 'full  '}  judge")


def draw_ladder(shapes):
    """Prints shapes of flash2, each for every rung, so that the order of the rungs can be judged too."""
    for _ in range(shapes):
        shape = draw("flash2").removeprefix("flash2").lstrip()
        for rung in RUNGS:
            print(f"{rung:<20} {shape}")


def draw_tiles(shapes):
    """Prints as many shapes of each head dimension, in the one type that the tiles are compiled for."""
    longest["flash2"], most_work["flash2"] = 12000, 2**38
    drawn = {"64": [], "128": []}
    while min(map(len, drawn.values())) < shapes:
        line = draw("flash2").replace("bf16", "fp16")
        drawn[line.split()[6]].append(line)
    for lines in drawn.values():
        print(*lines[:shapes], sep="\n")


def draw_mask(rows, keys):
    """Returns the presets of a mask, of a change of scores, or of both."""
    masks = [lambda: "causal", lambda: f"sliding_window:window={log_uniform(64, max(65, rows))}",
             lambda: f"dilated_sliding_window:window={log_uniform(64, max(65, rows // 2))},dilation={random.choice([2, 4])}",
             lambda: f"prefix_lm:prefix={log_uniform(64, max(65, keys))}",
             lambda: f"attention_sink:sinks={log_uniform(1, 64)},window={log_uniform(64, max(65, rows // 2))}",
             lambda: f"fixed_documents:length={log_uniform(100, max(101, rows))}",
             lambda: f"batchify:size={log_uniform(100, max(101, rows))}",
             lambda: f"draft_training:prefix={max(1, keys - rows)},size={random.choice([4, 8, 16])}"]
    scores = [lambda: "alibi", lambda: f"softcap:cap={random.choice([15, 20, 30, 50])}", lambda: "relative", lambda: "activation"]
    kind = random.random()
    words = [random.choice(masks)()] if kind < 0.75 else []
    if kind > 0.55:
        words.append(random.choice(scores)())
    return "+".join(words)


def draw_flex(kernel, shapes):
    for _ in range(shapes):
        words = draw("flash2_backward" if kernel in backward else "flash2").split()
        words[0], words[8] = kernel, draw_mask(int(words[4]), int(words[5]))
        print(" ".join(words))


def draw_pages(kernel, shapes):
    """Prints shapes with pages smaller than the key tile, as large, and larger. Most have expressions; a quarter are steps of a decoder."""
    for number in range(shapes):
        words = draw("flash2").split()
        words[0], words[8] = kernel, draw_mask(int(words[4]), int(words[5])) if random.random() < 0.85 else "full"
        if number % 4 == 3:  # a few queries of many sequences
            words[1], words[4], words[8] = str(log_uniform(8, 64)), str(log_uniform(1, 64)), "full"
        tile = 128 if kernel == "hopper_flex" or words[6] == "64" else 64
        size = random.choice([16, 32, 64, 128, 256, 3 * tile])
        words.append(f"pages={size}" + random.choice(["", "", ",contiguous"]))
        print(" ".join(words))


random.seed(int(sys.argv[1]))
if sys.argv[2:] == ["ladder"]:
    width = 16
    draw_ladder(6)
    sys.exit()
if sys.argv[2:] == ["tiles"]:
    width = 16
    draw_tiles(6)
    sys.exit()
if sys.argv[2:] in (["flex"], ["hopper_flex"]):
    width = 16
    draw_flex(sys.argv[2], 32)
    sys.exit()
if sys.argv[2:] == ["flex_pages"]:
    width = 16
    draw_pages("flex", 16)
    draw_pages("hopper_flex", 12)
    sys.exit()
if sys.argv[2:] == ["flex_masks_backward"]:
    width = 16
    draw_flex("flex_backward", 26)
    sys.exit()
names = sys.argv[2:] or list(forward)
if names == ["backward"]:
    names = list(backward)
width = 16 if set(names) <= set(forward) else 30
for kernel in names:
    for _ in range({**forward, **backward, **on_hopper}[kernel]):
        print(draw(kernel))
