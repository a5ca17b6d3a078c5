// The event loop: picks the next operation of each SM and computes how long it takes.
#include "sim/engine/machine.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/engine/launch_order.h"
#include "sim/engine/sm_order.h"

namespace tilescope {

namespace {

constexpr std::array<std::uint8_t, no_pipe + 1> every_pipe = {0, 1, 2, 3, 4};
constexpr int events_between_looks = 512;            // reading the host's clock at every event would be slow
constexpr std::size_t most_shapes_size = 128 << 20;  // bytes of cached schedules
constexpr std::chrono::milliseconds between_calls{10};

}  // namespace

Machine::Machine(const TileProgram& program, const SimulationRequest& request, MemorySystem& memory, Recorder& recorder,
                 ScheduleBuilder& builder)
    : program_(program),
      gpu_(request.gpu),
      block_order_(request.block_order),
      give_up_after_(request.give_up_after_cycles > 0 ? request.give_up_after_cycles : never),
      memory_(memory),
      recorder_(recorder),
      builder_(builder),
      sms_(static_cast<std::size_t>(request.gpu.sm_count)) {
  for (std::uint8_t pipe = 0; pipe <= no_pipe; ++pipe) {
    const bool yields = pipe == pipe_of(Server::tensor) || pipe == pipe_of(Server::exp);
    pipe_of_oldest_[pipe] = yields && builder.models_instruction_latency() ? no_pipe : pipe;
  }
}

void Machine::refresh(Sm& sm, ResidentGroup& group) {
  IssueOrder::Candidate candidate{.load = load_time(group), .pipe = {no_pipe, no_pipe}, .port = no_pipe};
  group.next = candidate.load < never ? Next::load : Next::nothing;
  if (group.next_compute < group.op_count) {
    const ScheduledOp op = group.ops[group.next_compute];
    candidate.ready = ready_time(group, op);
    if (candidate.ready < never) {
      const OpTiming& timing = builder_.timings()[op.number()];
      candidate.pipe = pipes_for(group, timing);
      candidate.port = timing.port;
      group.next = timing.store ? Next::store : Next::compute;
    }
  } else if (group.next_load == group.load_count) {
    candidate.ready = std::max(group.compute_end, group.drained);
    group.next = Next::finish;
  }
  sm.issue_order.set(group.slot, candidate);
}

void Machine::schedule_block(ResidentGroup& first, std::int64_t number) {
  const std::optional<BlockPlace> place = program_.place_of(launch_, number);
  if (!place) {
    BlockOperations& operations = first.focused ? first.operations : scratch_;
    program_.emit_block(launch_, number, operations);
    builder_.build(operations, first.own);
    first.schedule = &first.own;
    first.origin = builder_.origin(operations.domain);
    return;
  }
  if (first.focused) program_.emit_block(launch_, number, first.operations);
  first.origin = builder_.origin(place->domain);
  if (const auto found = shapes_.find(place->shape); found != shapes_.end()) {
    first.shared = found->second;
    builder_.count_again(*first.shared);
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
    first.shared = shapes_[place->shape] = std::move(made);
  }
  first.schedule = first.shared.get();
}

void Machine::start_block(int sm, ResidentGroup& first, double time, WaitCause cause) {
  // The GPU launches one block at a time, whatever SM it goes to.
  time = std::max(time, next_start_);
  next_start_ = time + gpu_.launch_block_cycles;
  take_block(sm, first, time, next_block_++);
  for (std::size_t group = 0; group < builder_.group_count(); ++group) start_group(sm, (&first)[group], group, time, cause);
}

void Machine::take_block(int sm, ResidentGroup& first, double time, std::int64_t position) {
  const std::int64_t number = first_block_ + sequence_.at(position);
  Sm& owner = sms_[static_cast<std::size_t>(sm)];
  if (owner.blocks++ == 0) owner.occupied_since = time;
  first.run = recorder_.begin_run(
      {launch_, sm, static_cast<std::int32_t>(first.slot / builder_.group_count()), number, time, time, device_});
  first.focused = first.run >= 0 && recorder_.wants_intervals(sm);
  schedule_block(first, number);
  first.groups_left = builder_.group_count();
  first.signalled.assign(first.schedule->tokens.size(), {});
  first.ordinal = position + 1;
  first.waiting = 0;
}

double Machine::carried_time(const ResidentGroup& group, const TokenUse& use) {
  const ResidentGroup* const before = group.block->neighbour;
  if (use.carry < 0 || before == nullptr || before->groups_left == 0 || before->ordinal > group.block->ordinal) return 0;
  const std::vector<BlockSchedule::TokenTotal>& totals = before->schedule->token_totals;
  for (std::size_t token = 0; token < totals.size(); ++token) {
    if (totals[token].number != use.carry) continue;
    const std::vector<double>& times = before->signalled[token];
    if (times.size() < static_cast<std::size_t>(totals[token].signals)) return never;
    return times.empty() ? 0 : times.back();
  }
  return 0;  // the block before did not use the buffer
}

void Machine::go_on_with_next(int sm, ResidentGroup& first, std::size_t group, double time) {
  ResidentGroup& next = *first.neighbour;
  if (next.groups_left > 0 && next.ordinal < first.ordinal) {  // the place still has the block before
    first.waiting |= 1U << group;
    return;
  }
  if (next.groups_left == 0) {
    const std::int64_t position = stride_ > 0 ? first.ordinal - 1 + stride_ : next_block_;
    if (position >= blocks_) return;
    if (stride_ == 0) ++next_block_;
    take_block(sm, next, time, position);
  }
  start_group(sm, (&next)[group], group, time, WaitCause::none);
  Sm& owner = sms_[static_cast<std::size_t>(sm)];
  refresh(owner, (&next)[group]);
}

void Machine::start_group(int sm, ResidentGroup& group, std::size_t number, double time, WaitCause cause) {
  ResidentGroup& first = *(&group - number);
  group.block = &first;
  group.run = first.run;
  group.focused = first.focused;
  group.origin = first.origin;
  group.stream = &first.schedule->groups[number];
  const OperationStream& schedule = *group.stream;
  group.ops = schedule.compute.data();
  group.loads = schedule.loads.data();
  group.op_count = static_cast<std::uint32_t>(schedule.compute.size());
  group.load_count = static_cast<std::uint32_t>(schedule.loads.size());
  group.next_compute = group.next_load = group.next_store = 0;
  group.moments.assign(schedule.moments(), never);
  group.moments[OperationStream::at_once] = 0;
  group.times = group.moments.data();
  group.next_signal = group.times + schedule.signal(0);
  const auto tokens = [](const std::vector<TokenUse>& uses) { return uses.empty() ? nullptr : uses.data(); };
  group.positions = schedule.positions.data();
  group.load_positions = schedule.load_positions.data();
  group.tokens_of_compute = tokens(schedule.tokens_of_compute);
  group.tokens_of_loads = tokens(schedule.tokens_of_loads);
  if (group.focused) group.landed_by.resize(schedule.loads.size());
  group.start = time;
  group.start_cause = cause == WaitCause::none ? WaitCause::program_order : cause;
  // The first blocks on an SM wait until the launch's code and parameters are fetched.
  const double fetched = cause == WaitCause::launch ? gpu_.launch_fetch_cycles : 0;
  const double begin = cause == WaitCause::none ? 0 : gpu_.sm_block_start_cycles + fetched;
  group.compute_end = group.issued = group.drained = time + begin;
  group.copied = 0;
  Sm& owner = sms_[static_cast<std::size_t>(sm)];
  group.issue_rate = 0;
  if (group.op_count + group.load_count > 0 && cause != WaitCause::none) {
    const OpTiming& setup = builder_.setup();
    take_pipes(owner, setup, time);
    const double longer = crowded(owner, group, setup, group.drained);
    note_issue_rate(group, setup.issued, setup.duration + longer);
    group.compute_end = group.issued = group.drained = group.drained + setup.duration + longer;
  }
  group.sliced_end = group.sliced = 0;
  group.beside = {};
  group.beside_until = group.owed = 0;
  owner.issue_order.set_age(group.slot, static_cast<std::uint64_t>(first.ordinal));
  refresh(owner, group);
}

void Machine::record(int sm, const ResidentGroup& group, const Interval& interval, std::int32_t op) {
  const BlockOperations& operations = group.block->operations;
  const Operation& operation = operations.operations[static_cast<std::size_t>(op)];
  const ChipTile chip_tile = writes_memory(operation.kind) ? operation.src[0] : operation.dst;
  const bool has_ring = operation.kind == OpKind::load || is_shared(operations, operation.dst) || chip_tile.has_strips();
  Interval noted = interval;
  noted.run = group.run;
  noted.op = op;
  noted.kind = operation.kind;
  noted.group = operation.group;
  recorder_.interval(sm, noted, operation.tile, operation.iteration, has_ring ? buffer_of(operation, chip_tile) : 0, chip_tile);
}

void Machine::record_compute(int sm_index, const ResidentGroup& group, double start, double end, double streams) {
  const Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const ScheduledOp op = group.stream->compute[group.next_compute];
  const OpClass& c = builder_.op_class(op.number());
  Interval interval;
  interval.start = start;
  interval.end = end;
  interval.ready = group.next_compute == 0 ? group.start : group.compute_end;
  interval.unit = c.unit;
  if (c.timing.store) interval.bytes = c.bytes;
  interval.streams = static_cast<float>(streams);
  // A wait can have several causes in sequence; report the longest one.
  constexpr WaitCause by_server[] = {WaitCause::tensor, WaitCause::exp, WaitCause::fp32};
  const auto server = static_cast<std::size_t>(c.timing.server);
  const double data = ready_time(group, op);
  const double for_start = group.compute_end - interval.ready, for_data = data - group.compute_end, for_server = start - data;
  if (start <= interval.ready)
    interval.cause = WaitCause::none;
  else if (for_server > std::max(for_start, for_data))
    interval.cause = c.timing.store                                                                ? WaitCause::fp32
                     : server < std::size(by_server) && sm.free[pipe_of(c.timing.server)] == start ? by_server[server]
                                                                                                   : WaitCause::smem;
  else if (for_data > for_start)
    interval.cause = op.wait == OperationStream::at_once ? WaitCause::barrier  // a token of another group
                     : op.wait > static_cast<std::int32_t>(group.load_count)
                         ? WaitCause::tensor  // its own product
                         : group.landed_by[static_cast<std::size_t>(op.wait) - 1];
  else
    interval.cause = group.start_cause;
  record(sm_index, group, interval, group.stream->op_of_compute[group.next_compute]);
}

template <bool plain>
inline void Machine::compute(int sm_index, ResidentGroup& group, double start, IssueKey rival) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const OpTiming* const timings = builder_.timings();
  double until = sm.issue_order.candidate(group.slot).load;
  // Continue while the next operation starts before the block's own next load and before the rival issues. Ties go to the older.
  std::uint64_t before_rival = order_of(time_of(rival)) + (sm.issue_order.order_key(group.slot) <= order_key_of(rival) ? 1 : 0);
  if (!plain) before_rival = std::min(before_rival, order_of(sm.products.next_issued()));
  const std::uint8_t* const awaited_pipe = sm.issue_order.is_oldest(group.slot) ? pipe_of_oldest_.data() : every_pipe.data();
  const ResidentGroup* const other = plain ? &sm.slots.front() + (1 - group.slot) : nullptr;
  const double others_take = plain ? std::min(other->issue_rate, 1.0) : 0;
  const ScheduledOp* next = group.ops + group.next_compute;
  const ScheduledOp* const end_of_ops = group.ops + group.op_count;
  const OpTiming* timing = timings + next->number();
  float issued = 0;      // instructions of the latest operation that issues any
  double issued_in = 1;  // its duration
  for (;;) {
    const ScheduledOp op = *next;
    double longer = 0;
    if (plain && timing->issued > 0)
      longer = std::max(0.0, timing->issued * (other->compute_end > start ? others_take : 0.0) - timing->spare);
    if (!plain) longer = crowded(sm, group, *timing, start);
    const double pipe_free = sm.free[timing->pipe[group.sliced]];  // before the operation itself takes more of the pipe
    if (are_disturbed_) longer += wait_beside_products(sm, group, op.number(), start, timing->duration + longer);
    const double duration = timing->duration + longer;
    if (timing->issued > 0) {
      issued = timing->issued;
      issued_in = duration;
    }
    // The oldest block does not wait for a younger one to leave the pipe. They share it, so the operation takes longer instead.
    const double beside = std::min(std::max(0.0, pipe_free - start), duration);
    double end = start + duration + beside;
    if (timing->product && group.sliced != 0) {
      end = std::max(end, group.sliced_end + timing->duration / group.slices);
      group.sliced_end = group.sliced = 0;
    }
    // The trace shows the pipe as busy only once it is free of the younger block's operation.
    const double busy_from = std::max(start, sm.free[timing->pipe[0]]), busy_to = busy_from + timing->shown;
    if (!plain && timing->asynchronous) {
      const auto at = static_cast<std::uint32_t>(next - group.ops);
      double* const moment = op.signals() ? group.next_signal++ : nullptr;
      const double busy_before = std::max(start, sm.products.all_done());
      sm.products.push({.slot = group.slot,
                        .number = at,
                        .issued = start,
                        .ready = at == 0 ? group.start : group.compute_end,
                        .least = duration,
                        .work = timing->shown,
                        .depth = timing->spare,
                        .reads = timing->smem_cycles,
                        .moment = moment});
      disturb(sm, group, start, busy_before);
      take_pipes(sm, *timing, start);
      group.compute_end = never;
      ++next;
      break;
    }
    recorder_.operation(op.number(), busy_from, busy_to, busy_to);
    if (is_recording_) note_operation(group, op, busy_from, busy_to);
    if (!plain && group.focused) {
      group.next_compute = static_cast<std::uint32_t>(next - group.ops);
      record_compute(sm_index, group, start, start + timing->shown);
    }
    end = std::max(end, take_all(sm, *timing, start));
    if (timing->slices > 1) {
      group.sliced_end = std::max(group.sliced_end, end);
      group.sliced = 1;
      group.slices = timing->slices;
      end = start + duration / timing->slices;
    }
    group.compute_end = end;
    if (op.signals()) {
      *group.next_signal++ = end;
      until = load_time(group);
    }
    const TokenUse* const token =
        plain || group.tokens_of_compute == nullptr ? nullptr : group.tokens_of_compute + (next - group.ops);
    const bool met = token != nullptr && signal(sm, group, *token, end);
    if (++next == end_of_ops || met) break;  // a signalled group may now go first
    timing = timings + next->number();
    if (timing->store) break;
    double ready = std::max(end, group.times[next->wait]);
    if (token != nullptr) ready = std::max(ready, token_time(group, token[1]));
    start = std::max(std::max(sm.free[awaited_pipe[timing->pipe[group.sliced]]], sm.free[timing->port]), ready);
    if (order_of(start) < std::min(order_of(until), before_rival)) continue;
    if (ready == never) break;
    group.next_compute = static_cast<std::uint32_t>(next - group.ops);
    sm.issue_order.set(group.slot, {ready, until, pipes_for(group, *timing), timing->port});
    return note_issue_rate(group, issued, issued_in);
  }
  group.next_compute = static_cast<std::uint32_t>(next - group.ops);
  note_issue_rate(group, issued, issued_in);
  refresh(sm, group);
}

