// Numbers that a person types. tests/page_judges.js reads the same table with an exported page's script.
#include "app/model/lessons/typed_quantity.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace tilescope;

TEST_CASE("typed quantity: each text of the table is the number that it says, or none") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/tests/app/model/lessons/typed_answers.json");
  const nlohmann::json table = nlohmann::json::parse(file);
  REQUIRE(table["numbers"].size() > 50);
  for (const auto& row : table["numbers"]) {
    const auto read = typed_quantity(row[1].get<std::string>(), *figure_unit_from(row[0].get<std::string>()));
    INFO(row.dump());
    REQUIRE(read.has_value() == !row[2].is_null());
    if (read) CHECK(*read == doctest::Approx(row[2].get<double>()).epsilon(1e-12));
  }
}
