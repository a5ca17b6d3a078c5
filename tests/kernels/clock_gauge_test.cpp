// The SM clock from marks of cycle counters.
#include "kernels/measure/clock_gauge.h"

#include <doctest/doctest.h>

#include <array>

using namespace tilescope;

namespace {

// Four SMs over 10 µs: two at 1.8 GHz, one at 2 GHz, one that no block of the marks landed on.
constexpr std::array<ClockMark, 4> before = {{{100, 1000}, {200, 1000}, {300, 1000}, {0, 0}}};
constexpr std::array<ClockMark, 4> after = {{{18100, 11000}, {20200, 11000}, {18300, 11000}, {0, 0}}};

}  // namespace

TEST_CASE("a clock reading is of the slowest SMs, as many as have blocks") {
  const ClockReading one = reading_of_slowest(before, after, 1), two = reading_of_slowest(before, after, 2);
  CHECK(one.cycles == doctest::Approx(18000));
  CHECK(one.ns == doctest::Approx(10000));
  CHECK(two.cycles == doctest::Approx(18000));
}

TEST_CASE("a clock reading of more blocks than SMs is of all SMs that were read") {
  const ClockReading all = reading_of_slowest(before, after, 1000);
  CHECK(all.cycles == doctest::Approx((18000 + 20000 + 18000) / 3.0));
  CHECK(all.ns == doctest::Approx(10000));
}

TEST_CASE("a clock reading of SMs that were not read is zero") {
  const ClockReading none = reading_of_slowest(std::span(before).last(1), std::span(after).last(1), 4);
  CHECK(none.cycles == 0);
  CHECK(none.ns == 0);
}

TEST_CASE("a clock leaves out an SM whose first mark is of an earlier reading") {
  std::array<ClockMark, 2> marks = {{{100, 1000}, {200, 5000}}};
  const std::array<ClockMark, 2> last = {{{100, 1000}, {150, 1100}}};
  clear_stale_marks(marks, last);
  CHECK(marks[0].ns == 0);
  CHECK(marks[1].ns == 5000);
  clear_stale_marks(marks, {});  // nothing was read before
  CHECK(marks[1].cycles == 200);
}

TEST_CASE("a clock is that of the work alone: the mean of the empty readings is taken off") {
  ClockGauge gauge;
  const ClockReading work{.cycles = 18000 + 4000, .ns = 10000 + 2000};  // 10 µs at 1.8 GHz, and 2 µs at 2 GHz around it
  CHECK(gauge.hertz(work) == doctest::Approx(22000 / 12000e-9));        // no overhead is known yet
  gauge.add_overhead({.cycles = 3000, .ns = 1500});
  gauge.add_overhead({.cycles = 5000, .ns = 2500});
  gauge.add_overhead({});  // no SM was read
  CHECK(gauge.hertz(work) == doctest::Approx(1.8e9));
}

TEST_CASE("a clock of work shorter than the overhead is that of both, and of a reading without SMs zero") {
  ClockGauge gauge;
  gauge.add_overhead({.cycles = 4000, .ns = 2000});
  CHECK(gauge.hertz({.cycles = 3800, .ns = 1950}) == doctest::Approx(3800 / 1950e-9));
  CHECK(gauge.hertz({}) == 0);
}
