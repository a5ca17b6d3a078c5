// The mask panel: which blocks of queries and keys a mask leaves, who decided that, and what the rest costs.
//
//   ┌ finding ────────────────────────────────────────────┐
//   │ ┌ N × Nk in blocks ──────────┐  presets, texts,     │
//   │ │ ▇ full  ▨ partial   empty  │  sliders, tables     │
//   │ │ wheel: zoom, drag: move    │  counts, SM load     │
//   │ └────────────────────────────┘                      │
//   └─────────────────────────────────────────────────────┘
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/lessons/lesson.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/mask/mask_cuda.h"
#include "app/views/mask/mask_editor.h"
#include "app/views/mask/mask_picture.h"
#include "app/views/mask/mask_words.h"
#include "app/views/panels.h"
#include "app/views/race/race_reason.h"
#include "app/views/study_panel.h"
#include "sim/analysis/format.h"
#include "sim/core/units.h"
#include "sim/programs/flex_lists.h"

namespace tilescope {
namespace {

/// All that the quads and the legend were made of.
struct MaskDrawn {
  std::shared_ptr<const MaskPicture> picture;
  std::shared_ptr<const MaskElements> elements;
  std::shared_ptr<const MaskDifference> difference;
  MaskWindow window;
  std::array<float, 4> canvas = {};  // left, top, right, bottom
  MaskColors colors = MaskColors::state;
  ThemeKind theme = ThemeKind::dark;
  std::string language;  // its own name for itself
  bool operator==(const MaskDrawn&) const = default;
};

struct MaskPanelState {
  std::int64_t plane = 0;
  MaskShows shows = MaskShows::state;
  MaskCuda cuda;
  bool zoomed = false;  // else the whole plane, whatever the canvas
  MaskWindow window;
  double zoom = 1;                // of the window, against the whole plane
  bool moved = false;             // by hand, since the state was told
  MaskMapChoice seen;             // of the state, in the frame before
  MaskMapChoice told;             // that was made of it, or that it was told
  std::optional<double> to_zoom;  // of a state that was opened, until the canvas is known
  MaskDrawn drawn;
  std::shared_ptr<const QuadBatch> quads;
  std::vector<MaskLegendEntry> legend;  // of the same
  // Busy share of each SM.
  std::shared_ptr<const Simulation> loads_of;
  std::vector<double> loads;
  LookAtMask looked;
  AskVisit asked;
  std::int64_t cursor_row = 0, cursor_col = 0;  // the block that the arrows are on
};

/// "12 %": a part of the blocks, or of the dense work. A dash if there is nothing to be a part of.
std::string share_text(std::int64_t part, std::int64_t all) {
  return all == 0 ? std::string("–") : format_percent(static_cast<double>(part) / static_cast<double>(all));
}

/// What was chosen; without another mask there is no difference to show.
MaskShows shows_now(const View& view, const MaskPanelState& state) {
  return view.mask.difference == nullptr && state.shows == MaskShows::difference ? MaskShows::state : state.shows;
}

/// The colours of the picture. The CUDA takes its place, so that its colours do not matter.
MaskColors colors_of(MaskShows shows) {
  switch (shows) {
    case MaskShows::decided:
      return MaskColors::decided;
    case MaskShows::difference:
      return MaskColors::difference;
    case MaskShows::state:
    case MaskShows::cuda:
      break;
  }
  return MaskColors::state;
}

/// "The two masks differ in 120 of 4 096 elements: …".
std::string difference_finding(const MaskDifference& difference) {
  const AttentionProblem& p = difference.of->problem;
  const std::int64_t all = p.seq_q * p.seq_kv, differing = difference.only_here + difference.only_there;
  if (differing == 0) return tr("Both masks leave the same elements visible");
  return say(tr("The masks differ in {} of {} elements: {} are visible only here, {} only in the other mask"),
             format_count(differing), format_count(all), format_count(difference.only_here), format_count(difference.only_there));
}

/// Whose mask the other one is, and what it says.
std::string difference_detail(const View& view) {
  const MaskDifference& difference = *view.mask.difference;
  const BesideRun* const beside = beside_run(view);
  const bool is_pinned = beside != nullptr && beside->simulation == difference.other;
  const std::string words = mask_words(difference.other->request), mask = words.empty() ? std::string(tr("no mask")) : words;
  const std::string text = is_pinned ? say(tr("The other mask is that of pinned {}: {}."), beside->place, mask)
                                     : say(tr("The other mask is that of another run of this page: {}."), mask);
  return difference.of->problem.query_planes() > 1 ? text + " " + tr("Counted in one head.") : text;
}

std::string finding(const MaskView& mask) {
  const MaskPicture& picture = *mask.picture;
  if (!picture.masked) return tr("No mask: every query sees every key");
  if (picture.empty == picture.blocks()) {
    const MaskPlanes by = picture.problem.mask->planes();
    return by.by_head || by.by_batch ? tr("No query of this head sees a key: its rows of O are 0")
                                     : tr("This mask shows nothing: no query sees a key, and every row of O is 0");
  }
  const bool counted = mask.totals != nullptr && mask.totals->of == mask.picture;
  const bool tiles = picture.blocks_are_tiles();
  if (!counted && picture.empty > 0)
    return say(tiles ? tr("{} of the tiles are empty") : tr("{} of the mask blocks are empty"),
               share_text(picture.empty, picture.blocks()));
  if (picture.partial == 0 && picture.empty == 0) return tr("Every query of this head sees every key: the mask hides nothing");
  if (!counted || mask.totals->empty == 0)
    return tiles ? tr("No tile is empty: the mask changes numbers, not bytes")
                 : tr("No mask block is empty: the mask changes numbers, not bytes");
  const MaskTotals& totals = *mask.totals;
  return say(tiles ? tr("{} of the tiles are empty: {} of the dense products, {} of the dense K and V traffic L2→SM")
                   : tr("{} of the mask blocks are empty: {} of the dense products, {} of the dense K and V traffic L2→SM"),
             share_text(totals.empty, totals.blocks()), share_text(totals.products, totals.dense_products),
             share_text(totals.kv_bytes, totals.dense_kv_bytes));
}

/// K and V from HBM: what the simulated run reads, and the least that a run without the mask reads.
struct HbmReads {
  std::int64_t bytes = 0, dense_at_least = 0;
};

/// Absent while the simulation on screen is of another problem or mask.
std::optional<HbmReads> hbm_reads(const View& view) {
  const Simulation& run = *view.lane().simulation;
  // The run has the mask that was made of the texts, the request may have none yet: the texts are compared.
  const auto unmasked = [](AttentionProblem problem) {
    problem.mask = nullptr;
    problem.score_change = nullptr;
    return problem;
  };
  if (view.requested == nullptr || !(unmasked(run.request.problem) == unmasked(view.requested->request.problem)) ||
      !(run.request.masking == view.requested->request.masking))
    return std::nullopt;
  HbmReads reads;
  for (const Tensor tensor : run.program->tensors())
    if (tensor.means(Meaning::key) || tensor.means(Meaning::value)) reads.bytes += run.ledger.total(tensor, Link::hbm_read).value;
  const AttentionProblem& p = run.request.problem;
  reads.dense_at_least = 2 * p.batch * p.kv_heads * p.seq_kv * p.head_dim * element_bytes(p.dtype);
  return reads;
}

/// What the run reads of the mask itself.
struct ListReads {
  std::int64_t sm = 0, hbm = 0;  // bytes from the L2 to the SMs, and from HBM
};

/// Absent for a run that follows no block lists.
std::optional<ListReads> list_reads(const Simulation& run) {
  constexpr std::array of_lists = {lists::partial_count,       lists::partial,       lists::full_count,       lists::full,
                                   lists::query_partial_count, lists::query_partial, lists::query_full_count, lists::query_full};
  ListReads reads;
  for (const Tensor tensor : run.program->tensors()) {
    if (std::ranges::find(of_lists, tensor) == of_lists.end()) continue;
    reads.sm += run.ledger.total(tensor, Link::l2_to_sm).value;
    reads.hbm += run.ledger.total(tensor, Link::hbm_read).value;
  }
  return reads.sm > 0 ? std::optional(reads) : std::nullopt;
}

/// What all counts of the view are of.
std::string counted_over(const AttentionProblem& p) {
  if (p.batch > 1) return say(tr("all {} heads of {} batch elements"), p.heads, p.batch);
  return p.heads > 1 ? say(tr("all {} heads"), p.heads) : std::string(tr("the only head"));
}

std::string detail(const View& view) {
  const MaskView& mask = view.mask;
  const MaskPicture& picture = *mask.picture;
  const AttentionProblem& p = picture.problem;
  const bool tiles = picture.blocks_are_tiles();
  std::string text =
      say(tiles ? tr("{}×{} queries and keys in tiles of {}×{}") : tr("{}×{} queries and keys in mask blocks of {}×{}"), p.seq_q,
          p.seq_kv, picture.block.block_q, picture.block.block_kv);
  if (mask.totals == nullptr || mask.totals->of != mask.picture) return text;
  text += say(tiles ? tr(". Tiles of {}: {} decided by analysis, {} by looking at elements")
                    : tr(". Mask blocks of {}: {} decided by analysis, {} by looking at elements"),
              counted_over(p), format_count(mask.totals->by_analysis), format_count(mask.totals->by_evaluation));
  if (const std::optional<HbmReads> reads = hbm_reads(view); reads && picture.masked)
    text += say(tr(". HBM reads of K and V: {}, without the mask at least {}"), format_bytes(Bytes(reads->bytes)),
                format_bytes(Bytes(reads->dense_at_least)));
  return text;
}

/// Whether a question is held that the figures would answer: that of a lesson's page, or that of a deck's scene.
bool holds_figures(const View& view) {
  return view.lesson.locked || holds_scene_answer(view);
}

/// Busy cycles of each SM over the run: the union of its blocks.
std::vector<double> loads_of(const Simulation& simulation) {
  const auto sms = static_cast<std::size_t>(simulation.request.gpu.sm_count);
  std::vector<double> busy(sms, 0), end(sms, 0);
  for (const BlockRun& run : simulation.trace->runs()) {  // in order of start
    const auto sm = static_cast<std::size_t>(run.sm);
    if (sm >= sms) continue;
    busy[sm] += std::max(0.0, run.end - std::max(run.start, end[sm]));
    end[sm] = std::max(end[sm], run.end);
  }
  const double whole = simulation.trace->end_cycle();
  for (double& value : busy) value = whole > 0 ? value / whole : 0;
  return busy;
}

/// `below`: the height that what follows needs.
void draw_loads(const View& view, MaskPanelState& state, float below) {
  const Theme& theme = *view.theme;
  const auto& simulation = view.lane().simulation;
  if (state.loads_of != simulation) {
    state.loads_of = simulation;
    state.loads = loads_of(*simulation);
  }
  if (state.loads.empty()) return;
  const auto [least, most] = std::minmax_element(state.loads.begin(), state.loads.end());
  double sum = 0;
  for (const double load : state.loads) sum += load;
  wrapped_text(theme.ui_small, theme.text_dim,
               say(tr("SM busy time: {} to {}, mean {}"), format_percent(*least), format_percent(*most),
                   format_percent(sum / static_cast<double>(state.loads.size()))));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float width = room.x, height = std::round(std::clamp(room.y - below, 44 * theme.scale, 160 * theme.scale));
  const Rect area = {at, {at.x + width, at.y + height}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(area.min, area.max, theme.inset, 3 * theme.scale);
  const float each = width / static_cast<float>(state.loads.size());
  for (std::size_t sm = 0; sm < state.loads.size(); ++sm) {
    const float left = area.min.x + each * static_cast<float>(sm),
                high = height * static_cast<float>(std::min(1.0, state.loads[sm]));
    const bool focus = static_cast<int>(sm) == view.lane().focus_sm;
    list->AddRectFilled({left, area.max.y - high}, {left + std::max(1.0F, each - (each > 3 ? 1 : 0)), area.max.y},
                        focus ? theme.highlight : theme.accent);
  }
  hit_area("loads", area);
  const auto sm = static_cast<std::size_t>(
      std::clamp((ImGui::GetMousePos().x - area.min.x) / each, 0.0F, static_cast<float>(state.loads.size() - 1)));
  item_tooltip(theme, say(tr("SM {}"), sm), say(tr("Busy {} of the run"), format_percent(state.loads[sm])));
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, height});
}

/// The run and the same without its mask, as they are compared.
struct ComparedRuns {
  const Simulation& masked;
  const Simulation& dense;
};

/// Absent before the two are there, and while a question is held, which they may answer.
std::optional<ComparedRuns> compared_runs(const View& view) {
  const DenseRun* const run = view.studies->dense.get();
  if (run == nullptr || view.mask.totals == nullptr || !hbm_reads(view) || holds_figures(view)) return std::nullopt;
  return ComparedRuns{*run->masked, *run->dense};
}

/// A figure with its name. Where there is no room for all, those of the least `weight` are left out.
struct FigureRow {
  std::string label, value;
  int weight = 0;
  std::string tooltip = {};
};

std::vector<FigureRow> figure_rows(const View& view) {
  const MaskTotals& totals = *view.mask.totals;
  const std::int64_t blocks = totals.blocks();
  const auto with_share = [](const std::string& value, std::int64_t part, std::int64_t all) {
    return fmt::format("{}  {:>6}", value, share_text(part, all));
  };
  const bool tiles = totals.of->blocks_are_tiles();
  const std::int64_t saved = totals.dense_kv_bytes - totals.kv_bytes;
  const std::optional<HbmReads> reads = hbm_reads(view);
  std::vector<FigureRow> rows = {
      {tiles ? tr("Empty tiles") : tr("Empty mask blocks"), with_share(format_count(totals.empty), totals.empty, blocks), 5},
      {tiles ? tr("Partial tiles") : tr("Partial mask blocks"), with_share(format_count(totals.partial), totals.partial, blocks),
       5},
      {tiles ? tr("Full tiles") : tr("Full mask blocks"), with_share(format_count(totals.full), totals.full, blocks), 5},
      {tr("Visible elements"), with_share(format_count(totals.visible), totals.visible, totals.elements), 1},
      {tr("Products saved"), share_text(totals.dense_products - totals.products, totals.dense_products), 2},
      {tr("K and V saved, L2→SM"), with_share(format_bytes(Bytes(saved)), saved, totals.dense_kv_bytes), 3,
       say(tr("SMs read {} of K and V from the L2; without the mask {}. HBM reads are the next row."),
           format_bytes(Bytes(totals.kv_bytes)), format_bytes(Bytes(totals.dense_kv_bytes)))},
      {tr("K and V, HBM reads"),
       reads ? say(tr("{}, dense ≥ {}"), format_bytes(Bytes(reads->bytes)), format_bytes(Bytes(reads->dense_at_least)))
             : std::string(tr("not compared")),
       4,
       reads ? say(tr("The simulated run reads {} of K and V from HBM. A run without the mask reads each of their {} at "
                      "least once."),
                   format_exact_bytes(Bytes(reads->bytes)), format_exact_bytes(Bytes(reads->dense_at_least)))
             : std::string(tr("The simulation on screen is of another problem or mask."))},
  };
  if (const auto lists = reads ? list_reads(*view.lane().simulation) : std::nullopt)
    rows.push_back({tr("Block lists read, L2→SM"), format_bytes(Bytes(lists->sm)), 3,
                    say(tr("The mask costs bytes too: each thread block reads its row of the block lists, 4 bytes for each visited "
                           "block and two counts, in whole sectors. SMs read {} of them from the L2, HBM reads are {}."),
                        format_exact_bytes(Bytes(lists->sm)), format_exact_bytes(Bytes(lists->hbm)))});
  if (const auto runs = compared_runs(view)) {
    const std::string now = format_time(runs->masked.time), dense = format_time(runs->dense.time);
    const std::string clock = format_clock(runs->masked.request.gpu.sm_clock_hz);
    rows.push_back({say(tr("Time at {}"), clock), say(tr("{}, dense {}"), now, dense), 6});
  }
  return rows;
}

float one_line_width(const Theme& theme, const FigureRow& row) {
  return text_width(theme.ui, row.label) + 2 * theme.gap + text_width(theme.mono, row.value);
}

float row_height(const Theme& theme, const FigureRow& row, float width) {
  const bool one_line = one_line_width(theme, row) <= width;
  return (one_line ? theme.row_height : 2 * theme.row_height) + ImGui::GetStyle().ItemSpacing.y;
}

/// Draws a figure beside its name, or below it where the two are wider than the column.
void draw_figure_row(const Theme& theme, const FigureRow& row, ImU32 color) {
  bool hovered = false;
  if (one_line_width(theme, row) <= ImGui::GetContentRegionAvail().x) {
    hovered = key_value_row(theme, row.label, row.value, {}, color);
  } else {
    hovered = key_value_row(theme, row.label, "", {}, color);
    hovered = key_value_row(theme, "", row.value, {}, color) || hovered;
  }
  if (hovered && !row.tooltip.empty()) show_tooltip(theme, row.label, row.tooltip);
}

/// Takes rows of the least weight out until the others fit `room`.
void keep_what_fits(const Theme& theme, std::vector<FigureRow>& rows, ImVec2 room) {
  const auto height = [&] {
    float sum = 0;
    for (const FigureRow& row : rows) sum += row_height(theme, row, room.x);
    return sum;
  };
  while (!rows.empty() && height() > room.y)
    rows.erase(std::ranges::min_element(rows, {}, [](const FigureRow& row) { return row.weight; }));
}

/// `room`: the height that the rows may take; without one, all of them are drawn.
void draw_figures(const View& view, std::optional<float> room = {}) {
  const Theme& theme = *view.theme;
  const MaskView& mask = view.mask;
  if (mask.totals == nullptr) return;
  const float top = ImGui::GetCursorPosY();
  text_item(theme.ui_small, theme.text_faint, say(tr("Counts of {}"), counted_over(mask.totals->of->problem)));
  std::vector<FigureRow> rows = figure_rows(view);
  if (room) keep_what_fits(theme, rows, {ImGui::GetContentRegionAvail().x, *room - (ImGui::GetCursorPosY() - top)});
  for (const FigureRow& row : rows) draw_figure_row(theme, row, mask.totals->of == mask.picture ? theme.text : theme.text_faint);
}

/// Says what bounds the run and the dense one; empty where the two are not compared.
std::string time_reason(const View& view) {
  const auto runs = compared_runs(view);
  return runs ? mask_reason(runs->masked, runs->dense, view.studies->limit.get()) : std::string();
}

// --- the picture ------------------------------------------------------------------------------------------------------------

const char* state_name(TileVisibility visibility) {
  return visibility == TileVisibility::empty  ? tr("empty: never loaded")
         : visibility == TileVisibility::full ? tr("full: no element is masked")
                                              : tr("partial: masked element by element");
}

struct Pointed {
  std::int64_t query = 0, key = 0, row = 0, col = 0;
};

std::optional<Pointed> pointed_at(const MaskPicture& picture, const MaskWindow& window, const Rect& canvas) {
  const ImVec2 mouse = ImGui::GetMousePos();
  if (!canvas.contains(mouse)) return std::nullopt;
  Pointed at;
  at.query = static_cast<std::int64_t>(std::floor(window.query_at(canvas, mouse.y)));
  at.key = static_cast<std::int64_t>(std::floor(window.key_at(canvas, mouse.x)));
  if (at.query < 0 || at.key < 0 || at.query >= picture.problem.seq_q || at.key >= picture.problem.seq_kv) return std::nullopt;
  at.row = at.query / picture.block.block_q;
  at.col = at.key / picture.block.block_kv;
  return at;
}

bool same_sizes(const AttentionProblem& a, const AttentionProblem& b) {
  return a.batch == b.batch && a.heads == b.heads && a.seq_q == b.seq_q && a.seq_kv == b.seq_kv;
}

/// The block of the cursor.
Pointed pointed_block(const MaskPicture& picture, const MaskPanelState& state) {
  return {state.cursor_row * picture.block.block_q, state.cursor_col * picture.block.block_kv, state.cursor_row, state.cursor_col};
}

/// The arrows move the cursor over the blocks, and with Shift zoom around it.
void move_cursor(const MaskPicture& picture, const Rect& canvas, MaskPanelState& state) {
  const AttentionProblem& p = picture.problem;
  const std::int64_t rows = ceil_div(p.seq_q, picture.block.block_q), cols = ceil_div(p.seq_kv, picture.block.block_kv);
  const auto pressed = [](ImGuiKey key) { return ImGui::IsKeyPressed(key) ? 1 : 0; };
  const int down = pressed(ImGuiKey_DownArrow) - pressed(ImGuiKey_UpArrow);
  const int right = pressed(ImGuiKey_RightArrow) - pressed(ImGuiKey_LeftArrow);
  const bool zooms = ImGui::GetIO().KeyShift;
  state.cursor_row = std::clamp<std::int64_t>(state.cursor_row + (zooms ? 0 : down), 0, rows - 1);
  state.cursor_col = std::clamp<std::int64_t>(state.cursor_col + (zooms ? 0 : right), 0, cols - 1);
  const auto middle = [&] {
    const Pointed at = pointed_block(picture, state);
    return ImVec2{state.window.x_of(canvas, static_cast<double>(at.key) + 0.5 * static_cast<double>(picture.block.block_kv)),
                  state.window.y_of(canvas, static_cast<double>(at.query) + 0.5 * static_cast<double>(picture.block.block_q))};
  };
  if (zooms && down != 0) {
    state.window = zoomed(state.window, p, canvas, middle(), std::pow(1.25, -down));
    state.moved = true;
    state.zoomed = state.window.pixels > whole_plane(p, canvas).pixels * 1.0001;
  }
  const ImVec2 at = middle();  // the map follows a cursor that leaves it
  if (state.zoomed && !canvas.contains(at)) {
    state.window = moved(state.window, p, canvas, {canvas.center().x - at.x, canvas.center().y - at.y});
    state.moved = true;
  }
}

std::string visit_text(const View& view, const Pointed& at) {
  const MaskView& mask = view.mask;
  const AskVisit now{mask.picture->plane, at.query, at.key};
  if (!mask.visit_asked || *mask.visit_asked != now) return {};
  if (!mask.visit) return {};
  const TileVisit& visit = *mask.visit;
  if (visit.op < 0) return say(tr("Thread block {} on SM {} skips it"), visit.block, visit.sm);
  if (visit.step)
    return say(tr("Thread block {} on SM {} loads it at step {}. Click: go there"), visit.block, visit.sm, *visit.step);
  return say(tr("Thread block {} on SM {} visits it. Click: go there"), visit.block, visit.sm);
}

/// What is known of a block: beside the mouse, or beside `stop` while the keyboard is on it. A click or Enter goes there.
void show_pointed(const View& view, Commands& commands, const Pointed& at, MaskPanelState& state, const Rect* stop, bool chosen) {
  const MaskPicture& picture = *view.mask.picture;
  const bool simulated = same_sizes(view.lane().simulation->request.problem, picture.problem);
  const AskVisit now{picture.plane, at.query, at.key};
  if (simulated && (!view.mask.visit_asked || *view.mask.visit_asked != now) && state.asked != now) {
    commands.push(now);
    state.asked = now;
  }
  const TileBox* box = box_at(picture, at.row, at.col);
  std::string body = say(tr("Queries {} to {}, keys {} to {}"), at.row * picture.block.block_q,
                         std::min((at.row + 1) * picture.block.block_q, picture.problem.seq_q) - 1, at.col * picture.block.block_kv,
                         std::min((at.col + 1) * picture.block.block_kv, picture.problem.seq_kv) - 1);
  const bool tiles = picture.blocks_are_tiles();
  if (box != nullptr) {
    add_line(body, state_name(box->visibility));
    add_line(body, box->by_analysis ? say(tiles ? tr("Decided by analysis, together with {} tiles, after {} cuts")
                                                : tr("Decided by analysis, together with {} mask blocks, after {} cuts"),
                                          format_count(box->tiles()), depth_of(picture, *box))
                                    : std::string(tr("Decided by looking at elements")));
  }
  const MaskElements* elements = view.mask.elements.get();
  if (elements != nullptr && elements->of == view.mask.picture && at.query >= elements->queries.first &&
      at.query < elements->queries.end() && at.key >= elements->keys.first && at.key < elements->keys.end())
    add_line(body, say(elements->at(at.query, at.key) ? tr("Query {} sees key {}") : tr("Query {} does not see key {}"), at.query,
                       at.key));
  if (simulated)
    if (const std::string visit = visit_text(view, at); !visit.empty()) add_line(body, visit);
  const std::string title = say(tiles ? tr("Tile i {}, j {}") : tr("Mask block i {}, j {}"), at.row, at.col);
  stop != nullptr ? stop_tooltip(*view.theme, *stop, title, body) : show_tooltip(*view.theme, title, body);
  if (!simulated || !chosen) return;
  if (!view.mask.visit || view.mask.visit->op < 0 || view.mask.visit_asked != now) return;
  const TileVisit& visit = *view.mask.visit;
  commands.push(FocusBlock{visit.sm, visit.launch, visit.block, visit.start, visit.op});
  commands.push(SetCenter{CenterView::stage});
}

/// Outlines a block, with a rim that parts the line from bright and from dark blocks.
void outline_block(const Theme& theme, const Rect& rect) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect(rect.min, rect.max, theme.panel, 0, 0, 5 * theme.scale);
  list->AddRect(rect.min, rect.max, theme.highlight, 0, 0, 2 * theme.scale);
}

