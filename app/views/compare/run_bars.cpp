// Names and bars of several runs.
#include "app/views/compare/run_bars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_expression.h"
#include "app/ui/plot.h"
#include "app/ui/quad_batch.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/chrome.h"
#include "app/views/mask/mask_words.h"
#include "app/views/measured_case.h"
#include "app/views/outcome_words.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/roofline.h"
#include "sim/core/text.h"
#include "sim/masks/presets.h"

namespace tilescope {

namespace {

// --- names ------------------------------------------------------------------------------------------------------------------

std::string mask_name(const Simulation& run) {
  const std::string words = mask_words(run.request);
  if (words.empty()) return tr("no mask");
  return words == tr("causal") ? tr("causal mask") : words;
}

std::string score_name(const Simulation& run) {
  for (const std::string& preset : run.request.masking.presets)
    if (const auto text = preset_text(preset); text && !text->score.empty()) return preset_words(preset);
  const std::string& score = run.request.masking.score;
  return score.empty() ? std::string(tr("unchanged scores")) : score;
}

std::string with_count(Setting setting, std::int64_t value) {
  return fmt::format("{} {}", control_name(setting), format_count(value));
}

/// A text that begins with a capital, as it stands after a comma: "size of the L2", and "SM 3" as it was.
std::string after_comma(std::string text) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (text.size() > 1 && upper(text[0]) && lower(text[1])) text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

/// A setting of a run as a name says it.
using SettingText = std::function<std::string(const Simulation&)>;

std::vector<SettingText> named_settings(std::span<const PageRun> runs) {
  const auto count = [](Setting setting, std::int64_t AttentionProblem::*member) {
    return [=](const Simulation& run) { return with_count(setting, run.request.problem.*member); };
  };
  const auto differs = [&](const auto& of) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const PageRun& run) { return of(*run.simulation) != of(*runs.front().simulation); });
  };
  std::vector<SettingText> out = {
      [](const Simulation& run) { return translated(run.info->title); },
      [](const Simulation& run) { return run.request.gpu.id; },
      [](const Simulation& run) { return std::string(to_string(run.request.problem.pass)); },
      count(Setting::batch, &AttentionProblem::batch),
      count(Setting::heads, &AttentionProblem::heads),
      count(Setting::seq, &AttentionProblem::seq_q),
  };
  // Keys follow the queries, and a tile follows the program, unless somebody chose another.
  if (differs([](const Simulation& run) { return run.request.problem.seq_kv - run.request.problem.seq_q; }))
    out.emplace_back(count(Setting::seq_kv, &AttentionProblem::seq_kv));
  out.insert(out.end(), {count(Setting::head_dim, &AttentionProblem::head_dim), mask_name, score_name});
  if (differs([](const Simulation& run) { return run.request.problem.mask_block; }))
    out.emplace_back([](const Simulation& run) {
      const TileShape block = mask_block_of(run.request.problem, run.program->tile());
      return say(tr("mask blocks of {}×{}"), block.block_q, block.block_kv);
    });
  if (differs([](const Simulation& run) { return run.request.tile.has_value(); }) ||
      !differs([](const Simulation& run) { return run.request.algorithm; }))
    out.emplace_back(
        [](const Simulation& run) { return say(tr("tile {}×{}"), run.program->tile().block_q, run.program->tile().block_kv); });
  out.emplace_back([](const Simulation& run) {
    const auto orders = block_orders();
    const auto row = std::find_if(orders.begin(), orders.end(),
                                  [&](const BlockOrderInfo& each) { return each.order == run.request.block_order; });
    return row == orders.end() ? std::string() : translated(row->title);
  });
  out.emplace_back([](const Simulation& run) {
    return std::string(run.request.key_order == KeyOrder::ascending ? tr("first key tile to last") : tr("last key tile to first"));
  });
  for (const SpecKey& key : spec_keys())
    if (differs([&key](const Simulation& run) { return run.request.gpu.*key.member; }))
      out.emplace_back([&key](const Simulation& run) {
        return fmt::format("{}: {}", spec_key_name(key), spec_value_text(key, run.request.gpu.*key.member));
      });
  return out;
}

// --- bars -------------------------------------------------------------------------------------------------------------------

/// A part of a bar.
struct Part {
  double value = 0;
  Tensor tensor;                                    // none: work or time
  enum class Way { up, down, owed } way = Way::up;  // towards the SMs; written; written back after the run
};

/// What the hardware did, in words and in fewer words.
struct Recorded {
  std::vector<double> lines;  // where they stand over the bar: of bytes, the reads, and these and the writes
  std::string parts;          // bytes each way, below those of the run; empty: no bytes
  std::string text, brief;    // below a total: another total
  bool hidden = false;        // until the answer; the scale of its bar has room for it already
};

/// A bar of one run, and what stands below it.
struct Bar {
  std::vector<Part> parts;
  double value = 0;              // of the run itself, without what is owed
  std::string text, brief;       // the figure, and the same in fewer words
  std::string more, brief_more;  // what is written after the run
  std::optional<Recorded> recorded;
  double length() const {
    double sum = 0;
    for (const Part& part : parts) sum += part.value;
    return std::max(sum, recorded ? recorded->lines.back() : 0);
  }
};

/// Which bars of a column stand behind a question mark.
enum class Held { none, all, unsaid };

/// What a full bar of a run stands for in a column.
struct BarScale {
  double whole = 0;      // 0: nothing yet, so that only its figure stands
  bool smaller = false;  // than that of the longest bar
};

struct Column {
  std::string title;
  std::vector<Bar> bars;                // one a run
  std::string about;                    // what its figures count, where that is not plain; its tooltip
  bool SaidFigures::*figure = nullptr;  // what a page's text may say of it before the answer
  double whole = 0;                     // what a full bar stands for; 0: the longest bar
  Held held = Held::none;
  bool any_held = false;
  std::optional<std::size_t> later_page;  // whose answer it is
  std::vector<BarScale> scales;           // one a run, where none is held