inline void Machine::load(int sm, ResidentGroup& group, double time) {
  const std::uint32_t at = group.next_load++;
  land(sm, group, time, at, memory_.load(sm, time, group.loads[at], group.origin));
}

void Machine::land(int sm, ResidentGroup& group, double time, std::uint32_t at, Transfer transfer) {
  const ScheduledAccess& access = group.loads[at];
  const OpTiming& timing = builder_.timings()[access.op_class];
  Sm& owner = sms_[static_cast<std::size_t>(sm)];
  take_pipes(owner, timing, time);
  if (timing.asynchronous) transfer.end += gpu_.sm_box_latency_cycles;
  // The copy occupies the memory pipe of its SM. When exactly its lines land is not modelled; from now on is right on average.
  if (timing.smem_cycles > 0)
    transfer.end =
        std::max(transfer.end, serve(owner, owner.memory_pipe.copies_free, time, timing.smem_cycles) + gpu_.l2_latency_cycles);
  if (group.focused) {
    // Where an earlier copy lands later, it is what the group waits for.
    const bool follows = timing.copy || !builder_.models_instruction_latency(), is_last = !follows || transfer.end >= group.copied;
    group.landed_by[at] = is_last ? transfer.limit : group.copied_by;
    if (timing.copy && is_last) group.copied_by = transfer.limit;
    Interval interval;
    interval.start = time;
    interval.end = transfer.end;
    interval.ready = at == 0 ? group.start : group.issued;
    interval.unit = Unit::copy;
    const bool has_token = group.tokens_of_loads != nullptr && group.tokens_of_loads[at].wait >= 0;
    if (interval.start > interval.ready)
      interval.cause = access.after == OperationStream::at_once && !has_token ? group.start_cause
                       : timing.paced                                         ? WaitCause::program_order
                                                                              : WaitCause::buffer;
    interval.bytes = builder_.op_class(access.op_class).bytes;
    interval.hbm_bytes = transfer.hbm_bytes;
    interval.streams = static_cast<float>(transfer.streams);
    record(sm, group, interval, group.stream->op_of_load[at]);
  }
  group.issued = time + (timing.asynchronous ? timing.duration : 0);
  group.drained = std::max(group.drained, transfer.end);
  note_landing(group, at, timing, transfer.end);
  if (group.tokens_of_loads != nullptr) signal(owner, group, group.tokens_of_loads[at], transfer.end);
}