/// The tile that the SM in focus works on.
void mark_step(const View& view, const MaskPicture& picture, const MaskWindow& window, const Rect& canvas) {
  const Lane& lane = view.lane();
  if (lane.operation == nullptr || lane.operations == nullptr || !same_sizes(lane.simulation->request.problem, picture.problem))
    return;
  if (lane.operations->domain.axis != Axis::query || lane.operations->domain.plane != picture.plane) return;
  if (lane.operation->q_tile < 0 || lane.operation->kv_tile < 0) return;
  const ProgramTile& tile = lane.simulation->program->tile();
  const double q = static_cast<double>(lane.operation->q_tile * tile.block_q),
               k = static_cast<double>(lane.operation->kv_tile * tile.block_kv);
  const Theme& theme = *view.theme;
  const ImVec2 a = {window.x_of(canvas, k), window.y_of(canvas, q)},
               b = {window.x_of(canvas, k + static_cast<double>(tile.block_kv)),
                    window.y_of(canvas, q + static_cast<double>(tile.block_q))};
  const float least = 3 * theme.scale;
  outline_block(theme, {{a.x - 1, a.y - 1}, {std::max(b.x, a.x + least) + 1, std::max(b.y, a.y + least) + 1}});
}

/// Left of the picture, for the name of its axis.
float axis_margin(const Theme& theme) {
  return std::round(14 * theme.scale);
}

