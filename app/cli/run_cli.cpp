// Runs a command line and turns every error into one line.
#include "app/cli/run_cli.h"
#include "app/cli/command_words.h"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "app/cli/calibrate.h"
#include "app/cli/command_line.h"
#include "app/cli/compare.h"
#include "app/cli/export.h"
#include "app/cli/lesson.h"
#include "app/cli/measure.h"
#include "app/cli/output.h"
#include "app/cli/report.h"
#include "app/cli/request.h"
#include "app/cli/run.h"
#include "app/cli/run_and_next_limit.h"
#include "app/cli/search.h"
#include "app/cli/sweep.h"
#include "app/cli/validate.h"
#include "app/cli/watched_work.h"
#include "app/cli/window_options.h"
#include "app/model/background/failure.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "kernels/measure/ncu_csv.h"
#include "sim/analysis/change_effect.h"
#include "sim/analysis/chrome_trace.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t longest_line = 4096;

int exit_code(const Error& error) {
  return error.kind == Error::Kind::machine_lacks ? exit_machine_lacks
         : error.kind == Error::Kind::cancelled   ? exit_interrupted
                                                  : exit_wrong_request;
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return std::int64_t{usage.ru_maxrss} * 1024;
#endif
}

/// Compares the run with one without --set; nullopt where there is none, or where a run takes so long that several more are too
/// many.
std::optional<ChangeEffect> effect_of_overrides(const CommandLine& line, const RunAndNextLimit& run, const Progress& progress) {
  constexpr double most_ms = 10000;
  if (line.overrides.empty() || run.wall.count() > most_ms) return std::nullopt;
  auto gpu = load_gpu(line.gpu);
  if (!gpu) return std::nullopt;
  if (run.under_load) gpu->sm_clock_hz = run.under_load->clock.hz;  // both at one clock
  const auto effect = effect_of_change(run.under_load ? *run.under_load->simulation : *run.simulation, *gpu, progress);
  return effect ? std::optional(*effect) : std::nullopt;
}

Status run_simulate(const CommandLine& line, std::FILE* out, std::FILE* err) {
  const auto request = make_request(line);
  if (!request) return request.error();
  const Recordings recordings = load_recordings(request->simulation.gpu);
  say_unread(recordings.known, err);
  WatchedWork work(err, line.quiet, "simulate");
  const Watch watch{[&](std::string_view what, double fraction) { return work.show(what, fraction); },
                    [&] { return work.stopped(); }};
  const auto result = simulate_run_and_next_limit(request->simulation, recordings, watch);
  if (!result) return result.error();
  const Simulation& simulation = *result->simulation;
  const HostCost cost{result->wall.count(), peak_rss_bytes()};
  const NextLimit* next = result->next ? &*result->next : nullptr;
  const std::optional<ChangeEffect> effect =
      effect_of_overrides(line, *result, [&](double fraction) { return work.show("the run without --set", fraction); });
  work.end();
  if (work.stopped()) return simulation_cancelled();
  const RunsBeside beside{result->under_load ? &*result->under_load : nullptr, effect ? &*effect : nullptr, result->errors,
                          result->recorded_lookups, clock_of_file_sentence(line.gpu, request->simulation.gpu, recordings)};
  // Both texts before any file: a failure to make one then leaves nothing to remove.
  const std::string trace = line.trace.empty() ? "" : to_chrome_trace(simulation);
  const std::string json = line.json ? report_json(simulation, next, cost, beside) : "";
  Outputs outputs(out);
  if (!line.trace.empty())
    if (Status added = outputs.add(line.trace, trace); !added) return added;
  if (line.json)
    if (Status added = outputs.add(*line.json, json); !added) return added;
  if (!standard_output_taken(line))
    if (Status added = outputs.add("-", report_table(simulation, next, cost, beside)); !added) return added;
  return outputs.finish();
}

