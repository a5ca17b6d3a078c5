#!/usr/bin/env python3
"""Writes kernels/<id>/profile.toml from the compiled kernels: registers, shared memory, spills, stalls, instructions by pipe and of loops.

Usage: kernel_profile.py [--check] [ID...]     all kernels where no id is given
  Needs nvcc (on PATH, or NVCC=...). With cuobjdump beside it, instructions are counted by pipe too; without it, the counts of
  builds whose machine code has not changed are kept, and those of others are left out with a warning.
  --check writes nothing, and exits with 1 where a file differs from the compiled kernel.
Text after the line "# Read by hand" is kept unchanged.
kernels/common/profile.toml holds only such rows, for code that several kernels share.
"""
import argparse
import hashlib
import heapq
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", "-cubin"]
MARK = "# Read by hand"
COUNTED = "# Counted"

# The launches of each kernel: name of the launch, name of the device function. A launch that belongs to another kernel is missing
# here; the part read by hand names it.
LAUNCHES = {
    "matmul_naive": {"product": "matmul_naive_kernel"},
    "matmul_tiled": {"product": "scores_kernel"},
    "softmax_safe": {"softmax": "softmax_safe_kernel"},
    "softmax_online": {"softmax": "softmax_online_kernel"},
    "softmax_fused": {"softmax": "softmax_fused_kernel"},
    "standard": {"softmax": "rows_kernel", "output": "output_kernel"},
    "flash1": {"attention": "flash1_kernel"},
    "standard_backward": {"dV": "keys_sum_kernel", "dP": "scores_kernel", "dS": "gradient_rows_kernel", "dQ": "queries_sum_kernel"},
    "flash1_backward": {"gradients": "flash1_backward_kernel"},
    "flash2_backward": {"row dots": "row_dot_kernel", "gradients": "flash2_backward_kernel", "convert dQ": "convert_kernel"},
    "flash2_backward_two_pass": {"row dots": "row_dot_kernel", "gradients": "flash2_backward_two_pass_kernel"},
    "flash2_backward_deterministic": {"row dots": "row_dot_kernel", "gradients": "flash2_backward_deterministic_kernel",
                                      "convert dQ": "convert_kernel"},
    "flash3_backward": {"row dots": "row_dot_kernel", "gradients": "flash3_backward_kernel", "convert dQ": "convert_strips_kernel"},
    "flash2": {"attention": "flash2_kernel"},
    "flash2_descending": {"attention": "flash2_kernel"},
    "flash2_longest": {"attention": "flash2_kernel"},
    "hopper_wgmma": {"attention": "hopper_wgmma_kernel"},
    "hopper_producer": {"attention": "hopper_producer_kernel"},
    "hopper_three_groups": {"attention": "hopper_producer_kernel"},
    "hopper_overlap": {"attention": "hopper_overlap_kernel"},
    "hopper_ping_pong": {"attention": "hopper_ping_pong_kernel"},
    "hopper_persistent": {"attention": "hopper_persistent_kernel"},
    "hopper_causal": {"attention": "hopper_causal_kernel"},
    "hopper_wgmma_longest": {"attention": "hopper_wgmma_kernel"},
    "flex": {"attention": "flex_kernel"},
    "hopper_flex": {"attention": "hopper_flex_kernel"},
    "flex_backward": {"gradients": "flex_backward_kernel"},
}


def architecture_of(kernel):
    """Returns the GPU that the kernel is compiled for. wgmma and setmaxnreg exist only in code for sm_90a."""
    return "sm_90a" if kernel.startswith("hopper_") or kernel == "flash3_backward" else "sm_90"


def counts_setup(kernel):
    """Returns whether what a warp executes before its first load is counted in each build, by its control flow. The other kernels keep
    what was read by hand: with such counts five figures of their recordings fail, each by less than a point."""
    return architecture_of(kernel) == "sm_90a"


# Of the other kernels: launches whose instructions before the first load are counted in the listing. All their builds of one head
# dimension have the same. The rest have another order than the execution, or their row holds for several builds: read by hand.
SETUPS = {"standard_backward": ("dV", "dP", "dS", "dQ"), "flash2_backward_two_pass": ("row dots",)}


