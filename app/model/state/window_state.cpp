// One row a key: how it is written, and how it is read.
#include "app/model/state/window_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "app/model/state/link_values.h"
#include "app/model/state/panel_ids.h"
#include "app/model/state/playhead.h"
#include "sim/analysis/bank_conflicts.h"
#include "sim/analysis/sweep.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/expression.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::size_t longest_link = std::size_t{16} << 20;
constexpr std::size_t longest_name = 4096;  // of a GPU's file
constexpr std::int64_t largest_size = std::numeric_limits<std::int32_t>::max();

constexpr std::array<std::string_view, 3> type_names = {"fp16", "bf16", "fp32"}, pass_names = {"forward", "backward", "both"},
                                          grain_names = {"operation", "tile", "phase"};
constexpr std::array<std::string_view, 4> quantity_names = {"hbm", "l2", "time", "memory"};

constexpr std::array<std::string_view, 4> mask_shows_names = {"state", "decided", "cuda", "difference"};
constexpr std::int64_t largest_planes = std::int64_t{1} << 40;  // heads times batch

/// As LinkChoice.
constexpr std::array<std::string_view, link_choices.size()> link_names = {"l2_to_sm", "sm_to_l2", "hbm_read", "hbm_write", "smem"};

/// As PageOrder.
constexpr std::array<std::string_view, 2> page_order_names = {"shuffled", "contiguous"};

using Written = std::optional<std::string>;  // nullopt: as by default

struct Key {
  std::string_view name;
  Written (*write)(const WindowState&);
  Status (*read)(WindowState&, std::string_view key, std::string_view text);
  /// Returns whether two states agree, where writing both to see it would be slow; null: the texts decide.
  bool (*same)(const WindowState&, const WindowState&) = nullptr;
};

template <class T>
Written unless(const T& usual, const T& value) {
  return value == usual ? std::nullopt : Written(fmt::format("{}", value));
}
Written when(bool on) {
  return on ? Written("1") : std::nullopt;
}
template <class T>
Written given(const std::optional<T>& value) {
  return value ? Written(fmt::format("{}", *value)) : std::nullopt;
}
Written given(const SharedMatrix& matrix) {
  return matrix ? Written(matrix_text(*matrix)) : std::nullopt;
}

template <std::int64_t AttentionProblem::*member, std::int64_t most = largest_size>
constexpr Key size_key(std::string_view name) {
  return {name, [](const WindowState& s) { return unless(AttentionProblem{}.*member, s.problem.*member); },
          [](WindowState& s, std::string_view key, std::string_view text) {
            return read_whole(key, text, 1, most, s.problem.*member);
          }};
}

template <bool WindowState::*member>
constexpr Key switch_key(std::string_view name) {
  return {name, [](const WindowState& s) { return when(s.*member); },
          [](WindowState& s, std::string_view key, std::string_view text) { return read_on(key, text, s.*member); }};
}

template <SharedMatrix WindowState::*member>
constexpr Key matrix_key(std::string_view name) {
  return {name, [](const WindowState& s) { return given(s.*member); },
          [](WindowState& s, std::string_view key, std::string_view text) { return read_matrix(key, text, s.*member); },
          [](const WindowState& a, const WindowState& b) { return a.*member == b.*member; }};
}

template <std::string WindowState::*member>
Status read_panel(WindowState& s, std::string_view key, std::string_view text, std::span<const std::string_view> ids) {
  const auto known = read_name(key, text, ids);
  if (!known) return known.error();
  s.*member = std::string(text);
  return Done{};
}

Status read_expression(std::string_view key, std::string_view text, std::string& into) {
  if (text.empty() || text.size() > most_expression_bytes || text.find('\0') != std::string_view::npos)
    return bad_value(key, text, phrase("1 to {} characters", most_expression_bytes));
  into = std::string(text);
  return Done{};
}

ProgramTile& tile_of(WindowState& s) {
  if (!s.tile) s.tile = ProgramTile(0, 0);
  return *s.tile;
}

