// UndoHistory: the states, and the decks of scenes, that undo goes back to and redo forward again.
//
//   note(state) ─► entries: [..., before, NOW] ─► undo() gives `before`, redo() gives what came after it
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "app/model/state/deck.h"
#include "app/model/state/window_state.h"

namespace tilescope {

class UndoHistory {
 public:
  static constexpr std::size_t most_entries = 200;
  static constexpr std::size_t most_numbers = std::size_t{8}
                                              << 20;  // of matrices, in all entries; those that neighbours share once

  /// What caused a state: changes of one gesture (a drag of the mouse, the opening of a state; 0: none) are one entry.
  struct Cause {
    double seconds = 0;  // by any clock that goes on
    std::int64_t gesture = 0;
  };
  /// Takes the state that is shown now. Stepping and playing are one entry until something else is changed; so are changes of one
  /// gesture, and changes of the same settings within a second. What redo had is gone then.
  /// A change of the deck is an entry of its own.
  void note(const WindowState& state, const Cause& cause, const DeckEdition& deck = {});

  bool can_undo() const { return at_ > 0; }
  bool can_redo() const { return at_ + 1 < entries_.size(); }
  /// Goes back, or forward again. Return the state to open; nullptr where there is none.
  std::shared_ptr<const WindowState> undo();
  std::shared_ptr<const WindowState> redo();
  /// Returns the entry that is shown; nullptr before the first note().
  std::shared_ptr<const WindowState> now() const;
  /// Returns the deck of that entry, which there must be.
  const DeckEdition& deck() const { return entries_[at_].deck; }

 private:
  struct Entry {
    std::shared_ptr<const WindowState> state;
    DeckEdition deck;
  };
  /// Drops the oldest entries, as many as are beyond the limits.
  void keep_bounded();

  std::deque<Entry> entries_;
  std::size_t at_ = 0;
  std::vector<std::string_view> last_keys_;  // that the newest entry changed; empty: it is not to be joined with another
  Cause last_;
};

}  // namespace tilescope
