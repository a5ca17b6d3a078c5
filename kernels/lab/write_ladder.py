"""Writes the tables of docs/ladder.md from kernels/lab/measured/<gpu>-ladder.json and <gpu>-ladder-ideas.json, which
kernels/lab/beside_ladder.sh records, and from assets/measured/<gpu>-longest.json with its table of errors.

Usage: python3 kernels/lab/write_ladder.py [--check] [GPU]        GPU: h200 by default
Each table replaces the text between <!-- NAME --> and <!-- end --> in the page. --check writes nothing, and exits with 1 where the page
differs.
"""
import csv
import json
import math
import pathlib
import re
import sys

from rungs import IDEAS, LADDER

root = pathlib.Path(__file__).resolve().parents[2]
only_check = "--check" in sys.argv[1:]
gpu = next((word for word in sys.argv[1:] if word != "--check"), "h200")
PARTS = [(64, False), (64, True), (128, False), (128, True)]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "|".join("---:" for _ in head[1:]) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def part(rows, d, causal):
    return [r for r in rows if r["d"] == d and r["causal"] == causal]


def name_of(d, causal):
    return f"d {d} causal" if causal else f"d {d}"


def steps(data):
    """Returns each rung's mean TFLOP/s, and how it compares with the rung before and with cuDNN."""
    rows = []
    for i, rung in enumerate(LADDER + ["pytorch_flash", "cudnn"]):
        cells = [f"`{rung}`" if rung in LADDER else {"cudnn": "cuDNN", "pytorch_flash": "PyTorch flash"}[rung]]
        for d, causal in PARTS:
            shapes = part(data["rows"], d, causal)
            rate = mean(r["tflops"][rung] for r in shapes)
            gain = f" ({100 * (rate / mean(r['tflops'][LADDER[i - 1]] for r in shapes) - 1):+.0f} %)" if 0 < i < len(LADDER) else ""
            cells.append(f"{rate:.0f}{gain}")
        rows.append(cells)
    return table(["kernel"] + [name_of(*p) for p in PARTS], rows)


def shapes(data):
    rows = []
    for d, causal in PARTS:
        for r in part(data["rows"], d, causal):
            t = r["tflops"]
            rows.append([f"{name_of(d, causal)}, N {r['n']}, B {r['batch']}, H {r['heads']}", t["flash2"], t["flash3"], t["cudnn"],
                         t["pytorch_flash"], f"{t['flash3'] / t['cudnn']:.3f}", f"{t['flash3'] / t['pytorch_flash']:.2f}"])
    return table(["fp16", "flash2", "flash3", "cuDNN", "PyTorch flash", "flash3 / cuDNN", "flash3 / flash"], rows)


def grouped(data):
    rows = []
    for r in data["grouped"]:
        t = r["tflops"]
        rows.append([f"{name_of(r['d'], r['causal'])}, N {r['n']}", t["flash2"], t["flash3"], t["cudnn"], f"{t['flash3'] / t['cudnn']:.3f}"])
    return table(["bf16, B 1, H 64, Hkv 8", "flash2", "flash3", "cuDNN", "flash3 / cuDNN"], rows)


def ablation(data):
    names = {"no turns": "no turns (ping-pong)", "no overlap": "no overlap, so no turns", "no ring": "no overlap, one stage",
             "hopper_persistent": "fixed tiles, not drawn", "hopper_ping_pong": "one block a tile"}
    rows = []
    for key, name in names.items():
        cells = [name]
        for d, causal in PARTS:
            part_rows = part(data["rows"], d, causal)
            cells.append(f"{100 * (mean(r['tflops'][key] / r['tflops']['hopper_causal'] for r in part_rows) - 1):+.1f} %")
        rows.append(cells)
    return table(["`hopper_causal` with"] + [name_of(*p) for p in PARTS], rows)


def ideas(data):
    """Returns what each idea beside the ladder gains or loses, over each kernel that it is compared with."""
    rows = []
    for name, idea in IDEAS.items():
        for unmasked, with_mask in idea.over:
            base = f"`{unmasked}`" if unmasked == with_mask else f"`{unmasked}`, causal `{with_mask}`"
            cells = [idea.text, base if unmasked not in IDEAS else IDEAS[unmasked].text]
            for d, causal in PARTS:
                ratios = [r["tflops"][name] / r["tflops"][with_mask if causal else unmasked] for r in part(data["rows"], d, causal) if name in r["tflops"]]
                least, most = (round(100 * (edge(ratios) - 1)) for edge in (min, max)) if ratios else (0, 0)
                cells.append(f"{100 * (mean(ratios) - 1):+.1f} % ({least:+d} to {most:+d})".replace("-", "−") if ratios else "–")
            rows.append(cells)
    return table(["idea", "over"] + [name_of(*p) for p in PARTS], rows)


