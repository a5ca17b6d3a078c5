"""Prints the errors of bundles: means, worst cases and how many cases are exact, for each list and each kernel.

Usage: python3 kernels/lab/error_means.py [h100-ladder ...]        without names: all bundles that have a table of errors

Reads tests/validation/NAME.csv, which `tilescope validate --csv` writes, and the lists of assets/measured/NAME.json.
"""
import csv
import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHORT_NS = 20e3


def error_line(rows, figure):
    errors = sorted((float(row[figure + "_error"]) for row in rows if row.get(figure + "_error")), key=abs, reverse=True)
    if not errors:
        return ""
    fails = sum(row[figure + "_verdict"] == "fails" for row in rows)
    exact = sum(abs(error) < 5e-7 for error in errors)  # the table has six digits
    near = sum(abs(error) <= 0.03 for error in errors)
    worst = ", ".join(f"{100 * error:+.1f}" for error in errors[:3])
    return (f"    {figure:22} mean {100 * statistics.mean(map(abs, errors)):5.2f} %, signed {100 * statistics.mean(errors):+6.2f} %, "
            f"worst {worst} %; exact {exact} and within 3 % {near} of {len(errors)}, {fails} fail")


def print_errors(name):
    with open(ROOT / f"tests/validation/{name}.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cases = json.loads((ROOT / f"assets/measured/{name}.json").read_text(encoding="utf-8"))["cases"]
    if len(rows) != len(cases):
        sys.exit(f"{name}: {len(rows)} rows of errors, but {len(cases)} cases: run tilescope validate --csv")
    groups = {"all": rows}
    for row, case in zip(rows, cases):
        groups.setdefault("list " + case["list"], []).append(row)
        groups.setdefault(case["kernel"], []).append(row)
    groups[f"under {SHORT_NS / 1e3:.0f} µs"] = [row for row, case in zip(rows, cases) if case["time_cold_ns"][0] < SHORT_NS]
    for group, own in groups.items():
        if not own:
            continue
        verdicts = {verdict: sum(row["verdict"] == verdict for row in own) for verdict in sorted({row["verdict"] for row in own})}
        print(f"  {name}, {group}: {len(own)} cases, " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
        for figure in ("time", "hbm_read", "hbm_write_after_flush", "l2_to_sm", "sm_to_l2"):
            if line := error_line(own, figure):
                print(line)


def main(names):
    for name in names or sorted(path.stem for path in (ROOT / "assets/measured").glob("*.json") if (ROOT / f"tests/validation/{path.stem}.csv").exists()):
        print_errors(name)


if __name__ == "__main__":
    main(sys.argv[1:])