Status run_render(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens) {
  auto request = make_request(line);
  if (!request) return request.error();
  RenderOptions options = render_options(line);
  options.state = state_of(line, *request);
  const std::string raced = request->simulation.algorithm;
  options.request = std::move(request->simulation);
  options.inputs = std::move(request->inputs);
  const auto picture = draw_picture(screens, std::move(options), line, err);
  if (!picture) return picture.error();
  if (Status written = write_or_print(line.out, picture->png, out); !written) return written;
  say_notice(*picture, err);
  say_racers(line, raced, err);
  return Done{};
}

Result<int> open_window(const CommandLine& line, const Screens& screens) {
  auto request = make_request(line);
  if (!request) return request.error();
  WindowOptions options = window_options(line);
  options.state = state_of(line, *request);
  options.request = std::move(request->simulation);
  options.inputs = std::move(request->inputs);
  options.lesson = line.lesson;
  // What is wrong with a file is said before a display is looked for.
  if (!line.ncu.empty()) {
    const auto text = read_text_file(line.ncu);
    if (!text) return text.error();
    if (const auto report = read_ncu_csv(*text, line.ncu); !report) return report.error();
  }
  if (!line.lesson.empty()) {
    const auto at = lesson_at(line.lesson);
    if (!at) return refuse("there is no page '{}': write lesson open ID or ID:PAGE", printable(line.lesson));
    const auto lesson = load_lesson(load_lesson_list(), at->id, line.language.value_or("en"));
    if (!lesson) return lesson.error();
    const std::size_t pages = (*lesson)->pages.size();
    if (at->page >= pages) return refuse("there is no page {}: the lesson has {}", at->page + 1, pages);
  }
  return screens.open_window(options);
}

Result<int> run(const CommandLine& typed, std::FILE* out, std::FILE* err, const Screens& screens) {
  const auto code_of = [](const Status& status) -> Result<int> {
    if (!status) return status.error();
    return exit_done;
  };
  if (const Status writable = check_outputs(typed); !writable) return writable.error();
  const auto opened = open_base(typed);
  if (!opened) return opened.error();
  const CommandLine& line = *opened;
  switch (line.command) {
    case CommandKind::print:
      return code_of(print(out, line.text));
    case CommandKind::window:
      return open_window(line, screens);
    case CommandKind::simulate:
      return code_of(run_simulate(line, out, err));
    case CommandKind::render:
      return code_of(run_render(line, out, err, screens));
    case CommandKind::exported:
      return code_of(run_export(line, out, err, screens));
    case CommandKind::sweep:
      return run_sweep_command(line, out, err, screens);
    case CommandKind::search:
      return run_search(line, out, err);
    case CommandKind::compare:
      return code_of(run_compare(line, out, err));
    case CommandKind::run:
      return run_tensors(line, out, err);
    case CommandKind::validate:
      return run_validate(line, out, err);
    case CommandKind::measure:
      return run_measure(line, out, err);
    case CommandKind::calibrate:
      return code_of(run_calibrate(line, out, err));
    case CommandKind::lesson:
      if (line.lesson_action == "open") return open_window(line, screens);
      return line.lesson_action == "list" ? code_of(run_lesson_list(line, out)) : run_lesson_check(line, out, err);
  }
  return exit_wrong_request;
}

/// The JSON library's destructor allocates. Without memory for that nothing can be caught.
void end_without_memory() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      std::fputs("tilescope: this needs more memory than the machine gives: use a smaller problem\n", stderr);
      std::_Exit(exit_machine_lacks);
    } catch (...) {}
  }
  std::abort();
}

}  // namespace

int run_cli(int argc, char** argv, std::FILE* out, std::FILE* err, const Screens& screens) {
  std::set_terminate(&end_without_memory);
  // A file over the limit and a reader that has ended are then errors of write(), with a sentence.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const auto fail = [&](const Error& error) {
    const std::string words = command_words(error.sentence, screens.translate);
    std::fputs(fmt::format("tilescope: {}\n", printable(words, longest_line)).c_str(), err);
    return exit_code(error);
  };
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto line = parse_command_line(arguments);
    if (!line) return fail(line.error());
    const auto code = run(*line, out, err, screens);
    if (!code) return fail(code.error());
    return *code;
  } catch (...) { return fail(error_of(std::current_exception())); }
}

}  // namespace tilescope
