// RecentCache and Retired: the oldest leave, and are freed only when nobody holds them.
#include <memory>

#include <doctest/doctest.h>

#include "app/model/background/recent_cache.h"

using namespace tilescope;

namespace {

struct Key {
  std::shared_ptr<const int> simulation;
  int number = 0;
  bool operator==(const Key&) const = default;
};
using Cache = RecentCache<Key, std::shared_ptr<const int>, 3>;

}  // namespace

TEST_CASE("recent cache: what was looked at last stays longest") {
  Retired retired;
  Cache cache(retired);
  const auto simulation = std::make_shared<const int>(0);
  for (int i = 0; i < 3; ++i) cache.put({simulation, i}, std::make_shared<const int>(i));
  REQUIRE(cache.find({simulation, 0}) != nullptr);
  cache.put({simulation, 3}, std::make_shared<const int>(3));
  CHECK(cache.holds({simulation, 0}));
  CHECK_FALSE(cache.holds({simulation, 1}));
  CHECK(**cache.find({simulation, 3}) == 3);
  CHECK(retired.take_free().size() == 1);  // the value; the simulation is held here
}

TEST_CASE("recent cache: what was retired is handed out once nobody else holds it") {
  Retired retired;
  auto held = std::make_shared<const int>(1);
  retired.add(held);
  retired.add(held);
  retired.add(std::shared_ptr<const int>());
  CHECK(retired.take_free().empty());
  held.reset();
  CHECK(retired.take_free().size() == 1);
  CHECK(retired.take_free().empty());
}
