// The popovers of the top bar that change the problem, the tile and the GPU. Every control is live: dragging simulates again.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "app/model/measurements/compiled_kernel.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/typed_limits.h"
#include "app/views/chrome.h"
#include "app/views/top_bar/number_controls.h"
#include "sim/analysis/format.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

NumberLimits spec_limits(const SpecKey& key) {
  FieldUnit unit = FieldUnit::none;
  if (key.key.ends_with("capacity_bytes") || key.key == "sm.shared_bytes_per_block" || key.key == "sm.shared_bytes")
    unit = FieldUnit::bytes;
  else if (key.key.ends_with("_hz"))
    unit = FieldUnit::hertz;
  else if (key.key.ends_with("bytes_per_second"))
    unit = FieldUnit::bytes_per_second;
  return {key.minimum, key.maximum, key.whole, unit};
}

std::string spec_value_text(const SpecKey& key, double value) {
  const FieldUnit unit = spec_limits(key).unit;
  if (unit == FieldUnit::bytes) return format_capacity(Bytes(static_cast<std::int64_t>(value)));
  if (unit == FieldUnit::hertz) return fmt::format("{:.0f} MHz", value / 1e6);
  if (unit == FieldUnit::bytes_per_second) return format_bandwidth(value);
  return key.whole ? format_count(static_cast<std::int64_t>(value)) : fmt::format("{:g}", value);
}

