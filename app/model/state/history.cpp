// Decides what is one entry.
#include "app/model/state/history.h"

#include <algorithm>

namespace tilescope {

namespace {

constexpr double seconds_of_one_change = 1;

bool is_motion(std::string_view key) {
  return key == "step" || key == "cycle";
}

/// Counts the numbers that a state keeps, and the links of pinned runs by their size: they may hold matrices too.
std::size_t numbers_of(const WindowState& state) {
  std::size_t count = 0;
  for (const std::string& link : state.pinned) count += link.size() / sizeof(float);
  for (const auto* matrix : {&state.q, &state.k, &state.v})
    if (*matrix) count += (*matrix)->values.size();
  return count;
}

}  // namespace

void History::note(const WindowState& state, const Cause& cause) {
  if (entries_.empty()) {
    entries_.push_back(std::make_shared<const WindowState>(state));
    return;
  }
  const WindowState& before = *entries_[at_];
  std::vector<std::string_view> keys = changed_keys(before, state);
  if (keys.empty()) return;
  const bool motion = std::all_of(keys.begin(), keys.end(), is_motion);
  if (!motion) std::erase_if(keys, is_motion);
  const bool last_was_motion = !last_keys_.empty() && std::all_of(last_keys_.begin(), last_keys_.end(), is_motion);
  const bool joins = motion
                         ? last_was_motion
                         : !last_keys_.empty() && (cause.gesture != 0 ? cause.gesture == last_.gesture
                                                                      : last_.gesture == 0 && keys == last_keys_ &&
                                                                            cause.seconds - last_.seconds < seconds_of_one_change);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, entries_.end());
  if (joins && at_ > 0 && *entries_[at_ - 1] == state) {  // there and back
    entries_.pop_back();
    --at_;
    keys.clear();
  } else if (joins && at_ > 0) {
    entries_[at_] = std::make_shared<const WindowState>(state);
  } else {
    entries_.push_back(std::make_shared<const WindowState>(state));
  }
  last_keys_ = std::move(keys);
  last_ = cause;
  std::size_t numbers = 0;
  for (const auto& entry : entries_) numbers += numbers_of(*entry);
  while (entries_.size() > most_entries || (numbers > most_numbers && entries_.size() > 2)) {
    numbers -= numbers_of(*entries_.front());
    entries_.pop_front();
  }
  at_ = entries_.size() - 1;
}

std::shared_ptr<const WindowState> History::undo() {
  if (!can_undo()) return nullptr;
  last_keys_.clear();
  return entries_[--at_];
}

std::shared_ptr<const WindowState> History::redo() {
  if (!can_redo()) return nullptr;
  last_keys_.clear();
  return entries_[++at_];
}

std::shared_ptr<const WindowState> History::now() const {
  return entries_.empty() ? nullptr : entries_[at_];
}

}  // namespace tilescope
