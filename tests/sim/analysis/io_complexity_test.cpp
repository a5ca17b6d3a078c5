// Access counts: figures worked by hand, the closed forms of the programs, and what the constants and bounds promise.
#include <doctest/doctest.h>

#include <random>

#include "sim/analysis/io_complexity.h"
#include "sim/core/mask.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

AttentionProblem square(std::int64_t n, std::int64_t d) {
  return {.seq_q = n, .seq_kv = n, .head_dim = d};
}

double term_elements(const AccessCount& count, Tensor tensor, bool store) {
  double sum = 0;
  for (const AccessTerm& term : count.terms) sum += term.tensor == tensor && term.store == store ? term.elements : 0;
  return sum;
}

}  // namespace

TEST_CASE("io: the paper's tile is Bc = ceil(M/4d), Br = min(Bc, d)") {
  CHECK(paper_tile(square(1024, 64), 32768) == TileShape{64, 128});
  CHECK(paper_tile(square(1024, 64), 12288) == TileShape{48, 48});
  CHECK(paper_tile(square(1024, 64), 12289) == TileShape{49, 49});
  CHECK(paper_tile(square(100, 64), 1e9) == TileShape{64, 100});
  CHECK(paper_tile(square(100, 64), 1) == TileShape{1, 1});
}

TEST_CASE("io: flash1 moves (2 + 3 ceil(N/Bc)) N d elements, and its statistics and the zeroing on top") {
  const AccessCount count = count_accesses("flash1", square(1024, 64), {64, 128}, 32768);
  const double matrices = (2 + 3 * 8) * 1024.0 * 64;  // 1 703 936
  const double zeroing = 1024 * 64, statistics = 2 * (1024 + 2 * 8 * 1024.0);
  CHECK(count.elements == matrices + zeroing + statistics);
  CHECK(count.bytes == 2 * (matrices + zeroing) + 4 * statistics);
  CHECK(count.leading_constant == 12);
  CHECK(count.order == "Θ(N²d²/M)");
  CHECK(term_elements(count, tensors::o, false) == 8 * 1024 * 64);
  CHECK(term_elements(count, tensors::o, true) == 9 * 1024 * 64);
}

TEST_CASE("io: standard writes and reads S and P once each, flash2 reads K and V once for each query tile") {
  const AccessCount standard = count_accesses("standard", square(1024, 64), {128, 128}, 32768);
  CHECK(standard.elements == 4 * 1024.0 * 1024 + (8 + 8 + 8 + 1) * 1024 * 64);
  CHECK(standard.leading_constant == 4 + 0.5 + 1);
  CHECK(standard.intensity == doctest::Approx(4.0 * 1024 * 1024 * 64 / (2 * standard.elements)));
  const AccessCount flash2 = count_accesses("flash2", square(1024, 64), {128, 128}, 32768);
  CHECK(flash2.elements == (1 + 8 + 8 + 1) * 1024.0 * 64 + 1024);
  CHECK(flash2.leading_constant == 8);
}

TEST_CASE("io: the leading term with its constant is the count, once N is large") {
  const double m = 32768, n = 1 << 20, d = 64;
  const AttentionProblem problem = square(1 << 20, 64);
  const TileShape tile = paper_tile(problem, m);
  const AccessCount flash1 = count_accesses("flash1", problem, tile, m), flash2 = count_accesses("flash2", problem, tile, m),
                    standard = count_accesses("standard", problem, tile, m);
  const double flash_order = n * n * d * d / m;
  // The statistics of flash1 are 4 of 3 d + 4 elements of a row.
  CHECK(flash1.elements / (flash1.leading_constant * flash_order) == doctest::Approx(1 + 4.0 / (3 * d)).epsilon(1e-3));
  CHECK(flash2.elements / (flash2.leading_constant * flash_order) == doctest::Approx(1).epsilon(1e-3));
  CHECK(standard.elements / (standard.leading_constant * n * n) == doctest::Approx(1).epsilon(1e-3));
}

