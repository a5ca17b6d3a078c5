// The session's work for SMs out of focus: what is known of them, and for lanes by SM where each block ran and what was done
// inside.
#include <algorithm>
#include <utility>

#include "app/model/session_state.h"
#include "app/model/sm_lanes.h"
#include "sim/analysis/outcome.h"
#include "sim/engine/refocused.h"

namespace tilescope {

namespace {

/// What simulations that left the screen may take until they are let go of.
constexpr std::size_t most_kept = 6, most_kept_bytes = 256 << 20;

std::size_t bytes_of(const Simulation& simulation) {
  constexpr std::size_t interval_bytes = 2 * sizeof(Interval);  // and what is kept of each beside it
  std::size_t bytes = simulation.trace->runs().size() * sizeof(BlockRun);
  for (const int sm : simulation.trace->focused_sms()) bytes += simulation.trace->intervals(sm).size() * interval_bytes;
  return bytes;
}

bool holds(const std::shared_ptr<const SmWorks>& works, const LookIntoSms& wanted) {
  if (works == nullptr) return false;
  for (int sm = wanted.first; sm < wanted.last; ++sm)
    if (works->of(sm) == nullptr) return false;
  return true;
}

/// Both, where there is room for them; else what was found last.
std::shared_ptr<const SmWorks> merged(const SmWorks* earlier, SmWorks found, int room) {
  const auto known = [](const SmWorks& works) {
    return std::count_if(works.by_sm.begin(), works.by_sm.end(), [](const auto& w) { return w != nullptr; });
  };
  if (earlier != nullptr && earlier->by_sm.size() == found.by_sm.size() && known(*earlier) + known(found) <= room)
    for (std::size_t sm = 0; sm < found.by_sm.size(); ++sm)
      if (found.by_sm[sm] == nullptr) found.by_sm[sm] = earlier->by_sm[sm];
  return std::make_shared<const SmWorks>(std::move(found));
}

/// The run of a block that starts at `start`; runs are in order of start.
std::optional<std::size_t> find_run(const Trace& trace, int launch, std::int64_t block, double start) {
  const auto runs = trace.runs();
  const auto from = std::lower_bound(runs.begin(), runs.end(), start, [](const BlockRun& run, double t) { return run.start < t; });
  for (auto run = from; run != runs.end() && run->start == start; ++run)
    if (run->launch == launch && run->block == block) return static_cast<std::size_t>(run - runs.begin());
  return std::nullopt;
}

/// The first interval of a run, where the SM's intervals were kept so far.
std::optional<std::size_t> first_interval(const Trace& trace, int sm, std::size_t run) {
  const auto intervals = trace.intervals(sm);
  const BlockRun& block = trace.runs()[run];
  auto at = std::lower_bound(intervals.begin(), intervals.end(), block.start,
                             [](const Interval& interval, double t) { return interval.start < t; });
  for (; at != intervals.end() && at->start <= block.end; ++at)
    if (at->run == static_cast<std::int32_t>(run)) return static_cast<std::size_t>(at - intervals.begin());
  return std::nullopt;
}

}  // namespace

/// Keeps what has just left the screen, if only the SM in focus is another now; and lets go of what was kept of other requests.
void Session::State::keep_focus(const std::shared_ptr<const Simulation>& left) {
  const auto of_other_request = [&](const std::shared_ptr<const Simulation>& kept) {
    return std::none_of(lanes.begin(), lanes.end(),
                        [&](const LaneState& lane) { return same_request(kept->request, lane.simulation->request); });
  };
  if (left != nullptr && std::find(other_focus.begin(), other_focus.end(), left) == other_focus.end()) other_focus.push_back(left);
  std::size_t bytes = 0, count = 0;
  for (auto kept = other_focus.rbegin(); kept != other_focus.rend(); ++kept) {
    bytes += bytes_of(**kept);
    if (of_other_request(*kept) || ++count > most_kept || bytes > most_kept_bytes) retired.add(std::move(*kept));
  }
  std::erase(other_focus, nullptr);
}

/// Each lane's simulation with `sm` in focus, where all of them were shown before or looked into; else empty.
std::vector<std::shared_ptr<const Simulation>> Session::State::known_with_focus(int sm) const {
  std::vector<std::shared_ptr<const Simulation>> known;
  if (!same_request(request, good_request) || race != good_race) return known;
  for (const LaneState& lane : lanes) {
    std::shared_ptr<const Simulation> found;
    for (const auto& kept : other_focus)
      if (found == nullptr && same_request(kept->request, lane.simulation->request)) found = refocused(kept, sm);
    const SmWork* const work = lane.lane.sm_works != nullptr ? lane.lane.sm_works->of(sm) : nullptr;
    if (found == nullptr && work != nullptr) found = refocused(work->simulation, sm);
    if (found == nullptr) return {};
    known.push_back(std::move(found));
  }
  return known;
}

void Session::State::ask_for_sms() {
  if (!by_sm) return;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneState& lane = lanes[i];
    if (lane.lane.sm_lanes != nullptr || lane.sm_lanes_asked) continue;
    lane.sm_lanes_asked = true;
    worker->submit(first_sm_slot + static_cast<int>(i), tr("preparing the timeline"),
                   [this, i, simulation = lane.simulation](const Progress&) -> Worker::Deliver {
                     return [this, i, simulation, made = std::make_shared<const SmLanes>(make_sm_lanes(*simulation))] {
                       if (i < lanes.size() && lanes[i].simulation == simulation) lanes[i].lane.sm_lanes = made;
                     };
                   });
  }
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (sms_wanted[i] && sms_looked_for[i] != sms_wanted[i]) look_into(*sms_wanted[i]);
}

