// Reads Nsight Compute's CSV: the counters of profiled launches, in either form that ncu writes.
//
//   ncu --csv              long   a row a metric:  ID, Kernel Name, …, Metric Name, Metric Unit, Metric Value
//   ncu --csv --page raw   wide   a row a launch:  names in the first row, units in the second
//
//   text ── read_ncu_csv() ──► NcuReport ── match_ncu_launches() ──► the row of each launch of a program
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// One of our quantities and the metrics that count it, best first: versions of ncu and chips differ.
struct NcuMetric {
  std::string_view key;                     // "hbm_read_bytes"
  std::span<const std::string_view> names;  // "dram__bytes_read.sum", "dram__sectors_read.sum"
  bool compared = true;                     // a simulation predicts it too
};
std::span<const NcuMetric> ncu_metrics();
/// Returns "dram__bytes_read.sum,dram__bytes_write.sum,…", the argument of ncu --metrics.
std::string ncu_metric_list();

struct NcuValue {
  double value = 0;         // in bytes, nanoseconds, cycles or instructions
  std::string_view metric;  // metric that it was read from
};

/// One profiled launch.
struct NcuLaunch {
  std::string id, kernel;                            // "0", "flash2_kernel<64, 1>(Params)"
  std::int64_t blocks = 0, threads = 0;              // of the grid, and of a block; 0: the file does not say
  std::map<std::string_view, NcuValue> values;       // by our key; unmeasured ones are absent
  const NcuValue* find(std::string_view key) const;  // null if absent
};

struct NcuReport {
  std::string device, capability;  // "NVIDIA H100", compute capability "9.0"; empty if the file does not name it
  std::vector<NcuLaunch> launches;
  std::vector<std::string_view> missing;  // best names of compared metrics that no launch has
};

/// Reads a report.
/// Limits   decimal units as ncu prints them (byte to Tbyte, ns to s, sector); quoted values may have thousands separators
/// Errors   not such a CSV; a row of another length than the header; a value that is not a number, an unknown unit, with the line;
///          none of the metrics
Result<NcuReport> read_ncu_csv(std::string_view text, std::string_view origin);

/// Returns the bare function name: "void ns::scores_kernel<64>(int)" gives "scores_kernel".
std::string_view plain_kernel_name(std::string_view kernel);

struct NcuMatch {
  std::vector<std::size_t> rows;  // rows of the report, one a launch of the program
  bool by_name = false;           // else matched by order
  std::size_t more_runs = 0;      // of the same launches, which are left out
};
/// Returns the report's row of each launch of a program. Matches by name first: the kernel's name must contain the launch's name
/// or, for a single launch, the algorithm's, and rows must be in order. Else matches by order: the report must have one row a
/// launch, or repeat the same kernels, of which the first run counts.
/// Errors   no match: names the kernels
Result<NcuMatch> match_ncu_launches(const NcuReport& report, std::span<const std::string> launches, std::string_view algorithm,
                                    std::string_view origin);

}  // namespace tilescope
