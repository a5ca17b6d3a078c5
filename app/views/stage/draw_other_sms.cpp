// Draws the other SMs: cards on a small GPU, a grid on a large one.
#include <algorithm>
#include <cmath>
#include <span>

#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// Returns the intervals of an SM while a run was on it; those of other blocks are among them.
std::span<const Interval> intervals_during(const Trace& trace, int sm, std::int32_t run) {
  const BlockRun& block = trace.runs()[static_cast<std::size_t>(run)];
  const auto all = trace.intervals(sm);  // in order of start
  const auto first = std::ranges::lower_bound(all, block.start, {}, &Interval::start);
  return {first, std::ranges::upper_bound(first, all.end(), block.end, {}, &Interval::start)};
}

/// Returns the part of a block's operations that has ended: the part of its time would also grow while it only waits. 0 without a
/// block.
double done_part(const Simulation& run, int sm, const SmState& state, double cycle) {
  std::int64_t ended = 0, all = 0;
  if (state.run < 0) return 0;
  for (const Interval& interval : intervals_during(*run.trace, sm, state.run)) {
    if (interval.run != state.run) continue;
    ++all;
    ended += interval.end <= cycle ? 1 : 0;
  }
  return all > 0 ? static_cast<double>(ended) / static_cast<double>(all) : 0;
}

/// Says why an SM shows no operation: it is out of focus, or its last block is over.
const char* resting_text(const StageContext& context, int sm) {
  const auto index = static_cast<std::size_t>(sm);
  const auto& sms = context.lane.state.sms;
  if (index < sms.size() && sms[index].resident > 0) return tr("busy; click for its operations");
  return context.simulation().trace->intervals(sm).empty() ? tr("Idle") : tr("done");
}

/// Returns the load of operation `at` of a run that lands last, of those that have not landed by `cycle`; -1 if all have.
std::int32_t missing_load(const Trace& trace, int sm, std::int32_t run, const BlockOperations& block, std::size_t at,
                          double cycle) {
  const Operation& op = block.operations[at];
  double last = cycle;
  std::int32_t found = -1;
  for (const Interval& interval : intervals_during(trace, sm, run)) {
    if (interval.run != run || interval.kind != OpKind::load || static_cast<std::size_t>(interval.op) >= at) continue;
    if (interval.end <= last || !reads(op, block.operations[static_cast<std::size_t>(interval.op)].dst)) continue;
    last = interval.end;
    found = interval.op;
  }
  return found;
}

std::string activity_text(StageContext& context, int sm, const SmActivity& activity) {
  if (context.lane.state.cycle <= 0) return tr("not started");
  if (activity.doing) {
    const BlockOperations& block = operations_of_run(context, activity.doing->run);
    return operation_text(context.simulation(), block.operations[static_cast<std::size_t>(activity.doing->op)]);
  }
  if (!activity.next) return resting_text(context, sm);
  const BlockOperations& block = operations_of_run(context, activity.next->run);
  const auto next = static_cast<std::size_t>(activity.next->op);
  std::int32_t load = missing_load(*context.simulation().trace, sm, activity.next->run, block, next, context.lane.state.cycle);
  if (load < 0) load = waited_for(block, next);
  if (activity.next->cause == WaitCause::data && load >= 0) {
    const TileRef& tile = block.operations[static_cast<std::size_t>(load)].tile;
    const TensorLayout layout = tensor_layout(context.problem(), context.simulation().program->tile(), tile.tensor);
    return say(tr("stalled on {}"), tile_name(layout, tile));
  }
  if (activity.next->cause == WaitCause::none || activity.next->cause == WaitCause::program_order) return tr("Between operations");
  return say(tr("stalled on {}"), tr(std::string(to_string(activity.next->cause)).c_str()));
}

/// The same in a word or two, for a narrow card: an operation without where it goes, a stall without its cause.
std::string brief_text(const OtherSm& other) {
  if (!other.activity.doing) return other.activity.next ? tr("stalled") : other.text;
  const std::string_view text = other.text;
  return std::string(text.substr(0, std::min(text.find(" →"), text.find(" ←"))));
}

