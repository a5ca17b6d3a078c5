// Rooflines: ceilings from a spec's numbers, points from a ledger filled by hand.
#include <doctest/doctest.h>

#include "sim/analysis/roofline.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

Simulation simulation_of(std::string_view id, const AttentionProblem& problem, const GpuSpec& gpu) {
  Simulation simulation;
  simulation.info = *find_program(id);
  simulation.request.gpu = gpu;
  simulation.request.problem = problem;
  auto program = simulation.info->make(problem, {16, 16}, gpu);
  REQUIRE(program);
  simulation.program = std::move(*program);
  const auto launches = simulation.program->launches();
  simulation.ledger = Ledger(static_cast<int>(launches.size()), static_cast<int>(simulation.info->listing.size()));
  for (const LaunchSpec& launch : launches)
    simulation.launches.push_back({std::string(launch.name), launch.blocks(), 128, 0, 1, 1, Cycles(1000)});
  return simulation;
}

}  // namespace

TEST_CASE("roofline: ceilings are the products of the spec's numbers") {
  const Roofline toy = roofline_of(toy_gpu(), 64);
  REQUIRE(toy.ceilings.size() == 5);
  CHECK(toy.ceilings[0].name == "HBM");
  CHECK(toy.ceilings[0].rate == 64e9);
  CHECK(toy.ceilings[0].ridge == 4 * 512.0 / 64);
  CHECK(toy.ceilings[1].name == "L2");
  CHECK(toy.ceilings[1].rate == 128e9);  // four ports of 32 bytes carry just what the L2 gives
  CHECK(toy.ceilings[2].rate == 4 * 128e9);
  CHECK(toy.ceilings[3].name == "tensor cores");
  CHECK(toy.ceilings[3].rate == 4 * 512e9);
  CHECK(toy.ceilings[4].name == "exponentials");
  CHECK(toy.ceilings[4].rate == 4 * 16e9 * 64);
  CHECK(toy.ceilings[0].at(2) == 128e9);
  CHECK(toy.ceilings[3].at(2) == 4 * 512e9);
}

TEST_CASE("roofline: a GPU without an L2 has no ceiling for it") {
  for (const RooflineCeiling& ceiling : roofline_of(textbook_gpu(), 0).ceilings) {
    CHECK(ceiling.name != "L2");
    CHECK(ceiling.name != "exponentials");
  }
}

TEST_CASE("roofline: the launches of standard attention carry their own products, and softmax none") {
  const AttentionProblem problem = {.heads = 3, .seq_q = 64, .seq_kv = 48, .head_dim = 32};
  Simulation simulation = simulation_of("standard", problem, toy_gpu());
  for (int launch = 0; launch < 3; ++launch) simulation.ledger.add(launch, Tensor::s, Link::l2_to_sm, 1, 32000);
  simulation.ledger.add(0, Tensor::q, Link::hbm_read, 1, 16000);
  const auto points = roofline_points(simulation);
  REQUIRE(points.size() == 4);
  const double product = 2.0 * 3 * 64 * 48 * 32;
  CHECK(points[0].launch == "scores");
  CHECK(points[0].level == "HBM");
  CHECK(points[0].intensity == product / 16000);
  CHECK(points[0].ceiling == 4 * 512e9);
  CHECK(points[1].level == "L2");
  CHECK(points[1].flops == product);
  CHECK(points[1].flops_per_second == product / 1e-6);
  CHECK(points[1].bytes_per_second == 32e9);
  CHECK(points[1].ceiling == 4 * 512e9);  // 128e9 * 18.4 operations a byte would be more than the tensor cores do
  CHECK(points[1].fraction == doctest::Approx(std::max(32e9 / 128e9, product / 1e-6 / (4 * 512e9))));
  CHECK(points[2].launch == "softmax");
  CHECK(points[2].flops == 0);
  CHECK(points[2].exps >= 2.0 * 3 * 64 * 48);
  CHECK(points[2].fraction == 0.25);
  CHECK(points[3].flops == product);
}

TEST_CASE("roofline: what the launches carry adds up to the closed form") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    const AttentionProblem problem = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 96, .head_dim = 16};
    Simulation simulation = simulation_of(info.id, problem, toy_gpu());
    for (int launch = 0; launch < static_cast<int>(simulation.launches.size()); ++launch)
      simulation.ledger.add(launch, Tensor::q, Link::l2_to_sm, 1, 100);
    double flops = 0, exps = 0;
    for (const RooflinePoint& point : roofline_points(simulation)) {
      flops += point.flops;
      exps += point.exps;
    }
    CHECK(flops == static_cast<double>(simulation.program->closed_form()->flops));
    CHECK(exps == static_cast<double>(simulation.program->closed_form()->exps));
  }
}
