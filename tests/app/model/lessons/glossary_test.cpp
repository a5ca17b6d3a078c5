// The glossary: its file, terms in texts, search.
#include <doctest/doctest.h>

#include <set>

#include "app/model/lessons/glossary.h"

using namespace tilescope;

namespace {

std::vector<std::string> ids_in(const Glossary& glossary, std::string_view text, std::string_view language = "en") {
  std::vector<std::string> ids;
  for (const FoundTerm& found : glossary.terms_in(text, language)) ids.push_back(found.entry->id);
  return ids;
}

}  // namespace

TEST_CASE("glossary: every entry has both languages, and refers to entries that are there") {
  const Glossary glossary = load_glossary();
  CHECK(glossary.entries().size() >= 80);
  for (const GlossaryEntry& entry : glossary.entries()) {
    CAPTURE(entry.id);
    CHECK(entry.languages.contains("ko"));
    CHECK(entry.text("en").meaning.ends_with("."));
    for (const std::string& other : entry.see) CHECK(glossary.find(other) != nullptr);
  }
}

TEST_CASE("glossary: terms are found in sentences, the longer before the shorter") {
  const Glossary glossary = load_glossary();
  CHECK(ids_in(glossary, "Tiles wait in shared memory.") == std::vector<std::string>{"tile", "shared_memory"});
  CHECK(ids_in(glossary, "HBM read").front() == "hbm");
  CHECK(ids_in(glossary, "the row maximum") == std::vector<std::string>{"row_maximum"});
  CHECK(ids_in(glossary, "copying arrows and growing rowing").empty());
}

TEST_CASE("glossary: a letter is a term only where it stands alone") {
  const Glossary glossary = load_glossary();
  CHECK(ids_in(glossary, "S") == std::vector<std::string>{"score"});
  CHECK(ids_in(glossary, "S and more").empty());
  CHECK(ids_in(glossary, "m") == std::vector<std::string>{"row_maximum"});
}

TEST_CASE("glossary: in Korean a particle may follow a term, and English terms count too") {
  const Glossary glossary = load_glossary();
  CHECK(ids_in(glossary, "HBM은 느리다", "ko") == std::vector<std::string>{"hbm"});
  CHECK(ids_in(glossary, "타일을 복사", "ko").front() == "tile");
}

TEST_CASE("glossary: a search puts the exact term first and finds words of meanings") {
  const Glossary glossary = load_glossary();
  REQUIRE_FALSE(glossary.search("tile", "en").empty());
  CHECK(glossary.search("tile", "en").front()->id == "tile");
  CHECK(glossary.search("", "en").size() == glossary.entries().size());
  CHECK(glossary.search("hbm", "ko").front()->id == "hbm");
  CHECK(glossary.search("no such thing at all", "en").empty());
}

TEST_CASE("glossary: it begins with the symbols, in both languages") {
  const Glossary glossary = load_glossary();
  for (const char* language : {"en", "ko"}) {
    const auto all = glossary.search("", language);
    REQUIRE(all.front()->id == "symbols");
    const std::string& meaning = all.front()->text(language).meaning;
    for (const char* symbol : {"N", "d", "S", "P", "O", "m", "m′", "l", "α", "L", "τ", "Br", "Bc"}) {
      CAPTURE(symbol);
      CHECK(meaning.find(symbol) != std::string::npos);
    }
  }
}

TEST_CASE("glossary: what is wrong with a file is one sentence with its line") {
  const auto refusal = [](std::string_view text) { return Glossary::parse(text, "g.toml").error().sentence.text(); };
  CHECK(refusal("x = 1") == "g.toml has no terms: begin each with [[term]]");
  CHECK(refusal("[[term]]\nid = \"a\"\n").find("line 1: 'a' has no English text") != std::string::npos);
  CHECK(refusal("[[term]]\nid = \"a\"\nwhat = 3\n").find("line 3: a term has no 'what'") != std::string::npos);
  CHECK(refusal("[[term]]\nid = \"a\"\nsee = [\"b\"]\nen = { term = \"A\", meaning = \"B.\" }\n").find("'a' refers to 'b'") !=
        std::string::npos);
}