namespace {

struct Preset {
  const char* label = nullptr;
  AttentionProblem problem;
};
/// Where people's own sizes begin: the opening one, and shapes of well-known models.
const std::array<Preset, 4> presets = {{
    {"toy", {1, 1, 1, 64, 64, 16, DataType::fp16, false, Pass::forward, {}}},
    {"GPT-2 small, 1K", {1, 12, 12, 1024, 1024, 64, DataType::fp16, true, Pass::forward, {}}},
    {"grouped heads, 4K", {1, 32, 8, 4096, 4096, 128, DataType::bf16, true, Pass::forward, {}}},
    {"long context, 16K", {1, 16, 16, 16384, 16384, 128, DataType::fp16, false, Pass::forward, {}}},
}};

void draw_presets(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const float top = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(top + std::round(6 * theme.scale));  // on the line of the pills' text
  text_item(theme.ui_small, theme.text_faint, tr("Examples"));
  ImGui::SameLine();
  ImGui::SetCursorPosY(top);
  bool first = true;
  for (const Preset& preset : presets) {
    if (!first) ImGui::SameLine();
    ImGui::SetCursorPosY(top);  // SameLine goes to the height of the words before
    first = false;
    if (pill(theme, tr(preset.label), view.requested->request.problem == preset.problem)) {
      const bool small = preset.problem.seq_q <= 64;
      commands.push(SetTile{small ? std::optional<TileShape>(TileShape{16, 16}) : std::nullopt, "block_q"});
      commands.push(SetProblem{preset.problem, "seq"});
    }
  }
}

/// The text being typed for one key, so that a half-typed number is not simulated.
struct SpecEdit {
  std::string key, text;
  std::string path;
};

/// Before a field "##value": scrolls to it and opens it for typing where a mention of the control was clicked.
void give_keyboard_if_asked(std::string_view control) {
  if (!take_asked_control(control)) return;
  ImGui::SetScrollHereY(0.3F);
  activate_next_frame("##value");
}

bool is_changed(const GpuSpec& gpu, std::string_view key) {
  const auto found = gpu.provenance.find(key);
  return found != gpu.provenance.end() && found->second.source == Source::user;
}

void draw_spec_row(const SpecKey& key, const View& view, Commands& commands, SpecEdit& edit) {
  const Theme& theme = *view.theme;
  const GpuSpec& gpu = view.requested->request.gpu;
  const double value = gpu.*key.member;
  const bool changed = is_changed(gpu, key.key);
  ImGui::TableNextRow();
  const auto cell = [&](ImFont* font, ImU32 color, const std::string& text) {
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    text_item(font, color, elide(font, text, ImGui::GetContentRegionAvail().x));
    item_tooltip(theme, key.key, translated(key.meaning));
  };
  cell(theme.ui, changed ? theme.accent : theme.text, (changed ? "• " : "") + spec_key_name(key));
  cell(theme.mono_small, theme.text_faint, std::string(key.key));

  ImGui::TableNextColumn();
  ImGui::PushID(key.key.data());
  ImGui::SetNextItemWidth(-FLT_MIN);
  give_keyboard_if_asked(key.key);
  double dragged = value;
  ImGui::PushFont(theme.mono);
  drag_quantity("##value", dragged, spec_limits(key));
  if (dragged != value) commands.push(SetSpecValue{fmt::format("{}={}", key.key, dragged)});
  ImGui::PopFont();
  // Below the row, from the field's corner on: what follows in it is the way back.
  const Rect field = item_rect();
  note_limits(theme, spec_limits(key), dragged,
              {{field.min.x, field.max.y}, {field.max.x - theme.gap, field.max.y + field.height()}});
  if (ImGui::IsItemActive()) edit.key = key.key;
  ImGui::PopID();

  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  // A field with a unit says the same itself.
  if (spec_limits(key).unit == FieldUnit::none) text_item(theme.mono_small, theme.text_dim, spec_value_text(key, value));
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  const auto from = gpu.provenance.find(key.key);
  if (from != gpu.provenance.end()) {
    text_item(theme.ui_small, theme.text_faint, tr(to_string(from->second.source).data()));
    item_tooltip(theme, to_string(from->second.source), from->second.note);
  }
  ImGui::TableNextColumn();
  if (changed) {
    ImGui::PushID(key.key.data());
    if (ImGui::SmallButton(tr("Reset"))) commands.push(ResetSpecValue{std::string(key.key)});
    ImGui::PopID();
  }
}

void draw_spec_table(const View& view, Commands& commands, SpecEdit& edit) {
  const float scale = view.theme->scale;
  // As high as the window leaves room for.
  const float room = ImGui::GetMainViewport()->Size.y - ImGui::GetCursorScreenPos().y - 2 * view.theme->padding;
  const float across = ImGui::GetMainViewport()->Size.x - 4 * view.theme->padding;
  const ImVec2 size{std::round(std::min(1000 * scale, across)), std::clamp(room, 120 * scale, 460 * scale)};
  if (!ImGui::BeginTable("specs", 6, ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg, size)) return;
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 3.4F);
  ImGui::TableSetupColumn("key", ImGuiTableColumnFlags_WidthStretch, 2.1F);
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch, 1.4F);
  ImGui::TableSetupColumn("read", ImGuiTableColumnFlags_WidthStretch, 1.0F);
  ImGui::TableSetupColumn("source", ImGuiTableColumnFlags_WidthStretch, 0.9F);
  ImGui::TableSetupColumn("reset", ImGuiTableColumnFlags_WidthStretch, 0.7F);
  for (const SpecKey& key : spec_keys()) draw_spec_row(key, view, commands, edit);
  ImGui::EndTable();
}

/// Where nothing was asked for, a field shows what the run has: an empty or zero field would say nothing.
std::int64_t blocks_of(const Simulation& run) {
  int blocks = 1;
  for (const LaunchResult& launch : run.launches) blocks = std::max(blocks, launch.blocks_per_sm);
  return blocks;
}

}  // namespace

