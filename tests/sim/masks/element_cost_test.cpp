// What expressions cost the flex kernels: the functions as counted in the machine code, the rest by rule.
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/element_cost.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

ElementCost cost_of_score(const std::string& text, bool is_forward = false) {
  const auto expression = parse_score_expression(text, {1, 2, 2, 256, 256, 64});
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  return element_cost(*expression, h200_gpu(), is_forward);
}
ElementCost cost_of_mask(const std::string& text) {
  const auto expression = parse_mask_expression(text, {1, 2, 2, 256, 256, 64});
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  return element_cost(*expression, h200_gpu());
}

}  // namespace

TEST_CASE("element cost: functions cost what the machine code has, as counted") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/kernels/lab/measured/h100-flex-functions-2026-11-27.txt");
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
  for (const char* score : {"tanh(score)", "20 * tanh(score / 20)", "tanh(0.5 * score * 3.0) * 2.0"}) {
    CAPTURE(score);
    const ElementCost cost = cost_of_score(score, true);
    CHECK(cost.fp32 == doctest::Approx(counted["softcap"].fp32));
    CHECK(std::abs(cost.all() - (counted["softcap"].fp32 + counted["softcap"].alu + counted["softcap"].special)) < 0.04);
    CHECK(cost_of_score(score) == cost_of_score("tanh(score)"));  // the backward pass needs the value itself
  }
  CHECK(cost_of_score("20 * tanh((score + q) / 20)", true).fp32 == doctest::Approx(counted["softcap"].fp32 + 2));
}

TEST_CASE("element cost: a division by a constant is a multiplication, and any other makes a warp wait, as measured") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/kernels/lab/measured/h200-call-latency-2026-11-28.txt");
  REQUIRE(file.good());
  std::map<std::string, double> cycles;  // of a warp alone, by the sines, with "/" where a division follows
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double alone = 0;
    if (words >> name >> alone) cycles[name] = alone;
  }
  REQUIRE(cycles.contains("0/"));
  const ElementCost divided = cost_of_score("1.0 / score");
  CHECK(divided.in_calls == doctest::Approx(cycles["0/"] - cycles["0"]));
  CHECK(divided.special > 1);
  CHECK(divided.all() > 10);
  CHECK(cost_of_score("score / (h + 1.0)") == divided);  // the text of the kernel has no reciprocal of what changes with the head
  CHECK(cost_of_score("score / 3") == ElementCost{1, 0, 0});
  CHECK(cost_of_score("score / (2.0 * H)") == ElementCost{1, 0, 0});
}

TEST_CASE("element cost: sines are computed up to four at a time") {
  const auto sines = [](int count) {
    std::string text = "score";
    for (int i = 0; i < count; ++i) text += " + cos(" + std::to_string(i + 1) + ".0 * score)";
    // Beside the cosines: a product each, and a sum each.
    const ElementCost cost = cost_of_score(text);
    return ElementCost{cost.fp32 - 2 * count, cost.alu, cost.special, cost.in_calls};
  };
  const ElementCost one = sines(1), two = sines(2), four = sines(4);
  CHECK(two.all() < 2 * one.all());
  CHECK(four.all() < 2 * two.all());
  CHECK(sines(3) == four);
  CHECK(sines(8).all() == doctest::Approx(2 * four.all()));
  CHECK(sines(9).all() == doctest::Approx(2 * four.all() + one.all()));
  // The function as counted, a part of each group's call, and the comparison with the bound.
  CHECK(four.fp32 > 55 + 4);
  CHECK(four.alu > 21 + 3.06);
  CHECK(four.all() < 100);
  // A warp waits in one call after the other.
  CHECK(one.in_calls > 100);
  CHECK(two.in_calls < 2 * one.in_calls);
  CHECK(four.in_calls < 2 * two.in_calls);
  CHECK(sines(9).in_calls == doctest::Approx(2 * four.in_calls + one.in_calls));
  CHECK(cost_of_score("20 * tanh(score / 20)").in_calls == 0);
  const auto sizes_of = [](const char* text) {
    std::vector<std::size_t> sizes;
    for (const auto& group : sines_together(*parse_score_expression(text, {1, 2, 2, 256, 256, 64}))) sizes.push_back(group.size());
    return sizes;
  };
  CHECK(sizes_of("score + sin(score) + sin(2.0 * score) + cos(score)") == std::vector<std::size_t>{2, 1});
  CHECK(sizes_of("score + sin(sin(sin(score)))") == std::vector<std::size_t>{1, 1, 1});  // each needs the one before
  CHECK(sizes_of("score + sin(1.0 * q) + sin(2.0 * q) + sin(3.0 * kv)").empty());        // once a row or a key
}

TEST_CASE("element cost: a call takes the time that the GPU's spec says") {
  GpuSpec gpu = h200_gpu();
  gpu.sm_sine_call_cycles = 100, gpu.sm_two_sines_call_cycles = 150, gpu.sm_four_sines_call_cycles = 180;
  const auto cycles = [&](const char* text) {
    return element_cost(*parse_score_expression(text, {1, 2, 2, 256, 256, 64}), gpu).in_calls;
  };
  CHECK(cycles("score + sin(score)") == 100);
  CHECK(cycles("score + sin(score) + sin(2.0 * score)") == 150);
  CHECK(cycles("score + sin(score) + sin(2.0 * score) + sin(3.0 * score) + cos(score)") == 180 + 100);
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
