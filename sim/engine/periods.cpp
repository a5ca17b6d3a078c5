// Machine's periods (see stretches.h): the loads of SMs in a period are known in advance, so they need no search for the next
// event.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/machine.h"

namespace tilescope {

namespace {

constexpr std::size_t least_part = 16;                  // it pays if at least one SM in so many is in a period
constexpr double first_wait = 4096, most_wait = 16384;  // cycles until SMs may enter again, if too few did
constexpr double most_difference = 1.0 / 1024;          // of the lengths of periods: more would slow sort_in() down
constexpr double most_periods = 1 << 30;
constexpr std::size_t most_sm_number = 0xffff;
constexpr std::size_t most_repetitions = 64;

}  // namespace

int Machine::go_on_in_periods(int most) {
  int done = 0, in_time = 0;
  double latest = never;  // the time of the last load of the ring; infinite: unknown
  do {
    const std::size_t number = next_upcoming_;
    UpcomingLoad& load = upcoming_[number];
    ++done;
    ResidentGroup& group = *load.block;
    const Period::Step& step = *load.step;
    const double time = load.time;
    const std::uint32_t at = group.next_load;
    const ScheduledAccess& access = group.loads[at];
    const int sm = load.sm;
    const bool is_repeated = memory_.is_repeated(sm, access, group.origin);
    RepeatedLoad repeated;
    if (is_repeated)
      repeated = memory_.load_again(sm, time);
    else
      repeated.end = memory_.load(sm, time, access, group.origin).end;
    // Without a copy copies_free is infinitely early.
    const double landed = std::max(repeated.end, time + step.copies_free + gpu_.l2_latency_cycles);
    const double noted = step.follows ? std::max(group.copied, landed) : landed;
    const bool is_in_time = noted <= time + step.slack;
    const bool is_counted =
        is_repeated && is_in_time && step.group != nullptr &&
        recorder_.count_group(*step.group, std::min(repeated.start, time + step.first), std::max(repeated.end, time + step.last));
    if (is_repeated && !is_counted)
      recorder_.operation(access.op_class, repeated.start, repeated.busy_end, repeated.end, repeated.streams);
    if (!is_in_time) {
      // Something waits for these bytes, so the next loads of the SM are not known any more.
      leave_period(load.sm);
      const std::int32_t stretch = step.stretch;
      for (UpcomingLoad& other : upcoming_)
        if (other.sm == load.sm) drop(other);
      go_to_next_upcoming();
      order_.set(static_cast<std::size_t>(sm), land_in_stretch(sm, group, stretch, time, repeated.end));
      break;
    }
    if (step.copies) group.copied = noted;
    group.times[OperationStream::landing(at)] = noted;
    group.next_load = at + 1;
    group.issued = time;
    group.drained = std::max(group.drained, landed);
    if (!is_counted) record_stretch(stretches_[step.stretch], time);
    ++in_time;
    if (load.times_left > 0) {
      --load.times_left;
      const double next_time = load.time = time + step.period;
      go_to_next_upcoming();
      latest = next_time <= latest && sort_in(number) ? never : next_time;
    } else {
      if (load.is_last_step) leave_period(load.sm);
      drop(load);
      go_to_next_upcoming();
    }
  } while (done < most && is_upcoming_next());
  replayed_ += in_time;
  in_periods_ += in_time;
  found_ += in_time;
  return done;
}

inline void Machine::go_to_next_upcoming() {
  if (live_upcoming_ == 0) return clear_upcoming();
  do {
    if (++next_upcoming_ == upcoming_.size()) next_upcoming_ = 0;
  } while (upcoming_[next_upcoming_].block == nullptr);
}

bool Machine::sort_in(std::size_t at) {
  bool moves = false;
  for (std::size_t before = at; before != next_upcoming_;) {
    before = (before == 0 ? upcoming_.size() : before) - 1;
    if (upcoming_[before].block == nullptr) continue;
    if (!upcoming_[at].comes_before(upcoming_[before])) break;
    std::swap(upcoming_[at], upcoming_[before]);
    at = before;
    moves = true;
  }
  return moves;
}

void Machine::drop(UpcomingLoad& load) {
  if (load.block == nullptr) return;
  load.block = nullptr;
  --live_upcoming_;
}

void Machine::clear_upcoming() {
  upcoming_.assign(1, {.time = never});
  next_upcoming_ = live_upcoming_ = 0;
}

void Machine::complete_step(Period::Step& step, std::uint32_t op_class) {
  const OpTiming& timing = builder_.timings()[op_class];
  step.copies_free = timing.smem_cycles > 0 ? stretches_[step.stretch].key.copies_free : -never;
  step.copies = timing.copy;
  step.follows = timing.copy || !builder_.models_instruction_latency();
  if (op_class >= Recorder::counted_classes) return;
  const Stretch& stretch = stretches_[step.stretch];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts = {{op_class, 1}};
  for (std::uint32_t i = 0; i < stretch.class_count; ++i) counts.emplace_back(stretch.counts[i].op_class, stretch.counts[i].count);
  step.group = recorder_.add_group(std::move(counts));
}

void Machine::plan_loads() {
  const double now = next_event();
  std::size_t count = 0;
  double cycles = 0;
  for (const Sm& sm : sms_) {
    if (sm.period < 0) continue;
    ++count;
    cycles = stretches_.period(sm.period).cycles;
  }
  entering_.clear();
  for (std::size_t number = 0; number < sms_.size(); ++number) {
    if (sms_[number].period >= 0 || !enter_period(number, cycles)) continue;
    ++count;
    cycles = stretches_.period(sms_[number].period).cycles;
  }
  if (!entering_.empty()) {
    const auto earlier = [](const UpcomingLoad& a, const UpcomingLoad& b) { return a.comes_before(b); };
    std::stable_sort(entering_.begin(), entering_.end(), earlier);  // an SM may issue several loads at once
    std::rotate(upcoming_.begin(), upcoming_.begin() + static_cast<std::ptrdiff_t>(next_upcoming_), upcoming_.end());
    std::erase_if(upcoming_, [](const UpcomingLoad& load) { return load.block == nullptr; });
    const auto before = static_cast<std::ptrdiff_t>(upcoming_.size());
    upcoming_.insert(upcoming_.end(), entering_.begin(), entering_.end());
    std::inplace_merge(upcoming_.begin(), upcoming_.begin() + before, upcoming_.end(), earlier);
    next_upcoming_ = 0;
    live_upcoming_ = upcoming_.size();
  }
  if (count * least_part < sms_.size()) return leave_all_periods(now);
  plan_wait_ = 0;
  plan_at_ = now + cycles;
}

bool Machine::enter_period(std::size_t number, double cycles) {
  Sm& sm = sms_[number];
  if (sm.stretch < 0 || !sm.is_behind || number > most_sm_number) return false;
  const std::int32_t found = stretches_.period_of(sm.stretch);
  if (found < 0) return false;
  Period& period = stretches_.period(found);
  if (cycles > 0 && std::abs(period.cycles - cycles) > cycles * most_difference) return false;
  const std::size_t count = period.steps.size();
  const std::uint32_t first = (stretches_[sm.stretch].step + 1) % static_cast<std::uint32_t>(count);
  const double start = sm.since + stretches_[sm.stretch].cycles;
  // Go through the first period, and return to its start. Of later ones it is enough that all positions repeat.
  struct Counters {
    std::uint32_t next_compute, next_load;
    double* next_signal;
  };
  std::array<Counters, most_stretch_slots> before{};
  std::int64_t loads = 0;
  for (std::size_t i = 0; i < sm.slots.size(); ++i) {
    before[i] = {sm.slots[i].next_compute, sm.slots[i].next_load, sm.slots[i].next_signal};
    if (sm.slots[i].stream != nullptr) loads += sm.slots[i].next_load;
  }
  std::array<std::uint32_t, Period::most_steps> op_classes{};
  bool fits = true;
  double time = start;
  for (std::size_t n = 0; n < count && fits; ++n) {
    const Period::Step& step = period.steps[(first + n) % count];
    const Stretch& stretch = stretches_[step.stretch];
    const std::uint32_t load = sm.slots[step.slot].next_load++;
    op_classes[n] = sm.slots[step.slot].loads[load].op_class;
    for (std::size_t i = 0; i < sm.slots.size() && fits; ++i)
      fits = sm.slots[i].stream == nullptr || position_of(sm.slots[i], sm.slots[i].next_load) == stretch.key.slots[i].position;
    for (std::size_t i = 0; i < stretch.deadline_count && fits; ++i) {
      const StretchDeadline& deadline = stretch.deadlines[i];
      const ResidentGroup& group = sm.slots[deadline.slot];
      const std::int32_t moment = OperationStream::landing(group.next_load) + deadline.moment;
      const bool is_issued = moment < OperationStream::landing(before[deadline.slot].next_load);
      fits = !is_issued || group.times[moment] <= time + deadline.time;
    }
    advance(sm, stretch);
    time += step.cycles;
  }
  for (std::size_t i = 0; i < sm.slots.size(); ++i) {
    sm.slots[i].next_compute = before[i].next_compute;
    sm.slots[i].next_load = before[i].next_load;
    sm.slots[i].next_signal = before[i].next_signal;
  }
  if (!fits) return false;
  for (std::size_t n = 0; n < count && !period.is_complete; ++n) complete_step(period.steps[(first + n) % count], op_classes[n]);
  period.is_complete = true;
  // Periods after the first one that are known to follow.
  double periods = std::min(most_periods, std::floor((binade_end_ - period.latest - start) / period.cycles) - 1);
  for (std::size_t i = 0; i < sm.slots.size(); ++i)
    if (sm.slots[i].stream != nullptr) periods = std::min(periods, repetitions(sm.slots[i], period.advance[i]));
  if (periods < 0) return false;
  sm.period = found;
  sm.first_step = first;
  sm.first_load = loads;
  order_.set(number, never);
  time = start;
  for (std::size_t n = 0; n < count; ++n) {
    const Period::Step& step = period.steps[(first + n) % count];
    entering_.push_back({.time = time,
                         .step = &step,
                         .block = &sm.slots[step.slot],
                         .sm = static_cast<std::uint16_t>(number),
                         .is_last_step = n + 1 == count,
                         .times_left = static_cast<std::uint32_t>(periods)});
    time += step.cycles;
  }
  return true;
}

double Machine::repetitions(const ResidentGroup& group, const Period::Advance& advance) {
  const auto times = [](std::uint32_t from, std::uint32_t until, std::uint32_t step) {
    if (until <= from) return 0.0;
    const std::uint32_t whole = step == 0 ? 0 : (until - 1 - from) / step;
    return step == 0 ? never : static_cast<double>(whole);
  };
  const OperationStream& stream = *group.stream;
  const std::uint32_t compute = group.next_compute, load = group.next_load;
  return std::min(times(compute, repeats_until(stream.positions, compute, advance.operations, advance.loads), advance.operations),
                  times(load, repeats_until(stream.load_positions, load, advance.loads, advance.signals), advance.loads));
}

std::uint32_t Machine::repeats_until(const std::vector<OperationStream::Position>& positions, std::uint32_t from,
                                     std::uint32_t step, std::uint32_t waited) {
  Repetition* later = nullptr;
  for (Repetition& known : repetitions_) {
    if (known.positions != positions.data() || known.step != step || known.waited != waited || known.end <= from) continue;
    if (known.begin <= from) return known.end;
    later = &known;
  }
  std::uint32_t end = from;
  while (end + step < positions.size() && positions[end].number != 0 && positions[end].number == positions[end + step].number &&
         static_cast<std::uint32_t>(positions[end + step].waited_for - positions[end].waited_for) == waited) {
    if (later != nullptr && end == later->begin) {
      later->begin = from;
      return later->end;
    }
    ++end;
  }
  if (repetitions_.size() == most_repetitions) repetitions_.clear();
  repetitions_.push_back({positions.data(), step, waited, from, end});
  return end;
}

void Machine::leave_period(std::size_t number) {
  Sm& sm = sms_[number];
  const std::vector<Period::Step>& steps = stretches_.period(sm.period).steps;
  std::int64_t loads = -sm.first_load;
  for (const ResidentGroup& group : sm.slots)
    if (group.stream != nullptr) loads += group.next_load;
  const auto done = static_cast<std::size_t>(loads), count = steps.size();
  for (std::size_t n = 0; n < std::min(done, count); ++n) {
    const auto times = static_cast<std::uint32_t>(done / count + (n < done % count ? 1 : 0));
    advance(sm, stretches_[steps[(sm.first_step + n) % count].stretch], times);
  }
  if (done > 0) {
    const Period::Step& last = steps[(sm.first_step + done - 1) % count];
    sm.stretch = last.stretch;
    sm.since = sm.slots[last.slot].issued;
  }
  sm.period = -1;
  order_.set(number, sm.since + stretches_[sm.stretch].cycles);
}

void Machine::leave_all_periods(double time) {
  for (std::size_t number = 0; number < sms_.size(); ++number)
    if (sms_[number].period >= 0) leave_period(number);
  clear_upcoming();
  plan_wait_ = std::clamp(2 * plan_wait_, first_wait, most_wait);
  plan_at_ = time + plan_wait_;
}

}  // namespace tilescope
