// Takes the events of all SMs in order of time.
#include "sim/engine/machine.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace tilescope {

namespace {

constexpr double never = IssueOrder::never;
constexpr int events_between_looks = 512;  // reading the host's clock at every event would be slow
constexpr std::chrono::milliseconds between_calls{10};

}  // namespace

Machine::Machine(const TileProgram& program, const SimulationRequest& request, MemorySystem& memory, Recorder& recorder,
                 ScheduleBuilder& builder)
    : program_(program),
      give_up_after_(request.give_up_after_cycles > 0 ? request.give_up_after_cycles : never),
      runner_(program, request, memory, recorder, builder),
      replay_(runner_, memory, recorder, builder),
      periods_(runner_, replay_, order_, memory, recorder, builder) {}

void Machine::begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count) {
  runner_.begin_launch(launch, blocks_per_sm, start, first, count);
  replay_.begin_launch();
  periods_.begin_launch();
  order_.reset(runner_.sms().size());
  for (std::size_t sm = 0; sm < runner_.sms().size(); ++sm) order_.set(sm, runner_.run_ahead(runner_.sms()[sm]));
}

int Machine::process_events(int most) {
  int done = 1;
  if (periods_.comes_next())
    done = periods_.process(most);
  else
    process_event_of_sm();
  periods_.plan(next_event());
  return done;
}

void Machine::process_event_of_sm() {
  const double time = order_.time();
  const std::size_t sm = order_.sm();
  if (time >= replay_.binade_end()) {
    periods_.leave_all(time);
    replay_.begin_binade(time);
  }
  double next = 0;
  if (!replay_.replay(sm, time, next))
    next = runner_.process_event(runner_.sms()[sm], time) ? replay_.go_on(sm, time) : replay_.run_ahead(sm);
  order_.set(sm, next);
}

Result<double> Machine::end_launch() const {
  if (!runner_.has_ended()) return runner_.deadlock();
  return runner_.latest_end();
}

int Machine::sms_with_blocks() const {
  const auto& sms = runner_.sms();
  return static_cast<int>(std::count_if(sms.begin(), sms.end(), [](const RunningSm& sm) { return sm.occupied_cycles > 0; }));
}

double Machine::sm_cycles() const {
  const auto& sms = runner_.sms();
  return std::accumulate(sms.begin(), sms.end(), 0.0, [](double sum, const RunningSm& sm) { return sum + sm.occupied_cycles; });
}

Result<double> Machine::run_launch(int launch, int blocks_per_sm, double start, const Progress& progress, double done_before,
                                   double share) {
  begin_launch(launch, blocks_per_sm, start, 0, program_.launches()[static_cast<std::size_t>(launch)].blocks());
  auto last_call = std::chrono::steady_clock::now();
  for (int left = events_between_looks; next_event() != never; left -= process_events(left)) {
    if (left > 0) continue;
    left = events_between_looks;
    if (next_event() > give_up_after_) return simulation_cancelled();
    if (!progress) continue;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_call < between_calls) continue;
    last_call = now;
    if (!progress(done_before + share * runner_.part_done())) return simulation_cancelled();
  }
  return end_launch();
}

}  // namespace tilescope
