// Rooflines: ceilings from a spec's numbers, points from a ledger filled by hand.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "sim/analysis/link_bins.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/roofline.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/attention_schema.h"
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
  simulation.ledger =
      Ledger(static_cast<int>(launches.size()), static_cast<int>(simulation.info->listing.size()), attention_tensors());
  for (const LaunchSpec& launch : launches)
    simulation.launches.push_back({std::string(launch.name), launch.blocks(), 128, 0, 1, 1, Cycles(1000)});
  return simulation;
}

}  // namespace

TEST_CASE("roofline: ceilings are the products of the spec's numbers") {
  const Roofline toy = roofline_of(toy_gpu(), 64);
  REQUIRE(toy.ceilings.size() == 5);
  CHECK(toy.ceilings[0].of == Ceiling::hbm);
  CHECK(toy.ceilings[0].rate == 64e9);
  CHECK(toy.ceilings[0].ridge == 4 * 512.0 / 64);
  CHECK(toy.ceilings[1].of == Ceiling::l2);
  CHECK(toy.ceilings[1].rate == 128e9);  // four ports of 32 bytes carry just what the L2 gives
  CHECK(toy.ceilings[2].rate == 4 * 128e9);
  CHECK(toy.ceilings[3].of == Ceiling::tensor_cores);
  CHECK(toy.ceilings[3].rate == 4 * 512e9);
  CHECK(toy.ceilings[4].of == Ceiling::exponentials);
  CHECK(toy.ceilings[4].rate == 4 * 16e9 * 64);
  CHECK(toy.ceilings[0].at(2) == 128e9);
  CHECK(toy.ceilings[3].at(2) == 4 * 512e9);
}

TEST_CASE("roofline: the nearest ceiling is the one that a launch fills most, exponentials included") {
  const Roofline roof = roofline_of(toy_gpu(), 64);
  RooflinePoint point;
  point.launch = "all";
  point.level = Ceiling::l2;
  point.products = Ceiling::tensor_cores;
  point.bytes = 64e9;
  point.bytes_per_second = 64e9;  // one second
  point.level_rate = 128e9;
  point.flops = 4 * 512e9 / 4;
  NearestCeiling nearest = nearest_ceiling(roof, {&point, 1}, "all", 64);
  CHECK(nearest.of == Ceiling::l2);
  CHECK(nearest.share == 0.5);
  point.flops = 4 * 512e9 * 0.75;
  nearest = nearest_ceiling(roof, {&point, 1}, "all", 64);
  CHECK(nearest.of == Ceiling::tensor_cores);
  CHECK(nearest.share == 0.75);
  point.exps = 4 * 16e9;
  nearest = nearest_ceiling(roof, {&point, 1}, "all", 64);
  CHECK(nearest.of == Ceiling::exponentials);
  CHECK(nearest.share == 1);
  CHECK(nearest_ceiling(roof, {&point, 1}, "another", 64).share == 0);
}

TEST_CASE("roofline: a GPU without an L2 has no ceiling for it") {
  for (const RooflineCeiling& ceiling : roofline_of(textbook_gpu(), 0).ceilings) {
    CHECK(ceiling.of != Ceiling::l2);
    CHECK(ceiling.of != Ceiling::exponentials);
  }
}

TEST_CASE("roofline: the launches of standard attention carry their own products, and softmax none") {
  const AttentionProblem problem = {.heads = 3, .seq_q = 64, .seq_kv = 48, .head_dim = 32};
  Simulation simulation = simulation_of("standard", problem, toy_gpu());
  for (int launch = 0; launch < 3; ++launch) simulation.ledger.add(launch, tensors::s, Link::l2_to_sm, 1, 32000);
  simulation.ledger.add(0, tensors::q, Link::hbm_read, 1, 16000);
  simulation.launches[0].hbm_bytes = 16000;
  simulation.launches[0].hbm_busy_cycles = 250;
  const auto points = roofline_points(simulation);
  REQUIRE(points.size() == 4);
  const double product = 2.0 * 3 * 64 * 48 * 32;
  CHECK(points[0].launch == "scores");
  CHECK(points[0].level == Ceiling::hbm);
  CHECK(points[0].intensity == product / 16000);
  CHECK(points[0].ceiling == 4 * 512e9);
  CHECK(points[1].level == Ceiling::l2);
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
      simulation.ledger.add(launch, simulation.program->inputs().front(), Link::l2_to_sm, 1, 100);
    double flops = 0, exps = 0;
    for (const RooflinePoint& point : roofline_points(simulation)) {
      flops += point.flops;
      exps += point.exps;
    }
    CHECK(flops == static_cast<double>(simulation.program->closed_form()->flops));
    CHECK(exps == static_cast<double>(simulation.program->closed_form()->exps));
  }
}

