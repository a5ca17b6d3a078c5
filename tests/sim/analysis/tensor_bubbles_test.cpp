// The idle time of the tensor cores: it adds up, and each rung closes the bubble that it is there for.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

TEST_CASE("bubbles: each moment without a product has the cause that what runs then gives it, on every SM") {
  for (const std::string_view id :
       {"standard", "flash1", "flash2", "hopper_producer", "hopper_ping_pong", "hopper_persistent", "flash2_backward"}) {
    CAPTURE(id);
    SimulationRequest request;
    request.algorithm = std::string(id);
    request.problem.heads = request.problem.kv_heads = 3;
    request.problem.seq_q = request.problem.seq_kv = 160;
    request.problem.head_dim = 16;
    request.problem.causal = id != "standard";
    request.gpu = toy_gpu();
    const auto simulation = simulate(request);
    REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
    for (int sm = 0; sm < 4; ++sm) {
      const auto intervals = (*simulation)->trace->intervals(sm);
      const TensorBubbles found = tensor_bubbles(**simulation, sm);
      if (found.busy == 0) continue;
      // The loop of a block: from its first product to the end of its last one.
      std::map<std::int32_t, std::pair<double, double>> loops;
      std::set<double> moments;
      for (const Interval& i : intervals) {
        moments.insert(i.start);
        moments.insert(i.end);
        if (i.unit != Unit::tensor) continue;
        const auto known = loops.emplace(i.run, std::pair(i.start, i.end)).first;
        known->second = {std::min(known->second.first, i.start), std::max(known->second.second, i.end)};
      }
      std::array<double, bubble_causes> idle{};
      std::vector<Bubble> bubbles;
      double busy = 0;
      for (auto end = std::next(moments.begin()); end != moments.end(); ++end) {
        const double begin = *std::prev(end), middle = (begin + *end) / 2;
        bool multiplies = false, computes = false, loads = false, at_edge = false, in_loop = false;
        for (const Interval& i : intervals) {
          if (i.start > middle || i.end < middle) continue;
          const auto loop = loops.find(i.run);
          const bool inside = loop != loops.end() && i.start >= loop->second.first && i.start < loop->second.second;
          multiplies = multiplies || i.unit == Unit::tensor;
          loads = loads || i.unit == Unit::copy;
          if (i.unit == Unit::tensor || i.unit == Unit::copy) continue;
          at_edge = at_edge || !inside || i.unit == Unit::store;
          computes = computes || (inside && (i.unit == Unit::exp || i.unit == Unit::fp32));
        }
        for (const auto& [run, loop] : loops) in_loop = in_loop || (loop.first < middle && middle < loop.second);
        if (multiplies) {
          busy += *end - begin;
          continue;
        }
        const BubbleCause cause = computes   ? BubbleCause::softmax
                                  : !in_loop ? BubbleCause::block_edges
                                  : loads    ? BubbleCause::data
                                  : at_edge  ? BubbleCause::block_edges
                                             : BubbleCause::barriers;
        idle[static_cast<std::size_t>(cause)] += *end - begin;
        if (!bubbles.empty() && bubbles.back().cause == cause && bubbles.back().end == begin)
          bubbles.back().end = *end;
        else
          bubbles.push_back({begin, *end, cause});
      }
      const double whole = *moments.rbegin() - *moments.begin();
      CHECK(found.busy == doctest::Approx(busy / whole));
      for (std::size_t cause = 0; cause < idle.size(); ++cause)
        CHECK(found.idle[cause] == doctest::Approx(idle[cause] / whole).scale(1));
      REQUIRE(found.bubbles.size() == bubbles.size());
      for (std::size_t n = 0; n < bubbles.size(); ++n) {
        CHECK(found.bubbles[n].start == bubbles[n].start);
        CHECK(found.bubbles[n].end == bubbles[n].end);
        CHECK(found.bubbles[n].cause == bubbles[n].cause);
      }
      CHECK(idle[static_cast<std::size_t>(found.longest())] == *std::max_element(idle.begin(), idle.end()));
    }
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
