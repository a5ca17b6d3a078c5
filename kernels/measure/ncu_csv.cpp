// Reads both forms row by row. The unit of a metric decides its scale.
#include "kernels/measure/ncu_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/core/csv.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

// Names for each key, best first. "Duration" and "Elapsed Cycles" are from ncu's details page.
constexpr std::array<std::string_view, 2> hbm_read = {"dram__bytes_read.sum", "dram__sectors_read.sum"};
constexpr std::array<std::string_view, 2> hbm_write = {"dram__bytes_write.sum", "dram__sectors_write.sum"};
constexpr std::array<std::string_view, 2> l2_to_sm = {"l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_xbar2l1tex_read_sectors.sum"};
constexpr std::array<std::string_view, 3> sm_to_l2 = {
    "l1tex__m_l1tex2xbar_write_bytes.sum", "lts__t_bytes_srcunit_tex_op_write.sum", "lts__t_sectors_srcunit_tex_op_write.sum"};
constexpr std::array<std::string_view, 2> lookups = {"lts__t_sectors_srcunit_tex_op_read.sum",
                                                     "lts__t_bytes_srcunit_tex_op_read.sum"};
constexpr std::array<std::string_view, 3> time = {"gpu__time_duration.sum", "gpu__time_duration", "Duration"};
constexpr std::array<std::string_view, 3> cycles = {"sm__cycles_elapsed.max", "gpc__cycles_elapsed.max", "Elapsed Cycles"};
constexpr std::array<std::string_view, 2> instructions = {"smsp__inst_executed.sum", "sm__inst_executed.sum"};

constexpr std::array metrics = {
    NcuMetric{"hbm_read_bytes", hbm_read},
    NcuMetric{"hbm_write_bytes", hbm_write},
    NcuMetric{"l2_to_sm_bytes", l2_to_sm},
    NcuMetric{"sm_to_l2_bytes", sm_to_l2},
    // Counted after the coalescer: fewer than the bytes that reach the SMs, if neighbouring SMs request the same data.
    NcuMetric{"l2_lookup_read_bytes", lookups, false},
    NcuMetric{"profiled_ns", time},
    NcuMetric{"cycles", cycles, false},
    NcuMetric{"instructions", instructions, false},
};

constexpr double sector_bytes = 32;

struct Column {
  std::size_t metric = 0, rank = 0;  // index in `metrics`, and index of the name
};

std::optional<Column> column_of(std::string_view name) {
  for (std::size_t m = 0; m < metrics.size(); ++m)
    for (std::size_t r = 0; r < metrics[m].names.size(); ++r)
      if (metrics[m].names[r] == name) return Column{m, r};
  return std::nullopt;
}

/// Returns the factor from a unit to ours; nullopt for an unknown one. An empty unit is the base unit of the metric.
std::optional<double> scale_of(std::string_view key, std::string_view name, std::string_view unit) {
  struct Unit {
    std::string_view name;
    double scale;
  };
  static constexpr std::array times = {Unit{"ns", 1},        Unit{"nsecond", 1},  Unit{"us", 1e3},
                                       Unit{"usecond", 1e3}, Unit{"ms", 1e6},     Unit{"msecond", 1e6},
                                       Unit{"s", 1e9},       Unit{"second", 1e9}, Unit{"nanosecond", 1}};
  if (key == "profiled_ns") {
    if (unit.empty()) return 1;
    for (const Unit& row : times)
      if (row.name == unit) return row.scale;
    return std::nullopt;
  }
  const bool sectors = name.find("sectors") != std::string_view::npos;
  const std::string_view base = key.ends_with("_bytes") ? (sectors ? "sector" : "byte") : key == "cycles" ? "cycle" : "inst";
  const double worth = sectors ? sector_bytes : 1;
  if (unit.empty()) return worth;
  double prefix = 1;
  constexpr std::string_view prefixes = "KMGTP";
  if (const std::size_t at = prefixes.find(unit.front()); at != std::string_view::npos && unit.size() > 1) {
    prefix = std::pow(1000.0, static_cast<double>(at + 1));
    unit.remove_prefix(1);
  }
  if (unit.ends_with('s') && unit.size() > 1) unit.remove_suffix(1);
  if (unit == base || (base == "byte" && unit == "B")) return prefix * worth;
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns "1,234.5" as "1234.5"; nullopt if the separators do not delimit groups of three digits.
std::optional<std::string> without_separators(std::string_view text) {
  std::string out;
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      out += text[i];
      continue;
    }
    if (i == 0 || i > point || (point - i) % 4 != 0) return std::nullopt;
  }
  return out;
}

/// A value as ncu prints it.
struct Number {
  bool good = false;            // a count, or a mark that none was collected
  std::optional<double> count;  // absent if none was collected
};

