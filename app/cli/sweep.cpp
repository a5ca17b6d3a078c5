// `tilescope sweep`: request, files, progress, picture.
#include "app/cli/sweep.h"
#include "app/cli/command_words.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/interrupt.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/request.h"
#include "app/cli/sweep_file.h"
#include "app/cli/text_table.h"
#include "app/cli/window_options.h"
#include "app/model/background/parallel.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/requests/assets.h"
#include "app/model/session/run_sweep.h"
#include "app/platform/files.h"
#include "sim/analysis/format.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// The first value that the key heads can share evenly; where there is none, the first, so that the refusal names it.
std::int64_t heads_for(const SweepAxis& axis, std::int64_t kv_heads) {
  for (const double value : axis.values)
    if (const auto heads = static_cast<std::int64_t>(value); heads % kv_heads == 0) return heads;
  return static_cast<std::int64_t>(axis.values.front());
}

Result<SweepRequest> sweep_request(const CommandLine& line) {
  SweepRequest sweep;
  auto axis = parse_sweep_axis(line.over);
  if (!axis) return refuse("--over: {}", axis.error().sentence);
  auto algorithms = algorithms_of(line);
  if (!algorithms) return algorithms.error();
  CommandLine one = line;
  one.algorithm = algorithms->front();
  // The base must be a sound problem, and only the range has the heads that --kv-heads is meant for.
  if (axis->key == "heads" && line.kv_heads && line.heads % *line.kv_heads != 0) one.heads = heads_for(*axis, *line.kv_heads);
  if (!line.block_q || !line.block_kv) {
    sweep.tile_part = {line.block_q, line.block_kv, line.stages};
    for (auto* side : {&one.block_q, &one.block_kv, &one.stages}) side->reset();
  }
  auto request = make_request(one);
  if (!request) return request.error();
  for (const std::string& id : *algorithms)
    if (const Status possible = check_key_order(line, id, request->simulation.problem.pass); !possible) return possible.error();
  sweep.base = std::move(request->simulation);
  // A backward program has its pass in its id. Among several programs, the pass of the first is not that of the others.
  const auto is_forward = [](const std::string& id) { return find_program(id) && (*find_program(id))->pass == Pass::forward; };
  if (!line.pass && std::ranges::any_of(*algorithms, is_forward)) sweep.base.problem.pass = Pass::forward;
  sweep.axis = std::move(*axis);
  sweep.algorithms = std::move(*algorithms);
  sweep.keeps_kv_heads = line.given.contains("--kv-heads");
  return sweep;
}

bool any_simulated(const SweepResult& result) {
  return std::any_of(result.points.begin(), result.points.end(), [](const auto& point) { return point && point->done(); });
}

struct Files {
  std::string csv, json;  // empty: no such file

  Status read(SweepResult& result) const {
    for (const std::string& path : {csv, json}) {
      std::error_code unknown;
      if (path.empty() || !std::filesystem::exists(path, unknown)) continue;
      const auto text = read_text_file(path);
      if (!text) return text.error();
      if (const Status taken = continue_sweep(*text, path, result); !taken) return taken;
    }
    return Done{};
  }
  /// A sweep of which nothing can be simulated leaves no file.
  Status add_to(Outputs& outputs, const SweepResult& result) const {
    if (!any_simulated(result)) return Done{};
    // Both texts before any file, as run_simulate() makes them.
    const std::string table = csv.empty() ? "" : sweep_to_csv(result), points = json.empty() ? "" : sweep_to_json(result);
    if (!csv.empty())
      if (Status added = outputs.add(csv, table); !added) return added;
    if (!json.empty()) return outputs.add(json, points);
    return Done{};
  }
  Status write(const SweepResult& result) const {
    Outputs outputs(nullptr);
    if (Status added = add_to(outputs, result); !added) return added;
    return outputs.finish();
  }
};

/// Why no kernel could run a point as it was simulated; empty where one could.
std::string impossible_kernel(const SweepResult& result, const std::string& algorithm, double value) {
  const auto request = request_at(result.request, algorithm, value);
  const auto compiled = request ? compiled_kernel(*request) : std::nullopt;
  if (!compiled || compiled->tile_is_possible()) return {};
  return compiled->warnings().back().text();
}

/// Points of a program of which one sentence holds.
struct SaidOfPoints {
  std::string text;
  std::vector<double> values;
};
void add_point(std::vector<SaidOfPoints>& said, const std::string& text, double value) {
  auto found = std::ranges::find(said, text, &SaidOfPoints::text);
  if (found == said.end()) found = said.insert(said.end(), {text, {}});
  found->values.push_back(value);
}

