// Decides what is one entry.
#include "app/model/state/undo_history.h"

#include <algorithm>

namespace tilescope {

namespace {

constexpr double seconds_of_one_change = 1;

bool is_motion(std::string_view key) {
  return key == "step" || key == "cycle" || key == "time_window";  // which follows the playhead
}

/// Counts the numbers that a state keeps and does not share with `next`, and the links of pinned runs by their size: they may hold
/// matrices too.
std::size_t numbers_of(const WindowState& state, const WindowState* next = nullptr) {
  std::size_t count = 0;
  for (const std::string& link : state.pinned) count += link.size() / sizeof(float);
  for (const auto member : {&WindowState::q, &WindowState::k, &WindowState::v}) {
    const SharedMatrix& matrix = state.*member;
    if (matrix && (next == nullptr || (next->*member).pointer() != matrix.pointer())) count += matrix->values.size();
  }
  return count;
}

std::size_t numbers_of(const DeckEdition& edition) {
  std::size_t count = 0;
  if (edition.deck != nullptr)
    for (const Scene& scene : edition.deck->scenes) count += numbers_of(scene.state);
  return count;
}

}  // namespace

void UndoHistory::note(const WindowState& state, const Cause& cause, const DeckEdition& deck) {
  if (entries_.empty()) {
    entries_.push_back({std::make_shared<const WindowState>(state), deck});
    return;
  }
  Entry& shown = entries_[at_];
  std::vector<std::string_view> keys = changed_keys(*shown.state, state);
  const bool other_deck = deck.deck != shown.deck.deck;
  if (keys.empty() && !other_deck) {
    shown.deck = deck;  // another scene of it may be shown
    return;
  }
  const bool motion = std::all_of(keys.begin(), keys.end(), is_motion);
  if (!motion) std::erase_if(keys, is_motion);
  const bool last_was_motion = !last_keys_.empty() && std::all_of(last_keys_.begin(), last_keys_.end(), is_motion);
  const bool same_change =
      motion ? last_was_motion
             : !last_keys_.empty() && (cause.gesture != 0 ? cause.gesture == last_.gesture
                                                          : last_.gesture == 0 && keys == last_keys_ &&
                                                                cause.seconds - last_.seconds < seconds_of_one_change);
  const bool joins = same_change && !other_deck && at_ > 0;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, entries_.end());
  if (joins && *entries_[at_ - 1].state == state && entries_[at_ - 1].deck.deck == deck.deck) {  // there and back
    entries_.pop_back();
    keys.clear();
  } else if (joins) {
    entries_[at_] = {std::make_shared<const WindowState>(state), deck};
  } else {
    entries_.push_back({std::make_shared<const WindowState>(state), deck});
  }
  if (other_deck) keys.clear();
  last_keys_ = std::move(keys);
  last_ = cause;
  keep_bounded();
  at_ = entries_.size() - 1;
}

void UndoHistory::keep_bounded() {
  // Neighbouring entries share a deck and matrices until they are changed.
  const auto numbers_at = [&](std::size_t i) {
    const Entry* const next = i + 1 < entries_.size() ? &entries_[i + 1] : nullptr;
    const bool shared = next != nullptr && entries_[i].deck.deck == next->deck.deck;
    return numbers_of(*entries_[i].state, next != nullptr ? next->state.get() : nullptr) +
           (shared ? 0 : numbers_of(entries_[i].deck));
  };
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) numbers += numbers_at(i);
  while (entries_.size() > most_entries || (numbers > most_numbers && entries_.size() > 2)) {
    numbers -= numbers_at(0);
    entries_.pop_front();
  }
}

std::shared_ptr<const WindowState> UndoHistory::undo() {
  if (!can_undo()) return nullptr;
  last_keys_.clear();
  return entries_[--at_].state;
}

std::shared_ptr<const WindowState> UndoHistory::redo() {
  if (!can_redo()) return nullptr;
  last_keys_.clear();
  return entries_[++at_].state;
}

std::shared_ptr<const WindowState> UndoHistory::now() const {
  return entries_.empty() ? nullptr : entries_[at_].state;
}

}  // namespace tilescope
