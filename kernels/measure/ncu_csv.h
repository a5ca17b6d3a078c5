// Nsight Compute's CSV: the counters of profiled launches, from either form that ncu writes.
//
//   ncu --csv              long   a row a metric:  ID, Kernel Name, …, Metric Name, Metric Unit, Metric Value
//   ncu --csv --page raw   wide   a row a launch:  names in the first row, units in the second
//
//   text ── read_ncu_csv() ──► NcuReport ── match_ncu_launches() ──► which row is which launch of a program
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// What is read, under our key, and the metrics that say it, the best first: versions of ncu and chips differ.
struct NcuMetric {
  std::string_view key;                     // "hbm_read_bytes"
  std::span<const std::string_view> names;  // "dram__bytes_read.sum", "dram__sectors_read.sum"
  bool compared = true;                     // a simulation has a figure of its own for it
};
std::span<const NcuMetric> ncu_metrics();
/// "dram__bytes_read.sum,dram__bytes_write.sum,…": what to hand to ncu --metrics.
std::string ncu_metric_list();

struct NcuValue {
  double value = 0;         // in bytes, nanoseconds, cycles or instructions
  std::string_view metric;  // that it was read from
};

/// One profiled launch.
struct NcuLaunch {
  std::string id, kernel;                            // "0", "flash2_kernel<64, 1>(Params)"
  std::map<std::string_view, NcuValue> values;       // by our key; absent where it was not measured
  const NcuValue* find(std::string_view key) const;  // null where it is absent
};

struct NcuReport {
  std::string device;  // "NVIDIA H200"; empty where the file does not say it
  std::vector<NcuLaunch> launches;
  std::vector<std::string_view> missing;  // best names of compared metrics that no launch has
};

/// Limits  decimal units as ncu prints them (byte to Tbyte, ns to s, sector); quoted values may have thousands separators
/// Errors  no such CSV; a row of another length than the header; a value that is no number, an unknown unit, with the line; none of
///         the metrics
Result<NcuReport> read_ncu_csv(std::string_view text, std::string_view origin);

/// The function's name alone: "void ns::scores_kernel<64>(int)" is "scores_kernel".
std::string_view plain_kernel_name(std::string_view kernel);

struct NcuMatch {
  std::vector<std::size_t> rows;  // of the report, one a launch of the program
  bool by_name = false;           // else by order
};
/// Meets the launches of a program: first by names that hold the launch's (or, of a single launch, the algorithm's), in order; else
/// by order, where there are as many, or the same kernels again and again, of which the first run counts.
/// Errors  neither: names the kernels
Result<NcuMatch> match_ncu_launches(const NcuReport& report, std::span<const std::string> launches, std::string_view algorithm,
                                    std::string_view origin);

}  // namespace tilescope