void Machine::end_issue(int sm_index) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const double issued = sm.products.next_issued();
  const QueuedProduct product = sm.products.pop();
  ResidentGroup& group = sm.slots[product.slot];
  const double end = product.end + builder_.product_latency();
  recorder_.operation(group.ops[product.number].number(), product.end - product.work, product.end, product.end);
  if (group.focused) record_product(sm_index, group, product);
  if (product.moment != nullptr) *product.moment = end;
  group.compute_end = issued;
  group.drained = std::max(group.drained, end);
  signal(sm, group, group.tokens_of_compute[product.number], end);
  refresh(sm, group);
}

void Machine::record_product(int sm, const ResidentGroup& group, const QueuedProduct& product) {
  const OpClass& c = builder_.op_class(group.ops[product.number].number());
  Interval interval;
  interval.start = product.start;
  interval.end = product.end;
  interval.ready = product.ready;
  interval.unit = c.unit;
  const double for_data = product.issued - product.ready, for_cores = product.start - product.issued;
  if (interval.start > interval.ready) {
    const ScheduledOp op = group.ops[product.number];
    interval.cause = for_cores > for_data                  ? WaitCause::tensor
                     : op.wait == OperationStream::at_once ? WaitCause::barrier
                                                           : group.landed_by[static_cast<std::size_t>(op.wait) - 1];
  }
  record(sm, group, interval, group.stream->op_of_compute[product.number]);
}