def limits(data):
    """Returns how far flash3 is from the nominal peak and from a plain matrix product, at the longest sequences."""
    nominal, plain = 989, 790
    rows = []
    for d, causal in PARTS:
        r = max(part(data["rows"], d, causal), key=lambda each: each["n"])
        rate = r["tflops"]["flash3"]
        rows.append([f"{name_of(d, causal)}, N {r['n']}", rate, f"{100 * rate / nominal:.0f} %", f"{100 * rate / plain:.0f} %"])
    return table(["fp16", "TFLOP/s", f"of {nominal}, the peak (d 64: of exponentials, too)", f"of {plain}, a plain product"], rows)


def longest(data):
    rows = []
    for d in (64, 128):
        for r in part(data["rows"], d, True):
            ratio = r["ms"]["flash2_longest"] / r["ms"]["flash2"]
            rows.append([f"d {d}, N {r['n']}, B {r['batch']}, H {r['heads']}", r["tflops"]["flash2"], r["tflops"]["flash2_longest"],
                         f"{100 * (ratio - 1):+.1f} %"])
    return table(["fp16 causal", "flash2", "flash2_longest", "time"], rows)


def sets():
    """Returns what the order of flash2_longest is worth to flash2, in cycles and HBM reads, simulated beside measured."""
    cases = json.loads((root / f"assets/measured/{gpu}-longest.json").read_text())["cases"]
    with open(root / f"tests/validation/{gpu}-longest.csv", encoding="utf-8") as file:
        pairs = list(zip(csv.DictReader(file), cases))
    rows = []
    for (plain, plain_case), (ordered, ordered_case) in zip(pairs[::2], pairs[1::2]):
        p = plain_case["problem"]
        heads = f"{p['heads']}/{p['kv_heads']}" if p["heads"] != p["kv_heads"] else p["heads"]
        times = [float(ordered["cycles"]) / float(plain["cycles"]), ordered_case["cycles"][0] / plain_case["cycles"][0]]
        reads = [float(row["hbm_read"]) for row in (plain, ordered)], [case["counters"]["hbm_read_bytes"][0] for case in (plain_case, ordered_case)]
        rows.append([f"d {p['head_dim']}, B {p['batch']}, H {heads}, N {p['seq_q']}"]
                    + [f"{100 * (time - 1):+.1f} %".replace("-", "−") for time in times]
                    + [f"{before / 1e6:.1f} → {after / 1e6:.1f} MB" for before, after in reads])
    return table(["fp16, causal", "cycles, model", "measured", "HBM read, model", "measured"], rows)


def without_outliers(data):
    """A line on grouped flash3 over cuDNN without the shapes that alone make it large: more than half as fast again."""
    ratios = [r["tflops"]["flash3"] / r["tflops"]["cudnn"] for r in data["grouped"]]
    usual = [ratio for ratio in ratios if ratio <= 1.5]
    outliers = sorted((ratio for ratio in ratios if ratio > 1.5), reverse=True)
    named = " and ".join(f"{ratio:.2f}" for ratio in outliers)
    return f"- flash3 over cuDNN, bf16 grouped, without {named}: geometric mean {mean(usual):.3f}, up to {max(usual):.3f}" if outliers else ""


def summary(data):
    lines = [f"{data['device']}, PyTorch {data['torch']}, CUDA {data['cuda']}, cuDNN {data['cudnn']}. Figures are TFLOP/s."]
    for name, (average, least, most) in data["summary"].items():
        kernel, _, rest = name.partition(" over ")
        other, _, types = rest.partition(", ")
        lines.append(f"- {kernel} over {'cuDNN' if other == 'cudnn' else 'PyTorch flash'}, {types}: geometric mean {average:.3f}, {least:.3f} to {most:.3f}")
        if other == "cudnn" and "grouped" in types and (line := without_outliers(data)):
            lines.append(line)
    return "\n".join([lines[0], ""] + lines[1:])


def main():
    data = json.loads((root / f"kernels/lab/measured/{gpu}-ladder.json").read_text())
    with_ideas = json.loads((root / f"kernels/lab/measured/{gpu}-ladder-ideas.json").read_text())
    page = root / "docs/ladder.md"
    text = page.read_text()
    for name, content in {"summary": summary(data), "steps": steps(data), "shapes": shapes(data), "grouped": grouped(data),
                          "ablation": ablation(data), "ideas": ideas(with_ideas), "longest": longest(data), "limits": limits(data), "sets": sets()}.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
        if not pattern.search(text):
            sys.exit(f"docs/ladder.md has no place for the table '{name}'")
        text = pattern.sub(lambda match: match[1] + content + "\n" + match[2], text)
    if not only_check:
        page.write_text(text)
    elif text != page.read_text():
        sys.exit("docs/ladder.md has not the figures that were recorded: run kernels/lab/write_ladder.py")


main()
