// Languages: files are read strictly, and the Korean one has every text of the program.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/ui/language.h"
#include "app/views/keys.h"
#include "app/views/panel_table.h"
#include "sim/analysis/what_if.h"
#include "sim/engine/block_order.h"
#include "sim/masks/expression.h"
#include "sim/masks/presets.h"
#include "sim/programs/tile_program.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

std::string sentence_of(std::string_view text) {
  const auto language = Language::parse(text, "test.toml");
  return language ? std::string() : language.error().sentence.text();
}

/// Joins neighbouring string literals that begin at `at`, as the compiler does; empty when there is none.
std::string literal_at(const std::string& source, std::size_t at) {
  std::string out;
  while (true) {
    while (at < source.size() && std::isspace(static_cast<unsigned char>(source[at])) != 0) ++at;
    if (at >= source.size() || source[at] != '"') return out;
    for (++at; at < source.size() && source[at] != '"'; ++at) {
      const bool escaped = source[at] == '\\';
      if (escaped) ++at;
      out += escaped && source[at] == 'n' ? '\n' : source[at];
    }
    ++at;
  }
}

struct SourceFile {
  std::string path;  // relative to the repository
  std::string text;
};

std::vector<SourceFile> sources_below(const char* folder) {
  const std::filesystem::path root(TILESCOPE_SOURCE_DIR);
  std::vector<SourceFile> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const auto ending = entry.path().extension();
    if (ending != ".cpp" && ending != ".h" && ending != ".cu") continue;
    std::ifstream file(entry.path());
    out.push_back(
        {entry.path().lexically_relative(root).generic_string(), std::string((std::istreambuf_iterator<char>(file)), {})});
  }
  return out;
}

