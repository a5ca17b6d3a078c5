// The glossary: its file, terms in texts, search.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "app/model/lessons/glossary.h"
#include "app/model/state/center_views.h"
#include "app/ui/language.h"
#include "app/views/panel_table.h"
#include "sim/programs/programs.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::vector<std::string> ids_in(const Glossary& glossary, std::string_view text, std::string_view language = "en") {
  std::vector<std::string> ids;
  for (const FoundTerm& found : glossary.terms_in(text, language)) ids.push_back(found.entry->id);
  return ids;
}

/// Whether a term has a word, in whatever case: letters and digits around it belong to another word.
bool names(std::string term, std::string word) {
  const auto lower = [](std::string& text) {
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  };
  const auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  lower(term);
  lower(word);
  for (std::size_t at = term.find(word); at != std::string::npos; at = term.find(word, at + 1)) {
    const bool begins = at == 0 || !in_word(term[at - 1]);
    std::size_t end = at + word.size();
    if (end < term.size() && term[end] == 's') ++end;  // a plural
    if (begins && (end == term.size() || !in_word(term[end]))) return true;
  }
  return false;
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

TEST_CASE("glossary: it answers the title of every view and panel, in both languages") {
  const Glossary glossary = load_glossary();
  std::set<std::string> titles;
  for (const CenterViewInfo& view : center_views()) titles.insert(view.title);
  for (const PanelInfo& panel : panel_table()) titles.emplace(panel.title);
  titles.insert("Scenes");
  for (const char* id : {"en", "ko"}) {
    const auto language = load_language(id);
    REQUIRE(language);
    for (const std::string& title : titles) {
      const char* translated = *language != nullptr ? (*language)->find(title) : nullptr;
      const std::string shown = translated != nullptr ? translated : title;
      CAPTURE(shown);
      const auto found = glossary.search(shown, id);
      CHECK(std::ranges::any_of(found, [&](const GlossaryEntry* entry) { return names(entry->text(id).term, shown); }));
    }
  }
}

TEST_CASE("glossary: it answers the name of every tensor, and the words of tokens, tickets and clocks") {
  const Glossary glossary = load_glossary();
  std::set<std::string> words = {"token",           "producer",   "consumer",  "mbarrier",         "spill",          "rung",
                                 "ticket",          "persistent", "page",      "gradient",         "bundle",         "fp16",
                                 "perfect balance", "deck",       "scene",     "clock under load", "borrowed clock", "bf16",
                                 "KV heads",        "pinned run", "reduce-add"};
  for (const ProgramInfo& info : program_table()) {
    AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16, .pass = info.pass};
    const auto program = info.make(problem, TileShape{16, 16}, toy_gpu());
    if (!program) continue;  // Hopper's programs need their own tiles; their tensors are those of the others
    for (const Tensor tensor : (*program)->tensors()) words.emplace(to_string(tensor));
  }
  CHECK(words.contains("dQ_acc"));
  for (const std::string& word : words) {
    CAPTURE(word);
    const auto found = glossary.search(word, "en");
    CHECK(std::ranges::any_of(found, [&](const GlossaryEntry* entry) { return names(entry->text("en").term, word); }));
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
