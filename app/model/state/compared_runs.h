// ComparedRuns: which two runs the Compare view holds against each other.
#pragma once

#include <cstddef>

namespace tilescope {

inline constexpr std::size_t most_pinned = 8;

/// Each is 0 for the run on screen, or the place of a pinned run, from 1.
struct ComparedRuns {
  int first = 0, second = 0;
  bool operator==(const ComparedRuns&) const = default;
};

/// The newest pinned run beside the one on screen.
constexpr ComparedRuns usual_comparison(std::size_t pinned) {
  return {static_cast<int>(pinned), 0};
}

}  // namespace tilescope
