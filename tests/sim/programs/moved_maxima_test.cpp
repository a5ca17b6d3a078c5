// How often the maximum of a warp's rows grows where a score expression changes with the key.
#include "sim/programs/moved_maxima.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/mask_choice.h"
#include "sim/programs/online_softmax.h"

namespace tilescope {
namespace {

constexpr std::int64_t tile_count = 8;

AttentionProblem with_score(const std::string& score, bool causal = false) {
  AttentionProblem problem;
  problem.batch = 2;
  problem.heads = problem.kv_heads = 4;
  problem.seq_q = problem.seq_kv = tile_count * 128;
  problem.head_dim = 64;
  MaskChoice choice;
  choice.score = score;
  if (causal) choice.presets = {"causal"};
  const Status status = settle_masks(choice, problem);
  REQUIRE_MESSAGE(status, (status ? std::string() : status.error().sentence.text()));
  return problem;
}

double share_of(const AttentionProblem& problem, std::int64_t i = 0) {
  const TileGrid grid(problem, TileShape{128, 128});
  return MovedMaxima(grid).share(grid, 0, i, grid.visits(0, i));
}

}  // namespace

TEST_CASE("moved maxima: a bias that falls from tile to tile leaves the first maximum, and one that rises moves it each time") {
  CHECK(share_of(with_score("score + (q - kv)")) == doctest::Approx(1.0 / tile_count));
  CHECK(share_of(with_score("score + (kv - q)")) == doctest::Approx(1));
  // Falls and rises in every second head.
  CHECK(share_of(with_score("score + (h % 2 == 0 ? q - kv : kv - q)")) == doctest::Approx((1.0 / tile_count + 1) / 2));
  // Highest where the query is: tiles before it move the maximum, those behind it do not. Over all query tiles 1 to 8 of 8 do.
  CHECK(share_of(with_score("score - abs(q - kv)")) == doctest::Approx((1 + 2 + 3 + 4 + 5 + 6 + 7 + 8) / 64.0));
}

TEST_CASE("moved maxima: where all keys are alike, tile j has the maximum of the first j tiles in one of j cases") {
  const double alike = moved_share(128, tile_count);
  CHECK(alike > 0.9);
  for (const char* score : {"score", "20 * tanh(score / 20)", "score + 0.3 * q", "score + 0.0 * kv"}) {
    CAPTURE(score);
    CHECK(share_of(with_score(score)) == doctest::Approx(alike));
  }
  const double falls = share_of(with_score("score - 0.003 * kv"));  // by 0.4 a tile, about a deviation of the largest of 128 scores
  CHECK(falls < alike - 0.05);
  CHECK(falls > 0.3);
}

TEST_CASE("moved maxima: hidden keys count for nothing") {
  // The bias falls with the key. Query tile i visits tile i, which is partial, and those before it.
  const AttentionProblem problem = with_score("score - kv", true);
  const TileGrid grid(problem, TileShape{128, 128});
  const MovedMaxima maxima(grid);
  const std::vector<KeyTile> diagonal_first = {{3, true}, {0, false}, {1, false}, {2, false}};
  CHECK(maxima.share(grid, 0, 3, diagonal_first) == doctest::Approx(2.0 / 4));
  // Query tile 2 sees nothing of tile 3.
  CHECK(maxima.share(grid, 0, 2, diagonal_first) == doctest::Approx(1.0 / 4));
}

TEST_CASE("moved maxima: blocks of one shape have one share") {
  const AttentionProblem problem = with_score("score + (b == 0 ? kv : -kv)", true);
  const TileGrid grid(problem, TileShape{128, 128});
  const std::int64_t other = problem.heads;  // the first plane of the second batch element
  REQUIRE(grid.row_class(0, 5) == grid.row_class(other, 5));
  const MovedMaxima maxima(grid);
  const std::vector<KeyTile> visits = grid.visits(0, 5);
  CHECK(maxima.share(grid, 0, 5, visits) == doctest::Approx(1));
  CHECK(maxima.share(grid, other, 5, visits) == maxima.share(grid, 0, 5, visits));
}

}  // namespace tilescope