/// What the mouse and the keyboard do on the canvas.
struct CanvasItem {
  bool hovered = false, active = false, focused = false;
};

/// The window follows the wheel, a drag, a double click and, while the canvas has focus, the keys.
void move_window(const MaskPicture& picture, const Rect& canvas, MaskPanelState& state, const CanvasItem& item) {
  const AttentionProblem& p = picture.problem;
  const auto& [hovered, active, focused] = item;
  if (focused) move_cursor(picture, canvas, state);
  const ImGuiIO& io = ImGui::GetIO();
  if (hovered && io.MouseWheel != 0) {
    state.window = zoomed(state.window, p, canvas, io.MousePos, std::pow(1.25, static_cast<double>(io.MouseWheel)));
    state.moved = true;
    state.zoomed = state.window.pixels > whole_plane(p, canvas).pixels * 1.0001;
  }
  if (active && state.zoomed && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
    state.window = moved(state.window, p, canvas, io.MouseDelta);
    state.moved = true;
  }
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) state.zoomed = false;
  state.zoom = state.window.pixels / whole_plane(p, canvas).pixels;
}

/// Asks for the elements on the canvas, where they are large enough to be drawn.
void look_at_elements(Commands& commands, const AttentionProblem& p, const Rect& canvas, MaskPanelState& state) {
  LookAtMask look{state.plane, {}, {}};
  if (state.window.pixels >= element_pixels) {
    const auto range = [&](double first, float room, std::int64_t length) {
      const auto begin = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(first)), 0, length);
      const auto end = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(std::ceil(first + static_cast<double>(room) / state.window.pixels)), begin, length);
      return TileRange{begin, end - begin};
    };
    look.queries = range(state.window.query, canvas.height(), p.seq_q);
    look.keys = range(state.window.key, canvas.width(), p.seq_kv);
  }
  if (look == state.looked) return;
  commands.push(look);
  state.looked = look;
}

