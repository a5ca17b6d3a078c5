// Formats, names of numbered files, and what each format takes.
#include "app/cli/export.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/csv_sheets.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/request.h"
#include "sim/analysis/chrome_trace.h"
#include "sim/core/npy.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/block_mask.h"

namespace tilescope {

namespace {

namespace fs = std::filesystem;

/// A format by its ending. Without an ExportFormat it is data of the whole run.
struct Format {
  std::string_view ending;
  std::optional<ExportFormat> drawn;
};
constexpr std::array formats = {Format{".gif", ExportFormat::gif},   Format{".mp4", ExportFormat::mp4},
                                Format{".png", ExportFormat::png},   Format{".svg", ExportFormat::svg},
                                Format{".html", ExportFormat::html}, Format{".csv", std::nullopt},
                                Format{".json", std::nullopt},       Format{".npy", std::nullopt}};

Result<Format> format_of(const std::string& file) {
  std::string ending = fs::path(file).extension().native();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string known;
  for (const Format& format : formats) {
    if (format.ending == ending) return format;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", format.ending);
  }
  return refuse("--out is {}: its ending chooses the format, one of {}", printable(file, 200), known);
}

/// Errors  a flag that the format has no use for
Status check_flags(const CommandLine& line, const Format& format) {
  const bool film = format.drawn == ExportFormat::gif || format.drawn == ExportFormat::mp4;
  struct Use {
    std::string_view flag;
    bool used;
  };
  const bool drawn = format.drawn.has_value();
  // As typed: a state of --open gives some of them too.
  for (const Use& use : {Use{"--steps", drawn},
                         {"--grain", drawn},
                         {"--panel", drawn},
                         {"--size", drawn},
                         {"--seconds", film},
                         {"--fps", film},
                         {"--no-caption", drawn},
                         {"--sheet", format.ending == ".csv"},
                         {"--ncu", drawn},
                         {"--race", drawn},
                         {"--race-with", drawn},
                         {"--view", drawn},
                         {"--lanes", drawn},
                         {"--scale", drawn},
                         {"--theme", drawn},
                         {"--language", drawn}})
    if (line.given.contains(use.flag) && !use.used) return refuse("{} means nothing for {}: leave it out", use.flag, format.ending);
  return Done{};
}

Result<const CsvSheet*> sheet_of(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CsvSheet& sheet : csv_sheets()) {
    if (sheet.name == (name.empty() ? "traffic" : name)) return &sheet;
    names.push_back(sheet.name);
  }
  return refuse("--sheet is '{}': {}", printable(name), name_hint(name, names));
}

/// Errors  a lesson in another format, or with what its own pages decide
Status check_lesson(const CommandLine& line, const Format& format) {
  if (line.lesson.empty()) return Done{};
  const bool picture = format.ending == ".png" || format.ending == ".svg";
  if (!picture && format.ending != ".html")
    return refuse("--lesson makes a page or a picture: end --out in .html, .png or .svg, not in {}", format.ending);
  if (picture && line.lesson.find(':') == std::string::npos)
    return refuse("{} is a picture of one page: name it, as in --lesson {}:1, or end --out in .html for all pages", format.ending,
                  printable(line.lesson));
  for (const auto& [flag, given] :
       {std::pair{"--steps", line.steps.has_value()}, {"--grain", line.grain.has_value()}, {"--panel", !line.panel.empty()}})
    if (given) return refuse("{} means nothing with --lesson: its pages decide; leave it out", flag);
  return Done{};
}

/// Errors  a deck in another format, or with what its own scenes decide
Status check_deck(const CommandLine& line, const Format& format) {
  if (line.deck.empty()) return Done{};
  const bool pictures = format.ending == ".png" || format.ending == ".svg";
  if (!pictures && format.ending != ".html" && format.ending != ".mp4")
    return refuse("--deck makes a page, a film or pictures: end --out in .html, .mp4, .png or .svg, not in {}", format.ending);
  for (const auto& [flag, given] :
       {std::pair{"--steps", line.steps.has_value()}, {"--grain", line.grain.has_value()}, {"--panel", !line.panel.empty()}})
    if (given) return refuse("{} means nothing with --deck: its scenes decide; leave it out", flag);
  // As typed: each scene says what is simulated, and what is shown of it.
  for (const auto& [flag, values] : line.given) {
    const std::string_view group = find_flag(flag)->group;
    constexpr std::string_view of_scene[] = {"--race", "--race-with", "--view",    "--lanes",
                                             "--step", "--scene",     "--present", "--plot"};
    if (flag == "--scene" && pictures) continue;
    if (group == "Problem" || group == "GPU" || group == "Values" ||
        std::find(std::begin(of_scene), std::end(of_scene), flag) != std::end(of_scene))
      return refuse("{} means nothing with --deck: its scenes decide; leave it out", flag);
  }
  return Done{};
}

/// "step.png" and step 7 of 120: "step-007.png".
std::string numbered(const std::string& file, std::int64_t step, std::int64_t last) {
  fs::path path(file);
  const std::string name =
      fmt::format("{}-{:0{}}{}", path.stem().native(), step, fmt::format("{}", last).size(), path.extension().native());
  return path.replace_filename(name).native();
}

Status write_text(const CommandLine& line, const Format& format, const SimulationRequest& request, std::FILE* out) {
  const auto sheet = sheet_of(line.sheet);
  if (!sheet) return sheet.error();
  const auto simulation = simulate(request);
  if (!simulation) return simulation.error();
  return write_or_print(line.out, format.ending == ".csv" ? (*sheet)->text(**simulation) : to_chrome_trace(**simulation), out);
}

/// Writes "lists-kv_num_blocks.npy" and so on: the block lists of the mask, with the names and shapes of PyTorch's BlockMask.
/// Errors  no mask; those of plan_run()
Status write_block_lists(const CommandLine& line, const SimulationRequest& request) {
  const auto planned = plan_run(request);
  if (!planned) return planned.error();
  const AttentionProblem& problem = planned->request.problem;
  if (!problem.mask) return refuse("a .npy holds the block lists of a mask: give --mask or --preset, such as --preset causal");
  const BlockMask blocks = block_mask_of(*problem.mask, problem, mask_block_of(problem, planned->program->tile()));
  Outputs outputs(nullptr);
  const auto add = [&](std::string_view prefix, std::string_view axis, const BlockLists& lists, std::int64_t cols) -> Status {
    const BlockArrays arrays = arrays_of(lists, cols);
    const std::array<std::int64_t, 4> shape = {blocks.mask_batch, blocks.mask_heads, lists.rows, cols};
    const fs::path path(line.out);
    const auto file = [&](std::string_view array) {
      fs::path named = path;
      return named.replace_filename(fmt::format("{}-{}{}_{}.npy", path.stem().native(), prefix, axis, array)).native();
    };
    if (Status added = outputs.add(file("num_blocks"), to_npy(std::span(shape).first(3), arrays.counts)); !added) return added;
    return outputs.add(file("indices"), to_npy(shape, arrays.indices));
  };
  for (const auto& [prefix, lists] : {std::pair{"", &blocks.partial}, std::pair{"full_", &blocks.full}}) {
    if (Status added = add(prefix, "kv", *lists, blocks.cols); !added) return added;
    if (Status added = add(prefix, "q", transposed(*lists, blocks.cols), blocks.rows); !added) return added;
  }
  return outputs.finish();
}

ExportOptions export_options(const CommandLine& line, ExportFormat format) {
  ExportOptions options;
  options.format = format;
  options.steps = line.steps;
  if (line.grain) options.grain = *line.grain;
  if (line.fps) options.frames_per_second = *line.fps;
  if (line.seconds) options.seconds_per_step = *line.seconds;
  options.caption = line.caption;
  options.picture = render_options(line);
  options.one_scene = line.scene.has_value();
  // A handout is printed.
  const bool handout = format == ExportFormat::html && (!line.lesson.empty() || !line.deck.empty());
  if (handout && !line.given.contains("--theme")) options.picture.theme = ThemeKind::light;
  return options;
}

Status write_steps(const CommandLine& line, ExportOptions options, std::FILE* err, const Screens& screens) {
  ProgressPrinter progress(err, line.quiet);
  std::mutex one_at_a_time;
  options.picture.told = [&](const std::string& what, double fraction) {
    const std::lock_guard lock(one_at_a_time);
    progress.show(fmt::format("export: {}, {:.0f} %", what, 100 * fraction));
  };
  Result<ExportedSteps> steps = screens.export_steps(options);
  progress.end();
  if (!steps) return steps.error();
  Outputs outputs(nullptr);
  for (ExportedSteps::File& file : steps->files) {
    const std::string name = file.step ? numbered(line.out, *file.step, steps->last_step) : line.out;
    if (Status added = outputs.add(name, file.bytes); !added) return added;
    file.bytes = {};
  }
  if (Status written = outputs.finish(); !written) return written;
  say_notice({{}, steps->notice}, err);
  return Done{};
}

}  // namespace

Status run_export(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens) {
  const Result<Format> format = format_of(line.out);
  if (!format) return format.error();
  if (Status used = check_flags(line, *format); !used) return used;
  if (Status fits = check_lesson(line, *format); !fits) return fits;
  if (Status fits = check_deck(line, *format); !fits) return fits;
  if (const auto sheet = sheet_of(line.sheet); !sheet) return sheet.error();
  auto request = make_request(line);
  if (!request) return request.error();
  if (format->ending == ".npy") return write_block_lists(line, request->simulation);
  if (!format->drawn) return write_text(line, *format, request->simulation, out);
  const std::string raced = request->simulation.algorithm;
  ExportOptions options = export_options(line, *format->drawn);
  options.picture.request = std::move(request->simulation);
  options.picture.inputs = std::move(request->inputs);
  if (!line.lesson.empty() && !line.size) {  // beside its text
    options.picture.width = 1280;
    options.picture.height = 720;
  }
  if (Status written = write_steps(line, std::move(options), err, screens); !written) return written;
  say_racers(line, raced, err);
  return Done{};
}

}  // namespace tilescope
