// Collects the additions of a launch, and applies them by time.
#include "sim/numerics/arrival_order.h"

#include <algorithm>
#include <compare>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/refuse.h"
#include "sim/numerics/block_values.h"

namespace tilescope {

namespace {

/// When an addition ends. Of two that end together, the one of the block that started first comes first.
struct Arrival {
  double time = 0;
  std::int32_t run = 0;
  auto operator<=>(const Arrival&) const = default;  // NOLINT(modernize-use-nullptr): sees a 0 in what the compiler writes
};
/// By launch, block and operation.
using AdditionTimes = std::map<std::tuple<std::int32_t, std::int64_t, std::int32_t>, Arrival>;

AdditionTimes addition_times(const Trace& trace) {
  AdditionTimes times;
  const auto runs = trace.runs();
  for (const int sm : trace.focused_sms())
    for (const Interval& interval : trace.intervals(sm)) {
      if (interval.kind != OpKind::reduce_add) continue;
      const BlockRun& run = runs[static_cast<std::size_t>(interval.run)];
      times[{run.launch, run.block, interval.op}] = {interval.end, interval.run};
    }
  return times;
}

struct Addition {
  Arrival arrival;
  TileRef tile;
  MatrixPtr values;
};

void add_in_order(std::vector<Addition> additions, HbmImage& image) {
  std::ranges::stable_sort(additions, {}, &Addition::arrival);
  for (const Addition& each : additions) image.add(each.tile, *each.values, 0);
}

}  // namespace

Result<FinishedRun> run_as_simulated(const Simulation& simulation, const InputSource& inputs, const Progress& progress) {
  const TileProgram& program = *simulation.program;
  if (Status status = check(inputs, program.problem()); !status) return status.error();
  const AdditionTimes times = addition_times(*simulation.trace);
  BlockMachine machine(program, inputs);
  auto image = std::make_shared<HbmImage>();
  BlockOperations block;
  const auto launches = static_cast<int>(program.launches().size());
  for (int launch = 0; launch < launches; ++launch) {
    std::vector<Addition> additions;
    const std::int64_t blocks = program.launches()[static_cast<std::size_t>(launch)].blocks();
    for (std::int64_t number = 0; number < blocks; ++number) {
      const double done = (launch + static_cast<double>(number) / static_cast<double>(blocks)) / launches;
      if (progress && !progress(done)) return run_cancelled();
      program.emit_block(launch, number, block);
      bool all_timed = true;
      const auto take = [&](const Operation& operation, std::int32_t index, MatrixPtr values) {
        const auto at = times.find({launch, number, index});
        all_timed = all_timed && at != times.end();
        if (all_timed && values != nullptr) additions.push_back({at->second, operation.tile, std::move(values)});
      };
      if (Status status = run_operations(machine, block, *image, {}, take); !status) return status.error();
      if (!all_timed)
        return refuse("the order of additions needs every SM in focus: {} has {} of {}", simulation.request.gpu.id,
                      simulation.trace->focused_sms().size(), simulation.request.gpu.sm_count);
    }
    add_in_order(std::move(additions), *image);
  }
  return FinishedRun(program, std::move(image));
}

}  // namespace tilescope