/// Scans the trace of an SM once a cycle that is shown, not once a frame.
const OtherSm& state_of(StageContext& context, int sm) {
  OtherSm& other = context.cache.others[sm];
  const double cycle = context.lane.state.cycle;
  if (other.cycle == cycle && other.language == tr("EN")) return other;
  const Simulation& run = context.simulation();
  const auto index = static_cast<std::size_t>(sm);
  const auto& sms = context.lane.state.sms;
  other.cycle = cycle;
  other.language = tr("EN");
  other.state = run.trace->state_at_cycle(sm, cycle);
  other.done = done_part(run, sm, index < sms.size() ? sms[index] : SmState{}, cycle);
  other.activity = sm_activity(*run.trace, sm, cycle);
  other.text = activity_text(context, sm, other.activity);
  return other;
}

/// Whether `chip_tile` has more than the zeros of its start after operation `op`.
bool has_content(const BlockOperations& block, std::int32_t op, ChipTile chip_tile) {
  for (std::int32_t i = op; i >= 0; --i) {
    const Operation& each = block.operations[static_cast<std::size_t>(i)];
    if (each.dst != chip_tile) continue;
    if (each.kind == OpKind::fill) return false;
    const bool keeps_zero = each.kind == OpKind::rescale || each.kind == OpKind::divide || each.kind == OpKind::multiply;
    if (!keeps_zero) return true;
  }
  return false;
}

void draw_chips(StageContext& context, const Rect& area, const TraceState& state, std::int32_t run, ChipTile busy) {
  const Theme& theme = context.theme;
  std::vector<ChipTile> chip_tiles;
  for (const ChipTileShape& shape : context.shape().chip_tiles) {
    if (shape.cols > 1) chip_tiles.push_back(shape.chip_tile);
  }
  std::stable_partition(chip_tiles.begin(), chip_tiles.end(), [](ChipTile chip_tile) {
    return chip_tile.is(Meaning::query) || chip_tile.is(Meaning::key) || chip_tile.is(Meaning::value);
  });
  std::vector<Rect> chips;
  std::vector<float> fullness;
  fullness.reserve(chip_tiles.size());
  const BlockOperations* block = run >= 0 ? &operations_of_run(context, run) : nullptr;
  const auto& launches = context.simulation().program->launches();
  const bool one_group = block != nullptr && launches[static_cast<std::size_t>(block->launch)].needs.groups.empty();
  for (const ChipTile chip_tile : chip_tiles)
    fullness.push_back(block != nullptr ? chip_tile_fullness(*block, one_group, state, run, chip_tile) : 0);
  for (std::size_t i = 0; i < chip_tiles.size(); ++i) {
    const CellSpan x = cell_span(area.min.x, area.max.x + context.px(4), static_cast<int>(chip_tiles.size()), static_cast<int>(i));
    const Tensor tensor = tensor_of(chip_tiles[i]);
    const Rect chip = {{x.begin, area.min.y}, {x.end - context.px(4), area.max.y}};
    chips.push_back(chip);
    const float strength = context.emphasis(tensor);
    context.quads.add({.min = chip.min,
                       .max = chip.max,
                       .radius = context.px(4),
                       .fill = with_alpha(heat_color(theme, tensor, 0.75F), strength),
                       .empty = with_alpha(heat_color(theme, tensor, 0.1F), strength),
                       .border = chip_tiles[i] == busy || context.lit(tensor) ? theme.color(tensor) : 0,
                       .border_width = context.px(1.2F),
                       .fill_fraction = fullness[i],
                       .glow = chip_tiles[i] == busy ? context.px(5) : 0,
                       .glow_color = with_alpha(theme.color(tensor), 0.55F)});
  }
  context.flush();
  // All have their names, or none has: the colours say which.
  for (std::size_t i = 0; i < chip_tiles.size(); ++i)
    if (text_width(theme.ui_small, to_string(chip_tiles[i])) > chips[i].width()) return;
  for (std::size_t i = 0; i < chip_tiles.size(); ++i) {
    const bool on = fullness[i] > 0.6F;
    const ImU32 color =
        on ? text_on(theme, heat_color(theme, tensor_of(chip_tiles[i]), 0.75F)) : theme.text_color(tensor_of(chip_tiles[i]));
    const std::string_view name = to_string(chip_tiles[i]);
    draw_text(context.list, theme.ui_small, chips[i], color, name, Align::center);
  }
}