TEST_CASE("roofline: no point is above its roof, of any program, and launches move what the whole run moves") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    SimulationRequest request;
    request.algorithm = info.id;
    request.gpu = toy_gpu();
    request.gpu.l2_capacity_bytes = 16 * 1024;  // so that launches write back what earlier ones left
    request.gpu.hbm_bytes_per_second = 8e9;
    request.gpu.hbm_read_fraction = 1;
    request.gpu.hbm_sustained_fraction = 0.8;
    request.problem = {.heads = 2, .kv_heads = 2, .seq_q = 96, .seq_kv = 96, .head_dim = 16};
    const auto simulation = simulate(request);
    REQUIRE(simulation);
    const Roofline roof = roofline_of(request.gpu, 64);
    double hbm_bytes = 0;
    for (const RooflinePoint& point : roofline_points(**simulation)) {
      CAPTURE(point.launch);
      CAPTURE(point.level);
      const auto ceiling =
          std::find_if(roof.ceilings.begin(), roof.ceilings.end(), [&](const RooflineCeiling& c) { return c.of == point.level; });
      REQUIRE(ceiling != roof.ceilings.end());
      // The L2 reads and writes at once.
      const double written = point.level == Ceiling::l2 ? l2_write_peak(request.gpu) * request.gpu.sm_clock_hz : 0;
      CHECK(point.level_rate <= (std::max(ceiling->rate, ceiling->shared_rate) + written) * (1 + 1e-9));
      CHECK(point.of_bandwidth() <= 1 + 1e-9);
      CHECK(point.bytes_per_second <= point.level_rate * (1 + 1e-9));
      if (point.level == Ceiling::hbm) hbm_bytes += point.bytes;
    }
    const double all =
        static_cast<double>((*simulation)->ledger.total(Link::hbm_read).value + (*simulation)->ledger.total(Link::hbm_write).value);
    CHECK(hbm_bytes <= all + 1);
    CHECK(hbm_bytes >= 0.5 * all);  // the rest is still queued when the launches end
  }
}

TEST_CASE("roofline: the point of the whole kernel has the work and bytes of its launches, over the whole time") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    SimulationRequest request;
    request.algorithm = info.id;
    request.gpu = toy_gpu();
    request.problem = {.heads = 2, .kv_heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
    const auto run = simulate(request);
    REQUIRE(run);
    const Simulation& simulation = **run;
    const double seconds = simulation.cycles.value / request.gpu.sm_clock_hz;
    const auto total = [&](Link link) { return static_cast<double>(simulation.ledger.total(link).value); };
    for (const RooflinePoint& point : whole_kernel_points(simulation, roofline_points(simulation))) {
      CAPTURE(point.level);
      CHECK(point.flops == static_cast<double>(simulation.program->closed_form()->flops));
      CHECK(point.exps == static_cast<double>(simulation.program->closed_form()->exps));
      if (point.level == Ceiling::l2) CHECK(point.bytes == total(Link::l2_to_sm) + total(Link::sm_to_l2));
      if (point.level == Ceiling::shared_memory) CHECK(point.bytes == total(Link::smem_read) + total(Link::smem_write));
      CHECK(point.flops_per_second == doctest::Approx(point.flops / seconds));
      CHECK(point.bytes_per_second == doctest::Approx(point.bytes / seconds));
      CHECK(point.intensity == doctest::Approx(point.flops / point.bytes));
    }
  }
}

