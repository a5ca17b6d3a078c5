#!/usr/bin/env bash
# Records what the program says when something is refused: no GPU, no memory, another profiler, a user without rights. Takes half a
# minute.
#
# Usage: kernels/lab/measured/refusals.sh TILESCOPE > kernels/lab/measured/<gpu>-refusals-DATE.txt
# Needs an NVIDIA GPU, root (for another user), and a python3 with PyTorch (to fill the memory).
set -uo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
shown=tilescope

# Runs the program and prints its lines about counters, result, samples and errors.
try() {
  local title=$1 status
  shift
  printf '   $ %s\n' "$title"
  "$@" > "$work/said" 2>&1
  status=$?
  grep -E "^(counters|l2_to_sm_bytes|result|samples|probe|tilescope:|time )" "$work/said" | sed 's/^/     /; s/ *$//'
  printf '     exit code %s\n' $status
}

echo "What tilescope said on an $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1) where it was refused, $(date -u +%Y-%m-%d)" \
  "(driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1))"

printf '\n1. No GPU to be seen\n\n'
try "CUDA_VISIBLE_DEVICES= $shown measure" env CUDA_VISIBLE_DEVICES= "$program" measure
try "CUDA_VISIBLE_DEVICES= $shown calibrate" env CUDA_VISIBLE_DEVICES= "$program" calibrate

printf '\n2. A user without rights; the driver says: %s\n\n' "$(grep RmProfilingAdminOnly /proc/driver/nvidia/params)"
nobody=(env HOME="$work" setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
try "setpriv --reuid=nobody $shown measure --heads 8" "${nobody[@]}" "$program" measure --heads 8

printf '\n3. All but 1.2 GB of the memory taken by another program\n\n'
python3 -c "
import sys, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - int(1.2e9), dtype=torch.uint8, device='cuda')
torch.cuda.synchronize()
print('held', flush=True)
sys.stdin.read()" < <(sleep 60) > "$work/held" & holder=$!
for _ in $(seq 100); do grep -q held "$work/held" && break; sleep 0.2; done
try "$shown measure --algorithm standard --heads 16 --seq 8192" "$program" measure --algorithm standard --heads 16 --seq 8192
try "$shown measure --heads 64 --seq 65536" "$program" measure --heads 64 --seq 65536
try "$shown measure --algorithm standard --heads 16 --seq 8192 --probe FILE" "$program" measure --algorithm standard --heads 16 --seq 8192 --probe "$work/p.json"
try "$shown calibrate" "$program" calibrate
try "$shown measure --heads 8" "$program" measure --heads 8
kill $holder
wait $holder 2> /dev/null

printf '\n4. Another program profiling: a suite is being measured\n\n'
"$program" measure --suite default --json "$work/suite.json" > /dev/null 2> "$work/suite.txt" & other=$!
for _ in $(seq 100); do grep -q "1/" "$work/suite.txt" && break; sleep 0.2; done
try "$shown measure --heads 8" "$program" measure --heads 8
try "$shown measure --heads 8 --samples FILE" "$program" measure --heads 8 --samples "$work/s.json"
try "$shown measure --heads 8 --probe FILE" "$program" measure --heads 8 --probe "$work/p.json"
kill $other
wait $other 2> /dev/null
printf '   The one that was there first went on:\n'
grep "/85" "$work/suite.txt" | head -3 | sed 's/^/     /'
printf '   and after its end:\n'
try "$shown measure --heads 8" "$program" measure --heads 8
