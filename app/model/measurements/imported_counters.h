// ImportedCounters: what Nsight Compute counted of a user's own kernels, beside the simulation that they are held against.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/measure/ncu_csv.h"
#include "sim/analysis/validation.h"
#include "sim/core/measurement.h"
#include "sim/engine/simulation.h"

namespace tilescope {

struct ImportedCounters {
  std::string path, gpu;  // the file; the simulated GPU
  NcuReport report;
  NcuMatch match;
  std::vector<std::string> launches;  // of the program
  /// The program's problem and tile, with sums over its launches. Times are kernel_ns(): a profiler's have no gaps between
  /// launches.
  MeasuredCase measured;

  /// The row that stands for a launch.
  const NcuLaunch& row(std::size_t launch) const { return report.launches[match.rows[launch]]; }
  /// The sum over all launches; nullopt where one of them lacks it.
  std::optional<double> sum(std::string_view key) const;
  /// The metric that a figure was read from; empty where it is missing.
  std::string_view metric(std::string_view key) const;
  /// At which the profiled kernels ran, where the file has cycles and time.
  std::optional<double> clock_hz() const;
};

/// Reads a file's text and meets its launches with those of `simulation`.
/// Errors  those of read_ncu_csv() and match_ncu_launches()
Result<ImportedCounters> import_counters(std::string_view text, std::string_view path, const Simulation& simulation);

/// Whether the counters are of the same algorithm, problem and tile on a GPU of that name.
bool is_of(const ImportedCounters& imported, const Simulation& simulation);

/// "FILE lacks dram__bytes_read.sum: profile with --metrics …"; nullopt where nothing is missing.
std::optional<Sentence> missing_metrics(const ImportedCounters& imported);

/// Says what speaks against a comparison: another GPU, further runs that were left out, names that do not tell the kernel, and a
/// grid or block of another size than the simulated one, so that another problem or tile was profiled.
std::vector<Sentence> doubts(const Simulation& simulation, const ImportedCounters& imported);

/// "attention = ID 0 flash2_kernel", one a launch.
std::vector<std::string> match_lines(const ImportedCounters& imported);

/// Simulated bytes beside those that were counted. HBM has no bound where there are several launches: by default ncu flushes the L2
/// before each.
CaseValidation compare_imported(const Simulation& simulation, const ImportedCounters& imported);

/// Time of the simulated launches alone, at the SM clock of the counters where they tell it.
Nanoseconds launch_time(const Simulation& simulation, const ImportedCounters& imported);

}  // namespace tilescope
