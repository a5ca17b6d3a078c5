// Simulates a run that came pinned in a link, and compares in the background.
#include "app/model/pinned.h"

#include "app/model/opening.h"
#include "app/model/slots.h"
#include "app/model/window_state.h"
#include "sim/core/refuse.h"

namespace tilescope {

void Pinned::pin(WindowState state, std::shared_ptr<const Simulation> simulation) {
  unpin();
  state.pinned.reset();
  std::string link = to_link(state);
  run_ = PinnedRun{std::move(link), std::make_shared<const WindowState>(std::move(state)), std::move(simulation)};
}

void Pinned::unpin() {
  run_.reset();
  refused_.reset();
  asked_ = false;
  comparing_ = {};
  comparison_.reset();
}

void Pinned::take(const std::optional<std::string>& link) {
  if (!link) return unpin();
  if (run_ && run_->link == *link) return;
  unpin();
  Result<WindowState> state = from_link(*link);
  if (!state) {
    run_ = PinnedRun{*link, std::make_shared<const WindowState>(), nullptr};
    refused_ = state.error();
    return;
  }
  pin(std::move(*state), nullptr);
}

void Pinned::ask(const std::shared_ptr<const Simulation>& present, bool shown) {
  const bool opened = shown && !was_shown_;
  was_shown_ = shown;
  if (!run_ || !shown) return;
  if (run_->simulation == nullptr) {
    if (opened && refused_ && refused_->kind == Error::Kind::cancelled) refused_.reset();
    // Where other work stopped it, it is begun again once there is none.
    if (!refused_ && (!asked_ || worker_.idle(Queue::background))) simulate_pinned();
    return;
  }
  const Pair pair = {run_->simulation, present};
  if (comparing_ == pair) return;
  comparing_ = pair;
  worker_.submit(Queue::quick, slots::compare_runs, WorkKind::unnamed, [this, pair](const Progress&) -> Worker::Deliver {
    auto made = std::make_shared<const RunComparison>(compare_runs(pair.first, pair.second));
    return [this, pair, made = std::move(made)] {
      if (comparing_ == pair) comparison_ = made;
    };
  });
}

void Pinned::simulate_pinned() {
  Result<StateRequest> request = request_of(*run_->state, load_gpu_);
  if (!request) {
    refused_ = request.error();
    return;
  }
  asked_ = true;
  worker_.submit(Queue::background, slots::pinned, WorkKind::pinned,
                 [this, link = run_->link, asked = std::move(request->request)](const Progress& progress) -> Worker::Deliver {
                   auto made = simulate(asked, progress);
                   return [this, link, made = std::move(made)] {
                     if (!run_ || run_->link != link || run_->simulation != nullptr) return;
                     if (made)
                       run_->simulation = *made;
                     else if (made.error().kind != Error::Kind::cancelled)
                       refused_ = made.error();
                   };
                 });
}

void Pinned::cancel() {
  if (run_ && run_->simulation == nullptr && !refused_)
    refused_ = Error{phrase("the pinned run was not simulated"), Error::Kind::cancelled};
}

}  // namespace tilescope
