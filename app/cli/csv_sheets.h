// The tables that `export` writes as CSV: names of columns in line 1, bytes and cycles as plain numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/engine/simulation.h"

namespace tilescope {

/// A row of the table of tables.
struct CsvSheet {
  std::string_view name;  // of --sheet
  std::string (*text)(const Simulation& simulation);
};

/// traffic    bytes by tensor and link, with their closed form
/// ledger     bytes by launch, tensor, link and line
/// launches   grid, occupancy, times and HBM bytes of each launch
/// steps      every operation of the SM in focus, by step
/// waits      how long operations of the SM in focus waited, by unit and cause
/// bandwidth  bytes that landed on each link, over time
/// what_if, fit, compare, ladder, mask    those of the views (csv_studies.h)
std::span<const CsvSheet> csv_sheets();

}  // namespace tilescope