  bool is_held(const PageRun& run) const { return held == Held::all || (held == Held::unsaid && !(run.said.*figure)); }
  /// Beside a question mark a bar has no scale but that of its column.
  BarScale shown_scale(std::size_t run) const { return any_held ? BarScale{whole} : scales[run]; }
};

Bar traffic_bar(const PageRun& run, Link up, Link down) {
  const Simulation& simulation = *run.simulation;
  Bar bar;
  for (const Link link : {up, down}) {
    for (const Tensor tensor : simulation.program->tensors()) {
      const auto bytes = static_cast<double>(simulation.ledger.total(tensor, link).value);
      bar.value += bytes;
      if (bytes > 0) bar.parts.push_back({bytes, tensor, link == up ? Part::Way::up : Part::Way::down});
    }
  }
  bar.text = format_bytes(bar.value);
  if (run.recorded) {
    const MeasuredCase& measured = run.recorded->measured();
    const auto read = counter(measured, fmt::format("{}_bytes", to_string(up)));
    const auto written = counter(measured, fmt::format("{}_bytes", to_string(down)));
    if (read && written) {
      const auto both = [](double up_bytes, double down_bytes) {
        return say(tr("{} read, {} written"), format_bytes(up_bytes), format_bytes(down_bytes));
      };
      const double all = *read + *written;
      const std::string parts = both(*read, *written), total = say(tr("recorded: {}"), format_bytes(all));
      bar.recorded = {{*read, all}, say(tr("recorded: {}"), parts), fmt::format("{} ({})", total, parts), total};
      bar.brief = bar.text;
      bar.text =
          both(static_cast<double>(simulation.ledger.total(up).value), static_cast<double>(simulation.ledger.total(down).value));
    }
  }
  if (up != Link::hbm_read) return bar;
  const auto owed = static_cast<double>(dirty_bytes_at_end(simulation));
  for (const Tensor tensor : simulation.program->tensors())
    if (const auto part = static_cast<double>(dirty_bytes_at_end(simulation, tensor)); part > 0)
      bar.parts.push_back({part, tensor, Part::Way::owed});
  if (owed > 0) {
    bar.more = say(tr("+ {} after the run"), format_bytes(owed));
    bar.brief_more = fmt::format("+ {}", format_bytes(owed));
  }
  return bar;
}

Bar work_bar(const PageRun& run) {
  const auto flops = static_cast<double>(run.simulation->flops);
  Bar bar;
  bar.parts = {{flops, {}}};
  bar.value = flops;
  bar.text = format_short(flops, "FLOP");
  return bar;
}

Bar memory_bar(const PageRun& run) {
  Bar bar;
  bar.value = static_cast<double>(run.simulation->extra_hbm.value);
  bar.parts = {{bar.value, {}}};
  bar.text = format_bytes(run.simulation->extra_hbm);
  return bar;
}

Bar time_bar(const PageRun& run) {
  const Simulation& simulation = *run.simulation;
  Bar bar;
  bar.parts = {{simulation.time.value, {}}};
  bar.value = simulation.time.value;
  bar.text = format_time(simulation.time);
  if (run.recorded) {
    const double recorded = run.recorded->measured().time_cold_ns.median;
    const std::string brief = say(tr("recorded: {}"), format_time(Nanoseconds(recorded)));
    // A short bar does not show how far off it is. At another clock than the recording's it says nothing.
    const bool at_clock = std::abs(simulation.request.gpu.sm_clock_hz / run.recorded->measured().sm_clock_hz - 1) < 0.001;
    const std::string text = at_clock ? say(tr("{}, simulated {}"), brief, format_signed_percent(bar.value / recorded - 1)) : brief;
    if (recorded > 0) bar.recorded = {{recorded}, {}, text, brief};
  }
  return bar;
}

/// What the question of a page asks for that other pages need no column for.
struct Asked {
  std::optional<Bound> busy;  // the unit whose busy share it is
  bool work = false;
};

Asked asked_of(const View& view) {
  Asked asked;
  if (view.lesson.lesson == nullptr) return asked;
  const auto& ask = view.lesson.lesson->pages[view.lesson.page].ask;
  if (!ask) return asked;
  std::vector<LessonExpression> read = ask->values;
  read.push_back(ask->answer);
  for (const LessonExpression& expression : read) {
    const auto names = names_in(expression.text);
    if (!names) continue;
    for (std::string_view name : *names) {
      asked.work = asked.work || name == "flops" || name.ends_with(".flops");
      constexpr std::string_view busy = "busy.";
      const std::size_t at = name.find(busy);
      if (at == std::string_view::npos || asked.busy) continue;
      if (const auto unit = index_of_name(bound_names, name.substr(at + busy.size()))) asked.busy = static_cast<Bound>(*unit);
    }
  }
  return asked;
}

Bar busy_bar(const PageRun& run, Bound unit) {
  const double share = run.simulation->utilisation[static_cast<std::size_t>(unit)];
  Bar bar;
  bar.parts = {{share, {}}};
  bar.value = share;
  bar.text = format_percent(share);
  return bar;
}