# Pipes by the opcode of an instruction. Other opcodes count as "other".
PIPES = {
    "tensor": {"HMMA", "IMMA", "QGMMA", "HGMMA"},
    "fp32": {"FADD", "FMUL", "FFMA", "HADD2", "HMUL2", "HFMA2", "IMAD"},
    "alu": {"FMNMX", "FSEL", "FSETP", "FSET", "ISETP", "IADD3", "VIADD", "VIMNMX", "IABS", "LEA", "LOP3", "PLOP3", "PRMT", "SEL", "SHF",
            "MOV", "F2FP", "I2FP", "P2R", "R2P", "CS2R", "HMNMX2", "VIADDMNMX", "VIMNMX3"},
    "special": {"MUFU", "F2I", "I2F", "F2F", "I2I", "POPC", "FLO", "S2R", "S2UR", "R2UR"},
    "memory": {"LDG", "STG", "LDS", "STS", "LDSM", "STSM", "LDL", "STL", "LDC", "LDGSTS", "LDGDEPBAR", "SYNCS", "SHFL", "ATOM", "ATOMG",
               "RED", "REDG", "REDUX", "ARRIVES", "UTMALDG", "UTMASTG", "UBLKRED", "UTMACCTL", "UTMAPF"},
    "control": {"BRA", "BRX", "BSSY", "BSYNC", "BREAK", "CALL", "RET", "EXIT", "BAR", "DEPBAR", "WARPSYNC", "VOTE", "NOP", "NANOSLEEP",
                "YIELD", "ELECT", "ENDCOLLECTIVE", "MEMBAR", "ERRBAR", "CCTL", "FENCE",
                "WARPGROUP", "USETMAXREG", "UTMACMDFLUSH"},
    "uniform": {"UMOV", "UIADD3", "UIMAD", "ULEA", "ULOP3", "USEL", "USHF", "UISETP", "ULDC", "UP2UR", "UPLOP3", "USETP", "UPRMT", "UF2F", "VOTEU"},
}
# Options of ptxas that the program gives to the builds of one head dimension (kernels/flex/flex_text.cpp).
PTXAS = {("flex", 128): ["--register-usage-level=0"]}
PIPE_OF = {word: pipe for pipe, words in PIPES.items() for word in words}
UNKNOWN = set()  # opcodes in the machine code that PIPES lacks


class Fail(Exception):
    pass


def sections(cubin):
    """Yields (name, content) of each section of a 64-bit ELF file."""
    offset, = struct.unpack_from("<Q", cubin, 40)
    count, names_index = struct.unpack_from("<HH", cubin, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + 64 * i) for i in range(count)]
    names = cubin[headers[names_index][4]:][:headers[names_index][5]]
    for header in headers:
        name = names[header[0]:names.index(b"\0", header[0])].decode()
        no_bits = header[1] == 8
        yield name, b"" if no_bits else cubin[header[4]:header[4] + header[5]]


