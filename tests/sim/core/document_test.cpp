// check_document(): what nests too deep is refused before a parser sees it, and nothing else is.
#include "sim/core/document.h"

#include <filesystem>
#include <fstream>
#include <iterator>
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

}  // namespace

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
