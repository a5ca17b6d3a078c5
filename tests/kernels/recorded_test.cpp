// What was recorded on a GPU and is committed: it can be read, it is in order, and what the kernel saw is what mathematics says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "kernels/measure/bundle.h"
#include "kernels/measure/probe_json.h"
#include "kernels/measure/probe_shape.h"
#include "sim/core/element.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/backward_tensors.h"
#include "tests/kernels/shipped_spec.h"

using namespace tilescope;

namespace {

std::vector<std::string> recorded(std::string_view part) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(TILESCOPE_SOURCE_DIR "/assets/measured")) {
    if (entry.path().filename().string().find(part) == std::string::npos) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

double input(const ProbeResult& probe, Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t column) {
  const AttentionProblem& p = probe.problem;
  InputSource source;
  source.seed = probe.seed;
  return static_cast<double>(from_bits(p.dtype, to_bits(p.dtype, source.value(p, tensor, plane, row, column))));
}

/// S, P, dP and dS of one row in float64 from the numbers that the kernel was given; D is that of the rounded O.
std::vector<ProbedPair> expected_pairs(const ProbeResult& probe) {
  const AttentionProblem& p = probe.problem;
  const std::int64_t keys = p.kv_plane_of(probe.plane);
  std::vector<double> q, d_o;
  for (std::int64_t c = 0; c < p.head_dim; ++c) {
    q.push_back(input(probe, tensors::q, probe.plane, probe.query, c));
    d_o.push_back(input(probe, tensors::d_o, probe.plane, probe.query, c));
  }
  std::vector<ProbedPair> pairs;
  std::vector<double> o(q.size());
  double sum = 0;
  for (std::int64_t key = 0; key < p.visible_keys(probe.query); ++key) {
    ProbedPair& pair = pairs.emplace_back();
    std::vector<double> v;
    for (std::size_t c = 0; c < q.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      v.push_back(input(probe, tensors::v, keys, key, column));
      pair.s += q[c] * input(probe, tensors::k, keys, key, column) * p.scale();
      pair.d_p += d_o[c] * v[c];
    }
    pair.p = std::exp(pair.s);
    sum += pair.p;
    for (std::size_t c = 0; c < q.size(); ++c) o[c] += pair.p * v[c];
  }
  double d = 0;
  for (std::size_t c = 0; c < q.size(); ++c)
    d += d_o[c] * static_cast<double>(from_bits(p.dtype, to_bits(p.dtype, static_cast<float>(o[c] / sum))));
  for (ProbedPair& pair : pairs) {
    pair.p /= sum;
    pair.d_s = pair.p * (pair.d_p - d);
  }
  return pairs;
}

/// m, l and alpha of one row after each tile of keys, in float64 from the numbers that the kernel was given; standard has all keys
/// in one step, and its scores are rounded on their way.
std::vector<ProbedStep> expected_steps(const ProbeResult& probe) {
  const AttentionProblem& p = probe.problem;
  const auto value = [&](Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t column) {
    return input(probe, tensor, plane, row, column);
  };
  const bool in_one = probe.kernel == "standard";
  const std::int64_t plane = probe.plane, row = probe.query, visible = p.visible_keys(row);
  const std::int64_t step_keys = in_one ? visible : probe.tile.block_kv;
  std::vector<ProbedStep> steps;
  double m = -std::numeric_limits<double>::infinity(), l = 0;
  const std::int64_t tiles = ceil_div(visible, step_keys);
  const bool from_right = !probe.roles.empty();  // the rungs to Hopper
  for (std::int64_t step = 0; step < tiles; ++step) {
    const std::int64_t first = (from_right ? tiles - 1 - step : step) * step_keys;
    std::vector<double> s;
    for (std::int64_t key = first; key < std::min(visible, first + step_keys); ++key) {
      double sum = 0;
      for (std::int64_t c = 0; c < p.head_dim; ++c)
        sum += value(tensors::q, plane, row, c) * value(tensors::k, p.kv_plane_of(plane), key, c);
      const auto score = static_cast<float>(sum * p.scale());
      s.push_back(in_one ? static_cast<double>(from_bits(p.dtype, to_bits(p.dtype, score))) : sum * p.scale());
    }
    const double now = std::max(m, *std::max_element(s.begin(), s.end())), alpha = std::exp(m - now);
    l *= alpha;
    for (double x : s) l += std::exp(x - now);
    m = now;
    steps.push_back({m, l, alpha});
  }
  return steps;
}

}  // namespace

TEST_CASE("recorded: every launch had as many blocks as its tile program says") {
  const GpuSpec gpu = shipped_spec("h200");
  for (const std::string& text : recorded("h200.json")) {
    const Result<MeasurementBundle> bundle = bundle_from_json(text);
    REQUIRE(bundle);
    CHECK(bundle->cases.size() > 300);
    for (const MeasuredCase& c : bundle->cases) {
      if (c.launches.empty()) continue;  // a library's
      CAPTURE(c.kernel);
      CAPTURE(c.problem.seq_q);
      const auto program = (*find_program(c.kernel))->make(c.problem, c.tile, gpu);
      REQUIRE(program);
      const std::span<const LaunchSpec> launches = (*program)->launches();
      REQUIRE(launches.size() == c.launches.size());
      for (std::size_t i = 0; i < launches.size(); ++i) CHECK(launches[i].blocks() == c.launches[i].blocks);
    }
  }
}

