// FLOP of the elements that a mask leaves visible.
#include "app/model/measurements/useful_flops.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "sim/engine/simulation.h"
#include "sim/masks/mask_choice.h"

using namespace tilescope;

TEST_CASE("useful FLOP: the rate under a mask is of the visible elements, as papers count them") {
  SimulationRequest request;
  request.algorithm = "flex";
  request.gpu = *load_gpu("h100");
  request.problem = {.heads = 2, .kv_heads = 2, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16};
  request.masking.masks = {"q >= kv && q - kv <= 100"};
  REQUIRE(settle_masks(request.masking, request.problem, {}));
  const auto made = simulate(request);
  REQUIRE(made);
  double visible = 0;
  for (int q = 0; q < 1024; ++q) visible += std::min(q, 100) + 1;
  CHECK(useful_flops(**made) == doctest::Approx(4.0 * 2 * visible * 64));
  CHECK(useful_flops(**made) < static_cast<double>((*made)->flops));
  // A causal mask hides less than half where there are more keys than queries.
  request.problem = {.seq_q = 512, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16, .causal = true};
  request.masking.masks.clear();
  const auto tall = simulate(request);
  REQUIRE(tall);
  CHECK(useful_flops(**tall) == doctest::Approx(4.0 * 64 * (512.0 * 512 + 512.0 * 513 / 2)));
  // Every block is partial, and there are 2^28 elements.
  request.problem = {.seq_q = 16384, .seq_kv = 16384, .head_dim = 64, .dtype = DataType::fp16};
  request.masking.masks = {"(q - kv) % 2 == 0"};
  REQUIRE(settle_masks(request.masking, request.problem, {}));
  const auto long_run = simulate(request);
  REQUIRE(long_run);
  CHECK(useful_flops(**long_run) == 0);
}
