// Finds the cause of each wait. A wait can have several causes in sequence; the longest one is written.
#include "sim/engine/interval_writer.h"

#include <algorithm>
#include <iterator>

namespace tilescope {

namespace {

/// Returns what delayed the data of an operation.
WaitCause cause_of_data(const ResidentGroup& group, const ScheduledOp& op) {
  if (op.wait == OperationStream::at_once) return WaitCause::barrier;                   // a token of another group
  if (op.wait > static_cast<std::int32_t>(group.load_count)) return WaitCause::tensor;  // its own product
  return group.landed_by[static_cast<std::size_t>(op.wait) - 1];
}

/// Returns the pipe or the port that an operation waited for until `start`.
WaitCause cause_of_pipe(const RunningSm& sm, const OpTiming& timing, double start) {
  if (timing.store) return WaitCause::fp32;
  constexpr WaitCause by_pipe[] = {WaitCause::tensor, WaitCause::exp, WaitCause::fp32};
  const auto pipe = static_cast<std::size_t>(timing.awaited);
  return pipe < std::size(by_pipe) && sm.free[pipe_of(timing.awaited)] == start ? by_pipe[pipe] : WaitCause::smem;
}

}  // namespace

void IntervalWriter::write(const RunningSm& sm, const ResidentGroup& group, const Interval& interval, std::int32_t op) {
  const BlockOperations& operations = group.block->operations;
  const Operation& operation = operations.operations[static_cast<std::size_t>(op)];
  const ChipTile chip_tile = writes_memory(operation.kind) ? operation.src[0] : operation.dst;
  const bool has_ring = operation.kind == OpKind::load || is_shared(operations, operation.dst) || chip_tile.has_strips();
  Interval noted = interval;
  noted.run = group.run;
  noted.op = op;
  noted.kind = operation.kind;
  noted.group = operation.group;
  recorder_.interval(sm.number, noted, operation.tile, operation.iteration, has_ring ? buffer_of(operation, chip_tile) : 0,
                     chip_tile);
}

void IntervalWriter::load(const RunningSm& sm, ResidentGroup& group, std::uint32_t at, double ready, double time,
                          const Transfer& transfer) {
  const ScheduledAccess& access = group.loads[at];
  const OpTiming& timing = builder_.timings()[access.op_class];
  // Where an earlier copy lands later, it is what the group waits for.
  const bool follows = timing.copy || !builder_.costs().models_instruction_latency();
  const bool is_last = !follows || transfer.end >= group.copied;
  group.landed_by[at] = is_last ? transfer.limit : group.copied_by;
  if (timing.copy && is_last) group.copied_by = transfer.limit;
  Interval interval;
  interval.start = time;
  interval.end = transfer.end;
  interval.ready = ready;
  interval.unit = Unit::copy;
  if (interval.start > interval.ready) {
    const bool has_token = group.tokens_of_loads != nullptr && group.tokens_of_loads[at].wait >= 0;
    if (access.after == OperationStream::at_once && !has_token)
      interval.cause = group.start_cause;
    else
      interval.cause = timing.paced ? WaitCause::program_order : WaitCause::buffer;
  }
  interval.bytes = builder_.op_class(access.op_class).bytes;
  interval.hbm_bytes = transfer.hbm_bytes;
  interval.streams = static_cast<float>(transfer.streams);
  write(sm, group, interval, group.stream->op_of_load[at]);
}

void IntervalWriter::compute(const RunningSm& sm, const ResidentGroup& group, double start, double end, double streams) {
  const ScheduledOp op = group.stream->compute[group.next_compute];
  const OpClass& c = builder_.op_class(op.number());
  Interval interval;
  interval.start = start;
  interval.end = end;
  interval.ready = group.next_compute == 0 ? group.start : group.compute_end;
  interval.unit = c.unit;
  if (c.timing.store) interval.bytes = c.bytes;
  interval.streams = static_cast<float>(streams);
  const double data = group.ready_time(op);
  const double for_start = group.compute_end - interval.ready, for_data = data - group.compute_end, for_pipe = start - data;
  if (start <= interval.ready)
    interval.cause = WaitCause::none;
  else if (for_pipe > std::max(for_start, for_data))
    interval.cause = cause_of_pipe(sm, c.timing, start);
  else
    interval.cause = for_data > for_start ? cause_of_data(group, op) : group.start_cause;
  write(sm, group, interval, group.stream->op_of_compute[group.next_compute]);
}

void IntervalWriter::product(const RunningSm& sm, const ResidentGroup& group, const QueuedProduct& product) {
  const ScheduledOp op = group.ops[product.number];
  Interval interval;
  interval.start = product.start;
  interval.end = product.end;
  interval.ready = product.ready;
  interval.unit = builder_.op_class(op.number()).unit;
  const double for_data = product.issued - product.ready, for_cores = product.start - product.issued;
  if (interval.start > interval.ready) interval.cause = for_cores > for_data ? WaitCause::tensor : cause_of_data(group, op);
  write(sm, group, interval, group.stream->op_of_compute[product.number]);
}

}  // namespace tilescope
