// `tilescope sweep`: request, files, progress, picture.
#include "app/cli/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/output.h"
#include "app/cli/request.h"
#include "app/cli/sweep_file.h"
#include "app/cli/text_table.h"
#include "app/cli/window_options.h"
#include "app/model/parallel.h"
#include "app/model/studies.h"
#include "app/platform/files.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch what is lock free");

/// Makes Ctrl-C set `interrupted` instead of ending the program.
class CatchInterrupt {
 public:
  CatchInterrupt() {
    interrupted = false;
    before_ = std::signal(SIGINT, [](int) { interrupted = true; });
  }
  ~CatchInterrupt() { std::signal(SIGINT, before_); }
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;

 private:
  void (*before_)(int);
};

Result<std::vector<std::string>> algorithms_of(const CommandLine& line) {
  std::vector<std::string> ids;
  if (!line.algorithm_given) return std::vector<std::string>{"standard", "flash1", "flash2"};
  std::string_view rest = line.algorithm;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string id(rest.substr(0, comma));
    if (const auto known = find_program(id); !known) return known.error();
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    if (comma == std::string_view::npos) return ids;
    rest.remove_prefix(comma + 1);
  }
}

Result<SweepRequest> sweep_request(const CommandLine& line) {
  SweepRequest sweep;
  auto axis = parse_sweep_axis(line.over);
  if (!axis) return Error{fmt::format("--over: {}", axis.error().sentence)};
  auto algorithms = algorithms_of(line);
  if (!algorithms) return algorithms.error();
  CommandLine one = line;
  one.algorithm = algorithms->front();
  auto request = make_request(one);
  if (!request) return request.error();
  sweep.base = std::move(request->simulation);
  sweep.axis = std::move(*axis);
  sweep.algorithms = std::move(*algorithms);
  // A tile with one side given is completed separately for each point.
  if (!line.block_q || !line.block_kv) {
    if (line.block_q || line.block_kv) return Error{"give both --block-q and --block-kv, or neither for default tiles"};
    if (line.stages) return Error{"--stages needs --block-q and --block-kv here; or sweep it: --over stages=1:4:+1"};
  }
  return sweep;
}

struct Files {
  std::string csv, json;  // empty: no such file

  Status read(SweepResult& result) const {
    for (const std::string& path : {csv, json}) {
      if (path.empty() || !std::filesystem::exists(path)) continue;
      const auto text = read_text_file(path);
      if (!text) return text.error();
      if (const Status taken = continue_sweep(*text, path, result); !taken) return taken;
    }
    return Done{};
  }
  Status write(const SweepResult& result) const {
    if (!csv.empty())
      if (const Status written = write_file(csv, sweep_to_csv(result)); !written) return written;
    if (!json.empty()) return write_file(json, sweep_to_json(result));
    return Done{};
  }
};

/// Prints "12 of 48" on standard error: in place on a terminal, occasional lines elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* err) : err_(err), terminal_(::isatty(::fileno(err)) != 0) {}
  void show(std::size_t done, std::size_t total) {
    const auto now = std::chrono::steady_clock::now();
    const auto apart = std::chrono::milliseconds(terminal_ ? 100 : 5000);
    if (done < total && now - last_ < apart) return;
    last_ = now;
    fmt::print(err_, "{}sweep: {} of {} simulated{}", terminal_ ? "\r" : "", done, total, terminal_ ? "" : "\n");
    std::fflush(err_);
  }
  void end() {
    if (terminal_) fmt::print(err_, "\n");
  }

 private:
  std::FILE* err_;
  bool terminal_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now() - std::chrono::hours(1);
};

