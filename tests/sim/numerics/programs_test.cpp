// Every program of the table against the float64 reference: all types, ragged shapes, grouped heads, masks, rows that see nothing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include "sim/numerics/program_reference.h"
#include "sim/numerics/program_reference_gradients.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/rounds.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

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

/// The promised bound on ‖made − reference‖ / ‖reference‖ (Frobenius), over all planes of a tensor.
double allowed(DataType type) {
  return type == DataType::fp32 ? 1e-5 : type == DataType::fp16 ? 2e-3 : 1.6e-2;
}

/// Returns the type of a program's tensors that rounds most.
DataType coarsest_type(const TileProgram& program) {
  const DataType own = program.problem().dtype;
  const auto tensors = program.tensors();
  return std::accumulate(tensors.begin(), tensors.end(), own, [&](DataType coarsest, Tensor tensor) {
    const DataType type = type_of(tensor, own);
    return allowed(type) > allowed(coarsest) ? type : coarsest;
  });
}

/// Sums of a few terms may cancel to next to nothing, and no rounding is small beside that: a tensor of fewer numbers than this is
/// compared together with those of further seeds.
constexpr int least_compared = 64;

/// Returns how many numbers of a plane do not cancel together. Rows count once, since they are sums of the same V. Of one number
/// a row, such as L or D, each counts, but no more of them than V has columns.
int independent_numbers(const Matrix& plane, std::int64_t head_dim) {
  return plane.cols > 1 ? plane.cols : std::min(plane.rows, static_cast<int>(head_dim));
}

void append(Matrix& all, const Matrix& more) {
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
  all.rows += more.rows;
  all.cols = more.cols;
}

/// Masked entries of score matrices, which no block need store, are not compared.
void drop_masked(const AttentionProblem& problem, Matrix& plane) {
  for (int r = 0; r < plane.rows; ++r)
    for (auto c = static_cast<int>(problem.visible_keys(r)); c < plane.cols; ++c) plane.at(r, c) = 0;
}

/// Planes of the float64 reference of one problem, each made once for all programs that have the same inputs.
class References {
 public:
  const Matrix& plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor) {
    bool of_scores = false, of_values = false;
    for (const Tensor input : program.inputs()) {
      of_scores = of_scores || input.means(Meaning::score);
      of_values = of_values || input.means(Meaning::value);
    }
    const Key key = {inputs.seed, of_scores, of_values, plane, tensor->meaning, tensor->gradient, tensor->type, tensor->table};
    const auto [at, is_new] = planes_.try_emplace(key);
    if (is_new)
      at->second =
          is_gradient(tensor) ? gradients(program, inputs).plane(plane, tensor) : reference_plane(program, inputs, plane, tensor);
    return at->second;
  }

 private:
  static bool is_gradient(Tensor tensor) { return tensor->gradient || tensor->meaning == Meaning::row_dot; }
  ReferenceGradientPlanes& gradients(const TileProgram& program, const InputSource& inputs) {
    return gradients_.try_emplace(inputs.seed, program.problem(), inputs).first->second;
  }

  /// Seed, given S, has V, plane; then what tells tensors of different programs apart, whose indices may be equal.
  using Key = std::tuple<std::uint64_t, bool, bool, std::int64_t, Meaning, bool, std::optional<DataType>, std::int8_t>;
  std::map<Key, Matrix> planes_;
  std::map<std::uint64_t, ReferenceGradientPlanes> gradients_;
};

/// Runs of one program, one a seed; each is made once for all tensors that are compared.
class Runs {
 public:
  Runs(const TileProgram& program, std::uint64_t first_seed, References& references)
      : program_(program), first_seed_(first_seed), references_(references) {}

  /// The error of a whole tensor.
  double error_of(Tensor tensor) {
    Matrix made, reference;
    InputSource inputs;
    int independent = 0;
    for (inputs.seed = first_seed_; independent < least_compared; ++inputs.seed) {
      const FinishedRun& run = of(inputs);
      for (std::int64_t plane = 0; plane < tensor_layout(program_.problem(), program_.tile(), tensor).planes; ++plane) {
        Matrix values = run.plane(plane, tensor), exact = references_.plane(program_, inputs, plane, tensor);
        if (tensor->cols == Axis::key && program_.problem().has_mask())
          drop_masked(program_.problem(), values), drop_masked(program_.problem(), exact);
        append(made, values);
        append(reference, exact);
        independent += independent_numbers(exact, program_.problem().head_dim);
      }
    }
    return relative_error(made, reference);
  }

 private:
  const FinishedRun& of(const InputSource& inputs) {
    auto& run = runs_[inputs.seed];
    if (!run) {
      auto made = run_whole(program_, inputs);
      REQUIRE_MESSAGE(made, (made ? "" : made.error().sentence));
      run.emplace(*made);
    }
    return *run;
  }

  const TileProgram& program_;
  std::uint64_t first_seed_;
  References& references_;
  std::map<std::uint64_t, std::optional<FinishedRun>> runs_;
};

