// The arithmetic of the softmax variants beside the ladder, on the host.
#include "kernels/common/softmax_variants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace tilescope::device;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// What a row is after all its key tiles.
struct Row {
  double output = 0, sum = 0;  // output: of one column of V, not divided yet
  float reference = -infinity, largest_exponential = 0;
  int moves = 0;
};

/// Computes a row tile by tile, as HopperGroup::softmax() and rescale() do.
template <class Moves>
Row online(const std::vector<float>& scores, const std::vector<float>& values, int tile, Moves moves) {
  Row row;
  for (std::size_t first = 0; first < scores.size(); first += static_cast<std::size_t>(tile)) {
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(first);
    const float highest = std::max(row.reference, *std::max_element(begin, begin + tile));
    if (moves(row.reference, highest)) {
      const double alpha = std::exp2(static_cast<double>(row.reference) - highest);
      row.output *= alpha;
      row.sum *= alpha;
      row.reference = highest;
      ++row.moves;
    }
    for (std::size_t i = first; i < first + static_cast<std::size_t>(tile); ++i) {
      const double exponential = std::exp2(static_cast<double>(scores[i]) - row.reference);
      row.largest_exponential = std::max(row.largest_exponential, static_cast<float>(exponential));
      row.output += exponential * values[i];
      row.sum += exponential;
    }
  }
  return row;
}

}  // namespace

TEST_CASE("softmax variants: the cubic has the relative error that its comment names, over all exponents of a softmax") {
  double worst = 0;
  for (float x = -126.f; x <= kept_maximum_range; x += 1.f / 1024)
    worst = std::max(worst, std::abs(static_cast<double>(exp2_cubic(x)) / std::exp2(static_cast<double>(x)) - 1));
  CHECK(worst < 9e-5);
  CHECK(worst > 8e-5);  // a better cubic would be another one
}

TEST_CASE("softmax variants: the cubic is exact at whole numbers, and hidden keys weigh nothing") {
  for (int x = -126; x <= 8; ++x) CHECK(exp2_cubic(static_cast<float>(x)) == std::ldexp(1.f, x));
  CHECK(exp2_cubic(-127.f) == 0.f);
  CHECK(exp2_cubic(-1e30f) == 0.f);
  CHECK(exp2_cubic(-infinity) == 0.f);
  CHECK(exp2_cubic(-126.5f) >= 0.f);
  CHECK(exp2_cubic(-126.5f) < std::ldexp(1.f, -126));
}

TEST_CASE("softmax variants: a reference moves at the first key and past 2^8, and stays below it") {
  constexpr float scale = 0.25f;  // of scores to exponents
  CHECK(reference_moves(-infinity, -500.f, scale));
  CHECK_FALSE(reference_moves(-infinity, -infinity, scale));
  CHECK_FALSE(reference_moves(4.f, 4.f, scale));
  CHECK_FALSE(reference_moves(4.f, 36.f, scale));
  CHECK(reference_moves(4.f, 36.5f, scale));
}

TEST_CASE("softmax variants: a kept maximum moves less often and gives the same row") {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  constexpr int keys = 4096, tile = 128;
  for (const float spread : {1.f, 6.f, 30.f}) {
    CAPTURE(spread);
    std::vector<float> scores(keys), values(keys);
    for (float& score : scores) score = spread * normal(random);
    for (float& value : values) value = normal(random);
    const Row plain = online(scores, values, tile, [](float before, float now) { return now > before; });
    const Row kept = online(scores, values, tile, [](float before, float now) { return reference_moves(before, now, 1.f); });
    CHECK(kept.moves < plain.moves);
    CHECK(plain.largest_exponential == 1.f);
    CHECK(kept.largest_exponential <= 256.f);
    CHECK(kept.output / kept.sum == doctest::Approx(plain.output / plain.sum).epsilon(1e-12));
    CHECK(kept.reference + std::log2(kept.sum) == doctest::Approx(plain.reference + std::log2(plain.sum)).epsilon(1e-12));
  }
}
