// Stretches: positions against lists that are compared entry by entry; the table and the periods against circles made by hand.
#include "sim/engine/stretches.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/rounds.h"

using namespace tilescope;

namespace {

using Entry = std::tuple<std::uint32_t, bool, std::int32_t>;  // class, whether it waits, for which moment from `before` on

/// Streams that repeat a short run of operations and loads, now and then with one that waits for nothing.
BlockSchedule random_schedule(std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::int32_t>(random() % limit); };
  BlockSchedule schedule;
  OperationStream& stream = schedule.groups.emplace_back();
  const std::size_t loads = 24 + random() % 40, operations = 40 + random() % 60, run = 2 + random() % 4;
  stream.signals = 20 + random() % 40;
  stream.loads.resize(loads);  // signal() counts from their end
  std::vector<std::int32_t> steps(run), classes(run), waits(run), kinds(run);
  for (std::size_t i = 0; i < run; ++i) steps[i] = below(3), classes[i] = below(2), waits[i] = below(2), kinds[i] = below(3);
  std::int32_t signal = 0;
  for (std::size_t i = 0; i < loads; ++i) {
    stream.loads[i].op_class = static_cast<std::uint32_t>(classes[i % run]);
    signal = std::min(signal + steps[i % run], static_cast<std::int32_t>(stream.signals) - 1);
    const bool waits_now = below(12) != 0;
    stream.loads[i].after = waits_now ? stream.signal(static_cast<std::size_t>(signal)) : OperationStream::at_once;
    if (below(40) == 0) stream.loads[i].after = OperationStream::landing(i / 2);
  }
  std::int32_t load = 0;
  for (std::size_t i = 0; i < operations; ++i) {
    load = std::min(load + waits[i % run], static_cast<std::int32_t>(loads) - 1);
    const bool waits_now = kinds[i % run] != 0 && below(60) != 0;
    stream.compute.push_back({static_cast<std::uint32_t>(kinds[i % run]),
                              waits_now ? OperationStream::landing(static_cast<std::size_t>(load)) : OperationStream::at_once});
  }
  return schedule;
}

std::vector<Entry> loads_from(const OperationStream& stream, std::size_t first, std::size_t count) {
  std::int32_t before = stream.signal(0);
  for (std::size_t i = 0; i < first; ++i)
    if (stream.loads[i].after >= stream.signal(0)) before = stream.loads[i].after;
  std::vector<Entry> entries;
  for (std::size_t i = first; i < std::min(first + count, stream.loads.size()); ++i) {
    const std::int32_t after = stream.loads[i].after;
    const bool waits = after != OperationStream::at_once;
    if (waits && after < stream.signal(0)) return {};  // when a load lands is not known in advance
    entries.emplace_back(stream.loads[i].op_class, waits, waits ? after - before : 0);
  }
  return entries;
}

std::vector<Entry> operations_from(const OperationStream& stream, std::size_t first, std::size_t count) {
  std::int32_t before = 0;
  for (std::size_t i = 0; i < first; ++i)
    if (stream.compute[i].wait != OperationStream::at_once) before = stream.compute[i].wait;
  std::vector<Entry> entries;
  for (std::size_t i = first; i < std::min(first + count, stream.compute.size()); ++i) {
    const bool waits = stream.compute[i].wait != OperationStream::at_once;
    entries.emplace_back(stream.compute[i].op_class, waits, waits ? stream.compute[i].wait - before : 0);
  }
  return entries;
}

struct Numbered {
  std::uint32_t number;
  std::vector<Entry> ahead;  // fewer where the stream ends, none where too little is known
};

/// Two positions have one number where the same comes next, and number 0 where too little is known to say so.
void check_numbers(const std::vector<Numbered>& positions) {
  int equal = 0, unequal = 0;
  bool right = true;
  for (const Numbered& a : positions) {
    right = right && (a.number == 0) == a.ahead.empty();
    for (const Numbered& b : positions) {
      if (a.number == 0 || b.number == 0) continue;
      const bool same = a.ahead == b.ahead;
      right = right && (a.number == b.number) == same;
      ++(same ? equal : unequal);
    }
  }
  CHECK(right);
  CHECK(equal > static_cast<int>(positions.size()));
  CHECK(unequal > 0);
}

Stretch stretch_of(double compute_end, double cycles = 1, std::uint32_t next_slot = 0) {
  Stretch stretch;
  stretch.key.slots[0].compute_end = compute_end;
  stretch.cycles = stretch.latest = cycles;
  stretch.next_slot = next_slot;
  return stretch;
}

/// Adds a circle of stretches of these cycles; each begins with a load of slot 0.
std::int32_t add_circle(StretchTable& table, const std::vector<double>& cycles) {
  const auto first = static_cast<std::int32_t>(table.size());
  for (const double each : cycles) table.add(stretch_of(static_cast<double>(table.size()), each));
  const auto count = static_cast<std::int32_t>(cycles.size());
  for (std::int32_t n = 0; n < count; ++n) table[first + n].successor = first + (n + 1) % count;
  return first;
}

void add_deadline(Stretch& stretch, const StretchDeadline& deadline) {
  stretch.deadlines[stretch.deadline_count++] = deadline;
}

}  // namespace

