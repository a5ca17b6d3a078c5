// Spellings of terms, longest first, and a search over words.
#include "app/model/lessons/glossary.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "app/platform/asset_files.h"
#include "app/platform/files.h"
#include "sim/core/document.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// True where a byte beyond ASCII begins or goes on: a Korean particle, a Greek letter.
bool beyond_ascii(char c) {
  return (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// Characters of a UTF-8 text.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// The end of a term at `at` of `text`; `at` itself where it does not stand there. `lower_text` is the text in lower case.
std::size_t end_of(std::string_view text, std::string_view lower_text, std::size_t at, std::string_view spelling, bool exact,
                   bool particles) {
  if (!(exact ? text : lower_text).substr(at).starts_with(spelling)) return at;
  std::size_t end = at + spelling.size();
  if (!exact && end < text.size() && text[end] == 's' && (end + 1 == text.size() || !in_word(text[end + 1]))) ++end;
  if (end == text.size() || !in_word(text[end])) return end;
  return particles && beyond_ascii(text[end]) ? end : at;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

const GlossaryEntry::Text& GlossaryEntry::text(std::string_view language) const {
  const auto found = languages.find(language);
  return found != languages.end() ? found->second : languages.find("en")->second;
}

const GlossaryEntry* Glossary::find(std::string_view id) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const GlossaryEntry& e) { return e.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

Result<Glossary> Glossary::parse(std::string_view toml_text, std::string_view origin) {
  toml::table table;
  if (const Status flat = check_document(toml_text, DocumentKind::toml, origin); !flat) return flat.error();
  try {
    table = toml::parse(toml_text);
  } catch (const toml::parse_error& error) {
    return Error{fmt::format("{}, line {}: {}", origin, error.source().begin.line, printable(error.description(), 200))};
  }
  const auto at = [&](const toml::node& node, std::string_view what) {
    return Error{fmt::format("{}, line {}: {}", origin, node.source().begin.line, what)};
  };
  Glossary glossary;
  const toml::array* terms = table["term"].as_array();
  if (terms == nullptr) return Error{fmt::format("{} has no terms: begin each with [[term]]", origin)};
  for (const toml::node& node : *terms) {
    const toml::table* term = node.as_table();
    if (term == nullptr) return at(node, "a term is a table: begin it with [[term]]");
    GlossaryEntry entry;
    for (const auto& [key, value] : *term) {
      if (key == "id") {
        entry.id = value.value_or(std::string());
      } else if (key == "see") {
        if (const toml::array* list = value.as_array())
          for (const toml::node& other : *list) entry.see.push_back(other.value_or(std::string()));
      } else if (const toml::table* text = value.as_table()) {
        GlossaryEntry::Text read{(*text)["term"].value_or(std::string()), (*text)["meaning"].value_or(std::string())};
        if (read.term.empty() || read.meaning.empty())
          return at(value, fmt::format("{} needs a term and a meaning", printable(key.str())));
        entry.languages.emplace(std::string(key.str()), std::move(read));
      } else {
        return at(value,
                  fmt::format("a term has no '{}': its keys are id, see, and a table for each language", printable(key.str())));
      }
    }
    if (entry.id.empty()) return at(node, "a term needs an id");
    if (glossary.find(entry.id) != nullptr) return at(node, fmt::format("the id '{}' stands twice", printable(entry.id)));
    if (!entry.languages.contains("en")) return at(node, fmt::format("'{}' has no English text: add en", printable(entry.id)));
    glossary.entries_.push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < glossary.entries_.size(); ++i) {
    const GlossaryEntry& entry = glossary.entries_[i];
    for (const std::string& other : entry.see)
      if (glossary.find(other) == nullptr)
        return Error{
            fmt::format("{}: '{}' refers to '{}', and there is no such term", origin, printable(entry.id), printable(other))};
    for (const auto& [language, text] : entry.languages) glossary.add_spellings(i, language, text.term);
  }
  for (auto& [language, lists] : glossary.spellings_)
    for (auto& list : lists)
      std::stable_sort(list.begin(), list.end(),
                       [](const Spelling& a, const Spelling& b) { return a.text.size() > b.text.size(); });
  return glossary;
}

/// "Row maximum (m)" is found as "row maximum" and as "m"; "Simulated, measured" as either.
void Glossary::add_spellings(std::size_t entry, const std::string& language, std::string_view term) {
  const auto add = [&](std::string_view text) {
    text = without_blanks(text);
    if (text.empty()) return;
    // Symbols and abbreviations are what they are: "SM" is no "sm", "l" no "L".
    const bool exact = characters(text) <= 2 || std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    std::string spelling = exact ? std::string(text) : lowered(text);
    auto& list = spellings_[language][static_cast<unsigned char>(spelling.front())];
    list.push_back({std::move(spelling), exact, entry});
  };
  add(term.size() > 1 ? term : std::string_view());
  std::string_view rest = term;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(",()"), rest.size());
    add(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
}

std::vector<FoundTerm> Glossary::terms_in(std::string_view text, std::string_view language) const {
  std::vector<FoundTerm> found;
  const auto own = spellings_.find(language), english = spellings_.find("en");
  const std::string lower_text = lowered(text);
  const std::size_t alone = without_blanks(text).size();
  FoundTerm best;
  const auto try_spellings = [&](const std::vector<Spelling>& list, std::size_t at) {
    for (const Spelling& spelling : list) {
      const std::size_t end = end_of(text, lower_text, at, spelling.text, spelling.exact, language != "en");
      if (end <= at || end - at <= best.last - best.first) continue;
      if (characters(spelling.text) == 1 && alone != spelling.text.size()) continue;
      best = {at, end, &entries_[spelling.entry]};
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    best = {};
    const bool begins = (at == 0 || !in_word(text[at - 1])) && (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    for (const auto& lists : {own, own == english ? spellings_.end() : english}) {
      if (!begins || lists == spellings_.end()) continue;
      const auto first = static_cast<unsigned char>(text[at]), lower_first = static_cast<unsigned char>(lower_text[at]);
      try_spellings(lists->second[first], at);
      if (lower_first != first) try_spellings(lists->second[lower_first], at);
    }
    if (best.entry != nullptr) found.push_back(best);
    at = best.entry != nullptr ? best.last : at + 1;
  }
  return found;
}

std::vector<const GlossaryEntry*> Glossary::search(std::string_view typed, std::string_view language) const {
  const std::string wanted = lowered(without_blanks(typed));
  std::vector<std::pair<int, const GlossaryEntry*>> ranked;
  for (const GlossaryEntry& entry : entries_) {
    int rank = wanted.empty() ? 0 : 4;
    const auto try_text = [&](const GlossaryEntry::Text& text) {
      const std::string term = lowered(text.term);
      if (term == wanted) rank = std::min(rank, 0);
      if (term.starts_with(wanted)) rank = std::min(rank, 1);
      if (term.find(wanted) != std::string::npos) rank = std::min(rank, 2);
      if (lowered(text.meaning).find(wanted) != std::string::npos) rank = std::min(rank, 3);
    };
    try_text(entry.text(language));
    try_text(entry.text("en"));
    if (wanted.empty() || rank < 4) ranked.emplace_back(wanted.empty() ? 0 : rank, &entry);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const GlossaryEntry*> out;
  for (const auto& [rank, entry] : ranked) out.push_back(entry);
  return out;
}

Glossary load_glossary() {
  const auto path = find_asset("glossary.toml");
  if (!path) return {};
  const Result<std::string> text = read_text_file(*path);
  if (!text) return {};
  Result<Glossary> glossary = Glossary::parse(*text, path->native());
  return glossary ? std::move(*glossary) : Glossary();
}

}  // namespace tilescope