bool number_field(const Theme& theme, const char* label, const char* id, const char* tooltip, std::int64_t& value, std::int64_t low,
                  std::int64_t high) {
  const std::int64_t before = value;
  const NumberLimits limits = {static_cast<double>(low), static_cast<double>(high), true};
  ImGui::PushID(id);
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, label);
  item_tooltip(theme, label, tooltip);
  ImGui::SameLine(std::round(150 * theme.scale));
  const auto step = [&](const char* sign, bool possible, std::int64_t next) {
    ImGui::BeginDisabled(!possible);
    if (ImGui::Button(sign)) {
      value = std::clamp(next, low, high);
      if (value != next) note_clamped("##value", limits, static_cast<double>(next), static_cast<double>(value));
    }
    ImGui::EndDisabled();
  };
  step("÷2", value > low, value / 2);
  ImGui::SameLine(0, theme.gap * 0.5F);
  ImGui::SetNextItemWidth(std::round(120 * theme.scale));
  give_keyboard_if_asked(id);
  ImGui::PushFont(theme.mono);
  const auto speed = static_cast<float>(std::max(0.15, static_cast<double>(value) * 0.008));
  ImGui::DragScalar("##value", ImGuiDataType_S64, &value, speed, &low, &high, "%lld", ImGuiSliderFlags_AlwaysClamp);
  ImGui::PopFont();
  note_limits(theme, limits, static_cast<double>(value), item_and_button(theme.gap * 0.5F, "×2"));
  ImGui::SameLine(0, theme.gap * 0.5F);
  step("×2", value < high, value * 2);
  ImGui::PopID();
  return value != before;
}

namespace {

/// The number of heads that broke the groups of a problem, and their size; 0: none did.
struct UngroupedHeads {
  std::int64_t heads = 0, group = 1;
};

}  // namespace

/// The size of the pages of K and V, and their order in the pool.
void draw_page_controls(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  constexpr std::array<std::int64_t, 6> sizes = {0, 16, 32, 64, 128, 256};
  AttentionProblem p = view.requested->request.problem;
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("Pages of K, V"));
  item_tooltip(theme, tr("Pages of K, V"),
               tr("Keys of a page: a multiple of Bc, or a divisor. A page table says where each page lies"));
  ImGui::SameLine(std::round(150 * theme.scale));
  const auto name = [](std::int64_t size) { return size == 0 ? std::string(tr("none")) : fmt::format("{}", size); };
  ImGui::SetNextItemWidth(std::round(120 * theme.scale));
  if (ImGui::BeginCombo("##page_size", name(p.page_size).c_str())) {
    for (const std::int64_t size : sizes)
      if (ImGui::Selectable(name(size).c_str(), size == p.page_size)) {
        p.page_size = size;
        commands.push(SetProblem{p, "page_size"});
      }
    ImGui::EndCombo();
  }
  control_message(view, "page_size");
  if (p.page_size == 0) return;
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("page order"));
  item_tooltip(theme, tr("page order"), tr("Shuffled: as pages that came and went leave the pool"));
  ImGui::SameLine(std::round(150 * theme.scale));
  const std::array<const char*, 2> orders = {tr("shuffled"), tr("contiguous")};
  if (const auto order = segmented(theme, "page_order", orders, static_cast<int>(p.page_order))) {
    p.page_order = static_cast<PageOrder>(*order);
    commands.push(SetProblem{p, "page_order"});
  }
  control_message(view, "page_order");
}