/// Makes quads and legend again where anything that they show has changed.
void refresh_quads(const View& view, MaskPanelState& state, const Rect& canvas) {
  const Theme& theme = *view.theme;
  const MaskView& mask = view.mask;
  const MaskColors colors = colors_of(shows_now(view, state));
  const auto elements = mask.elements != nullptr && mask.elements->of == mask.picture ? mask.elements : nullptr;
  const auto difference = colors == MaskColors::difference ? mask.difference : nullptr;
  const MaskDrawn now = {
      mask.picture, elements,   difference, state.window, {canvas.min.x, canvas.min.y, canvas.max.x, canvas.max.y},
      colors,       theme.kind, tr("EN")};
  if (now == std::exchange(state.drawn, now)) return;
  if (difference != nullptr) {
    state.legend = mask_legend(*difference, theme);
    state.quads = make_difference_quads(*difference, elements.get(), theme, state.window, canvas);
    return;
  }
  state.legend =
      mask_legend(*mask.picture, theme, colors, state.window, shows_elements(colors, state.window) && elements != nullptr);
  state.quads = make_mask_quads(*mask.picture, elements.get(), theme, colors, state.window, canvas);
}

/// A block on the canvas.
Rect block_rect(const MaskPicture& picture, const MaskWindow& window, const Rect& canvas, const Pointed& at) {
  const double size_q = static_cast<double>(picture.block.block_q), size_k = static_cast<double>(picture.block.block_kv);
  const double row = static_cast<double>(at.row), col = static_cast<double>(at.col);
  return {{window.x_of(canvas, col * size_k), window.y_of(canvas, row * size_q)},
          {window.x_of(canvas, (col + 1) * size_k), window.y_of(canvas, (row + 1) * size_q)}};
}

