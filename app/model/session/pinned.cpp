// Simulates runs that came pinned in a link, and compares in the background.
#include "app/model/session/pinned.h"

#include <algorithm>

#include "app/model/background/slots.h"
#include "app/model/run_data/arrival.h"
#include "app/model/session/opening.h"
#include "app/model/state/window_state.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

PinnedRun from_state(WindowState state, std::shared_ptr<const Simulation> simulation) {
  state.pinned.clear();
  state.compared = {};
  std::string link = to_link(state);
  return {std::move(link), std::make_shared<const WindowState>(std::move(state)), std::move(simulation), {}};
}

PinnedRun from_text(const std::string& link) {
  Result<WindowState> state = from_link(link);
  if (state) return from_state(std::move(*state), nullptr);
  return {link, std::make_shared<const WindowState>(), nullptr, state.error()};
}

}  // namespace

PinnedView Pinned::view() const {
  PinnedView view{runs_, compared_, comparison_, nullptr, beside_.simulation != nullptr ? &beside_ : nullptr};
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (is_compared(static_cast<int>(i) + 1) && runs_[i].refused && view.refused == nullptr) view.refused = &*runs_[i].refused;
  if (comparison_refused_ && view.refused == nullptr) view.refused = &*comparison_refused_;
  return view;
}

void Pinned::forget_comparison() {
  comparing_ = {};
  comparison_.reset();
  comparison_refused_.reset();
}

void Pinned::pin(WindowState state, std::shared_ptr<const Simulation> simulation) {
  beside_ = {};  // runs move
  PinnedRun run = from_state(std::move(state), std::move(simulation));
  const auto same = std::find_if(runs_.begin(), runs_.end(), [&](const PinnedRun& each) {
    return each.link == run.link || each.simulation == run.simulation ||
           (each.simulation != nullptr && same_request(each.simulation->request, run.simulation->request));
  });
  if (same != runs_.end()) {
    *same = std::move(run);
    compared_ = {static_cast<int>(same - runs_.begin()) + 1, 0};
    return forget_comparison();
  }
  if (runs_.size() == most_pinned) runs_.erase(runs_.begin());
  runs_.push_back(std::move(run));
  compared_ = usual_comparison(runs_.size());
  forget_comparison();
}

void Pinned::unpin(int place) {
  if (place < 0 || place > static_cast<int>(runs_.size())) return;
  beside_ = {};
  if (place == 0)
    runs_.clear();
  else
    runs_.erase(runs_.begin() + place - 1);
  const auto moved = [&](int each) { return place > 0 && each > place ? each - 1 : each; };
  const bool was_compared = place == 0 || is_compared(place);
  compared_ = was_compared ? usual_comparison(runs_.size()) : ComparedRuns{moved(compared_.first), moved(compared_.second)};
  if (was_compared) forget_comparison();
}

void Pinned::compare(ComparedRuns runs) {
  const auto there = [&](int place) { return place >= 0 && place <= static_cast<int>(runs_.size()); };
  if (there(runs.first) && there(runs.second) && runs.first != runs.second) compared_ = runs;
}

void Pinned::take(const std::vector<std::string>& links, ComparedRuns compared) {
  std::vector<PinnedRun> taken;
  for (const std::string& link : links) {
    const auto known = std::find_if(runs_.begin(), runs_.end(), [&](const PinnedRun& run) { return run.link == link; });
    taken.push_back(known != runs_.end() ? *known : from_text(link));
  }
  beside_ = {};
  runs_ = std::move(taken);
  compared_ = usual_comparison(runs_.size());
  compare(compared);
  if (runs_.empty()) forget_comparison();
}

void Pinned::ask(const std::shared_ptr<const Simulation>& present, bool shown, const Measurements& known) {
  const bool opened = shown && !was_shown_;
  was_shown_ = shown;
  choose_beside(present, known);
  if (runs_.empty() || !shown) return;
  Pair pair;
  for (const auto& [place, simulation] : {std::pair{compared_.first, &pair.first}, {compared_.second, &pair.second}}) {
    if (place == 0) {
      *simulation = present;
      continue;
    }
    PinnedRun& run = runs_[static_cast<std::size_t>(place) - 1];
    if (opened && run.refused && run.refused->kind == Error::Kind::cancelled) run.refused.reset();
    want(run);
    *simulation = run.simulation;
  }
  if (pair.first == nullptr || pair.second == nullptr) return forget_comparison();
  if (opened && comparison_refused_ && comparison_refused_->kind == Error::Kind::cancelled) comparison_refused_.reset();
  // Where other work stopped it, it is begun again once there is none.
  if (comparing_ == pair && (comparison_ || comparison_refused_ || !worker_.idle(Queue::background))) return;
  if (comparing_ != pair) forget_comparison();
  comparing_ = pair;
  worker_.submit(Queue::background, slots::compare_runs, WorkKind::pinned,
                 [this, pair, known](const Progress& progress) -> Worker::Deliver {
                   const auto timed = pair_under_load(known, pair.first, pair.second, progress);
                   if (!timed && timed.error().kind == Error::Kind::cancelled) return {};
                   std::shared_ptr<const RunComparison> made;
                   if (timed) made = std::make_shared<const RunComparison>(compare_runs(timed->first, timed->second));
                   return [this, pair, made, refused = timed ? std::nullopt : std::optional(timed.error())] {
                     if (comparing_ != pair) return;
                     comparison_ = made;
                     comparison_refused_ = refused;
                   };
                 });
}

