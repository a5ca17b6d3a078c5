// Walks from a stalled operation back to its first cause.
#include "app/views/timeline/timeline_causes.h"

#include <algorithm>

#include "app/ui/say.h"
#include "app/views/timeline/timeline_hover.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

constexpr double least_wait = 0.5;  // cycles; shorter ones are rounding

bool waited(const Interval& interval) {
  return interval.cause != WaitCause::none && interval.cause != WaitCause::program_order &&
         interval.start - interval.ready >= least_wait;
}

/// Returns the latest interval before `i` of the same block with operation `op`.
std::optional<std::size_t> earlier_of_block(std::span<const Interval> intervals, std::size_t i, std::int32_t op) {
  if (op < 0) return std::nullopt;
  for (std::size_t at = i; at-- > 0;)
    if (intervals[at].run == intervals[i].run && intervals[at].op == op) return at;
  return std::nullopt;
}

/// Returns the fitting interval before `from` that ends last before `start`.
template <class Fits>
std::optional<std::size_t> last_to_end_before(std::span<const Interval> intervals, std::size_t from, double start,
                                              const Fits& fits) {
  std::optional<std::size_t> best;
  // Intervals are by start; what ended just before began within the last few hundred of an SM's handful of blocks.
  constexpr std::size_t looked_at = 512;
  for (std::size_t at = from, seen = 0; at-- > 0 && seen < looked_at; ++seen) {
    const Interval& each = intervals[at];
    if (each.end > start + least_wait || !fits(each)) continue;
    if (!best || each.end > intervals[*best].end) best = at;
  }
  return best;
}

/// Returns the fitting interval that ends last before `i` begins.
template <class Fits>
std::optional<std::size_t> last_to_end(std::span<const Interval> intervals, std::size_t i, const Fits& fits) {
  return last_to_end_before(intervals, i, intervals[i].start, fits);
}

/// Returns the previous operation in the same stream.
std::optional<std::size_t> predecessor(std::span<const Interval> intervals, std::size_t i) {
  return last_to_end(intervals, i, [&](const Interval& each) {
    return each.run == intervals[i].run && (each.kind == OpKind::load) == (intervals[i].kind == OpKind::load);
  });
}

/// Returns the block whose end freed the slot of `i`.
std::optional<std::size_t> last_of_block_before(const Simulation& simulation, std::span<const Interval> intervals, std::size_t i) {
  const auto runs = simulation.trace->runs();
  const BlockRun& own = runs[static_cast<std::size_t>(intervals[i].run)];
  return last_to_end(intervals, i, [&](const Interval& each) {
    const BlockRun& run = runs[static_cast<std::size_t>(each.run)];
    return run.slot == own.slot && run.sm == own.sm && run.launch == own.launch && run.end <= own.start + least_wait;
  });
}

}  // namespace

std::optional<std::size_t> signaller_of(const Simulation& simulation, const TimelineData& data, std::size_t i) {
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  const std::int16_t token = data.steps->labels[i].wait_token;
  if (token < 0) return std::nullopt;
  std::size_t from = i;  // a signal takes no time, so that it may begin when the wait ends
  while (from < intervals.size() && intervals[from].start <= intervals[i].start) ++from;
  const auto signals = [&](const Interval& each) {
    const auto at = static_cast<std::size_t>(&each - intervals.data());
    return at != i && each.run == intervals[i].run && data.steps->labels[at].signal_token == token;
  };
  return last_to_end_before(intervals, from, intervals[i].start, signals);
}

std::optional<std::size_t> blocker_of(const Simulation& simulation, const TimelineData& data, std::size_t i) {
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  const Interval& interval = intervals[i];
  if (!waited(interval)) return std::nullopt;
  const auto of_unit = [&](Unit unit) {
    return last_to_end(intervals, i, [&](const Interval& each) { return each.unit == unit; });
  };
  switch (interval.cause) {
    case WaitCause::none:
    case WaitCause::program_order:
    case WaitCause::launch:
      return std::nullopt;
    case WaitCause::data:
    case WaitCause::l2_path:
    case WaitCause::hbm:
    case WaitCause::buffer: {
      const auto signaller = signaller_of(simulation, data, i);
      return signaller ? signaller : earlier_of_block(intervals, i, data.steps->labels[i].waits_for);
    }
    case WaitCause::tensor:
      return of_unit(Unit::tensor);
    case WaitCause::exp:
      return of_unit(Unit::exp);
    case WaitCause::fp32:
      return of_unit(Unit::fp32);
    case WaitCause::smem:
      return last_to_end(intervals, i, [&](const Interval& each) { return each.run != interval.run; });
    case WaitCause::barrier: {  // for another group, or for all warps
      const auto other = signaller_of(simulation, data, i);
      return other ? other : predecessor(intervals, i);
    }
    case WaitCause::block_slot:
      return last_of_block_before(simulation, intervals, i);
  }
  return std::nullopt;
}

std::vector<CauseLink> cause_chain(const Simulation& simulation, const TimelineData& data, std::size_t i, std::size_t most) {
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  std::vector<CauseLink> chain;
  std::optional<std::size_t> at = i;
  while (at && chain.size() < most) {
    const Interval& interval = intervals[*at];
    CauseLink link{*at, interval.start - interval.ready, operation_text(simulation, data.steps->labels[*at]), {}};
    if (waited(interval)) {
      link.why = wait_sentence(simulation, data, *at);
      at = blocker_of(simulation, data, *at);
      chain.push_back(std::move(link));
      continue;
    }
    if (interval.kind == OpKind::load) {  // issued at once: the memory took the time
      link.waited = interval.end - interval.start;
      link.why = interval.hbm_bytes > 0 ? say(tr("Came from HBM in {} cycles: first cause"), format_cycles(Cycles(link.waited)))
                                        : say(tr("Came from the L2 in {} cycles: first cause"), format_cycles(Cycles(link.waited)));
      chain.push_back(std::move(link));
      break;
    }
    // It ran in order; an earlier stall of its block is the cause. Its own duration is given if the chain ends here.
    std::optional<std::size_t> before = predecessor(intervals, *at);
    std::size_t passed = 1;
    while (before && !waited(intervals[*before]) && passed < 256) {
      before = predecessor(intervals, *before);
      ++passed;
    }
    link.waited = 0;
    link.why = before ? say(tr("Ran for {} cycles, in order after {} others of its block"),
                            format_cycles(Cycles(interval.end - interval.start)), passed)
                      : say(tr("Ran for {} cycles; its block was not stalled before"),
                            format_cycles(Cycles(interval.end - interval.start)));
    chain.push_back(std::move(link));
    at = before;
  }
  return chain;
}

}  // namespace tilescope