void Machine::store(int sm, ResidentGroup& group, double time) {
  const Transfer transfer = memory_.store(sm, time, group.stream->stores[group.next_store++], group.origin);
  const ScheduledOp op = group.ops[group.next_compute];
  const OpTiming& timing = builder_.timings()[op.number()];
  // The tile is staged through shared memory first, so it leaves from the middle of the operation on.
  const double landed = transfer.end + (builder_.models_instruction_latency() && !timing.asynchronous ? timing.duration / 2 : 0);
  group.drained = std::max(group.drained, landed);
  if (group.focused) record_compute(sm, group, time, landed, transfer.streams);
  const std::uint32_t at = group.next_compute++;
  Sm& owner = sms_[static_cast<std::size_t>(sm)];
  const double duration = timing.duration + crowded(owner, group, timing, time);
  note_issue_rate(group, timing.issued, duration);
  group.compute_end = time + duration;
  double read = group.compute_end;  // when the stored buffer has been read
  if (timing.asynchronous) {
    if (timing.smem_cycles > 0) read = serve(owner, owner.memory_pipe.copies_free, time, timing.smem_cycles);
    read = std::max({group.compute_end, read, transfer.sent});  // it reads no faster than the L2 takes
  } else {
    read = group.compute_end = std::max({group.compute_end, take_all(owner, timing, time), add_until(owner, group, at, time)});
  }
  if (op.signals()) *group.next_signal++ = read;
  if (group.tokens_of_compute != nullptr) signal(owner, group, group.tokens_of_compute[at], read);
}

