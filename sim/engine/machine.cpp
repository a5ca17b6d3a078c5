// The event loop: which block does what next, and how long it takes.
#include "sim/engine/machine.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <limits>

namespace tilescope {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr int events_between_looks = 512;   // at the clock, for progress
constexpr std::size_t most_shapes_size = 128 << 20;  // bytes of schedules kept for blocks to come
constexpr std::chrono::milliseconds between_calls{10};

}  // namespace

Machine::Machine(const TileProgram& program, const GpuSpec& gpu, MemorySystem& memory, Recorder& recorder, ScheduleBuilder& builder)
    : program_(program), gpu_(gpu), memory_(memory), recorder_(recorder), builder_(builder), sms_(static_cast<std::size_t>(gpu.sm_count)) {}

void Machine::build_order() {
  std::size_t leaves = 1;
  while (leaves < sms_.size()) leaves *= 2;
  std::vector<Event> winners(2 * leaves, Event{never, std::numeric_limits<std::int32_t>::max()});
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) winners[leaves + sm] = run_ahead(static_cast<int>(sm));
  losers_.resize(leaves);
  for (std::size_t node = leaves - 1; node >= 1; --node) {
    const Event &a = winners[2 * node], &b = winners[2 * node + 1];
    winners[node] = b.before(a) ? b : a;
    losers_[node] = b.before(a) ? a : b;
  }
  losers_[0] = winners[1];
}

void Machine::reorder(Event event) {
  for (std::size_t node = (losers_.size() + static_cast<std::size_t>(event.sm)) / 2; node >= 1; node /= 2) {
    // Written without a branch: which of two SMs comes first is a coin toss to the processor.
    const Event other = losers_[node];
    const bool other_first = other.before(event);
    losers_[node] = other_first ? event : other;
    event = other_first ? other : event;
  }
  losers_[0] = event;
}

double Machine::load_time(const Resident& block) const {
  if (block.next_load == block.schedule->loads.size()) return never;
  const std::int32_t after = block.schedule->loads[block.next_load].after;
  if (after == -1) return block.issued;
  if (after < -1) return std::max(block.issued, block.landed[static_cast<std::size_t>(-2 - after)]);
  if (static_cast<std::uint32_t>(after) >= block.next_signal) return never;
  return std::max(block.issued, block.signals[static_cast<std::size_t>(after)]);
}

void Machine::refresh(Resident& block) {
  const BlockSchedule& schedule = *block.schedule;
  block.next_time = load_time(block);
  block.next = block.next_time < never ? Next::load : Next::nothing;
  if (block.next_compute < schedule.compute.size()) {
    const ScheduledOp op = schedule.compute[block.next_compute];
    if (op.wait >= static_cast<std::int32_t>(block.next_load)) return;
    const double time = op.wait < 0 ? block.compute_end : std::max(block.compute_end, block.landed[static_cast<std::size_t>(op.wait)]);
    if (time >= block.next_time) return;
    block.next_time = time;
    block.next = builder_.timings()[op.op_class & ~ScheduledOp::signal_bit].store ? Next::store : Next::compute;
  } else if (block.next_load == schedule.loads.size()) {
    block.next_time = std::max(block.compute_end, block.drained);
    block.next = Next::finish;
  }
}

void Machine::schedule_block(Resident& block, std::int64_t number) {
  const std::optional<BlockPlace> place = program_.place_of(launch_, number);
  if (!place) {
    BlockOperations& operations = block.focused ? block.operations : scratch_;
    program_.emit_block(launch_, number, operations);
    builder_.build(operations, block.own);
    block.schedule = &block.own;
    block.origin = builder_.origin(operations.plane, operations.first_row);
    return;
  }
  if (block.focused) program_.emit_block(launch_, number, block.operations);
  block.origin = builder_.origin(place->plane, place->first_row);
  if (const auto found = shapes_.find(place->shape); found != shapes_.end()) {
    block.shared = found->second;
    builder_.count_again(*block.shared);
  } else {
    program_.emit_block(launch_, number, scratch_);
    auto made = std::make_shared<BlockSchedule>();
    builder_.build(scratch_, *made);
    made->count_classes();
    if ((shapes_size_ += made->size()) > most_shapes_size) {
      shapes_.clear();  // blocks under way keep theirs
      shapes_size_ = made->size();
    }
    block.shared = shapes_[place->shape] = std::move(made);
  }
  block.schedule = block.shared.get();
}

