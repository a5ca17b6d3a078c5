"""Writes the tables of docs/measuring.md, docs/backward.md, docs/masks.md and docs/findings/h100.md from kernels/lab/measured/<gpu>-pytorch*.json,
assets/measured/<gpu>*.json and tests/validation/*.csv.

Usage: python3 kernels/lab/write_tables.py [--check]
Each table replaces the text between <!-- NAME --> and <!-- end --> in the page.
  --check writes nothing, and exits with 1 where a page differs from its recordings.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parents[2]


def load(path):
    return json.loads((root / path).read_text())


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" for _ in head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def better_standard(row):
    times = {k: row[k + "_ms"] for k in ("standard", "standard_cublas") if k + "_ms" in row}
    return min(times.items(), key=lambda item: item[1]) if times else None


def speed_up(pytorch):
    """Returns the speed-up of flash2 over the better standard kernel, by N."""
    rows = []
    for n in sorted({r["n"] for r in pytorch["rows"]}):
        cells = [f"{n:,}".replace(",", " ")]
        for d in (64, 128):
            for causal in (False, True):
                row = next(r for r in pytorch["rows"] if (r["d"], r["n"], r["causal"]) == (d, n, causal))
                best = better_standard(row)
                cells.append(f"{best[1] / row['flash2_ms']:.2f} ({best[0].replace('standard_', '')})" if best else "–")
        rows.append(cells)
    return table(["N", "d 64", "d 64 causal", "d 128", "d 128 causal"], rows)


def beside_pytorch(pytorch):
    names = ("flash2", "pytorch_flash", "pytorch_cudnn", "standard", "standard_cublas", "pytorch_unfused")
    rows = []
    for r in pytorch["rows"]:
        rates = [r.get(name + "_tflops", "–") for name in names]
        rows.append([r["d"], r["n"], "causal" if r["causal"] else "", *rates, f"{r['pytorch_flash_ms'] / r['flash2_ms']:.3f}"])
    ratios = [r["pytorch_flash_ms"] / r["flash2_ms"] for r in pytorch["rows"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    head = ["d", "N", "mask", "flash2", "PyTorch flash", "PyTorch cuDNN", "standard", "standard_cublas", "PyTorch unfused", "flash2 / flash"]
    note = f"\n\nTFLOP/s on {pytorch['device']}, PyTorch {pytorch['torch']}. Geometric mean of the last column: {mean:.3f}; minimum {min(ratios):.3f}."
    return table(head, rows) + note


def flex_beside_pytorch(flex):
    cases = list(dict.fromkeys(r["case"] for r in flex["rows"]))
    rows = []
    for case in cases:
        of = {r["d"]: r for r in flex["rows"] if r["case"] == case}
        rows.append([f"`{case}`", *(f"{of[d][name]:.3f}" for d in (64, 128) for name in ("pytorch_ms", "flex_ms", "hopper_flex_ms")),
                     *(f"{of[d]['hopper_flex_ratio']:.2f}" for d in (64, 128))])
    ratios = {k: [r[k + "_ratio"] for r in flex["rows"]] for k in ("flex", "hopper_flex")}
    means = {k: math.exp(sum(map(math.log, v)) / len(v)) for k, v in ratios.items()}
    head = ["", *(f"{name} d {d}" for d in (64, 128) for name in ("PyTorch", "flex", "hopper_flex")), "faster d 64", "faster d 128"]
    note = (f"\n\nMilliseconds on {flex['device']}, PyTorch {flex['torch']}. Geometric mean of PyTorch's time over `hopper_flex`'s: "
            f"{means['hopper_flex']:.3f}, least {min(ratios['hopper_flex']):.3f}; over `flex`'s: {means['flex']:.3f}, least {min(ratios['flex']):.3f}.")
    return table(head, rows).replace("|---:|", "|---|", 1) + note


def flex_backward_beside_pytorch(flex):
    """Returns a row for each mask or score change."""
    rows = []
    for case in dict.fromkeys(r["case"] for r in flex["rows"]):
        of = {r["d"]: r for r in flex["rows"] if r["case"] == case}
        rows.append([f"`{case}`", *(f"{of[d][name]:.3f}" for d in (64, 128) for name in ("pytorch_ms", "flex_backward_ms")),
                     *(f"{of[d]['ratio']:.2f}" for d in (64, 128))])
    head = ["", *(f"{name} d {d}" for d in (64, 128) for name in ("PyTorch", "flex_backward")), "ratio d 64", "ratio d 128"]
    note = (f"\n\nMilliseconds on {flex['device']}, PyTorch {flex['torch']}. Geometric mean of PyTorch's time over `flex_backward`'s: "
            f"{flex['geometric_mean']:.3f}, least {min(r['ratio'] for r in flex['rows']):.3f}.")
    return table(head, rows).replace("|---:|", "|---|", 1) + note


def shape_of(row):
    return [row["d"], row["n"], "causal" if row["causal"] else ""]


def backward_beside_pytorch(pytorch):
    names = {"flash2_backward": "flash2_backward", "flash2_backward_two_pass": "two_pass", "flash2_backward_deterministic": "deterministic",
             "standard_backward": "standard_backward", "pytorch_flash": "PyTorch flash", "pytorch_cudnn": "PyTorch cuDNN"}
    rows = [[*shape_of(r), *(r.get(name + "_tflops", "–") for name in names), f"{r['pytorch_flash_ms'] / r['flash2_backward_ms']:.3f}",
             f"{r['pytorch_cudnn_ms'] / r['flash2_backward_ms']:.3f}"] for r in pytorch["rows"]]
    note = (f"\n\nTFLOP/s of the backward pass (10·N·Nk·d a head) on {pytorch['device']}, PyTorch {pytorch['torch']}. Geometric means of the last "
            f"columns: {pytorch['mean_over_flash']:.3f} and {pytorch['mean_over_cudnn']:.3f}.")
    return table(["d", "N", "mask", *names.values(), "over flash", "over cuDNN"], rows) + note


def flash3_backward_beside_cudnn(pytorch):
    names = {"flash3_backward": "flash3_backward", "flash2_backward": "flash2_backward", "pytorch_cudnn": "PyTorch cuDNN"}
    rows = [[*shape_of(r), *(r[name + "_tflops"] for name in names), *(f"{r[peer + '_ms'] / r['flash3_backward_ms']:.3f}" for peer in ("flash2_backward", "pytorch_cudnn"))]
            for r in pytorch["rows"]]
    note = (f"\n\nTFLOP/s of the backward pass on {pytorch['device']}, PyTorch {pytorch['torch']}; of cuDNN, the better of a run before ours and one after. "
            f"Geometric mean of the last column: {pytorch['mean_of_flash3_backward_over_cudnn']:.3f}.")
    return table(["d", "N", "mask", *names.values(), "over flash2_backward", "over cuDNN"], rows) + note


def both_passes(pytorch):
    rows = []
    for r in pytorch["rows"]:
        if r["causal"]:
            continue
        times = [f"{r[name + '_ms']:.2f} ms" if name + "_ms" in r else "–" for name in ("both_flash2", "both_pytorch_flash", "both_unfused")]
        memory = [f"{r[name + '_bytes'] / 1e6:,.1f} MB".replace(",", " ") if name + "_bytes" in r else "–" for name in ("both_flash2", "both_unfused")]
        gain = f"{r['both_unfused_ms'] / r['both_flash2_ms']:.2f}" if "both_unfused_ms" in r else "–"
        rows.append([r["d"], r["n"], *times, gain, *memory])
    return table(["d", "N", "flash2", "PyTorch flash", "PyTorch unfused", "unfused / flash2", "memory, flash2", "memory, unfused"], rows)


def suite(bundle):
    """Returns the number of cases of each kernel and the spread of their repeats."""
    def spread(s):
        return (s[2] - s[1]) / 2 / s[0] if s[0] else 0

    rows = []
    kernels = list(dict.fromkeys(c["kernel"] for c in bundle["cases"]))
    names = sorted({c["list"] for c in bundle["cases"]})
    for kernel in kernels:
        cases = [c for c in bundle["cases"] if c["kernel"] == kernel]
        lists = [sum(c["list"] == name for c in cases) for name in names]
        read = [c for c in cases if c["counters"]]
        sizes = [c["problem"]["seq_kv"] for c in cases]
        times = sorted(spread(c["time_cold_ns"]) for c in cases)
        hbm = sorted(spread(c["counters"]["hbm_read_bytes"]) for c in read)
        rows.append([kernel, len(cases), *lists, f"{min(sizes)} to {max(sizes)}", f"{100 * times[len(times) // 2]:.1f} %",
                     f"{100 * hbm[len(hbm) // 2]:.1f} %" if hbm else "–"])
    head = ["kernel", "cases", *names, "N", "time spread", "HBM read spread"]
    note = f"\n\n{bundle['device']}, {bundle['date'][:10]}, driver for CUDA {bundle['driver']}. Spread: half of maximum minus minimum over repeats, median over cases."
    return table(head, rows) + note


def new_shapes(name):
    """Returns the errors of a bundle of shapes that nobody had seen, by kernel and of all together. A library's cases have none."""
    by_kernel = {}
    with open(root / f"tests/validation/{name}.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["time_error"]:
                by_kernel.setdefault(f"`{row['kernel']}`", []).append(row)
    by_kernel["all"] = [row for rows in by_kernel.values() for row in rows]

    def cells(kernel, rows):
        time, hbm = ([float(row[figure]) for row in rows] for figure in ("time_error", "hbm_read_error"))
        beyond = [sum(row[f"{figure}_verdict"] == "fails" for row in rows)
                  for figure in ("l2_to_sm", "sm_to_l2", "hbm_read", "hbm_write_after_flush", "time")]
        mean = [f"{100 * sum(map(abs, errors)) / len(errors):.1f} %" for errors in (time, hbm)]
        return [kernel, len(rows), mean[0], f"{100 * max(time, key=abs):+.1f} %".replace("-", "−"), mean[1], beyond[0] + beyond[1], beyond[2],
                beyond[3], beyond[4]]

    head = ["kernel", "cases", "time, mean", "time, worst", "HBM read, mean", "beyond the bound: L2 ↔ SM", "HBM read", "HBM write", "time"]
    return table(head, [cells(kernel, rows) for kernel, rows in by_kernel.items()]).replace("|---:|", "|---|", 1)


def judged(name):
    """Returns mean and worst errors of a bundle's list *judge*, by kernel. `all` leaves out a library's cases, whose times are not compared."""
    cases, by_kernel = load(f"assets/measured/{name}.json")["cases"], {}
    with open(root / f"tests/validation/{name}.csv", encoding="utf-8") as file:
        for row, case in zip(csv.DictReader(file), cases):
            if case["list"] == "judge":
                by_kernel.setdefault(f"`{row['kernel']}`", []).append(row)
    by_kernel["all"] = [row for rows in by_kernel.values() for row in rows if row["time_error"]]

    def cell(rows, figure):
        errors = [abs(float(row[f"{figure}_error"])) for row in rows if row[f"{figure}_error"]]
        return f"{100 * sum(errors) / len(errors):.1f} / {100 * max(errors):.1f} %" if errors else "–"

    figures = ("time", "hbm_read", "hbm_write_after_flush")
    head = ["judge", "cases", "time", "HBM read", "HBM written, after a flush"]
    return table(head, [[kernel, len(rows)] + [cell(rows, figure) for figure in figures] for kernel, rows in by_kernel.items()])


def failing_hbm_figures(of_gpu):
    """Returns how many HBM figures of each kernel fail in each bundle of a GPU, and the range of their errors."""
    rows = []
    for path in sorted((root / "tests/validation").glob(f"{of_gpu}*.csv")):
        by_kernel = {}
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                for figure in ("hbm_read", "hbm_write_after_flush"):
                    if row[f"{figure}_error"]:
                        by_kernel.setdefault((row["kernel"], figure), []).append(row)
        for (kernel, figure), cases in by_kernel.items():
            errors = [100 * float(row[f"{figure}_error"]) for row in cases if row[f"{figure}_verdict"] == "fails"]
            if errors:
                span = f"{min(errors):+.1f} to {max(errors):+.1f} %" if len(errors) > 1 else f"{errors[0]:+.1f} %"
                rows.append([f"[{path.stem}](../validation-{path.stem}.md)", f"`{kernel}`", f"`{figure}`", f"{len(errors)} of {len(cases)}", span.replace("-", "−")])
    return table(["bundle", "kernel", "figure", "fail", "error"], rows).replace("|---:|---:|---:|", "|---|---|---|", 1)


def probe_cost():
    rows = []
    for path in sorted((root / "assets/measured").glob("*-probe-*.json")):
        p = json.loads(path.read_text())
        q = p["problem"]
        shape = f"{p['kernel']} B{q['batch']} H{q['heads']} N{q['seq_q']} d{q['head_dim']} {q['dtype']}{' causal' if q['causal'] else ''}"
        launches = p["launches"] if len(p["launches"]) > 1 else []
        rows.append([f"`{path.name}`", shape, f"{p['plain_ns'] / 1e3:.1f} µs", f"{p['probed_ns'] / 1e3:.1f} µs",
                     f"{100 * (p['probed_ns'] / p['plain_ns'] - 1):+.1f} %"
                     + "".join(f", {l['name']} {100 * (l['probed_ns'] / l['plain_ns'] - 1):+.1f} %" for l in launches)])
    return table(["file", "case", "plain", "with probe", "cost"], rows)


def samples():
    rows = []
    for path in sorted((root / "assets/measured").glob("*-hbm-*.json")):
        r = json.loads(path.read_text())
        q = r["problem"]
        read, written = (sum(s[i] for s in r["samples"]) / 1e6 for i in (2, 3))
        most = max((s[2] + s[3]) / (s[1] - s[0]) for s in r["samples"])
        rows.append([f"`{path.name}`", f"{r['kernel']} B{q['batch']} H{q['heads']} N{q['seq_q']} d{q['head_dim']}", len(r["samples"]),
                     f"{r['interval_ns'] / 1e3:.0f} µs", f"{read:.1f} MB", f"{written:.1f} MB", f"{most:.0f} GB/s"])
    return table(["file", "case", "samples", "interval", "HBM read", "HBM written", "peak"], rows)


def cost_of_pages(bundle):
    """SM cycles with pages of each size over those without, of the shapes that were measured without pages too."""
    key = lambda case: (case["kernel"], json.dumps(case["problem"]), json.dumps(case.get("presets", [])))
    without = {key(c): c for c in bundle["cases"] if "page_size" not in c}
    sizes = sorted({c["page_size"] for c in bundle["cases"] if key(c) in without and "page_size" in c})
    rows = []
    for own, plain in without.items():
        p = plain["problem"]
        row = [f"`{plain['kernel']}` B {p['batch']}, H {p['heads']}, N {p['seq_q']}, d {p['head_dim']}{', causal' if p['causal'] else ''}",
               f"{plain['cycles'][0] / 1e6:.2f} M"]
        for size in sizes:
            found = [c for c in bundle["cases"] if key(c) == own and c.get("page_size") == size and c["page_order"] == "shuffled"]
            row.append(f"{100 * (found[0]['cycles'][0] / plain['cycles'][0] - 1):+.1f} %".replace("-", "−") if found else "–")
        rows.append(row)
    return table(["shape", "without pages"] + [f"{size}" for size in sizes], rows)


def edge(name):
    """Returns HBM bytes of one head over N, simulated beside measured."""
    bundle = load(f"assets/measured/{name}.json")["cases"]
    rows = []
    with open(root / f"tests/validation/{name}.csv") as file:
        for simulated, measured in zip(csv.DictReader(file), bundle):
            problem = measured["problem"]
            row = [f"{problem['seq_q']:,}".replace(",", " ") + (" causal" if problem["causal"] else "")]
            for key, value in (("hbm_read", measured["counters"]["hbm_read_bytes"]),
                               ("hbm_write_after_flush", measured["hbm_write_after_flush_bytes"])):
                row += [f"{float(simulated[key]) / 1e6:.1f} MB", f"{value[0] / 1e6:.1f} MB"]
            rows.append(row)
    return table(["N", "HBM read, simulated", "measured", "HBM written, simulated", "measured"], rows)


def wrapped(line):
    """Returns a line of a page in lines as long as those around it; the row of a table stays one line."""
    return line if line.startswith("|") else textwrap.fill(line, 140, break_long_words=False, break_on_hyphens=False)


def with_tables(page, text, tables):
    """Returns the text of a page with its tables replaced."""
    for name, content in tables.items():
        content = "\n".join(map(wrapped, content.split("\n")))
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
        if not pattern.search(text):
            sys.exit(f"{page} has no place for the table '{name}'")
        text = pattern.sub(lambda match: match[1] + content + "\n" + match[2], text)
    return text


def pages():
    """Returns the tables of each page. Each table has one recording, whose GPU its page names."""
    pytorch, backward = (load(f"kernels/lab/measured/h200-pytorch{part}.json") for part in ("", "-backward"))
    return {
        "docs/measuring.md": {"speed-up": speed_up(pytorch), "beside PyTorch": beside_pytorch(pytorch),
                              "suite": suite(load("assets/measured/h200.json")), "probe": probe_cost(), "samples": samples(),
                              "new shapes": new_shapes("h100-new-shapes")},
        "docs/findings/h100.md": {"judge": judged("h100"), "failing HBM figures": failing_hbm_figures("h100")},
        "docs/backward.md": {"backward beside PyTorch": backward_beside_pytorch(backward), "both passes": both_passes(backward),
                             "backward suite": suite(load("assets/measured/h200-backward.json")), "edge": edge("h200-backward-edge"),
                             "flex backward beside PyTorch": flex_backward_beside_pytorch(load("kernels/lab/measured/h100-pytorch-flex-backward.json")),
                             "flash3 backward beside cuDNN": flash3_backward_beside_cudnn(backward)},
        "docs/masks.md": {"pages": cost_of_pages(load("assets/measured/h100-flex-pages.json")),
                          "flex beside PyTorch": flex_beside_pytorch(load("kernels/lab/measured/h200-pytorch-flex.json"))},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a page differs")
    is_check, differs = parser.parse_args().check, False
    for page, tables in pages().items():
        before = (root / page).read_text()
        text = with_tables(page, before, tables)
        if text == before:
            continue
        differs = True
        if is_check:
            print(f"{page} is not what its recordings say: run kernels/lab/write_tables.py")
        else:
            (root / page).write_text(text)
            print(page)
    return 1 if is_check and differs else 0


sys.exit(main())