TEST_CASE("recorded: m, l and alpha as the kernel saw them are those of float64 on the same inputs") {
  const std::vector<std::string> texts = recorded("-probe-");
  CHECK_FALSE(texts.empty());
  for (const std::string& text : texts) {
    const Result<ProbeResult> probe = probe_from_json(text);
    REQUIRE_MESSAGE(probe, probe.error().sentence);
    if (!probe->pairs.empty()) continue;
    const std::vector<ProbedStep> expected = expected_steps(*probe);
    REQUIRE(probe->steps.size() == expected.size());
    // A score of standard that lies between two numbers of the type can be rounded either way: then m moves by one of its steps.
    const double within = probe->kernel != "standard" ? 1e-5 : probe->problem.dtype == DataType::fp16 ? 1e-3 : 8e-3;
    CAPTURE(probe->kernel);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(probe->steps[i].m == doctest::Approx(expected[i].m).epsilon(within));
      CHECK(probe->steps[i].l == doctest::Approx(expected[i].l).epsilon(within));
      CHECK(probe->steps[i].alpha == doctest::Approx(expected[i].alpha).epsilon(1e-5));  // 0 where there is one step
    }
  }
}

TEST_CASE("recorded: S, P, dP and dS as a backward kernel had them are those of float64 on the same inputs") {
  int backward = 0;
  for (const std::string& text : recorded("-probe-")) {
    const Result<ProbeResult> probe = probe_from_json(text);
    REQUIRE_MESSAGE(probe, probe.error().sentence);
    if (probe->pairs.empty()) continue;
    ++backward;
    CAPTURE(probe->kernel);
    const std::vector<ProbedPair> expected = expected_pairs(*probe);
    REQUIRE(probe->pairs.size() == expected.size());
    constexpr double within = 1e-4;  // up to 8 steps of 16 products, each truncated to 2^-18 of sums below 64
    for (std::size_t key = 0; key < expected.size(); ++key) {
      CAPTURE(key);
      const ProbedPair &got = probe->pairs[key], &want = expected[key];
      CHECK(std::fabs(got.s - want.s) <= within * std::max(1.0, std::fabs(want.s)));
      CHECK(std::fabs(got.p - want.p) <= within * want.p);
      CHECK(std::fabs(got.d_p - want.d_p) <= within * std::max(1.0, std::fabs(want.d_p)));
      CHECK(std::fabs(got.d_s - want.d_s) <= within * std::max(want.p, std::fabs(want.d_s)));
    }
  }
  CHECK(backward == 7);  // those of assets/suites/probes.txt
}

TEST_CASE("recorded: every block ran once, and the stages of each warp follow each other inside of their block") {
  for (const std::string& text : recorded("-probe-")) {
    const Result<ProbeResult> probe = probe_from_json(text);
    REQUIRE(probe);
    std::map<std::pair<int, std::int64_t>, int> sm_of;
    for (const ProbedBlock& block : probe->blocks) CHECK(sm_of.emplace(std::pair{block.launch, block.block}, block.sm).second);
    std::size_t blocks = 0;
    bool stay = false;
    for (const ProbeShape& shape : probe_shapes(**find_kernel(probe->kernel), probe->problem)) {
      blocks += static_cast<std::size_t>(shape.blocks), stay = stay || shape.blocks_stay;
      CHECK(std::ranges::equal(shape.roles, probe->roles));
    }
    CHECK((stay ? sm_of.size() <= blocks : sm_of.size() == blocks));
    CHECK_FALSE(probe->sm_blocks.empty());
    for (const ProbedSmBlock& block : probe->sm_blocks) {
      CHECK(sm_of.at({block.launch, block.block}) == probe->sm);
      int warp = -1;
      double last = 0;
      for (const ProbeInterval& interval : block.intervals) {
        if (interval.warp != warp) warp = interval.warp, last = block.start_cycles;
        CHECK(interval.start_cycles >= last);
        CHECK(interval.end_cycles >= interval.start_cycles);
        last = interval.end_cycles;
      }
      CHECK(last <= block.end_cycles);
    }
  }
}

TEST_CASE("recorded: bandwidth samples are in order and never above what the HBM can do") {
  const std::vector<std::string> texts = recorded("-hbm-");
  CHECK_FALSE(texts.empty());
  for (const std::string& text : texts) {
    const Result<BandwidthRecord> record = bandwidth_from_json(text);
    REQUIRE_MESSAGE(record, record.error().sentence);
    double last = 0, most = 0;
    for (const BandwidthSample& s : record->samples) {
      CHECK(s.start_ns >= last);
      CHECK(s.end_ns > s.start_ns);
      last = s.end_ns;
      most = std::max(most, (s.read_bytes + s.write_bytes) / (s.end_ns - s.start_ns));
    }
    constexpr double vendor_bytes_a_ns = 4800;  // H200
    CHECK(most < vendor_bytes_a_ns);
  }
}
