// Builds the schedule of a shape once, and compares positions of streams.
#include "sim/engine/schedule_cache.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilescope {

namespace {

constexpr std::size_t most_shapes_size = 128 << 20;  // bytes of cached schedules
constexpr std::size_t most_repetitions = 64;

}  // namespace

void ScheduleCache::begin_launch(int launch) {
  launch_ = launch;
  shapes_.clear();
  shapes_size_ = 0;
  repetitions_.clear();
}

void ScheduleCache::schedule(ResidentBlock& block, std::int64_t number) {
  const std::optional<BlockPlace> place = program_.place_of(launch_, number);
  if (!place) {
    BlockOperations& operations = block.focused ? block.operations : scratch_;
    program_.emit_block(launch_, number, operations);
    builder_.build(operations, block.own);
    block.schedule = &block.own;
    block.origin = builder_.origin(operations.domain);
    return;
  }
  if (block.focused) program_.emit_block(launch_, number, block.operations);
  block.origin = builder_.origin(place->domain);
  if (const auto found = shapes_.find(place->shape); found != shapes_.end()) {
    block.shared = found->second;
    builder_.count_again(*block.shared);
  } else {
    program_.emit_block(launch_, number, scratch_);
    auto made = std::make_shared<BlockSchedule>();
    builder_.build(scratch_, *made);
    made->count_classes();
    positions_.add(*made);
    if ((shapes_size_ += made->size()) > most_shapes_size) {
      shapes_.clear();  // running blocks keep theirs alive
      repetitions_.clear();
      shapes_size_ = made->size();
    }
    block.shared = shapes_[place->shape] = std::move(made);
  }
  block.schedule = block.shared.get();
}

double ScheduleCache::repetitions(const ResidentGroup& group, const Period::Advance& advance) {
  const auto times = [](std::uint32_t from, std::uint32_t until, std::uint32_t step) {
    if (until <= from) return 0.0;
    const std::uint32_t whole = step == 0 ? 0 : (until - 1 - from) / step;
    return step == 0 ? ResidentGroup::never : static_cast<double>(whole);
  };
  const OperationStream& stream = *group.stream;
  const std::uint32_t compute = group.next_compute, load = group.next_load;
  return std::min(times(compute, repeats_until(stream.positions, compute, advance.operations, advance.loads), advance.operations),
                  times(load, repeats_until(stream.load_positions, load, advance.loads, advance.signals), advance.loads));
}

std::uint32_t ScheduleCache::repeats_until(const std::vector<OperationStream::Position>& positions, std::uint32_t from,
                                           std::uint32_t step, std::uint32_t waited) {
  Repetition* later = nullptr;
  for (Repetition& known : repetitions_) {
    if (known.positions != positions.data() || known.step != step || known.waited != waited || known.end <= from) continue;
    if (known.begin <= from) return known.end;
    later = &known;
  }
  std::uint32_t end = from;
  while (end + step < positions.size() && positions[end].number != 0 && positions[end].number == positions[end + step].number &&
         static_cast<std::uint32_t>(positions[end + step].waited_for - positions[end].waited_for) == waited) {
    if (later != nullptr && end == later->begin) {
      later->begin = from;
      return later->end;
    }
    ++end;
  }
  if (repetitions_.size() == most_repetitions) repetitions_.clear();
  repetitions_.push_back({positions.data(), step, waited, from, end});
  return end;
}

}  // namespace tilescope
