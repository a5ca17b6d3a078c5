#!/usr/bin/env python3
"""Counts what a function of a score costs in hopper_flex: instructions a score, by pipe, from the machine code.

Usage: function_costs.py     needs nvcc and cuobjdump (on PATH, or beside nvcc)
A kernel with the function is compared with one without. Each score passes the function once, in either of two copies of the code. Code
beside the usual path, for example for large arguments of a sine, counts too: the table has an upper bound there.
"""
import pathlib
import shutil
import subprocess
import tempfile

from kernel_profile import FLAGS, PIPES, ROOT, by_pipe

SCORES = 64 * 2  # of a thread, in the first iteration and in the loop
# The operation of an expression, and what sim/masks/kernel_source.h writes for it.
FUNCTIONS = {
    "multiply": (False, "raw * x.arguments.scale"),
    "exp": (False, "expf(raw)"),
    "exp2": (False, "exp2f(raw)"),
    "log": (False, "logf(raw)"),
    "tanh": (True, "1.0f - 2.0f * reciprocal"),
    "sigmoid": (True, "reciprocal"),
    "sqrt": (False, "sqrtf(raw)"),
    "divide": (False, "raw / row.of_row"),
    "sin": (False, "expr_sin(raw)"),
    "cos": (False, "expr_cos(raw)"),
}
TEXT = """#include "kernels/flex/flex_default.cuh"
#include "kernels/hopper_flex/hopper_flex_kernel.cuh"
namespace tilescope::device {
struct Of : NoScore {
  static constexpr bool present = true, has_reciprocal = %s;
  struct Row { float of_row; };
  static __device__ __forceinline__ Row row(const FlexPlace& x, int q, int, const unsigned*, int) { return {x.arguments.scale + q}; }
  static __device__ __forceinline__ float exponent(const FlexPlace& x, const Row&, const Column&, float raw) { return raw * x.arguments.scale; }
  static __device__ __forceinline__ float value(const FlexPlace& x, const Row& row, const Column&, float raw, float reciprocal) { return %s; }
};
}
extern "C" __global__ void __launch_bounds__(384, 1) flex_kernel(const __grid_constant__ tilescope::device::HopperFlexArguments arguments) {
  tilescope::device::hopper_flex_attention<tilescope::device::HopperFlexShape<tilescope::device::half_type, 128, tilescope::device::Of,
                                                                              tilescope::device::NoMask, 1, false>>(arguments);
}
"""


def counts_of(nvcc, cuobjdump, folder, name, reciprocal, value):
    source, cubin = pathlib.Path(folder) / f"{name}.cu", pathlib.Path(folder) / f"{name}.cubin"
    source.write_text(TEXT % (str(reciprocal).lower(), value))
    subprocess.run([nvcc, *FLAGS, "-arch=sm_90a", f"-I{ROOT}", "-o", cubin, source], check=True, stderr=subprocess.DEVNULL)
    total = dict.fromkeys([*PIPES, "other"], 0)
    for pipes in by_pipe(cubin, cuobjdump).values():
        for pipe, count in pipes.items():
            total[pipe] += count
    return total


def main():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    cuobjdump = shutil.which("cuobjdump", path=str(pathlib.Path(nvcc).parent))
    with tempfile.TemporaryDirectory() as folder:
        plain = counts_of(nvcc, cuobjdump, folder, "plain", False, "raw")
        print("# kernels/lab/function_costs.py: instructions a score of a function in hopper_flex, d 128, sm_90a.")
        print(f"{'function':<10}{'fp32':>8}{'alu':>8}{'special':>9}{'others':>8}")
        for name, (reciprocal, value) in FUNCTIONS.items():
            more = counts_of(nvcc, cuobjdump, folder, name, reciprocal, value)
            each = {pipe: (more[pipe] - plain[pipe]) / SCORES for pipe in more}
            others = sum(each.values()) - each["fp32"] - each["alu"] - each["special"]
            print(f"{name:<10}{each['fp32']:>8.2f}{each['alu']:>8.2f}{each['special']:>9.2f}{others:>8.2f}")


main()
