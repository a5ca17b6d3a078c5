// The shipped bundles, their known misses and the tables that were written for them.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/measurements/measurements.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "sim/analysis/validation_csv.h"

namespace tilescope {

inline KnownBundle shipped_bundle(const std::string& gpu) {
  auto bundle = load_bundle(TILESCOPE_SOURCE_DIR "/assets/measured/" + gpu + ".json");
  REQUIRE_MESSAGE(static_cast<bool>(bundle), (bundle ? "" : bundle.error().sentence));
  return std::move(*bundle);
}

/// tests/validation/<name>.csv
inline std::vector<ValidationRow> committed_table(const std::string& name) {
  const auto text = read_text_file(TILESCOPE_SOURCE_DIR "/tests/validation/" + name + ".csv");
  REQUIRE_MESSAGE(static_cast<bool>(text), (text ? "" : text.error().sentence));
  auto rows = validation_from_csv(*text);
  REQUIRE_MESSAGE(static_cast<bool>(rows), (rows ? "" : rows.error().sentence));
  return std::move(*rows);
}

inline void check_none(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) CHECK_MESSAGE(line.empty(), line);
}

}  // namespace tilescope