bool Machine::signal(Sm& sm, const ResidentGroup& group, const TokenUse& use, double time) {
  if (use.signal < 0) return false;
  ResidentGroup& first = *group.block;
  std::vector<double>& times = first.signalled[static_cast<std::size_t>(use.signal)];
  times.push_back(times.empty() ? time : std::max(times.back(), time));
  for (std::size_t other = 0; other < builder_.group_count(); ++other) {
    if (ResidentGroup* peer = &first + other; peer != &group && peer->stream != nullptr) refresh(sm, *peer);
    if (first.neighbour != nullptr && first.neighbour[other].stream != nullptr) refresh(sm, first.neighbour[other]);
  }
  return true;
}

Error Machine::deadlock() const {
  for (const Sm& sm : sms_)
    for (const ResidentGroup& group : sm.slots) {
      if (group.stream == nullptr || (group.next_compute == group.op_count && group.next_load == group.load_count)) continue;
      const KernelNeeds& needs = program_.launches()[static_cast<std::size_t>(launch_)].needs;
      const auto number = static_cast<std::size_t>(&group - group.block);
      const auto stuck_on = [&](const std::vector<TokenUse>& uses, std::uint32_t at) {
        return at < uses.size() && token_time(group, uses[at]) == never ? uses[at] : TokenUse{};
      };
      TokenUse use = stuck_on(group.stream->tokens_of_loads, group.next_load);
      if (use.wait < 0) use = stuck_on(group.stream->tokens_of_compute, group.next_compute);
      if (use.wait < 0) continue;
      const auto token = static_cast<std::size_t>(use.wait);
      return refuse("the program can never go on: {} waits for signal {} of token '{}', which was signalled {} times",
                    number < needs.groups.size() ? needs.groups[number].name : "a block", use.count,
                    group.block->schedule->tokens[token], group.block->signalled[token].size());
    }
  return refuse("the program can never go on: an operation waits for one that comes after it");
}

