// Glossary: the words of the window and what they mean, in each language; read from assets/glossary.toml.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

struct GlossaryEntry {
  struct Text {
    std::string term, meaning;
  };
  std::string id;                                      // "shared_memory"
  std::vector<std::string> see;                        // ids of related entries
  std::map<std::string, Text, std::less<>> languages;  // by id: "en", which every entry has

  /// In a language, else in English.
  const Text& text(std::string_view language) const;
};

/// A term that stands in a text: bytes [first, last) of it.
struct FoundTerm {
  std::size_t first = 0, last = 0;
  const GlossaryEntry* entry = nullptr;
};

class Glossary {
 public:
  Glossary() = default;
  /// Reads a glossary. `origin` names it in errors.
  /// Errors  no TOML; an entry without id or English text, with an unknown key, or with the id of another; `see` without an entry
  static Result<Glossary> parse(std::string_view toml_text, std::string_view origin);

  const std::vector<GlossaryEntry>& entries() const { return entries_; }
  const GlossaryEntry* find(std::string_view id) const;

  /// Returns the terms that stand in `text`, in order and disjoint; of two that begin at the same place, the longer.
  /// A term begins a word. English ones end it, apart from a plural s; in Korean a particle may follow. One letter is a term only
  /// where nothing but the letter is there.
  std::vector<FoundTerm> terms_in(std::string_view text, std::string_view language) const;

  /// Returns the entries that fit what a person typed, best first: the term begins with it, holds it, or its meaning does. All in
  /// the order of the file where nothing is typed. English terms are found in every language.
  std::vector<const GlossaryEntry*> search(std::string_view typed, std::string_view language) const;

 private:
  /// A spelling of a term; "Query (Q)" has two: "query" and "Q".
  struct Spelling {
    std::string text;  // in lower case, unless `exact`
    bool exact = false;
    std::size_t entry = 0;
  };
  void add_spellings(std::size_t entry, const std::string& language, std::string_view term);

  std::vector<GlossaryEntry> entries_;
  /// By language and first byte, longest first.
  std::map<std::string, std::array<std::vector<Spelling>, 256>, std::less<>> spellings_;
};

/// Reads assets/glossary.toml; an empty glossary where it is missing.
Glossary load_glossary();

}  // namespace tilescope
