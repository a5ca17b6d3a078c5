// check_document(): what nests too deep is refused before a parser sees it, and nothing else is.
#include "sim/core/document.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "sim/core/gpu_spec.h"

namespace tilescope {

namespace {

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

bool good(const std::string& text, DocumentKind kind) {
  return static_cast<bool>(check_document(text, kind, "file"));
}
bool good_toml(const std::string& text) {
  return good(text, DocumentKind::toml);
}
bool good_json(const std::string& text) {
  return good(text, DocumentKind::json);
}

/// Makes a value of random brackets, in TOML or JSON.
class RandomNesting {
 public:
  RandomNesting(std::mt19937& random, bool toml) : random_(random), toml_(toml) {}
  std::string text;

  /// Returns how deep the value is: each bracket is a level, and each part of a key but its last is one more.
  int value(int least) {
    if (least <= 0) {
      const char* const leaves[] = {"1", "\"[{\"", "true", "\"a.b\\\"]\"", "12"};
      text += leaves[below(5)];
      return 0;
    }
    const bool is_list = below(2) == 0;
    text += is_list ? "[" : "{";
    int deepest = 0;
    const int count = 1 + below(3), deep = below(count);
    for (int i = 0; i < count; ++i) {
      if (i > 0) text += ", ";
      const int dots = is_list ? 0 : key(toml_ ? below(3) : 0);
      deepest = std::max(deepest, dots + value(i == deep ? least - 1 - dots : std::min(least - 2, below(3))));
    }
    text += is_list ? "]" : "}";
    return 1 + deepest;
  }
  /// Returns its dots.
  int key(int dots) {
    for (int i = 0; i < dots; ++i) text += below(2) == 0 ? "a." : "\"b.c\" . ";
    text += toml_ ? "k = " : "\"k\": ";
    return dots;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::mt19937& random_;
  bool toml_;
};

}  // namespace

TEST_CASE("document: of random nesting exactly what is deeper than 32 levels is refused") {
  std::mt19937 random(6);
  int good_ones = 0, bad_ones = 0;
  for (int round = 0; round < 300; ++round) {
    const int least = 24 + static_cast<int>(random() % 12);
    RandomNesting json(random, false);
    const int depth = json.value(least);
    CAPTURE(json.text);
    CHECK(good_json(json.text) == (depth <= 32));
    // A table's header has a level for each of its parts, up to the next header.
    RandomNesting toml(random, true);
    const int header = 1 + static_cast<int>(random() % 4), second = 1 + static_cast<int>(random() % 4);
    toml.text = "[" + repeated("h.", header - 1) + "h]\n";
    int deepest = header + toml.key(static_cast<int>(random() % 3));
    deepest += toml.value(least - 6);
    toml.text += round % 2 == 0 ? "\n[[" + repeated("h.", second - 1) + "h]] # [{\n" : " # [{a.b\n";
    toml.text += "s = '" + repeated("[", 40) + "'\n";
    const int after = (round % 2 == 0 ? second : header) + toml.key(1);
    deepest = std::max(deepest, after + toml.value(least - 6));
    CAPTURE(toml.text);
    CHECK(good_toml(toml.text + "\n") == (deepest <= 32));
    ++(deepest <= 32 ? good_ones : bad_ones);
  }
  CHECK(good_ones > 30);
  CHECK(bad_ones > 30);
}

TEST_CASE("document: deep nesting of every sort is refused, with the line") {
  const auto refused = check_document("id = 1\n" + repeated("a.", 50000) + "b = 1\n", DocumentKind::toml, "my.toml");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sentence == "my.toml:2: nested deeper than 32 levels: no file that TileScope reads nests so deep");
  CHECK_FALSE(good_toml("[" + repeated("a.", 50000) + "b]\nx = 1"));
  CHECK_FALSE(good_toml("[[" + repeated("a.", 50000) + "b]]\nx = 1"));
  CHECK_FALSE(good_toml(repeated("a . ", 50000) + "b = 1"));
  CHECK_FALSE(good_toml(repeated("\"a\".", 50000) + "b = 1"));
  CHECK_FALSE(good_toml("a = " + repeated("[", 50000)));
  CHECK_FALSE(good_toml("a = " + repeated("{a = ", 50000)));
  CHECK_FALSE(good_toml("a = " + repeated("{a.b.c.d = ", 9)));
  CHECK_FALSE(good_toml("[" + repeated("a.", 20) + "b]\n" + repeated("a.", 20) + "b = 1"));
  CHECK_FALSE(good_toml("s = \"\"\"text\"\"\"\"\"\n" + repeated("a.", 50000) + "b = 1"));
  CHECK_FALSE(good_toml("s = '\\'\n" + repeated("a.", 50000) + "b = 1"));
  CHECK_FALSE(good_json(repeated("[", 50000)));
  CHECK_FALSE(good_json(repeated("{\"a\":", 50000)));
  CHECK_FALSE(good_json("[\"\\\\\"," + repeated("[", 33)));
}

TEST_CASE("document: the limit is a level, not a length") {
  CHECK(good_json(repeated("[", 32) + repeated("]", 32)));
  CHECK_FALSE(good_json(repeated("[", 33) + repeated("]", 33)));
  CHECK(good_json("[" + repeated("[],", 50000) + "[]]"));
  CHECK(good_json("[" + repeated("0.5,", 50000) + "1]"));
  CHECK(good_toml("a = [" + repeated("0.5, ", 50000) + "1]"));
  CHECK(good_toml("a = [" + repeated("0.5,\n", 50000) + "1]"));
  CHECK(good_toml(repeated("[a.b.c]\nx.y = { z.w = [1.5] }\n", 5000)));
  CHECK(good_toml("a = \"" + repeated("[{a.b.", 5000) + "\" # " + repeated("[{a.", 5000)));
  CHECK(good_toml("a = '''\n" + repeated("[{a.b.'\n", 5000) + "'''\nb = 1"));
  CHECK(good_json("{\"" + repeated("[{", 5000) + "\\\"[\": 1}"));
}

TEST_CASE("document: what is too large is refused with both sizes") {
  const auto refused = check_document(std::string(largest_document_bytes + 1, ' '), DocumentKind::json, "big.json");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sentence.text().find("16777217 bytes, and at most 16777216") != std::string::npos);
}

TEST_CASE("document: every TOML and JSON file that comes with the program passes") {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(TILESCOPE_SOURCE_DIR) + "/assets")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".toml" && extension != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    CAPTURE(entry.path().string());
    CHECK(good(text, extension == ".toml" ? DocumentKind::toml : DocumentKind::json));
    ++files;
  }
  CHECK(files > 10);
}

TEST_CASE("document: the loader of GPU specs refuses deep nesting and does not crash") {
  const auto spec = parse_gpu_spec(repeated("a.", 50000) + "b=1", "deep.toml");
  REQUIRE_FALSE(spec);
  CHECK(spec.error().sentence.text().find("deep.toml:1: nested deeper than") == 0);
}

}  // namespace tilescope
