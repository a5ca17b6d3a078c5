// Refuses what has another type, each with file and line.
#include "app/model/lessons/lesson_block.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t most_points = 16;

}  // namespace

LessonBlock::LessonBlock(const Fence& fence, std::string_view origin) : origin_(origin), first_line_(fence.line) {
  if (const Status fits = check_document(fence.content, DocumentKind::toml, origin); !fits) {
    error_ = error_at(origin_, fence.line, "the block nests too deep or is too large");
    return;
  }
  try {
    table_ = toml::parse(fence.content);
  } catch (const toml::parse_error& error) {
    fail(static_cast<int>(error.source().begin.line), fmt::format("not TOML: {}", printable(error.description(), 160)));
  }
}

int LessonBlock::line_of(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return first_line_ + (node != nullptr ? line_of(*node) : 1) - 1;
}

void LessonBlock::fail(int line, std::string_view sentence) {
  if (!error_) error_ = error_at(origin_, first_line_ + line - 1, sentence);
}

void LessonBlock::fail_key(std::string_view key, std::string_view sentence) {
  if (!error_) error_ = error_at(origin_, line_of(key), sentence);
}

void LessonBlock::allow(std::span<const std::string_view> keys) {
  for (const auto& [key, node] : table_)
    if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
      fail_key(key.str(), fmt::format("unknown key '{}': {}", printable(key.str()), name_hint(key.str(), keys)));
}

std::string LessonBlock::text(std::string_view key, bool needed) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) {
    if (needed) fail(1, fmt::format("the block has no {}: add {} = \"…\"", key, key));
    return {};
  }
  const auto value = node->value<std::string>();
  if (!node->is_string() || !value || value->empty()) {
    fail_key(key, fmt::format("{} must be a text: write {} = \"…\"", key, key));
    return {};
  }
  return *value;
}

double LessonBlock::number(std::string_view key, double usual, double low, double high) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return usual;
  const auto value = node->value<double>();
  if (!node->is_number() || !value || !(*value >= low && *value <= high)) {
    fail_key(key, fmt::format("{} must be a number from {:g} to {:g}", key, low, high));
    return usual;
  }
  return *value;
}

bool LessonBlock::truth(std::string_view key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return false;
  if (!node->is_boolean()) fail_key(key, fmt::format("{} must be true or false", key));
  return node->value_or(false);
}

std::vector<std::string> LessonBlock::texts(std::string_view key, std::size_t most, bool needed) {
  std::vector<std::string> out;
  const toml::node* node = table_.get(key);
  if (node == nullptr) {
    if (needed) fail(1, fmt::format("the block has no {}: add {} = [\"…\"]", key, key));
    return out;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr || list->size() > most) {
    fail_key(key, fmt::format("{} must be a list of at most {} texts", key, most));
    return out;
  }
  for (const toml::node& each : *list) {
    const auto value = each.value<std::string>();
    if (!each.is_string() || !value || value->empty()) {
      fail_key(key, fmt::format("{} must be a list of texts", key));
      return out;
    }
    out.push_back(*value);
  }
  if (needed && out.empty()) fail_key(key, fmt::format("{} is empty", key));
  return out;
}

std::vector<double> LessonBlock::numbers(std::string_view of, std::string_view key) {
  std::vector<double> out;
  const toml::node_view<const toml::node> node = std::as_const(table_)[of][key];
  const toml::array* list = node.as_array();
  if (list == nullptr || list->size() < 2 || list->size() > most_points) {
    fail_key(of, fmt::format("{} of {} must be a list of 2 to {} numbers", key, of, most_points));
    return out;
  }
  for (const toml::node& each : *list) {
    const auto value = each.value<double>();
    if (!each.is_number() || !value || !(*value > 0) || !std::isfinite(*value) || (!out.empty() && *value <= out.back())) {
      fail_key(of, fmt::format("{} of {} must be positive numbers, each larger than the one before", key, of));
      return out;
    }
    out.push_back(*value);
  }
  return out;
}

std::string LessonBlock::text_of(std::string_view of, std::string_view key) {
  const auto value = std::as_const(table_)[of][key].value<std::string>();
  if (!value || value->empty()) fail_key(has(of) ? of : key, fmt::format("{} needs {} = \"…\"", of, key));
  return value.value_or("");
}

std::vector<std::pair<std::string, std::string>> LessonBlock::pairs(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> out;
  const toml::node* node = table_.get(key);
  if (node == nullptr) return out;
  const toml::table* table = node->as_table();
  if (table == nullptr || table->size() > 8) {
    fail_key(key, fmt::format("{} must be a table of at most 8 links: write {{ standard = \"algorithm=standard\" }}", key));
    return out;
  }
  for (const auto& [name, value] : *table) {
    const auto text = value.value<std::string>();
    if (!text || text->empty()) fail_key(key, fmt::format("{} of {} must be a text", printable(name.str()), key));
    out.emplace_back(std::string(name.str()), text.value_or(""));
  }
  return out;
}

std::vector<const toml::table*> LessonBlock::tables(std::string_view key, std::size_t most,
                                                    std::span<const std::string_view> keys) {
  std::vector<const toml::table*> out;
  const toml::node* node = table_.get(key);
  if (node == nullptr) return out;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty() || list->size() > most || !list->is_homogeneous(toml::node_type::table)) {
    fail_key(key, fmt::format("{} must be a list of 1 to {} tables: write {{ say = \"…\" }}", key, most));
    return out;
  }
  for (const toml::node& each : *list) {
    for (const auto& [name, value] : *each.as_table())
      if (std::find(keys.begin(), keys.end(), name.str()) == keys.end())
        fail(line_of(each), fmt::format("unknown key '{}' in {}: {}", printable(name.str()), key, name_hint(name.str(), keys)));
    out.push_back(each.as_table());
  }
  return out;
}

int LessonBlock::line_of(const toml::node& node) {
  return std::max(1, static_cast<int>(node.source().begin.line));
}

std::string LessonBlock::text_in(const toml::table& row, std::string_view key) {
  const auto value = row[key].value<std::string>();
  if (!row[key].is_string() || !value || value->empty())
    fail(line_of(row), fmt::format("{} must be a text: write {} = \"…\"", key, key));
  return value.value_or("");
}

Prose LessonBlock::prose(std::string_view key, bool needed) {
  const std::string words = text(key, needed);
  if (words.empty()) return {};
  return prose_of(words, line_of(key));
}

Prose LessonBlock::prose_of(const std::string& words, int line) {
  Result<Prose> parsed = parse_prose(words, origin_, line);
  if (!parsed) {
    if (!error_) error_ = parsed.error();
    return {};
  }
  return std::move(*parsed);
}

}  // namespace tilescope
