// Writes and reads the table, and compares results with an accepted one.
#include "sim/analysis/validation_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/analysis/format.h"
#include "sim/core/csv.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t figures_begin = 7, columns_a_figure = 3;

std::vector<std::string> heading() {
  std::vector<std::string> names = {"kernel",  "problem",      "algorithm", "kv_in_flight_bytes", "effective_l2_bytes",
                                    "verdict", "not_simulated"};
  for (const Figure figure : all_figures) {
    const std::string name(to_string(figure));
    names.insert(names.end(), {name, name + "_error", name + "_verdict"});
  }
  return names;
}

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out(1, '"');
  for (const char c : text) {
    if (c == '"') out += c;
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

std::string text_of(const std::optional<Verdict>& verdict) {
  return verdict ? std::string(to_string(*verdict)) : std::string();
}

std::string line_of(std::span<const std::string> fields) {
  std::string line;
  for (const std::string& text : fields) {
    if (&text != fields.data()) line += ',';
    line += field(text);
  }
  return line + '\n';
}

/// Reads the fields of one row, and keeps an error about the first one that is malformed.
class CsvRowReader {
 public:
  CsvRowReader(std::span<const std::string> names, std::span<const std::string> fields, int line)
      : names_(names), fields_(fields), line_(line) {}

  double number(std::size_t column) { return optional_number(column).value_or(0); }
  std::optional<double> optional_number(std::size_t column) {
    const std::string& text = fields_[column];
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) keep(column, "a number");
    return value;
  }
  std::optional<Verdict> verdict(std::size_t column) {
    if (fields_[column].empty()) return std::nullopt;
    const auto value = verdict_from(fields_[column]);
    if (!value) keep(column, "a verdict");
    return value;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  void keep(std::size_t column, std::string_view wanted) {
    if (!error_) error_ = refuse("line {}: {} is '{}' and must be {}", line_, names_[column], printable(fields_[column]), wanted);
  }

  std::span<const std::string> names_, fields_;
  int line_;
  std::optional<Error> error_;
};

const ValidationRow* row_of(std::span<const ValidationRow> rows, const MeasuredCase& measured) {
  const std::string problem = short_text(measured);
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& row) { return row.kernel == measured.kernel && row.problem == problem; });
  return found == rows.end() ? nullptr : &*found;
}

std::string name_of(std::string_view kernel, std::string_view problem) {
  return fmt::format("{}, {}", kernel, problem);
}

/// Returns a sentence for each case without a row and each row without a case.
std::vector<std::string> unmatched(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases) {
  std::vector<std::string> out;
  for (const MeasuredCase& c : cases)
    if (row_of(rows, c) == nullptr) out.push_back(name_of(c.kernel, short_text(c)) + ": the table has no row for it");
  for (const ValidationRow& row : rows)
    if (std::none_of(cases.begin(), cases.end(), [&](const MeasuredCase& c) { return row_of({&row, 1}, c) != nullptr; }))
      out.push_back(name_of(row.kernel, row.problem) + ": the table has a row, and there is no such case");
  return out;
}

std::string verdict_name(const std::optional<Verdict>& verdict) {
  return verdict ? std::string(to_string(*verdict)) : std::string("no bound");
}

/// Mean errors of the results and of the accepted table, over the same figures.
struct Means {
  std::string name;
  Figure figure{};
  double now = 0, accepted = 0;
  int count = 0;
};

}  // namespace

std::string validation_csv(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results) {
  std::string text = line_of(heading());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CaseValidation& result = results[i];
    std::vector<std::string> fields = {cases[i].kernel,
                                       short_text(cases[i]),
                                       result.algorithm,
                                       fmt::format("{}", result.kv_in_flight_bytes),
                                       fmt::format("{}", result.effective_l2_bytes),
                                       text_of(result.verdict()),
                                       result.not_simulated};
    for (const Figure figure : all_figures) {
      const auto& c = result.figure(figure);
      fields.push_back(c ? fmt::format("{}", c->simulated) : "");
      fields.push_back(c && std::isfinite(c->error()) ? fmt::format("{:.6f}", c->error()) : "");
      fields.push_back(c ? text_of(c->verdict()) : "");
    }
    text += line_of(fields);
  }
  return text;
}

