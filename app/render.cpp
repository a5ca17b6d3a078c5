// render_picture(): one step of one simulation as a PNG, without a display and without a clock.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "app/model/assets.h"
#include "app/model/mask_tables.h"
#include "app/model/window_state.h"
#include "app/platform/files.h"
#include "app/platform/headless_context.h"
#include "app/platform/png.h"
#include "app/platform/quiet_libraries.h"
#include "app/ui/language.h"
#include "app/views/app_frame.h"
#include "app/views/panel_table.h"
#include "app/views/work_words.h"
#include "app/window.h"

namespace tilescope {

namespace {

Status check_panel(const std::string& id) {
  if (id.empty()) return Done{};
  std::string known;
  for (const PanelInfo& panel : panel_table()) {
    if (panel.id == id) return Done{};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", panel.id);
  }
  return Error{fmt::format("there is no panel '{}': choose one of {}, or leave --panel out for the whole window", id, known)};
}

Session::Start start_of(const RenderOptions& options) {
  Session::Start start;
  start.request = options.request;
  start.inputs = options.inputs;
  start.deck = options.deck;
  start.deck_path = options.deck_path;
  start.scene = options.scene;
  start.step = options.step;
  start.race = options.race || options.panel == "race";
  start.center = center_view_from(options.panel).value_or(options.center);  // a single panel needs its view's study
  if (options.state != nullptr) {
    WindowState state = *options.state;
    state.race = start.race;
    state.center = start.center;
    start.state = std::make_shared<const WindowState>(std::move(state));
  }
  start.by_sm = options.by_sm;
  start.counters = options.ncu;
  start.swept = options.swept;
  start.sweep_quantity = options.sweep_quantity;
  start.theme = options.theme;
  start.language = options.language;
  start.load_gpu = &load_gpu;
  start.load_table = &load_table;
  start.load_text = [](const std::string& path) { return read_text_file(path); };
  start.measurements = load_measurements();
  start.threads = false;
  if (options.told) start.told = [told = options.told](WorkKind kind, double fraction) { told(words_of(kind), fraction); };
  return start;
}

/// Errors  those of simulate(); a step out of range
Status check_opened(Session& session, std::optional<std::int64_t> step) {
  const SessionView view = session.view();
  if (view.workspace->message) return view.workspace->message->error;
  if (view.lanes.empty()) return Error{"nothing was simulated"};
  const std::int64_t last = view.lane().step_count;
  if (step && (*step < 0 || *step > last))
    return Error{fmt::format("there is no step {}: {} has steps 0 to {}", *step, view.requested->request.algorithm, last)};
  return Done{};
}

}  // namespace

Result<RenderedPicture> render_picture(const RenderOptions& options) {
  if (const Status status = check_panel(options.panel); !status) return status.error();
  const Result<std::shared_ptr<const Language>> language = load_language(options.language);
  if (!language) return language.error();
  use_language(*language);
  Session session(start_of(options));
  session.finish();
  if (const Status status = check_opened(session, options.step); !status) return status.error();

  const QuietLibraries quiet;
  const Result<std::unique_ptr<HeadlessContext>> context = HeadlessContext::make();
  if (!context) return context.error();
  AppFrame::Options frame_options;
  frame_options.scale = options.scale;
  frame_options.panel = options.panel;
  Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(session, frame_options);
  if (!frame) return frame.error();
  // Sizes, scroll positions and highlights settle within a few frames, without session time.
  constexpr int frames = 12;
  for (int i = 0; i < frames; ++i) (*frame)->build(options.width, options.height, 0);
  const Result<Picture> picture = (*frame)->draw_picture();
  if (!picture) return picture.error();
  return RenderedPicture{encode_png(*picture), (*frame)->fonts().notice()};
}

}  // namespace tilescope
