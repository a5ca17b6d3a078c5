// One row in two halves, so that nothing moves from step to step: the run at the left, the step at the right.
#include "app/views/caption.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/chrome.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

constexpr float one_row_from = 900, row_points = 44, narrow_row_points = 24;

bool one_row(const Theme& theme, float width) {
  return width >= one_row_from * theme.scale;
}

/// Draws `strong`, and beside it the first of the `rests` that fits: a caption is also read on paper, where no tooltip has the
/// rest.
void draw_half(const Rect& rect, const Theme& theme, const std::string& strong, const std::string& strong_reserve,
               std::initializer_list<std::string> rests) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui_bold, rect, theme.text, strong);
  const float width = std::max(text_width(theme.ui_bold, strong), text_width(theme.ui_bold, strong_reserve));
  const Rect beside = {{rect.min.x + width + std::round(16 * theme.scale), rect.min.y}, rect.max};
  draw_text(list, theme.ui, beside, theme.text_dim, first_that_fits(theme.ui, beside.width(), rests));
}

}  // namespace

std::string caption_run(const View& view) {
  std::string names;
  for (const Lane& lane : view.lanes) {
    if (!view.playback.race && &lane != &view.lane()) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " · ", translated(lane.simulation->info->title));
  }
  return fmt::format("{} · {}", names, view.lane().simulation->request.gpu.id);
}

std::string caption_problem(const View& view) {
  const SimulationRequest& request = view.lane().simulation->request;
  const AttentionProblem& p = request.problem;
  const std::string heads = p.heads == p.kv_heads ? fmt::format("{}", p.heads) : fmt::format("{}/{}", p.heads, p.kv_heads);
  const std::string rows = p.seq_q == p.seq_kv ? fmt::format("{}", p.seq_q) : fmt::format("{}×{}", p.seq_q, p.seq_kv);
  std::string text = fmt::format("B {}  H {}  N {}  d {}  {}", p.batch, heads, rows, p.head_dim, to_string(p.dtype));
  if (request.tile && !view.playback.race)
    text += fmt::format("  {}", say(tr("tile {}×{}"), request.tile->block_q, request.tile->block_kv));
  if (p.mask || p.causal) text += fmt::format("  {}", p.mask ? tr("masked") : tr("causal"));
  return text;
}

std::string caption_step(const View& view) {
  const Lane& lane = view.lane();
  return say(tr("Step {} of {}"), format_count(lane.step), format_count(lane.step_count));
}

std::string caption_line(const View& view) {
  const Lane& lane = view.lane();
  if (view.playback.race) return fmt::format("{} {}", tr("Cycle"), format_cycles(Cycles(view.playback.cycle)));
  const auto listing = lane.simulation->info->listing;
  const int line = lane.operation != nullptr ? lane.operation->line : 0;
  if (line < 1 || line > static_cast<int>(listing.size())) return tr("Nothing has run yet");
  return say(tr("line {}: {}"), line, listing_text(listing[static_cast<std::size_t>(line) - 1].text));
}

float caption_height(const Theme& theme, float width) {
  return std::round((one_row(theme, width) ? row_points : 2 * narrow_row_points + 6) * theme.scale);
}

void draw_caption(const Rect& rect, const View& view) {
  const Theme& theme = *view.theme;
  ImGui::GetWindowDrawList()->AddRectFilled(rect.min, rect.max, theme.panel);
  const float edge = std::round(18 * theme.scale);
  const std::string steps = format_count(view.lane().step_count);
  const std::string reserve = say(tr("Step {} of {}"), steps, steps);
  Rect run = {{rect.min.x + edge, rect.min.y}, {rect.max.x - edge, rect.max.y}}, step = run;
  if (rect.height() >= 2 * narrow_row_points * theme.scale) {
    run.max.y = step.min.y = std::round(rect.center().y);
  } else {
    step.min.x = std::round(rect.center().x);
    run.max.x = step.min.x - edge;
  }
  const Scene* const scene = view.lecture->shown();
  const std::string of_run = caption_run(view), of_problem = caption_problem(view), of_line = caption_line(view);
  if (scene != nullptr && !scene->title.empty()) {
    // A long title has the whole row: the bar below the picture says the step.
    const bool is_long = one_row(theme, rect.width()) && text_width(theme.ui_bold, scene->title) > run.width();
    if (is_long) run.max.x = rect.max.x - edge;
    draw_half(run, theme, scene->title, "", {fmt::format("{}  {}", of_run, of_problem), of_run, ""});
    if (is_long) return;
  } else {
    draw_half(run, theme, of_run, "", {of_problem});
  }
  draw_half(step, theme, caption_step(view), reserve, {of_line});
}

}  // namespace tilescope