void focus_when_clicked(StageContext& context, const SmBox& box) {
  if (!context.hit(box.box)) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.commands.push(SetFocusSm{box.sm});
}

/// Returns the key tile of a block where the blocks of a launch divide the keys too, as those of the scores do; -1 else, also where
/// some own keys and some own queries.
int own_key_tile(StageContext& context, std::int32_t run, int launch) {
  const AttentionProblem& problem = context.problem();
  const LaunchSpec& spec = context.simulation().program->launches()[static_cast<std::size_t>(launch)];
  const std::int64_t query_tiles = ceil_div(problem.seq_q, context.simulation().program->tile().block_q);
  if (spec.mixed || spec.axis == Axis::key || spec.blocks() <= problem.query_planes() * query_tiles) return -1;
  int tile = -1;
  for (const Operation& operation : operations_of_run(context, run).operations) {
    if (operation.kv_tile < 0 || operation.kv_tile == tile) continue;
    if (tile >= 0) return -1;
    tile = operation.kv_tile;
  }
  return tile;
}

std::string run_name(StageContext& context, std::int32_t run) {
  if (run < 0) return tr("No block");
  const BlockRun& block = context.simulation().trace->runs()[static_cast<std::size_t>(run)];
  std::string name = block_name(context, block.launch, block.block);
  if (const int tile = own_key_tile(context, run, block.launch); tile >= 0)
    name += ", " + say(tr("key tile {}"), std::to_string(tile));
  // With one plane its head need not be named on a narrow card.
  if (const auto comma = name.find(", "); context.problem().query_planes() == 1 && comma != std::string::npos)
    name = name.substr(comma + 2);
  return name;
}

void draw_card(StageContext& context, const SmBox& box) {
  const Theme& theme = context.theme;
  const auto index = static_cast<std::size_t>(box.sm);
  const SmState sm = index < context.lane.state.sms.size() ? context.lane.state.sms[index] : SmState{};
  const OtherSm& other = state_of(context, box.sm);
  const bool hovered = context.hit(box.box);
  context.quads.add({.min = box.box.min,
                     .max = box.box.max,
                     .radius = theme.rounding,
                     .fill = theme.inset,
                     .border = hovered ? theme.accent : theme.inset_border,
                     .border_width = context.px(1)});

  const float pad = context.px(8), line = context.metrics.small_line;
  const float left = box.box.min.x + pad, right = box.box.max.x - pad;
  const std::string name = say(tr("SM {}"), std::to_string(box.sm)), title = name + " · " + run_name(context, sm.run);
  const Rect bar = {{left, std::round(box.box.max.y - pad - line - context.px(7))},
                    {right, std::round(box.box.max.y - pad - line - context.px(2))}};
  const Rect doing = {{left, box.box.max.y - pad * 0.6F - line}, {right, box.box.max.y - pad * 0.6F}};
  const Rect title_line = {{left, box.box.min.y + pad * 0.5F}, {right, box.box.min.y + pad * 0.5F + context.metrics.line}};
  const float chip_top = title_line.max.y + context.px(2), chip_room = bar.min.y - chip_top - context.px(4);

  const SmActivity& activity = other.activity;
  ChipTile busy = ChipTile::none;
  if (activity.doing && activity.doing->run == sm.run)
    busy = operations_of_run(context, activity.doing->run).operations[static_cast<std::size_t>(activity.doing->op)].dst;
  if (chip_room >= context.px(9)) {
    const float height = std::min(chip_room, context.px(30));
    const float top = std::round(chip_top + (chip_room - height) / 2);
    draw_chips(context, {{left, top}, {right, top + height}}, other.state, sm.run, busy);
  }
  context.flush();
  draw_bar(context.list, theme, bar, other.done, theme.accent);
  draw_text(context.list, theme.ui, title_line, theme.text, first_that_fits(theme.ui, title_line.width(), {title, name}));
  draw_text(context.list, theme.ui_small, doing, theme.text_dim,
            first_that_fits(theme.ui_small, doing.width(), {other.text, brief_text(other), std::string()}));
  if (hovered) {
    context.tip(title, other.text + "\n" +
                           say(tr("{} of its operations done; blocks on this SM: {}"), format_percent(other.done),
                               std::to_string(sm.resident)) +
                           "\n" + tr("Click: focus this SM."));
  }
  focus_when_clicked(context, box);
}

