// Picks the next operation of an SM and works out how long it takes.
#include "sim/engine/sm_runner.h"

#include <algorithm>

#include "sim/core/refuse.h"
#include "sim/engine/beside_products.h"
#include "sim/engine/launch_order.h"
#include "sim/engine/sm_order.h"

namespace tilescope {

namespace {

constexpr std::array<std::uint8_t, no_pipe + 1> every_pipe = {0, 1, 2, 3, 4};

}  // namespace

SmRunner::SmRunner(const TileProgram& program, const SimulationRequest& request, MemorySystem& memory, Recorder& recorder,
                   ScheduleBuilder& builder)
    : program_(program),
      gpu_(request.gpu),
      block_order_(request.block_order),
      memory_(memory),
      recorder_(recorder),
      builder_(builder),
      intervals_(builder, recorder),
      sms_(static_cast<std::size_t>(request.gpu.sm_count)),
      schedules_(program, builder) {
  for (std::uint8_t pipe = 0; pipe <= no_pipe; ++pipe) {
    const bool yields = pipe == pipe_of(Pipe::tensor) || pipe == pipe_of(Pipe::exp);
    pipe_of_oldest_[pipe] = yields && builder.costs().models_instruction_latency() ? no_pipe : pipe;
  }
}

inline double SmRunner::add_until(RunningSm& sm, const ResidentGroup& group, std::uint32_t at, double time) const {
  const OpClass& c = builder_.op_class(group.ops[at].number());
  if (!c.timing.adds) return time;
  const double warps = std::max(1.0, warps_a_scheduler_[group.number]);
  const OpTiming* const before = at > 0 ? builder_.timings() + group.ops[at - 1].number() : nullptr;
  const double multiplied = before != nullptr && before->product ? before->work[static_cast<std::size_t>(Pipe::tensor)] : 0;
  const double begin = std::max(sm.added, time - multiplied * (1 - 1 / warps));
  sm.added = begin + c.busy_cycles;
  const double queue = gpu_.sm_reduce_queue_bytes * c.busy_cycles / static_cast<double>(c.bytes);
  return std::max(time, begin + c.busy_cycles / warps - queue);
}

void SmRunner::refresh(RunningSm& sm, ResidentGroup& group) {
  IssueOrder::Candidate candidate{.load = group.load_time(), .pipe = {no_pipe, no_pipe}, .port = no_pipe};
  group.next = candidate.load < never ? Next::load : Next::nothing;
  if (group.next_compute < group.op_count) {
    const ScheduledOp op = group.ops[group.next_compute];
    candidate.ready = group.ready_time(op);
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

void SmRunner::start_block(RunningSm& sm, ResidentBlock& block, double time, WaitCause cause) {
  time = queue_.start_after(time, gpu_.launch_block_cycles);
  take_block(sm, block, time, queue_.take());
  for (std::size_t group = 0; group < builder_.costs().group_count(); ++group) start_group(sm, block.groups[group], time, cause);
}

void SmRunner::take_block(RunningSm& sm, ResidentBlock& block, double time, std::int64_t position) {
  const std::int64_t number = queue_.number(position);
  if (sm.resident++ == 0) sm.occupied_since = time;
  const auto place = static_cast<std::int32_t>(&block - sm.blocks.data());
  block.run = recorder_.begin_run({launch_, sm.number, place, number, time, time, device_});
  block.focused = block.run >= 0 && recorder_.wants_intervals(sm.number);
  schedules_.schedule(block, number);
  block.groups_left = builder_.costs().group_count();
  block.signalled.assign(block.schedule->tokens.size(), {});
  block.ordinal = position + 1;
  block.waiting = 0;
}

void SmRunner::go_on_with_next(RunningSm& sm, ResidentBlock& block, std::size_t group, double time) {
  ResidentBlock& next = *block.neighbour;
  if (next.groups_left > 0 && next.ordinal < block.ordinal) {  // the place still has the block before
    block.waiting |= 1U << group;
    return;
  }
  if (next.groups_left == 0) {
    const std::int64_t position = queue_.take_after(block.ordinal - 1);
    if (position < 0) return;
    take_block(sm, next, time, position);
  }
  start_group(sm, next.groups[group], time, WaitCause::none);
  refresh(sm, next.groups[group]);
}

void SmRunner::start_group(RunningSm& sm, ResidentGroup& group, double time, WaitCause cause) {
  const ResidentBlock& block = *group.block;
  group.run = block.run;
  group.focused = block.focused;
  group.origin = block.origin;
  group.stream = &block.schedule->groups[group.number];
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
  // The first blocks on an SM wait until the launch's code and parameters are fetched, and the tensor map of its first box.
  const double of_map = builder_.costs().needs().uses_tma ? gpu_.launch_map_cycles : 0;
  const double fetched = cause == WaitCause::launch ? gpu_.launch_fetch_cycles + of_map : 0;
  const double begin = cause == WaitCause::none ? 0 : gpu_.sm_block_start_cycles + fetched;
  group.compute_end = group.issued = group.drained = time + begin;
  group.copied = 0;
  group.issue_rate = 0;
  if (group.op_count + group.load_count > 0 && cause != WaitCause::none) {
    const OpTiming& setup = builder_.costs().setup(group.number);
    sm.take_pipes(setup, time);
    const double longer = crowded(sm, group, setup, group.drained);
    note_issue_rate(group, setup.issued, setup.duration + longer);
    group.compute_end = group.issued = group.drained = group.drained + setup.duration + longer;
  }
  group.sliced_end = group.sliced = 0;
  group.beside = {};
  group.beside_until = group.owed = 0;
  sm.issue_order.set_age(group.slot, static_cast<std::uint64_t>(block.ordinal));
  refresh(sm, group);
}

template <bool plain>
inline double SmRunner::run_operation(RunningSm& sm, ResidentGroup& group, const ScheduledOp* at, const OpTiming& timing,
                                      double start, double duration, double pipe_free) {
  const ScheduledOp op = *at;
  // The oldest block does not wait for others to leave the pipe. They share it evenly, so the operation takes longer instead.
  const double beside = std::min(std::max(0.0, pipe_free - start), duration * sharing_);
  double end = start + duration + beside;
  if (timing.product && group.sliced != 0) {
    end = std::max(end, group.sliced_end + timing.duration / group.slices);
    group.sliced_end = group.sliced = 0;
  }
  // The trace shows the pipe as busy only once it is free of the younger block's operation.
  const double busy_from = std::max(start, sm.free[timing.pipe[0]]), busy_to = busy_from + timing.shown;
  recorder_.operation(op.number(), busy_from, busy_to, busy_to);
  if (recording_.is_on()) recording_.note_operation(group, op, busy_from, busy_to);
  if (!plain && group.focused) {
    group.next_compute = static_cast<std::uint32_t>(at - group.ops);
    intervals_.compute(sm, group, start, start + timing.shown);
  }
  end = std::max(end, sm.take_all(timing, start));
  if (timing.slices > 1) {
    group.sliced_end = std::max(group.sliced_end, end);
    group.sliced = 1;
    group.slices = timing.slices;
    end = start + duration / timing.slices;
  }
  return group.compute_end = end;
}

void SmRunner::issue_product(RunningSm& sm, ResidentGroup& group, const ScheduledOp* at, const OpTiming& timing, double start,
                             double duration) {
  group.sliced_end = group.sliced = 0;
  const auto number = static_cast<std::uint32_t>(at - group.ops);
  double* const moment = at->signals() ? group.next_signal++ : nullptr;
  const double busy_before = std::max(start, sm.products.all_done());
  sm.products.push({.slot = group.slot,
                    .number = number,
                    .issued = start,
                    .ready = number == 0 ? group.start : group.compute_end,
                    .least = duration,
                    .work = timing.shown,
                    .depth = timing.slack,  // what the queue holds of its work
                    .reads = timing.smem_cycles,
                    .moment = moment});
  disturb(sm, group, start, busy_before);
  sm.take_pipes(timing, start);
  group.compute_end = never;
}

template <bool plain>
inline void SmRunner::compute(RunningSm& sm, ResidentGroup& group, double start, IssueKey rival) {
  const OpTiming* const timings = builder_.timings();
  double until = sm.issue_order.candidate(group.slot).load;
  // Continue while the next operation starts before the block's own next load and before the rival issues. Ties go to the older.
  std::uint64_t before_rival = order_of(time_of(rival)) + (sm.issue_order.order_key(group.slot) <= order_key_of(rival) ? 1 : 0);
  if (!plain) before_rival = std::min({before_rival, order_of(sm.products.next_issued()), order_of(sm.next_landing())});
  const std::uint8_t* const awaited_pipe = sm.issue_order.is_oldest(group.slot) ? pipe_of_oldest_.data() : every_pipe.data();
  const ScheduledOp* next = group.ops + group.next_compute;
  const ScheduledOp* const end_of_ops = group.ops + group.op_count;
  const OpTiming* timing = timings + next->number();
  float issued = 0;      // instructions of the latest operation that issues any
  double issued_in = 1;  // its duration
  for (;;) {
    const ScheduledOp op = *next;
    const double pipe_free = sm.free[timing->pipe[group.sliced]];  // before the operation itself takes more of the pipe
    double longer = crowded(sm, group, *timing, start);
    if (are_disturbed_)
      longer += wait_beside_products(sm, group, builder_.op_class(op.number()).beside, start, timing->duration + longer);
    const double duration = timing->duration + longer;
    if (timing->issued > 0) {
      issued = timing->issued;
      issued_in = duration;
    }
    if (!plain && timing->asynchronous) {
      issue_product(sm, group, next++, *timing, start, duration);
      break;
    }
    const double end = run_operation<plain>(sm, group, next, *timing, start, duration, pipe_free);
    if (op.signals()) {
      *group.next_signal++ = end;
      until = group.load_time();
    }
    const TokenUse* const token =
        plain || group.tokens_of_compute == nullptr ? nullptr : group.tokens_of_compute + (next - group.ops);
    const bool met = token != nullptr && signal(sm, group, *token, end);
    if (++next == end_of_ops || met) break;  // a signalled group may now go first
    timing = timings + next->number();
    if (timing->store) break;
    double ready = std::max(end, group.times[next->wait]);
    if (token != nullptr) ready = std::max(ready, group.token_time(token[1]));
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

inline void SmRunner::load(RunningSm& sm, ResidentGroup& group, double time) {
  const std::uint32_t at = group.next_load++;
  land(sm, group, time, at, memory_.load(sm.number, time, group.loads[at], group.origin));
}

void SmRunner::land(RunningSm& sm, ResidentGroup& group, double time, std::uint32_t at, Transfer transfer) {
  const ScheduledAccess& access = group.loads[at];
  const OpTiming& timing = builder_.timings()[access.op_class];
  sm.take_pipes(timing, time);
  if (timing.asynchronous) transfer.end += gpu_.sm_box_latency_cycles;
  // The copy occupies the memory pipe of its SM. When exactly its lines land is not modelled; from now on is right on average.
  if (timing.smem_cycles > 0)
    transfer.end = std::max(transfer.end, sm.serve(sm.memory_pipe.copies_free, time, timing.smem_cycles) + gpu_.l2_latency_cycles);
  const double ready = at == 0 ? group.start : group.issued;
  group.issued = time + (timing.asynchronous ? timing.duration : 0);
  group.drained = std::max(group.drained, transfer.end);
  note_landing(group, at, timing, transfer.end);
  const TokenUse* const token = group.tokens_of_loads != nullptr ? &group.tokens_of_loads[at] : nullptr;
  // HBM serves what waits in no strict order, so that what is asked for after a copy may come before it. How much that is will be
  // known when its turn has come. Copies of one token land in order.
  const auto is_before = [&](const WaitingCopy& copy) {
    return sm.groups[copy.slot].block == group.block && sm.groups[copy.slot].tokens_of_loads[copy.load].signal == token->signal;
  };
  if (token != nullptr && token->signal >= 0 && gpu_.hbm_reorder_cycles > 0 &&
      (transfer.hbm_wait > 0 || std::ranges::any_of(sm.waiting, is_before))) {
    sm.waiting.push_back({transfer.end, transfer.hbm_wait, memory_.hbm_asked_cycles(), ready, time, group.slot, at, transfer});
    return;
  }
  if (group.focused) intervals_.load(sm, group, at, ready, time, transfer);
  if (token != nullptr) signal(sm, group, *token, transfer.end);
}

void SmRunner::land_waiting(RunningSm& sm) {
  const auto first = std::ranges::min_element(sm.waiting, {}, &WaitingCopy::time);
  WaitingCopy copy = *first;
  sm.waiting.erase(first);
  ResidentGroup& group = sm.groups[copy.slot];
  const double asked_after = memory_.hbm_asked_cycles() - copy.asked;
  copy.transfer.end = copy.time + std::min({asked_after, copy.wait, gpu_.hbm_reorder_cycles});
  group.drained = std::max(group.drained, copy.transfer.end);
  if (group.focused) intervals_.load(sm, group, copy.load, copy.ready, copy.start, copy.transfer);
  signal(sm, group, group.tokens_of_loads[copy.load], copy.transfer.end);
}

void SmRunner::end_issue(RunningSm& sm) {
  const double issued = sm.products.next_issued();
  const QueuedProduct product = sm.products.pop();
  ResidentGroup& group = sm.groups[product.slot];
  const double end = product.end + builder_.costs().product_latency();
  recorder_.operation(group.ops[product.number].number(), product.end - product.work, product.end, product.end);
  if (group.focused) intervals_.product(sm, group, product);
  if (product.moment != nullptr) *product.moment = end;
  group.compute_end = issued;
  group.drained = std::max(group.drained, end);
  signal(sm, group, group.tokens_of_compute[product.number], end);
  refresh(sm, group);
}

void SmRunner::store(RunningSm& sm, ResidentGroup& group, double time) {
  const Transfer transfer = memory_.store(sm.number, time, group.stream->stores[group.next_store++], group.origin);
  const ScheduledOp op = group.ops[group.next_compute];
  const OpTiming& timing = builder_.timings()[op.number()];
  // The tile is staged through shared memory first, so it leaves from the middle of the operation on.
  const double landed =
      transfer.end + (builder_.costs().models_instruction_latency() && !timing.asynchronous ? timing.duration / 2 : 0);
  group.drained = std::max(group.drained, landed);
  if (group.focused) intervals_.compute(sm, group, time, landed, transfer.streams);
  const std::uint32_t at = group.next_compute++;
  const double duration = timing.duration + crowded(sm, group, timing, time);
  note_issue_rate(group, timing.issued, duration);
  group.compute_end = time + duration;
  double read = group.compute_end;  // when the stored buffer has been read
  if (timing.asynchronous) {
    if (timing.smem_cycles > 0) read = sm.serve(sm.memory_pipe.copies_free, time, timing.smem_cycles);
    read = std::max({group.compute_end, read, transfer.sent});  // it reads no faster than the L2 takes
  } else {
    read = group.compute_end = std::max({group.compute_end, sm.take_all(timing, time), add_until(sm, group, at, time)});
  }
  if (op.signals()) *group.next_signal++ = read;
  if (group.tokens_of_compute != nullptr) signal(sm, group, group.tokens_of_compute[at], read);
}

bool SmRunner::signal(RunningSm& sm, const ResidentGroup& group, const TokenUse& use, double time) {
  if (use.signal < 0) return false;
  ResidentBlock& block = *group.block;
  std::vector<double>& times = block.signalled[static_cast<std::size_t>(use.signal)];
  times.push_back(times.empty() ? time : std::max(times.back(), time));
  for (std::size_t other = 0; other < builder_.costs().group_count(); ++other) {
    if (ResidentGroup& peer = block.groups[other]; &peer != &group && peer.stream != nullptr) refresh(sm, peer);
    if (block.neighbour == nullptr) continue;
    if (ResidentGroup& peer = block.neighbour->groups[other]; peer.stream != nullptr) refresh(sm, peer);
  }
  return true;
}

Error SmRunner::deadlock() const {
  for (const RunningSm& sm : sms_)
    for (const ResidentGroup& group : sm.groups) {
      if (group.stream == nullptr || !group.has_work()) continue;
      const KernelNeeds& needs = program_.launches()[static_cast<std::size_t>(launch_)].needs;
      const auto stuck_on = [&](const std::vector<TokenUse>& uses, std::uint32_t at) {
        return at < uses.size() && group.token_time(uses[at]) == never ? uses[at] : TokenUse{};
      };
      TokenUse use = stuck_on(group.stream->tokens_of_loads, group.next_load);
      if (use.wait < 0) use = stuck_on(group.stream->tokens_of_compute, group.next_compute);
      if (use.wait < 0) continue;
      const auto token = static_cast<std::size_t>(use.wait);
      return refuse("the program can never go on: {} waits for signal {} of token '{}', which was signalled {} times",
                    group.number < needs.groups.size() ? needs.groups[group.number].name : "a block", use.count,
                    group.block->schedule->tokens[token], group.block->signalled[token].size());
    }
  return refuse("the program can never go on: an operation waits for one that comes after it");
}

void SmRunner::finish(RunningSm& sm, ResidentGroup& group, double time) {
  group.next = Next::nothing;
  group.stream = nullptr;
  sm.issue_order.clear(group.slot);
  ResidentBlock& block = *group.block;
  if (--block.groups_left > 0) {  // events come in time order, so the last group ends the block
    if (block.neighbour != nullptr) go_on_with_next(sm, block, group.number, time);
    return;
  }
  recorder_.end_run(group.run, time);
  std::erase_if(sm.waiting, [&](const WaitingCopy& copy) { return sm.groups[copy.slot].block == &block; });  // nobody waited for it
  if (--sm.resident == 0) sm.occupied_cycles += time - sm.occupied_since;
  latest_end_ = std::max(latest_end_, time);
  ++finished_;
  if (block.neighbour == nullptr) {
    if (queue_.left() > 0) start_block(sm, block, time, WaitCause::block_slot);
    return;
  }
  go_on_with_next(sm, block, group.number, time);
  for (std::size_t waiting = 0; waiting < builder_.costs().group_count(); ++waiting)
    if ((block.neighbour->waiting >> waiting & 1U) != 0) go_on_with_next(sm, *block.neighbour, waiting, time);
  block.neighbour->waiting = 0;
}

double SmRunner::run_ahead(RunningSm& sm) {
  for (;;) {
    const IssueOrder::Choice choice = sm.issue_order.next(sm.free);
    const double landing = sm.next_landing();
    if (!sm.products.empty() && sm.products.next_issued() <= std::min(choice.time, landing)) {
      end_issue(sm);
      continue;
    }
    if (landing <= choice.time && landing != never) {
      sm.next = nullptr;
      return landing;
    }
    ResidentGroup& group = sm.groups[choice.slot];
    if (choice.load_first && group.next != Next::nothing) group.next = Next::load;
    if (group.next != Next::compute) {
      sm.next = &group;
      return choice.time;
    }
    if (sm.groups.size() == 2 && !group.focused && group.tokens_of_compute == nullptr)  // the common case
      compute<true>(sm, group, choice.time, choice.rival);
    else
      compute<false>(sm, group, choice.time, choice.rival);
  }
}

double SmRunner::part_done() const {
  auto blocks = static_cast<double>(finished_);
  for (const RunningSm& sm : sms_)
    for (const ResidentGroup& group : sm.groups)
      if (group.next != Next::nothing)
        blocks += group.next_compute / (1.0 + group.op_count) / static_cast<double>(builder_.costs().group_count());
  return blocks / static_cast<double>(queue_.count());
}

bool SmRunner::process_event(RunningSm& sm, double time) {
  if (sm.next == nullptr) {
    land_waiting(sm);
    return false;
  }
  ResidentGroup& group = *sm.next;
  const bool loads = group.next == Next::load;
  if (loads)
    load(sm, group, time);
  else if (group.next == Next::finish)
    finish(sm, group, time);
  else
    store(sm, group, time);
  if (group.next != Next::nothing) refresh(sm, group);
  return loads;
}

void SmRunner::begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count) {
  launch_ = launch;
  const LaunchSpec& spec = program_.launches()[static_cast<std::size_t>(launch)];
  builder_.begin_launch(spec.needs, spec.persistent);
  schedules_.begin_launch(launch);
  warps_a_scheduler_.clear();
  for (std::size_t group = 0; group < builder_.costs().group_count(); ++group)
    warps_a_scheduler_.push_back(builder_.costs().warps_of(group) / gpu_.sm_sub_partitions);
  const bool strides = spec.persistent && !spec.draws;
  queue_.begin(launch_order(spec, program_.problem(), gpu_, block_order_, count), first, count,
               strides ? std::min<std::int64_t>(count, std::int64_t{blocks_per_sm} * gpu_.sm_count) : 0, start);
  finished_ = 0;
  latest_end_ = start;
  // In a persistent kernel the groups of a block do not end together, so its next block has a place of its own.
  const std::size_t places = spec.persistent ? 2 : 1;
  for (std::size_t number = 0; number < sms_.size(); ++number) {
    sms_[number].number = static_cast<int>(number);
    reset(sms_[number], static_cast<std::size_t>(blocks_per_sm) * places, spec.persistent);
  }
  sharing_ = static_cast<double>(std::max<std::int64_t>(1, spec.needs.computing_groups() - 1));
  are_crowded_ = static_cast<std::size_t>(blocks_per_sm) * builder_.costs().group_count() > 1;
  are_disturbed_ = builder_.costs().is_disturbed();
  for (std::size_t block = 0; block < static_cast<std::size_t>(blocks_per_sm) && queue_.left() > 0; ++block)
    start_round(block * places, start);
}

void SmRunner::reset(RunningSm& sm, std::size_t places, bool persistent) const {
  const std::size_t groups = builder_.costs().group_count();
  sm.blocks.resize(places);
  sm.groups.resize(places * groups);
  sm.issue_order.reset(sm.groups.size());
  sm.products.clear();
  sm.waiting.clear();
  sm.next = nullptr;
  sm.resident = 0;
  sm.occupied_cycles = 0;
  for (std::size_t place = 0; place < places; ++place) {
    ResidentBlock& block = sm.blocks[place];
    block.groups = &sm.groups[place * groups];
    block.groups_left = 0;
    block.neighbour = persistent ? &sm.blocks[place ^ 1] : nullptr;
  }
  for (std::size_t slot = 0; slot < sm.groups.size(); ++slot) {
    ResidentGroup& group = sm.groups[slot];
    group.slot = static_cast<std::uint32_t>(slot);
    group.number = static_cast<std::uint32_t>(slot % groups);
    group.block = &sm.blocks[slot / groups];
    group.next = Next::nothing;
    group.stream = nullptr;
  }
}

void SmRunner::start_round(std::size_t place, double start) {
  if (const std::int64_t left = queue_.left(); left < static_cast<std::int64_t>(sms_.size())) {
    for (const int number : sms_of_part(gpu_, static_cast<int>(left))) {
      RunningSm& sm = sms_[static_cast<std::size_t>(number)];
      start_block(sm, sm.blocks[place], start, WaitCause::launch);
    }
    return;
  }
  for (RunningSm& sm : sms_) start_block(sm, sm.blocks[place], start, WaitCause::launch);
}

}  // namespace tilescope
