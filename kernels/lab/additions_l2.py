#!/usr/bin/env python3
"""Finds how much space additions take in the L2: HBM bytes of six passes over a buffer that is read, written or added to.

Usage: additions_l2.py [OUT.txt]     needs nvcc and ncu on PATH, and a GPU of compute capability 9.0
A buffer that stays is read from HBM once. Reads leave a copy on the side of the reader, so they stop fitting at about half of the
L2; an access that leaves none stops fitting at the whole of it.
"""
import csv
import datetime
import io
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_name("additions_l2.cu")
SIZES = [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 80]
KINDS = ["read", "write", "red.v4", "bulk reduction"]
METRICS = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_ltcfabric.sum"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "additions_l2"
        subprocess.run(["nvcc", "-std=c++20", "-O3", "-arch=sm_90", "-o", program, SOURCE], check=True)
        text = subprocess.run(["ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none", "-k", "regex:passes",
                               "--metrics", ",".join(METRICS), program, *map(str, SIZES)], capture_output=True, text=True).stdout
    counts = {}
    device = ""
    for row in csv.DictReader(io.StringIO(text[text.index('"ID"'):])):
        counts.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        device = row.get("Device", "") or device
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    lines = [f"kernels/lab/additions_l2.py, {gpu}, {datetime.date.today()}", "",
             "MiB from and to HBM, and sectors over the fabric in MiB, of six passes over a buffer, each pass from other SMs", "",
             "buffer " + "".join(f"{kind:>32}" for kind in KINDS), "       " + "      read   written    fabric  " * len(KINDS)]
    launches = [counts[key] for key in sorted(counts)]
    for i, size in enumerate(SIZES):
        cells = ""
        for launch in launches[i * len(KINDS):(i + 1) * len(KINDS)]:
            read, written, sectors = (launch[metric] for metric in METRICS)
            cells += f"{read / 2**20:10.1f}{written / 2**20:10.1f}{sectors * 32 / 2**20:10.1f}  "
        lines.append(f"{size:6d} {cells}")
    print("\n".join(lines))
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


main()
