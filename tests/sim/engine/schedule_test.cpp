// Schedules and the numbers of their positions, against lists that are compared entry by entry.
#include "sim/engine/schedule.h"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/stretches.h"
#include "sim/programs/programs.h"
#include "tests/rounds.h"
#include "tests/sim/test_gpus.h"

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
  std::vector<Entry> ahead;  // fewer than are looked at where the stream ends or is not known
};

/// Two positions have one number where the same comes next, and number 0 where too little is known to say so.
void check_numbers(const std::vector<Numbered>& positions, std::size_t ahead) {
  int equal = 0, unequal = 0;
  bool right = true;
  for (const Numbered& a : positions) {
    right = right && (a.number == 0) == (a.ahead.size() < ahead);
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

}  // namespace

TEST_CASE("schedule: a block's loads and stores are its tiles, wherever the block lies") {
  std::mt19937 random(4);
  const GpuSpec gpu = h200_gpu();
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    AttentionProblem problem = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 80, .seq_kv = 112, .head_dim = 16};
    for (const bool causal : {false, true}) {
      problem.causal = causal;
      if (causal) problem.seq_kv = problem.seq_q;
      const auto program = info.make(problem, {16, 32}, gpu);
      if (!program) continue;
      for (const LaunchSpec& launch : (*program)->launches()) {
        const auto number = static_cast<int>(&launch - (*program)->launches().data());
        ScheduleBuilder builder(gpu, problem);
        builder.begin_launch(launch.needs, launch.persistent);
        BlockOperations block;
        BlockSchedule schedule;
        for (std::int64_t b = 0; b < launch.blocks(); ++b) {
          (*program)->emit_block(number, b, block);
          builder.build(block, schedule);
          const BlockOrigin from = builder.origin(block.domain);
          const auto is_tile = [&](const ScheduledAccess& access, const Operation& op) {
            const TileRef& tile = op.tile;
            return access.plane + from.plane_of(tile.tensor) == tile.plane && access.row + from.row_of(tile.tensor) == tile.row &&
                   access.col + from.col_of(tile.tensor) == tile.col;
          };
          std::size_t moved = 0, in_streams = 0;
          bool right = true;
          for (const OperationStream& stream : schedule.groups) {
            for (std::size_t i = 0; i < stream.loads.size(); ++i)
              right = right && is_tile(stream.loads[i], block.operations[static_cast<std::size_t>(stream.op_of_load[i])]);
            std::size_t stored = 0;
            for (const std::int32_t each : stream.op_of_compute) {
              const Operation& op = block.operations[static_cast<std::size_t>(each)];
              if (writes_memory(op.kind)) right = right && is_tile(stream.stores[stored++], op);
            }
            CHECK(stored == stream.stores.size());
            in_streams += stream.loads.size() + stored;
          }
          for (const Operation& op : block.operations) moved += moves_tile(op.kind) ? 1 : 0;
          CHECK(moved == in_streams);
          CHECK(right);
        }
      }
    }
  }
}

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
    check_numbers(loads, StretchPositions::loads_ahead);
    check_numbers(operations, StretchPositions::operations_ahead);
  }
}
