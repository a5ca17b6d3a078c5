"""Counts the HBM traffic of kernels whose tensors are near the L2's capacity, at many addresses, launch by launch.

run LIBRARY      runs every case; under ncu, as near_capacity.sh does
table NCU_CSV    prints the median, least and most of each case
"""
import csv
import random
import statistics
import sys

from bench_library import BenchLibrary, current_stream

PAGE = 1 << 21
POOL_PAGES = 18 << 10


def case(kernel, batch, heads, kv_heads, rows, keys, dim, bf16=False, causal=False, places=16):
    return dict(kernel=kernel, sizes=(batch, heads, kv_heads, rows, keys, dim), bf16=bf16, causal=causal, places=places)


# The known misses of h200.json in standard and flash1.
CASES = [case("standard", 2, 4, 4, 2000, 2000, 64, True),
         case("standard", 1, 1, 1, 65536, 65536, 128, places=2),
         case("standard", 6, 20, 10, 448, 448, 64, True, True),
         case("standard", 4, 12, 6, 729, 729, 64, True, True),
         case("standard", 2, 40, 20, 448, 448, 128, True, True),
         case("standard", 3, 16, 16, 704, 704, 64, True, True),
         case("standard", 2, 16, 4, 392, 784, 64, True),
         case("standard", 1, 11, 11, 1344, 1344, 64),
         case("flash1", 2, 44, 11, 3468, 3468, 64, True, True),
         case("flash1", 5, 16, 4, 1600, 1600, 64),
         case("flash1", 3, 8, 4, 4005, 4005, 128, False, True),
         case("flash1", 3, 22, 22, 1543, 1543, 64, True),
         case("flash1", 2, 24, 6, 2941, 2941, 64, False, True),
         case("flash1", 6, 8, 4, 2312, 2312, 128, True, True),
         case("flash1", 3, 17, 17, 1536, 384, 128)]
# Row lengths around multiples of a line, with and without a causal mask; then head counts that push P beyond the L2.
CASES += [case("standard", 4, 12, 6, n, n, 64, True, True, 6) for n in (704, 712, 720, 729, 736, 752, 768)]
CASES += [case("standard", 3, 8, 4, n, n, 64, True, False, 6) for n in (729, 768)]
CASES += [case("standard", 6, h, h // 2, 448, 448, 64, True, True, 6) for h in (10, 14, 16, 18, 20, 22, 24, 28)]
CASES += [case("standard", 1, h, h, 1344, 1344, 64, False, False, 6) for h in (6, 8, 9, 10, 11, 12, 14)]


def tensor_bytes(c):
    batch, heads, kv_heads, rows, keys, dim = c["sizes"]
    pitch = -(-keys // 16) * 16
    queries, scores = batch * heads * rows, batch * heads * rows * pitch * 2
    sizes = dict(q=queries * dim * 2, k=batch * kv_heads * keys * dim * 2, o=queries * dim * 2, lse=queries * 4, m=queries * 4)
    sizes.update(v=sizes["k"], l=sizes["m"])
    if c["kernel"] == "standard":
        sizes.update(s=scores, p=scores)
    return sizes


def scattered(sizes):
    """Returns a page of the pool for each tensor: in random order, with random gaps."""
    names = sorted(sizes)
    random.shuffle(names)
    pages = {name: -(-sizes[name] // PAGE) for name in names}
    gaps = sorted(random.randint(0, POOL_PAGES - sum(pages.values())) for _ in names)
    at, used = {}, 0
    for name, gap in zip(names, gaps):
        at[name] = gap + used
        used += pages[name]
    return at


def run(library):
    import torch
    kernels = BenchLibrary(library)
    pool = torch.empty(POOL_PAGES * PAGE // 2, device="cuda", dtype=torch.float16).normal_()
    other = torch.ones(64 << 20, device="cuda")
    random.seed(7)
    for c in CASES:
        for _ in range(c["places"]):
            at = scattered(tensor_bytes(c))
            addresses = {name: pool.data_ptr() + page * PAGE for name, page in at.items()}
            other.sum()  # four times the L2: evicts everything and leaves clean lines
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            kernels.run(c["kernel"], c["sizes"], addresses, c["bf16"], c["causal"], stream=current_stream())
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()


def spread(values):
    return f"{statistics.median(values):9.2f} ({min(values):.2f} to {max(values):.2f})"


def table(path):
    with open(path) as file:
        rows = [r for r in csv.DictReader(line for line in file if line.startswith('"')) if r["ID"].isdigit()]
    megabytes = [{k: float(r[f"dram__bytes_{k}.sum"].replace(",", "")) / 1e6 for k in ("read", "write")} for r in rows]
    at = 0
    for c in CASES:
        launches = ("scores", "softmax", "output") if c["kernel"] == "standard" else ("attention",)
        runs = [megabytes[at + i * len(launches):at + (i + 1) * len(launches)] for i in range(c["places"])]
        at += c["places"] * len(launches)
        batch, heads, kv_heads, n, keys, dim = c["sizes"]
        print(f"{c['kernel']} B{batch} H{heads}/{kv_heads} N{n}x{keys} d{dim} {'bf16' if c['bf16'] else 'fp16'}"
              f"{' causal' if c['causal'] else ''}, {c['places']} places")
        print("  MB read    ", spread([sum(x["read"] for x in r) for r in runs]))
        print("  MB written ", spread([sum(x["write"] for x in r) for r in runs]))
        if len(launches) > 1:
            for i, name in enumerate(launches):
                print(f"    {name:8} read", spread([r[i]["read"] for r in runs]))
    assert at == len(rows), f"{len(rows)} launches in the file, {at} in the cases"


if __name__ == "__main__":
    {"run": run, "table": table}[sys.argv[1]](sys.argv[2])
