// Figures of lessons with their units, as text.
#include "app/views/lesson/figure_words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_expression.h"
#include "app/ui/say.h"
#include "app/views/outcome_words.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

Bytes whole(double bytes) {
  return Bytes(static_cast<std::int64_t>(std::llround(std::clamp(bytes, -9e18, 9e18))));
}

}  // namespace

std::string figure_words(double value, FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes:
      return format_bytes(whole(value));
    case FigureUnit::exact_bytes:
      return format_exact_bytes(whole(value));
    case FigureUnit::capacity:
      return format_capacity(whole(value));
    case FigureUnit::bandwidth:
      return format_bandwidth(value);
    case FigureUnit::cycles:
      return say(tr("{} cycles"), format_cycles(Cycles(value)));
    case FigureUnit::us:
      return format_time(Nanoseconds(value * 1e3));
    case FigureUnit::flops:
      return format_short(value, "FLOP");
    case FigureUnit::times:
      return say(tr("{}×"), format_times(value));
    case FigureUnit::percent:
      return format_percent(value);
    case FigureUnit::number:
      break;
  }
  constexpr double most_grouped = 1e15, least_grouped = 1000;
  const bool grouped = std::abs(value) >= least_grouped && std::abs(value) < most_grouped;
  if (grouped || value == std::round(value)) return format_count(std::llround(std::clamp(value, -most_grouped, most_grouped)));
  return format_value(value);
}

namespace {

std::optional<double> value_of(const FigureText& figure, const ExpressionValues* values) {
  if (values != nullptr)
    if (const auto found = values->find(figure.expression); found != values->end()) return found->second;
  return constant_in(figure.expression);
}

}  // namespace

std::string figure_text(const FigureText& figure, const ExpressionValues* values) {
  const std::optional<double> value = value_of(figure, values);
  return value ? figure_words(*value, figure.unit) : "–";
}

bool is_known(const Prose& prose, const ExpressionValues* values) {
  return std::ranges::all_of(figures_of(prose), [&](const FigureText* figure) { return value_of(*figure, values).has_value(); });
}

std::string prose_words(const Prose& prose, const ExpressionValues* values) {
  std::string text;
  for (const ProseBlock& block : prose) {
    if (!text.empty()) text += ' ';
    for (const ProseRun& run : block.runs) {
      if (!run.figure) {
        text += run.text;
        continue;
      }
      text += figure_text(*run.figure, values);
    }
  }
  return text;
}

namespace {

/// What comes after the dot of a figure, in the field's words: the unit of busy.hbm is HBM.
std::string part_words(std::string_view head, std::string_view part) {
  const auto unit = std::ranges::find(bound_names, part);
  if (head == "busy" && unit != bound_names.end()) return bound_name(static_cast<Bound>(unit - bound_names.begin()));
  if (head == "tiles" && part == "empty") return tr("empty");
  if (head == "tiles" && part == "partial") return tr("partial");
  if (head == "tiles" && part == "full") return tr("full");
  return std::string(part);
}

}  // namespace

std::string measure_words(const TaskMeasure& measure) {
  struct Words {
    std::string_view figure;
    const char* words;
    FigureUnit unit;
  };
  const std::array known = {Words{"hbm", tr("HBM bytes"), FigureUnit::bytes},
                            Words{"hbm_read", tr("HBM reads"), FigureUnit::bytes},
                            Words{"hbm_write", tr("HBM writes"), FigureUnit::bytes},
                            Words{"l2_to_sm", tr("L2→SM bytes"), FigureUnit::bytes},
                            Words{"sm_to_l2", tr("SM→L2 bytes"), FigureUnit::bytes},
                            Words{"extra_hbm", tr("extra memory"), FigureUnit::bytes},
                            Words{"smem_per_block", tr("shared memory of a block"), FigureUnit::capacity},
                            Words{"us", tr("time of the run"), FigureUnit::us},
                            Words{"busy", tr("busy share"), FigureUnit::percent},
                            Words{"waves", tr("waves"), FigureUnit::number},
                            Words{"tiles", tr("tiles of the mask"), FigureUnit::number}};
  const std::string_view name = measure.figure, head = name.substr(0, name.find('.'));
  const auto found = std::find_if(known.begin(), known.end(), [&](const Words& words) { return words.figure == head; });
  std::string words = found == known.end() ? measure.figure : std::string(found->words);
  if (found != known.end() && head.size() < name.size())
    words = say(tr("{}, {}"), words, part_words(head, name.substr(head.size() + 1)));
  const FigureUnit unit = found == known.end() ? FigureUnit::number : found->unit;
  return say(tr("{}: {} at first, {} now"), words, figure_words(measure.before, unit), figure_words(measure.now, unit));
}