TEST_CASE("roofline: what an earlier launch left in the L2 is told apart from a launch's own bytes") {
  const AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 32};
  Simulation simulation = simulation_of("standard", problem, toy_gpu());
  simulation.ledger.add(0, tensors::s, Link::sm_to_l2, 1, 8192);
  simulation.ledger.add(0, tensors::s, Link::hbm_write, 0, 5000);
  simulation.ledger.add(1, tensors::s, Link::hbm_write, 0, 3000);
  simulation.ledger.add(1, tensors::p, Link::sm_to_l2, 1, 8192);
  simulation.ledger.add(1, tensors::p, Link::hbm_write, 0, 8192);
  for (int launch : {0, 1}) {
    simulation.launches[static_cast<std::size_t>(launch)].hbm_bytes = launch == 0 ? 5000 : 11192;
    simulation.launches[static_cast<std::size_t>(launch)].hbm_busy_cycles = 400;
  }
  const auto points = roofline_points(simulation);
  REQUIRE(points.size() >= 2);
  CHECK(points[0].level == Ceiling::hbm);
  CHECK(points[0].earlier_bytes == 0);
  CHECK(points[0].later_bytes == 3000);
  const auto softmax = std::find_if(points.begin(), points.end(),
                                    [](const RooflinePoint& p) { return p.launch == "softmax" && p.level == Ceiling::hbm; });
  REQUIRE(softmax != points.end());
  CHECK(softmax->earlier_bytes == 3000);
  CHECK(softmax->later_bytes == 0);
  CHECK(softmax->tensors.front().tensor == tensors::p);
}

TEST_CASE("roofline: a GPU with wgmma has a second tensor ceiling, and its ridges are those of mma.sync") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_wgmma_flops_per_cycle = 800;
  const Roofline roof = roofline_of(gpu, 0);
  CHECK(roof.ceilings[3].of == Ceiling::tensor_cores);
  CHECK(roof.ceilings[4].of == Ceiling::wgmma);
  CHECK(roof.ceilings[4].rate == 4 * 800e9);
  CHECK(roof.ceilings[0].ridge == roof.ceilings[3].rate / roof.ceilings[0].rate);
}

TEST_CASE("roofline: a kernel that uses wgmma stands under the ceiling of wgmma") {
  SimulationRequest request;
  request.algorithm = "hopper_persistent";
  request.gpu = h200_gpu();
  request.problem = {.heads = 16, .kv_heads = 16, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128};
  const auto run = simulate(request);
  REQUIRE(run);
  const Roofline roof = roofline_of(request.gpu, 0);
  REQUIRE(roof.ceilings[4].of == Ceiling::wgmma);
  const auto points = roofline_points(**run);
  REQUIRE_FALSE(points.empty());
  for (const RooflinePoint& point : points) {
    CHECK(point.products == Ceiling::wgmma);
    CHECK(point.fraction <= 1);
    CHECK(point.flops_per_second > roof.ceilings[3].rate);  // faster than mma.sync can be
    CHECK(point.flops_per_second <= roof.ceilings[4].rate);
  }
  CHECK(points.front().ridge == doctest::Approx(roof.ceilings[4].rate / roof.ceilings[0].rate));
  const double taken = (*run)->utilisation[static_cast<std::size_t>(Bound::tensor)];
  CHECK(product_share(**run) <= taken * (1 + 1e-9));
  CHECK(product_share(**run) > 0.5);
  // The first launch of a backward pass has no products.
  request.algorithm = "flash3_backward";
  request.problem.pass = Pass::backward;
  const auto backward = simulate(request);
  REQUIRE(backward);
  CHECK(product_instruction(**backward) == ProductInstruction::wgmma);
  CHECK(product_share(**backward) < 0.8);
  for (const RooflinePoint& point : roofline_points(**backward)) CHECK(point.fraction <= 1);
}

