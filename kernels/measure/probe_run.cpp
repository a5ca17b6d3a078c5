// Allocates a probe's device memory and reads it back.
#include "kernels/measure/probe_run.h"

#include <algorithm>

namespace tilescope {

namespace {

constexpr std::int64_t word = sizeof(std::uint64_t);
constexpr std::int64_t most_recorded_blocks = 64;                  // recorded blocks of one SM
constexpr std::int64_t most_tick_bytes = std::int64_t{256} << 20;  // fewer blocks are recorded when iterations are many

Result<DeviceMemory> zeroed(std::int64_t bytes) {
  Result<DeviceMemory> memory = DeviceMemory::allocate(std::max(bytes, word));
  if (!memory) return memory;
  if (Status cleared = memory->fill(0); !cleared) return cleared.error();
  return memory;
}

template <class T>
Status read_all(const DeviceMemory& memory, std::vector<T>& into) {
  into.resize(static_cast<std::size_t>(memory.bytes()) / sizeof(T));
  return memory.read(into.data(), memory.bytes());
}

}  // namespace

Result<ProbeRun> ProbeRun::make(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                                std::span<const ProbeShape> shapes, const ProbedPlace& place) {
  ProbeRun run;
  std::vector<ProbeBuffers> addresses;
  const ProbeShape& own_rows = shapes[static_cast<std::size_t>(row_launch_of(shapes))];
  const auto [plane, query] = own_rows.row_of(place.block, place.row);
  if (kernel.prepare_probed != nullptr)
    if (Status ready = kernel.prepare_probed(problem); !ready) return ready.error();
  for (const ProbeShape& shape : shapes) {
    const std::int64_t roles = std::ssize(shape.roles);
    const std::int64_t slot_bytes = (roles > 0 ? roles * role_words : shape.warps * (shape.iterations + 1) * probe_events) * word;
    const std::int64_t slots = std::clamp<std::int64_t>(most_tick_bytes / slot_bytes, 1, most_recorded_blocks);
    Buffers& own = run.buffers_.emplace_back();
    const std::pair<DeviceMemory*, std::int64_t> sizes[] = {
        {&own.blocks, shape.blocks * probe_block_numbers * word},
        {&own.ticks, slots * slot_bytes},
        {&own.row, (shape.steps * probe_row_numbers + shape.keys * probe_pair_numbers) * static_cast<std::int64_t>(sizeof(float))},
        {&own.slots, std::max<std::int64_t>(1, roles) * word}};
    for (const auto& [memory, bytes] : sizes) {
      Result<DeviceMemory> made = zeroed(bytes);
      if (!made) return made.error();
      *memory = std::move(*made);
    }
    constexpr int none = -1;
    addresses.push_back({own.blocks.address(), own.ticks.address(), own.row.address(), own.slots.address(), place.sm,
                         static_cast<int>(shape.iterations), static_cast<int>(slots),
                         shape.steps > 0 ? static_cast<int>(place.block) : none, static_cast<int>(place.row),
                         static_cast<int>(roles), roles > 0 ? static_cast<int>(plane) : none,
                         roles > 0 ? static_cast<int>(query) : none, shape.keys > 0 ? plane * problem.seq_q + query : none});
  }
  run.plan_ = kernel.plan_probed(problem, tensors, addresses);
  return run;
}

Status ProbeRun::free_slots() {
  for (Buffers& own : buffers_)
    if (Status cleared = own.slots.fill(0); !cleared) return cleared;
  return Done{};
}

Status ProbeRun::clear() {
  for (Buffers& own : buffers_)
    for (DeviceMemory* memory : {&own.blocks, &own.ticks, &own.row, &own.slots})
      if (Status cleared = memory->fill(0); !cleared) return cleared;
  return Done{};
}

Result<std::vector<ProbeRecords>> ProbeRun::read() const {
  std::vector<ProbeRecords> records(buffers_.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (Status read = read_all(buffers_[i].blocks, records[i].blocks); !read) return read.error();
    if (Status read = read_all(buffers_[i].ticks, records[i].ticks); !read) return read.error();
    if (Status read = read_all(buffers_[i].row, records[i].row); !read) return read.error();
  }
  return records;
}

}  // namespace tilescope