SweepState& sweep_of(WindowState& s) {
  if (!s.sweep) s.sweep = SweepState{};
  return *s.sweep;
}

using Text = std::string_view;

/// In the order in which they are written; the keys of the GPU's spec come after `gpu`.
constexpr std::array keys = {
    Key{"algorithm", [](const WindowState& s) { return unless(std::string(default_algorithm), s.algorithm); },
        [](WindowState& s, Text key, Text text) -> Status {
          const auto known = read_name(key, text, algorithm_names());
          if (!known) return known.error();
          s.algorithm = std::string(text);
          return Done{};
        }},
    Key{"gpu", [](const WindowState& s) { return unless(std::string("toy"), s.gpu); },
        [](WindowState& s, Text key, Text text) -> Status {
          if (text.empty() || text.size() > longest_name || text.find('\0') != Text::npos)
            return bad_value(key, text, phrase("the name of a GPU or the path of its file"));
          s.gpu = std::string(text);
          return Done{};
        }},
    size_key<&AttentionProblem::batch>("batch"),
    size_key<&AttentionProblem::heads>("heads"),
    Key{"kv_heads", [](const WindowState& s) { return unless(s.problem.heads, s.problem.kv_heads); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, largest_size, s.problem.kv_heads); }},
    size_key<&AttentionProblem::seq_q>("seq"),
    Key{"seq_kv", [](const WindowState& s) { return unless(s.problem.seq_q, s.problem.seq_kv); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, largest_size, s.problem.seq_kv); }},
    size_key<&AttentionProblem::head_dim, 256>("head_dim"),
    Key{"dtype",
        [](const WindowState& s) { return s.problem.dtype == DataType::fp16 ? std::nullopt : Written(to_string(s.problem.dtype)); },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, type_names, s.problem.dtype); }},
    Key{"causal", [](const WindowState& s) { return when(s.problem.causal); },
        [](WindowState& s, Text key, Text text) { return read_on(key, text, s.problem.causal); }},
    Key{"mask_block", [](const WindowState& s) { return unless(std::int64_t{0}, s.problem.mask_block); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, largest_size, s.problem.mask_block); }},
    Key{"page_size", [](const WindowState& s) { return unless(std::int64_t{0}, s.problem.page_size); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 0, largest_size, s.problem.page_size); }},
    Key{"page_order",
        [](const WindowState& s) {
          const bool usual = s.problem.page_size == 0 || s.problem.page_order == PageOrder::shuffled;
          return usual ? std::nullopt : Written(to_string(s.problem.page_order));
        },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, page_order_names, s.problem.page_order); }},
    Key{"score", [](const WindowState& s) { return unless(std::string(), s.score); },
        [](WindowState& s, Text key, Text text) { return read_expression(key, text, s.score); }},
    Key{"pass",
        [](const WindowState& s) { return s.problem.pass == Pass::forward ? std::nullopt : Written(to_string(s.problem.pass)); },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, pass_names, s.problem.pass); }},
    Key{"block_q", [](const WindowState& s) { return s.tile ? Written(fmt::format("{}", s.tile->block_q)) : std::nullopt; },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, 4096, tile_of(s).block_q); }},
    Key{"block_kv", [](const WindowState& s) { return s.tile ? Written(fmt::format("{}", s.tile->block_kv)) : std::nullopt; },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, 4096, tile_of(s).block_kv); }},
    Key{"stages",
        [](const WindowState& s) {
          return s.tile && s.tile->stages > 0 ? Written(fmt::format("{}", s.tile->stages)) : std::nullopt;
        },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, ProgramTile::most_stages, tile_of(s).stages); }},
    Key{"blocks_per_sm", [](const WindowState& s) { return given(s.blocks_per_sm); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, 1024, s.blocks_per_sm.emplace()); }},
    Key{"block_order",
        [](const WindowState& s) { return s.block_order == BlockOrder::launch ? std::nullopt : Written(to_string(s.block_order)); },
        [](WindowState& s, Text key, Text text) -> Status {
          std::vector<Text> ids;
          for (const BlockOrderInfo& row : block_orders()) ids.push_back(row.id);
          const auto known = read_name(key, text, ids);
          if (!known) return known.error();
          s.block_order = block_orders()[*known].order;
          return Done{};
        }},
    Key{"key_order",
        [](const WindowState& s) { return s.key_order == KeyOrder::ascending ? std::nullopt : Written(to_string(s.key_order)); },
        [](WindowState& s, Text key, Text text) {
          constexpr std::array<Text, 2> names = {"ascending", "descending"};
          return read_enum(key, text, names, s.key_order);
        }},
    Key{"race", [](const WindowState& s) { return s.race.on && !s.race.with.empty() ? Written(s.race.with) : when(s.race.on); },
        [](WindowState& s, Text key, Text text) -> Status {
          if (text == "1" || text == "0") {
            s.race = text == "1";
          } else if (find_program(text)) {
            s.race = {true, std::string(text)};
          } else {
            return bad_value(key, text, phrase("0, 1 or the program to race against"));
          }
          return Done{};
        }},
    Key{"seed", [](const WindowState& s) { return unless(std::uint64_t{1}, s.seed); },
        [](WindowState& s, Text key, Text text) -> Status {
          const auto seed = number_in<std::uint64_t>(text);
          if (!seed) return bad_value(key, text, phrase("a whole number from 0 to 18446744073709551615"));
          s.seed = *seed;
          return Done{};
        }},
    Key{"spread", [](const WindowState& s) { return unless(1.0, s.spread); },
        [](WindowState& s, Text key, Text text) { return read_real(key, text, 0, 1e6, s.spread); }},
    matrix_key<&WindowState::q>("q"),
    matrix_key<&WindowState::k>("k"),
    matrix_key<&WindowState::v>("v"),
    Key{"step",
        [](const WindowState& s) {
          const auto* step = std::get_if<WindowState::Step>(&s.position);
          return step != nullptr ? Written(fmt::format("{}", step->number)) : std::nullopt;
        },
        [](WindowState& s, Text key, Text text) -> Status {
          if (s.position.index() != 0) return refuse("step and cycle are both given: give one of them");
          return read_whole(key, text, 0, std::numeric_limits<std::int64_t>::max(), s.position.emplace<WindowState::Step>().number);
        }},
    Key{"cycle",
        [](const WindowState& s) {
          const auto* cycle = std::get_if<WindowState::Cycle>(&s.position);
          return cycle != nullptr ? Written(fmt::format("{}", cycle->at)) : std::nullopt;
        },
        [](WindowState& s, Text key, Text text) -> Status {
          if (s.position.index() != 0) return refuse("step and cycle are both given: give one of them");
          return read_real(key, text, 0, 1e300, s.position.emplace<WindowState::Cycle>().at);
        }},
    Key{"speed", [](const WindowState& s) { return unless(1.0, s.speed); },
        [](WindowState& s, Text key, Text text) {
          return read_real(key, text, playing_speeds.front(), playing_speeds.back(), s.speed);
        }},
    Key{"grain",
        [](const WindowState& s) {
          return s.grain == Grain::operation ? std::nullopt : Written(grain_names[static_cast<std::size_t>(s.grain)]);
        },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, grain_names, s.grain); }},
    Key{"sm", [](const WindowState& s) { return unless(0, s.focus_sm); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 0, largest_size, s.focus_sm); }},
    Key{"row", [](const WindowState& s) { return given(s.row); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 0, largest_size, s.row.emplace()); }},
    Key{"view",
        [](const WindowState& s) -> Written {
          if (s.center == CenterView::stage) return std::nullopt;
          for (const CenterViewInfo& row : center_views())
            if (row.view == s.center) return std::string(row.id);
          return std::nullopt;
        },
        [](WindowState& s, Text key, Text text) -> Status {
          std::vector<Text> ids;
          for (const CenterViewInfo& row : center_views()) ids.push_back(row.id);
          const auto known = read_name(key, text, ids);
          if (!known) return known.error();
          s.center = center_views()[*known].view;
          return Done{};
        }},
    Key{"access", [](const WindowState& s) { return unless(BankChoice{}.pattern, s.banks.pattern); },
        [](WindowState& s, Text key, Text text) -> Status {
          std::vector<Text> ids;
          for (const AccessPattern& row : access_patterns()) ids.push_back(row.id);
          const auto known = read_name(key, text, ids);
          if (!known) return known.error();
          s.banks.pattern = std::string(text);
          return Done{};
        }},
    Key{"swizzled", [](const WindowState& s) { return when(s.banks.swizzled); },
        [](WindowState& s, Text key, Text text) { return read_on(key, text, s.banks.swizzled); }},
    Key{"wavefront", [](const WindowState& s) { return unless(BankChoice{}.wavefront, s.banks.wavefront); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 1, most_wavefronts, s.banks.wavefront); }},
    Key{"rung", [](const WindowState& s) { return unless(std::string(), s.rung); },
        [](WindowState& s, Text key, Text text) -> Status {
          std::vector<Text> ids;
          for (const LadderStep& step : ladder()) ids.push_back(step.id);
          const auto known = read_name(key, text, ids);
          if (!known) return known.error();
          s.rung = std::string(text);
          return Done{};
        }},
    Key{"time_window",
        [](const WindowState& s) {
          const auto& window = s.views.time_window;
          return window ? Written(fmt::format("{}:{}", window->from, window->to)) : std::nullopt;
        },
        [](WindowState& s, Text key, Text text) { return read_range(key, text, s.views.time_window.emplace()); }},
    Key{"wall_time", [](const WindowState& s) { return when(s.views.wall_time); },
        [](WindowState& s, Text key, Text text) { return read_on(key, text, s.views.wall_time); }},
    Key{"column", [](const WindowState& s) { return unless(0, s.views.column); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 0, largest_size, s.views.column); }},
    Key{"fit_map",
        [](const WindowState& s) {
          const auto& map = s.views.fit_map;
          return map ? Written(fmt::format("{}:{}", to_string(map->type), map->stages)) : std::nullopt;
        },
        [](WindowState& s, Text key, Text text) -> Status {
          FitMapChoice& map = s.views.fit_map.emplace();
          const std::size_t colon = text.find(':');
          if (colon == Text::npos) return bad_value(key, text, phrase("a type and a number of buffers, such as fp16:2"));
          if (Status type = read_enum(key, text.substr(0, colon), type_names, map.type); !type) return type;
          return read_whole(key, text.substr(colon + 1), 0, ProgramTile::most_stages, map.stages);
        }},
    Key{"what_if", [](const WindowState& s) { return unless(ViewChoices{}.what_if_number, s.views.what_if_number); },
        [](WindowState& s, Text key, Text text) -> Status {
          std::vector<Text> names;
          for (const SpecKey& each : spec_keys())
            if (each.may_change_a_run()) names.push_back(each.key);
          const auto known = read_name(key, text, names);
          if (!known) return known.error();
          s.views.what_if_number = std::string(text);
          return Done{};
        }},
    Key{"mask_shows",
        [](const WindowState& s) {
          const MaskShows shows = s.views.mask.shows;
          return shows == MaskShows::state ? std::nullopt : Written(mask_shows_names[static_cast<std::size_t>(shows)]);
        },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, mask_shows_names, s.views.mask.shows); }},
    Key{"mask_plane", [](const WindowState& s) { return unless(std::int64_t{0}, s.views.mask.plane); },
        [](WindowState& s, Text key, Text text) { return read_whole(key, text, 0, largest_planes, s.views.mask.plane); }},
    Key{"mask_zoom",
        [](const WindowState& s) {
          const MaskMapChoice& map = s.views.mask;
          const bool usual = map.zoom == 1 && map.query == 0 && map.key == 0;
          return usual ? std::nullopt : Written(fmt::format("{}:{}:{}", map.zoom, map.query, map.key));
        },
        [](WindowState& s, Text key, Text text) { return read_mask_zoom(key, text, s.views.mask); }},
    Key{"alone", [](const WindowState& s) { return unless(std::string(), s.alone); },
        [](WindowState& s, Text key, Text text) { return read_panel<&WindowState::alone>(s, key, text, panel_ids); }},
    Key{"side", [](const WindowState& s) { return unless(std::string("listing"), s.side); },
        [](WindowState& s, Text key, Text text) { return read_panel<&WindowState::side>(s, key, text, side_panel_ids); }},
    Key{"traffic",
        [](const WindowState& s) {
          return s.traffic == LinkChoice{} ? std::nullopt : Written(link_names[static_cast<std::size_t>(s.traffic)]);
        },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, link_names, s.traffic); }},
    switch_key<&WindowState::by_sm>("lanes_by_sm"),
    Key{"range",
        [](const WindowState& s) { return s.range ? Written(fmt::format("{}:{}", s.range->from, s.range->to)) : std::nullopt; },
        [](WindowState& s, Text key, Text text) { return read_range(key, text, s.range.emplace()); }},
    switch_key<&WindowState::present>("present"),
    Key{"theme", [](const WindowState& s) { return s.theme == ThemeKind::light ? Written("light") : std::nullopt; },
        [](WindowState& s, Text key, Text text) {
          constexpr std::array<Text, 2> names = {"dark", "light"};
          return read_enum(key, text, names, s.theme);
        }},
    Key{"language", [](const WindowState& s) { return unless(std::string("en"), s.language); },
        [](WindowState& s, Text key, Text text) -> Status {
          const bool plain = !text.empty() && text.size() <= 8 &&
                             std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
          if (!plain) return bad_value(key, text, phrase("the id of a language, such as en or ko"));
          s.language = std::string(text);
          return Done{};
        }},
    Key{"sweep", [](const WindowState& s) { return s.sweep ? Written(s.sweep->axis) : std::nullopt; },
        [](WindowState& s, Text key, Text text) -> Status {
          const Result<SweepAxis> axis = parse_sweep_axis(text);
          if (!axis) return refuse("{}: {}", key, axis.error().sentence);
          sweep_of(s).axis = to_string(*axis);
          return Done{};
        }},
    Key{"sweep_algorithms", [](const WindowState& s) { return s.sweep ? Written(joined(s.sweep->algorithms)) : std::nullopt; },
        [](WindowState& s, Text key, Text text) { return read_algorithms(key, text, sweep_of(s).algorithms); }},
    Key{"plot",
        [](const WindowState& s) -> Written {
          if (!s.sweep || s.sweep->quantity == SweepQuantity::hbm) return std::nullopt;
          return std::string(quantity_names[static_cast<std::size_t>(s.sweep->quantity)]);
        },
        [](WindowState& s, Text key, Text text) { return read_enum(key, text, quantity_names, sweep_of(s).quantity); }},
    Key{"compared",
        [](const WindowState& s) -> Written {
          if (s.compared == usual_comparison(s.pinned.size())) return std::nullopt;
          return fmt::format("{}:{}", s.compared.first, s.compared.second);
        },
        [](WindowState& s, Text key, Text text) -> Status {
          const std::size_t colon = text.find(':');
          const auto first = number_in<int>(text.substr(0, colon));
          const auto second = number_in<int>(colon < text.size() ? text.substr(colon + 1) : Text());
          constexpr int most = static_cast<int>(most_pinned);
          if (!first || !second || *first < 0 || *second < 0 || *first > most || *second > most || *first == *second)
            return bad_value(key, text, phrase("two runs, 0 for the one on screen, such as 2:0"));
          s.compared = {*first, *second};
          return Done{};
        }},
};

