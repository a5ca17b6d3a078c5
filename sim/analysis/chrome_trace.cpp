// Writes a simulation as JSON, event by event.
#include "sim/analysis/chrome_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "sim/analysis/link_bins.h"

namespace tilescope {

namespace {

constexpr int machine_process = 0;       // launches and counters; SM n is process n + 1
constexpr int lanes_a_unit = 1'000'000;  // distance between the thread numbers of two units

/// Escapes text for a JSON string.
std::string quoted(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", c);
    else
      result += c;
  }
  return result;
}

class Writer {
 public:
  explicit Writer(double cycles_a_microsecond) : scale_(1 / cycles_a_microsecond) {}

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void name(const char* what, int process, int thread, std::string_view name, int order) {
    event(R"({{"ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what, process, thread, quoted(name));
    event(R"({{"ph":"M","name":"{}_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", what, process, thread, order);
  }
  /// Rounds to whole nanoseconds, the resolution of Perfetto. Perfetto would round start and length separately, so that neighbours
  /// could overlap.
  double microseconds(double cycles) const { return std::round(cycles * scale_ * 1e3) / 1e3; }
  std::string take(std::string_view about) {
    return fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"program\":\"{}\"}},\"traceEvents\":[{}\n]}}\n",
                       quoted(about), text_);
  }

 private:
  double scale_;
  bool first_ = true;
  std::string text_;
};

std::string tile_text(const TileRef& tile) {
  return fmt::format("{}[{}, {}:{}, {}:{}]", to_string(tile.tensor), tile.plane, tile.row, tile.row + tile.rows, tile.col,
                     tile.col + tile.cols);
}

std::string op_text(const Operation& op) {
  if (moves_tile(op.kind)) return fmt::format("{} {}", to_string(op.kind), tile_text(op.tile));
  if (op.dst == ChipTile::none) return std::string(to_string(op.kind));
  return fmt::format("{} {}", to_string(op.kind), to_string(op.dst));
}

/// Returns the first free lane of a unit. Slices on one lane must not overlap.
std::size_t free_lane(std::vector<double>& lanes, const Interval& interval) {
  std::size_t lane = 0;
  while (lane < lanes.size() && lanes[lane] > interval.start) ++lane;
  if (lane == lanes.size()) lanes.push_back(0);
  lanes[lane] = interval.end;
  return lane;
}

void write_interval(Writer& out, const Trace& trace, const Interval& interval, const Operation& op, int process, int thread) {
  const BlockRun& run = trace.runs()[static_cast<std::size_t>(interval.run)];
  out.event(
      R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"launch":{},"block":{},"op":{},"line":{},)"
      R"("cycle":{:.3f},"waited_cycles":{:.3f},"waited_for":"{}","bytes":{},"hbm_bytes":{}}}}})",
      quoted(op_text(op)), quoted(to_string(interval.unit)), process, thread, out.microseconds(interval.start),
      out.microseconds(interval.end) - out.microseconds(interval.start), run.launch, run.block, interval.op, op.line,
      interval.start, interval.start - interval.ready, to_string(interval.cause), interval.bytes, interval.hbm_bytes);
}

void write_sm(Writer& out, const Simulation& simulation, int sm) {
  const Trace& trace = *simulation.trace;
  const auto intervals = trace.intervals(sm);
  const int process = sm + 1;
  out.name("process", process, 0, fmt::format("SM {}", sm), process);

  // Assign lanes in order of time, but write events run by run, so that each block's operations are emitted only once.
  std::array<std::vector<double>, unit_count> lanes;
  std::vector<int> thread(intervals.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const auto unit = static_cast<std::size_t>(intervals[i].unit);
    thread[i] = static_cast<int>(unit * lanes_a_unit + free_lane(lanes[unit], intervals[i]) + 1);
  }
  for (std::size_t unit = 0; unit < unit_count; ++unit)
    for (std::size_t lane = 0; lane < lanes[unit].size(); ++lane) {
      const int number = static_cast<int>(unit * lanes_a_unit + lane + 1);
      const std::string_view name = to_string(static_cast<Unit>(unit));
      out.name("thread", process, number, lane == 0 ? std::string(name) : fmt::format("{} {}", name, lane + 1), number);
    }

  std::vector<std::size_t> by_run(intervals.size());
  for (std::size_t i = 0; i < by_run.size(); ++i) by_run[i] = i;
  std::stable_sort(by_run.begin(), by_run.end(), [&](std::size_t a, std::size_t b) { return intervals[a].run < intervals[b].run; });
  BlockOperations block;
  std::int32_t written = -1;
  for (std::size_t i : by_run) {
    const Interval& interval = intervals[i];
    if (interval.run != written) {
      const BlockRun& run = trace.runs()[static_cast<std::size_t>(interval.run)];
      simulation.program->emit_block(run.launch, run.block, block);
      written = interval.run;
    }
    write_interval(out, trace, interval, block.operations[static_cast<std::size_t>(interval.op)], process, thread[i]);
  }
}

/// Writes the rate of each bin, at most that of the link. HBM has further bins, in which it writes what the L2 has evicted.
void write_counters(Writer& out, const Simulation& simulation) {
  const TimeBins& bins = simulation.trace->bins();
  const GpuSpec& gpu = simulation.request.gpu;
  const double ns = to_nanoseconds(Cycles(bins.width), gpu.clock()).value;
  const auto write = [&](std::string_view name, std::array<std::string_view, 2> of, std::span<const std::vector<double>> bytes) {
    for (std::size_t i = 0; i < bytes[0].size(); ++i)  // bytes per nanosecond = GB/s
      out.event(R"({{"ph":"C","name":"{}","pid":{},"ts":{:.3f},"args":{{"{}":{:.3f},"{}":{:.3f}}}}})", name, machine_process,
                out.microseconds(static_cast<double>(i) * bins.width), of[0], bytes[0][i] / ns, of[1], bytes[1][i] / ns);
  };
  write("HBM GB/s", {"read", "write"}, link_bytes_by_bin(bins, std::array{Link::hbm_read, Link::hbm_write}, hbm_peak(gpu)));
  write("L2 GB/s", {"to SMs", "from SMs"}, l2_bytes_by_bin(bins, gpu));
}

}  // namespace

std::string to_chrome_trace(const Simulation& simulation) {
  const GpuSpec& gpu = simulation.request.gpu;
  Writer out(gpu.sm_clock_hz / 1e6);
  out.name("process", machine_process, 0, gpu.name, machine_process);
  out.name("thread", machine_process, 1, "launches", 0);
  const auto launches = simulation.trace->launches();
  for (std::size_t i = 0; i < launches.size(); ++i)
    out.event(
        R"({{"ph":"X","name":"{}","cat":"launch","pid":{},"tid":1,"ts":{:.3f},"dur":{:.3f},"args":{{"blocks":{},"blocks_per_sm":{}}}}})",
        quoted(simulation.launches[i].name), machine_process, out.microseconds(launches[i].start),
        out.microseconds(launches[i].end) - out.microseconds(launches[i].start), simulation.launches[i].blocks,
        simulation.launches[i].blocks_per_sm);
  for (int sm : simulation.trace->focused_sms()) write_sm(out, simulation, sm);
  write_counters(out, simulation);
  return out.take(fmt::format("TileScope, {} on {}", simulation.request.algorithm, gpu.id));
}

}  // namespace tilescope
