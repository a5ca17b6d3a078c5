// Command line to the options of the window.
#include "app/cli/window_options.h"

namespace tilescope {

namespace {

/// What both kinds of options have; what is not given stays as it is by default.
template <class Options>
Options shared_options(const CommandLine& line) {
  Options options;
  options.step = line.step;
  options.race = line.race;
  options.center = line.view;
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
  options.out = line.out;
  return options;
}

Status draw_picture(const Screens& screens, const RenderOptions& options, std::FILE* err) {
  const Result<std::string> notice = screens.render_picture(options);
  if (!notice) return notice.error();
  if (!notice->empty()) std::fprintf(err, "tilescope: %s\n", notice->c_str());
  return Done{};
}

}  // namespace tilescope