/// The plane's outline, and the names of its axes.
void draw_axes(const Theme& theme, const AttentionProblem& p, const MaskWindow& window, const Rect& canvas) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 a = {std::max(canvas.min.x, window.x_of(canvas, 0)), std::max(canvas.min.y, window.y_of(canvas, 0))};
  const ImVec2 b = {std::min(canvas.max.x, window.x_of(canvas, static_cast<double>(p.seq_kv))),
                    std::min(canvas.max.y, window.y_of(canvas, static_cast<double>(p.seq_q)))};
  list->AddRect(a, b, theme.inset_border, 0, 0, theme.scale);
  const float line = theme.ui_small->FontSize, left = canvas.min.x - axis_margin(theme);
  draw_text_at(list, theme.ui_small, {a.x, a.y - line - theme.scale}, theme.text_dim, "kv →");
  draw_text_at(list, theme.ui_small, {left, a.y}, theme.text_dim, "q");
  draw_text_at(list, theme.ui_small, {left, a.y + line}, theme.text_dim, "↓");
}

void draw_canvas(const View& view, Commands& commands, MaskPanelState& state, const Rect& canvas) {
  const Theme& theme = *view.theme;
  const MaskPicture& picture = *view.mask.picture;
  const AttentionProblem& p = picture.problem;
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (const auto zoom = std::exchange(state.to_zoom, std::nullopt))
    state.window = moved({whole_plane(p, canvas).pixels * *zoom, state.told.query, state.told.key}, p, canvas, {0, 0});
  if (!state.zoomed) state.window = whole_plane(p, canvas);
  hit_area("canvas", canvas);
  const bool hovered = ImGui::IsItemHovered(), active = ImGui::IsItemActive();
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const bool entered = tab_stop(theme, canvas, 0, ImGui::GetID("map")), focused = tab_stop_is_focused();
  move_window(picture, canvas, state, {hovered, active, focused});
  look_at_elements(commands, p, canvas, state);
  refresh_quads(view, state, canvas);

  list->PushClipRect(canvas.min, canvas.max, true);
  draw_quads(list, state.quads);
  const auto at = focused   ? std::optional(pointed_block(picture, state))
                  : hovered ? pointed_at(picture, state.window, canvas)
                            : std::nullopt;
  const Rect block = at ? block_rect(picture, state.window, canvas, *at) : Rect{};
  if (at && focused) outline_block(theme, block);
  if (at && !focused) list->AddRect(block.min, block.max, theme.text, 0, 0, theme.scale);
  list->PopClipRect();
  const float around = 2 * theme.scale;
  list->PushClipRect({canvas.min.x - around, canvas.min.y - around}, {canvas.max.x + around, canvas.max.y + around}, true);
  mark_step(view, picture, state.window, canvas);
  list->PopClipRect();
  draw_axes(theme, p, state.window, canvas);
  if (!at && view.mask.visit) {  // the mouse has left: the timeline marks no visit any more
    state.asked = {-1, 0, 0};
    commands.push(state.asked);
  }
  if (!at || (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3))) return;
  const bool released = ImGui::IsMouseReleased(ImGuiMouseButton_Left) && ImGui::GetIO().MouseDragMaxDistanceSqr[0] <= 16;
  show_pointed(view, commands, *at, state, focused ? &block : nullptr, focused ? entered : released);
}

