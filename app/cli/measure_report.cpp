// Prints one measured case.
#include "app/cli/measure_report.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "app/cli/text_table.h"
#include "kernels/kernel_traffic.h"
#include "kernels/measure/timing.h"
#include "sim/analysis/format.h"
#include "sim/analysis/validation.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

std::string figure(std::string_view key, double value) {
  if (key.ends_with("_bytes")) return format_exact_bytes(Bytes(static_cast<std::int64_t>(value)));
  return format_count(static_cast<std::int64_t>(value));
}

/// Returns "± 0.3 %" (half of the range), or both ends if the range exceeds the median; empty if all are equal.
std::string spread_text(std::string_view key, const Spread& spread) {
  if (spread.least == spread.most) return "";
  if (spread.most - spread.least > 2 * spread.median)
    return fmt::format("{} to {}", figure(key, spread.least), figure(key, spread.most));
  return fmt::format("± {}", format_percent((spread.most - spread.least) / (2 * spread.median)));
}

std::string time_text(const Spread& ns) {
  return fmt::format("{} ({} to {})", format_time(Nanoseconds(ns.median)), format_time(Nanoseconds(ns.least)),
                     format_time(Nanoseconds(ns.most)));
}

std::string heading(const MeasuredCase& measured, const DeviceInfo& device) {
  const Result<const KernelInfo*> kernel = find_kernel(measured.kernel);
  TextTable table("ll");
  table.row({"kernel", kernel ? fmt::format("{}: {}", (*kernel)->id, (*kernel)->summary) : measured.kernel});
  table.row({"GPU", fmt::format("{}, {} SMs, L2 {}, driver for CUDA {}", device.name, device.sm_count,
                                format_capacity(Bytes(device.l2_bytes)), device.driver_version)});
  table.row({"problem", short_text(measured)});
  table.row({"tile", fmt::format("{} queries x {} keys", measured.tile.block_q, measured.tile.block_kv)});
  return table.text("");
}

std::string launches(const MeasuredCase& measured) {
  if (measured.launches.empty()) return "";
  TextTable table("lrrrrrl");
  table.row({"launch", "blocks", "threads", "registers", "shared", "per SM", "time, cold L2"});
  for (const MeasuredLaunch& launch : measured.launches)
    table.row({launch.name, format_count(launch.blocks), format_count(launch.threads), format_count(launch.registers),
               format_capacity(Bytes(launch.shared_bytes)), format_count(launch.blocks_per_sm), time_text(launch.time_ns)});
  return table.text("");
}

std::string times(const MeasuredCase& measured) {
  const Result<const KernelInfo*> kernel = find_kernel(measured.kernel);
  const double flops = kernel ? nominal_flops(**kernel, measured.problem) : 0;
  TextTable table("lllr");
  const auto row = [&](std::string_view name, const Spread& ns) {
    table.row({name == "cold L2" ? "time" : "", std::string(name), time_text(ns),
               ns.median > 0 && flops > 0 ? fmt::format("{:.1f} TFLOP/s", flops / ns.median / 1e3) : ""});
  };
  row("cold L2", measured.time_cold_ns);
  row("warm L2", measured.time_warm_ns);
  table.row(
      {"", "cycles", format_cycles(Cycles(measured.cycles.median)), fmt::format("at {:.3f} GHz", measured.sm_clock_hz / 1e9)});
  return fmt::format("{}      medians of {} repeats, CUDA events, no profiler\n", table.text(""), measured.time_repeats);
}

std::string difference_text(double measured, std::int64_t expected) {
  const auto form = static_cast<double>(expected);
  return measured == form ? std::string("equal") : format_signed_percent(measured / form - 1);
}

std::string counters(const MeasuredCase& measured, int sm_count) {
  if (!measured.refused.empty()) return fmt::format("counters  {}\n", measured.refused);
  if (measured.counters.empty()) return "";
  const Result<const KernelInfo*> kernel = find_kernel(measured.kernel);
  const std::optional<KernelTraffic> form = kernel ? kernel_traffic(**kernel, measured.problem, sm_count) : std::nullopt;
  TextTable table("lrlrrll");
  table.row({"counter", "cold L2", "", "warm L2", "closed form", "", "hardware name"});
  for (const Counter& counter : counter_table()) {
    const std::string key(counter.key);
    const auto cold = measured.counters.find(key);
    if (cold == measured.counters.end()) continue;
    const auto warm = measured.counters_warm.find(key);
    std::optional<std::int64_t> expected;
    if (form && key == "l2_to_sm_bytes") expected = form->l2_to_sm_bytes;
    if (form && key == "sm_to_l2_bytes") expected = form->sm_to_l2_bytes;
    if (form && key == "sm_to_l2_reduce_bytes" && form->reduce_bytes > 0) expected = form->reduce_bytes;
    const std::string difference = expected ? difference_text(cold->second.median, *expected) : std::string();
    table.row({key, figure(key, cold->second.median), spread_text(key, cold->second),
               warm == measured.counters_warm.end() ? "" : figure(key, warm->second.median),
               expected ? format_exact_bytes(Bytes(*expected)) : "", difference, std::string(counter.metric)});
    if (key == "hbm_write_bytes")
      table.row({"  and after a flush", figure(key, measured.hbm_write_after_flush_bytes.median),
                 spread_text(key, measured.hbm_write_after_flush_bytes)});
  }
  return fmt::format("{}medians of {} repeats of {} passes; ± is half of the range\n", table.text(""), measured.counter_repeats,
                     measured.counter_passes);
}