/// Traffic and time always, without an L2 once; the busy share that a page asks for; work and extra memory where they differ much,
/// or the page asks for them, and no run stands beside its recording, which has neither.
std::vector<Column> columns_of(std::span<const PageRun> runs, const Asked& asked) {
  constexpr double same_work = 1.005, similar_memory = 1.5;
  std::vector<Column> out;
  const auto add = [&](const char* title, auto bar_of, double least_ratio, bool SaidFigures::*figure = &SaidFigures::others) {
    Column column{title, {}, {}, figure};
    for (const PageRun& run : runs) column.bars.push_back(bar_of(run));
    const auto [least, most] =
        std::minmax_element(column.bars.begin(), column.bars.end(), [](const Bar& a, const Bar& b) { return a.value < b.value; });
    if (most->value >= least_ratio * least->value) out.push_back(std::move(column));
  };
  add(
      tr("HBM traffic"), [](const PageRun& run) { return traffic_bar(run, Link::hbm_read, Link::hbm_write); }, 1,
      &SaidFigures::hbm);
  if (std::ranges::any_of(runs, [](const PageRun& run) { return run.simulation->request.gpu.has_l2(); }))
    add(
        tr("L2↔SM traffic"), [](const PageRun& run) { return traffic_bar(run, Link::l2_to_sm, Link::sm_to_l2); }, 1,
        &SaidFigures::l2);
  if (std::ranges::none_of(runs, [](const PageRun& run) { return run.recorded.has_value(); })) {
    add(tr("Work"), work_bar, asked.work ? 1 : same_work, &SaidFigures::work);
    add(tr("Extra memory"), memory_bar, similar_memory);
  }
  if (asked.busy) {
    add(
        tr("Busy share"), [unit = *asked.busy](const PageRun& run) { return busy_bar(run, unit); }, 1);
    out.back().title = say(tr("Busy: {}"), bound_name(*asked.busy));
    out.back().whole = 1;
  }
  add(tr("Time"), time_bar, 1, &SaidFigures::time);
  // Under load such a GPU is slower, so the times need their clock.
  const GpuSpec& gpu = runs.front().simulation->request.gpu;
  if (gpu.slows_under_load() &&
      std::ranges::all_of(runs, [&](const PageRun& run) { return run.simulation->request.gpu.sm_clock_hz == gpu.sm_clock_hz; }))
    out.back().title = say(tr("Time at {}"), format_clock(gpu.sm_clock_hz));
  out.front().about =
      tr("HBM bytes, and their ratios, are those that cross during the run. What the L2 writes after the run is dashed.");
  return out;
}

/// "2.1×", "same": a figure against that of the first run.
std::string against(double value, double first) {
  constexpr double alike = 0.005;
  if (first <= 0 || value <= 0) return {};
  if (std::abs(value / first - 1) < alike) return tr("same");
  return value >= first ? fmt::format("{}×", format_times(value / first)) : fmt::format("1/{}", format_times(first / value));
}

/// What bounds a run, from all that there is to say to the least. A busy share has one definition, which its words name: of the run
/// where all SMs share the resource, else of the SM time with a block. `products`: the share with products, of tensor cores.
std::vector<std::string> bound_texts(const Simulation& run, bool products) {
  const std::string bound = bound_text(run.bound, run.sms);
  if (run.bound == Bound::latency) return {bound, bound_name(run.bound)};
  const std::string share = busy_share_text(run, run.bound), use = busy_text(run.bound, share);
  const std::string with_products = products ? say(tr(", {} with products"), format_percent(product_share(run))) : std::string();
  if (bound_of(run).idle_decides()) {
    const std::string idle = idle_bound_text(run.sms);
    return {fmt::format("{}; {}: {}{}", idle, bound_name(run.bound), use, with_products), idle, tr("SMs without a block")};
  }
  const std::string busy = fmt::format("{}: {}", bound, use);
  std::vector<std::string> texts = {busy, fmt::format("{} {}", bound_name(run.bound), share)};
  if (is_shared(run.bound)) return texts;
  // Equal shares of unequal runs: what the units are busy with, and how much of the SM time is not counted.
  std::string more = busy + with_products;
  if (run.sms.many_idle()) more += say(tr("; no block {} of the SM time"), format_percent(run.sms.idle));
  if (more != busy) texts.insert(texts.begin(), more);
  return texts;
}

/// Scales that stay when the answer comes: one for the column, so that lengths compare. With a recording it ends at a round number,
/// which does not tell where the recording is. Where each run has its own recording to be compared with, very short bars have a
/// smaller scale.
std::vector<BarScale> scales_of(const Column& column) {
  constexpr double readable_part = 1.0 / 20;
  std::vector<BarScale> scales(column.bars.size(), BarScale{column.whole});
  if (column.whole > 0) return scales;
  std::vector<double> lengths;
  for (const Bar& bar : column.bars) lengths.push_back(bar.length());
  const auto has_recording = [](const Bar& bar) { return bar.recorded.has_value(); };
  const bool recorded = std::ranges::any_of(column.bars, has_recording), each = std::ranges::all_of(column.bars, has_recording);
  const double longest = std::ranges::max(lengths);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    double whole = each ? lengths[i] : longest;
    for (const double other : lengths)  // those of like size have one scale
      if (other > whole && lengths[i] >= readable_part * other) whole = other;
    scales[i] = {recorded ? round_number_from(whole) : whole, whole < longest};
  }
  return scales;
}

/// Whether the name of a tensor fits into a part of a bar that is so wide.
bool name_fits(const Theme& theme, Tensor tensor, float width) {
  return text_width(theme.ui_bold, formula_text(to_string(tensor))) + 4 * theme.scale <= width;
}