void draw_legend(const Theme& theme, std::span<const MaskLegendEntry> legend, ImVec2 at) {
  QuadBatch batch;
  const float size = std::round(11 * theme.scale);
  for (const MaskLegendEntry& entry : legend) {
    Quad quad;
    quad.min = {at.x, at.y + 2 * theme.scale};
    quad.max = {at.x + size, at.y + 2 * theme.scale + size};
    quad.fill = entry.look.fill;
    quad.hatch = entry.look.hatch;
    quad.border = theme.inset_border;
    quad.border_width = 1;
    batch.add(quad);
    at.x += size + 4 * theme.scale;
    at.x += draw_text_at(ImGui::GetWindowDrawList(), theme.ui_small, at, theme.text_dim, entry.text) + theme.gap * 1.5F;
  }
  draw_quads(ImGui::GetWindowDrawList(), std::move(batch));
}

/// Head and batch element, where the mask differs between them, and what colours say.
void draw_choices(const View& view, MaskPanelState& state) {
  const Theme& theme = *view.theme;
  const MaskPicture& picture = *view.mask.picture;
  const AttentionProblem& p = picture.problem;
  std::vector<const char*> labels = {tr("State"), tr("Decided by")};
  std::vector<MaskShows> choices = {MaskShows::state, MaskShows::decided};
  if (view.mask.difference != nullptr) {
    labels.push_back(tr("Difference"));
    choices.push_back(MaskShows::difference);
  }
  labels.push_back(tr("CUDA"));
  choices.push_back(MaskShows::cuda);
  const auto shown = static_cast<int>(std::ranges::find(choices, shows_now(view, state)) - choices.begin());
  if (const auto clicked = segmented(theme, "colors", labels, shown, true)) {
    state.shows = choices[static_cast<std::size_t>(*clicked)];
  }
  if (state.shows == MaskShows::cuda) return;
  const MaskPlanes by = p.mask->planes();
  std::int64_t b = state.plane / p.heads, h = state.plane % p.heads;
  const auto chooser = [&](const char* label, const char* id, std::int64_t& value, std::int64_t count) {
    ImGui::SameLine();
    text_item(theme.ui_small, theme.text_dim, label);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(std::round(84 * theme.scale));
    const std::int64_t low = 0, high = count - 1;
    ImGui::PushFont(theme.mono_small);
    ImGui::SliderScalar(id, ImGuiDataType_S64, &value, &low, &high, "%lld", ImGuiSliderFlags_AlwaysClamp);
    field_stop(theme, id);
    ImGui::PopFont();
  };
  if (p.heads > 1 && by.by_head) chooser(tr("head"), "##head", h, p.heads);
  if (p.batch > 1 && by.by_batch) chooser(tr("batch element"), "##batch", b, p.batch);
  state.plane = b * p.heads + h;
  if (state.zoomed) {
    ImGui::SameLine();
    if (small_button_stop(theme, tr("Whole mask"))) state.zoomed = false;
  }
}

