// Tables of expressions: read by name and path, and written back so.
#include <string>

#include <doctest/doctest.h>

#include "app/model/requests/mask_tables.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

TEST_CASE("mask tables: a table keeps the path that it was read from") {
  const TemporaryFolder folder;
  const std::string file = folder.file("documents.csv", "0\n0\n1\n1\n");
  const std::vector<std::string> given = {"doc=" + file};
  const auto tables = load_tables(given);
  REQUIRE(tables);
  REQUIRE(tables->size() == 1);
  CHECK(tables->front()->elements() == 4);
  CHECK(to_text(*tables) == given);
}

TEST_CASE("mask tables: what is no table is one sentence") {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.csv", "0\n");
  const auto refusal = [](std::vector<std::string> given) {
    const auto tables = load_tables(given);
    return tables ? std::string() : tables.error().sentence.text();
  };
  CHECK(refusal({"doc"}) == "table is 'doc': write NAME=FILE, for example doc=documents.csv");
  CHECK(refusal({"a=" + file, "a=" + file}) == "table: a is given twice");
  CHECK(refusal({"q=" + file}) == "table: 'q' already means query, counted from 0");
  CHECK(refusal({"a=" + folder.path("no.csv")}).find("there is no such file") != std::string::npos);
}

}  // namespace tilescope