/// Comes before `compared`; may be given several times.
constexpr Text pinned_key = "pinned";

Status read_pinned(WindowState& s, Text key, Text text) {
  if (text.starts_with("pinned=") || text.find("&pinned=") != Text::npos)
    return refuse("{}: a pinned run has no pinned run of its own: take the inner one out", key);
  if (s.pinned.size() == most_pinned) return refuse("{} is given more than {} times: take one out", key, most_pinned);
  const Result<WindowState> run = from_link(text);
  if (!run) return refuse("{}: {}", key, run.error().sentence);
  s.pinned.push_back(to_link(*run));
  return Done{};
}

/// Keys that may be given several times, in order. They are written before the step, as the request's others.
struct ListKey {
  std::string_view name;
  std::vector<std::string> WindowState::*member;
};
constexpr std::array list_keys = {ListKey{"mask", &WindowState::masks}, ListKey{"preset", &WindowState::presets},
                                  ListKey{"table", &WindowState::tables}, ListKey{"table_gradient", &WindowState::table_gradients}};

bool may_repeat(std::string_view name) {
  return name == pinned_key ||
         std::any_of(list_keys.begin(), list_keys.end(), [&](const ListKey& row) { return row.name == name; });
}

Status read_spec_value(WindowState& state, const SpecKey& row, std::string_view text) {
  double value = 0;
  if (const Status read = read_real(row.key, text, row.minimum, row.maximum, value); !read) return read;
  if (row.whole && value != std::floor(value)) return bad_value(row.key, text, phrase("a whole number"));
  state.spec_values.insert_or_assign(std::string(row.key), value);
  return Done{};
}