def max_threads(info):
    """Returns the threads of a block from .nv.info: the attribute MAX_THREADS, which __launch_bounds__ sets."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        if form == 4 and attribute == 5:
            x, y, z = struct.unpack_from("<III", info, at + 4)
            return x * y * z
        at += 4 + (size if form == 4 else 0)
    raise Fail("a kernel has no __launch_bounds__")


def executed(text):
    """Returns the instructions of a function without the NOPs that pad its section, as 128-bit words (low, high)."""
    words = [struct.unpack_from("<QQ", text, at) for at in range(0, len(text), 16)]
    nop = 0x918
    while words and words[-1][0] & 0xfff == nop:
        words.pop()
    return words


def stall_of(word):
    """Returns the stall count of an instruction: bits 105 to 108 (Volta to Hopper)."""
    return word[1] >> 41 & 15


def branch_target(at, word):
    """Returns the place in instructions to which the branch BRA at place `at` goes: a signed 56-bit offset from the next instruction,
    in units of four bytes, in bits 16 to 23 and 34 to 81 (sm_90). None for other instructions."""
    low, high = word
    if low & 0xfff != 0x947:
        return None
    offset = ((high << 64 | low) >> 34 & (1 << 48) - 1) << 8 | low >> 16 & 255
    offset -= (offset >> 55) << 56
    return at + 1 + offset // 4


CALL, EXIT, MUFU, ALWAYS = 0x944, 0x94d, 0x308, 7  # opcodes, and the predicate of an instruction that has none


def ways_on(words):
    """Returns for each instruction the places that may follow it. What a call executes is left out."""
    found = []
    for at, (low, high) in enumerate(words):
        target = branch_target(at, words[at])
        if target is not None:
            on = {target} if low >> 12 & 15 == ALWAYS and high >> 23 & 15 == ALWAYS else {target, at + 1}
        else:
            on = set() if low & 0xfff == EXIT and low >> 12 & 15 == ALWAYS else {at + 1}
        found.append({to for to in on if 0 <= to < len(words)})
    return found


def before_first_load(words):
    """Returns the instructions of the shortest way from the start of a function to its first copy into shared memory, or to its first
    load where it has no copies. A way through a call counts only where there is no other: calls are the rare cases of a division,
    numbers of more than 32 bits."""
    copies, load, of_call = {0xfae, 0x5b4}, {0x981}, 1 << 20  # LDGSTS, UTMALDG; LDG
    loads = copies if any(low & 0xfff in copies for low, _ in words) else load
    ways = ways_on(words)
    best, waiting = {0: (0, None)}, [(0, 0)]
    while waiting:
        length, at = heapq.heappop(waiting)
        if length > best[at][0]:
            continue
        code = words[at][0] & 0xfff
        if code in loads:
            way = []
            while (at := best[at][1]) is not None:
                way.append(words[at])
            return way
        for to in ways[at]:
            longer = length + (of_call if code == CALL else 1)
            if longer < best.get(to, (longer + 1,))[0]:
                best[to] = (longer, at)
                heapq.heappush(waiting, (longer, to))
    raise Fail("a kernel loads nothing")


def divisions(words):
    """Returns the divisions among instructions. Each takes a reciprocal, MUFU."""
    return sum(low & 0xfff == MUFU for low, _ in words)


def after_setmaxnreg(words):
    """Returns the registers of a thread after setmaxnreg.dec and after setmaxnreg.inc, of a kernel that has them."""
    found = {}
    for low, high in words:
        if low & 0xfff == 0x9c8:
            name, registers = "setmaxnreg_inc" if high >> 9 & 1 else "setmaxnreg_dec", low >> 32
            if found.setdefault(name, registers) != registers:
                raise Fail(f"a kernel has two {name}: {found[name]} and {registers}")
    return dict(sorted(found.items()))


def resource_usage(log):
    """Maps each function in the output of ptxas -v to registers, shared memory, stack and spills."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        name = part.split("'")[0]
        stack, stores, loads = map(int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        shared = re.search(r"(\d+) bytes smem", part)
        found[name] = {"registers": int(re.search(r"Used (\d+) registers", part)[1]),
                       "static_shared_bytes": int(shared[1]) if shared else 0, "local_bytes": stack,
                       "spill_store_bytes": stores, "spill_load_bytes": loads}
    return found


def machine_code(cubin_path, cuobjdump):
    """Returns the listing of cuobjdump."""
    return subprocess.run([cuobjdump, "-sass", cubin_path], check=True, capture_output=True, text=True).stdout


def opcodes(cubin_path, cuobjdump):
    """Yields (name, opcodes in the order of the listing) of each function."""
    for part in machine_code(cubin_path, cuobjdump).split("Function : ")[1:]:
        yield part.split()[0], re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", part)


def launch_of(kernel, symbol):
    """Returns the launch whose function has this name, None where there is none or it has the probe."""
    if "5Probe" in symbol:
        return None
    return next((launch for launch, function in LAUNCHES[kernel].items() if f"{len(function)}{function}I" in symbol), None)


def by_pipe(cubin_path, cuobjdump):
    """Maps each function to its instructions by pipe."""
    counts = {}
    for name, words in opcodes(cubin_path, cuobjdump):
        while words and words[-1] == "NOP":
            words.pop()
        pipes = dict.fromkeys([*PIPES, "other"], 0)
        for word in words:
            pipes[PIPE_OF.get(word, "other")] += 1
        UNKNOWN.update(set(words) - set(PIPE_OF))
        counts[name] = pipes
    return counts


def compile_one(nvcc, source, folder, architecture, options=()):
    out = pathlib.Path(folder) / (source.stem + "".join(options) + ".cubin")
    passed = [word for option in ("-v", *options) for word in ("-Xptxas", option)]
    run = subprocess.run([nvcc, *FLAGS, f"-gencode=arch=compute_{architecture[3:]},code={architecture}", *passed, f"-I{ROOT}", "-o", out, source], capture_output=True, text=True)
    if run.returncode != 0:
        raise Fail(f"{source.relative_to(ROOT)} does not compile:\n{run.stderr}")
    return out, run.stderr + run.stdout


def builds_of(kernel, nvcc, cuobjdump, folder):
    """Returns every build of the kernel's launches without the probe, sorted. Their cubins stay in `folder`."""
    sources = [s for s in sorted((ROOT / "kernels" / kernel).glob("*.cu")) if "_probed" not in s.stem]
    builds = []
    own = {dim: options for (id, dim), options in PTXAS.items() if id == kernel}
    for source, options in [(source, options) for source in sources for options in [(), *own.values()]]:
        cubin_path, log = compile_one(nvcc, source, folder, architecture_of(kernel), options)
        cubin = cubin_path.read_bytes()
        parts = dict(sections(cubin))
        used = resource_usage(log)
        pipes = by_pipe(cubin_path, cuobjdump) if cuobjdump else {}
        for symbol, figures in used.items():
            launch = launch_of(kernel, symbol)
            if launch is None:
                continue
            text = parts[".text." + symbol]
            words = executed(text)
            dim, causal = re.search(r"Li(\d+)E", symbol), re.search(r"Lb([01])E", symbol)
            if tuple(own.get(int(dim[1]) if dim else None, ())) != tuple(options):
                continue
            build = {"launch": launch, "dtype": "fp16" if "6__half" in symbol else "bf16"}
            if dim:
                build["head_dim"] = int(dim[1])
            if causal:
                build["causal"] = causal[1] == "1"
            build["threads"] = max_threads(parts[".nv.info." + symbol])
            build["registers"] = figures.pop("registers")
            build.update(after_setmaxnreg(words))
            build.update(figures)
            build["instructions"] = len(words)
            build["stall_cycles"] = sum(map(stall_of, words))
            if counts_setup(kernel):
                setup = before_first_load(words)
                build["setup_instructions"] = len(setup)
                build["setup_divisions"] = divisions(setup)
            if symbol in pipes:
                build["by_pipe"] = "{ " + ", ".join(f"{pipe} = {n}" for pipe, n in pipes[symbol].items()) + " }"
            build["code"] = hashlib.sha256(text).hexdigest()[:16]
            builds.append(build)
    return sorted(builds, key=lambda b: [str(b.get(k, "")).zfill(4) for k in ("launch", "dtype", "head_dim", "causal")])


def setup_rows(kernel, cuobjdump, folder):
    """Returns the tables [[reading]] with the instructions of a warp before its first load, of the launches in SETUPS, from the cubins
    in `folder`. Both ways around a division count, though a warp takes one."""
    found = {}
    for cubin in sorted(folder.glob("*.cubin")):
        for symbol, words in opcodes(cubin, cuobjdump):
            launch = launch_of(kernel, symbol)
            count = next((n for n, word in enumerate(words) if word in ("LDG", "LDGSTS")), None)
            if launch not in SETUPS[kernel] or count is None:
                continue
            dim = re.search(r"Li(\d+)E", symbol)
            key = (launch, int(dim[1]) if dim else 0)
            if found.setdefault(key, count) != count:
                raise Fail(f"builds of {kernel}, {launch}, load first after {found[key]} and {count} instructions: SETUPS may not name it")
    if set(SETUPS[kernel]) != {launch for launch, _ in found}:
        raise Fail(f"a launch of {kernel} in SETUPS has no build with a load")
    return [{"launch": launch, **({"head_dim": dim} if dim else {}), "setup_instructions": count}
            for (launch, dim), count in sorted(found.items())]


def as_toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or value.startswith("{"):
        return str(value)
    return f'"{value}"'


def kept_pipes(text):
    """Returns the counts by pipe that an earlier run wrote, keyed by the hash of the machine code."""
    kept = {}
    for part in text.split("[[build]]")[1:]:
        pipe, code = re.search(r"^by_pipe = (.*)$", part, re.M), re.search(r'^code = "(.*)"$', part, re.M)
        if pipe and code:
            kept[code[1]] = pipe[1]
    return kept


def counted_rows(kernel, nvcc, cuobjdump):
    """Returns what the loops of a kernel execute beside their arithmetic, and the script that counts it. None for other kernels.

    NVRTC compiles flex_backward for each request, so what stands in its default build is not what runs.
    """
    import gradient_counts
    import loop_counts
    import step_counts
    from rungs import RUNGS
    for counter, kernels in ((loop_counts, RUNGS), (gradient_counts, gradient_counts.SOURCES.keys() - {"flex_backward"}), (step_counts, {"flash1"})):
        if kernel in kernels:
            return counter.rows(kernel, nvcc, cuobjdump), f"kernels/lab/{counter.__name__}.py"
    return None


def counted_text(kernel, nvcc, cuobjdump, folder, before):
    """Returns the part with the tables that scripts count. Without cuobjdump it stays as it was. `folder` has the cubins of builds_of()."""
    if cuobjdump is None:
        kept = re.search(rf"^{re.escape(COUNTED)}.*?(?=^{re.escape(MARK)}|\Z)", before, re.M | re.S)
        return "\n" + kept[0].rstrip("\n") + "\n" if kept else ""
    text_of = lambda table, rows: "".join(
        f"\n[[{table}]]\n" + "".join(f"{name} = {as_toml(value)}\n" for name, value in row.items()) for row in rows)
    text = ""
    if kernel in SETUPS:
        text += f"\n{COUNTED} before the first load by kernels/lab/kernel_profile.py.\n" + text_of("reading", setup_rows(kernel, cuobjdump, folder))
    counted = counted_rows(kernel, nvcc, cuobjdump)
    if counted is not None and counted[0]:
        rows, script = counted
        text += f"\n{COUNTED} beside the arithmetic by {script}, fp16 without a mask.\n" + text_of(
            "counted", sorted(rows, key=lambda row: (row["at"], row["head_dim"])))
    return text


def profile_text(kernel, builds, compiler, before, counted):
    kept = kept_pipes(before)
    text = f"# What the compiler made of {kernel}, one [[build]] for each compiled function. Written by kernels/lab/kernel_profile.py.\n"
    text += "# Dynamic shared memory depends on the problem, and is in the kernel table. Stalls and instructions are of the code, not of a run"
    text += ";\n# setup_ those of a warp before its first load.\n" if counts_setup(kernel) else ".\n"
    text += f'compiler = "{compiler}"\narchitecture = "{architecture_of(kernel)}"\n'
    for build in builds:
        if "by_pipe" not in build and build["code"] in kept:
            code = build.pop("code")
            build["by_pipe"], build["code"] = kept[code], code
        text += "\n[[build]]\n" + "".join(f"{key} = {as_toml(value)}\n" for key, value in build.items())
    by_hand = before.find(MARK)
    return text + counted + ("\n" + before[by_hand:] if by_hand >= 0 else "")


def tools():
    """Returns nvcc, cuobjdump (None where there is none) and the name of the compiler."""
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(nvcc, os.X_OK):
        raise Fail("nvcc was not found: put it on PATH, or set NVCC")
    cuobjdump = shutil.which("cuobjdump") or shutil.which("cuobjdump", path=str(pathlib.Path(nvcc).parent))
    version = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    compiler = "nvcc " + re.search(r"V(\d+\.\d+\.\d+)", version)[1]
    return nvcc, cuobjdump, compiler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a file differs")
    parser.add_argument("ids", nargs="*", metavar="ID")
    arguments = parser.parse_args()
    unknown = [id for id in arguments.ids if id not in LAUNCHES]
    if unknown:
        raise Fail(f"there is no kernel {unknown[0]}: there are {', '.join(LAUNCHES)}")
    nvcc, cuobjdump, compiler = tools()
    differ = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        def one(kernel):
            own = pathlib.Path(folder) / kernel
            own.mkdir()
            path = ROOT / "kernels" / kernel / "profile.toml"
            before = path.read_text() if path.exists() else ""
            return builds_of(kernel, nvcc, cuobjdump, own), counted_text(kernel, nvcc, cuobjdump, own, before), before, path
        ids = arguments.ids or list(LAUNCHES)
        for kernel, (builds, counted, before, path) in zip(ids, pool.map(one, ids)):
            if not builds:
                raise Fail(f"{kernel} has no compiled function: is its row in LAUNCHES right?")
            text = profile_text(kernel, builds, compiler, before, counted)
            without = sum("by_pipe" not in build for build in builds)
            if without:
                print(f"{kernel}: {without} builds without instructions by pipe, since there is no cuobjdump here", file=sys.stderr)
            if text == before:
                continue
            differ.append(kernel)
            if arguments.check:
                print(f"kernels/{kernel}/profile.toml is not what {compiler} makes of the kernel: run kernels/lab/kernel_profile.py")
            else:
                path.write_text(text)
                print(f"kernels/{kernel}/profile.toml")
    if UNKNOWN:
        print(f"instructions of no known pipe: {', '.join(sorted(UNKNOWN))}", file=sys.stderr)
    return 1 if arguments.check and differ else 0


def run(main):
    """Runs a script's main(), and ends with its exit code. A Fail is one line on standard error."""
    try:
        sys.exit(main())
    except Fail as error:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {error}")


if __name__ == "__main__":
    import kernel_profile  # as the scripts know it that it imports in turn
    kernel_profile.run(kernel_profile.main)