void Session::State::look_into(const LookIntoSms& wanted) {
  const std::size_t i = wanted.lane;
  const Lane& lane = lanes[i].lane;
  sms_looked_for[i] = wanted;
  if (holds(lane.sm_works, wanted)) return;
  worker->submit(look_slot + static_cast<int>(i), tr("simulating the SMs in view"),
                 [this, i, wanted, look = looks, simulation = lanes[i].simulation,
                  earlier = lane.sm_works](const Progress& progress) -> Worker::Deliver {
                   auto found = look_into_sms(simulation, wanted.first, wanted.last, progress);
                   std::shared_ptr<const SmWorks> works;
                   if (found) works = merged(earlier.get(), std::move(*found), sms_that_can_be_looked_into(*simulation));
                   return [this, i, look, simulation, works] {
                     if (i >= lanes.size() || lanes[i].simulation != simulation || look != looks) return;
                     if (works != nullptr)
                       lanes[i].lane.sm_works = works;
                     else
                       sms_looked_for[i].reset();  // what is more urgent came between: again
                   };
                 });
}

void Session::State::forget_looks() {
  sms_wanted = {};
  sms_looked_for = {};
}

void Session::State::operator()(const SetLanes& command) {
  by_sm = command.by_sm;
}
void Session::State::operator()(const LookIntoSms& command) {
  if (command.lane < sms_wanted.size()) sms_wanted[command.lane] = command;
}

void Session::State::operator()(const FocusBlock& command) {
  if (lanes.empty()) return;
  playing = false;
  going_to_block = command;
  if (command.sm != lanes.back().focus_sm) (*this)(SetFocusSm{command.sm});
  if (lanes.back().focus_sm == command.sm) go_to_block();
}

/// Only what that SM kept in focus has steps; of a block beyond what the trace could keep the clock goes to its start.
void Session::State::go_to_block() {
  const FocusBlock goal = *std::exchange(going_to_block, std::nullopt);
  const LaneState& lane = lanes.back();
  const Trace& trace = *lane.simulation->trace;
  const auto run = find_run(trace, goal.launch, goal.block, goal.start);
  if (!run) return;
  const auto first = first_interval(trace, lane.focus_sm, *run);
  if (!first || race) return set_cycle(trace.runs()[*run].start);
  set_step(trace.step_of_interval(lane.focus_sm, *first), 0);
}

}  // namespace tilescope
