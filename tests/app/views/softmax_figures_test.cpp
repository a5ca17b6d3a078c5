// Which of a row's scores have bars, and how the others are summed up.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "app/views/softmax/softmax_figures.h"

using namespace tilescope;

namespace {

/// A row of `keys` scores from -1 to 1, at its tile [begin, end).
SoftmaxFigures row_of(std::int64_t keys, std::int64_t begin, std::int64_t end) {
  SoftmaxFigures figures;
  for (std::int64_t key = 0; key < keys; ++key)
    figures.bars.push_back(2 * static_cast<float>(key) / static_cast<float>(keys - 1) - 1);
  figures.seen = figures.current_begin = begin;
  figures.current_end = end;
  return figures;
}

}  // namespace

TEST_CASE("scores: every key has its bar where there is room, else this tile's keys have") {
  const SoftmaxFigures short_row = row_of(64, 16, 32), long_row = row_of(4096, 128, 256);
  CHECK(shown_keys(short_row, 150).whole);
  CHECK(shown_keys(short_row, 150).end == 64);
  const ScoreRange range = shown_keys(long_row, 150);
  CHECK_FALSE(range.whole);
  CHECK(range.begin == 128);
  CHECK(range.end == 256);
  const ScoreRange before = shown_keys(row_of(4096, 0, 0), 150), after = shown_keys(row_of(4096, 4096, 4096), 150);
  CHECK(before.begin == 0);
  CHECK(before.end == 150);
  CHECK(after.begin == 4096 - 150);
  CHECK(after.end == 4096);
}

TEST_CASE("scores: the distribution counts each key seen so far once, and no masked or later one") {
  SoftmaxFigures figures = row_of(4096, 128, 256);
  figures.bars[3] = -INFINITY;
  figures.bars[200] = NAN;
  const ScoreSpread spread = score_spread(figures, -1, 1, 20);
  const auto sum = [](const std::vector<std::int64_t>& bins) { return std::accumulate(bins.begin(), bins.end(), std::int64_t{0}); };
  CHECK(sum(spread.seen) == 254);
  CHECK(sum(spread.tile) == 127);
  CHECK(spread.seen.back() == 0);  // the largest scores come later
  CHECK(spread.seen.front() > 0);
}