void Machine::finish(int sm, ResidentGroup& group, double time) {
  group.next = Next::nothing;
  group.stream = nullptr;
  sms_[static_cast<std::size_t>(sm)].issue_order.clear(group.slot);
  ResidentGroup& first = *group.block;
  const auto number = static_cast<std::size_t>(&group - &first);
  if (--first.groups_left > 0) {  // events come in time order, so the last group ends the block
    if (first.neighbour != nullptr) go_on_with_next(sm, first, number, time);
    return;
  }
  recorder_.end_run(group.run, time);
  Sm& owner = sms_[static_cast<std::size_t>(sm)];
  if (--owner.blocks == 0) owner.occupied_cycles += time - owner.occupied_since;
  launch_end_ = std::max(launch_end_, time);
  ++finished_;
  if (first.neighbour == nullptr) {
    if (next_block_ < blocks_) start_block(sm, first, time, WaitCause::block_slot);
    return;
  }
  go_on_with_next(sm, first, number, time);
  for (std::size_t waiting = 0; waiting < builder_.group_count(); ++waiting)
    if ((first.neighbour->waiting >> waiting & 1U) != 0) go_on_with_next(sm, *first.neighbour, waiting, time);
  first.neighbour->waiting = 0;
}

double Machine::run_ahead(int sm_index) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  for (;;) {
    const IssueOrder::Choice choice = sm.issue_order.next(sm.free);
    if (!sm.products.empty() && sm.products.next_issued() <= choice.time) {
      end_issue(sm_index);
      continue;
    }
    ResidentGroup& group = sm.slots[choice.slot];
    if (choice.load_first && group.next != Next::nothing) group.next = Next::load;
    if (group.next != Next::compute) {
      next_of_sm_[static_cast<std::size_t>(sm_index)] = &group;
      return choice.time;
    }
    if (sm.slots.size() == 2 && !group.focused && group.tokens_of_compute == nullptr)  // the common case
      compute<true>(sm_index, group, choice.time, choice.rival);
    else
      compute<false>(sm_index, group, choice.time, choice.rival);
  }
}

