// Builds the timeline's tooltips.
#include "app/views/timeline/timeline_hover.h"

#include <algorithm>
#include <cmath>

#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/stage/link_use.h"
#include "app/views/timeline/timeline_causes.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/engine/launch_order.h"
#include "sim/programs/block_plan.h"

namespace tilescope {
namespace {

/// Returns the load that interval `waiting` needed.
std::optional<std::size_t> load_of(std::span<const Interval> intervals, std::size_t waiting, std::int32_t op) {
  for (std::size_t i = waiting; i-- > 0;)
    if (intervals[i].run == intervals[waiting].run && intervals[i].op == op) return i;
  return std::nullopt;
}

/// Returns whether an interval waited for its token, and not for a unit or for a place on the SM.
bool is_token_wait(const Interval& interval) {
  switch (interval.cause) {
    case WaitCause::data:
    case WaitCause::l2_path:
    case WaitCause::hbm:
    case WaitCause::buffer:
    case WaitCause::barrier:
      return true;
    case WaitCause::tensor:
      return interval.kind == OpKind::wait;
    default:
      return false;
  }
}

/// Names the token that an interval waited for and who signalled it; empty if warps have no roles or it waited for no token.
std::string token_text(const Simulation& simulation, const TimelineData& data, std::size_t i) {
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  const Interval& interval = intervals[i];
  const BlockRun& run = simulation.trace->runs()[static_cast<std::size_t>(interval.run)];
  const std::vector<WarpGroup>& groups = simulation.program->launches()[static_cast<std::size_t>(run.launch)].needs.groups;
  const auto signaller = is_token_wait(interval) && groups.size() > 1 ? signaller_of(simulation, data, i) : std::nullopt;
  if (!signaller) return {};
  const Interval& by = intervals[*signaller];
  const StepLabel& label = data.steps->labels[*signaller];
  if (by.unit == Unit::tensor && by.group == interval.group) return say(tr("its own product: {}"), step_name(simulation, label));
  const std::string who = translated(groups[by.group].name);
  if (by.kind == OpKind::load) {
    const std::string text = say(by.hbm_bytes > 0 ? tr("the full token of {}, copied by the {} from HBM")
                                                  : tr("the full token of {}, copied by the {} from the L2"),
                                 step_name(simulation, label), who);
    if (interval.cause != WaitCause::l2_path && interval.cause != WaitCause::hbm) return text;
    return say(tr("{}, limited by {}"), text, cause_text(interval.cause, BusyWith::block));
  }
  const auto listing = simulation.info->listing;
  const std::string line =
      label.line >= 1 && label.line <= listing.size() ? listing_text(listing[static_cast<std::size_t>(label.line) - 1].text) : "";
  if (interval.kind == OpKind::load && BufferToken::is_empty(static_cast<std::size_t>(data.steps->labels[i].wait_token)))
    return say(tr("the empty token of its buffer, signalled by {}: {}"), who, line);
  return say(tr("a signal of {}: {}"), who, line);
}

std::string what_it_waited_for(const Simulation& simulation, const TimelineData& data, std::size_t i) {
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  if (std::string token = token_text(simulation, data, i); !token.empty()) return token;
  if (intervals[i].cause != WaitCause::data) {
    const BlockRun& run = simulation.trace->runs()[static_cast<std::size_t>(intervals[i].run)];
    return cause_text(intervals[i].cause, busy_with(simulation, run.launch));
  }
  const auto load = load_of(intervals, i, data.steps->labels[i].waits_for);
  if (!load) return tr("data");
  const std::string tile = step_name(simulation, data.steps->labels[*load]);
  return intervals[*load].hbm_bytes > 0 ? say(tr("data: {}, from HBM"), tile) : say(tr("data: {}, from the L2"), tile);
}

HoverText bar_text(const Simulation& simulation, const TimelineData& data, std::size_t i) {
  const Interval& interval = simulation.trace->intervals(data.steps->sm)[i];
  const StepLabel& label = data.steps->labels[i];
  HoverText text;
  const std::string tile = step_name(simulation, label);
  const auto listing = simulation.info->listing;
  if (label.line >= 1 && label.line <= listing.size())
    text.title = fmt::format("{}{}{} {}", tile, tile.empty() ? "" : "   ", label.line,
                             listing_text(listing[static_cast<std::size_t>(label.line) - 1].text));
  else
    text.title = tile;
  text.body = range_text(interval.start, interval.end);
  if (interval.bytes > 0) add_line(text.body, format_exact_bytes(Bytes(interval.bytes)));
  if (interval.bytes > 0 && interval.kind == OpKind::load)
    text.body += interval.hbm_bytes > 0 ? say(tr(", {} from HBM"), format_exact_bytes(Bytes(interval.hbm_bytes)))
                                        : std::string(tr(", all L2 hits"));
  if (beside_is_telling(label.instructions))
    add_line(text.body,
             say(tr("Includes {} instructions a warp beside this line: addresses, {} shuffles or shared-memory trips, {} barriers"),
                 label.instructions, label.shared_round_trips, label.barriers));
  if (const std::string wait = wait_sentence(simulation, data, i); !wait.empty()) add_line(text.body, wait);
  const BlockRun& run = simulation.trace->runs()[static_cast<std::size_t>(interval.run)];
  add_line(text.body, say(tr("Block {} on SM {}, step {}"), format_count(run.block), run.sm,
                          format_count(simulation.trace->step_of_interval(data.steps->sm, i))));
  if (const std::string ticket = ticket_sentence(simulation, run); !ticket.empty()) add_line(text.body, ticket);
  return text;
}

HoverText stretch_text(const UnitLane& lane, double from, double to) {
  HoverText text;
  double sum = 0;
  for (const LaneSeries& series : lane.series) {
    const double share = series.busy_between(from, to) / (to - from);
    if (share <= 0) continue;
    sum += share;
    text.body += fmt::format("\n{}  {}", to_string(series.tensor), format_percent(share));
  }
  text.title = say(tr("{}: {} busy"), lane_title(lane), format_percent(std::min(sum, 1.0)));
  text.body = range_text(from, to) + text.body;
  return text;
}

}  // namespace

std::string operation_text(const Simulation& simulation, const StepLabel& label) {
  const auto listing = simulation.info->listing;
  const std::string tile = step_name(simulation, label);
  if (!tile.empty() || label.line < 1 || label.line > listing.size()) return tile;
  return listing_text(listing[static_cast<std::size_t>(label.line) - 1].text);
}

std::string ticket_sentence(const Simulation& simulation, const BlockRun& run) {
  const std::optional<Ticket> ticket = ticket_of(simulation, run);
  if (!ticket) return {};
  const AttentionProblem& problem = simulation.program->problem();
  const std::string number = format_count(ticket->number);
  const std::int64_t batch = ticket->plane / problem.heads, head = ticket->plane % problem.heads;
  if (problem.batch == 1)
    return say(ticket->is_drawn ? tr("Ticket {}, drawn from the counter: head {}, query tile {}")
                                : tr("Ticket {}, the first of its thread block: head {}, query tile {}"),
               number, head, ticket->tile);
  return say(ticket->is_drawn ? tr("Ticket {}, drawn from the counter: batch {}, head {}, query tile {}")
                              : tr("Ticket {}, the first of its thread block: batch {}, head {}, query tile {}"),
             number, batch, head, ticket->tile);
}

BusyWith busy_with(const Simulation& simulation, int launch) {
  const auto i = static_cast<std::size_t>(launch);
  const auto specs = simulation.program->launches();
  if (i >= specs.size() || i >= simulation.launches.size() || specs[i].needs.groups.size() < 2) return BusyWith::block;
  return simulation.launches[i].blocks_per_sm == 1 ? BusyWith::group : BusyWith::block_or_group;
}

BusyWith either(BusyWith a, BusyWith b) {
  return a == b ? a : BusyWith::block_or_group;
}

BusyWith busy_with(const Simulation& simulation) {
  BusyWith busy = busy_with(simulation, 0);
  for (std::size_t launch = 1; launch < simulation.launches.size(); ++launch)
    busy = either(busy, busy_with(simulation, static_cast<int>(launch)));
  return busy;
}

namespace {

/// Puts the unit's three sentences in the order of BusyWith.
std::string busy_cause(BusyWith busy, const char* block, const char* group, const char* either) {
  return busy == BusyWith::block ? block : busy == BusyWith::group ? group : either;
}

}  // namespace

std::string cause_text(WaitCause cause, BusyWith busy) {
  switch (cause) {
    case WaitCause::none:
    case WaitCause::program_order:
      break;
    case WaitCause::data:
      return tr("data in flight");
    case WaitCause::buffer:
      return tr("a free buffer");
    case WaitCause::tensor:
      return busy_cause(busy, tr("tensor cores, busy with another block"), tr("tensor cores, busy with another group"),
                        tr("tensor cores, busy with another block or group"));
    case WaitCause::exp:
      return busy_cause(busy, tr("exponential unit, busy with another block"), tr("exponential unit, busy with another group"),
                        tr("exponential unit, busy with another block or group"));
    case WaitCause::fp32:
      return busy_cause(busy, tr("FP32 units, busy with another block"), tr("FP32 units, busy with another group"),
                        tr("FP32 units, busy with another block or group"));
    case WaitCause::smem:
      return tr("shared-memory port");
    case WaitCause::l2_path:
      return tr("L2 bandwidth");
    case WaitCause::hbm:
      return tr("HBM bandwidth");
    case WaitCause::barrier:
      return tr("other warps, at a barrier");
    case WaitCause::block_slot:
      return tr("a free block slot on the SM");
    case WaitCause::launch:
      return tr("the start of the launch");
  }
  return {};
}

double range_cycles(double from, double to) {
  constexpr double shown_whole = 100;
  return to - from < shown_whole ? to - from : std::round(to) - std::round(from);
}

std::string range_text(double from, double to) {
  return say(tr("cycles {} to {} ({})"), format_cycles(Cycles(from)), format_cycles(Cycles(to)),
             format_cycles(Cycles(range_cycles(from, to))));
}

const char* lane_name(Unit unit) {
  switch (unit) {
    case Unit::copy:
      return tr("copy");
    case Unit::tensor:
      return tr("tensor");
    case Unit::exp:
      return tr("exp");
    case Unit::fp32:
      return tr("scale, sum");
    case Unit::store:
      return tr("store");
    case Unit::sync:
      return tr("barrier");
  }
  return "";
}

std::string lane_title(const UnitLane& lane) {
  return lane.group < 0 ? lane_name(lane.unit) : translated(lane.name);
}

/// Returns "Idle 31 %: softmax 20 %, data 8 %, barriers 3 %"; empty where nothing was counted.
static std::string bubble_text(const TensorBubbles& bubbles) {
  if (bubbles.busy <= 0) return {};
  double idle = 0;
  std::string causes;
  std::array<BubbleCause, bubble_causes> order = {BubbleCause::softmax, BubbleCause::block_edges, BubbleCause::data,
                                                  BubbleCause::barriers};
  const auto share = [&](BubbleCause cause) { return bubbles.idle[static_cast<std::size_t>(cause)]; };
  std::stable_sort(order.begin(), order.end(), [&](BubbleCause a, BubbleCause b) { return share(a) > share(b); });
  for (const BubbleCause cause : order) {
    idle += share(cause);
    if (share(cause) < 0.0005) continue;
    causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", translated(to_string(cause)), format_percent(share(cause)));
  }
  return say(tr("Idle {}: {}"), format_percent(idle), causes);
}

HoverText row_meaning(const TimelineRow& row, const TimelineData* data) {
  if (row.kind == TimelineRow::Kind::hbm)
    return {tr("HBM bandwidth"),
            tr("Bytes between HBM, the GPU's main memory, and the L2, of all SMs. The number is the usable bandwidth.")};
  if (row.kind == TimelineRow::Kind::l2)
    return {
        tr("L2 bandwidth"),
        tr("Bytes between the L2, the cache of all SMs, and the SMs. The number is the most that can cross, with shared lookups.")};
  if (row.kind != TimelineRow::Kind::unit) return {};
  const char* meaning = "";
  const UnitLane* const lane = data != nullptr ? &data->lanes[row.unit] : nullptr;
  const Unit unit = lane != nullptr ? lane->unit : timeline_units[row.unit];
  if (lane != nullptr && lane->asks)
    return {
        lane_title(*lane),
        tr("The thread that asks for copies. A bar is the time it takes to ask; a line before it, the wait for a free buffer.")};
  if (lane != nullptr && lane->group >= 0)
    return {lane_title(*lane), tr("What one group of four warps does: its products, and the softmax beside or between them.")};
  if (data != nullptr && unit == Unit::tensor && data->bubbles.busy > 0)
    return {lane_name(unit), bubble_text(data->bubbles) + "\n" + tr("Coloured gaps: the tensor cores have no product to execute.")};
  switch (unit) {
    case Unit::copy:
      meaning = tr("Loads: tiles on their way from HBM or the L2 into this SM. The SM computes meanwhile.");
      break;
    case Unit::tensor:
      meaning = tr("Tensor cores: the matrix products Q Kᵀ and P V.");
      break;
    case Unit::exp:
      meaning = tr("Exponential unit: the exponentials of the softmax.");
      break;
    case Unit::fp32:
      meaning = tr("FP32 units: scaling, maxima, sums and masks.");
      break;
    case Unit::store:
      meaning = tr("Stores: tiles on their way from this SM to the L2.");
      break;
    case Unit::sync:
      meaning = tr("Barriers: all warps of the block wait for the slowest.");
      break;
  }
  return {lane_name(unit), meaning};
}

std::string wait_sentence(const Simulation& simulation, const TimelineData& data, std::size_t i) {
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  const double waited = intervals[i].start - intervals[i].ready;
  const std::string cause = what_it_waited_for(simulation, data, i);
  if (cause.empty() || waited < 0.5) return {};
  return say(tr("Stalled {} cycles on {}"), format_cycles(Cycles(waited)), cause);
}

UnderMouse find_under_mouse(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout,
                            const TimelineRow& row, const TimeWindow& window, ImVec2 mouse) {
  const UnitLane& lane = data.lanes[row.unit];
  UnderMouse under;
  if (lane_is_dense(layout, lane, window)) return under;
  const double cycle = window.cycle_at(mouse.x, layout.plot.min.x, layout.plot.width());
  const double pixel = window.span() / layout.plot.width();
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  const auto [first, last] = lane.visible(window.begin, window.end);
  for (std::size_t i = first; i < last; ++i) {
    const LaneBar& candidate = lane.bars[i];
    const auto at = static_cast<std::size_t>(candidate.interval);
    const Rect track = timeline_track(row, lane, candidate.track, layout.scale);
    const bool in_track = mouse.y >= track.min.y - 1 && mouse.y <= track.max.y + 1;
    if (in_track && cycle >= candidate.start - 2 * pixel && cycle <= candidate.end + 2 * pixel) under.bar = at;
    if (cycle >= intervals[at].ready && cycle < intervals[at].start) under.wait = at;
  }
  return under;
}

HoverText lane_hover(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout, const TimelineRow& row,
                     const TimeWindow& window, ImVec2 mouse) {
  const UnitLane& lane = data.lanes[row.unit];
  const double cycle = window.cycle_at(mouse.x, layout.plot.min.x, layout.plot.width());
  const double pixel = window.span() / layout.plot.width();
  if (lane_is_dense(layout, lane, window)) return stretch_text(lane, cycle - 4 * pixel, cycle + 4 * pixel);
  const auto [bar, wait] = find_under_mouse(simulation, data, layout, row, window, mouse);
  if (bar) return bar_text(simulation, data, *bar);
  if (!wait) return {};
  const std::string sentence = wait_sentence(simulation, data, *wait);
  if (sentence.empty()) return {};
  std::string body = say(tr("before {}"), operation_text(simulation, data.steps->labels[*wait]));
  add_line(body, tr("Click: trace the stall to its first cause."));
  return {sentence, body};
}

std::string ceiling_text(const BandwidthCurve& curve, const GpuSpec& gpu) {
  const std::string most = format_bandwidth(curve.ceiling * gpu.sm_clock_hz);
  if (curve.unshared_ceiling <= 0) return most;
  const std::string least = format_bandwidth(curve.unshared_ceiling * gpu.sm_clock_hz);
  const auto parted = [](const std::string& text) { return text.rfind(' '); };
  const bool same_unit = least.substr(parted(least)) == most.substr(parted(most));
  return (same_unit ? least.substr(0, parted(least)) : least) + "–" + most;
}

HoverText curve_hover(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout, const TimelineRow& row,
                      const TimeWindow& window, ImVec2 mouse) {
  const bool hbm = row.kind == TimelineRow::Kind::hbm;
  const BandwidthCurve& curve = hbm ? data.hbm : data.l2;
  const GpuSpec& gpu = simulation.request.gpu;
  if (curve.ceiling <= 0) return {say(tr("{} has no L2"), gpu.name), tr("Every access of an SM goes to HBM.")};
  const double rate = shown_rate(curve_rate_at(curve, window, layout, mouse.x), curve.ceiling);
  const double clock = gpu.sm_clock_hz;
  HoverText text;
  text.title = fmt::format("{} {}", hbm ? "HBM" : "L2", format_bandwidth(rate * clock));
  const double most = curve.unshared_ceiling > 0 ? rate / curve.unshared_ceiling : 0;  // busy share if no read shares a lookup
  const std::string share =
      most > 0 ? l2_busy_text({rate / curve.ceiling, std::min(1.0, most)}) : format_percent(rate / curve.ceiling);
  text.body = say(tr("{} of the usable {} ({} of {})"), share, ceiling_text(curve, gpu), format_rate(BytesPerCycle(rate)),
                  format_rate(BytesPerCycle(curve.ceiling)));
  if (curve.unshared_ceiling > 0)
    add_line(text.body, say(tr("The L2 looks up at most {}. Reads close together share a lookup, up to the {} of the SMs' ports."),
                            format_bandwidth(curve.unshared_ceiling * clock), format_bandwidth(curve.ceiling * clock)));
  if (hbm && gpu.hbm_read_rate().value > gpu.hbm_rate().value)
    add_line(text.body, say(tr("Usable is the rate of reads only; reads and writes mixed reach {}."),
                            format_bandwidth(gpu.hbm_rate().value * clock)));
  add_line(text.body, say(tr("Around cycle {}, all SMs"),
                          format_cycles(Cycles(window.cycle_at(mouse.x, layout.plot.min.x, layout.plot.width())))));
  return text;
}

}  // namespace tilescope
