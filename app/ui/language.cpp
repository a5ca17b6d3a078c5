// Reads language files and answers tr().
#include "app/ui/language.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "app/platform/asset_files.h"
#include "app/platform/files.h"
#include "sim/core/document.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

std::shared_ptr<const Language>& current() {
  static std::shared_ptr<const Language> language;
  return language;
}

/// Returns the replacement fields of a text, in order: "{}", "{:.2f}".
std::string fields_of(std::string_view text) {
  std::string fields;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    if (text.substr(at).starts_with("{{")) {  // a brace of the text itself
      ++at;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    fields += text.substr(at, end - at + 1);
  }
  return fields;
}

}  // namespace

Result<std::shared_ptr<const Language>> Language::parse(std::string_view toml_text, std::string_view origin) {
  toml::table table;
  if (const Status flat = check_document(toml_text, DocumentKind::toml, origin); !flat) return flat.error();
  try {
    table = toml::parse(toml_text);
  } catch (const toml::parse_error& error) {
    return Error{fmt::format("{}, line {}: {}", origin, error.source().begin.line, printable(error.description(), 200))};
  }
  auto language = std::make_shared<Language>();
  const auto name = table["name"].value<std::string>();
  if (!name || name->empty()) return Error{fmt::format("{} has no name: add name = \"…\"", origin)};
  language->name_ = *name;
  if (const toml::table* texts = table["text"].as_table()) {
    for (const auto& [key, node] : *texts) {
      const auto value = node.value<std::string>();
      if (!value) return Error{fmt::format("{}: the text \"{}\" is not a string", origin, printable(key.str()))};
      if (fields_of(key.str()) != fields_of(*value))
        return Error{fmt::format("{}: \"{}\" and its translation \"{}\" have different {{}} fields", origin, printable(key.str()),
                                 printable(*value))};
      language->texts_.emplace(std::string(key.str()), *value);
    }
  }
  return std::shared_ptr<const Language>(std::move(language));
}

const char* Language::find(std::string_view english) const {
  const auto found = texts_.find(english);
  return found == texts_.end() ? nullptr : found->second.c_str();
}

void use_language(std::shared_ptr<const Language> language) {
  current() = std::move(language);
}
const Language* language_in_use() {
  return current().get();
}

Result<std::shared_ptr<const Language>> load_language(const std::string& id) {
  if (id.empty() || id == "en") return std::shared_ptr<const Language>();
  const bool plain = std::all_of(id.begin(), id.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
  if (!plain) return Error{fmt::format("'{}' is not the id of a language: use one such as en or ko", id)};
  const auto path = find_asset(fmt::format("lang/{}.toml", id));
  if (!path) return path.error();
  const Result<std::string> text = read_text_file(*path);
  if (!text) return text.error();
  return Language::parse(*text, path->string());
}

std::string in_language_of_window(const std::string& text) {
  const char* id = std::getenv("TILESCOPE_LANGUAGE");
  const auto language = load_language(id != nullptr ? id : "");
  const char* translated = language && *language != nullptr ? (*language)->find(text) : nullptr;
  return translated != nullptr ? translated : text;
}

std::vector<std::string> available_languages() {
  std::vector<std::string> ids = {"en"};
  for (const char* id : {"ko"})
    if (find_asset(fmt::format("lang/{}.toml", id))) ids.emplace_back(id);
  return ids;
}

const char* tr(const char* english) {
  const Language* language = language_in_use();
  const char* translated = language == nullptr ? nullptr : language->find(english);
  return translated != nullptr ? translated : english;
}

}  // namespace tilescope
