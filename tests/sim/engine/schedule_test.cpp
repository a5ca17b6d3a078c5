// Schedules against the operations that they are made of.
#include "sim/engine/schedule.h"

#include <cstddef>

#include <doctest/doctest.h>

#include "sim/programs/programs.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

TEST_CASE("schedule: a block's loads and stores are its tiles, wherever the block lies") {
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
