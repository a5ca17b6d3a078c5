// Parses what was asked for, and makes masks of it.
#include "sim/masks/mask_choice.h"

#include <algorithm>
#include <utility>

#include "sim/core/attention_problem.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/presets.h"
#include "sim/masks/score_change.h"

namespace tilescope {

namespace {

/// One text of a choice, and the expression that it stands for.
struct MaskSource {
  Setting where = Setting::mask;
  std::size_t index = 0;
  std::string shown, text;
};

struct Sources {
  std::vector<MaskSource> masks, scores;
};

struct Parsed {
  std::vector<Expression> conditions;
  std::optional<Expression> score;
  Sources sources;
};

MaskFault fault_of(const MaskSource& source, Error error) {
  return {source.where, source.index, source.shown, std::move(error)};
}

/// The first of a preset's tables that is not there; empty: all are.
std::string_view missing_table(std::string_view request, const TableList& tables) {
  const std::string_view name = request.substr(0, request.find(':'));
  for (const Preset& preset : presets()) {
    if (preset.name != name) continue;
    std::string_view wanted = preset.tables;
    while (!wanted.empty()) {
      const std::string_view table = wanted.substr(0, wanted.find(','));
      wanted.remove_prefix(std::min(wanted.size(), table.size() + 1));
      if (std::none_of(tables.begin(), tables.end(), [&](const auto& given) { return given->name == table; })) return table;
    }
  }
  return {};
}

std::optional<MaskFault> collect(const MaskChoice& choice, Sources& sources) {
  for (std::size_t i = 0; i < choice.masks.size(); ++i)
    sources.masks.push_back({Setting::mask, i, choice.masks[i], choice.masks[i]});
  for (std::size_t i = 0; i < choice.presets.size(); ++i) {
    const std::string& name = choice.presets[i];
    const auto text = preset_text(name);
    if (!text) return MaskFault{Setting::preset, i, "", refuse("{}: {}", Setting::preset, text.error().sentence)};
    if (const std::string_view table = missing_table(name, choice.tables); !table.empty())
      return MaskFault{Setting::preset, i, "",
                       refuse("{} {} needs {} {}=FILE", Setting::preset, printable(name), Setting::table, table)};
    if (!text->mask.empty()) sources.masks.push_back({Setting::preset, i, name, text->mask});
    if (!text->score.empty()) sources.scores.push_back({Setting::preset, i, name, text->score});
  }
  if (!choice.score.empty()) sources.scores.push_back({Setting::score, 0, choice.score, choice.score});
  if (sources.scores.size() < 2) return std::nullopt;
  const MaskSource &first = sources.scores[0], &second = sources.scores[1];
  return MaskFault{second.where, second.index, "",
                   refuse("{} {} and {} {} both change the score: write one {}", first.where, printable(first.shown), second.where,
                          printable(second.shown), Setting::score)};
}

std::optional<MaskFault> parse(const MaskChoice& choice, const AttentionProblem& problem, Parsed& parsed) {
  if (auto fault = collect(choice, parsed.sources)) return fault;
  const ExprSizes sizes = sizes_of(problem);
  std::vector<MaskSource>& masks = parsed.sources.masks;
  if (problem.causal && !masks.empty()) masks.insert(masks.begin(), {Setting::causal, 0, "", std::string(causal_condition)});
  for (const MaskSource& source : masks) {
    auto expression = parse_mask_expression(source.text, sizes, choice.tables);
    if (!expression) return fault_of(source, expression.error());
    parsed.conditions.push_back(std::move(*expression));
  }
  for (const MaskSource& source : parsed.sources.scores) {
    auto expression = parse_score_expression(source.text, sizes, choice.tables);
    if (!expression) return fault_of(source, expression.error());
    parsed.score = std::move(*expression);
  }
  return std::nullopt;
}

}  // namespace

Error error_of(const MaskFault& fault) {
  if (fault.text.empty()) return fault.error;
  constexpr std::size_t most_shown = 60;
  return refuse("{} '{}': {}", fault.where, printable(fault.text, most_shown), fault.error.sentence);
}

bool MaskChoice::operator==(const MaskChoice& other) const {
  return masks == other.masks && presets == other.presets && score == other.score && table_gradients == other.table_gradients &&
         std::equal(tables.begin(), tables.end(), other.tables.begin(), other.tables.end(),
                    [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

std::optional<MaskFault> find_mask_fault(const MaskChoice& choice, const AttentionProblem& problem) {
  Parsed parsed;
  return parse(choice, problem, parsed);
}

Status settle_masks(const MaskChoice& choice, AttentionProblem& problem, const MaskScope& scope) {
  if (choice.empty() && choice.table_gradients.empty()) return Done{};
  if (const Status good = check(problem); !good) return good;
  Parsed parsed;
  if (const auto fault = parse(choice, problem, parsed)) return error_of(*fault);
  problem.mask = nullptr;
  problem.score_change = nullptr;
  if (!parsed.conditions.empty()) {
    Expression all = all_of(parsed.conditions);
    const MaskSource& first = parsed.sources.masks.front();
    const bool one = parsed.sources.masks.size() == 1;
    const std::string shown = one ? first.shown : all.text;
    auto mask = ExpressionMask::make(std::move(all), scope);
    if (!mask && mask.error().kind == Error::Kind::cancelled) return mask.error();
    if (!mask) return error_of({one ? first.where : Setting::mask, 0, shown, mask.error()});
    problem.mask = std::move(*mask);
  }
  std::vector<TableGradientChoice> wanted;
  for (const std::string& text : choice.table_gradients) {
    auto one = parse_table_gradient(text);
    if (!one) return one.error();
    wanted.push_back(std::move(*one));
  }
  if (!wanted.empty() && !parsed.score)
    return refuse("{} is for tables that {} or a {} reads: give one of them", Setting::table_gradient, Setting::score,
                  Setting::preset);
  if (!wanted.empty() && problem.pass == Pass::forward && !scope.plane)
    return refuse("{} is made by the backward pass: {} is {}", Setting::table_gradient, Setting::pass, to_string(problem.pass));
  if (parsed.score && !scope.plane) {
    auto gradients = table_gradients(*parsed.score, wanted);
    if (!gradients) return gradients.error();
    auto change = ScoreChange::make(std::move(*parsed.score), mask_of(problem).get(), std::move(*gradients));
    if (!change) return error_of(fault_of(parsed.sources.scores.front(), change.error()));
    problem.score_change = std::move(*change);
  }
  return Done{};
}

}  // namespace tilescope
