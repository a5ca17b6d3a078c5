// KnownMisses: the file of a bundle's known misses, assets/measured/<bundle>-known-misses.toml.
//
//   schema = "tilescope.known_misses/1"
//   recorded = "2026-11-22T13:49:09Z"     the bundle's date; the list applies to no other recording
//   [[miss]]
//   kernel = "standard"
//   problem = "B1 H1 N65536 d128 fp16"    as short_text() writes it
//   figure = "hbm_read"
//   cap_percent = 2.5                     largest relative error in either direction; beyond it the figure fails
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
  std::string file;  // name without folders; empty if there is no file
  std::string recorded;
  std::vector<KnownMiss> misses;

  /// Returns the misses that apply to a bundle: none if it is another recording than the reviewed one.
  std::span<const KnownMiss> of(const MeasurementBundle& bundle) const;
};

/// Reads the file.
/// Errors  not TOML; another schema; an unknown or missing key; an unknown figure; a cap that is not above 0; no cause; a figure
///         that is listed twice
Result<KnownMisses> known_misses_from_toml(std::string_view text, std::string_view origin);

/// An entry that is no longer needed, and why.
struct StaleMiss {
  KnownMiss miss;
  std::string why;  // "its case is within the bound", …
};

/// Returns the entries that match no case of the bundle, or whose figure is within its bound. `results` belong to `cases`. These
/// may be part of the bundle; entries about the other part are not stale.
std::vector<StaleMiss> stale_misses(const KnownMisses& known, const MeasurementBundle& bundle, std::span<const MeasuredCase> cases,
                                    std::span<const CaseValidation> results);

}  // namespace tilescope
