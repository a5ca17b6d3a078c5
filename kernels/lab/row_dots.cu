// Measures the first launch of the backward kernels, D = rowsum(dO * O), with loads that wait for each other and with all rows
// asked for at once. Built beside the programs of kernels/build_gpu_check.sh:
//
//   nvcc -std=c++20 -O3 -I. -gencode arch=compute_90,code=sm_90 -c kernels/lab/row_dots.cu, then linked with their objects
//   ./row_dots [REPEATS]
//
// The shipped launch asks for a step of rows, adds up, and asks for the next: 4 steps at d 64 and 8 at d 128. `at once` asks for
// all steps first; `zeros between` stores the zeros of dQ_acc while they are on their way. Prints for each problem the median time
// of the launch alone and of the whole backward pass, from a flushed L2, the variants in turn. D must have the same bits.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/common/gradient_rows.cuh"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"
#include "sim/core/refuse.h"
#include "sim/programs/backward_tensors.h"

using namespace tilescope;

namespace {

namespace device = tilescope::device;

enum class Rows { shipped, at_once, zeros_between };
constexpr Rows all_rows[] = {Rows::shipped, Rows::at_once, Rows::zeros_between};
constexpr std::string_view names[] = {"shipped", "at once", "zeros between"};

template <class T, int d, int br, int zeroed, Rows order>
__global__ __launch_bounds__(device::row_threads) void rows_kernel(const device::GradientArguments arguments) {
  constexpr int threads = device::row_threads, row_chunks = d / 8, rows_a_step = threads / row_chunks, steps = br / rows_a_step;
  __shared__ float dots[br];
  const int thread = threadIdx.x, first_row = blockIdx.x * br, rows = min(br, arguments.seq_q - first_row);
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.z) * arguments.heads + blockIdx.y) * arguments.seq_q + first_row;
  const uint4* const o = static_cast<const uint4*>(arguments.o) + row * row_chunks;
  const uint4* const d_o = static_cast<const uint4*>(arguments.d_o) + row * row_chunks;
  uint4 x[steps], y[steps];
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    x[step] = y[step] = make_uint4(0, 0, 0, 0);
    if (step * rows_a_step + thread / row_chunks < rows) {
      x[step] = __ldcg(o + step * threads + thread);
      y[step] = __ldcg(d_o + step * threads + thread);
    }
  }
  const auto zero = [&] {
    if constexpr (zeroed != 0) {
      const std::int64_t all = static_cast<std::int64_t>(gridDim.z) * arguments.heads * arguments.seq_q;
      for (int copy = 0; copy < arguments.copies; ++copy) {
        uint4* const sums = reinterpret_cast<uint4*>(arguments.dq_acc) + (copy * all + row) * (d / 4);
        for (int i = thread; i < rows * (d / 4); i += threads) sums[i] = make_uint4(0, 0, 0, 0);
      }
    }
  };
  if constexpr (order == Rows::zeros_between) zero();
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const T* const a = reinterpret_cast<const T*>(&x[step]);
    const T* const b = reinterpret_cast<const T*>(&y[step]);
    float dot = 0.f;
#pragma unroll
    for (int i = 0; i < 8; ++i) dot += device::to_float(a[i]) * device::to_float(b[i]);
#pragma unroll
    for (int other = row_chunks / 2; other > 0; other /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, other);
    if (thread % row_chunks == 0) dots[step * rows_a_step + thread / row_chunks] = dot;
  }
  if constexpr (order == Rows::at_once) zero();
  __syncthreads();
  float* const delta = arguments.delta + row;
  device::for_block_by_sector<threads>(delta, rows, thread, [&](int i) { delta[i] = dots[i]; });
}

template <int d, int br, int zeroed>
const void* function_of(Rows order) {
  using T = device::half_type;
  return order == Rows::at_once ? reinterpret_cast<const void*>(&rows_kernel<T, d, br, zeroed, Rows::at_once>)
                                : reinterpret_cast<const void*>(&rows_kernel<T, d, br, zeroed, Rows::zeros_between>);
}
template <int d, int br>
const void* function_of(Rows order, bool zeroes) {
  return zeroes ? function_of<d, br, 1>(order) : function_of<d, br, 0>(order);
}
const void* function_of(Rows order, std::int64_t d, std::int64_t br, bool zeroes) {
  if (d == 128) return function_of<128, 64>(order, zeroes);
  return br == 64 ? function_of<64, 64>(order, zeroes) : function_of<64, 128>(order, zeroes);  // flash3_backward: 128
}

/// Returns the kernel's launches with another first one.
LaunchPlan plan_of(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors, Rows order) {
  LaunchPlan plan = kernel.plan(problem, tensors);
  if (order != Rows::shipped)
    plan[0].function = function_of(order, problem.head_dim, kernel.tile(problem).block_q, !kernel.scratch.empty());
  return plan;
}

Result<std::vector<unsigned char>> bits_of(const DeviceMemory& memory) {
  std::vector<unsigned char> bits(static_cast<std::size_t>(memory.bytes()));
  if (const Status read = memory.read(bits.data(), memory.bytes()); !read) return read.error();
  return bits;
}

