// What `validate` prints and writes: a table for people, JSON for programs, and the page docs/validation.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/known_misses.h"
#include "sim/analysis/validation.h"

namespace tilescope {

/// A bundle, its cases that were asked for, and what came out.
struct ValidationReport {
  const MeasurementBundle* bundle = nullptr;
  std::string file;  // the bundle's name, without the folders before it
  std::string misses_file;
  std::span<const MeasuredCase> cases;
  std::span<const CaseValidation> results;  // of `cases`, one by one
  ValidationSummary summary;
  std::vector<StaleMiss> stale;
  /// Where `cases` are a part of the bundle: all its cases, by the table of the docs. Absent where there is no such table.
  std::optional<VerdictCounts> whole = {};
};

/// The arguments must outlive the report.
ValidationReport make_report(const KnownBundle& known, const KnownMisses& misses, std::span<const MeasuredCase> cases,
                             std::span<const CaseValidation> results);

/// Returns "part: 62 of 1503 cases were judged. …" where these are not all cases of the bundle; nothing else.
std::string part_line(const ValidationReport& report);
/// Returns "figures: 1600 within their bounds, 10 within …" and the same for cases, in two lines.
std::string verdict_lines(const ValidationSummary& summary);
std::string validation_table(const ValidationReport& report);
/// One object of schema "tilescope.validation/1" and a line's end.
std::string validation_json(const ValidationReport& report);
/// The same for the same bundle and program, so that a diff shows what changed.
std::string validation_markdown(const ValidationReport& report);

}  // namespace tilescope
