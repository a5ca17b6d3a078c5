#!/usr/bin/env python3
"""Finds which counters see additions to global memory: scalar, vector and bulk reductions. Prints a table of counts per byte added.

Usage: additions.py [OUT.md]     needs nvcc and ncu on PATH, and a GPU of compute capability 9.0
A count of bytes that sees everything shows 1.00; a count of 32-byte sectors shows 1.00 too, because it is multiplied by 32.
"""
import csv
import io
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_name("additions.cu")
KINDS = ["red.f32", "red.v2.f32", "red.v4.f32", "red.v4.f32, 8 rows of 64 B", "cp.reduce.async.bulk, 4 KiB", "atom.f32"]
# Metric: bytes that one count stands for; None: print the bytes added per count.
METRICS = {
    "l1tex__m_l1tex2xbar_write_bytes.sum": 1,
    "l1tex__m_xbar2l1tex_read_bytes.sum": 1,
    "lts__t_sectors_op_red.sum": 32,
    "lts__t_sectors_op_atom.sum": 32,
    "lts__t_sectors_op_write.sum": 32,
    "lts__t_sectors_op_read.sum": 32,
    "lts__t_sectors_srcunit_tex_op_red.sum": 32,
    "lts__t_sectors_srcunit_tex_op_atom.sum": 32,
    "lts__t_sectors_srcunit_ltcfabric.sum": 32,
    "lts__t_requests_op_red.sum": None,
    "lts__t_tag_requests.sum": None,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": 32,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": 32,
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum": None,
    "smsp__inst_executed_op_global_red.sum": None,
    "smsp__inst_executed_op_global_atom.sum": None,
    "smsp__sass_inst_executed_op_global_red.sum": None,
}


def counts(program, kind):
    """Returns the bytes that a kind adds, and each metric of its kernel."""
    command = ["ncu", "--csv", "--print-units", "base", "--metrics", ",".join(METRICS), program, kind]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    added = next(int(line) for line in text.splitlines() if line.isdigit())
    table = text[text.index('"ID"'):]
    found = {}
    for row in csv.DictReader(io.StringIO(table)):
        value = row["Metric Value"].replace(",", "")
        if value.replace(".", "", 1).isdigit():
            found[row["Metric Name"]] = float(value)
    return added, found


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "additions"
        subprocess.run(["nvcc", "-std=c++20", "-O3", "-arch=sm_90", "-o", program, SOURCE], check=True)
        rates = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        measured = {kind: counts(program, kind) for kind in KINDS}
    lines = ["| counter, per byte added | " + " | ".join(f"`{kind}`" for kind in KINDS) + " |", "|---" * (len(KINDS) + 1) + "|"]
    for metric, size in METRICS.items():
        cells = []
        for added, found in measured.values():
            if metric not in found:
                cells.append("–")
            elif size is None:
                cells.append(f"{added / found[metric]:.0f} B each" if found[metric] else "0")
            else:
                cells.append(f"{found[metric] * size / added:.2f}")
        lines.append(f"| `{metric}` | " + " | ".join(cells) + " |")
    text = rates + "\n" + "\n".join(lines) + "\n"
    print(text)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text)


main()