void draw_problem_controls(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  AttentionProblem p = view.requested->request.problem;
  const auto push = [&](const char* control) { commands.push(SetProblem{p, control}); };
  const auto field = [&](const char* label, const char* control, const char* tooltip, std::int64_t& value, std::int64_t low,
                         std::int64_t high) {
    const bool changed = number_field(theme, label, control, tooltip, value, low, high);
    if (changed) push(control);
    control_message(view, control);
  };
  panel_heading(theme, tr("Problem"), tr("Drag, or click to type"));
  draw_presets(view, commands);
  field(tr("B  batch"), "batch", tr("Independent sequences"), p.batch, 1, 4096);

  std::int64_t heads = p.heads;
  if (number_field(theme, tr("H  query heads"), "heads", tr("Heads of Q; K and V heads scale with it"), heads, 1, most_heads)) {
    const std::int64_t group = p.heads / std::max<std::int64_t>(1, p.kv_heads);
    p = with_heads(p, heads);
    panel_state<UngroupedHeads>("ungrouped heads") = {group > 1 && p.kv_heads == heads ? heads : 0, group};
    push("heads");
  }
  control_message(view, "heads");
  field(tr("key heads"), "kv_heads", tr("Heads of K and V: fewer than H is grouped-query, 1 is multi-query attention"), p.kv_heads,
        1, most_heads);
  const auto& ungrouped = panel_state<UngroupedHeads>("ungrouped heads");
  if (ungrouped.heads == p.heads && p.kv_heads == p.heads)
    wrapped_text(theme.ui_small, theme.bad,
                 say(tr("{} heads are no whole groups of {}: now each has its own K and V."), ungrouped.heads, ungrouped.group));

  std::int64_t rows = p.seq_q;
  if (number_field(theme, tr("N  queries"), "seq", tr("Rows of Q and O; the keys follow while both are equal"), rows, 1,
                   most_rows)) {
    p = with_queries(p, rows);
    push("seq");
  }
  control_message(view, "seq");
  field(tr("keys"), "seq_kv", tr("Rows of K and V"), p.seq_kv, 1, most_rows);
  field(tr("d  head dimension"), "head_dim", tr("Columns of Q, K, V and O; at most 256"), p.head_dim, 1, 256);

  constexpr std::array<const char*, 3> types = {"fp16", "bf16", "fp32"};
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("Type"));
  ImGui::SameLine(std::round(150 * theme.scale));
  if (const auto type = segmented(theme, "dtype", types, static_cast<int>(p.dtype))) {
    p.dtype = static_cast<DataType>(*type);
    push("dtype");
  }
  control_message(view, "dtype");
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("Mask"));
  ImGui::SameLine(std::round(150 * theme.scale));
  const std::array<const char*, 2> masks = {tr("none"), tr("causal")};
  if (const auto mask = segmented(theme, "mask", masks, p.causal ? 1 : 0)) {
    p.causal = *mask == 1;
    push("causal");
  }
  control_message(view, "causal");
  draw_page_controls(view, commands);
}

namespace {

struct KernelWarnings {
  std::weak_ptr<const Simulation> of;
  std::string language;  // its own name for itself
  std::vector<std::string> sentences;
};

}  // namespace

const std::vector<std::string>& kernel_warnings(const View& view) {
  auto& known = panel_state<KernelWarnings>("kernel warnings");
  const auto run = view.lanes.empty() ? nullptr : view.lane().simulation;
  if (known.of.lock() == run && known.language == tr("EN")) return known.sentences;
  known = {run, tr("EN"), {}};
  if (run == nullptr) return known.sentences;
  if (const auto compiled = compiled_kernel(run->request))
    for (const Sentence& warning : compiled->warnings()) known.sentences.push_back(say(warning));
  return known.sentences;
}

