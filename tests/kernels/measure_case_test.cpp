// Measuring, as far as it can be tested without a device: names, spreads, and what is said where there is nothing to measure on.
#include "kernels/measure/measure_case.h"

#include <doctest/doctest.h>

using namespace tilescope;

TEST_CASE("measure: a device's name leads to the id of its spec") {
  CHECK(spec_id_of("NVIDIA H200") == "h200");
  CHECK(spec_id_of("NVIDIA H100 80GB HBM3") == "h100");
  CHECK(spec_id_of("NVIDIA A100-SXM4-80GB") == "a100");
  CHECK(spec_id_of("NVIDIA GeForce RTX 4090") == "rtx4090");
  CHECK(spec_id_of("") == "");
}

TEST_CASE("measure: a spread is median, least and most") {
  CHECK(spread_of({}) == Spread{});
  CHECK(spread_of({3}) == Spread{3, 3, 3});
  CHECK(spread_of({3, 1, 2}) == Spread{2, 1, 3});
  CHECK(spread_of({4, 1, 2, 9}) == Spread{3, 1, 9});
}

TEST_CASE("measure: a problem that the kernel does not take is refused before a device is looked for") {
  AttentionProblem problem;
  problem.head_dim = 32;
  const Result<MeasuredCase> measured = measure_case(**find_kernel("flash2"), problem, {}, nullptr);
  REQUIRE_FALSE(measured);
  CHECK(measured.error().kind == Error::Kind::wrong_request);
}

TEST_CASE("measure: without a device it is one sentence, and the machine's lack") {
  if (find_device()) return;
  AttentionProblem problem;
  problem.head_dim = 64;
  const Result<MeasuredCase> measured = measure_case(**find_kernel("flash2"), problem, {}, nullptr);
  REQUIRE_FALSE(measured);
  CHECK(measured.error().kind == Error::Kind::machine_lacks);
  CHECK(measured.error().sentence.text().find('\n') == std::string::npos);
}