/// Draws parts beside each other, the names of tensors in them where they fit; the width of `rect` stands for `whole`.
void draw_parts(const Theme& theme, const Rect& rect, std::span<const Part> parts, double whole) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto x = [&](double value) { return rect.min.x + static_cast<float>(value / whole) * rect.width(); };
  QuadBatch quads;
  double sum = 0;
  for (const Part& part : parts) {
    const ImU32 color = part.tensor ? theme.color(part.tensor) : theme.accent;
    const ImVec2 min = {x(sum), rect.min.y}, max = {x(sum + part.value), rect.max.y};
    if (part.way == Part::Way::owed)
      quads.add({.min = min, .max = max, .border = color, .border_width = theme.scale, .dashed = true});
    else
      quads.add({.min = min, .max = max, .fill = color, .hatch = part.way == Part::Way::down ? Hatch::diagonal : Hatch::none});
    sum += part.value;
  }
  draw_quads(list, std::move(quads));
  sum = 0;
  for (const Part& part : parts) {
    const Rect at = {{x(sum), rect.min.y}, {x(sum + part.value), rect.max.y}};
    sum += part.value;
    if (!part.tensor || part.way == Part::Way::owed) continue;
    if (!name_fits(theme, part.tensor, at.width())) continue;
    const std::string name = formula_text(to_string(part.tensor));
    const float high = std::min(1.0F, at.height() / theme.ui_bold->FontSize);  // a thin bar has smaller names
    const float half = 0.5F * high * text_width(theme.ui_bold, name);
    draw_fitted_text(list, theme.ui_bold, {{at.center().x - half, at.min.y}, {at.center().x + half, at.max.y}},
                     text_on(theme, theme.color(part.tensor)), name);
  }
}

/// Whether a bar without a scale still shows what its bytes are.
bool has_strip(const Bar& bar, const BarScale& scale) {
  return scale.whole <= 0 && bar.value > 0 && !bar.parts.empty() && bar.parts.front().tensor;
}

/// A thick line at the recorded reads, or the time; a thin one where the writes are on top.
void draw_recorded_lines(const Theme& theme, const Rect& rect, const Recorded& recorded, double whole) {
  const float over = 3 * theme.scale;
  float wide = std::max(3.0F, std::round(3 * theme.scale));
  QuadBatch lines;
  for (const double value : recorded.lines) {
    const float left = std::round(rect.min.x + static_cast<float>(value / whole) * rect.width() - 0.5F * wide);
    lines.add({.min = {left, rect.min.y - over}, .max = {left + wide, rect.max.y + over}, .fill = theme.text});
    wide = std::max(1.0F, std::round(theme.scale));
  }
  draw_quads(ImGui::GetWindowDrawList(), std::move(lines));
}

void draw_bar_of_run(const Theme& theme, const Rect& rect, const Bar& bar, const BarScale& scale, bool held) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  QuadBatch box;
  box.add({.min = rect.min,
           .max = rect.max,
           .radius = 2 * theme.scale,
           .fill = theme.inset,
           .border = theme.inset_border,
           .border_width = theme.scale});
  draw_quads(list, std::move(box));
  if (held) return;
  if (has_strip(bar, scale)) {
    constexpr float strip = 0.3F;  // of a bar's height: nobody takes it for one
    std::vector<Part> moved = bar.parts;
    std::erase_if(moved, [](const Part& part) { return part.way == Part::Way::owed; });
    draw_parts(theme, {{rect.min.x, rect.max.y - strip * rect.height()}, rect.max}, moved, bar.value);
  }
  if (scale.whole <= 0) return;
  draw_parts(theme, rect, bar.parts, scale.whole);
  if (!bar.recorded || bar.recorded->hidden) return;
  draw_recorded_lines(theme, rect, *bar.recorded, scale.whole);
}

/// A text, and the room that it has.
struct TextRoom {
  std::string text;
  float width = 0;
};

/// Returns the first of `fonts`, the largest first, in which all texts fit; the last where none is small enough.
ImFont* fitting_font(std::initializer_list<ImFont*> fonts, std::span<const TextRoom> texts) {
  for (ImFont* const font : fonts)
    if (std::ranges::all_of(texts, [&](const TextRoom& each) { return text_width(font, each.text) <= each.width; })) return font;
  return *(fonts.end() - 1);
}

/// How large and how close the words stand. Heights are parts of a font's.
struct Look {
  Theme theme;
  bool large = false;  // for a class
  float line = 1.35F, heading = 1.6F;
  float gap = 0.6F;     // of a line, below the texts of a run
  int least_below = 1;  // lines below a figure that always have room
};

/// From the usual one to the smallest: what does not fit in one may fit in the next.
std::vector<Look> looks_of(const View& view) {
  const Theme& theme = *view.theme;
  std::vector<Look> looks = {{theme, view.workspace->present}};
  Theme smaller = theme;
  smaller.heading = theme.ui_bold;
  looks.push_back({smaller});
  Theme small = smaller;
  small.heading = small.ui_bold = small.ui = theme.ui_small;
  small.scale *= 0.75F;  // of distances and of the thinnest bar
  looks.push_back({small, false, 1.2F, 1.3F, 0.35F, 0});
  return looks;
}

/// Fonts and heights of all columns.
struct Sizes {
  ImFont *title = nullptr, *strong = nullptr, *second = nullptr;  // of columns; of names and figures; of what stands below these
  float line = 0, heading = 0, name = 0, band = 0, bar = 0;       // name: above the bar of each run
  float least_band = 0;                                           // of a run, with the lines below its figure that must be there
  int below = 0;                                                  // lines below a figure
};

/// Whether the share with products may be said: of all runs or of none, so that nobody takes it for another figure.
bool all_have_products(std::span<const PageRun> runs) {
  return std::ranges::all_of(
      runs, [](const PageRun& run) { return run.simulation->bound == Bound::tensor && product_share(*run.simulation) > 0; });
}

/// What stands below the figure of a bar, from all that there is to say to the least; `timed`: the run of a bar of time, with its
/// share of products where that is said.
std::vector<std::string> second_texts(const Bar& bar, const Simulation* timed, bool products, bool in_parts = false) {
  if (bar.recorded && in_parts) return {bar.recorded->parts};
  if (bar.recorded) return {bar.recorded->text, bar.recorded->brief};
  return timed != nullptr ? bound_texts(*timed, products) : std::vector<std::string>();
}