Prose reason_words(const LessonWrong& wrong) {
  Prose out = wrong.say;
  ProseRun label;
  label.text = fmt::format("{} ", tr("Why not:"));
  label.bold = true;
  if (!out.empty()) out.front().runs.insert(out.front().runs.begin(), std::move(label));
  return out;
}

std::string answer_words(const LessonQuestion& ask, const PageFigures& figures) {
  const auto option = [&](int i) { return prose_words(ask.options[static_cast<std::size_t>(i)], &figures.shown); };
  std::string text;
  switch (ask.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      return option(right_option(ask, figures));
    case QuestionKind::number:
      return figure_words(figures.answer, ask.unit);
    case QuestionKind::order:
      for (const int i : right_order(figures)) text += (text.empty() ? "" : " > ") + option(i);
      return text;
    case QuestionKind::draw:
      for (std::size_t i = 0; i < figures.curve.size(); ++i)
        text += fmt::format("{}{} {}: {}", i > 0 ? ";  " : "", key_words(ask.x_key),
                            figure_words(ask.xs[i], is_capacity(ask.x_key) ? FigureUnit::capacity : FigureUnit::number),
                            figure_words(figures.curve[i], ask.unit));
      return text;
  }
  return text;
}

const char* answer_source(const LessonQuestion& ask) {
  constexpr std::array<std::string_view, 8> sizes = {"B", "H", "N", "Nk", "d", "element_bytes", "block_q", "block_kv"};
  const auto needs_no_run = [&](std::string_view name) {
    return name.starts_with("gpu.") || std::ranges::find(sizes, name) != sizes.end();
  };
  const auto is_measured = [](std::string_view name) {
    return name.starts_with("measured.") || name.find(".measured.") != std::string_view::npos;
  };
  const auto names = names_in(ask.answer.text);
  if (!names) return tr("Simulated");
  if (std::ranges::all_of(*names, needs_no_run)) return tr("Computed");
  const bool measured = std::ranges::all_of(*names, [&](std::string_view name) { return needs_no_run(name) || is_measured(name); });
  return measured ? tr("Measured") : tr("Simulated");
}

std::string key_words(std::string_view key) {
  if (key == "seq") return "N";
  if (key == "head_dim") return "d";
  if (key == "heads") return tr("heads");
  if (key == "stages") return tr("buffers of K and V");
  if (key == "sm.shared_bytes_per_block") return tr("shared memory of a block");
  if (key == "l2.capacity_bytes") return tr("size of the L2");
  if (key == "hbm.bytes_per_second") return tr("HBM bandwidth");
  if (key == "sm.clock_hz") return tr("clock");
  return std::string(key);
}

bool is_capacity(std::string_view key) {
  return key == "sm.shared_bytes_per_block" || key == "l2.capacity_bytes";
}

const char* unit_label(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes:
    case FigureUnit::exact_bytes:
    case FigureUnit::capacity:
      return tr("bytes");
    case FigureUnit::bandwidth:
      return "B/s";
    case FigureUnit::cycles:
      return tr("cycles");
    case FigureUnit::us:
      return "µs";
    case FigureUnit::flops:
      return "FLOP";
    case FigureUnit::times:
      return tr("times");  // a "×" beside a field looks like a button that closes
    case FigureUnit::percent:
      return "%";
    case FigureUnit::number:
      break;
  }
  return "";
}

namespace {

/// "37.5 percentage points", or "19.8 %" of a real value that is no share.
std::string difference_words(double difference, double real, FigureUnit unit) {
  if (unit == FigureUnit::percent) return say(tr("{} percentage points"), fmt::format("{:.3g}", 100 * difference));
  return format_percent(real != 0 ? difference / std::fabs(real) : difference);
}

}  // namespace

std::string verdict_words(double own, double real, bool right, FigureUnit unit, double tolerance) {
  const std::string of = figure_words(real, unit), off = difference_words(std::fabs(own - real), real, unit);
  if (figure_words(own, unit) == of) return tr("Exactly right.");
  const std::string accepted =
      real != 0 ? " " + say(tr("Up to {} counts as right."), difference_words(tolerance * std::fabs(real), real, unit))
                : std::string();
  if (right)
    return (own > real ? say(tr("Right: your answer is {} above {}."), off, of)
                       : say(tr("Right: your answer is {} below {}."), off, of)) +
           accepted;
  if (own * real < 0)
    return std::string(own < 0 ? tr("It is not negative: the sign is wrong.") : tr("It is negative: the sign is wrong.")) +
           accepted;
  const bool ratio = own > 0 && real > 0 && (own / real >= 2 || real / own >= 2);
  if (ratio)
    return (own > real ? say(tr("{}× too high."), format_times(own / real)) : say(tr("{}× too low."), format_times(real / own))) +
           accepted;
  return (own > real ? say(tr("{} too high."), off) : say(tr("{} too low."), off)) + accepted;
}

}  // namespace tilescope
