// Every program of the table against the float64 reference: all types, ragged shapes, grouped heads, masks, rows that see nothing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>

#include "sim/numerics/tile_machine.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

struct Shape {
  AttentionProblem problem;
  TileShape tile;
};

std::string describe(std::string_view id, const Shape& shape, std::uint64_t seed) {
  const AttentionProblem& p = shape.problem;
  return fmt::format("{} {} B {} H {}/{} N {}x{} d {}{} tile {}x{} seed {}", id, to_string(p.dtype), p.batch, p.heads, p.kv_heads,
                     p.seq_q, p.seq_kv, p.head_dim, p.causal ? " causal" : "", shape.tile.block_q, shape.tile.block_kv, seed);
}

/// The promised bound. It is a mean over the elements of O: where a plane has only a few, one score that is rounded on its way
/// through HBM can move all of them, and four times as much is let pass.
double allowed(const AttentionProblem& problem) {
  if (problem.dtype == DataType::fp32) return 1e-5;
  const bool few = problem.seq_q * problem.head_dim < 64;
  return (problem.dtype == DataType::fp16 ? 2e-3 : 1.6e-2) * (few ? 4 : 1);
}

double norm(const Matrix& m) {
  double sum = 0;
  for (float value : m.values) sum += std::isfinite(value) ? static_cast<double>(value) * value : 0;
  return std::sqrt(sum);
}

/// Where sums of a few terms happen to cancel, the error is held against what they would be without that, not against nearly
/// nothing.
double typical_norm(const AttentionProblem& problem, Tensor tensor, std::size_t count) {
  const auto elements = static_cast<double>(count);
  switch (tensor) {
    case Tensor::o:
      return std::sqrt(elements / static_cast<double>(problem.seq_kv));
    case Tensor::s:
    case Tensor::lse:
      return 0.1 * std::sqrt(elements);
    default:
      return 0;
  }
}

/// The largest error over all planes of one tensor. Masked entries of S that no block stores are not compared.
double worst_error(const TileProgram& program, const InputSource& inputs, Tensor tensor) {
  double worst = 0;
  for (std::int64_t plane = 0; plane < program.problem().query_planes(); ++plane) {
    const auto made = run_plane(program, inputs, plane, tensor);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().sentence));
    Matrix values = *made, reference = reference_plane(program, inputs, plane, tensor);
    if (tensor == Tensor::s)
      for (std::size_t i = 0; i < values.values.size(); ++i)
        if (std::isinf(reference.values[i])) values.values[i] = reference.values[i] = 0;
    const double size = norm(reference), typical = typical_norm(program.problem(), tensor, reference.values.size());
    const double error = relative_error(values, reference) * (size < typical ? size / typical : 1);
    worst = error <= worst ? worst : error;  // keeps a NaN
  }
  return worst;
}

void agrees_with_reference(const ProgramInfo& info, const Shape& shape, std::uint64_t seed) {
  CAPTURE(describe(info.id, shape, seed));
  auto program = info.make(shape.problem, shape.tile, toy_gpu());
  if (!program && shape.problem.causal && info.family != "attention") return;  // refused: it has no mask
  REQUIRE_MESSAGE(program, (program ? "" : program.error().sentence));
  InputSource inputs;
  inputs.seed = seed;
  for (Tensor tensor : (*program)->outputs()) {
    if (tensor == Tensor::m || tensor == Tensor::l) continue;
    CAPTURE(to_string(tensor));
    CHECK(worst_error(**program, inputs, tensor) <= allowed(shape.problem));
  }
}

Shape random_shape(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Shape shape;
  AttentionProblem& p = shape.problem;
  p.batch = pick(1, 2);
  p.kv_heads = pick(1, 2);
  p.heads = p.kv_heads * pick(1, 3);
  p.seq_q = pick(1, 4) == 1 ? 1 : pick(1, 70);
  p.seq_kv = pick(1, 4) == 1 ? 1 : pick(1, 90);
  p.head_dim = pick(1, 5) == 1 ? 1 : pick(1, 40);
  p.dtype = static_cast<DataType>(pick(0, 2));
  p.causal = pick(0, 1) == 1;
  shape.tile = {pick(1, 24), pick(1, 24)};
  return shape;
}

}  // namespace

TEST_CASE("numerics: every program agrees with the float64 reference, in every type, masked and not") {
  for (const ProgramInfo& info : program_table())
    for (DataType type : {DataType::fp32, DataType::fp16, DataType::bf16})
      for (bool causal : {false, true}) {
        Shape shape;
        shape.problem = {
            .batch = 1, .heads = 4, .kv_heads = 2, .seq_q = 100, .seq_kv = 84, .head_dim = 32, .dtype = type, .causal = causal};
        shape.tile = {16, 16};
        agrees_with_reference(info, shape, 7);  // causal: the first 16 queries see no key at all
      }
}

TEST_CASE("numerics: every program agrees with the float64 reference on random shapes") {
  std::random_device device;
  const std::uint64_t seed = device();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    const Shape shape = random_shape(random);
    for (const ProgramInfo& info : program_table()) agrees_with_reference(info, shape, seed + static_cast<std::uint64_t>(i));
  }
}