/// "flash3 at head_dim 96, 192: …", a line each.
std::string lines_of(const std::vector<SaidOfPoints>& said, std::string_view algorithm, std::string_view key) {
  std::string text;
  for (const SaidOfPoints& each : said)
    text += fmt::format("{} at {} {}: {}\n", algorithm, key, fmt::join(each.values, ", "), each.text);
  return text;
}

/// Says of each program which points have no kernel, and what their times are made of.
std::string missing_kernels(const SweepResult& result) {
  std::string text;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    const std::string& algorithm = result.request.algorithms[a];
    std::vector<SaidOfPoints> said;
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v) {
      const auto request = request_at(result.request, algorithm, result.request.axis.values[v]);
      const auto compiled = request && result.at(a, v) && result.at(a, v)->done() ? compiled_kernel(*request) : std::nullopt;
      if (compiled && !compiled->has_tile && compiled->tile_is_possible())
        add_point(said, compiled->warnings().front().text(), result.request.axis.values[v]);
    }
    text += lines_of(said, algorithm, result.request.axis.key);
  }
  return text;
}

/// Says at which points the program chose a single buffer because two do not fit: those are slower, and not by their tile.
std::string single_buffers(const SweepResult& result) {
  std::string text;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    std::vector<SaidOfPoints> said;
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v) {
      const auto request = request_at(result.request, result.request.algorithms[a], result.request.axis.values[v]);
      const bool is_chosen = request && request->tile && request->tile->stages > 0;
      if (const auto& point = result.at(a, v); point && point->done() && point->buffers == 1 && !is_chosen)
        add_point(said, "1 buffer: two do not fit the shared memory", result.request.axis.values[v]);
    }
    text += lines_of(said, result.request.algorithms[a], result.request.axis.key);
  }
  return text;
}

/// Says of each program how far its times are off: one sentence where it holds of all points, else one for each group of points.
std::string errors_text(const SweepResult& result) {
  const std::string& gpu = result.request.base.gpu.id;
  if (is_imagined(gpu)) return fmt::format("\n{}\n", command_words(imagined_gpu_sentence(gpu)));
  const Measurements known = load_measurements_of(gpu);
  if (known.bundles.empty()) return fmt::format("\nNothing is recorded on {}: how far these times are off is unknown.\n", gpu);
  SweepErrors errors;
  add_errors(errors, result, known);
  std::string text;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    std::vector<SaidOfPoints> said;
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v)
      if (const auto& error = errors[result.index(a, v)])
        add_point(said, command_words(time_errors_sentence(*error, result.request.algorithms[a], gpu)),
                  result.request.axis.values[v]);
    for (const SaidOfPoints& each : said)
      text +=
          (said.size() == 1 ? std::string() : fmt::format("At {} {}: ", result.request.axis.key, fmt::join(each.values, ", "))) +
          each.text + '\n';
  }
  return text.empty() ? text : '\n' + text;
}

std::string table_of(const SweepResult& result) {
  std::string impossible;  // a line for each such point
  bool any_range = false;  // of times
  TextTable table("lrrrrrrrrrrrrrrl");
  table.row({"algorithm", result.request.axis.key, "tile", "buffers", "HBM", "L2-SM", "theory", "memory", "time", "no sharing",
             "clock", "cycles", "rate", "recorded", "error", "busiest"});
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a)
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v) {
      if (!result.at(a, v)) continue;
      const Outcome& point = *result.at(a, v);
      const std::string& algorithm = result.request.algorithms[a];
      const double value = result.request.axis.values[v];
      if (!point.done()) {
        table.row({algorithm, fmt::format("{}", value), "", "", "", "", "", "", "", "", "", "", "", "", "",
                   command_words(point.refusal)});
        continue;
      }
      const auto theory = theory_at(result.request, algorithm, value);
      const UnderLoad& load = point.under_load;
      const bool has_range = l2_may_decide(result, a, v);
      any_range = any_range || has_range;
      const std::string why = impossible_kernel(result, algorithm, value);
      if (!why.empty()) impossible += fmt::format("! {} at {} {}: {}\n", algorithm, result.request.axis.key, value, why);
      table.row({algorithm, fmt::format("{}", value),
                 fmt::format("{}{}x{}", why.empty() ? "" : "! ", point.tile.block_q, point.tile.block_kv),
                 point.buffers > 0 ? fmt::format("{}", point.buffers) : "", format_bytes(point.hbm()),
                 format_bytes(point.sm_link()), theory ? format_bytes(theory->bytes) : "",
                 format_capacity(Bytes(std::llround(point.live_peak_bytes))), format_time(Nanoseconds(point.wall_ns())),
                 has_range ? "≥ " + format_time(Nanoseconds(point.unshared_ns)) : "",
                 load.clock_hz > 0 ? format_clock(load.clock_hz) : "", load.clock_hz > 0 ? format_cycles(Cycles(point.cycles)) : "",
                 point.useful_flops > 0 ? format_short(point.flops_per_second(), "FLOP/s") : "",
                 load.recorded_ns > 0 ? format_time(Nanoseconds(load.recorded_ns)) : "",
                 load.recorded_ns > 0 ? format_signed_percent(load.time_ns / load.recorded_ns - 1) : "",
                 std::string(to_string(point.bound))});
    }
  table.drop_empty_columns();
  std::string text = table.text("");
  if (!impossible.empty()) text += '\n' + impossible;
  if (const std::string missing = missing_kernels(result); !missing.empty()) text += '\n' + missing;
  if (const std::string single = single_buffers(result); !single.empty()) text += '\n' + single;
  if (any_range)
    text +=
        "\nno sharing: the least time if no read shares an L2 lookup. The model does not know how many do "
        "(docs/model-limits.md, rows 46 and 48).\n";
  // A product without a visible tile is not computed.
  const auto sees_nothing = [](const auto& point) { return point && point->done() && point->flops == 0; };
  if (!result.request.base.masking.empty() && std::ranges::any_of(result.points, sees_nothing))
    text += "\nwarning: at some points no query sees a key, and every row of O is 0.\n";
  const auto has_clock = [](const auto& point) { return point && point->under_load.clock_hz > 0; };
  if (std::ranges::any_of(result.points, has_clock))
    text +=
        "\nclock: that of the recording, or the mean of recorded runs around the point's load. Points that differ in a part of "
        "the tile or in a value of the GPU alone have one clock. Two programs compare by their cycles, whatever their clocks.\n";
  return text + errors_text(result);
}