std::string table_of(const SweepResult& result) {
  TextTable table("lrrrrrrl");
  const auto bytes = [](double b) { return format_bytes(Bytes(static_cast<std::int64_t>(b))); };
  table.row({"algorithm", result.request.axis.key, "tile", "HBM", "L2-SM", "theory", "time", "bottleneck"});
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a)
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v) {
      if (!result.at(a, v)) continue;
      const Outcome& point = *result.at(a, v);
      const std::string& algorithm = result.request.algorithms[a];
      const double value = result.request.axis.values[v];
      if (!point.done()) {
        table.row({algorithm, fmt::format("{}", value), "", "", "", "", "", point.refusal});
        continue;
      }
      const auto theory = theory_at(result.request, algorithm, value);
      table.row({algorithm, fmt::format("{}", value), fmt::format("{}x{}", point.tile.block_q, point.tile.block_kv),
                 bytes(point.hbm()), bytes(point.sm_link()), theory ? bytes(theory->bytes) : "",
                 format_time(Nanoseconds(point.time_ns)), std::string(to_string(point.bound))});
    }
  return table.text("");
}

/// Draws the Sweep view; the rest of the window shows the first point that could be simulated.
Status draw(const CommandLine& line, const std::shared_ptr<const SweepResult>& result, const Screens& screens, std::FILE* err) {
  RenderOptions options = render_options(line);
  const auto& request = result->request;
  for (std::size_t i = 0; i < result->points.size(); ++i) {
    if (!result->points[i] || !result->points[i]->done()) continue;
    const std::size_t values = request.axis.values.size();
    auto shown = request_at(request, request.algorithms[i / values], request.axis.values[i % values]);
    if (!shown) return shown.error();
    options.request = std::move(*shown);
    break;
  }
  options.swept = result;
  options.sweep_quantity = line.quantity;
  options.center = CenterView::sweep;
  options.panel = "sweep";
  options.out = line.png;
  return draw_picture(screens, options, err);
}

}  // namespace

Result<int> run_sweep_command(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens) {
  auto request = sweep_request(line);
  if (!request) return request.error();
  const Files files{line.csv, json_to_output(line) ? std::string() : line.json.value_or("")};
  SweepResult begun(std::move(*request));
  if (const Status read = files.read(begun); !read) return read.error();
  const std::size_t before = begun.done(), total = begun.points.size();
  if (before > 0) fmt::print(err, "sweep: continuing after {} of {} points\n", before, total);

  // Checked before the work, so that a missing folder is reported now.
  if (const Status ready = files.write(begun); !ready) return ready.error();

  Growing<SweepResult> sweep(std::move(begun));
  Status problem = Done{};
  ProgressLine progress(err);
  const CatchInterrupt catching;
  auto written = std::chrono::steady_clock::now();
  const bool whole = run_sweep(
      sweep, core_count(), [&] { return interrupted.load(); },
      [&](const SweepResult& now) {
        progress.show(now.done(), total);
        constexpr auto apart = std::chrono::seconds(1);
        if (std::chrono::steady_clock::now() - written < apart || !problem) return;
        problem = files.write(now);
        if (!problem) interrupted = true;  // a full disk: later points could not be stored
        written = std::chrono::steady_clock::now();
      });
  progress.end();
  const auto result = sweep.read();
  if (!problem) return problem.error();
  if (const Status kept = files.write(*result); !kept) return kept.error();
  if (!whole) {
    fmt::print(err, "sweep: stopped after {} of {} points; {}\n", result->done(), total,
               line.csv.empty() && !line.json ? "--csv or --json would let it continue" : "the same command continues");
    return exit_interrupted;
  }
  const auto simulated =
      std::find_if(result->points.begin(), result->points.end(), [](const auto& point) { return point->done(); });
  if (simulated == result->points.end())
    return Error{fmt::format("no point can be simulated: {}", result->points.front()->refusal)};
  if (!line.png.empty())
    if (const Status drawn = draw(line, result, screens, err); !drawn) return drawn.error();
  if (json_to_output(line) || (line.csv.empty() && !line.json && line.png.empty()))
    if (const Status printed = print(out, json_to_output(line) ? sweep_to_json(*result) : table_of(*result)); !printed)
      return printed.error();
  return exit_done;
}

}  // namespace tilescope
