// SharedLookups and RecentHits: which share of a read is looked up, and which loads repeat a hit.
#include "sim/engine/shared_lookups.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sim/engine/recent_hits.h"
#include "sim/programs/tensor_layout.h"
#include "tests/sim/attention_schema.h"

using namespace tilescope;

namespace {

TensorLayouts layouts_of(const std::vector<Tensor>& used) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 1024;
  return memory_layouts(problem, {16, 16}, used);
}

TileRef tile_at(std::int32_t row) {
  return {tensors::k, 0, row, 16, 0, 16};
}

}  // namespace

TEST_CASE("lookups: the sooner a tile is read again, the less of the read is looked up") {
  const std::vector<Tensor> used = {tensors::k};
  SharedLookups lookups(50, layouts_of(used), used);
  CHECK(lookups.part_looked_up(tile_at(0), 100) == 1);
  CHECK(lookups.part_looked_up(tile_at(0), 110) == doctest::Approx(10.0 / (10 + 50)));
  CHECK(lookups.part_looked_up(tile_at(0), 140) == doctest::Approx(20.0 / (20 + 50)));  // 10 and 30 cycles apart
  CHECK(lookups.part_looked_up(tile_at(16), 140) == 1);                                 // another tile
  CHECK(lookups.readers_of_latest().cycle == 140);
  CHECK(lookups.part_of(lookups.readers_of_latest(), 150) == doctest::Approx(10.0 / (10 + 50)));
}

TEST_CASE("lookups: after eight reads of a tile the mean follows the latest ones") {
  const std::vector<Tensor> used = {tensors::k};
  SharedLookups lookups(50, layouts_of(used), used);
  double now = 0;
  for (int n = 0; n < 10; ++n) lookups.part_looked_up(tile_at(0), now += 10);
  CHECK(lookups.part_looked_up(tile_at(0), now += 90) == doctest::Approx(20.0 / (20 + 50)));  // 10 + (90 - 10) / 8
}

TEST_CASE("lookups: without a window every read is looked up") {
  const std::vector<Tensor> used = {tensors::k};
  SharedLookups lookups(0, layouts_of(used), used);
  CHECK_FALSE(lookups.are_shared());
  CHECK(lookups.part_looked_up(tile_at(0), 100) == 1);
  CHECK(lookups.part_looked_up(tile_at(0), 100) == 1);
}

TEST_CASE("hits: a load repeats a hit while its set is unchanged and its tile's readers are") {
  RecentHits hits;
  SharedLookups::Readers readers{.key = 7};
  std::uint64_t changes = 0;
  const auto hit = [&](std::int32_t row) {
    return RecentHits::Hit{.access = {.row = row, .op_class = 1}, .readers = &readers, .key = 7, .unchanged = Unchanged(changes)};
  };
  const PlacedAccess first{.row = 0, .op_class = 1};
  CHECK_FALSE(hits.find(first));
  hits.note(hit(0));
  hits.note(hit(16));
  CHECK(hits.find(first));
  CHECK(hits.latest().access == first);
  readers.key = 8;  // another tile took its place
  CHECK_FALSE(hits.find(first));
  readers.key = 7;
  ++changes;
  CHECK_FALSE(hits.find(first));
}

TEST_CASE("hits: the ninth takes the place of the oldest, and a forgotten one is not found") {
  RecentHits hits;
  SharedLookups::Readers readers{.key = 7};
  const std::uint64_t changes = 0;
  for (std::int32_t n = 0; n < 9; ++n)
    hits.note({.access = {.row = n, .op_class = 1}, .readers = &readers, .key = 7, .unchanged = Unchanged(changes)});
  CHECK_FALSE(hits.find({.row = 0, .op_class = 1}));
  CHECK(hits.find({.row = 1, .op_class = 1}));
  hits.forget_latest();
  CHECK_FALSE(hits.find({.row = 1, .op_class = 1}));
  CHECK(hits.find({.row = 8, .op_class = 1}));
}
