// Sorts a block's operations into streams, and numbers what they wait for.
#include "sim/engine/schedule.h"

#include <algorithm>
#include <limits>

#include "sim/core/mask.h"
#include "sim/programs/block_plan.h"

namespace tilescope {

namespace {

/// Marks an operation that waits for nothing.
constexpr std::int32_t no_ordinal = std::numeric_limits<std::int32_t>::min();

/// Returns the landing moment of a load, from its entry -1 - n in ordinal_.
std::int32_t landing(std::int32_t ordinal) {
  return OperationStream::landing(static_cast<std::size_t>(-1 - ordinal));
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(const GpuSpec& gpu, const AttentionProblem& problem)
    : costs_(gpu, problem), problem_(problem), table_(64, 0) {
  classes_.reserve(64);
  classes_.emplace_back();  // a class that no operation matches, so that the first guess exists
  classes_.front().key.rows = -1;
  timings_.emplace_back();
}

void ScheduleBuilder::begin_launch(const KernelNeeds& needs, bool persistent) {
  costs_.begin_launch(needs);
  persistent_ = persistent;
}

std::uint32_t ScheduleBuilder::find_class(const OpKey& key, const Operation& op, const BlockOperations& block) {
  if (classes_.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 2, 0);
    for (std::uint32_t i = 1; i < classes_.size(); ++i) {
      std::size_t at = classes_[i].key.hash() & (table_.size() - 1);
      while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = i + 1;
    }
  }
  std::size_t at = key.hash() & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
    if (classes_[table_[at] - 1].key == key) return table_[at] - 1;
  classes_.push_back(costs_.class_of(op, block));
  classes_.back().key = key;
  timings_.push_back(classes_.back().timing);
  table_[at] = static_cast<std::uint32_t>(classes_.size());
  return static_cast<std::uint32_t>(classes_.size()) - 1;
}

std::uint32_t ScheduleBuilder::class_of(const Operation& op, const BlockOperations& block) {
  const OpKey key = key_of(op, block);
  std::uint32_t found = classes_[previous_].next;
  if (!(classes_[found].key == key)) {
    found = find_class(key, op, block);
    classes_[previous_].next = found;
  }
  ++classes_[found].count;
  previous_ = found;
  return found;
}

BlockOrigin ScheduleBuilder::origin(const Domain& domain) const {
  if (domain.axis != Axis::key)
    return {domain.plane,
            static_cast<std::int32_t>(problem_.kv_plane_of(domain.plane)),
            domain.axis,
            domain.first,
            static_cast<std::int32_t>(mask_plane_of(problem_, domain.plane)),
            static_cast<std::int32_t>(domain.plane / problem_.heads)};
  const std::int64_t plane = problem_.first_query_plane_of(domain.plane);
  return {static_cast<std::int32_t>(plane),
          domain.plane,
          domain.axis,
          domain.first,
          static_cast<std::int32_t>(mask_plane_of(problem_, plane)),
          static_cast<std::int32_t>(plane / problem_.heads)};
}

float ScheduleBuilder::delay_of(const Operation& op, const BlockOperations& block) const {
  const std::vector<std::int32_t>& by = signals_[static_cast<std::size_t>(op.wait_token)];
  // The latency of a load is measured to the end of the wait for it.
  if (by.empty() || block.operations[static_cast<std::size_t>(by.front())].kind == OpKind::load) return 0;
  if (op.wait_on == WaitOn::named_barrier) return static_cast<float>(costs_.gpu().sm_named_barrier_cycles);
  const double own = op.kind == OpKind::wait ? costs_.gpu().sm_mbarrier_wait_cycles : 0;  // part of the operation
  return static_cast<float>(std::max(0.0, costs_.gpu().sm_mbarrier_cycles - own));
}

void ScheduleBuilder::find_tokens(const BlockOperations& block, BlockSchedule& out) {
  waited_for(block, waited_, signals_);
  meetings_.assign(block.tokens.size(), -1);
  out.tokens.clear();
  out.token_totals.clear();
  // Once a token, not once a wait: blocks of flash1 wait hundreds of thousands of times for a few tokens.
  constexpr int nobody = -1, several = -2;
  std::vector<int> signallers(block.tokens.size(), nobody);
  for (std::size_t token = 0; token < signallers.size() && token < signals_.size(); ++token)
    for (const std::int32_t each : signals_[token]) {
      const int group = block.operations[static_cast<std::size_t>(each)].group;
      signallers[token] = signallers[token] == nobody || signallers[token] == group ? group : several;
    }
  for (std::size_t i = 0; i < waited_.size(); ++i) {
    const Operation& op = block.operations[i];
    if (op.wait_token < 0 || op.wait_count <= 0) continue;
    const auto token = static_cast<std::size_t>(op.wait_token);
    const std::int32_t on = waited_[i];
    // If one group gives all signals, their order is that of the listing, and the wait is a moment of the stream. Signals of
    // several groups can come in any order, so the token is counted at run time.
    if (on >= 0 && on < static_cast<std::int32_t>(i) && (signallers[token] == nobody || signallers[token] == op.group)) continue;
    waited_[i] = -1;
    if (meetings_[token] < 0) add_meeting(block, token, out);
  }
  // The next block of a persistent kernel waits for buffers that nobody of this block waits for any more.
  for (std::size_t token = 0; token < signallers.size() && persistent_; ++token)
    if (meetings_[token] < 0 && signallers[token] != nobody && BufferToken::is_empty(token)) add_meeting(block, token, out);
}

void ScheduleBuilder::add_meeting(const BlockOperations& block, std::size_t token, BlockSchedule& out) {
  meetings_[token] = static_cast<std::int16_t>(out.tokens.size());
  out.tokens.push_back(block.tokens[token]);
  out.token_totals.push_back({static_cast<std::int16_t>(token), static_cast<std::int32_t>(signals_[token].size())});
}

void OperationStream::clear() {
  compute.clear();
  loads.clear();
  stores.clear();
  signals = 0;
  op_of_compute.clear();
  op_of_load.clear();
  positions.clear();
  load_positions.clear();
  reach.clear();
  tokens_of_compute.clear();
  tokens_of_loads.clear();
}

TokenUse ScheduleBuilder::tokens_of(const Operation& op, const BlockOperations& block, std::int32_t waited) const {
  TokenUse use;
  if (op.signal_token >= 0) use.signal = meetings_[static_cast<std::size_t>(op.signal_token)];
  if (waited < 0 && op.wait_token >= 0) {
    use.wait = meetings_[static_cast<std::size_t>(op.wait_token)];
    use.count = op.wait_count;
    use.delay = delay_of(op, block);
  }
  if (persistent_ && op.kind == OpKind::load && op.signal_token >= 0 && op.wait_count <= 0)
    use.carry = BufferToken::empty_of(op.signal_token);
  return use;
}

std::int32_t ScheduleBuilder::add_load(const ScheduledAccess& access, std::int32_t waited, OperationStream& stream) const {
  ScheduledAccess load = access;
  load.after = no_ordinal;
  if (waited >= 0) {
    load.after = ordinal_[static_cast<std::size_t>(waited)];
    if (load.after >= 0) stream.compute[static_cast<std::size_t>(load.after)].op_class |= ScheduledOp::signal_bit;
  }
  stream.loads.push_back(load);
  return -static_cast<std::int32_t>(stream.loads.size());
}

std::int32_t ScheduleBuilder::add_compute(std::uint32_t op_class, std::int32_t waited, OperationStream& stream) const {
  std::int32_t wait = no_ordinal;
  if (waited >= 0) {
    // Compute is in order, so an operation of its own group is over anyway unless it is a load or an asynchronous product.
    const std::int32_t ordinal = ordinal_[static_cast<std::size_t>(waited)];
    if (ordinal < 0) {
      wait = ordinal;
    } else if (ScheduledOp& product = stream.compute[static_cast<std::size_t>(ordinal)]; timings_[product.number()].asynchronous) {
      product.op_class |= ScheduledOp::signal_bit;
      wait = ordinal;
    }
  }
  stream.compute.push_back({op_class, wait});
  return static_cast<std::int32_t>(stream.compute.size()) - 1;
}

/// Signals are numbered after the loads, whose count is known only when all operations are in their streams. From here on ordinal_
/// has the moment of each operation of the stream that signals, by its index there.
void ScheduleBuilder::turn_into_moments(OperationStream& stream) {
  for (std::size_t i = 0; i < stream.compute.size(); ++i)
    if (stream.compute[i].signals()) ordinal_[i] = stream.signal(stream.signals++);
  const auto moment = [&](std::int32_t waited) {
    return waited == no_ordinal ? OperationStream::at_once
           : waited < 0         ? landing(waited)
                                : ordinal_[static_cast<std::size_t>(waited)];
  };
  for (ScheduledAccess& load : stream.loads) load.after = moment(load.after);
  for (ScheduledOp& op : stream.compute) op.wait = moment(op.wait);
}

void ScheduleBuilder::build(const BlockOperations& block, BlockSchedule& out) {
  out.groups.resize(costs_.group_count());
  for (OperationStream& stream : out.groups) stream.clear();
  find_tokens(block, out);
  const bool has_tokens =
      !out.tokens.empty() || costs_.needs().uses_tma ||
      std::any_of(block.operations.begin(), block.operations.end(), [](const Operation& op) { return op.asynchronous; });
  ordinal_.resize(block.operations.size());
  const BlockOrigin from = origin(block.domain);
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& op = block.operations[i];
    OperationStream& stream = out.groups[std::min<std::size_t>(op.group, out.groups.size() - 1)];
    ScheduledAccess access;
    access.op_class = class_of(op, block);
    if (moves_tile(op.kind)) {
      access.plane = op.tile.plane - from.plane_of(op.tile.tensor);
      access.row = op.tile.row - from.row_of(op.tile.tensor);
      access.col = op.tile.col - from.col_of(op.tile.tensor);
    }
    const bool is_load = op.kind == OpKind::load;
    ordinal_[i] = is_load ? add_load(access, waited_[i], stream) : add_compute(access.op_class, waited_[i], stream);
    if (writes_memory(op.kind)) stream.stores.push_back(access);
    (is_load ? stream.op_of_load : stream.op_of_compute).push_back(static_cast<std::int32_t>(i));
    if (has_tokens) (is_load ? stream.tokens_of_loads : stream.tokens_of_compute).push_back(tokens_of(op, block, waited_[i]));
  }
  for (OperationStream& stream : out.groups) turn_into_moments(stream);
}

void ScheduleBuilder::count_again(const BlockSchedule& schedule) {
  for (const auto& [op_class, count] : schedule.class_counts) classes_[op_class].count += count;
}

void BlockSchedule::count_classes() {
  std::vector<std::uint32_t> all;
  for (const OperationStream& stream : groups) {
    for (const ScheduledOp& op : stream.compute) all.push_back(op.number());
    for (const ScheduledAccess& load : stream.loads) all.push_back(load.op_class);
  }
  std::sort(all.begin(), all.end());
  class_counts.clear();
  for (std::uint32_t op_class : all) {
    if (class_counts.empty() || class_counts.back().first != op_class) class_counts.emplace_back(op_class, 0);
    ++class_counts.back().second;
  }
}

std::size_t BlockSchedule::size() const {
  std::size_t bytes = 0;
  for (const OperationStream& stream : groups)
    bytes += stream.compute.size() * (sizeof(ScheduledOp) + 4) + stream.loads.size() * (sizeof(ScheduledAccess) + 4) +
             stream.stores.size() * sizeof(ScheduledAccess);
  return bytes;
}

}  // namespace tilescope
