#!/usr/bin/env python3
"""Counts what a function of a score costs in hopper_flex: instructions a score, by pipe, from the machine code.

Usage: function_costs.py     needs nvcc and cuobjdump (on PATH, or beside nvcc)
A kernel with the function is compared with one without. Each score passes the function once, in either of two copies of the code. Code
beside the usual path counts too, for example the call for large arguments of a sine: the table has an upper bound there. `cosines of 4`
has the calls of four cosines a score in the kernel, and the function that they call apart.
"""
import pathlib
import shutil
import subprocess
import tempfile

from kernel_profile import FLAGS, PIPES, ROOT, by_pipe

SCORES = 64 * 2  # of a thread, in the first iteration and in the loop
# The operation of an expression, whether it takes the reciprocals of four scores, whether the softmax has its factor, and what
# sim/masks/kernel_source.h writes for it.
FUNCTIONS = {
    "multiply": (False, False, "raw * x.arguments.scale"),
    "exp": (False, False, "expf(raw)"),
    "exp2": (False, False, "exp2f(raw)"),
    "log": (False, False, "logf(raw)"),
    "tanh": (True, False, "1.0f - 2.0f * reciprocal"),
    "softcap": (True, True, "1.0f - 2.0f * reciprocal"),
    "sigmoid": (True, False, "reciprocal"),
    "sqrt": (False, False, "sqrtf(raw)"),
    "divide": (False, False, "raw / row.of_row"),
    "sin": (False, False, "expr_sin(raw)"),
    "cos": (False, False, "expr_cos(raw)"),
    "cosines of 4": (False, False, "sum_of(expr_cosines(raw, raw + 1.f, raw + 2.f, raw + 3.f))"),
    "sum of 4": (False, False, "sum_of({raw, raw + 1.f, raw + 2.f, raw + 3.f})"),
}
TEXT = """#include "kernels/flex/flex_default.cuh"
#include "kernels/hopper_flex/hopper_flex_kernel.cuh"
namespace tilescope::device {
__device__ __forceinline__ float sum_of(float4 x) { return x.x + x.y + x.z + x.w; }
struct Of : NoScore {
  static constexpr bool present = true, has_reciprocal = %s, has_factor = %s;
  struct Row { float of_row; };
  static __device__ __forceinline__ Row row(const FlexPlace& x, int q, int, const unsigned*, int) { return {x.arguments.scale + q}; }
  static __device__ __forceinline__ float exponent(const FlexPlace& x, const Row&, const Column&, float raw) { return raw * x.arguments.scale; }
  static __device__ __forceinline__ float factor(const FlexPlace& x) { return x.arguments.scale; }
  static __device__ __forceinline__ float value(const FlexPlace& x, const Row& row, const Column&, float raw, float reciprocal) { return %s; }
};
}
extern "C" __global__ void __launch_bounds__(384, 1) flex_kernel(const __grid_constant__ tilescope::device::HopperFlexArguments arguments) {
  tilescope::device::hopper_flex_attention<tilescope::device::HopperFlexShape<tilescope::device::half_type, 128, tilescope::device::Of,
                                                                              tilescope::device::NoMask, 1, false>>(arguments);
}
"""


# The function behind expr_cosines(), and the same without it.
FOUR = """#include "kernels/flex/flex_default.cuh"
extern "C" __global__ void four(float4* x) {
  const float4 a = x[threadIdx.x];
  x[threadIdx.x] = %s;
}
"""


def counts_of(nvcc, cuobjdump, folder, name, text):
    source, cubin = pathlib.Path(folder) / f"{name}.cu", pathlib.Path(folder) / f"{name}.cubin"
    source.write_text(text)
    subprocess.run([nvcc, *FLAGS, "-arch=sm_90a", f"-I{ROOT}", "-o", cubin, source], check=True, stderr=subprocess.DEVNULL)
    total = dict.fromkeys([*PIPES, "other"], 0)
    for pipes in by_pipe(cubin, cuobjdump).values():
        for pipe, count in pipes.items():
            total[pipe] += count
    return total


def print_row(name, more, plain, times):
    each = {pipe: (more[pipe] - plain[pipe]) / times for pipe in more}
    others = sum(each.values()) - each["fp32"] - each["alu"] - each["special"]
    print(f"{name:<14}{each['fp32']:>8.2f}{each['alu']:>8.2f}{each['special']:>9.2f}{others:>8.2f}")


def main():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    cuobjdump = shutil.which("cuobjdump", path=str(pathlib.Path(nvcc).parent))
    with tempfile.TemporaryDirectory() as folder:
        def counted(name, reciprocal, factor, value):
            return counts_of(nvcc, cuobjdump, folder, name.replace(" ", "_"), TEXT % (str(reciprocal).lower(), str(factor).lower(), value))

        plain = counted("plain", False, False, "raw")
        print("# kernels/lab/function_costs.py: instructions a score of a function in hopper_flex, d 128, sm_90a.")
        print(f"{'function':<14}{'fp32':>8}{'alu':>8}{'special':>9}{'others':>8}")
        for name, (reciprocal, factor, value) in FUNCTIONS.items():
            print_row(name, counted(name, reciprocal, factor, value), plain, SCORES)
        print("# What a call of expr_cosines() runs for small arguments, beside their comparison with the bound:")
        near = counts_of(nvcc, cuobjdump, folder, "near", FOUR % "float4{%s}" % ", ".join(f"tilescope::device::sine_near<1>(a.{i})" for i in "xyzw"))
        print_row("four cosines", near, counts_of(nvcc, cuobjdump, folder, "none", FOUR % "a"), 1)


main()