void Machine::start_block(int sm, std::size_t slot, double time, WaitCause cause) {
  Resident& block = sms_[static_cast<std::size_t>(sm)].slots[slot];
  const std::int64_t number = next_block_++;
  block.run = recorder_.begin_run({launch_, sm, static_cast<std::int32_t>(slot), number, time, time});
  block.focused = block.run >= 0 && recorder_.wants_intervals(sm);
  schedule_block(block, number);
  block.next_compute = block.next_load = block.next_store = block.next_signal = 0;
  block.start = time;
  block.start_cause = cause;
  block.compute_end = block.issued = block.drained = time + gpu_.sm_block_start_cycles;
  block.landed.resize(block.schedule->loads.size());
  block.signals.resize(block.schedule->signals);
  if (block.focused) block.landed_by.resize(block.schedule->loads.size());
  refresh(block);
}

void Machine::record(int sm, const Resident& block, const Interval& interval, std::int32_t op) {
  const Operation& operation = block.operations.operations[static_cast<std::size_t>(op)];
  const bool has_ring = operation.kind == OpKind::load || is_shared(block.operations, operation.dst);
  const Slot slot = operation.kind == OpKind::store ? operation.src[0] : operation.dst;
  Interval noted = interval;
  noted.run = block.run;
  noted.op = op;
  noted.kind = operation.kind;
  recorder_.interval(sm, noted, {operation.tile, operation.iteration, has_ring ? operation.ring : 0, slot});
}

void Machine::record_compute(int sm_index, const Resident& block, double start, double end) {
  const Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const ScheduledOp op = block.schedule->compute[block.next_compute];
  const OpClass& c = builder_.op_class(op.op_class & ~ScheduledOp::signal_bit);
  Interval interval;
  interval.start = start;
  interval.end = end;
  interval.ready = block.next_compute == 0 ? block.start : block.compute_end;
  interval.unit = c.unit;
  if (c.timing.store) interval.bytes = c.bytes;
  // What it waited for last is why it did not start earlier: a server, else its data, else its block.
  constexpr WaitCause by_server[] = {WaitCause::tensor, WaitCause::exp, WaitCause::fp32, WaitCause::barrier};
  const auto server = static_cast<std::size_t>(c.timing.server);
  const double data = op.wait >= 0 ? block.landed[static_cast<std::size_t>(op.wait)] : 0;
  if (start <= interval.ready) interval.cause = WaitCause::none;
  else if (start > std::max(data, block.compute_end)) interval.cause = sm.free[server] == start ? by_server[server] : WaitCause::smem;
  else if (data > block.compute_end) interval.cause = block.landed_by[static_cast<std::size_t>(op.wait)];
  else interval.cause = block.start_cause;
  record(sm_index, block, interval, block.schedule->op_of_compute[block.next_compute]);
}

void Machine::compute(int sm_index, Resident& block, double limit, bool wins_ties) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const std::vector<ScheduledOp>& ops = block.schedule->compute;
  const OpTiming* const timings = builder_.timings();
  double time = block.next_time, until = load_time(block);
  for (;;) {
    const ScheduledOp op = ops[block.next_compute];
    const std::uint32_t op_class = op.op_class & ~ScheduledOp::signal_bit;
    const OpTiming& timing = timings[op_class];
    double& server = sm.free[static_cast<std::size_t>(timing.server)];
    double start = std::max(time, server);
    if (timing.smem_cycles > 0) start = std::max(start, sm.smem_free);
    const double end = start + timing.duration;
    recorder_.operation(op_class, start, end, end);
    if (block.focused) record_compute(sm_index, block, start, end);
    server = end;
    if (timing.smem_cycles > 0) sm.smem_free = start + timing.smem_cycles;
    block.compute_end = time = end;
    if ((op.op_class & ScheduledOp::signal_bit) != 0) {
      block.signals[block.next_signal++] = end;
      until = load_time(block);
    }
    if (++block.next_compute == ops.size()) break;
    const ScheduledOp following = ops[block.next_compute];
    if (following.wait >= static_cast<std::int32_t>(block.next_load)) break;
    if (following.wait >= 0) time = std::max(time, block.landed[static_cast<std::size_t>(following.wait)]);
    if (time >= until || time > limit || (time == limit && !wins_ties)) break;
    if (timings[following.op_class & ~ScheduledOp::signal_bit].store) break;
  }
  refresh(block);
}

