// Which SMs are in a period, and the loads that they issue there.
#include "sim/engine/periods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tilescope {

namespace {

constexpr std::size_t least_part = 16;                  // it pays if at least one SM in so many is in a period
constexpr double first_wait = 4096, most_wait = 16384;  // cycles until SMs may enter again, if too few did
constexpr double most_difference = 1.0 / 1024;          // of the lengths of periods: more would slow UpcomingLoads down
constexpr double most_periods_ahead = 1 << 30;
constexpr std::size_t most_sm_number = 0xffff;

}  // namespace

/// How far the groups of an SM have come when it enters a period.
class Periods::GroupCounters {
 public:
  explicit GroupCounters(const RunningSm& sm) {
    for (std::size_t i = 0; i < sm.groups.size(); ++i) {
      const ResidentGroup& group = sm.groups[i];
      counters_[i] = {group.next_compute, group.next_load, group.next_signal};
      if (group.stream != nullptr) loads_ += group.next_load;
    }
  }
  void restore(RunningSm& sm) const {
    for (std::size_t i = 0; i < sm.groups.size(); ++i) {
      sm.groups[i].next_compute = counters_[i].next_compute;
      sm.groups[i].next_load = counters_[i].next_load;
      sm.groups[i].next_signal = counters_[i].next_signal;
    }
  }
  /// Moves the groups to where they are after so many periods.
  void move(RunningSm& sm, const Period& period, std::uint32_t periods) const {
    for (std::size_t i = 0; i < sm.groups.size(); ++i) {
      sm.groups[i].next_compute = counters_[i].next_compute + periods * period.advance[i].operations;
      sm.groups[i].next_load = counters_[i].next_load + periods * period.advance[i].loads;
      sm.groups[i].next_signal = counters_[i].next_signal + periods * period.advance[i].signals;
    }
  }
  std::uint32_t next_load(std::size_t slot) const { return counters_[slot].next_load; }
  std::int64_t loads() const { return loads_; }

 private:
  struct Counters {
    std::uint32_t next_compute = 0, next_load = 0;
    double* next_signal = nullptr;
  };
  std::array<Counters, most_stretch_slots> counters_{};
  std::int64_t loads_ = 0;  // of all groups
};

bool Periods::passes(RunningSm& sm, const Period::Step& step, const GroupCounters& entry, double time) {
  const Stretch& stretch = replay_.stretches()[step.stretch];
  ++sm.groups[step.slot].next_load;
  for (std::size_t i = 0; i < sm.groups.size(); ++i)
    if (sm.groups[i].stream != nullptr && sm.groups[i].position_at(sm.groups[i].next_load) != stretch.key.slots[i].position)
      return false;
  for (std::size_t i = 0; i < stretch.deadline_count; ++i) {
    const StretchDeadline& deadline = stretch.deadlines[i];
    const ResidentGroup& group = sm.groups[deadline.slot];
    const std::int32_t moment = OperationStream::landing(group.next_load) + deadline.moment;
    const bool is_issued = moment < OperationStream::landing(entry.next_load(deadline.slot));
    if (is_issued && group.times[moment] > time + deadline.time) return false;
  }
  Replay::advance(sm, stretch);
  return true;
}

void Periods::begin_launch() {
  in_period_.assign(runner_.sms().size(), {});
  upcoming_.clear();
  plan_at_ = plan_wait_ = 0;
}

