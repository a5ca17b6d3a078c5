#!/usr/bin/env python3
"""Counts what the ideas beside the ladder change: the bytes from the L2 with and without multicast, and instructions by pipe.

Usage: idea_counts.py LIBRARY [OUT.txt]     needs ncu on PATH, PyTorch, a Hopper GPU and a library as beside_ladder.sh builds it
Bytes are per byte that lands in the blocks' shared memory: 1.00 counts each block, 0.50 counts a tile for two blocks once.
"""
import csv
import datetime
import io
import pathlib
import subprocess
import sys

CLUSTERS = ["clusters", "multicast", "multicast no fences"]
SOFTMAX = ["hopper_causal", "kept maximum", "cubic quarter", "cubic half"]
# B, H, N, d, causal, query rows of a block
CLUSTER_SHAPES = [(1, 16, 4096, 128, 0, 128), (1, 32, 4096, 64, 0, 192), (1, 16, 4096, 128, 1, 128)]
# Metric: bytes that one count stands for.
BYTES = {
    "l1tex__m_xbar2l1tex_read_bytes.sum": 1,
    "l1tex__m_xbar2l1tex_read_sectors.sum": 32,
    "lts__t_sectors_srcunit_tex_op_read.sum": 32,
    "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum": 32,
    "lts__t_sectors_op_read.sum": 32,
    "lts__t_requests_srcunit_tex_op_read.sum": 128,
    "lts__t_sectors_srcunit_ltcfabric.sum": 32,
    "lts__lts2xbar_cycles_active.sum": 32,
    "dram__bytes_read.sum": 1,
}
KERNELS = {64: [*SOFTMAX, *CLUSTERS, "hopper_wgmma", "three blocks", "five blocks"], 128: [*SOFTMAX, *CLUSTERS]}
SHAPES = [(4, 16, 4096, 128, 0), (4, 32, 4096, 64, 0)]
COUNTS = ["smsp__inst_executed.sum", "smsp__inst_executed_pipe_fma.sum", "smsp__inst_executed_pipe_alu.sum", "smsp__inst_executed_pipe_xu.sum",
          "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg.per_second", "smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
          "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
          "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio"]


def landed(batch, heads, n, d, causal, rows):
    """Returns the bytes of the boxes that land in shared memory: Q once, and K and V for each block."""
    tiles = 2 * -(-n // (2 * rows))  # a cluster has two, also where the last one has no rows
    visited = sum(-(-min(n, (tile // 2 + 1) * 2 * rows) // 128) if causal else n // 128 for tile in range(tiles))
    return batch * heads * (n + 2 * 128 * visited) * d * 2


def run(library):
    """Runs every kernel once, in the order in which main() reads the launches."""
    import torch
    from ladder_library import runner
    launch = runner(library)
    for batch, heads, n, d, causal, kernels in [(*s[:5], CLUSTERS) for s in CLUSTER_SHAPES] + [(*s, KERNELS[s[3]]) for s in SHAPES]:
        q, k, v = (torch.randn(batch, heads, n, d, device="cuda", dtype=torch.float16) for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(batch, heads, n, device="cuda")
        for kernel in kernels:
            launch(kernel, q, k, v, o, lse, causal)
        torch.cuda.synchronize()


def counted(library):
    """Returns the metrics of each launch of run()."""
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "-k", "regex:hopper_", "--metrics", ",".join([*BYTES, *COUNTS]),
               sys.executable, __file__, "run", library]
    done = subprocess.run(command, capture_output=True, text=True)
    if '"ID"' not in done.stdout:
        sys.exit(done.stdout + done.stderr)
    found = {}
    for row in csv.DictReader(io.StringIO(done.stdout[done.stdout.index('"ID"'):])):
        value = row["Metric Value"].replace(",", "")
        if value.replace(".", "", 1).isdigit():
            found.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(value)
    launches = [found[key] for key in sorted(found)]
    if len(launches) != len(CLUSTER_SHAPES) * len(CLUSTERS) + sum(len(KERNELS[s[3]]) for s in SHAPES):
        sys.exit(f"{len(launches)} launches were counted:\n{done.stdout}")
    return launches


def table(kernels, launches, metrics, text):
    lines = [f"{'':66}" + "".join(f"{kernel:>23}" for kernel in kernels)]
    for metric in metrics:
        cells = [launch.get(metric) for launch in launches]
        lines.append(f"{metric:66}" + "".join(f"{'–' if cell is None else text(metric, cell):>23}" for cell in cells))
    return lines


def digits(metric, cell):
    return f"{cell:.{2 if '.ratio' in metric else 1 if '.pct' in metric else 0}f}"


def title(batch, heads, n, d, causal):
    return f"B {batch}, H {heads}, N {n}, d {d}{', causal' if causal else ''}, fp16"


def main():
    launches = iter(counted(sys.argv[1]))
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    lines = [f"kernels/lab/idea_counts.py, {gpu}, {datetime.date.today()}", "", "Bytes, per byte that lands in the blocks"]
    for *shape, rows in CLUSTER_SHAPES:
        size = landed(*shape, rows)
        lines += ["", f"{title(*shape)}: {size} bytes land"]
        lines += table(CLUSTERS, [next(launches) for _ in CLUSTERS], BYTES, lambda metric, cell: f"{cell * BYTES[metric] / size:.4f}")
    lines += ["", "Instructions of warps, shares of the elapsed cycles, and warps that wait for a fence at each issue"]
    for shape in SHAPES:
        kernels = KERNELS[shape[3]]
        lines += ["", title(*shape)]
        lines += table(kernels, [next(launches) for _ in kernels], COUNTS, digits)
    print("\n".join(lines))
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text("\n".join(lines) + "\n")


if sys.argv[1] == "run":
    run(sys.argv[2])
else:
    main()
