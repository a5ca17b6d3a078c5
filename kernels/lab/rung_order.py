"""How often the model has two rungs of the ladder in the measured order, from the tables that `tilescope validate --csv` writes.

Usage: python3 kernels/lab/rung_order.py TABLE.csv...     such as tests/validation/h200-ladder.csv
A pair counts where the measured times differ by more than 2 %, about what two runs differ by.
"""
import csv
import itertools
import sys

for path in sys.argv[1:]:
    shapes = {}
    for row in csv.DictReader(open(path)):
        if not row["cycles"] or not row["kernel"].startswith("hopper_") or row["kernel"] == "hopper_flex":
            continue
        simulated = float(row["cycles"])
        shapes.setdefault(row["problem"], {})[row["kernel"]] = (simulated, simulated / (1 + float(row["cycles_error"])))
    right = pairs = fastest = 0
    for rungs in shapes.values():
        for a, b in itertools.combinations(rungs.values(), 2):
            if abs(a[1] / b[1] - 1) < 0.02:
                continue
            pairs += 1
            right += (a[0] < b[0]) == (a[1] < b[1])
        chosen = min(rungs.values())
        fastest += chosen[1] <= 1.02 * min(measured for _, measured in rungs.values())
    print(f"{path}: {right} of {pairs} pairs in the measured order; the fastest by the model is within 2 % of the fastest measured "
          f"in {fastest} of {len(shapes)} shapes")