void draw_tile_controls(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const Simulation* run = view.lanes.empty() ? nullptr : view.lane().simulation.get();
  ProgramTile tile = tile_in_use(view);
  panel_heading(theme, tr("Tile"), tr("Drag, or click to type"));
  if (number_field(theme, tr("Br  query rows"), "block_q", tr("Rows of Q per thread block"), tile.block_q, 1, TileShape::most_rows))
    commands.push(SetTile{tile, "block_q"});
  control_message(view, "block_q");
  if (number_field(theme, tr("Bc  key rows"), "block_kv", tr("Rows of K and V per tile"), tile.block_kv, 1, TileShape::most_rows))
    commands.push(SetTile{tile, "block_kv"});
  control_message(view, "block_kv");
  std::int64_t stages = stages_in_use(view);
  if (number_field(theme, tr("K, V buffers"), "stages", tr("Buffers of the K, V ring in shared memory"), stages, 1,
                   ProgramTile::most_stages)) {
    tile.stages = stages;
    commands.push(SetTile{tile, "stages"});
  }
  control_message(view, "stages");
  if (run != nullptr && drops_to_one_buffer(*run->program))
    text_item(theme.ui_small, theme.text_faint, tr("One buffer: two do not fit the shared memory."));
  for (const std::string& warning : kernel_warnings(view)) wrapped_text(theme.ui_small, theme.bad, warning);
  if (pill(theme, tr("Kernel default"), !view.requested->request.tile, tr("The tile of the CUDA kernel")))
    commands.push(SetTile{{}, "block_q"});
  divider(theme);
  std::int64_t blocks = view.requested->request.blocks_per_sm ? *view.requested->request.blocks_per_sm
                        : run != nullptr                      ? blocks_of(*run)
                                                              : 1;
  if (number_field(theme, tr("blocks per SM"), "blocks_per_sm", tr("Resident blocks per SM, up to what fits"), blocks, 1, 64))
    commands.push(SetBlocksPerSm{static_cast<int>(blocks)});
  control_message(view, "blocks_per_sm");
  if (pill(theme, tr("Maximum"), !view.requested->request.blocks_per_sm)) commands.push(SetBlocksPerSm{std::nullopt});
  divider(theme);
  text_item(theme.ui, theme.text_dim, tr("Block order"));
  for (const BlockOrderInfo& row : block_orders())
    if (pill(theme, translated(row.title).c_str(), view.requested->request.block_order == row.order))
      commands.push(SetBlockOrder{row.order});
  const auto info = find_program(view.requested->request.algorithm, view.requested->request.problem.pass);
  if (info && (*info)->key_order) return;  // it has one of its own
  text_item(theme.ui, theme.text_dim, tr("order of the key tiles"));
  for (const KeyOrder order : {KeyOrder::ascending, KeyOrder::descending})
    if (pill(theme, order == KeyOrder::ascending ? tr("first to last") : tr("last to first"),
             view.requested->request.key_order == order))
      commands.push(SetKeyOrder{order});
}

void draw_gpu_controls(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  auto& edit = panel_state<SpecEdit>("gpu controls");
  panel_heading(theme, view.requested->request.gpu.name, tr("Every value can be edited"));
  bool first = true;
  for (const std::string& id : view.requested->gpu_ids) {
    if (!first) ImGui::SameLine(0, theme.gap * 0.5F);
    first = false;
    const bool own = id.find('/') != std::string::npos;  // measured here: "my-h200" of its path
    const std::string name = own ? id.substr(id.rfind('/') + 1, id.rfind('.') - id.rfind('/') - 1) : id;
    const bool shown = own || view.requested->gpu_source.find('/') != std::string::npos ? view.requested->gpu_source == id
                                                                                        : view.requested->request.gpu.id == id;
    if (pill(theme, fmt::format("{}##{}", name, id).c_str(), shown, own ? id.c_str() : nullptr)) commands.push(SetGpu{id});
  }
  if (const Sentence& clock = view.studies->gpu_file; !clock.empty()) wrapped_text(theme.ui_small, theme.text_dim, say(clock));
  draw_own_gpu(view, commands);
  ImGui::SetNextItemWidth(std::round(420 * theme.scale));
  const bool entered =
      ImGui::InputTextWithHint("##path", tr("Path of your .toml file"), &edit.path, ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::SameLine();
  if ((ImGui::Button(tr("Open file")) || entered) && !edit.path.empty()) {
    const bool has_slash = edit.path.find('/') != std::string::npos || edit.path.ends_with(".toml");
    commands.push(SetGpu{has_slash ? edit.path : "./" + edit.path});
  }
  control_message(view, "gpu");
  if (view.workspace->message && !edit.key.empty()) control_message(view, edit.key);
  const bool any = std::any_of(spec_keys().begin(), spec_keys().end(),
                               [&](const SpecKey& k) { return is_changed(view.requested->request.gpu, k.key); });
  ImGui::BeginDisabled(!any);
  if (ImGui::Button(tr("Reset all"))) commands.push(ResetSpecValue{});
  ImGui::EndDisabled();
  draw_spec_table(view, commands, edit);
}

}  // namespace tilescope
