// Additions to HBM in the order of the simulated time.
#include <doctest/doctest.h>

#include <string_view>

#include "sim/numerics/arrival_order.h"
#include "sim/programs/backward_tensors.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulated(std::string_view algorithm, BlockOrder order, const GpuSpec& gpu = toy_gpu()) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.problem = {.heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16, .dtype = DataType::fp32, .pass = Pass::backward};
  request.tile = ProgramTile(TileShape{16, 16});
  request.block_order = order;
  request.gpu = gpu;
  auto run = simulate(request);
  REQUIRE_MESSAGE(run, (run ? "" : run.error().sentence));
  return *run;
}

Matrix plane_of(const Simulation& simulation, Tensor tensor) {
  const auto run = run_as_simulated(simulation, {});
  REQUIRE_MESSAGE(run, (run ? "" : run.error().sentence));
  return run->plane(1, tensor);
}

}  // namespace

TEST_CASE("arrival order: what blocks add to HBM is added in the order of the simulated time, whatever the order of execution") {
  const auto run = simulated("flash2_backward", BlockOrder::launch), other = simulated("flash2_backward", BlockOrder::reversed);
  const Matrix one = plane_of(*run, tensors::d_q), two = plane_of(*other, tensors::d_q);
  CHECK(one == plane_of(*run, tensors::d_q));
  CHECK_FALSE(one == two);
  CHECK(relative_error(one, two) < 1e-6);
  for (const Tensor tensor : {tensors::d_k, tensors::d_v}) CHECK(plane_of(*run, tensor) == plane_of(*other, tensor));
}

TEST_CASE("arrival order: a program with a fixed order of its sums has the same bits in every order of blocks") {
  for (const std::string_view id : {"flash2_backward_two_pass", "flash2_backward_deterministic", "standard_backward"}) {
    CAPTURE(id);
    const Matrix one = plane_of(*simulated(id, BlockOrder::launch), tensors::d_q);
    CHECK(one == plane_of(*simulated(id, BlockOrder::reversed), tensors::d_q));
    CHECK(one == *run_plane(*simulated(id, BlockOrder::launch)->program, {}, 1, tensors::d_q));
  }
}

TEST_CASE("arrival order: a GPU whose SMs are not all in focus is refused in a sentence") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 16;
  const auto run = simulated("flash2_backward", BlockOrder::launch, gpu);
  const auto refused = run_as_simulated(*run, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sentence.text().find("needs every SM in focus") != std::string::npos);
}
