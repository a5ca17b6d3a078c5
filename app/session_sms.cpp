// The session's work for lanes by SM: where each block ran, and what SMs out of focus did.
#include <algorithm>
#include <utility>

#include "app/panels/sm_lanes.h"
#include "app/session_state.h"

namespace tilescope {

namespace {

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

}  // namespace

void Session::State::ask_for_sms() {
  if (!by_sm) return;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneState& lane = lanes[i];
    if (lane.lane.sm_lanes != nullptr || lane.sm_lanes_asked) continue;
    lane.sm_lanes_asked = true;
    worker->submit(first_sm_slot + static_cast<int>(i), tr("laying out the timeline"),
                   [this, i, simulation = lane.simulation](const Progress&) -> Worker::Deliver {
                     return [this, i, simulation, made = std::make_shared<const SmLanes>(make_sm_lanes(*simulation))] {
                       if (i < lanes.size() && lanes[i].simulation == simulation) lanes[i].lane.sm_lanes = made;
                     };
                   });
  }
  // In Race rows are too thin to show what is inside.
  if (sms_wanted && lanes.size() == 1 && sms_looked_for != sms_wanted) look_into(*sms_wanted);
}

void Session::State::look_into(const LookIntoSms& wanted) {
  const Lane& lane = lanes.back().lane;
  sms_looked_for = wanted;
  if (holds(lane.sm_works, wanted)) return;
  worker->submit(look_slot, tr("looking into the SMs"),
                 [this, wanted, look = looks, simulation = lanes.back().simulation,
                  earlier = lane.sm_works](const Progress& progress) -> Worker::Deliver {
                   auto found = look_into_sms(simulation, wanted.first, wanted.last, progress);
                   std::shared_ptr<const SmWorks> works;
                   if (found) works = merged(earlier.get(), std::move(*found), sms_that_can_be_looked_into(*simulation));
                   return [this, look, simulation, works] {
                     if (lanes.size() != 1 || lanes.back().simulation != simulation || look != looks) return;
                     if (works != nullptr)
                       lanes.back().lane.sm_works = works;
                     else
                       sms_looked_for.reset();  // what is more urgent came between: again
                   };
                 });
}

void Session::State::forget_looks() {
  sms_wanted.reset();
  sms_looked_for.reset();
}

void Session::State::operator()(const SetLanes& command) {
  by_sm = command.by_sm;
}
void Session::State::operator()(const LookIntoSms& command) {
  sms_wanted = command;
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
  const auto runs = trace.runs();
  const auto is_goal = [&](const BlockRun& run) {
    return run.launch == goal.launch && run.block == goal.block && run.sm == goal.sm;
  };
  const auto run = std::find_if(runs.begin(), runs.end(), is_goal);
  if (run == runs.end()) return;
  const auto intervals = trace.intervals(lane.focus_sm);
  const auto first =
      std::find_if(intervals.begin(), intervals.end(), [&](const Interval& i) { return i.run == run - runs.begin(); });
  if (first == intervals.end() || race) return set_cycle(run->start);
  set_step(step_of_interval(trace, lane.focus_sm, static_cast<std::size_t>(first - intervals.begin())), 0);
}

}  // namespace tilescope
