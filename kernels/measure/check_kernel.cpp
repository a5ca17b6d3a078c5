// Compares a kernel's outputs with the float64 reference.
#include "kernels/measure/check_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/measure/device_problem.h"
#include "kernels/measure/element.h"

namespace tilescope {

namespace {

bool is_statistic(Tensor tensor) {
  return tensor == Tensor::lse || tensor == Tensor::m || tensor == Tensor::l;
}

/// Elements that the kernel is not asked to write: tiles of S and P that no query of the tile's rows sees.
bool is_skipped(const KernelInfo& kernel, const AttentionProblem& p, Tensor tensor, std::int64_t i) {
  if ((tensor != Tensor::s && tensor != Tensor::p) || !p.causal || kernel.is_library) return false;
  const TileShape tile = kernel.tile(p);
  const std::int64_t row = i / p.seq_kv % p.seq_q, column = i % p.seq_kv;
  const std::int64_t last = std::min((row / tile.block_q + 1) * tile.block_q, p.seq_q) - 1;
  return column / tile.block_kv * tile.block_kv >= p.visible_keys(last);
}

/// Whether S at `i` is masked away: it must be -inf there where the kernel masks, and may be anything where P does it.
bool is_masked(const AttentionProblem& p, Tensor tensor, std::int64_t i) {
  return tensor == Tensor::s && p.causal && i % p.seq_kv >= p.visible_keys(i / p.seq_kv % p.seq_q);
}

const std::vector<double>& expected_of(const HostReference& r, Tensor tensor) {
  switch (tensor) {
    case Tensor::s:
      return r.s;
    case Tensor::p:
      return r.p;
    case Tensor::lse:
      return r.lse;
    case Tensor::m:
      return r.m;
    case Tensor::l:
      return r.l;
    default:
      return r.o;
  }
}

double bound_of(const AttentionProblem& p, Tensor tensor) {
  if (tensor == Tensor::l) return 2e-3;  // a sum of up to seq_kv terms near 1, taken relative to itself below
  if (is_statistic(tensor)) return 1e-4;
  return p.dtype == DataType::fp16 ? 2e-3 : 1.6e-2;
}

Result<std::vector<double>> got_of(const DeviceMemory& memory, DataType type, Tensor tensor) {
  std::vector<double> values;
  if (is_statistic(tensor)) {
    std::vector<float> raw(static_cast<std::size_t>(memory.bytes() / 4));
    if (Status read = memory.read(raw.data(), memory.bytes()); !read) return read.error();
    values.assign(raw.begin(), raw.end());
  } else {
    std::vector<std::uint16_t> raw(static_cast<std::size_t>(memory.bytes() / 2));
    if (Status read = memory.read(raw.data(), memory.bytes()); !read) return read.error();
    for (std::uint16_t bits : raw) values.push_back(static_cast<double>(from_bits(type, bits)));
  }
  return values;
}

TensorError compare(const KernelInfo& kernel, const AttentionProblem& p, Tensor tensor, const std::vector<double>& got,
                    const std::vector<double>& expected) {
  TensorError error{tensor, 0, bound_of(p, tensor), 0};
  double difference = 0, norm = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (is_skipped(kernel, p, tensor, at)) continue;
    if (is_masked(p, tensor, at)) {
      error.unwritten += !kernel.is_library && got[i] != -std::numeric_limits<double>::infinity();
      continue;
    }
    if (std::isnan(got[i]) || std::isinf(got[i]) != std::isinf(expected[i])) {
      ++error.unwritten;
      continue;
    }
    if (std::isinf(expected[i])) continue;
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
    const double scale = tensor == Tensor::l ? std::max(expected[i], 1.0) : 1.0;
    largest = std::max(largest, std::fabs(got[i] - expected[i]) / scale);
  }
  error.relative = is_statistic(tensor) ? largest : norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
  return error;
}

}  // namespace

Result<KernelCheck> check_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed) {
  const bool from_scores = kernel.inputs.front() == Tensor::s;
  const WithScores with_scores = from_scores ? WithScores::yes : WithScores::no;
  const HostInputs inputs = random_inputs(problem, seed, with_scores);
  Result<DeviceProblem> made = DeviceProblem::make(kernel, problem, inputs);
  if (!made) return made.error();
  if (Status launched = launch(kernel, problem, made->tensors(), nullptr); !launched) return launched.error();
  if (Status done = wait_for(nullptr); !done) return done.error();

  const HostReference expected = reference(problem, inputs, with_scores);
  KernelCheck result;
  for (Tensor tensor : kernel.outputs) {
    Result<std::vector<double>> got = got_of(made->memory(tensor), problem.dtype, tensor);
    if (!got) return got.error();
    const TensorError error = compare(kernel, problem, tensor, *got, expected_of(expected, tensor));
    result.errors.push_back(error);
    if (error.unwritten == 0 && error.relative <= error.bound) continue;
    result.holds = false;
    result.sentence = fmt::format("kernel {}: {} is off by {:.3g} (bound {:.3g}), {} elements are not finite as they should be",
                                  kernel.id, to_string(tensor), error.relative, error.bound, error.unwritten);
  }
  return result;
}

}  // namespace tilescope
