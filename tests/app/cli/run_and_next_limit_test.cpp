// simulate_run_and_next_limit(): what would bound next is the same, whether it was guessed rightly, wrongly or not at all.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "app/cli/run_and_next_limit.h"
#include "app/model/requests/assets.h"

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

TEST_CASE("run and next limit: the next limit is that of simulating one after the other") {
  // Too few heads for a guess; a guess that is right; a small L2 that an eighth of the problem still fits, so that the guess is
  // wrong.
  SimulationRequest fits = request_of("standard", "h200", 16, 512);
  fits.gpu.l2_capacity_bytes = 4e6;
  for (const SimulationRequest& request : {request_of("flash2", "toy", 1, 64), request_of("flash2", "h200", 64, 512), fits}) {
    const auto both = simulate_run_and_next_limit(request);
    REQUIRE(both);
    const auto alone = simulate(request);
    REQUIRE(alone);
    CHECK(both->simulation->cycles.value == (*alone)->cycles.value);
    // On a GPU that slows under load it is the limit of the run at that clock.
    CHECK(both->under_load.has_value() == request.gpu.slows_under_load());
    const auto next = next_limit(both->under_load ? *both->under_load->simulation : **alone);
    REQUIRE(next);
    REQUIRE(both->next);
    CHECK(both->next->without == next->without);
    CHECK(both->next->before_ns == next->before_ns);
    CHECK(both->next->outcome.time_ns == next->outcome.time_ns);
    CHECK(both->next->outcome.bound == next->outcome.bound);
  }
}

TEST_CASE("run and next limit: it says what it simulates, and stops where it is told to") {
  const SimulationRequest request = request_of("flash2", "h200", 32, 8192);  // each of its simulations takes long enough to report
  std::vector<std::string> shown;
  const Watch watch{[&](std::string_view what, double) {
                      if (shown.empty() || shown.back() != what) shown.emplace_back(what);
                      return true;
                    },
                    [] { return false; }};
  REQUIRE(simulate_run_and_next_limit(request, {}, watch));
  REQUIRE(shown.size() >= 2);
  CHECK(shown[0] == "the run");
  CHECK(shown[1] == "the run at its clock under load");
  bool asked = false;
  const auto stopped =
      simulate_run_and_next_limit(request, {}, {[&](std::string_view, double) { return !(asked = true); }, [&] { return asked; }});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind == Error::Kind::cancelled);
}

TEST_CASE("run and next limit: what cannot be simulated is an error and leaves nothing running") {
  SimulationRequest request = request_of("flash2", "h200", 64, 512);
  request.blocks_per_sm = 1000;
  CHECK_FALSE(simulate_run_and_next_limit(request));
}