void draw_grid_cell(StageContext& context, const SmBox& box) {
  const Theme& theme = context.theme;
  const auto index = static_cast<std::size_t>(box.sm);
  const SmState sm = index < context.lane.state.sms.size() ? context.lane.state.sms[index] : SmState{};
  const bool focused = box.sm == context.lane.focus_sm, idle = sm.resident == 0, hovered = context.hit(box.box);
  context.quads.add({.min = box.box.min,
                     .max = box.box.max,
                     .radius = context.px(3),
                     .fill = mix(theme.inset, theme.accent, 0.62F),
                     .empty = mix(theme.inset, theme.accent, idle ? 0.03F : 0.20F),
                     .border = focused || hovered ? theme.accent
                               : idle             ? theme.inset_border
                                                  : 0,
                     .border_width = context.px(focused ? 2 : 1),
                     .fill_fraction = idle ? 0 : static_cast<float>(sm.progress),
                     .glow = focused ? context.px(6) : 0,
                     .glow_color = with_alpha(theme.accent, 0.6F),
                     .fill_from = FillFrom::bottom,
                     .dashed = idle && !focused});
  if (hovered) {
    std::string body = idle ? std::string(tr("Idle"))
                            : run_name(context, sm.run) + "\n" +
                                  say(tr("{} of its block's time is over; blocks on this SM: {}"), format_percent(sm.progress),
                                      std::to_string(sm.resident));
    context.tip(say(tr("SM {}"), std::to_string(box.sm)), body + "\n" + tr("Click: focus this SM."));
  }
  if (!focused) focus_when_clicked(context, box);
}

void draw_grid(StageContext& context) {
  const Theme& theme = context.theme;
  const StageLayout& layout = context.layout();
  context.box(layout.others);
  int busy = 0;
  for (const SmState& sm : context.lane.state.sms) busy += sm.resident > 0 ? 1 : 0;
  for (const SmBox& box : layout.sms) draw_grid_cell(context, box);
  context.flush();
  draw_text(context.list, theme.ui_small, layout.others_label, theme.text_dim,
            say(tr("{} of {} SMs busy"), std::to_string(busy), std::to_string(layout.sms.size())));
  for (const SmBox& box : layout.sms) {
    if (box.box.width() < 4 * context.metrics.digit || box.box.height() < context.metrics.small_line) continue;
    draw_text(context.list, theme.mono_small, box.box, theme.text_dim, std::to_string(box.sm), Align::center);
  }
}

}  // namespace

float chip_tile_fullness(const BlockOperations& block, bool one_group, const TraceState& state, std::int32_t run,
                         ChipTile chip_tile) {
  float most = 0;
  for (const ChipTileState& held : state.chip_tiles) {
    if (held.chip_tile != chip_tile || held.run != run) continue;
    const auto progress = static_cast<float>(held.progress);
    if (block.operations[static_cast<std::size_t>(held.op)].kind == OpKind::load) {
      most = std::max(most, held.valid ? 1 : held.arriving ? progress : 0);
      continue;
    }
    const bool watched = one_group && state.run == run && state.op >= 0 && !is_shared(block, chip_tile);
    const bool left_over = watched && is_left_over(block, state.op, chip_tile);
    if (left_over || !has_content(block, held.op, chip_tile)) continue;
    const bool is_first = held.arriving && !has_content(block, held.op - 1, chip_tile);
    most = std::max(most, is_first ? progress : 1);
  }
  return most;
}

void draw_other_sms(StageContext& context) {
  if (context.layout().grid) return draw_grid(context);
  for (const SmBox& box : context.layout().sms) draw_card(context, box);
}

}  // namespace tilescope