Status read_pair(WindowState& state, std::string_view name, std::string_view text) {
  for (const Key& key : keys)
    if (key.name == name) return key.read(state, name, text);
  if (name == pinned_key) return read_pinned(state, name, text);
  for (const ListKey& row : list_keys)
    if (row.name == name) return read_expression(name, text, (state.*row.member).emplace_back());
  if (const SpecKey* row = find_spec_key(name)) return read_spec_value(state, *row, text);
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  for (const ListKey& row : list_keys) names.push_back(row.name);
  names.push_back(pinned_key);
  for (const SpecKey& row : spec_keys()) names.push_back(row.key);
  const auto nearest = nearest_name(name, names);
  return nearest ? refuse("a link has no key '{}': did you mean {}?", printable(name), *nearest)
                 : refuse("a link has no key '{}': take it out", printable(name));
}

/// Values that --set changed before the window opened count too, so the GPU's file in the session is no measure.
bool changed_by_user(const GpuSpec& gpu, std::string_view key) {
  const auto from = gpu.provenance.find(key);
  return from != gpu.provenance.end() && from->second.source == Source::user && from->second.note == changed_note;
}

/// What one key alone cannot say.
Status check_whole(const WindowState& state, const std::set<std::string, std::less<>>& given) {
  if (state.tile && (state.tile->block_q < 1 || state.tile->block_kv < 1))
    return refuse("a tile needs both sides: give block_q and block_kv, or leave them and stages out");
  if (state.sweep && (state.sweep->axis.empty() || state.sweep->algorithms.empty()))
    return refuse("a sweep needs its range and its algorithms: give sweep and sweep_algorithms, or leave them and plot out");
  if (const Status good = check(state.banks); !good) return good;
  if (given.contains("kv_heads") && state.problem.heads % state.problem.kv_heads != 0)
    return refuse("heads is {} and kv_heads is {}: heads must be a multiple of kv_heads", state.problem.heads,
                  state.problem.kv_heads);
  const auto pins = static_cast<int>(state.pinned.size());
  if (given.contains("compared") && (state.compared.first > pins || state.compared.second > pins))
    return refuse("compared is {}:{}, of {} pinned: give runs that are there", state.compared.first, state.compared.second, pins);
  if (given.contains("page_order") && state.problem.page_size == 0)
    return refuse("page_order is the order of the pages of K and V: give page_size, or leave page_order out");
  return check(state.problem);
}

}  // namespace

