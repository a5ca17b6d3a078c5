// What expressions cost the flex kernels: the functions as counted in the machine code, the rest by rule.
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "sim/masks/element_cost.h"

namespace tilescope {
namespace {

ElementCost cost_of_score(const std::string& text) {
  const auto expression = parse_score_expression(text, {1, 2, 2, 256, 256, 64});
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  return element_cost(*expression);
}
ElementCost cost_of_mask(const std::string& text) {
  const auto expression = parse_mask_expression(text, {1, 2, 2, 256, 256, 64});
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  return element_cost(*expression);
}

}  // namespace

TEST_CASE("element cost: functions cost what the machine code has, as counted") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/kernels/lab/measured/h100-flex-functions-2026-11-25.txt");
  REQUIRE(file.good());
  std::map<std::string, ElementCost> counted;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    ElementCost cost;
    if (words >> name >> cost.fp32 >> cost.alu >> cost.special) counted[name] = cost;
  }
  for (const char* name : {"exp", "exp2", "log", "tanh", "sigmoid", "sqrt"}) {
    CAPTURE(name);
    REQUIRE(counted.contains(name));
    const ElementCost cost = cost_of_score(std::string(name) + "(score)");
    CHECK(std::abs(cost.fp32 - counted[name].fp32) < 0.006);
    CHECK(std::abs(cost.alu - counted[name].alu) < 0.006);
    CHECK(std::abs(cost.special - counted[name].special) < 0.006);
  }
  CHECK(cost_of_score("1.0 / score") == ElementCost{counted["divide"].fp32, counted["divide"].alu, counted["divide"].special});
}

TEST_CASE("element cost: what changes with the query or the key alone costs an element nothing") {
  CHECK(cost_of_score("score") == ElementCost{});
  CHECK(cost_of_score("score * exp2(-8.0 * (h + 1) / H)") == ElementCost{1, 0, 0});
  CHECK(cost_of_score("score + 2.0 * q - 3.0 * kv").fp32 == 2);
  CHECK(cost_of_score("score + (q - kv)") == ElementCost{2, 0, 0});
  CHECK(cost_of_score("score / 3") == ElementCost{1, 0, 0});
  CHECK(cost_of_mask("q >= kv") == ElementCost{0, 1, 0});
  CHECK(cost_of_mask("q >= kv && q - kv < 9 && h == 0") == ElementCost{0, 4, 0});
  CHECK(cost_of_mask("q // 7 == kv // 7") == ElementCost{0, 1, 0});
  CHECK(cost_of_mask("q * (h + 2) - 3 * kv + B < 9") == ElementCost{0, 1, 0});
  CHECK(cost_of_mask("q * kv < 9") == ElementCost{1, 1, 0});  // not linear
  CHECK(cost_of_mask("(q - kv) % 4 == 0") == ElementCost{2, 4, 0});
  CHECK(cost_of_mask("(q - kv) % (q + 1) == 0").fp32 > 10);
}

}  // namespace tilescope