std::string check_text(const MeasuredCase& measured, const MeasureNotes& notes) {
  double worst = 0;
  for (const TensorError& error : notes.check.errors) worst = std::max(worst, error.relative / error.bound);
  const std::string where =
      notes.checked == measured.problem ? "here" : fmt::format("at {}, small enough for the host", short_text(notes.checked));
  if (!notes.check.holds) return fmt::format("result    WRONG {}: {}\n", where, notes.check.sentence);
  return fmt::format("result    agrees with float64 {}; largest error: {} of its bound\n", where, format_percent(worst));
}

/// Returns the fraction of time that warp 0 of the SM's blocks spent in each stage of a launch.
std::string stages(const ProbeResult& probe, int launch) {
  std::array<double, probe_stage_names.size()> cycles{};
  double there = 0;
  int blocks = 0;
  for (const ProbedSmBlock& block : probe.sm_blocks) {
    if (block.launch != launch) continue;
    ++blocks;
    there += block.end_cycles - block.start_cycles;
    for (const ProbeInterval& interval : block.intervals)
      if (interval.warp == 0) cycles[static_cast<std::size_t>(interval.stage)] += interval.end_cycles - interval.start_cycles;
  }
  const ProbedLaunch& own = probe.launches[static_cast<std::size_t>(launch)];
  TextTable table("lr");
  table.row({fmt::format("{}: SM {}, blocks {}, warp 0", own.name, probe.sm, blocks), ""});
  for (std::size_t i = 0; i < cycles.size(); ++i)
    if (cycles[i] > 0) table.row({fmt::format("  {}", probe_stage_names[i]), format_percent(cycles[i] / there)});
  return table.text("");
}

std::string cost_text(std::string_view what, double plain_ns, double probed_ns) {
  return fmt::format("{:10}{} with the probe, {} without: {}\n", what, format_time(Nanoseconds(probed_ns)),
                     format_time(Nanoseconds(plain_ns)), format_signed_percent(probed_ns / plain_ns - 1));
}

/// Returns the first steps of the row, or of a backward kernel its first keys.
std::string row_table(const ProbeResult& probe) {
  const std::string row = fmt::format("row {} of block {}: query {} of head {}", probe.row, probe.block, probe.query, probe.plane);
  constexpr std::size_t shown = 8;
  if (!probe.pairs.empty()) {
    TextTable rows("lrrrr");
    rows.row({row, "S", "P", "dP", "dS"});
    for (std::size_t i = 0; i < std::min(shown, probe.pairs.size()); ++i)
      rows.row({fmt::format("  key {}", i), fmt::format("{:.5f}", probe.pairs[i].s), fmt::format("{:.6f}", probe.pairs[i].p),
                fmt::format("{:.5f}", probe.pairs[i].d_p), fmt::format("{:.6f}", probe.pairs[i].d_s)});
    return rows.text("");
  }
  TextTable rows("lrrr");
  rows.row({row, "m", "l", "alpha"});
  for (std::size_t i = 0; i < std::min(shown, probe.steps.size()); ++i)
    rows.row({fmt::format("  tile {}", i), fmt::format("{:.5f}", probe.steps[i].m), fmt::format("{:.5f}", probe.steps[i].l),
              fmt::format("{:.6f}", probe.steps[i].alpha)});
  return rows.text("");
}

}  // namespace

std::string probe_table(const ProbeResult& probe) {
  double last_ns = 0;
  for (const ProbedBlock& block : probe.blocks) last_ns = std::max(last_ns, block.end_ns);
  std::string text = fmt::format(
      "probe     {} of {} on {}\nblocks    {}, the last ended {} after the first began; SM clock {:.3f} GHz\n", probe.kernel,
      short_text(probe.problem), probe.device, probe.blocks.size(), format_time(Nanoseconds(last_ns)), probe.sm_clock_hz / 1e9);
  text += cost_text("cost", probe.plain_ns, probe.probed_ns);
  if (probe.launches.size() > 1)
    for (const ProbedLaunch& own : probe.launches) text += cost_text("  " + own.name, own.plain_ns, own.probed_ns);
  for (std::size_t launch = 0; launch < probe.launches.size(); ++launch)
    text += fmt::format("\n{}", stages(probe, static_cast<int>(launch)));
  return fmt::format("{}\n{}", text, row_table(probe));
}

std::string samples_table(const BandwidthRecord& record) {
  double read = 0, written = 0, most = 0;
  for (const BandwidthSample& s : record.samples) {
    read += s.read_bytes;
    written += s.write_bytes;
    if (s.end_ns > s.start_ns) most = std::max(most, (s.read_bytes + s.write_bytes) / (s.end_ns - s.start_ns) * 1e9);
  }
  return fmt::format(
      "samples   {} of {} on {}\n          {} samples, one per {}; the kernel takes {}\nHBM       {} read, {} written while "
      "sampled; peak {}\n",
      record.kernel, short_text(record.problem), record.device, record.samples.size(), format_time(Nanoseconds(record.interval_ns)),
      format_time(Nanoseconds(record.kernel_ns)), format_bytes(read), format_bytes(written), format_bandwidth(most));
}

std::string measure_table(const MeasuredCase& measured, const DeviceInfo& device, const MeasureNotes& notes) {
  const MeasuringCost& cost = notes.cost;
  const std::string host =
      fmt::format("host      {:.2f} s: tensors {:.2f}, times {:.2f}, counters {:.2f}; opening the profiler took {:.2f} s once\n",
                  cost.total(), cost.prepare, cost.times, cost.counters, notes.open_seconds);
  return fmt::format("{}\n{}\n{}\n{}\n{}{}", heading(measured, device), launches(measured), times(measured),
                     counters(measured, device.sm_count), check_text(measured, notes), host);
}

}  // namespace tilescope