int Periods::process(int most) {
  int done = 0, in_time = 0;
  do {
    UpcomingLoad& load = upcoming_.next();
    ++done;
    ResidentGroup& group = *load.group;
    const Period::Step& step = *load.step;
    const double time = load.time;
    const std::uint32_t at = group.next_load;
    const PlacedAccess access = group.loads[at].placed(load.shift);
    const int sm = load.sm;
    const bool is_repeated = memory_.takes_repeated(sm, access);
    RepeatedLoad repeated;
    if (is_repeated)
      repeated = memory_.load_again(sm, time);
    else
      repeated.end = memory_.load_anew(sm, time, access).end;
    // Without a copy copies_free is infinitely early.
    const double landed = std::max(repeated.end, time + step.copies_free + l2_latency_cycles_);
    const double noted = step.follows ? std::max(group.copied, landed) : landed;
    const bool is_in_time = noted <= time + step.slack;
    const bool is_counted =
        is_repeated && is_in_time && step.group != nullptr &&
        recorder_.count_group(*step.group, std::min(repeated.start, time + step.first), std::max(repeated.end, time + step.last));
    if (is_repeated && !is_counted)
      recorder_.operation(access.op_class, repeated.start, repeated.busy_end, repeated.end, repeated.streams);
    if (!is_in_time) {
      // Something waits for these bytes, so the next loads of the SM are not known any more.
      const auto number = static_cast<std::size_t>(sm);
      leave(number);
      upcoming_.drop_sm_of_next();
      order_.set(number, replay_.land_in_stretch(number, group, step.stretch, time, repeated.end));
      break;
    }
    if (step.copies) group.copied = noted;
    group.times[OperationStream::landing(at)] = noted;
    group.next_load = at + 1;
    group.issued = time;
    group.drained = std::max(group.drained, landed);
    if (!is_counted) replay_.record_stretch(replay_.stretches()[step.stretch], time);
    ++in_time;
    if (load.times_left > 0) {
      --load.times_left;
      upcoming_.postpone_next(time + step.period);
    } else {
      if (load.is_last_step) leave(static_cast<std::size_t>(sm));
      upcoming_.drop_next();
    }
  } while (done < most && comes_next());
  replay_.count_replayed(in_time);
  loads_ += in_time;
  return done;
}

void Periods::complete_step(Period::Step& step, std::uint32_t op_class) {
  const OpTiming& timing = builder_.timings()[op_class];
  step.copies_free = timing.smem_cycles > 0 ? replay_.stretches()[step.stretch].key.copies_free : -never;
  step.copies = timing.copy;
  step.follows = timing.copy || !builder_.costs().models_instruction_latency();
  if (op_class >= Recorder::counted_classes) return;
  const Stretch& stretch = replay_.stretches()[step.stretch];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts = {{op_class, 1}};
  for (std::uint32_t i = 0; i < stretch.class_count; ++i) counts.emplace_back(stretch.counts[i].op_class, stretch.counts[i].count);
  step.group = recorder_.add_group(std::move(counts));
}

void Periods::let_enter(double now) {
  StretchTable& stretches = replay_.stretches();
  std::size_t count = 0;
  double cycles = 0;
  for (const InPeriod& own : in_period_) {
    if (own.period < 0) continue;
    ++count;
    cycles = stretches.period(own.period).cycles;
  }
  entering_.clear();
  for (std::size_t sm = 0; sm < in_period_.size(); ++sm) {
    if (in_period_[sm].period >= 0 || !enter(sm, cycles)) continue;
    ++count;
    cycles = stretches.period(in_period_[sm].period).cycles;
  }
  upcoming_.add(entering_);
  if (count * least_part < in_period_.size()) return leave_all(now);
  plan_wait_ = 0;
  plan_at_ = now + cycles;
}

