// A view of another trace that hides what is known only of the other focused SMs.
#include "sim/engine/refocused.h"

#include <algorithm>
#include <utility>

#include "sim/engine/recorder.h"

namespace tilescope {

namespace {

class RefocusedTrace final : public Trace {
 public:
  RefocusedTrace(std::shared_ptr<const Trace> whole, int sm) : whole_(std::move(whole)), focused_{sm} {}

  double end_cycle() const override { return whole_->end_cycle(); }
  std::span<const LaunchTime> launches() const override { return whole_->launches(); }
  std::span<const BlockRun> runs() const override { return whole_->runs(); }
  const TimeBins& bins() const override { return whole_->bins(); }
  std::span<const int> focused_sms() const override { return focused_; }
  std::span<const Interval> intervals(int sm) const override {
    return sm == focused_[0] ? whole_->intervals(sm) : std::span<const Interval>();
  }
  std::int64_t step_count(int sm) const override { return sm == focused_[0] ? whole_->step_count(sm) : 0; }
  TraceState state_at(int sm, std::int64_t step) const override { return alone(whole_->state_at(sm, step)); }
  TraceState state_at_cycle(int sm, double cycle) const override { return alone(whole_->state_at_cycle(sm, cycle)); }
  std::int64_t seek(int sm, std::int64_t from, Grain grain, int direction) const override {
    return whole_->seek(sm, from, grain, direction);
  }
  std::int64_t step_at_cycle(int sm, double cycle) const override { return whole_->step_at_cycle(sm, cycle); }
  std::int64_t step_of_interval(int sm, std::size_t interval) const override { return whole_->step_of_interval(sm, interval); }

 private:
  /// Removes the flights and busy units of other SMs, because a trace has these only for focused SMs.
  TraceState alone(TraceState state) const {
    const int sm = focused_[0];
    std::erase_if(state.flights, [sm](const TileInFlight& flight) { return flight.sm != sm; });
    for (std::size_t i = 0; i < state.sms.size(); ++i)
      if (static_cast<int>(i) != sm) state.sms[i].busy_units = 0;
    return state;
  }

  std::shared_ptr<const Trace> whole_;
  std::array<int, 1> focused_;
};

}  // namespace

std::shared_ptr<const Simulation> refocused(const std::shared_ptr<const Simulation>& simulation, int sm) {
  const Trace& trace = *simulation->trace;
  const auto focused = trace.focused_sms();
  if (std::find(focused.begin(), focused.end(), sm) == focused.end() || trace.runs().size() >= Recorder::most_runs) return nullptr;
  if (focused.size() == 1) return simulation;
  auto out = std::make_shared<Simulation>(*simulation);
  out->request.focus_sm = sm;
  out->request.also_in_focus.clear();
  out->trace = std::make_shared<RefocusedTrace>(simulation->trace, sm);
  return out;
}

}  // namespace tilescope