int wrapped_lines(const ImFont* font, const std::string& text, float width) {
  return static_cast<int>(std::lround(wrapped_height(font, text, width) / font->FontSize));
}

/// The first of the texts that stands in so many lines of this width; the last where none does.
std::string first_that_wraps(const ImFont* font, float width, int lines, const std::vector<std::string>& texts) {
  const auto fits = std::ranges::find_if(texts, [&](const std::string& text) { return wrapped_lines(font, text, width) <= lines; });
  return fits != texts.end() ? *fits : texts.empty() ? std::string() : texts.back();
}

/// Larger text in a small window takes smaller fonts where words would be cut. The sizes are those of after the answer, so that no
/// bar moves when it comes. `widths`: of the columns; `has_time`: the last of them is that of time; `room`: the height.
Sizes sizes_of(const Look& look, std::span<const Column> columns, std::span<const PageRun> runs, std::span<const float> widths,
               float room, std::size_t rows, bool has_time) {
  const Theme& theme = look.theme;
  Sizes sizes;
  const auto timed = [&](std::size_t c, std::size_t run) {
    return has_time && c + 1 == columns.size() ? runs[run].simulation.get() : nullptr;
  };
  const bool products = all_have_products(runs);
  std::vector<TextRoom> titles, figures, seconds;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    titles.push_back({columns[c].title, widths[c]});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Bar& bar = columns[c].bars[i];
      figures.push_back({bar.brief.empty() ? bar.text : bar.brief, widths[c]});
      const auto texts = second_texts(bar, timed(c, i), products);
      if (!texts.empty()) seconds.push_back({texts.back(), widths[c]});
    }
  }
  ImFont* const usual = look.large ? theme.heading : theme.ui_bold;
  sizes.title = fitting_font({theme.heading, theme.ui, theme.ui_small}, titles);
  sizes.strong = fitting_font({usual, theme.ui_bold, theme.ui, theme.ui_small}, figures);
  sizes.second = fitting_font({theme.ui, theme.ui_small}, seconds);
  sizes.line = std::round(look.line * sizes.strong->FontSize);
  sizes.heading = std::round(look.heading * theme.heading->FontSize);
  sizes.name = rows > 1 ? sizes.line : 0;
  int wanted = 0;
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (const auto texts = second_texts(columns[c].bars[i], timed(c, i), products); !texts.empty())
        wanted = std::max(wanted, wrapped_lines(sizes.second, texts.front(), widths[c]));
  const float least_bar = 10 * theme.scale, readable_bar = 24 * theme.scale, most_bar = 200 * theme.scale,
              most_band = 320 * theme.scale;
  sizes.band = std::floor(std::min((room - sizes.heading) / static_cast<float>(rows), most_band));
  const auto texts = [&](int below) { return sizes.name + (1 + static_cast<float>(below) + look.gap) * sizes.line; };
  sizes.least_band = std::ceil(texts(std::min(wanted, look.least_below)) + least_bar);
  // One line is worth a thin bar, more lines are not.
  while (sizes.below < wanted && texts(sizes.below + 1) + (sizes.below == 0 ? least_bar : readable_bar) <= sizes.band)
    ++sizes.below;
  sizes.bar = std::clamp(sizes.band - texts(sizes.below), least_bar, most_bar);
  return sizes;
}

/// What a figure turned out to say in its room.
struct SaidOfBar {
  bool more = false;      // what is written after the run
  bool in_parts = false;  // bytes each way, not their sum
};

/// The figure below a bar; where it `compares`, against that of the first run.
SaidOfBar draw_figure(const Sizes& sizes, const ImU32 color, const Rect& rect, const Column& column, std::size_t run,
                      const Simulation* timed, bool compares) {
  const Bar& bar = column.bars[run];
  const double first = column.bars.front().value;
  const std::string ratio = run == 0 || !compares ? std::string() : against(bar.value, first);
  const auto with = [](const std::string& first_part, const std::string& second_part) {
    return second_part.empty() ? first_part : fmt::format("{}   {}", first_part, second_part);
  };
  // What was recorded stands below it, split as it is: where there is no room for that, both are totals.
  const bool has_parts = bar.recorded && !bar.recorded->parts.empty();
  const bool splits =
      !has_parts || sizes.below == 0 || wrapped_lines(sizes.second, bar.recorded->parts, rect.width()) <= sizes.below;
  const std::string brief = bar.brief.empty() ? bar.text : bar.brief, whole = splits ? bar.text : brief, text = with(whole, ratio);
  std::vector<std::string> texts;
  if (timed != nullptr) {
    const std::string speed = ratio.empty() ? std::string() : speed_text(bar.value, first);
    // The playback bar counts cycles from the end of the launch on.
    const char* const words = timed->request.gpu.launch_first_ns > 0 ? tr("{} cycles with the launch") : tr("{} cycles");
    texts.push_back(with(fmt::format("{} = {}", bar.text, say(words, format_cycles(timed->cycles))), speed));
    texts.push_back(with(bar.text, speed));
  }
  // The bar shows what is written after the run, so its figure comes before any split of the others.
  if (!bar.more.empty())
    texts.insert(texts.end(), {with(text, bar.more), with(text, bar.brief_more), with(with(brief, ratio), bar.brief_more)});
  texts.insert(texts.end(), {text, whole, brief});
  const std::string shown = first_that_wraps(sizes.strong, rect.width(), 1, texts);
  draw_text(ImGui::GetWindowDrawList(), sizes.strong, rect, color, shown);
  const bool says_more = bar.more.empty() || shown.ends_with(bar.more) || shown.ends_with(bar.brief_more);
  return {says_more, has_parts && shown.starts_with(bar.text)};
}