bool Periods::enter(std::size_t number, double cycles) {
  RunningSm& sm = runner_.sms()[number];
  StretchTable& stretches = replay_.stretches();
  const Replay::InStretch in = replay_.in_stretch(number);
  if (in.stretch < 0 || !in.is_behind || number > most_sm_number) return false;
  const std::int32_t found = stretches.period_of(in.stretch);
  if (found < 0) return false;
  Period& period = stretches.period(found);
  if (cycles > 0 && std::abs(period.cycles - cycles) > cycles * most_difference) return false;
  const std::size_t count = period.steps.size();
  const std::uint32_t first = (stretches[in.stretch].step + 1) % static_cast<std::uint32_t>(count);
  const auto step_after = [&](std::size_t n) -> Period::Step& { return period.steps[(first + n) % count]; };
  const double start = in.since + stretches[in.stretch].cycles;
  // Go through the first period, and return to its start. Of later ones it is enough that all positions repeat.
  const GroupCounters entry(sm);
  std::array<std::uint32_t, Period::most_steps> op_classes{};
  std::size_t passed = 0;
  for (double time = start; passed < count; time += step_after(passed++).cycles) {
    const ResidentGroup& group = sm.groups[step_after(passed).slot];
    op_classes[passed] = group.loads[group.next_load].op_class;
    if (!passes(sm, step_after(passed), entry, time)) break;
  }
  entry.restore(sm);
  if (passed < count) return false;
  for (std::size_t n = 0; n < count && !period.is_complete; ++n) complete_step(step_after(n), op_classes[n]);
  period.is_complete = true;
  // Periods after the first one that are known to follow, and steps of the one after these.
  const double in_binade = std::floor((replay_.binade_end() - period.latest - start) / period.cycles) - 1;
  double periods = std::min(most_periods_ahead, in_binade);
  for (std::size_t i = 0; i < sm.groups.size(); ++i)
    if (sm.groups[i].stream != nullptr)
      periods = std::min(periods, runner_.schedules().repetitions(sm.groups[i], period.advance[i]));
  if (periods < 0) return false;
  const auto times = static_cast<std::uint32_t>(periods);
  std::size_t more = 0;
  if (periods + 1 <= in_binade) {
    entry.move(sm, period, times + 1);
    while (more < count && passes(sm, step_after(more), entry, start)) ++more;
    entry.restore(sm);
  }
  in_period_[number] = {found, first, entry.loads()};
  order_.set(number, never);
  double time = start;
  for (std::size_t n = 0; n < count; ++n) {
    const Period::Step& step = step_after(n);
    entering_.push_back({.time = time,
                         .step = &step,
                         .group = &sm.groups[step.slot],
                         .shift = sm.groups[step.slot].origin.shift_of(builder_.op_class(op_classes[n]).tensor),
                         .sm = static_cast<std::uint16_t>(number),
                         .is_last_step = n + 1 == (more > 0 ? more : count),
                         .times_left = times + (n < more ? 1 : 0)});
    time += step.cycles;
  }
  return true;
}

void Periods::leave(std::size_t number) {
  RunningSm& sm = runner_.sms()[number];
  StretchTable& stretches = replay_.stretches();
  InPeriod& own = in_period_[number];
  Replay::InStretch& in = replay_.in_stretch(number);
  const std::vector<Period::Step>& steps = stretches.period(own.period).steps;
  std::int64_t loads = -own.first_load;
  for (const ResidentGroup& group : sm.groups)
    if (group.stream != nullptr) loads += group.next_load;
  const auto done = static_cast<std::size_t>(loads), count = steps.size();
  for (std::size_t n = 0; n < std::min(done, count); ++n) {
    const auto times = static_cast<std::uint32_t>(done / count + (n < done % count ? 1 : 0));
    Replay::advance(sm, stretches[steps[(own.first_step + n) % count].stretch], times);
  }
  if (done > 0) {
    const Period::Step& last = steps[(own.first_step + done - 1) % count];
    in.stretch = last.stretch;
    in.since = sm.groups[last.slot].issued;
  }
  own.period = -1;
  order_.set(number, in.since + stretches[in.stretch].cycles);
}

void Periods::leave_all(double time) {
  for (std::size_t sm = 0; sm < in_period_.size(); ++sm)
    if (in_period_[sm].period >= 0) leave(sm);
  upcoming_.clear();
  plan_wait_ = std::clamp(2 * plan_wait_, first_wait, most_wait);
  plan_at_ = time + plan_wait_;
}

}  // namespace tilescope
