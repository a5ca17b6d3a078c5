#!/usr/bin/env bash
# Records the backward kernels on an NVIDIA GPU in one call: the backward cases of the suite, and the kernels beside PyTorch. Takes about
# four minutes on an H200, less than three of them for the suite.
#
# Usage: kernels/lab/record_backward.sh OUT COMMIT [BUILD]
#   OUT      folder for <gpu>-backward.json, which goes to assets/measured/, and <gpu>-pytorch-backward.json and <gpu>-backward.txt,
#            which go to kernels/lab/measured/; then kernels/lab/write_tables.py brings docs/backward.md up to date
#   COMMIT   the commit of the kernels
#   BUILD    folder of tilescope_record_suite and libtilescope_bench.so; absent: kernels/build_gpu_check.sh builds them
# Exits with 1 if a case could not be measured. Without PyTorch and Triton the second file is missing.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=$1 commit=$2 build=${3:-}
mkdir -p "$out"
if [ -z "$build" ]; then
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
  kernels/build_gpu_check.sh "$build" > "$build/build.txt" 2>&1 || { cat "$build/build.txt"; exit 1; }
fi
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | sed 's/NVIDIA //; s/GeForce //' | tr 'A-Z' 'a-z' | cut -d' ' -f1)
text=$out/$gpu-backward.txt
timeout -k 5 210 "$build/tilescope_record_suite" backward "$out/$gpu-backward.json" "$commit" > "$text"
state=$?
timeout -k 5 120 python3 kernels/lab/beside_pytorch.py "$build/libtilescope_bench.so" "$out/$gpu-pytorch-backward.json" --backward >> "$text" 2>&1
python3 - "$out/$gpu-backward.json" <<'PYTHON'
import json
import sys

bundle = json.load(open(sys.argv[1]))
print(f"{bundle['device']}, driver {bundle['driver']}, {len(bundle['cases'])} cases, commit {bundle['commit']}")
kernels = {}
for case in bundle["cases"]:
    kernels.setdefault(case["kernel"], []).append(case)
print(f"{'kernel':<30} cases not whole   quickest    slowest  spread  L2->SM MB  SM->L2 MB   added MB")
for kernel, cases in kernels.items():
    timed = [c["time_cold_ns"] for c in cases if c["time_cold_ns"][0] > 0]
    times = sorted(t[0] / 1e3 for t in timed) or [0]
    spreads = sorted((t[2] - t[1]) / 2 / t[0] for t in timed) or [0]
    total = [sum(c["counters"].get(key, [0])[0] for c in cases) / 1e6 for key in ("l2_to_sm_bytes", "sm_to_l2_bytes", "sm_to_l2_reduce_bytes")]
    print(f"{kernel:<30} {len(cases):>5} {sum(bool(c['refused']) for c in cases):>9} {times[0]:>7.1f} us {times[-1]:>7.1f} us "
          f"{spreads[len(spreads) // 2]:>7.1%} {total[0]:>10.1f} {total[1]:>10.1f} {total[2]:>10.1f}")
PYTHON
tail -1 "$text"
exit $state