std::string to_link(const WindowState& state) {
  std::string out;
  const auto add = [&](std::string_view key, std::string_view value) {
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", key, encoded(value));
  };
  for (const Key& key : keys) {
    if (key.name == "compared")
      for (const std::string& run : state.pinned) add(pinned_key, run);
    if (const Written value = key.write(state)) add(key.name, *value);
    if (key.name == "causal")
      for (const ListKey& row : list_keys)
        for (const std::string& value : state.*row.member) add(row.name, value);
    if (key.name != "gpu") continue;
    for (const auto& [name, value] : state.spec_values) add(name, fmt::format("{}", value));
  }
  return out;
}

Result<WindowState> from_link(std::string_view link) {
  if (link.size() > longest_link) return refuse("the link has {} bytes: at most {} are taken", link.size(), longest_link);
  WindowState state;
  std::set<std::string, std::less<>> given;
  while (!link.empty()) {
    const std::string_view pair = link.substr(0, link.find('&'));
    link.remove_prefix(std::min(link.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return refuse("'{}' in the link is no key=value: write for example seq=1024, and %26 for an & inside a value",
                    printable(pair));
    const std::string_view key = pair.substr(0, equals);
    const auto value = decoded(pair.substr(equals + 1));
    if (!value) return bad_value(key, pair.substr(equals + 1), phrase("percent-encoded, with two digits after each %"));
    if (!given.emplace(key).second && !may_repeat(key))
      return refuse("{} is given twice in the link: give it once", printable(key));
    if (const Status read = read_pair(state, key, *value); !read) return read.error();
  }
  state.algorithm_named.given = given.contains("algorithm");
  if (!given.contains("kv_heads")) state.problem.kv_heads = state.problem.heads;
  if (!given.contains("seq_kv")) state.problem.seq_kv = state.problem.seq_q;
  if (!given.contains("compared")) state.compared = usual_comparison(state.pinned.size());
  if (const Status whole = check_whole(state, given); !whole) return whole.error();
  return state;
}

std::map<std::string, double, std::less<>> changed_values(const GpuSpec& gpu) {
  std::map<std::string, double, std::less<>> values;
  for (const SpecKey& row : spec_keys())
    if (changed_by_user(gpu, row.key)) values.emplace(row.key, gpu.*row.member);
  return values;
}

Result<WindowState> read_link(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n", scheme = "tilescope:";
  const auto trim = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    text = text.substr(0, text.find_last_not_of(blanks) + 1);
  };
  trim();
  if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  if (text.starts_with("//")) text.remove_prefix(2);  // how some programs write a scheme
  if (text.starts_with('?')) text.remove_prefix(1);
  return from_link(text);
}

std::vector<std::string_view> changed_keys(const WindowState& a, const WindowState& b) {
  std::vector<std::string_view> changed;
  for (const Key& key : keys)
    if (key.same != nullptr ? !key.same(a, b) : key.write(a) != key.write(b)) changed.push_back(key.name);
  for (const ListKey& row : list_keys)
    if (a.*row.member != b.*row.member) changed.push_back(row.name);
  if (a.pinned != b.pinned) changed.push_back(pinned_key);
  for (const SpecKey& row : spec_keys()) {
    const auto at = a.spec_values.find(row.key), in_b = b.spec_values.find(row.key);
    const bool in_a_only = (at == a.spec_values.end()) != (in_b == b.spec_values.end());
    if (in_a_only || (at != a.spec_values.end() && at->second != in_b->second)) changed.push_back(row.key);
  }
  return changed;
}

bool same_run(const WindowState& a, const WindowState& b) {
  const auto asked = [](const WindowState& state) {
    return std::tie(state.algorithm, state.gpu, state.spec_values, state.problem, state.masks, state.presets, state.tables,
                    state.table_gradients, state.score, state.tile, state.blocks_per_sm, state.block_order, state.key_order,
                    state.race);
  };
  return asked(a) == asked(b);
}

void keep_room(WindowState& state, const Workspace& workspace) {
  state.present = workspace.present;
  state.theme = workspace.theme;
  state.language = workspace.language;
}

}  // namespace tilescope