/// Draws the Sweep view; the rest of the window shows the first point that could be simulated.
Result<RenderedPicture> draw(const CommandLine& line, const std::shared_ptr<const SweepResult>& result, const Screens& screens,
                             std::FILE* err) {
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
  return draw_picture(screens, std::move(options), line, err);
}

/// Everything that a whole sweep writes.
Result<int> finish(const CommandLine& line, const Files& files, const std::shared_ptr<const SweepResult>& result, std::FILE* out,
                   std::FILE* err, const Screens& screens) {
  Outputs outputs(out);
  if (const Status added = files.add_to(outputs, *result); !added) return added.error();
  RenderedPicture picture;
  if (!line.png.empty()) {
    auto drawn = draw(line, result, screens, err);
    if (!drawn) return drawn.error();
    picture = std::move(*drawn);
    if (const Status added = outputs.add(line.png, picture.png); !added) return added.error();
  }
  std::string printed;
  if (json_to_output(line)) printed = sweep_to_json(*result);
  if (is_standard_output(line.csv)) printed = sweep_to_csv(*result);
  if (line.csv.empty() && !line.json && line.png.empty()) printed = table_of(*result);
  if (const Status added = outputs.add("-", printed); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  say_notice(picture, err);
  return exit_done;
}

}  // namespace

Result<int> run_sweep_command(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens) {
  auto request = sweep_request(line);
  if (!request) return request.error();
  const auto file = [](const std::string& path) { return is_standard_output(path) ? std::string() : path; };
  const Files files{file(line.csv), file(line.json.value_or(""))};
  SweepResult begun(std::move(*request));
  if (const Status read = files.read(begun); !read) return read.error();
  const std::size_t before = begun.done(), total = begun.points.size();

  const Recordings recordings = load_recordings(begun.request.base.gpu);
  say_unread(recordings.known, err);
  Growing<SweepResult> sweep(std::move(begun));
  Status problem = Done{};
  ProgressPrinter progress(err, line.quiet);
  CatchInterrupt interrupt;
  auto written = std::chrono::steady_clock::now();
  const bool whole = run_sweep(
      sweep, core_count(), [&] { return interrupt.asked(); },
      [&](const SweepResult& now) {
        progress.show(fmt::format("sweep: {} of {} points{}", now.done(), total,
                                  before > 0 ? fmt::format(", {} of them from before", before) : ""));
        constexpr auto apart = std::chrono::seconds(1);
        if (std::chrono::steady_clock::now() - written < apart || !problem) return;
        problem = files.write(now);
        if (!problem) interrupt.stop();  // a full disk: later points could not be stored
        written = std::chrono::steady_clock::now();
      },
      &recordings);
  progress.end();
  const auto result = sweep.read();
  if (!problem) return problem.error();
  if (!whole) {
    if (const Status kept = files.write(*result); !kept) return kept.error();
    fmt::print(err, "sweep: stopped after {} of {} points; the same command goes on from there{}\n", result->done(), total,
               line.csv.empty() && !line.json ? ", had it been given --csv or --json" : "");
    return exit_interrupted;
  }
  if (!any_simulated(*result)) return refuse("no point can be simulated: {}", result->points.front()->refusal);
  return finish(line, files, result, out, err, screens);
}

}  // namespace tilescope
