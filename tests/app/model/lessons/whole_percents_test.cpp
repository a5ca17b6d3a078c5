// Percentages of a class: they sum to 100.
#include "app/model/lessons/whole_percents.h"

#include <array>
#include <numeric>

#include <doctest/doctest.h>

using namespace tilescope;

TEST_CASE("lecture: the percentages of a class sum to 100, by the largest remainder") {
  using Counts = std::array<int, most_choices>;
  CHECK(whole_percents(Counts{}) == Counts{});
  CHECK(whole_percents(Counts{1, 1, 1}) == Counts{34, 33, 33});  // each rounded alone: 99
  CHECK(whole_percents(Counts{3, 3, 2}) == Counts{38, 37, 25});  // each rounded alone: 101
  CHECK(whole_percents(Counts{0, 1, 5}) == Counts{0, 17, 83});
  const Counts largest = whole_percents(Counts{100000, 99999, 1});
  CHECK(std::accumulate(largest.begin(), largest.end(), 0) == 100);
}