void draw_block_size(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  constexpr std::array<std::int64_t, 8> sizes = {0, 4, 16, 32, 64, 128, 256, 512};
  AttentionProblem problem = view.requested->request.problem;
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui_small, theme.text_dim, tr("Mask block"));
  ImGui::SameLine();
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  const auto text = [](std::int64_t size) { return size == 0 ? std::string(tr("automatic")) : fmt::format("{0}×{0}", size); };
  if (ImGui::BeginCombo("##block", text(problem.mask_block).c_str())) {
    for (const std::int64_t size : sizes)
      if (ImGui::Selectable(text(size).c_str(), size == problem.mask_block)) {
        problem.mask_block = size;
        commands.push(SetProblem{problem, "mask_block"});
      }
    ImGui::EndCombo();
  } else {
    combo_stop(theme);
  }
  study_message(view, "mask_block");
}

/// The height over the width of a plane, as it is drawn.
double aspect_of(const AttentionProblem& p) {
  return static_cast<double>(p.seq_q) / static_cast<double>(p.seq_kv);
}

/// The largest canvas at `corner` in `room`.
Rect canvas_in(const AttentionProblem& p, ImVec2 corner, ImVec2 room) {
  const double aspect = aspect_of(p);
  const float width = std::min(room.x, static_cast<float>(static_cast<double>(room.y) / std::min(1.0, aspect)));
  const float height = std::min(room.y, static_cast<float>(static_cast<double>(width) * std::max(0.25, aspect)));
  return {{std::round(corner.x), std::round(corner.y)},
          {std::round(corner.x + width), std::round(corner.y + std::max(24.0F, height))}};
}

/// What the mask leaves of the work, and how that spreads over the SMs.
void draw_counts(const View& view, MaskPanelState& state) {
  const Theme& theme = *view.theme;
  draw_figures(view);
  const std::string reason = time_reason(view);
  draw_loads(view, state,
             reason.empty() ? 0 : wrapped_height(theme.ui_small, reason, ImGui::GetContentRegionAvail().x) + theme.gap);
  if (!reason.empty()) wrapped_text(theme.ui_small, theme.text_dim, reason);
}

/// Whether the picture is of another mask than what is typed: that cannot be read.
bool is_refused(const View& view) {
  const auto& message = view.workspace->message;
  return view.mask.fault || (message && message->control.starts_with("mask."));
}

/// Marks a picture that is not of what is typed.
void draw_stale(const Theme& theme, const Rect& canvas) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(canvas.min, canvas.max, with_alpha(theme.panel, 0.6F));
  list->AddRect(canvas.min, canvas.max, theme.bad, 0, 0, std::max(1.0F, 2 * theme.scale));
  draw_text(list, theme.ui_bold, canvas.inset(theme.gap), theme.bad, tr("Picture of the last mask that could be read"),
            Align::center);
}

/// Where the counts are drawn: where the map leaves room, else below the editor.
enum class CountsAt : std::uint8_t { beside_map, below_map, below_editor };

/// Nobody types a mask before a class, unless a task of the page leaves it free.
bool only_looks(const View& view) {
  if (!view.workspace->present) return false;
  if (view.lesson.lesson == nullptr) return true;
  constexpr std::array<std::string_view, 5> of_mask = {"mask", "score", "preset", "table", "mask_block"};
  const auto& task = view.lesson.lesson->pages[view.lesson.page].task;
  return !task || std::ranges::none_of(task->free, [&](const std::string& key) { return std::ranges::count(of_mask, key) > 0; });
}

/// Presented:
//
//   ┌ kv →  ▇ full  ▨ partial ────────┐
//   │ map            its text, counts │
//   │ SMs, over the whole width       │
//   └─────────────────────────────────┘
void draw_presented(const View& view, Commands& commands, MaskPanelState& state, ImVec2 top, ImVec2 room) {
  // Without its figures the map has room for words as large as those of the page.
  const Theme large = without_small_text(holds_figures(view) ? reading_theme(*view.theme) : *view.theme);
  const View shown{view, &large};
  const AttentionProblem& problem = view.mask.picture->problem;
  const float axis = large.ui->FontSize + 2 * large.scale, margin = axis_margin(large), space = ImGui::GetStyle().ItemSpacing.y;
  const std::string reason = time_reason(view);
  const float bars = std::round(std::clamp(0.16F * room.y, 48 * large.scale, 120 * large.scale));
  const bool held = holds_figures(view), shows_cuda = state.shows == MaskShows::cuda;
  const float loads = held || shows_cuda ? 0 : bars + 3.6F * large.ui->FontSize + 3 * space;
  const float bottom = top.y + room.y - loads;
  // The column is as wide as its figures, as far as the map keeps a half.
  float column = 0.28F * room.x;
  if (view.mask.totals != nullptr && !held)
    for (const FigureRow& row : figure_rows(shown)) column = std::max(column, one_line_width(large, row) + large.gap);
  column = std::min(column, 0.5F * room.x);
  const float most_width = shows_cuda ? 0.66F * room.x : room.x - column - 2 * large.gap;
  const Rect canvas =
      canvas_in(problem, {top.x + margin, top.y + axis}, {most_width - margin, std::max(24.0F, bottom - top.y - axis)});
  float right = canvas.max.x;
  if (shows_cuda) {
    right = top.x + most_width;
    draw_mask_cuda(view, view.lane().simulation->program->problem(), state.cuda, {top, {right, bottom}});
  } else {
    draw_canvas(shown, commands, state, canvas);
    draw_legend(large, state.legend, {canvas.min.x + text_width(large.ui, "kv →") + 2 * large.gap, top.y});
  }
  const float left = right + 2 * large.gap, below = shows_cuda ? top.y : canvas.min.y;
  ImGui::SetCursorScreenPos({left, below});
  ImGui::BeginChild("beside the map", {top.x + room.x - left, bottom - below});
  if (view.lesson.lesson == nullptr) draw_choices(shown, state);
  const MaskChoice& choice = view.requested->request.masking;
  for (const auto* texts : {&choice.presets, &choice.masks})
    for (const std::string& text : *texts) wrapped_text(large.mono, large.text, text);
  if (!choice.score.empty()) wrapped_text(large.mono, large.text, choice.score);
  if (!held) {
    divider(large);
    draw_figures(shown, ImGui::GetContentRegionAvail().y);
  }
  ImGui::EndChild();
  if (loads <= 0) return;
  ImGui::SetCursorScreenPos({top.x, bottom + space});
  ImGui::BeginChild("SM busy time", {room.x, loads - space});
  draw_loads(shown, state, reason.empty() ? 0 : wrapped_height(large.ui, reason, room.x) + space);
  if (!reason.empty()) wrapped_text(large.ui, large.text_dim, reason);
  ImGui::EndChild();
}