TEST_CASE("roofline: the share of a level's bandwidth is the busy share of the report, at the L2 as at HBM") {
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()})
    for (const char* algorithm : {"standard", "flash2", "matmul_tiled"}) {
      CAPTURE(gpu.id);
      CAPTURE(algorithm);
      SimulationRequest request;
      request.algorithm = algorithm;
      request.gpu = gpu;
      request.problem = {.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64};
      const auto run = simulate(request);
      REQUIRE(run);
      const Simulation& simulation = **run;
      const auto launches = roofline_points(simulation);
      for (const RooflinePoint& point : whole_kernel_points(simulation, launches)) {
        if (point.level == Ceiling::hbm)
          CHECK(point.of_bandwidth() == doctest::Approx(simulation.utilisation[static_cast<std::size_t>(Bound::hbm)]));
        if (point.level == Ceiling::l2)
          CHECK(point.of_bandwidth() == doctest::Approx(simulation.utilisation[static_cast<std::size_t>(Bound::l2)]));
      }
      double of_launches = 0;
      for (const LaunchResult& launch : simulation.launches) {
        CHECK(launch.l2_busy_cycles <= launch.cycles.value * (1 + 1e-9));
        of_launches += launch.l2_busy_cycles;
      }
      CHECK(of_launches >= simulation.utilisation[static_cast<std::size_t>(Bound::l2)] * simulation.cycles.value * (1 - 1e-9));
    }
}

TEST_CASE("roofline: where reads share lookups, the L2 has a second ceiling, what the ports of the SMs take") {
  const Roofline toy = roofline_of(toy_gpu(), 0), h200 = roofline_of(h200_gpu(), 0);
  CHECK(toy.ceilings[1].shared_rate == 0);
  const GpuSpec gpu = h200_gpu();
  CHECK(h200.ceilings[1].shared_rate == doctest::Approx(gpu.sm_count * gpu.sm_l2_bytes_per_cycle * gpu.sm_clock_hz));
  CHECK(h200.ceilings[1].shared_rate > h200.ceilings[1].rate);
}

TEST_CASE("roofline: products reach no more of the tensor cores than the time that they are taken") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = h200_gpu();
  request.problem = {.heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64};
  const auto run = simulate(request);
  REQUIRE(run);
  const double products = product_share(**run), taken = (*run)->utilisation[static_cast<std::size_t>(Bound::tensor)];
  const LaunchResult& launch = (*run)->launches.front();
  CHECK(products == doctest::Approx(static_cast<double>((*run)->flops) / (launch.sm_cycles * 2680) * launch.cycles.value /
                                    (*run)->cycles.value));
  CHECK(products < taken);
  // Where no other instruction takes turns from the products, the two are one figure.
  request.gpu.sm_product_issue_cycles = request.gpu.sm_product_mixed_cycles = 0;
  const auto alone = simulate(request);
  REQUIRE(alone);
  CHECK(product_share(**alone) == doctest::Approx((*alone)->utilisation[static_cast<std::size_t>(Bound::tensor)]).epsilon(0.01));
}

TEST_CASE("roofline: the bytes of a point are those of its tensors and of the queue, and those of all launches are the run's") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.gpu.l2_capacity_bytes = 4096;
  request.gpu.hbm_bytes_per_second = 4e9;
  request.problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  for (const char* algorithm : {"standard", "flash2"}) {
    CAPTURE(algorithm);
    request.algorithm = algorithm;
    const auto simulation = simulate(request);
    REQUIRE(simulation);
    const auto launches = roofline_points(**simulation);
    double most_queued = 0;
    for (const RooflinePoint& point : launches) {
      double listed = point.queued_bytes;
      for (const TensorShare& share : point.tensors) listed += share.bytes;
      CHECK(listed == doctest::Approx(point.bytes));
      most_queued = std::max(most_queued, std::abs(point.queued_bytes));
      if (point.level != Ceiling::hbm) CHECK(point.queued_bytes == 0);
    }
    CHECK((most_queued > 0) == (std::string_view(algorithm) == "standard"));
    const auto whole = whole_kernel_points(**simulation, launches);
    REQUIRE(whole.front().level == Ceiling::hbm);
    CHECK(whole.front().bytes == doctest::Approx(static_cast<double>(hbm_bytes(**simulation))));
  }
}