/// A question mark in a bar that the page's answer fills; one that waits for a later page names it below, and a bar that is lower
/// than the mark has it there.
void draw_held(const Theme& theme, const Sizes& sizes, const Rect& bar, std::optional<std::size_t> later_page) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect below = {{bar.min.x, bar.max.y}, {bar.max.x, bar.max.y + sizes.line}};
  if (later_page)
    return draw_text(list, theme.ui_small, below, theme.text_dim,
                     first_that_fits(theme.ui_small, below.width(),
                                     {say(tr("asked on page {}"), *later_page + 1), say(tr("page {}"), *later_page + 1)}));
  const bool fits = bar.height() >= theme.heading->FontSize;
  draw_text(list, fits ? theme.heading : sizes.strong, fits ? bar : below, theme.text_dim, "?", fits ? Align::center : Align::left);
}

/// `timed`: the column is that of time.
void draw_column(const Theme& theme, const Sizes& sizes, const Column& column, std::span<const PageRun> runs, const Rect& rect,
                 bool timed) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect heading = {rect.min, {rect.max.x, rect.min.y + sizes.heading}};
  draw_text(list, sizes.title, heading, theme.text_dim, column.title);
  if (!column.about.empty() && ImGui::IsWindowHovered() && heading.contains(ImGui::GetIO().MousePos))
    show_tooltip(theme, column.title, column.about);
  const bool products =
      all_have_products(runs) && std::ranges::all_of(runs, [&](const PageRun& run) {
        return wrapped_lines(sizes.second, bound_texts(*run.simulation, true).front(), rect.width()) <= sizes.below;
      });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Bar& bar = column.bars[i];
    const bool hidden = column.is_held(runs[i]);
    float y = rect.min.y + sizes.heading + static_cast<float>(i) * sizes.band + sizes.name;
    const Rect at = {{rect.min.x, y}, {rect.max.x, y + sizes.bar}};
    draw_bar_of_run(theme, at, bar, column.shown_scale(i), hidden);
    if (hidden) {
      draw_held(theme, sizes, at, column.later_page);
      continue;
    }
    y += sizes.bar;
    const Simulation& run = *runs[i].simulation;
    const SaidOfBar said = draw_figure(sizes, theme.text, {{rect.min.x, y}, {rect.max.x, y + sizes.line}}, column, i,
                                       timed ? &run : nullptr, !column.is_held(runs.front()));
    const bool told = bar.recorded ? !bar.recorded->hidden : timed && column.held == Held::none;
    if (sizes.below == 0 || (!told && said.more)) continue;
    const std::vector<std::string> texts =
        told ? second_texts(bar, timed ? &run : nullptr, products, said.in_parts) : std::vector{bar.more, bar.brief_more};
    if (texts.empty()) continue;
    // Few words stand in one line where they can.
    const int lines = !bar.recorded && is_shared(run.bound) ? 1 : sizes.below;
    draw_wrapped(list, sizes.second, {rect.min.x, y + 1.1F * sizes.line}, theme.text,
                 first_that_wraps(sizes.second, rect.width(), lines, texts), rect.width());
  }
}

/// What the looks of the bars mean; before the answer nothing recorded is drawn.
struct KeyWords {
  std::vector<std::string> texts;  // for one line, the longest first
  std::string least;               // what must be said, on as many lines as it takes
};

/// `scales`: what is to be said of other scales than one expects; null: nothing.
KeyWords key_words(std::span<const PageRun> runs, bool asks, const char* scales) {
  const bool recorded = !asks && std::ranges::any_of(runs, [](const PageRun& run) { return run.recorded.has_value(); });
  const bool owed = std::ranges::any_of(runs, [](const PageRun& run) { return dirty_bytes_at_end(*run.simulation) > 0; });
  const std::string line = recorded
                               ? std::string(" ") + tr("Thick line: recorded reads, or time. Thin line: recorded reads and writes.")
                               : std::string();
  const std::string same = std::string(" ") + (scales == nullptr ? tr("All bars of a column have one scale.") : scales);
  const std::string full = tr("Plain: read. Hatched: written. Dashed: still in the L2, written to HBM after the run.") + line;
  const std::string brief = tr("Plain: read. Hatched: written. Dashed: written to HBM after the run.") + line;
  const std::string ways = tr("Plain: read. Hatched: written.") + line;
  if (!owed) return {{ways + same}, scales != nullptr ? ways + same : ways};
  if (scales != nullptr) return {{full + same, brief + same}, brief + same};
  return {{full + same, full, brief}, brief};
}

/// The words in lines, in the larger of two fonts that takes no more lines.
struct KeyLines {
  std::string text;
  ImFont* font = nullptr;
  float height = 0;
};

KeyLines key_lines(const Theme& theme, const KeyWords& words, float width) {
  ImFont* font =
      wrapped_lines(theme.ui, words.least, width) <= wrapped_lines(theme.ui_small, words.least, width) ? theme.ui : theme.ui_small;
  std::vector<std::string> texts = words.texts;
  texts.push_back(words.least);
  const std::string text = first_that_wraps(font, width, 1, texts);
  return {text, font, std::round(wrapped_height(font, text, width) + 0.5F * font->FontSize)};
}

// --- names of narrow parts --------------------------------------------------------------------------------------------------

/// The tensors whose name does not fit into a bar, in the order in which one meets them. Also of bars that a question still covers:
/// the key keeps its height when the answer comes.
std::vector<Tensor> unnamed_tensors(const Theme& theme, std::span<const Column> columns, std::span<const PageRun> runs,
                                    std::span<const float> widths) {
  std::vector<Tensor> out;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::vector<BarScale>& scales = columns[c].scales;
    for (std::size_t i = 0; i < runs.size(); ++i)
      for (const Part& part : columns[c].bars[i].parts) {
        if (!part.tensor || scales[i].whole <= 0) continue;
        const float width = static_cast<float>(part.value / scales[i].whole) * widths[c];
        const bool named = part.way != Part::Way::owed && name_fits(theme, part.tensor, width);
        if (!named && width >= theme.scale && std::ranges::find(out, part.tensor) == out.end()) out.push_back(part.tensor);
      }
  }
  return out;
}

