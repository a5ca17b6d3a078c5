// Keeps simulations with other SMs in focus, sorts lanes by SM, and looks into SMs.
#include "app/model/session/sm_findings.h"

#include <algorithm>
#include <utility>

#include "app/model/background/slots.h"
#include "sim/analysis/outcome.h"
#include "sim/engine/refocused.h"

namespace tilescope {

namespace {

/// What simulations that left the screen may take until they are let go of.
constexpr std::size_t most_kept_runs = 6, most_kept_bytes = 256 << 20;

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

}  // namespace

void SmFindings::show(const std::vector<Runner>& left, std::span<const Runner> now) {
  bool all_known = left.size() == now.size();
  for (std::size_t i = 0; all_known && i < now.size(); ++i)
    all_known = found_[i].lanes != nullptr && same_request(left[i].simulation->request, now[i].simulation->request);
  if (!all_known) found_ = {};
  for (std::size_t i = 0; i < now.size(); ++i) {
    found_[i].simulation = now[i].simulation;
    found_[i].lanes_asked = false;
  }
  for (const Runner& runner : left) keep(runner.simulation, now);
}

void SmFindings::keep(const std::shared_ptr<const Simulation>& left, std::span<const Runner> now) {
  const auto of_other_request = [&](const std::shared_ptr<const Simulation>& kept) {
    return std::none_of(now.begin(), now.end(),
                        [&](const Runner& runner) { return same_request(kept->request, runner.simulation->request); });
  };
  if (std::find(other_focus_.begin(), other_focus_.end(), left) == other_focus_.end()) other_focus_.push_back(left);
  std::size_t bytes = 0, count = 0;
  for (auto kept = other_focus_.rbegin(); kept != other_focus_.rend(); ++kept) {
    bytes += bytes_of(**kept);
    if (of_other_request(*kept) || ++count > most_kept_runs || bytes > most_kept_bytes) retired_.add(std::move(*kept));
  }
  std::erase(other_focus_, nullptr);
}

std::vector<std::shared_ptr<const Simulation>> SmFindings::known_with_focus(std::span<const Runner> runners, int sm) const {
  std::vector<std::shared_ptr<const Simulation>> known;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    std::shared_ptr<const Simulation> found;
    for (const auto& kept : other_focus_)
      if (found == nullptr && same_request(kept->request, runners[i].simulation->request)) found = refocused(kept, sm);
    const SmWork* const work = found_[i].works != nullptr ? found_[i].works->of(sm) : nullptr;
    if (found == nullptr && work != nullptr) found = refocused(work->simulation, sm);
    if (found == nullptr) return {};
    known.push_back(std::move(found));
  }
  return known;
}

void SmFindings::want(const LookIntoSms& wanted) {
  if (wanted.lane < found_.size()) found_[wanted.lane].wanted = wanted;
}

void SmFindings::ask(std::span<const Runner> runners) {
  for (std::size_t i = 0; i < runners.size(); ++i)
    if (found_[i].lanes == nullptr && !found_[i].lanes_asked) ask_for_lanes(i);
  for (std::size_t i = 0; i < runners.size(); ++i)
    if (found_[i].wanted && found_[i].looked_for != found_[i].wanted) look_into(*found_[i].wanted);
}

void SmFindings::ask_for_lanes(std::size_t i) {
  found_[i].lanes_asked = true;
  worker_.submit(Queue::shown, slots::first_sm_lanes + static_cast<int>(i), WorkKind::timeline,
                 [this, i, simulation = found_[i].simulation](const Progress&) -> Worker::Deliver {
                   return [this, i, simulation, made = std::make_shared<const SmLanes>(make_sm_lanes(*simulation))] {
                     if (found_[i].simulation == simulation) found_[i].lanes = made;
                   };
                 });
}

void SmFindings::look_into(const LookIntoSms& wanted) {
  const std::size_t i = wanted.lane;
  Found& found = found_[i];
  found.looked_for = wanted;
  if (holds(found.works, wanted)) return;
  worker_.submit(Queue::shown, slots::first_look + static_cast<int>(i), WorkKind::other_sms,
                 [this, i, wanted, look = looks_, simulation = found.simulation,
                  earlier = found.works](const Progress& progress) -> Worker::Deliver {
                   auto seen = look_into_sms(simulation, wanted.first, wanted.last, progress);
                   std::shared_ptr<const SmWorks> works;
                   if (seen) works = merged(earlier.get(), std::move(*seen), sms_that_can_be_looked_into(*simulation));
                   return [this, i, look, simulation, works] {
                     if (found_[i].simulation != simulation || look != looks_) return;
                     if (works != nullptr)
                       found_[i].works = works;
                     else
                       found_[i].looked_for.reset();  // what is more urgent came between: again
                   };
                 });
}

}  // namespace tilescope