/// Shows what a state was opened with.
void open_map(const View& view, MaskPanelState& state) {
  const MaskMapChoice& asked = view.workspace->views.mask;
  if (asked == std::exchange(state.seen, asked) || asked == state.told) return;
  state.told = asked;
  state.plane = asked.plane;
  state.shows = asked.shows;
  state.zoomed = asked.zoom > 1;
  if (state.zoomed) state.to_zoom = asked.zoom;
}

/// Puts what is shown into the state.
void tell_map(const View& view, Commands& commands, MaskPanelState& state) {
  MaskMapChoice now = state.told;
  now.plane = state.plane;
  now.shows = state.shows;
  if (!state.zoomed) {
    now.zoom = 1;
    now.query = now.key = 0;
  } else if (std::exchange(state.moved, false)) {
    now.zoom = std::max(1.0, state.zoom);
    now.query = state.window.query;
    now.key = state.window.key;
  }
  if (now == state.told) return;
  state.told = now;
  ViewChoices views = view.workspace->views;
  views.mask = now;
  commands.push(SetViews{views});
}

void draw_map_and_editor(const View& view, Commands& commands, MaskPanelState& state) {
  const MaskView& mask = view.mask;
  const Theme& theme = *view.theme;
  if (mask.picture == nullptr) {
    if (mask.fault) return study_empty(view, say(mask.fault->sentence));
    return study_empty(view, tr("Looking at the mask…"));
  }
  const bool held = holds_figures(view), differs = shows_now(view, state) == MaskShows::difference;
  const std::string found = differs ? difference_finding(*mask.difference) : finding(mask);
  study_head(view,
             held               ? std::string(tr("What the mask saves shows after the answer."))
             : is_refused(view) ? say(tr("Of the last mask that could be read: {}"), found)
                                : found,
             held      ? std::string()
             : differs ? difference_detail(view)
                       : detail(view));
  draw_beside_line(view);
  const ImVec2 top = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  state.plane = std::clamp<std::int64_t>(state.plane, 0, mask.picture->problem.query_planes() - 1);
  if (only_looks(view)) return draw_presented(view, commands, state, top, room);
  const float gap = 2 * theme.gap;
  const bool beside = room.x >= 480 * theme.scale;
  const float least_editor = std::clamp(room.x * 0.42F, 230 * theme.scale, 420 * theme.scale);
  const float left = beside ? room.x - least_editor - gap : room.x;
  draw_choices(view, state);
  const float row = theme.ui_small->FontSize + 2 * theme.scale, bottom = top.y + room.y;
  const ImVec2 below = ImGui::GetCursorScreenPos();
  Rect map = {below, {top.x + left, beside ? bottom : below.y + row + std::min(left, (bottom - below.y - row) * 0.55F)}};
  if (state.shows == MaskShows::cuda) {
    draw_mask_cuda(view, view.lane().simulation->program->problem(), state.cuda, map);
  } else {
    const ImVec2 corner = {map.min.x + axis_margin(theme), map.min.y + row};
    map.max = canvas_in(mask.picture->problem, corner, {map.max.x - corner.x, map.max.y - corner.y}).max;
    draw_canvas(view, commands, state, {corner, map.max});
    if (is_refused(view)) draw_stale(theme, {corner, map.max});
    draw_legend(theme, state.legend, {corner.x + text_width(theme.ui_small, "kv →") + gap, map.min.y});
  }
  const float rest = top.x + room.x - map.max.x - gap, column = 300 * theme.scale;
  const CountsAt counts_at = beside && rest >= 2 * column + gap             ? CountsAt::beside_map
                             : beside && bottom - map.max.y - gap >= column ? CountsAt::below_map
                                                                            : CountsAt::below_editor;
  const auto child = [&](const char* id, ImVec2 from, ImVec2 to, const auto& draw) {
    ImGui::SetCursorScreenPos(from);
    ImGui::BeginChild(id, {to.x - from.x, to.y - from.y}, ImGuiChildFlags_None, ImGuiWindowFlags_NoNav);
    draw();
    ImGui::EndChild();
  };
  const auto counts = [&] {
    if (!held) draw_counts(view, state);
  };
  ImVec2 editor = beside ? ImVec2{map.max.x + gap, top.y} : ImVec2{top.x, map.max.y + theme.gap};
  if (counts_at == CountsAt::beside_map) {
    const float counts_right = std::round(editor.x + std::min((rest - gap) / 2, 480 * theme.scale));
    child("counts", editor, {counts_right, bottom}, counts);
    editor.x = counts_right + gap;
  }
  if (counts_at == CountsAt::below_map) child("counts", {top.x, map.max.y + theme.gap}, {map.max.x, bottom}, counts);
  child("editor", editor, {top.x + room.x, bottom}, [&] {
    if (mask.fault && !view.workspace->message) wrapped_text(theme.ui_small, theme.bad, say(mask.fault->sentence));
    draw_mask_editor(view, commands);
    draw_block_size(view, commands);
    if (counts_at != CountsAt::below_editor) return;
    divider(theme);
    counts();
  });
}

}  // namespace

void draw_mask_panel(const View& view, Commands& commands) {
  auto& state = panel_state<MaskPanelState>("mask");
  open_map(view, state);
  draw_map_and_editor(view, commands, state);
  tell_map(view, commands, state);
}

}  // namespace tilescope