void Pinned::choose_beside(const std::shared_ptr<const Simulation>& present, const Measurements& known) {
  const auto on_screen = [&](const PinnedRun& run) {
    return run.simulation != nullptr && (run.simulation == present || same_request(run.simulation->request, present->request));
  };
  int place = 0;
  for (const int each : {compared_.first, compared_.second})
    if (place == 0 && each > 0 && !on_screen(runs_[static_cast<std::size_t>(each) - 1])) place = each;
  if (place == 0) {
    beside_ = {};
    return;
  }
  PinnedRun& run = runs_[static_cast<std::size_t>(place) - 1];
  want(run);
  beside_.place = place;
  if (beside_.simulation != run.simulation) {
    beside_ = {place, run.simulation, nullptr, nullptr, nullptr};
    beside_present_.reset();
  }
  if (run.simulation == nullptr) return;
  const bool changed = beside_present_ != present;
  if (changed) {
    beside_present_ = present;
    beside_.timed.reset();
    beside_given_up_ = false;
  }
  if (beside_.timed || beside_given_up_ || (!changed && !worker_.idle(Queue::background))) return;
  worker_.submit(Queue::background, slots::beside_run, WorkKind::unnamed,
                 [this, present, known, simulation = run.simulation, sm = run.state->focus_sm,
                  timeline = beside_.timeline](const Progress& progress) mutable -> Worker::Deliver {
                   auto pair = pair_under_load(known, present, simulation, progress);
                   if (!pair && pair.error().kind == Error::Kind::cancelled) return {};
                   auto timed = std::make_shared<const PairUnderLoad>(pair ? std::move(*pair) : PairUnderLoad{present, simulation});
                   auto kernel = std::make_shared<const RooflineKernel>(roofline_kernel(*timed->second, false));
                   if (timeline == nullptr) timeline = lay_out_timeline_of(timeline_key(simulation, sm));
                   return [this, simulation, present, timed = std::move(timed), kernel = std::move(kernel),
                           timeline = std::move(timeline)] {
                     if (beside_.simulation != simulation || beside_present_ != present) return;
                     beside_.timed = timed;
                     beside_.kernel = kernel;
                     beside_.timeline = timeline;
                   };
                 });
}

void Pinned::want(PinnedRun& run) {
  // Where other work stopped it, it is begun again once there is none.
  const bool idle = asked_.empty() || worker_.idle(Queue::background);
  if (run.simulation == nullptr && !run.refused && idle) simulate_pinned(run);
}

void Pinned::simulate_pinned(PinnedRun& run) {
  Result<StateRequest> request = request_of(*run.state, load_gpu_);
  if (!request) {
    run.refused = request.error();
    return;
  }
  asked_ = run.link;
  worker_.submit(Queue::background, slots::pinned, WorkKind::pinned,
                 [this, link = run.link, asked = std::move(request->request)](const Progress& progress) -> Worker::Deliver {
                   auto made = simulate(asked, progress);
                   return [this, link, made = std::move(made)] {
                     if (asked_ == link) asked_.clear();
                     for (PinnedRun& each : runs_) {  // a link may bring the same run twice
                       if (each.link != link || each.simulation != nullptr) continue;
                       if (made)
                         each.simulation = *made;
                       else if (made.error().kind != Error::Kind::cancelled)
                         each.refused = made.error();
                     }
                   };
                 });
}

void Pinned::cancel() {
  beside_given_up_ = true;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (is_compared(static_cast<int>(i) + 1) && runs_[i].simulation == nullptr && !runs_[i].refused)
      runs_[i].refused = Error{phrase("the pinned run was not simulated"), Error::Kind::cancelled};
  if (comparing_.first != nullptr && comparison_ == nullptr)
    comparison_refused_ = Error{phrase("the pinned run was not simulated"), Error::Kind::cancelled};
}

}  // namespace tilescope
