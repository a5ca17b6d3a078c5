// Reads the list of known misses, and finds stale entries.
#include "sim/analysis/known_misses.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::string_view schema = "tilescope.known_misses/1";
constexpr std::array<std::string_view, 5> miss_keys = {"kernel", "problem", "figure", "cap_percent", "cause"};
constexpr std::array<std::string_view, 3> file_keys = {"schema", "recorded", "miss"};

class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  Result<KnownMisses> read(const toml::table& document) {
    KnownMisses out;
    if (!known_keys(document, file_keys)) return error_;
    if (const auto found = document["schema"].value<std::string>(); found != schema)
      return refuse("{}: the schema is '{}' and must be '{}'", where(document), printable(found.value_or("")), schema);
    if (!text(document, "recorded", out.recorded)) return error_;
    const toml::node* list = document.get("miss");
    if (list == nullptr) return out;
    if (list->as_array() == nullptr) return refuse("{}: miss must be a list: write [[miss]]", where(*list));
    for (const toml::node& node : *list->as_array()) {
      KnownMiss miss;
      if (!read_miss(node, miss)) return error_;
      for (const KnownMiss& other : out.misses)
        if (other.kernel == miss.kernel && other.problem == miss.problem && other.figure == miss.figure)
          return refuse("{}: {}, {}: {} is listed twice", where(node), printable(miss.kernel), printable(miss.problem),
                        to_string(miss.figure));
      out.misses.push_back(std::move(miss));
    }
    return out;
  }

 private:
  std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", printable(origin_, 200), node.source().begin.line);
  }

  bool fail(const toml::node& node, const Sentence& sentence) {
    error_ = refuse("{}: {}", where(node), sentence);
    return false;
  }

  bool known_keys(const toml::table& table, std::span<const std::string_view> keys) {
    for (const auto& [key, node] : table)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        return fail(node, phrase("unknown key '{}': {}", printable(key.str()), name_hint(key.str(), keys)));
    return true;
  }

  bool text(const toml::table& table, std::string_view key, std::string& target) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return fail(table, phrase("{} is missing", key));
    const auto value = node->value<std::string>();
    if (!value || value->empty()) return fail(*node, phrase("{} must be a text in quotes", key));
    target = *value;
    return true;
  }

  bool read_miss(const toml::node& node, KnownMiss& miss) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fail(node, phrase("a miss must be a table: write [[miss]]"));
    std::string figure;
    if (!known_keys(*table, miss_keys) || !text(*table, "kernel", miss.kernel) || !text(*table, "problem", miss.problem) ||
        !text(*table, "figure", figure) || !text(*table, "cause", miss.cause))
      return false;
    const auto known_figure = figure_from(figure);
    if (!known_figure) {
      std::array<std::string_view, figure_count> names;
      std::transform(all_figures.begin(), all_figures.end(), names.begin(), [](Figure f) { return to_string(f); });
      return fail(*table, phrase("figure is '{}': {}", printable(figure), name_hint(figure, names)));
    }
    miss.figure = *known_figure;
    const toml::node* cap = table->get("cap_percent");
    const auto percent = cap != nullptr ? cap->value<double>() : std::nullopt;
    if (!percent || !(*percent > 0))
      return fail(*table, phrase("cap_percent is missing or not above 0: give the largest size of the error, such as 2.5"));
    miss.cap = *percent / 100;
    return true;
  }

  std::string_view origin_;
  Error error_;
};

}  // namespace

std::span<const KnownMiss> KnownMisses::of(const MeasurementBundle& bundle) const {
  return recorded == bundle.date ? std::span<const KnownMiss>(misses) : std::span<const KnownMiss>();
}

Result<KnownMisses> known_misses_from_toml(std::string_view text, std::string_view origin) {
  if (const Status fits = check_document(text, DocumentKind::toml, origin); !fits) return fits.error();
  try {
    const toml::table document = toml::parse(text);
    return Reader(origin).read(document);
  } catch (const toml::parse_error& error) {
    return refuse("{}:{}: not TOML: {}", printable(origin, 200), error.source().begin.line, printable(error.description(), 160));
  }
}

std::vector<StaleMiss> stale_misses(const KnownMisses& known, const MeasurementBundle& bundle, std::span<const MeasuredCase> cases,
                                    std::span<const CaseValidation> results) {
  const auto index_of = [](std::span<const MeasuredCase> list, const KnownMiss& miss) {
    const auto found = std::find_if(
        list.begin(), list.end(), [&](const MeasuredCase& c) { return c.kernel == miss.kernel && short_text(c) == miss.problem; });
    return static_cast<std::size_t>(found - list.begin());
  };
  std::vector<StaleMiss> out;
  for (const KnownMiss& miss : known.misses) {
    if (known.recorded != bundle.date) {
      out.push_back({miss, fmt::format("the list is of the recording of {}, the bundle of {}", printable(known.recorded),
                                       printable(bundle.date))});
      continue;
    }
    if (index_of(bundle.cases, miss) == bundle.cases.size()) {
      out.push_back({miss, "the bundle has no such case"});
      continue;
    }
    const std::size_t i = index_of(cases, miss);
    if (i == cases.size()) continue;
    const auto& comparison = results[i].figure(miss.figure);
    if (!comparison || !comparison->bound)
      out.push_back({miss, "the figure has no bound there"});
    else if (comparison->within())
      out.push_back({miss, "the figure is within its bound"});
  }
  return out;
}

}  // namespace tilescope