Result<std::vector<ValidationRow>> validation_from_csv(std::string_view text) {
  CsvReader reader(text, {});
  const std::vector<std::string> all_names = heading(), names = reader.done() ? std::vector<std::string>() : reader.next_row();
  // Tables of forward passes were written before `reduced`, the last figure.
  const auto end_of_old = all_names.end() - columns_a_figure;
  if (names != all_names && names != std::vector<std::string>(all_names.begin(), end_of_old))
    return refuse("line 1: another heading than tilescope validate --csv writes: write the table anew");
  std::vector<ValidationRow> out;
  while (!reader.done()) {
    const std::vector<std::string> fields = reader.next_row();
    if (fields.empty()) continue;
    if (fields.size() != names.size())
      return refuse("line {}: {} fields where {} must be", reader.line(), fields.size(), names.size());
    CsvRowReader row(names, fields, reader.line());
    ValidationRow made;
    made.kernel = fields[0];
    made.problem = fields[1];
    made.simulated.algorithm = fields[2];
    made.simulated.kv_in_flight_bytes = row.number(3);
    made.simulated.effective_l2_bytes = row.number(4);
    made.verdict = row.verdict(5);
    made.not_simulated = fields[6];
    for (std::size_t f = 0; f < figure_count; ++f) {
      const std::size_t column = figures_begin + f * columns_a_figure;
      if (column >= names.size()) break;
      made.simulated.figures[f] = row.number(column);
      made.errors[f] = row.optional_number(column + 1);
      made.verdicts[f] = row.verdict(column + 2);
    }
    if (row.error()) return *row.error();
    out.push_back(std::move(made));
  }
  return out;
}

Result<std::vector<CaseValidation>> results_of(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases,
                                               std::span<const KnownMiss> known) {
  if (const auto wrong = unmatched(rows, cases); !wrong.empty()) return Error{wrong.front()};
  std::vector<CaseValidation> out;
  for (const MeasuredCase& c : cases) {
    const ValidationRow& row = *row_of(rows, c);
    CaseValidation result;
    if (row.not_simulated.empty()) result = compare(row.simulated, c, known);
    result.algorithm = row.simulated.algorithm;
    result.not_simulated = row.not_simulated;
    out.push_back(std::move(result));
  }
  return out;
}

std::vector<std::string> regressions(std::span<const ValidationRow> accepted, std::span<const MeasuredCase> cases,
                                     std::span<const CaseValidation> results) {
  std::vector<std::string> out = unmatched(accepted, cases);
  std::vector<Means> means;
  const auto mean_of = [&](std::string_view name, Figure figure) -> Means& {
    const auto found =
        std::find_if(means.begin(), means.end(), [&](const Means& m) { return m.name == name && m.figure == figure; });
    return found != means.end() ? *found : means.emplace_back(Means{std::string(name), figure});
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ValidationRow* row = row_of(accepted, cases[i]);
    if (row == nullptr) continue;
    const std::string name = name_of(cases[i].kernel, short_text(cases[i]));
    if (results[i].verdict() != row->verdict)
      out.push_back(
          fmt::format("{}: the verdict is {} and was {}", name, verdict_name(results[i].verdict()), verdict_name(row->verdict)));
    for (const Figure figure : all_figures) {
      const auto f = static_cast<std::size_t>(figure);
      const auto& c = results[i].figures[f];
      const auto verdict = c ? c->verdict() : std::nullopt;
      if (verdict != row->verdicts[f])
        out.push_back(
            fmt::format("{}: {} is {} and was {}", name, to_string(figure), verdict_name(verdict), verdict_name(row->verdicts[f])));
      if (!verdict || !row->errors[f] || !std::isfinite(c->error())) continue;
      for (const std::string_view group : {std::string_view(cases[i].kernel), std::string_view("all kernels")}) {
        Means& mean = mean_of(group, figure);
        mean.now += std::abs(c->error());
        mean.accepted += std::abs(*row->errors[f]);
        ++mean.count;
      }
    }
  }
  constexpr double rounding = 1e-6;  // rounding of the errors in the table
  for (const Means& mean : means) {
    const double now = mean.now / mean.count, before = mean.accepted / mean.count;
    if (now - before >= mean_growth_limit - rounding)
      out.push_back(fmt::format("{}: the mean error of {} is {} and was {}", mean.name, to_string(mean.figure), format_percent(now),
                                format_percent(before)));
  }
  return out;
}

std::vector<std::string> differences(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases,
                                     std::span<const CaseValidation> results) {
  constexpr double rounding = 1e-9;  // relative to the figure
  std::vector<std::string> out;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = name_of(cases[i].kernel, short_text(cases[i]));
    const ValidationRow* row = row_of(rows, cases[i]);
    if (row == nullptr) {
      out.push_back(name + ": the table has no row for it");
      continue;
    }
    if (row->not_simulated != results[i].not_simulated)
      out.push_back(fmt::format("{}: not simulated: '{}' and was '{}'", name, results[i].not_simulated, row->not_simulated));
    for (const Figure figure : all_figures) {
      const auto& c = results[i].figure(figure);
      if (!c) continue;
      const double before = row->simulated.figures[static_cast<std::size_t>(figure)];
      if (std::abs(c->simulated - before) > rounding * std::max(std::abs(before), 1.0))
        out.push_back(fmt::format("{}: {} is simulated as {} and was {}", name, to_string(figure), c->simulated, before));
    }
  }
  return out;
}

}  // namespace tilescope