TEST_CASE("io: counts are the closed forms of the programs to the byte, masked too, on shapes that fill whole sectors") {
  std::random_device device;
  const auto seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    AttentionProblem problem = square(64 * pick(1, 9), 16 * pick(1, 8));
    problem.seq_kv = 64 * pick(1, 9);
    problem.kv_heads = pick(1, 2);
    problem.heads = problem.kv_heads * pick(1, 2);
    problem.causal = pick(0, 1) == 1;
    const TileShape tile = {16 * pick(1, 4), 16 * pick(1, 4)};  // tiles of l and m then are whole sectors too
    const GpuSpec gpu = h200_gpu();
    for (std::string_view id : {"standard", "flash1", "flash2"}) {
      const auto program = (*find_program(id))->make(problem, tile, gpu);
      REQUIRE(program);
      const auto form = (*program)->closed_form();
      REQUIRE(form);
      double bytes = 0;
      for (const ClosedFormTerm& term : form->terms) bytes += static_cast<double>(term.bytes.value);
      const AccessCount count = count_accesses(id, problem, tile, 1000);
      CAPTURE(id);
      CAPTURE(problem.causal);
      CHECK(count.bytes == bytes);
      CHECK(count.intensity * count.bytes == doctest::Approx(static_cast<double>(form->flops)));
    }
  }
}

TEST_CASE("io: flash1 and standard cross where the search says, near 3 d^2 for long sequences") {
  const AttentionProblem problem = square(8192, 64);
  const IoComplexity io = io_complexity(problem, {128, 128}, textbook_gpu());
  REQUIRE(io.crossover_elements);
  const double m = *io.crossover_elements;
  const double standard = io.counts[0].bytes;
  CHECK(count_accesses("flash1", problem, paper_tile(problem, m), m).bytes <= standard);
  CHECK(count_accesses("flash1", problem, paper_tile(problem, m - 1), m - 1).bytes > standard);
  CHECK(io.crossover_leading == 3 * 64 * 64);
  CHECK(m < 3 * 64 * 64);  // standard also moves its tiles of Q, K and V, so flash1 wins a little earlier
  CHECK(m > 2 * 64 * 64);
  for (const std::int64_t dim : {1, 2, 3, 4, 8}) {
    const AttentionProblem narrow = {.seq_q = 2, .seq_kv = 8, .head_dim = dim};
    const IoComplexity of = io_complexity(narrow, {1, 1}, textbook_gpu());
    REQUIRE(of.crossover_elements);
    const double least = *of.crossover_elements;
    CHECK(count_accesses("flash1", narrow, paper_tile(narrow, least), least).bytes <= of.counts[0].bytes);
    if (least > 1) CHECK(count_accesses("flash1", narrow, paper_tile(narrow, least - 1), least - 1).bytes > of.counts[0].bytes);
  }
  CHECK_FALSE(
      io_complexity(square(4, 256), {4, 4}, textbook_gpu()).crossover_elements);  // S is so small that writing it is cheaper
}

TEST_CASE("io: bounds and the fraction of tiles that a causal mask keeps") {
  AttentionProblem problem = square(1024, 64);
  problem.heads = 4;
  problem.kv_heads = 2;
  IoComplexity io = io_complexity(problem, {128, 128}, textbook_gpu());
  CHECK(io.fast_memory_elements == 32768);
  CHECK(io.lower_bound_elements == 4 * 1024.0 * 1024 * 64 * 64 / 32768);
  CHECK(io.compulsory_elements == (4 * 2 + 2 * 2) * 1024.0 * 64);
  CHECK(io.bound_applies);
  CHECK(io.kept_fraction == 1);
  CHECK(io.flops == 4 * 4 * 1024.0 * 1024 * 64);
  problem.causal = true;
  io = io_complexity(problem, {128, 128}, textbook_gpu());
  CHECK(io.kept_fraction == 36.0 / 64);  // 1 + 2 + … + 8 of 8 x 8
  CHECK(io.flops == 4 * 4 * 36.0 * 128 * 128 * 64);
  problem = square(256, 64);
  CHECK_FALSE(io_complexity(problem, {64, 64}, textbook_gpu()).bound_applies);  // M holds all of K and V
  for (const AccessCount& count : io.counts) CHECK(count.elements >= io.compulsory_elements);
}

TEST_CASE("io complexity: an order is called one of dense attention where the problem has a mask of its own") {
  AttentionProblem problem;
  problem.causal = true;
  CHECK(order_text("Θ(N²d²/M)", problem) == "Θ(N²d²/M)");
  problem.mask = std::make_shared<const MatrixMask>(1, 2, std::vector<bool>{true, false});
  CHECK(order_text("Θ(N²d²/M)", problem) == "Θ(N²d²/M) for dense attention");
}