/// Every literal that the sources below `folder` hand to `function`; members of that name are other functions.
std::set<std::string> texts_handed_to(std::string_view function, const char* folder) {
  std::set<std::string> out;
  const std::string call = std::string(function) + "(";
  for (const SourceFile& file : sources_below(folder)) {
    const std::string& source = file.text;
    for (std::size_t at = source.find(call); at != std::string::npos; at = source.find(call, at + 1)) {
      const char before = at > 0 ? source[at - 1] : ' ';
      const bool another = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '.' || before == '>';
      const std::string text = another ? std::string() : literal_at(source, at + call.size());
      if (!text.empty()) out.insert(text);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("language: a file maps English to another language; missing texts stay English") {
  const auto language =
      Language::parse("name = \"Test\"\n[text]\n\"play\" = \"spielen\"\n\"step {} of {}\" = \"Schritt {} von {}\"", "test.toml");
  REQUIRE(static_cast<bool>(language));
  use_language(*language);
  CHECK(std::string(tr("play")) == "spielen");
  CHECK(std::string(tr("no such text")) == "no such text");
  use_language(nullptr);
  CHECK(std::string(tr("play")) == "play");
}

TEST_CASE("language: a broken file is one sentence with its name") {
  for (const char* text : {"[[[", "", "name = 3", "name = \"x\"\n[text]\n\"a\" = 5", "name = \"x\"\n[text]\n\"{} of {}\" = \"{}\"",
                           "name = \"x\"\n[text]\n\"{:.2f}\" = \"{:.3f}\""}) {
    CAPTURE(text);
    CHECK(sentence_of(text).find("test.toml") != std::string::npos);
  }
}

TEST_CASE("language: a repeated text is named with its line") {
  const std::string sentence =
      sentence_of("name = \"x\"\n[text]\n\"The largest score so far.\" = \"a\"\n\"The largest score so far.\" = \"b\"\n");
  CHECK(sentence.find("test.toml, line 4") != std::string::npos);
  CHECK(sentence.find("The largest score so far.") != std::string::npos);
}

TEST_CASE("language: a brace of the text itself is no field") {
  CHECK(sentence_of("name = \"x\"\n[text]\n\"{} is {{ a }}\" = \"{} {{ b }}\"").empty());
}

TEST_CASE("language: only plain ids are accepted") {
  for (const char* id : {"../../etc/passwd", "KO", "k o", "zz"}) {
    CAPTURE(id);
    CHECK_FALSE(static_cast<bool>(load_language(id)));
  }
  REQUIRE(static_cast<bool>(load_language("en")));
  CHECK(*load_language("en") == nullptr);
}

TEST_CASE("language: the Korean file has every text that the program shows") {
  const std::vector<std::string> offered = available_languages();
  if (std::find(offered.begin(), offered.end(), "ko") == offered.end()) {
    MESSAGE("there is no assets/lang/ko.toml, so the window offers no Korean");
    return;
  }
  const auto korean = load_language("ko");
  REQUIRE_MESSAGE(static_cast<bool>(korean), (korean ? "" : korean.error().sentence));
  std::set<std::string> texts = texts_handed_to("tr", "app");
  CHECK(texts.size() > 100);
  for (const char* function : {"refuse", "phrase"})
    for (const char* folder : {"sim", "kernels", "app"}) {
      const std::set<std::string> refusals = texts_handed_to(function, folder);
      CHECK(refusals.size() > 5);
      texts.insert(refusals.begin(), refusals.end());
    }
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK((*korean)->find(text) != nullptr);
  }
  for (const KeyHelp& row : key_help()) {
    CAPTURE(row.what);
    CHECK((*korean)->find(row.what) != nullptr);
  }
  for (const PanelInfo& panel : panel_table()) CHECK((*korean)->find(panel.title) != nullptr);
}

namespace {

/// Every text that the window translates although it stands in a table of the simulation: programs, their lines, orders of blocks,
/// words and presets of the mask language, questions to the machine.
std::set<std::string> texts_in_tables() {
  std::set<std::string> out;
  const auto add = [&](std::string_view text) {
    if (!text.empty()) out.emplace(text);
  };
  for (const ProgramInfo& info : program_table()) {
    add(info.title);
    add(info.summary);
    add(info.button);
    add(info.tooltip);
    for (const ListingLine& line : info.listing) {
      add(line.why);
      if (line.when == ListingLine::heading) add(line.text);  // words; the other lines are code
    }
  }
  for (const ProgramFamily& family : program_families()) add(family.title), add(family.row_title);
  for (const BlockOrderInfo& row : block_orders()) add(row.title);
  for (const SpecKey& key : spec_keys()) add(key.meaning);
  for (const ExprNameInfo& row : expression_names()) add(row.meaning);
  for (const ExprFunction& row : expression_functions()) add(row.meaning);
  const auto add_words = [&](std::string name) {
    std::ranges::replace(name, '_', ' ');
    add(name);
  };
  for (const Preset& row : presets()) {
    add(row.meaning);
    add_words(std::string(row.name));
    for (std::string_view rest = row.parameters; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      add_words(std::string(pair.substr(0, pair.find('='))));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    }
  }
  for (const Session::Start& start : {opening_start(), h200_start({.heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512})})
    for (const WhatIf& row : what_ifs(start.request)) {
      add(row.title);
      add(row.asks);
    }
  return out;
}

}  // namespace

TEST_CASE("language: what the window refuses is a pattern, which languages translate") {
  // Fixed text stays English. It is for the command line, for authors of lessons and languages, and for a window that cannot open.
  const std::set<std::string> english = {"app/model/lessons/glossary.cpp",
                                         "app/model/lessons/lesson_parser.cpp",
                                         "app/model/lessons/lesson_prose.cpp",
                                         "app/platform/headless_context.cpp",
                                         "app/step_pictures.cpp",
                                         "app/ui/language.cpp",
                                         "app/ui/shader.cpp",
                                         "app/views/app_frame.cpp",
                                         "app/window.cpp"};
  for (const char* folder : {"sim", "app"})
    for (const SourceFile& file : sources_below(folder)) {
      if (file.path.starts_with("app/cli/") || english.contains(file.path)) continue;
      for (std::size_t at = file.text.find("Error{"); at != std::string::npos; at = file.text.find("Error{", at + 1)) {
        const std::size_t first = file.text.find_first_not_of(" \n", at + std::string_view("Error{").size());
        const std::string_view held = std::string_view(file.text).substr(first);
        CAPTURE(file.path);
        CAPTURE(std::string(held.substr(0, 100)));
        CHECK_FALSE((held.starts_with("fmt::format(") || held.starts_with('"')));
      }
    }
}

TEST_CASE("language: every language has the texts from the simulation's tables") {
  const std::set<std::string> texts = texts_in_tables();
  CHECK(texts.size() > 100);
  for (const std::string& id : available_languages()) {
    const auto language = load_language(id);
    REQUIRE(static_cast<bool>(language));
    if (*language == nullptr) continue;
    CAPTURE(id);
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK((*language)->find(text) != nullptr);
    }
  }
}

TEST_CASE("language: the offered languages are those with a file") {
  const std::vector<std::string> ids = available_languages();
  REQUIRE_FALSE(ids.empty());
  CHECK(ids.front() == "en");
  for (const std::string& id : ids) CHECK(static_cast<bool>(load_language(id)));
}
