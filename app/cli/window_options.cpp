// Reads the window's options from the command line.
#include "app/cli/window_options.h"

#include <mutex>

#include <fmt/format.h>

#include "app/cli/progress.h"
#include "app/model/requests/racers.h"

namespace tilescope {

namespace {

/// Sets the options of window and picture; missing flags keep the defaults.
template <class Options>
Options shared_options(const CommandLine& line) {
  Options options;
  options.deck = line.scenes;
  options.deck_path = line.deck;
  options.scene = line.scene.value_or(1) - 1;
  options.step = line.step;
  options.race = line.race;
  options.center = line.view;
  options.ncu = line.ncu;
  if (line.by_sm) options.by_sm = *line.by_sm;
  if (line.theme) options.theme = *line.theme;
  if (line.size) {
    options.width = line.size->width;
    options.height = line.size->height;
  }
  if (line.scale) options.scale = static_cast<float>(*line.scale);
  if (line.language) options.language = *line.language;
  return options;
}

}  // namespace

WindowOptions window_options(const CommandLine& line) {
  WindowOptions options = shared_options<WindowOptions>(line);
  options.gpu = line.gpu;
  return options;
}

RenderOptions render_options(const CommandLine& line) {
  RenderOptions options = shared_options<RenderOptions>(line);
  options.panel = line.panel;
  options.lesson = line.lesson;
  options.present = line.present;
  return options;
}

Result<RenderedPicture> draw_picture(const Screens& screens, RenderOptions options, const CommandLine& line, std::FILE* err) {
  ProgressPrinter progress(err, line.quiet);
  std::mutex one_at_a_time;
  options.told = [&](const std::string& what, double fraction) {
    const std::lock_guard lock(one_at_a_time);
    progress.show(fmt::format("render: {}, {:.0f} %", what, 100 * fraction));
  };
  Result<RenderedPicture> picture = screens.render_picture(options);
  progress.end();
  return picture;
}

void say_notice(const RenderedPicture& picture, std::FILE* err) {
  if (!picture.notice.empty()) std::fputs(fmt::format("tilescope: {}\n", picture.notice).c_str(), err);
}

void say_racers(const CommandLine& line, std::string_view algorithm, std::FILE* err) {
  if (!line.race || line.quiet) return;
  const auto [first, second] = racers(algorithm, line.race.with);
  if (first == algorithm && second != first)
    fmt::print(err, "tilescope: --race: {} is the baseline of its kind; {} runs beside it\n", first, second);
}

}  // namespace tilescope