/// A swatch and a name for each tensor, in as many lines as they take. Where `draws` is false, they are only measured. Returns the
/// height.
float draw_names(const Theme& theme, ImVec2 at, float width, std::span<const Tensor> tensors, bool draws) {
  if (tensors.empty()) return 0;
  const float line = std::round(1.5F * theme.ui->FontSize), swatch = std::round(0.75F * theme.ui->FontSize);
  const float inner = std::round(5 * theme.scale), between = std::round(18 * theme.scale);
  ImVec2 place = at;
  for (const Tensor tensor : tensors) {
    const std::string name = formula_text(to_string(tensor));
    const float wide = swatch + inner + text_width(theme.ui, name);
    if (place.x > at.x && place.x + wide > at.x + width) place = {at.x, place.y + line};
    if (draws) {
      ImDrawList* list = ImGui::GetWindowDrawList();
      draw_swatch(list, theme, {place.x, std::round(place.y + 0.5F * (line - swatch))}, swatch, tensor);
      draw_text(list, theme.ui, {{place.x + swatch + inner, place.y}, {place.x + wide + 1, place.y + line}}, theme.text, name);
    }
    place.x += wide + between;
  }
  return place.y + line - at.y;
}

float single_heading(const Theme& theme) {
  return std::round(1.8F * theme.heading->FontSize);
}

/// The columns of one run below each other, each over the whole width: nothing stands beside it to be compared with.
void draw_single_run(const Look& look, std::span<const Column> columns, std::span<const PageRun> runs, const Rect& room) {
  const Theme& theme = look.theme;
  const float line = single_heading(theme);
  draw_text(ImGui::GetWindowDrawList(), theme.heading, {room.min, {room.max.x, room.min.y + line}}, theme.text,
            distinct_names(runs).front());
  const float each = std::floor((room.height() - line) / static_cast<float>(columns.size()));
  const std::vector<float> widths(columns.size(), room.width());
  const Sizes sizes = sizes_of(look, columns, runs, widths, each, 1, true);
  Rect row = {{room.min.x, room.min.y + line}, room.max};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    draw_column(theme, sizes, columns[c], runs, row, c + 1 == columns.size());
    row.min.y += each;
  }
}

/// Widths of columns beside each other. The last of all has the longest words.
std::vector<float> column_widths(std::size_t count, bool has_last, float width, float between) {
  constexpr float last_share = 1.35F;
  const auto columns = static_cast<float>(count);
  const float unit = (width - between * (columns - 1)) / (columns - 1 + (has_last ? last_share : 1));
  std::vector<float> widths(count, std::floor(unit));
  if (has_last) widths.back() = std::floor(last_share * unit);
  return widths;
}

/// Whether titles and figures stand in the columns whole, in the smallest of their fonts.
bool words_fit(const Theme& theme, std::span<const Column> columns, std::span<const float> widths) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (text_width(theme.ui_small, columns[c].title) > widths[c]) return false;
    for (const Bar& bar : columns[c].bars)
      if (text_width(theme.ui_small, bar.brief.empty() ? bar.text : bar.brief) > widths[c]) return false;
  }
  return true;
}

/// Columns of several runs, in as many rows as their words need.
struct Grid {
  std::size_t per_row = 0, rows = 0;
};
Grid grid_of(const Theme& theme, std::span<const Column> columns, float width, float between) {
  Grid grid;
  const auto fits = [&] {
    for (std::size_t from = 0; from < columns.size(); from += grid.per_row) {
      const std::size_t count = std::min(grid.per_row, columns.size() - from);
      if (!words_fit(theme, columns.subspan(from, count), column_widths(count, from + count == columns.size(), width, between)))
        return false;
    }
    return true;
  };
  do {
    ++grid.rows;
    grid.per_row = (columns.size() + grid.rows - 1) / grid.rows;
  } while (grid.rows < columns.size() && !fits());
  return grid;
}

/// Returns the least height of a row of columns: a thin bar for each run, and its lines below each other.
float least_height(const Look& look, std::span<const Column> columns, std::span<const PageRun> runs, std::span<const float> widths,
                   bool has_time) {
  const Sizes sizes = sizes_of(look, columns, runs, widths, 0, runs.size(), has_time);
  return sizes.heading + static_cast<float>(runs.size()) * sizes.least_band;
}

/// The bars of all runs in a row of columns; `has_time`: the last of them is that of time.
void draw_row_of_columns(const Look& look, std::span<const Column> columns, std::span<const PageRun> runs, const Rect& room,
                         std::span<const float> widths, float between, bool has_time) {
  const Theme& theme = look.theme;
  const Sizes sizes = sizes_of(look, columns, runs, widths, room.height(), runs.size(), has_time);
  Rect column = room;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    column.max.x = column.min.x + widths[c];
    draw_column(theme, sizes, columns[c], runs, column, has_time && c + 1 == columns.size());
    column.min.x = column.max.x + between;
  }
  const std::vector<std::string> names = distinct_names(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const float y = room.min.y + sizes.heading + static_cast<float>(i) * sizes.band;
    const Rect at = {{room.min.x, y}, {room.max.x, y + sizes.line}};
    ImFont* const font = fitting_font({sizes.strong, theme.ui_bold, theme.ui_small}, std::array{TextRoom{names[i], at.width()}});
    draw_text(ImGui::GetWindowDrawList(), font, at, theme.text, names[i]);
  }
}

