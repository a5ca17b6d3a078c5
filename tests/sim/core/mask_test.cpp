// Masks tile by tile and element by element, and programs under a boolean matrix: values, bytes and time of lists with holes.
#include "sim/core/mask.h"

#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "sim/numerics/program_reference.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/tile_grid.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

constexpr std::string_view attention_programs[] = {"standard", "flash1", "flash2"};
/// Those that skip what a mask hides. standard reads it as a matrix: tests/sim/programs/standard_test.cpp.
constexpr std::string_view skipping_programs[] = {"flash1", "flash2"};

/// Visible with probability `density`, but whole squares of 8 x 8 are empty or full about as often.
std::shared_ptr<const Mask> random_matrix(std::mt19937_64& random, std::int64_t rows, std::int64_t cols, double density) {
  std::uniform_real_distribution<double> draw(0, 1);
  std::vector<int> square(static_cast<std::size_t>((rows / 8 + 1) * (cols / 8 + 1)));
  for (int& kind : square) kind = static_cast<int>(random() % 3);
  std::vector<bool> visible(static_cast<std::size_t>(rows * cols));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      const int kind = square[static_cast<std::size_t>(r / 8 * (cols / 8 + 1) + c / 8)];
      visible[static_cast<std::size_t>(r * cols + c)] = kind == 2 || (kind == 1 && draw(random) < density);
    }
  return std::make_shared<MatrixMask>(rows, cols, visible);
}

/// The matrix that shows what `wanted(row, col)` says.
template <class Wanted>
std::shared_ptr<const Mask> matrix_of(std::int64_t rows, std::int64_t cols, Wanted wanted) {
  std::vector<bool> visible(static_cast<std::size_t>(rows * cols));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) visible[static_cast<std::size_t>(r * cols + c)] = wanted(r, c);
  return std::make_shared<MatrixMask>(rows, cols, visible);
}

AttentionProblem random_problem_with_matrix(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  AttentionProblem problem;
  problem.kv_heads = pick(1, 2);
  problem.heads = problem.kv_heads * pick(1, 2);
  problem.seq_q = pick(1, 60);
  problem.seq_kv = pick(1, 60);
  problem.head_dim = 16;
  problem.mask = random_matrix(random, problem.seq_q, problem.seq_kv, 0.5);
  return problem;
}

std::shared_ptr<const Simulation> simulated(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile,
                                            const GpuSpec& gpu) {
  SimulationRequest request;
  request.algorithm = id;
  request.problem = problem;
  request.tile = tile;
  request.key_order = tile.key_order;
  request.gpu = gpu;
  const auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  return *made;
}

}  // namespace

TEST_CASE("mask: every kind of mask classifies a tile as its elements do") {
  const std::uint64_t seed = 20261123;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    AttentionProblem problem = random_problem_with_matrix(random);
    if (round % 3 == 1) problem.mask = nullptr, problem.causal = true;
    if (round % 3 == 2) problem.mask = nullptr;
    const auto mask = mask_of(problem);
    const TileRange rows{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(problem.seq_q)), 0};
    const TileRange cols{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(problem.seq_kv)), 0};
    const TileRange queries{rows.first,
                            1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(problem.seq_q - rows.first))};
    const TileRange keys{cols.first,
                         1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(problem.seq_kv - cols.first))};
    std::int64_t seen = 0;
    for (std::int64_t r = queries.first; r < queries.end(); ++r)
      for (std::int64_t c = keys.first; c < keys.end(); ++c) seen += mask->visible(0, r, c) ? 1 : 0;
    const TileVisibility expected = seen == 0                            ? TileVisibility::empty
                                    : seen == queries.count * keys.count ? TileVisibility::full
                                                                         : TileVisibility::partial;
    CAPTURE(round);
    CHECK(mask->tile(0, queries, keys) == expected);
  }
}

TEST_CASE("mask: a walk meets every tile once, and tiles at the ends have only the rows and keys that there are") {
  std::mt19937_64 random(8);
  const TileShape shape{8, 4};
  for (int round = 0; round < 60; ++round) {
    AttentionProblem problem = random_problem_with_matrix(random);
    if (round % 2 == 1) problem.mask = nullptr, problem.causal = true;
    const auto mask = mask_of(problem);
    const std::int64_t rows = ceil_div(problem.seq_q, shape.block_q), cols = ceil_div(problem.seq_kv, shape.block_kv);
    std::vector<int> met(static_cast<std::size_t>(rows * cols));
    mask->walk(problem, 0, shape, [&](const TileBox& box) {
      for (std::int64_t i = box.first_row; i < box.end_row; ++i)
        for (std::int64_t j = box.first_col; j < box.end_col; ++j) {
          ++met[static_cast<std::size_t>(i * cols + j)];
          const TileRange queries{i * shape.block_q, std::min(shape.block_q, problem.seq_q - i * shape.block_q)};
          const TileRange keys{j * shape.block_kv, std::min(shape.block_kv, problem.seq_kv - j * shape.block_kv)};
          CHECK(box.visibility == mask->tile(0, queries, keys));
        }
    });
    CHECK(met == std::vector<int>(met.size(), 1));
  }
}

