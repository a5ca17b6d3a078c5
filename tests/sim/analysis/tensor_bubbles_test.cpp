// The idle time of the tensor cores: it adds up, and each rung closes the bubble that it is there for.
#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "sim/analysis/tensor_bubbles.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

TensorBubbles bubbles_of(std::string_view id, std::int64_t seq = 128, const ProgramTile& tile = {48, 16}) {
  SimulationRequest request;
  request.algorithm = std::string(id);
  request.problem.heads = request.problem.kv_heads = 4;
  request.problem.seq_q = request.problem.seq_kv = seq;
  request.problem.head_dim = 16;
  request.tile = tile;
  request.gpu = toy_gpu();
  const auto simulation = simulate(request);
  REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
  return tensor_bubbles(**simulation, 0);
}

double idle(const TensorBubbles& bubbles) {
  return std::accumulate(bubbles.idle.begin(), bubbles.idle.end(), 0.0);
}

}  // namespace

TEST_CASE("bubbles: busy and idle time add up to the whole, and bubbles do not overlap") {
  for (const std::string_view id : {"standard", "flash1", "flash2", "hopper_producer", "hopper_ping_pong", "hopper_persistent"}) {
    CAPTURE(id);
    const TensorBubbles found = bubbles_of(id);
    CHECK(found.busy > 0);
    CHECK(found.busy + idle(found) == doctest::Approx(1).epsilon(1e-9));
    for (std::size_t i = 1; i < found.bubbles.size(); ++i) CHECK(found.bubbles[i].start >= found.bubbles[i - 1].end);
  }
}

TEST_CASE("bubbles: a persistent block closes the bubble between blocks") {
  const auto at_edges = [](std::string_view id) {
    return bubbles_of(id, 384).idle[static_cast<std::size_t>(BubbleCause::block_edges)];
  };
  CHECK(at_edges("hopper_persistent") < at_edges("hopper_ping_pong"));
}

TEST_CASE("bubbles: without products there is nothing to count") {
  const TensorBubbles found = bubbles_of("softmax_safe", 64, {1, 16});
  CHECK(found.bubbles.empty());
  CHECK(found.busy == 0);
}

}  // namespace tilescope
