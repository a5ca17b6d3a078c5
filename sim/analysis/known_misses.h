// The file of known misses of one bundle: assets/measured/<bundle>-known-misses.toml.
//
//   schema = "tilescope.known_misses/1"
//   recorded = "2026-11-22T13:49:09Z"     the bundle's date; the list of another recording starts empty
//   [[miss]]
//   kernel = "standard"
//   problem = "B1 H1 N65536 d128 fp16"    as short_text() writes it
//   figure = "hbm_read"
//   cap_percent = 2.5                     largest size of the error; beyond it the figure fails
//   cause = "…"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/validation.h"
#include "sim/core/result.h"

namespace tilescope {

struct KnownMisses {
  std::string file;  // without folders; empty: there is none
  std::string recorded;
  std::vector<KnownMiss> misses;

  /// Returns what applies to a bundle: nothing where it is another recording than the one that was reviewed.
  std::span<const KnownMiss> of(const MeasurementBundle& bundle) const;
};

/// Errors  not TOML; another schema; an unknown or missing key; an unknown figure; a cap that is not above 0; no cause; a figure
/// that
///         is listed twice.
Result<KnownMisses> known_misses_from_toml(std::string_view text, std::string_view origin);

/// An entry that excuses nothing, and why.
struct StaleMiss {
  KnownMiss miss;
  std::string why;  // "its case is within the bound", …
};

/// Returns the entries that match no case of the bundle, or whose figure is within its bound. `results` belong to `cases`, which
/// may be a part of the bundle; an entry about another part is not stale.
std::vector<StaleMiss> stale_misses(const KnownMisses& known, const MeasurementBundle& bundle, std::span<const MeasuredCase> cases,
                                    std::span<const CaseValidation> results);

}  // namespace tilescope