double Machine::part_done() const {
  auto blocks = static_cast<double>(finished_);
  for (const Sm& sm : sms_)
    for (const ResidentGroup& group : sm.slots)
      if (group.next != Next::nothing)
        blocks += group.next_compute / (1.0 + group.op_count) / static_cast<double>(builder_.group_count());
  return blocks / static_cast<double>(blocks_);
}

void Machine::begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count) {
  launch_ = launch;
  const LaunchSpec& spec = program_.launches()[static_cast<std::size_t>(launch)];
  builder_.begin_launch(spec.needs, spec.persistent);
  warps_a_scheduler_.clear();
  for (std::size_t group = 0; group < builder_.group_count(); ++group)
    warps_a_scheduler_.push_back(builder_.warps_of(group) / gpu_.sm_sub_partitions);
  first_block_ = first;
  blocks_ = count;
  sequence_ = launch_order(spec, program_.problem(), gpu_, block_order_, blocks_);
  next_block_ = finished_ = 0;
  next_start_ = start;
  launch_end_ = start;
  shapes_.clear();
  shapes_size_ = 0;
  binade_end_ = 0;
  plan_at_ = plan_wait_ = 0;
  clear_upcoming();
  repetitions_.clear();
  // In a persistent kernel the groups of a block do not end together, so its next block has a place of its own.
  const std::size_t groups = builder_.group_count(), places = spec.persistent ? 2 : 1;
  stride_ = spec.persistent && !spec.draws ? std::min<std::int64_t>(blocks_, std::int64_t{blocks_per_sm} * gpu_.sm_count) : 0;
  for (Sm& sm : sms_) {
    sm.slots.resize(static_cast<std::size_t>(blocks_per_sm) * places * builder_.group_count());
    sm.issue_order.reset(sm.slots.size());
    sm.products.clear();
    sm.stretch = sm.period = -1;
    sm.blocks = 0;
    sm.occupied_cycles = 0;
    for (std::size_t slot = 0; slot < sm.slots.size(); ++slot) {
      sm.slots[slot].slot = static_cast<std::uint32_t>(slot);
      sm.slots[slot].next = Next::nothing;
      sm.slots[slot].stream = nullptr;
      sm.slots[slot].groups_left = 0;
      const std::size_t number = slot / groups;
      sm.slots[slot].neighbour = spec.persistent ? &sm.slots[(number ^ 1) * groups] : nullptr;
    }
  }
  are_crowded_ = static_cast<std::size_t>(blocks_per_sm) * groups > 1;
  are_disturbed_ = builder_.is_disturbed();
  // The first wave goes round robin over the SMs. Later blocks go to the first free slot.
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(blocks_per_sm) && next_block_ < blocks_; ++slot) {
    if (const std::int64_t left = blocks_ - next_block_; left < static_cast<std::int64_t>(sms_.size())) {
      for (const int sm : sms_of_part(gpu_, static_cast<int>(left)))
        start_block(sm, sms_[static_cast<std::size_t>(sm)].slots[slot * places * groups], start, WaitCause::launch);
      break;
    }
    for (std::size_t sm = 0; sm < sms_.size(); ++sm)
      start_block(static_cast<int>(sm), sms_[sm].slots[slot * places * groups], start, WaitCause::launch);
  }
  next_of_sm_.assign(sms_.size(), nullptr);
  order_.reset(sms_.size());
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) order_.set(sm, run_ahead(static_cast<int>(sm)));
}