/// Where the columns stand in a look, and the height that they need at least.
struct Plan {
  Grid grid;
  std::vector<std::vector<float>> widths;  // of the columns, by row
  std::vector<Tensor> unnamed;             // named below the bars
  float key = 0, names = 0, between = 0;
  float least = 0;
};

Plan plan_of(const Look& look, std::span<const Column> all, std::span<const PageRun> runs, const Rect& given, const KeyWords& key) {
  const Theme& theme = look.theme;
  const bool single = runs.size() == 1;
  Plan plan;
  plan.key = key_lines(theme, key, given.width()).height;
  plan.between = std::round(22 * theme.scale);
  plan.grid = single ? Grid{1, all.size()} : grid_of(theme, all, given.width(), plan.between);
  for (std::size_t from = 0; from < all.size(); from += plan.grid.per_row) {
    const std::size_t count = std::min(plan.grid.per_row, all.size() - from);
    plan.widths.push_back(column_widths(count, from + count == all.size() && !single, given.width(), plan.between));
    for (const Tensor tensor : unnamed_tensors(theme, all.subspan(from, count), runs, plan.widths.back()))
      if (std::ranges::find(plan.unnamed, tensor) == plan.unnamed.end()) plan.unnamed.push_back(tensor);
  }
  plan.names = draw_names(theme, given.min, given.width(), plan.unnamed, false);
  plan.least = plan.key + plan.names + (single ? single_heading(theme) : 0);
  for (std::size_t row = 0; row < plan.widths.size(); ++row)
    plan.least += least_height(look, all.subspan(row * plan.grid.per_row, plan.widths[row].size()), runs, plan.widths[row],
                               row + 1 == plan.widths.size());
  return plan;
}

}  // namespace

bool compares_page_runs(const View& view) {
  if (view.lesson.lesson == nullptr || view.workspace->center != CenterView::compare) return false;
  const auto& look = view.lesson.scene->look;
  return std::find(look.begin(), look.end(), "compare") != look.end();
}

std::vector<std::string> distinct_names(std::span<const PageRun> runs) {
  std::vector<std::string> names(runs.size());
  const std::vector<SettingText> settings = named_settings(runs);
  for (const SettingText& setting : settings) {
    const bool is_program = &setting == settings.data();  // named each time: the run above may have another
    std::vector<std::string> texts;
    for (const PageRun& run : runs) texts.push_back(setting(*run.simulation));
    if (std::all_of(texts.begin(), texts.end(), [&](const std::string& text) { return text == texts.front(); })) continue;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (i == 0 || is_program || texts[i] != texts.front()) names[i] += names[i].empty() ? texts[i] : ", " + after_comma(texts[i]);
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (names[i].empty()) names[i] = translated(runs[i].simulation->info->title);
  return names;
}

float draw_run_bars(const View& view, std::span<const PageRun> runs, const Rect& given, bool asks) {
  if (runs.empty()) return 0;
  std::vector<Column> columns = columns_of(runs, asked_of(view));
  for (Column& column : columns) column.held = asks ? Held::unsaid : Held::none;
  if (view.lesson.time_page) {
    columns.back().held = Held::all;
    columns.back().later_page = view.lesson.time_page;
  }
  const char* said = runs.size() == 1 ? tr("Each bar has a scale of its own.") : nullptr;
  for (Column& column : columns) {
    for (Bar& bar : column.bars)
      if (bar.recorded) bar.recorded->hidden = asks;  // no text says what was recorded
    column.scales = scales_of(column);
    column.any_held = std::ranges::any_of(runs, [&](const PageRun& run) { return column.is_held(run); });
    if (!column.any_held && std::ranges::any_of(column.scales, &BarScale::smaller))
      said = tr("Runs of very different size: each size has its own scale.");
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!column.is_held(runs[i]) && has_strip(column.bars[i], column.shown_scale(i)))
        said = tr("Strips: what the bytes of a run are, without a scale.");
  }
  const std::vector<Look> looks = looks_of(view);
  // Words of after the answer: nothing moves when it comes.
  const KeyWords room_for_key = key_words(runs, false, said), key = key_words(runs, asks, said);
  std::vector<Plan> plans;
  for (const Look& look : looks) {
    plans.push_back(plan_of(look, columns, runs, given, room_for_key));
    if (plans.back().least <= given.height()) break;
  }
  const Look& look = looks[plans.size() - 1];
  const Plan& plan = plans.back();
  const Theme& theme = look.theme;
  const std::span<const Column> all = columns;
  const Rect area = {given.min, {given.max.x, std::max(given.max.y, given.min.y + plan.least)}};
  const Rect room = {area.min, {area.max.x, area.max.y - plan.key - plan.names}};
  draw_names(theme, {area.min.x, room.max.y}, area.width(), plan.unnamed, true);
  const KeyLines lines = key_lines(theme, key, area.width());
  draw_wrapped(ImGui::GetWindowDrawList(), lines.font, {area.min.x, area.max.y - plan.key + 0.25F * lines.font->FontSize},
               theme.text_dim, lines.text, area.width());
  if (runs.size() == 1) {
    draw_single_run(look, columns, runs, room);
    return area.height();
  }
  const float height = std::floor(room.height() / static_cast<float>(plan.grid.rows));
  for (std::size_t row = 0; row < plan.widths.size(); ++row) {
    const float top = room.min.y + static_cast<float>(row) * height;
    const std::size_t from = row * plan.grid.per_row, count = plan.widths[row].size();
    draw_row_of_columns(look, all.subspan(from, count), runs, {{room.min.x, top}, {room.max.x, top + height}}, plan.widths[row],
                        plan.between, from + count == all.size());
  }
  return area.height();
}

}  // namespace tilescope