void Machine::load(int sm, Resident& block) {
  const std::uint32_t at = block.next_load++;
  const ScheduledAccess& access = block.schedule->loads[at];
  const Transfer transfer = memory_.load(sm, block.next_time, access, block.origin);
  if (block.focused) {
    block.landed_by[at] = transfer.limit;
    Interval interval;
    interval.start = block.next_time;
    interval.end = transfer.end;
    interval.ready = at == 0 ? block.start : block.issued;
    interval.unit = Unit::copy;
    if (interval.start > interval.ready) interval.cause = access.after == -1 ? block.start_cause : WaitCause::buffer;
    interval.bytes = builder_.op_class(access.op_class).bytes;
    interval.hbm_bytes = transfer.hbm_bytes;
    record(sm, block, interval, block.schedule->op_of_load[at]);
  }
  // What it writes into shared memory takes the port there, on average from now on.
  if (const double cycles = builder_.timings()[access.op_class].smem_cycles; cycles > 0) {
    double& port = sms_[static_cast<std::size_t>(sm)].smem_free;
    port = std::max(port, block.next_time) + cycles;
  }
  block.issued = block.next_time;
  block.drained = std::max(block.drained, transfer.end);
  block.landed[at] = transfer.end;
}

void Machine::store(int sm, Resident& block) {
  const Transfer transfer = memory_.store(sm, block.next_time, block.schedule->stores[block.next_store++], block.origin);
  if (block.focused) record_compute(sm, block, block.next_time, transfer.end);
  const ScheduledOp op = block.schedule->compute[block.next_compute++];
  block.compute_end = block.next_time;
  block.drained = std::max(block.drained, transfer.end);
  if ((op.op_class & ScheduledOp::signal_bit) != 0) block.signals[block.next_signal++] = transfer.end;
}

void Machine::finish(int sm, Resident& block) {
  const double end = block.next_time;
  recorder_.end_run(block.run, end);
  launch_end_ = std::max(launch_end_, end);
  ++finished_;
  block.next = Next::nothing;
  block.next_time = never;
  const auto slot = static_cast<std::size_t>(&block - sms_[static_cast<std::size_t>(sm)].slots.data());
  if (next_block_ < blocks_) start_block(sm, slot, end, WaitCause::block_slot);
}

Machine::Event Machine::run_ahead(int sm_index) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  for (;;) {
    std::size_t first = 0, second = 0;
    double first_time = sm.slots[0].next_time, second_time = never;
    for (std::size_t slot = 1; slot < sm.slots.size(); ++slot) {
      const double time = sm.slots[slot].next_time;
      if (time < first_time) {
        second = first;
        second_time = first_time;
        first = slot;
        first_time = time;
      } else if (time < second_time) {
        second = slot;
        second_time = time;
      }
    }
    Resident& block = sm.slots[first];
    if (block.next != Next::compute) {
      sm.next_slot = first;
      return {first_time, sm_index};
    }
    compute(sm_index, block, second_time, first < second);
  }
}

double Machine::part_done() const {
  auto blocks = static_cast<double>(finished_);
  for (const Sm& sm : sms_)
    for (const Resident& block : sm.slots)
      if (block.next != Next::nothing) blocks += block.next_compute / (1.0 + static_cast<double>(block.schedule->compute.size()));
  return blocks / static_cast<double>(blocks_);
}

Result<double> Machine::run_launch(int launch, int blocks_per_sm, double start, const Progress& progress, double done_before, double share) {
  launch_ = launch;
  blocks_ = program_.launches()[static_cast<std::size_t>(launch)].blocks();
  next_block_ = finished_ = 0;
  launch_end_ = start;
  shapes_.clear();
  shapes_size_ = 0;
  for (Sm& sm : sms_) {
    sm.slots.resize(static_cast<std::size_t>(blocks_per_sm));
    for (Resident& block : sm.slots) {
      block.next = Next::nothing;
      block.next_time = never;
    }
  }
  // The first wave goes round the SMs; after it a block goes where a slot is free first.
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(blocks_per_sm) && next_block_ < blocks_; ++slot)
    for (int sm = 0; sm < static_cast<int>(sms_.size()) && next_block_ < blocks_; ++sm) start_block(sm, slot, start, WaitCause::launch);
  build_order();

  auto last_call = std::chrono::steady_clock::now();
  for (int events = 1; losers_[0].time < never; ++events) {
    const int sm = losers_[0].sm;
    Sm& owner = sms_[static_cast<std::size_t>(sm)];
    Resident& block = owner.slots[owner.next_slot];
    if (block.next == Next::load) load(sm, block);
    else if (block.next == Next::store) store(sm, block);
    else finish(sm, block);
    if (block.next != Next::nothing) refresh(block);
    reorder(run_ahead(sm));
    if (!progress || events % events_between_looks != 0) continue;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_call < between_calls) continue;
    last_call = now;
    if (!progress(done_before + share * part_done())) return Error{"the simulation was cancelled", Error::Kind::cancelled};
  }
  assert(finished_ == blocks_);  // operations wait only for earlier ones, so none can wait for ever
  return launch_end_;
}

}  // namespace tilescope
