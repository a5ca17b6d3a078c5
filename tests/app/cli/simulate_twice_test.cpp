// simulate_twice(): what would bound next is the same, whether it was guessed rightly, wrongly or not at all.
#include <doctest/doctest.h>

#include "app/cli/simulate_twice.h"
#include "app/model/assets.h"

using namespace tilescope;

namespace {

SimulationRequest request_of(const char* algorithm, const char* gpu, std::int64_t heads, std::int64_t n) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = *load_gpu(gpu);
  request.problem = {.heads = heads, .kv_heads = heads, .seq_q = n, .seq_kv = n, .head_dim = 64};
  return request;
}

}  // namespace

TEST_CASE("simulate twice: the next limit equals that of two sequential runs") {
  // Too few heads for a guess; a guess that is right; a small L2 that an eighth of the problem still fits, so that the guess is
  // wrong.
  SimulationRequest fits = request_of("standard", "h200", 16, 512);
  fits.gpu.l2_capacity_bytes = 4e6;
  for (const SimulationRequest& request : {request_of("flash2", "toy", 1, 64), request_of("flash2", "h200", 64, 512), fits}) {
    const auto both = simulate_twice(request);
    REQUIRE(both);
    const auto alone = simulate(request);
    REQUIRE(alone);
    CHECK(both->simulation->cycles.value == (*alone)->cycles.value);
    const auto next = next_limit(**alone);
    REQUIRE(next);
    REQUIRE(both->next);
    CHECK(both->next->without == next->without);
    CHECK(both->next->before_ns == next->before_ns);
    CHECK(both->next->outcome.time_ns == next->outcome.time_ns);
    CHECK(both->next->outcome.bound == next->outcome.bound);
  }
}

TEST_CASE("simulate twice: an invalid request is an error and leaves no thread running") {
  SimulationRequest request = request_of("flash2", "h200", 64, 512);
  request.blocks_per_sm = 1000;
  CHECK_FALSE(simulate_twice(request));
}