int Machine::go_on_with_events(int most) {
  int done = 1;
  if (is_upcoming_next())
    done = go_on_in_periods(most);
  else
    go_on_with_sm();
  if (next_event() >= plan_at_) plan_loads();
  return done;
}

void Machine::go_on_with_sm() {
  const double time = order_.time();
  const std::size_t number = order_.sm();
  const auto sm = static_cast<int>(number);
  Sm& owner = sms_[number];
  if (time >= binade_end_) begin_binade(time);
  double next = 0;
  if (owner.stretch < 0 || !replay(sm, time, next)) {
    ResidentGroup& group = *next_of_sm_[number];
    const bool loads = group.next == Next::load;
    if (loads)
      load(sm, group, time);
    else if (group.next == Next::finish)
      finish(sm, group, time);
    else
      store(sm, group, time);
    if (group.next != Next::nothing) refresh(owner, group);
    if (!loads) owner.stretch = -1;
    next = loads ? go_on(sm, time) : run_ahead(sm);
  }
  order_.set(number, next);
}

Result<double> Machine::end_launch() const {
  if (finished_ != blocks_) return deadlock();
  return launch_end_;
}

int Machine::sms_with_blocks() const {
  return static_cast<int>(std::count_if(sms_.begin(), sms_.end(), [](const Sm& sm) { return sm.occupied_cycles > 0; }));
}

double Machine::sm_cycles() const {
  return std::accumulate(sms_.begin(), sms_.end(), 0.0, [](double sum, const Sm& sm) { return sum + sm.occupied_cycles; });
}

Result<double> Machine::run_launch(int launch, int blocks_per_sm, double start, const Progress& progress, double done_before,
                                   double share) {
  begin_launch(launch, blocks_per_sm, start, 0, program_.launches()[static_cast<std::size_t>(launch)].blocks());
  auto last_call = std::chrono::steady_clock::now();
  for (int left = events_between_looks; next_event() != never; left -= go_on_with_events(left)) {
    if (left > 0) continue;
    left = events_between_looks;
    if (next_event() > give_up_after_) return Error{phrase("the simulation was cancelled"), Error::Kind::cancelled};
    if (!progress) continue;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_call < between_calls) continue;
    last_call = now;
    if (!progress(done_before + share * part_done())) return Error{phrase("the simulation was cancelled"), Error::Kind::cancelled};
  }
  return end_launch();
}

}  // namespace tilescope