Number number_of(std::string_view text) {
  text = trimmed(text);
  text = trimmed(text.substr(0, text.find('(')));  // the values of single instances follow
  constexpr std::array<std::string_view, 5> none = {"", "n/a", "N/A", "nan", "-nan"};
  if (std::find(none.begin(), none.end(), text) != none.end()) return {true, std::nullopt};
  const auto plain = without_separators(text);
  if (!plain) return {};
  double value = 0;
  const auto [end, code] = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  constexpr double most = 9e18;  // largest plausible count of bytes
  if (code != std::errc() || end != plain->data() + plain->size() || !(value >= 0 && value <= most)) return {};
  return {true, value};
}

/// Returns 512 of "(32, 16, 1)"; 0 of what is no such size.
std::int64_t product_of(std::string_view size) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t product = 1;
  bool some = false;
  for (std::size_t at = 0; at < size.size(); ++at) {
    if (size[at] < '0' || size[at] > '9') continue;
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(size.data() + at, size.data() + size.size(), number);
    if (code != std::errc() || number > most / std::max<std::int64_t>(1, product)) return 0;
    product *= number;
    some = true;
    at = static_cast<std::size_t>(end - size.data());
  }
  return some ? product : 0;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view origin) : csv_(text, {}), origin_(printable(origin, 200)) {}

  Result<NcuReport> read() {
    if (const Status found = find_header(); !found) return found.error();
    bool units_may_follow = name_ == absent;
    while (!csv_.done()) {
      const std::vector<std::string> row = csv_.next_row();
      if (row.empty() || row.front().starts_with("==") || row == header_) continue;
      if (row.size() != header_.size())
        return refuse(
            "line {} of {} has {} fields, the header has {}: write the file by ncu --csv --log-file FILE, so that nothing "
            "else is in it",
            csv_.line(), origin_, row.size(), header_.size());
      if (std::exchange(units_may_follow, false) && trimmed(row[id_]).empty()) {
        units_ = row;
        continue;
      }
      if (const Status taken = name_ == absent ? take_wide(row) : take_long(row); !taken) return taken.error();
    }
    if (report_.launches.empty())
      return refuse("{} has no profiled launch: loosen the filters of ncu, such as --kernel-name", origin_);
    return finish();
  }

 private:
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  std::size_t column(std::string_view name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    return found == header_.end() ? absent : static_cast<std::size_t>(found - header_.begin());
  }

  /// Skips the output of the profiled program and of ncu before the header.
  Status find_header() {
    while (!csv_.done()) {
      header_ = csv_.next_row();
      id_ = column("ID");
      kernel_ = column("Kernel Name");
      if (id_ != absent && kernel_ != absent) break;
      header_.clear();
    }
    if (header_.empty())
      return refuse(
          "{} is no CSV of Nsight Compute, which has columns 'ID' and 'Kernel Name': write it by ncu --csv --log-file FILE",
          origin_);
    process_ = column("Process ID");
    grid_ = column("Grid Size");
    block_ = column("Block Size");
    name_ = column("Metric Name");
    unit_ = column("Metric Unit");
    value_ = column("Metric Value");
    device_ = column("device__attribute_display_name");
    capability_ = column("CC");
    if ((name_ == absent) != (value_ == absent))
      return refuse("line {} of {}: the header has only one of 'Metric Name' and 'Metric Value': write the file by ncu --csv",
                    csv_.line(), origin_);
    for (std::size_t i = 0; i < header_.size(); ++i) columns_.push_back(name_ == absent ? column_of(header_[i]) : std::nullopt);
    return Done{};
  }

  NcuLaunch& launch_of(const std::vector<std::string>& row) {
    std::string key = fmt::format("{}\n{}", process_ == absent ? "" : row[process_], row[id_]);
    const auto [at, added] = index_.emplace(std::move(key), report_.launches.size());
    if (added) {
      NcuLaunch launch;
      launch.id = row[id_];
      launch.kernel = row[kernel_];
      launch.blocks = grid_ == absent ? 0 : product_of(row[grid_]);
      launch.threads = block_ == absent ? 0 : product_of(row[block_]);
      if (capability_ != absent) report_.capability = row[capability_];
      report_.launches.push_back(std::move(launch));
      ranks_.emplace_back();
    }
    at_ = at->second;
    return report_.launches[at_];
  }

  Status take(NcuLaunch& launch, const Column& column, std::string_view name, std::string_view unit, std::string_view text) {
    const NcuMetric& metric = metrics[column.metric];
    const Number number = number_of(text);
    if (!number.good)
      return refuse("line {} of {}: {} is '{}', which is not a count: write the file by ncu --csv", csv_.line(), origin_, name,
                    printable(text));
    if (!number.count) return Done{};
    const auto scale = scale_of(metric.key, name, trimmed(unit));
    if (!scale)
      return refuse("line {} of {}: {} has the unknown unit '{}': profile with --print-units base", csv_.line(), origin_, name,
                    printable(unit));
    auto& ranks = ranks_[at_];
    const auto known = ranks.find(metric.key);
    if (known != ranks.end() && known->second <= column.rank) return Done{};
    ranks[metric.key] = column.rank;
    launch.values[metric.key] = {*number.count * *scale, metric.names[column.rank]};
    return Done{};
  }

  Status take_long(const std::vector<std::string>& row) {
    NcuLaunch& launch = launch_of(row);
    if (row[name_] == "device__attribute_display_name") report_.device = row[value_];
    const auto found = column_of(row[name_]);
    return found ? take(launch, *found, row[name_], unit_ == absent ? "" : row[unit_], row[value_]) : Status(Done{});
  }

  Status take_wide(const std::vector<std::string>& row) {
    NcuLaunch& launch = launch_of(row);
    if (device_ != absent) report_.device = row[device_];
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!columns_[i]) continue;
      const Status taken = take(launch, *columns_[i], header_[i], units_.empty() ? "" : units_[i], row[i]);
      if (!taken) return taken;
    }
    return Done{};
  }

  Result<NcuReport> finish() {
    bool some = false;
    for (const NcuMetric& metric : metrics) {
      const bool there = std::any_of(report_.launches.begin(), report_.launches.end(),
                                     [&](const NcuLaunch& launch) { return launch.find(metric.key) != nullptr; });
      some = some || (there && metric.compared);
      if (!there && metric.compared) report_.missing.push_back(metric.names.front());
    }
    if (!some) return refuse("{} has no metric that can be compared: profile with --metrics {}", origin_, ncu_metric_list());
    return std::move(report_);
  }

  CsvReader csv_;
  std::string origin_;
  std::vector<std::string> header_, units_;
  std::size_t id_ = absent, kernel_ = absent, process_ = absent, grid_ = absent, block_ = absent, name_ = absent, unit_ = absent,
              value_ = absent, device_ = absent, capability_ = absent;
  std::vector<std::optional<Column>> columns_;  // columns of the wide form
  NcuReport report_;
  std::map<std::string, std::size_t> index_;                    // launches by process and ID
  std::vector<std::map<std::string_view, std::size_t>> ranks_;  // rank of the name that each value was read from
  std::size_t at_ = 0;                                          // launch of the latest row
};

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::span<const NcuMetric> ncu_metrics() {
  return metrics;
}

