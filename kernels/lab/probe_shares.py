#!/usr/bin/env python3
"""Writes into docs/ladder.md what the consumer groups of the probed rungs wait for, simulated and measured.

Usage: probe_shares.py [TILESCOPE]     build/release/tilescope by default; reads assets/measured/<gpu>-probe-hopper_*.json
Shares are of the time of the blocks of one SM, averaged over groups. Simulated: from `tilescope export --sheet steps`.
"""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from rungs import RUNGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAIT_Q, WAIT_K, WAIT_V, WAIT_TURN = 12, 13, 14, 15  # ProbeStage
PEAK = 4096  # fp16 operations of a Hopper SM in a cycle


def columns(blocks, full, turn, groups, flops):
    """Shares of full tokens and of turns, and cycles of a block."""
    cycles = sum(blocks)
    return full / groups / cycles, turn / groups / cycles, 1 - flops / PEAK / cycles, cycles / len(blocks)


def flops_of(problem, tile, count):
    """Operations of `count` whole query tiles that see all keys."""
    return 4 * count * tile["block_q"] * problem["seq_kv"] * problem["head_dim"]


def measured(probe):
    consumers = [i for i, role in enumerate(probe["roles"]) if role != "producer"]
    blocks = [b["end_cycles"] - b["start_cycles"] for b in probe["sm_blocks"]]
    full = turn = products = 0
    for b in probe["sm_blocks"]:
        for stage, role, _, start, end in b["intervals"]:
            full += (end - start) * (role in consumers and stage in (WAIT_Q, WAIT_K, WAIT_V))
            turn += (end - start) * (stage == WAIT_TURN)
            products += role in consumers and stage == 4
    pairs = products * 64 * probe["tile"]["block_kv"]  # a softmax of each group and key tile, so two products
    return columns(blocks, full, turn, len(consumers), 4 * pairs * probe["problem"]["head_dim"])


def simulated(probe, tilescope, gpu):
    p = probe["problem"]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "steps.csv"
        subprocess.run([tilescope, "export", "--algorithm", probe["kernel"], "--gpu", gpu, "--batch", str(p["batch"]), "--heads",
                        str(p["heads"]), "--seq", str(p["seq_q"]), "--head-dim", str(p["head_dim"]), "--dtype", p["dtype"],
                        "--sheet", "steps", "--out", str(out)] + (["--causal"] if p["causal"] else []), check=True, capture_output=True)
        rows = list(csv.DictReader(out.open()))
    full = turn = softmaxes = 0
    edges = {}
    for row in rows:
        start, end, waited = (float(row[name]) for name in ("start_cycle", "end_cycle", "waited_cycles"))
        first, last = edges.get(row["block"], (start, end))
        edges[row["block"]] = min(first, start), max(last, end)
        if row["unit"] == "barrier":
            full += waited * ("wait full" in row["line_text"])
            turn += waited * ("my turn" in row["line_text"])
        softmaxes += row["line_text"].startswith("P = exp")
    groups = probe["tile"]["block_q"] // 64
    # Tiles of a block that stays on its SM overlap: the time of all is from the first to the last.
    stays = any(a < b for (a, _), (_, b) in zip(sorted(edges.values())[1:], sorted(edges.values())))
    blocks = [max(b for _, b in edges.values()) - min(a for a, _ in edges.values())] if stays else [b - a for a, b in edges.values()]
    return columns(blocks, full, turn, groups, 4 * softmaxes * 64 * probe["tile"]["block_kv"] * p["head_dim"])


def table_of(gpu, tilescope):
    """Returns the lines of the table of a GPU."""
    lines = ["| rung | full tokens | measured | its turn | measured | tensor cores idle | measured | time without and with the probe |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name in RUNGS:
        for path in sorted((ROOT / "assets/measured").glob(f"{gpu}-probe-{name}-d*.json")):
            probe = json.loads(path.read_text())
            model, real = simulated(probe, tilescope, gpu), measured(probe)
            has_turns = model[1] > 0 or real[1] > 0
            cells = [f"`{name}`" + (" causal" if probe["problem"]["causal"] else "")]
            for i in (0, 1, 2):
                absent = i == 1 and not has_turns
                cells += ["–", "–"] if absent else [f"{100 * model[i]:.0f} %", f"{100 * real[i]:.0f} %"]
            cells.append(f"{probe['plain_ns'] / 1e3:.1f}, {probe['probed_ns'] / 1e3:.1f} µs")
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def main():
    tilescope = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/tilescope")
    page = ROOT / "docs/ladder.md"
    text = page.read_text()
    for gpu in ("h100", "h200"):
        lines = table_of(gpu, tilescope)
        text, count = re.subn(rf"(<!-- waits {gpu} -->\n).*?(<!-- end -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text, flags=re.S)
        if count != 1:
            sys.exit(f"docs/ladder.md has no place for the table 'waits {gpu}'")
    page.write_text(text)


main()
