// Remainders of q - kv, by row and by key: the same elements, and less for each of them.
#include <string>

#include <doctest/doctest.h>

#include "sim/masks/element_cost.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/kernel_source.h"
#include "sim/masks/split_remainders.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

Expression mask_of(const std::string& text) {
  const auto parsed = parse_mask_expression(text, {2, 3, 3, 40, 56, 64});
  REQUIRE_MESSAGE(parsed, (parsed ? std::string() : parsed.error().sentence.text()));
  return *parsed;
}

}  // namespace

TEST_CASE("split remainders: every element is as visible as before") {
  for (const char* text :
       {"(q - kv) % 3 == 0", "abs(q - kv) % 4 != 0", "0 == (kv - q) % -5", "abs(kv - q) <= 20 && abs(kv - q) % 2 == 0",
        "let far = q - kv; far >= 0 && (far % 8 == 0 || far < 4)", "(q - kv) % 3 == 1", "(q + kv) % 3 == 0",
        "(q - kv) % (h + 2) == 0", "(2 * q - kv) % 3 == 0", "q >= kv"}) {
    CAPTURE(text);
    const Expression mask = mask_of(text), split = split_remainders(mask);
    CHECK(split.text == mask.text);
    ExpressionEvaluator<float> expected(mask), found(split);
    int differing = 0;
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t q = 0; q < 40; ++q)
        for (std::int64_t kv = 0; kv < 56; ++kv) differing += expected({1, h, q, kv}).integer != found({1, h, q, kv}).integer;
    CHECK(differing == 0);
  }
}

TEST_CASE("split remainders: a distance that only the remainder needs is not computed, and an element costs its comparison") {
  const Expression split = split_remainders(mask_of("abs(q - kv) % 4 == 0"));
  for (const ExprNode& node : split.nodes) CHECK_FALSE((node.op == ExprOp::subtract || node.op == ExprOp::absolute));
  CHECK(element_cost(split, h200_gpu()) == ElementCost{.alu = 1});
  const Expression both = split_remainders(mask_of("abs(q - kv) <= 8 && abs(q - kv) % 4 == 0"));
  CHECK(element_cost(both, h200_gpu()).alu ==
        element_cost(mask_of("abs(q - kv) <= 8"), h200_gpu()).alu + 2);  // and their conjunction
}

TEST_CASE("split remainders: others stay as they are") {
  for (const char* text :
       {"(q - kv) % 3 == 1", "(q + kv) % 3 == 0", "(q - kv) % (h + 2) == 0", "(2 * q - kv) % 3 == 0", "q % 3 == 0"}) {
    CAPTURE(text);
    CHECK(split_remainders(mask_of(text)).nodes.size() == mask_of(text).nodes.size());
  }
}

TEST_CASE("split remainders: a kernel keeps one remainder a row and one a key") {
  const Expression mask = mask_of("abs(q - kv) <= 20 && abs(q - kv) % 2 == 0");
  const KernelSource source = kernel_source(&mask, nullptr);
  CHECK(source.rows == 1);
  CHECK(source.columns == 1);
}

}  // namespace tilescope