void agrees_with_reference(const ProgramInfo& info, const Shape& shape, std::uint64_t seed, References& references) {
  CAPTURE(describe(info.id, shape, seed));
  // One key has the weight 1 whatever its score is, so dQ and dK are 0 and have no relative error: backward_test.cpp has that case.
  if (info.family == "backward" && shape.problem.seq_kv == 1) return;
  auto program = info.make(shape.problem, shape.tile, toy_gpu());
  if (!program && shape.problem.causal && info.family != "attention") return;  // refused: it has no mask
  REQUIRE_MESSAGE(program, (program ? "" : program.error().sentence));
  Runs runs(**program, seed, references);
  for (Tensor tensor : (*program)->outputs()) {
    if (info.is_part != nullptr && info.is_part(tensor)) continue;
    CAPTURE(to_string(tensor));
    // dS = P(dP - D) is the difference of numbers several times larger, and so are their roundings.
    const double cancels = info.family == "backward" ? 3 : 1;
    CHECK(runs.error_of(tensor) <= cancels * allowed(coarsest_type(**program)));
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
  // flash1 rounds O in every inner step, which more key tiles would carry beyond the bound in time: the last test here.
  constexpr std::int64_t most_key_tiles = 32;
  shape.tile = {pick(1, 24), std::max(pick(1, 24), ceil_div(p.seq_kv, most_key_tiles))};
  return shape;
}

}  // namespace

TEST_CASE("numerics: every program agrees with the float64 reference, in every type, masked and not" *
          doctest::test_suite("every program")) {
  for (DataType type : {DataType::fp32, DataType::fp16, DataType::bf16})
    for (bool causal : {false, true}) {
      if (under_sanitizers && type != DataType::fp16) continue;  // each type takes the same way through the code
      Shape shape;
      shape.problem = {
          .batch = 1, .heads = 4, .kv_heads = 2, .seq_q = 100, .seq_kv = 84, .head_dim = 32, .dtype = type, .causal = causal};
      shape.tile = {16, 16};
      References references;  // causal: the first 16 queries see no key at all
      for (const ProgramInfo& info : tested_programs()) agrees_with_reference(info, shape, 7, references);
    }
}

TEST_CASE("numerics: every program agrees with the float64 reference on random shapes" * doctest::test_suite("every program")) {
  std::random_device device;
  const std::uint64_t seed = device();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < rounds(80); ++i) {
    const Shape shape = random_shape(random);
    References references;
    for (const ProgramInfo& info : tested_programs())
      agrees_with_reference(info, shape, seed + static_cast<std::uint64_t>(i), references);
  }
}

TEST_CASE("numerics: flash1 in half precision loses 0.3 roundings times the root of its key tiles, and the others lose none") {
  const auto error = [](std::string_view id, DataType type, std::int64_t key_tiles) {
    const AttentionProblem problem = {.seq_q = 16, .seq_kv = 8 * key_tiles, .head_dim = 32, .dtype = type};
    const auto program = (*find_program(id))->make(problem, {16, 8}, toy_gpu());
    REQUIRE(program);
    References references;
    return Runs(**program, 7, references).error_of(tensors::o);
  };
  for (DataType type : {DataType::fp16, DataType::bf16}) {
    const double rounding = type == DataType::fp16 ? 0x1p-11 : 0x1p-8;  // half the distance between neighbours around 1
    CAPTURE(to_string(type));
    for (std::int64_t key_tiles : {32, 128, 512}) {
      CAPTURE(key_tiles);
      const double expected = 0.3 * rounding * std::sqrt(static_cast<double>(key_tiles));
      CHECK(error("flash1", type, key_tiles) == doctest::Approx(expected).epsilon(0.25));
    }
    CHECK(error("flash1", type, 128) <= allowed(type));
    for (std::string_view id : {"standard", "flash2"}) CHECK(error(id, type, 512) <= allowed(type) / 2);
  }
  CHECK(error("flash1", DataType::fp32, 512) <= allowed(DataType::fp32));
}

TEST_CASE("numerics: a launch or a block that a program does not have is refused with how many it has") {
  AttentionProblem problem = {.heads = 2, .kv_heads = 2, .seq_q = 20, .seq_kv = 24, .head_dim = 8};
  for (const std::string_view id : {"standard", "flash2"}) {
    CAPTURE(id);
    const auto program = (*find_program(id))->make(problem, {8, 8}, toy_gpu());
    REQUIRE(program);
    const auto launches = static_cast<int>((*program)->launches().size());
    for (int launch = -2; launch <= launches + 1; ++launch) {
      CAPTURE(launch);
      const bool is_launch = launch >= 0 && launch < launches;
      const std::int64_t blocks = is_launch ? (*program)->launches()[static_cast<std::size_t>(launch)].blocks() : 1;
      for (const std::int64_t block : {std::int64_t{-1}, std::int64_t{0}, blocks - 1, blocks}) {
        CAPTURE(block);
        const auto made = run_block(**program, {}, launch, block);
        REQUIRE(static_cast<bool>(made) == (is_launch && block >= 0 && block < blocks));
        if (made) continue;
        CHECK(made.error().sentence.text() ==
              (is_launch ? fmt::format("there is no block {}: launch {} has 0 to {}", block, launch, blocks - 1)
                         : fmt::format("there is no launch {}: the program has 0 to {}", launch, launches - 1)));
      }
    }
  }
}