/// Checks that the launch leaves the bits of the shipped one in D, and in dQ_acc.
Status check_bits(const KernelInfo& kernel, const AttentionProblem& problem, DeviceProblem& on_device) {
  std::vector<std::vector<unsigned char>> shipped;
  for (const Rows order : all_rows) {
    if (Status cleared = on_device.poison(); !cleared) return cleared;
    const LaunchPlan plan = plan_of(kernel, problem, on_device.tensors(), order);
    if (Status ran = launch(plan[0], nullptr); !ran) return ran;
    if (Status done = wait_for(nullptr); !done) return done;
    std::vector<std::vector<unsigned char>> left;
    for (const Tensor tensor : {Tensor(tensors::row_dot), Tensor(tensors::d_q_acc)}) {
      if (tensor == tensors::d_q_acc && kernel.scratch.empty()) continue;
      Result<std::vector<unsigned char>> bits = bits_of(on_device.memory(tensor));
      if (!bits) return bits.error();
      left.push_back(std::move(*bits));
    }
    if (order == Rows::shipped) shipped = left;
    if (left != shipped) return Error{fmt::format("{}: other bits than the shipped launch", names[static_cast<int>(order)])};
  }
  return Done{};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Status print_problem(std::string_view id, const AttentionProblem& problem, const DeviceMemory& scratch, int repeats) {
  const Result<const KernelInfo*> kernel = find_kernel(id);
  if (!kernel) return kernel.error();
  Result<DeviceProblem> on_device = DeviceProblem::make_seeded(**kernel, problem, 1);
  if (!on_device) return on_device.error();
  if (Status same = check_bits(**kernel, problem, *on_device); !same) return same;
  Result<Stopwatch> watch = Stopwatch::make();
  if (!watch) return watch.error();
  constexpr int warm_ups = 3;
  std::vector<double> alone[std::size(all_rows)], whole[std::size(all_rows)];
  for (int i = 0; i < warm_ups + repeats; ++i)
    for (std::size_t turn = 0; turn < std::size(all_rows); ++turn) {
      const std::size_t n = (turn + static_cast<std::size_t>(i)) % std::size(all_rows);  // nobody is always after the same one
      const LaunchPlan plan = plan_of(**kernel, problem, on_device->tensors(), all_rows[n]);
      for (const std::size_t launches : {std::size_t{1}, plan.size()}) {
        if (Status flushed = launch(plan_flush(scratch), nullptr); !flushed) return flushed;
        if (Status started = watch->start(nullptr); !started) return started;
        for (std::size_t l = 0; l < launches; ++l)
          if (Status ran = launch(plan[l], nullptr); !ran) return ran;
        if (Status ended = watch->end(nullptr); !ended) return ended;
        const Result<double> ms = watch->elapsed();
        if (!ms) return ms.error();
        if (i >= warm_ups) (launches == 1 ? alone : whole)[n].push_back(*ms * 1e3);
      }
    }
  fmt::print("{:30} B{} H{:<3} N{:<6} d{:<4}", id, problem.batch, problem.heads, problem.seq_q, problem.head_dim);
  for (std::size_t n = 0; n < std::size(all_rows); ++n) {
    const double own = median(alone[n]), all = median(whole[n]);
    fmt::print("  {}: {:6.2f} us, whole {:8.2f} us", names[n], own, all);
    if (n > 0) fmt::print(" ({:+.2f} us, {:+.2f} %)", all - median(whole[0]), 100 * (all / median(whole[0]) - 1));
  }
  fmt::print("\n");
  std::fflush(stdout);
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 41;
  const Result<DeviceInfo> found = find_device();
  if (!found) {
    fmt::print("skipped: {}\n", found.error().sentence.text());
    return 77;
  }
  const Result<DeviceMemory> scratch = flush_scratch(*found);
  if (!scratch) return fmt::print("{}\n", scratch.error().sentence.text()), 1;
  struct Shape {
    std::int64_t batch, heads, rows, d;
  };
  constexpr Shape shapes[] = {{1, 8, 512, 128},  {1, 32, 1024, 64},  {1, 16, 1024, 128}, {4, 16, 2048, 64},
                              {1, 16, 4096, 64}, {1, 16, 4096, 128}, {2, 32, 2048, 128}, {1, 16, 8192, 128}};
  int failed = 0;
  for (const std::string_view id :
       {"flash2_backward", "flash2_backward_two_pass", "flash2_backward_deterministic", "flash3_backward"})
    for (const Shape& shape : shapes) {
      AttentionProblem problem;
      problem.batch = shape.batch;
      problem.heads = problem.kv_heads = shape.heads;
      problem.seq_q = problem.seq_kv = shape.rows;
      problem.head_dim = shape.d;
      problem.dtype = DataType::fp16;
      problem.pass = Pass::backward;
      if (const Status done = print_problem(id, problem, *scratch, repeats); !done)
        ++failed, fmt::print("{}: {}\n", id, done.error().sentence.text());
    }
  return failed == 0 ? 0 : 1;
}