std::string ncu_metric_list() {
  std::string out;
  for (const NcuMetric& metric : metrics) out += fmt::format("{}{}", out.empty() ? "" : ",", metric.names.front());
  return out;
}

const NcuValue* NcuLaunch::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

Result<NcuReport> read_ncu_csv(std::string_view text, std::string_view origin) {
  return Reader(text, origin).read();
}

std::string_view plain_kernel_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find_first_of("<("));
  kernel = trimmed(kernel);
  if (const std::size_t at = kernel.find_last_of(" :"); at != std::string_view::npos) kernel.remove_prefix(at + 1);
  return kernel;
}

Result<NcuMatch> match_ncu_launches(const NcuReport& report, std::span<const std::string> launches, std::string_view algorithm,
                                    std::string_view origin) {
  const std::vector<NcuLaunch>& rows = report.launches;
  const auto is = [&](const NcuLaunch& row, std::size_t launch) {
    const std::string name = lowered(plain_kernel_name(row.kernel));
    const bool same = name.find(lowered(launches[launch])) != std::string::npos;
    return same || (launches.size() == 1 && name.find(lowered(algorithm)) != std::string::npos);
  };
  NcuMatch match;
  for (std::size_t i = 0; i < rows.size() && match.rows.size() < launches.size(); ++i)
    if (is(rows[i], match.rows.size())) match.rows.push_back(i);
  match.by_name = match.rows.size() == launches.size();
  if (match.by_name) {
    const auto again = [&](const NcuLaunch& row) {
      return plain_kernel_name(row.kernel) == plain_kernel_name(rows[match.rows[0]].kernel);
    };
    match.more_runs = static_cast<std::size_t>(std::ranges::count_if(rows, again)) - 1;
    return match;
  }

  const std::size_t count = launches.size();
  bool repeats = count > 0 && !rows.empty() && rows.size() % count == 0;
  for (std::size_t i = count; repeats && i < rows.size(); ++i)
    repeats = plain_kernel_name(rows[i].kernel) == plain_kernel_name(rows[i - count].kernel);
  if (repeats) {
    match.rows.clear();
    for (std::size_t i = 0; i < count; ++i) match.rows.push_back(i);
    match.more_runs = rows.size() / count - 1;
    return match;
  }
  std::vector<std::string> names;
  for (const NcuLaunch& row : rows) {
    const std::string name = printable(plain_kernel_name(row.kernel));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  constexpr std::size_t most_named = 4;
  const bool more = names.size() > most_named;
  names.resize(std::min(names.size(), most_named));
  return refuse(
      "{} has {} profiled launches ({}{}), and {} has {}: profile only its kernels, with ncu --kernel-name or --launch-skip "
      "and --launch-count",
      printable(origin, 200), rows.size(), fmt::format("{}", fmt::join(names, ", ")), more ? ", …" : "", std::string(algorithm),
      count);
}

}  // namespace tilescope
