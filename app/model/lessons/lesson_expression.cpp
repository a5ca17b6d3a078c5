// Names are resolved by muParser's variable factory.
#include "app/model/lessons/lesson_expression.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include <muParser.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t longest_expression = 500;
constexpr char name_characters[] = "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The values of the names, at addresses that stay.
class Names {
 public:
  explicit Names(const FigureLookup& lookup) : lookup_(lookup) {}

  double* find_or_add(const char* name) {
    const auto [at, added] = places_.try_emplace(name, nullptr);
    if (!added) return at->second;
    order.emplace_back(name);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (lookup_ && !error) {
      if (const Result<double> found = lookup_(name))
        value = *found;
      else
        error = found.error();
    } else if (!lookup_) {
      value = 1;
    }
    values_.push_back(value);
    return at->second = &values_.back();
  }

  std::vector<std::string> order;
  std::optional<Error> error;

 private:
  const FigureLookup& lookup_;
  std::map<std::string, double*, std::less<>> places_;
  std::deque<double> values_;
};

/// muParser knows "=" as an assignment, which a condition never means.
bool assigns(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    if (i + 1 < text.size() && text[i + 1] == '=') {
      ++i;
      continue;
    }
    if (i == 0 || std::string_view("<>!=").find(text[i - 1]) == std::string_view::npos) return true;
  }
  return false;
}

Error bad(const std::string& expression, const Sentence& why) {
  return refuse("'{}' cannot be computed: {}", printable(expression, 120), why);
}

Result<double> run(const std::string& expression, Names& names) {
  if (expression.size() > longest_expression)
    return refuse("an expression has {} characters: at most {} are taken", expression.size(), longest_expression);
  const auto odd = std::find_if(expression.begin(), expression.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == '"';
  });
  if (odd != expression.end()) return bad(expression, phrase("only ASCII letters, digits and operators are taken"));
  if (assigns(expression)) return bad(expression, phrase("write == to compare"));
  try {
    mu::Parser parser;
    parser.DefineNameChars(name_characters);
    parser.SetVarFactory([](const char* name, void* self) { return static_cast<Names*>(self)->find_or_add(name); }, &names);
    parser.DefineFun("round", [](double x) { return std::round(x); });
    parser.DefineFun("floor", [](double x) { return std::floor(x); });
    parser.DefineFun("ceil", [](double x) { return std::ceil(x); });
    parser.SetExpr(expression);
    const double value = parser.Eval();
    if (parser.GetNumResults() != 1) return bad(expression, phrase("a comma stands outside of a function"));
    return value;
  } catch (const mu::ParserError& error) { return bad(expression, printable(error.GetMsg(), 200)); }
}

}  // namespace

namespace {

/// What an expression is without a run.
struct Parsed {
  Result<std::vector<std::string>> names;
  std::optional<double> constant;
};

/// A lesson's page asks for the same few expressions in every frame: each is parsed once.
const Parsed& parsed(const std::string& expression) {
  constexpr std::size_t most_kept = 1024;
  thread_local std::unordered_map<std::string, Parsed> kept;
  if (const auto found = kept.find(expression); found != kept.end()) return found->second;
  const FigureLookup none;
  Names names(none);
  const Result<double> value = run(expression, names);
  Parsed made{value ? Result<std::vector<std::string>>(names.order) : value.error(), std::nullopt};
  if (value && names.order.empty() && std::isfinite(*value)) made.constant = *value;
  if (kept.size() >= most_kept) kept.clear();
  return kept.emplace(expression, std::move(made)).first->second;
}

}  // namespace

Result<std::vector<std::string>> names_in(const std::string& expression) {
  return parsed(expression).names;
}

std::optional<double> constant_in(const std::string& expression) {
  return parsed(expression).constant;
}

Result<double> evaluate(const std::string& expression, const FigureLookup& lookup) {
  Names names(lookup);
  const Result<double> value = run(expression, names);
  if (names.error) return *names.error;
  if (!value) return value.error();
  if (!std::isfinite(*value)) return bad(expression, phrase("the value is not a finite number"));
  return *value;
}

}  // namespace tilescope
