// BankChoice: what the Banks view shows.
#pragma once

#include <string>

#include "sim/core/result.h"

namespace tilescope {

struct AccessPattern;  // sim/analysis/bank_conflicts.h

struct BankChoice {
  std::string pattern = "ldmatrix";  // an id of access_patterns()
  bool swizzled = false;
  int wavefront = 1;  // 1 is the first; of a global access always 1
  bool operator==(const BankChoice&) const = default;
};

/// Each lane waits for another word of one bank.
inline constexpr int most_wavefronts = 32;

/// Returns the pattern, or the first one if there is no such id.
const AccessPattern& pattern_of(const BankChoice& choice);
/// Returns how many wavefronts the chosen access takes; 1 of a global access, which the view does not step.
int wavefront_count(const BankChoice& choice);
/// Errors  an unknown pattern, one that has no swizzled layout, a wavefront that the access does not have.
Status check(const BankChoice& choice);

}  // namespace tilescope