TEST_CASE("mask: a block visits exactly the tiles that are not empty, up or down") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    const AttentionProblem problem = random_problem_with_matrix(random);
    for (const KeyOrder order : {KeyOrder::ascending, KeyOrder::descending}) {
      ProgramTile tile(8, 4);
      tile.key_order = order;
      const TileGrid grid(problem, tile);
      for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
        std::vector<std::int64_t> expected;
        for (std::int64_t j = 0; j < grid.key_tiles; ++j)
          if (grid.visibility(0, i, j) != TileVisibility::empty) expected.push_back(j);
        if (order == KeyOrder::descending) std::reverse(expected.begin(), expected.end());
        std::vector<std::int64_t> visited;
        for (const KeyTile& key_tile : grid.visits(0, i)) visited.push_back(key_tile.index);
        CHECK(visited == expected);
      }
    }
  }
}

TEST_CASE("mask: under a boolean matrix with holes every attention program agrees with float64, in both key orders") {
  const std::uint64_t seed = 41;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    const AttentionProblem problem = random_problem_with_matrix(random);
    for (std::string_view id : attention_programs)
      for (const KeyOrder order : {KeyOrder::ascending, KeyOrder::descending}) {
        ProgramTile tile(8, 8);
        tile.key_order = order;
        const auto program = (*find_program(id))->make(problem, tile, toy_gpu());
        REQUIRE(program);
        CAPTURE(id);
        CAPTURE(round);
        const auto made = run_plane(**program, {}, 0, tensors::o);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
        CHECK(relative_error(*made, reference_plane(**program, {}, 0, tensors::o)) < 2e-3);
      }
  }
}

TEST_CASE("mask: under a boolean matrix the ledger is the closed form, which looks at elements alone") {
  std::mt19937_64 random(43);
  for (int round = 0; round < 20; ++round) {
    AttentionProblem problem = random_problem_with_matrix(random);
    for (std::string_view id : attention_programs) {
      const auto run = simulated(id, problem, ProgramTile(8, 8), toy_gpu());
      const auto form = run->program->closed_form();
      REQUIRE(form);
      CAPTURE(id);
      CAPTURE(round);
      for (const ClosedFormTerm& term : form->terms) CHECK(run->ledger.total(term.tensor, term.link).value == term.bytes.value);
      CHECK(run->flops == form->flops);
      CHECK(run->exps == form->exps);
    }
  }
}

TEST_CASE("mask: the causal mask and none, written as matrices, cost the same bytes and cycles as they do themselves") {
  for (const bool causal : {false, true})
    for (std::string_view id : skipping_programs)
      for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()}) {
        AttentionProblem plain = {.heads = 2, .kv_heads = 1, .seq_q = 100, .seq_kv = 140, .head_dim = 16};
        AttentionProblem matrix = plain;
        plain.causal = causal;
        matrix.mask = matrix_of(100, 140, [&](std::int64_t r, std::int64_t c) { return !causal || c <= r + 40; });
        const auto a = simulated(id, plain, ProgramTile(16, 16), gpu), b = simulated(id, matrix, ProgramTile(16, 16), gpu);
        CAPTURE(id);
        CAPTURE(causal);
        CHECK(a->cycles.value == b->cycles.value);
        CHECK(a->ledger.table() == b->ledger.table());
      }
}

TEST_CASE("mask: a list with holes takes as long as one of as many neighbouring tiles") {
  // No L2, so that every tile costs the same wherever it lies. Tiles 0 and 1 against tiles 0 and 5 of eight.
  AttentionProblem near = {.heads = 4, .kv_heads = 4, .seq_q = 64, .seq_kv = 128, .head_dim = 16}, apart = near;
  near.mask = matrix_of(64, 128, [](std::int64_t, std::int64_t c) { return c < 32; });
  apart.mask = matrix_of(64, 128, [](std::int64_t, std::int64_t c) { return c < 16 || (c >= 80 && c < 96); });
  for (const KeyOrder order : {KeyOrder::ascending, KeyOrder::descending}) {
    ProgramTile tile(16, 16);
    tile.key_order = order;
    const auto a = simulated("flash2", near, tile, textbook_gpu()), b = simulated("flash2", apart, tile, textbook_gpu());
    CHECK(a->cycles.value == b->cycles.value);
    CHECK(a->ledger.total(Link::hbm_read) == b->ledger.total(Link::hbm_read));
  }
}

TEST_CASE("mask: the order of the keys changes no byte between the L2 and the SMs") {
  for (std::string_view id : attention_programs) {
    const AttentionProblem problem = {.heads = 4, .kv_heads = 2, .seq_q = 512, .seq_kv = 512, .head_dim = 64, .causal = true};
    ProgramTile up(64, 64), down(64, 64);
    down.key_order = KeyOrder::descending;
    const auto a = simulated(id, problem, up, h200_gpu()), b = simulated(id, problem, down, h200_gpu());
    CAPTURE(id);
    for (const Link link : {Link::l2_to_sm, Link::sm_to_l2, Link::smem_read, Link::smem_write})
      CHECK(a->ledger.total(link) == b->ledger.total(link));
    CHECK(a->flops == b->flops);
  }
}

}  // namespace tilescope