TEST_CASE("stretches: positions have the same number where the same operations and loads follow, and nowhere else") {
  std::mt19937 random(5);
  for (int round = 0; round < rounds(30); ++round) {
    CAPTURE(round);
    StretchPositions numbers;
    BlockSchedule schedules[] = {random_schedule(random), random_schedule(random)};
    std::vector<Numbered> loads, operations;
    for (BlockSchedule& schedule : schedules) {
      numbers.add(schedule);
      const OperationStream& stream = schedule.groups.front();
      REQUIRE(stream.load_positions.size() > stream.loads.size());
      REQUIRE(stream.positions.size() > stream.compute.size());
      for (std::size_t i = 0; i < stream.loads.size(); ++i)
        loads.push_back({stream.load_positions[i].number, loads_from(stream, i, StretchPositions::loads_ahead)});
      for (std::size_t i = 0; i < stream.compute.size(); ++i)
        operations.push_back({stream.positions[i].number, operations_from(stream, i, StretchPositions::operations_ahead)});
      // The last load that waits for one of the signals given so far.
      for (std::size_t given = 0; given <= stream.signals; ++given) {
        std::uint32_t reach = 0;
        for (std::uint32_t i = 0; i < stream.loads.size(); ++i) {
          const std::int32_t signal = stream.loads[i].after - stream.signal(0);
          if (signal >= 0 && static_cast<std::size_t>(signal) < given) reach = i + 1;
        }
        CHECK(stream.reach[given] == reach);
      }
    }
    check_numbers(loads);
    check_numbers(operations);
  }
}

TEST_CASE("stretches: a stretch is found by its key, the first and the last of many, and none by another key") {
  StretchTable table;
  table.clear(1);
  for (int n = 0; n < 500; ++n) {
    CHECK(table.find(stretch_of(n).key) == -1);
    CHECK(table.add(stretch_of(n)) == n);
  }
  CHECK(table.size() == 500);
  for (int n = 0; n < 500; ++n) CHECK(table.find(stretch_of(n).key) == n);
  CHECK(table.find(stretch_of(0.5).key) == -1);
  Stretch other = stretch_of(7);
  other.key.slots[1].compute_end = 1;  // the SM has one slot
  CHECK(table.find(other.key) == 7);
  table.clear(2);
  CHECK(table.size() == 0);
  CHECK(table.find(stretch_of(7).key) == -1);
  table.add(stretch_of(7));
  CHECK(table.find(other.key) == -1);
}

TEST_CASE("periods: a circle has the cycles, loads and operations of its stretches, and the latest of their times") {
  StretchTable table;
  table.clear(2);
  // Loads of slots 0, 1, 0: each stretch names the slot of the load after it.
  table.add(stretch_of(0, 10, 1));
  table.add(stretch_of(1, 20, 0));
  table.add(stretch_of(2, 30, 0));
  for (int n = 0; n < 3; ++n) {
    table[n].successor = (n + 1) % 3;
    table[n].operations_of = {static_cast<std::uint16_t>(n + 1), 4};
    table[n].signals_of = {1, static_cast<std::uint16_t>(n)};
  }
  table[1].latest = 45;
  // The bytes for stretch 2 in slot 1 were asked for 20 cycles before it; for stretch 0 in slot 0, one load before its own.
  add_deadline(table[2], {1, -1, 7});
  add_deadline(table[1], {1, -1, 50});
  add_deadline(table[0], {0, -2, 4});
  const std::int32_t number = table.period_of(1);
  REQUIRE(number == 0);
  const Period& period = table.period(number);
  REQUIRE(period.steps.size() == 18);  // whole circles, at least 16 steps
  CHECK(period.cycles == 6 * 60);
  CHECK(period.latest == 45);
  CHECK(period.advance[0].loads == 12);
  CHECK(period.advance[1].loads == 6);
  CHECK(period.advance[0].operations == 6 * (1 + 2 + 3));
  CHECK(period.advance[1].operations == 6 * 12);
  CHECK(period.advance[0].signals == 6 * 3);
  CHECK(period.advance[1].signals == 6 * (0 + 1 + 2));
  const std::uint32_t slots[] = {0, 1, 0};
  const double cycles[] = {10, 20, 30}, slack[] = {HUGE_VAL, 27, 34};
  for (std::size_t n = 0; n < period.steps.size(); ++n) {
    const Period::Step& step = period.steps[n];
    const std::size_t own = (n + 1) % 3;
    CHECK(step.stretch == static_cast<std::int32_t>(own));
    CHECK(step.slot == slots[own]);
    CHECK(step.cycles == cycles[own]);
    CHECK(step.slack == slack[own]);
    CHECK(step.period == 360);
  }
  for (int n = 0; n < 3; ++n) {
    CHECK(table.period_of(n) == 0);
    CHECK(table[n].step == static_cast<std::uint32_t>((n + 2) % 3));
  }
}

TEST_CASE("periods: there is none where stretches form no circle, where it is too long, and where bytes are waited for too long") {
  StretchTable table;
  table.clear(1);
  const std::int32_t open = table.add(stretch_of(-1));
  CHECK(table.period_of(open) == -1);
  CHECK(table.period_of(add_circle(table, {0, 0})) == -1);  // it takes no time
  const std::int32_t longest = add_circle(table, std::vector<double>(32, 2)),
                     longer = add_circle(table, std::vector<double>(33, 2));
  CHECK(table.period_of(longer) == -1);
  REQUIRE(table.period_of(longest) >= 0);
  CHECK(table.period(table.period_of(longest)).steps.size() == 32);
  CHECK(table.period(table.period_of(longest)).cycles == 64);
  for (const std::int32_t loads_ago : {16, 17}) {
    const std::int32_t waits = add_circle(table, {3});
    add_deadline(table[waits], {0, -loads_ago, 1});
    const std::int32_t period = table.period_of(waits);
    CHECK((period >= 0) == (loads_ago == 16));
    if (period >= 0) CHECK(table.period(period).steps.front().slack == 15 * 3 + 1);
  }
  // A stretch that leads into a circle is not part of it.
  const std::int32_t into = table.add(stretch_of(-2));
  table[into].successor = longest;
  CHECK(table.period_of(into) == -1);
}
