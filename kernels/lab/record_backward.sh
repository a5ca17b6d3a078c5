#!/usr/bin/env bash
# Records the backward kernels on an NVIDIA GPU in one call: the backward cases of the suite, as a bundle. Takes about two minutes on an
# H200.
#
# Usage: kernels/lab/record_backward.sh OUT TILESCOPE COMMIT
#   OUT        folder for <gpu>-backward.json, which goes to assets/measured/
#   TILESCOPE  the program, built with CUDA     COMMIT  the commit that it was built from
# Prints the cases, times and bytes of each kernel. Exits with 1 if a case could not be measured.
set -uo pipefail
out=$1 program=$2 commit=$3
mkdir -p "$out"
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | sed 's/NVIDIA //; s/GeForce //' | tr 'A-Z' 'a-z' | cut -d' ' -f1)
bundle=$out/$gpu-backward.json
"$program" measure --suite backward --commit "$commit" --json "$bundle" 2> "$out/$gpu-backward.txt"
state=$?
python3 - "$bundle" <<'PYTHON'
import json
import sys

bundle = json.load(open(sys.argv[1]))
print(f"{bundle['device']}, driver {bundle['driver']}, {len(bundle['cases'])} cases, commit {bundle['commit']}")
kernels = {}
for case in bundle["cases"]:
    kernels.setdefault(case["kernel"], []).append(case)
print(f"{'kernel':<30} cases not whole  cold time of the quickest and slowest     spread  L2->SM MB  SM->L2 MB  added MB")
for kernel, cases in kernels.items():
    times = sorted(c["time_cold_ns"][0] / 1e3 for c in cases if c["time_cold_ns"][0] > 0)
    spreads = sorted((c["time_cold_ns"][2] - c["time_cold_ns"][1]) / 2 / c["time_cold_ns"][0] for c in cases if c["time_cold_ns"][0] > 0)
    total = {key: sum(c["counters"].get(key, [0])[0] for c in cases) / 1e6 for key in ("l2_to_sm_bytes", "sm_to_l2_bytes", "sm_to_l2_reduce_bytes")}
    print(f"{kernel:<30} {len(cases):>5} {sum(bool(c['refused']) for c in cases):>9}  {times[0]:>12.1f} us {times[-1]:>12.1f} us "
          f"{spreads[len(spreads) // 2]:>12.1%} {total['l2_to_sm_bytes']:>10.1f} {total['sm_to_l2_bytes']:>10.1f} {total['sm_to_l2_reduce_bytes']:>9.1f}")
for case in bundle["cases"]:
    if case["refused"]:
        print("not whole:", case["kernel"], case["problem"], case["refused"])
PYTHON
tail -2 "$out/$gpu-backward.txt"
exit $state
