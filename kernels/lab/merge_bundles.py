"""Merges the bundles of a suite that was measured in several calls into one.

Usage: python3 kernels/lab/merge_bundles.py SUITE OUT.json PART.json...
Each part is what `tilescope measure --suite` wrote for some lines of SUITE. The cases of OUT.json are in the order of SUITE.
The date is the earliest of the parts. Fails if the parts disagree on the GPU, its driver or the commit, or if a case is missing or
measured twice. The text of each case is copied unchanged.
"""
import json
import sys


def case_texts(text):
    """Returns the text of each case of a bundle."""
    begin = text.index(' "cases": [\n') + len(' "cases": [\n')
    separator, start = ",\n", '  {\n   "kernel"'
    return [start + case for case in (separator + text[begin:text.rindex("\n ]\n}")]).split(separator + start)[1:]]


def pages_of(text=""):
    """Returns size and order of the pages that a line ends with, such as pages=16,contiguous."""
    size, _, order = text.removeprefix("pages=").partition(",")
    return (int(size or 0), order or "shuffled")


def key_of_line(line):
    kernel, batch, heads, kv_heads, seq_q, seq_kv, dim, dtype, mask, group, *pages = line.split()
    return (kernel, *map(int, (batch, heads, kv_heads, seq_q, seq_kv, dim)), dtype, "causal" in mask.split("+"),
            tuple(part for part in mask.split("+") if part not in ("causal", "full")), group, pages_of(*pages))


def key_of_case(case):
    p = case["problem"]
    sizes = [p[name] for name in ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim")]
    return (case["kernel"], *sizes, p["dtype"], p["causal"], tuple(case.get("presets", [])), case["list"],
            (case.get("page_size", 0), case.get("page_order", "shuffled")))


suite, out, *parts = sys.argv[1:]
lines = [line.split("#")[0].strip() for line in open(suite)]
wanted = [key_of_line(line) for line in lines if line]
texts = [open(part).read() for part in parts]
bundles = [json.loads(text) for text in texts]
first = bundles[0]
for part, bundle in zip(parts, bundles):
    for name in ("schema", "gpu", "device", "driver", "runtime", "commit", "sm_count", "l2_bytes", "counter_names"):
        if bundle[name] != first[name]:
            sys.exit(f"{part}: {name} is {bundle[name]}, in {parts[0]} it is {first[name]}")

cases = {}
for part, text, bundle in zip(parts, texts, bundles):
    own = case_texts(text)
    if len(own) != len(bundle["cases"]):
        sys.exit(f"{part}: {len(own)} case texts for {len(bundle['cases'])} cases")
    for case, case_text in zip(bundle["cases"], own):
        key = key_of_case(case)
        if key in cases:
            sys.exit(f"{part}: measured twice: {key}")
        cases[key] = case_text
if missing := [key for key in wanted if key not in cases]:
    sys.exit(f"{len(missing)} cases of {suite} are in no part, the first is {missing[0]}")
if extra := sorted(set(cases) - set(wanted)):
    sys.exit(f"{len(extra)} cases are not in {suite}, the first is {extra[0]}")

head = texts[0].split(' "cases": [\n')[0]
head = head.replace(first["command"], f"tilescope measure --suite {suite}, in {len(parts)} parts")
head = head.replace(first["date"], min(bundle["date"] for bundle in bundles))
with open(out, "w") as file:
    file.write(head + ' "cases": [\n' + ",\n".join(cases[key] for key in wanted) + "\n ]\n}\n")
print(f"{out}: {len(wanted)} cases of {len(parts)} parts")
