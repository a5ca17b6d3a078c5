// Groups of warps that meet through tokens: a producer and two consumers that take turns, and programs that can never go on.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/run_program.h"
#include "tests/sim/engine/fake_program.h"

namespace tilescope {
namespace {

constexpr std::int64_t product_flops = 1 << 14;

/// One block of a producer and two consumers over a ring of `buffers` tiles. Consumers take tiles in turn: 0, 2, 4 … and 1, 3, 5 ….
/// Each token is signalled once a use of its buffer.
class Pipeline final : public TileProgram {
 public:
  Pipeline(int tiles, int buffers, bool frees = true)
      : TileProgram(problem_of(), TileShape{16, 16}, attention_schema()), tiles_(tiles), buffers_(buffers), frees_(frees) {
    LaunchSpec launch;
    launch.name = "pipeline";
    launch.needs.threads = 32 * 9;
    launch.needs.registers_per_thread = 32;
    launch.needs.groups = {{"producer", 1, 0, false}, {"consumer 0", 4}, {"consumer 1", 4}};
    launches_.push_back(launch);
    for (int b = 0; b < buffers; ++b)
      for (const char* kind : {"full", "empty"}) names_.push_back(std::string(kind) + " K " + std::to_string(b));
  }

  void emit_block(int, std::int64_t block, BlockOperations& out) const override {
    out.clear();
    out.block = block;
    out.domain = {};
    out.shared_tiles = TileSet{1} << tiles::k.index();
    out.tokens = names_;
    for (int t = 0; t < tiles_; ++t) {
      Operation load = load_k(16 * t, 16, t % buffers_);
      load.group = 0;
      load.wait_token = empty(t);
      load.wait_count = t / buffers_;
      load.signal_token = full(t);
      add(out, load);
      Operation product = matmul(product_flops);
      product.group = static_cast<std::uint8_t>(1 + t % 2);
      product.wait_token = full(t);
      product.wait_count = 1 + t / buffers_;
      product.iteration = t;
      if (frees_) product.signal_token = empty(t);
      add(out, product);
    }
  }
  std::optional<ClosedForm> closed_form() const override { return std::nullopt; }

 private:
  static AttentionProblem problem_of() {
    AttentionProblem problem;
    problem.seq_q = problem.seq_kv = 4096;
    return problem;
  }
  std::int16_t full(int tile) const { return static_cast<std::int16_t>(2 * (tile % buffers_)); }
  std::int16_t empty(int tile) const { return static_cast<std::int16_t>(2 * (tile % buffers_) + 1); }

  int tiles_, buffers_;
  bool frees_;
  std::vector<std::string> names_;
};

/// One block of `groups` groups that each multiply `count` times, and wait for nobody.
class SideBySide final : public TileProgram {
 public:
  SideBySide(int groups, int count)
      : TileProgram(AttentionProblem{}, TileShape{16, 16}, attention_schema()), groups_(groups), count_(count) {
    LaunchSpec launch;
    launch.name = "side by side";
    launch.needs.threads = 128 * groups;
    launch.needs.registers_per_thread = 32;
    for (int g = 0; g < groups; ++g) launch.needs.groups.push_back({"group", 4});
    launches_.push_back(launch);
  }
  void emit_block(int, std::int64_t block, BlockOperations& out) const override {
    out.clear();
    out.block = block;
    out.domain = {};
    for (int i = 0; i < count_ * groups_; ++i) {
      Operation product = matmul(product_flops);
      product.group = static_cast<std::uint8_t>(i % groups_);
      add(out, product);
    }
  }
  std::optional<ClosedForm> closed_form() const override { return std::nullopt; }

 private:
  int groups_, count_;
};

template <class Program>
Result<std::shared_ptr<const Simulation>> run(const Program& program, const GpuSpec& gpu = toy_gpu()) {
  static const ListingLine listing[] = {{}, {}, {}};
  static const ProgramInfo info = {.id = "pipeline", .title = "Pipeline", .family = "test", .listing = listing};
  SimulationRequest request;
  request.algorithm = "pipeline";
  request.gpu = gpu;
  request.problem = program.problem();
  return run_program(request, info, std::make_shared<Program>(program));
}

struct Span {
  double start = 0, end = 0;
};

/// When each tile was loaded and multiplied.
std::pair<std::map<int, Span>, std::map<int, Span>> spans_of(const Simulation& run) {
  std::map<int, Span> loads, products;
  for (const Interval& interval : run.trace->intervals(0)) {
    const int tile = interval.op / 2;
    (interval.kind == OpKind::load ? loads : products)[tile] = {interval.start, interval.end};
  }
  return {loads, products};
}

}  // namespace

TEST_CASE("groups: a product waits for the tile that its producer loads, and a load for a buffer that is read") {
  constexpr int tiles = 12, buffers = 2;
  const auto made = run(Pipeline(tiles, buffers));
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  const auto [loads, products] = spans_of(**made);
  REQUIRE(loads.size() == tiles);
  REQUIRE(products.size() == tiles);
  for (int t = 0; t < tiles; ++t) {
    CAPTURE(t);
    CHECK(products.at(t).start >= loads.at(t).end);
    if (t >= buffers) CHECK(loads.at(t).start >= products.at(t - buffers).end);
    if (t >= 2) CHECK(products.at(t).start >= products.at(t - 2).end);  // a consumer does one thing at a time
  }
}

TEST_CASE("groups: the producer loads ahead while consumers work, as far as buffers are free") {
  constexpr int tiles = 16;
  double before = 0;
  for (const int buffers : {4, 2, 1}) {
    const auto made = run(Pipeline(tiles, buffers));
    REQUIRE(made);
    const auto [loads, products] = spans_of(**made);
    int overlapping = 0;
    for (int t = 1; t < tiles; ++t) overlapping += loads.at(t).start < products.at(t - 1).end ? 1 : 0;
    CAPTURE(buffers);
    if (buffers == 1)
      CHECK(overlapping == 0);
    else
      CHECK(overlapping > 0);
    CHECK((*made)->cycles.value >= before);  // fewer buffers are never faster
    before = (*made)->cycles.value;
    CHECK((*made)->ledger.total(tensors::k, Link::l2_to_sm).value == tiles * 16 * 32);
  }
}

TEST_CASE("groups: a token that nobody signals is an error that names the group and the token") {
  const auto made = run(Pipeline(6, 2, false));
  REQUIRE_FALSE(made);
  CHECK(made.error().sentence ==
        "the program can never go on: producer waits for signal 1 of token 'empty K 0', which was signalled 0 times");
}

TEST_CASE("groups: a block without groups that waits for a signal too many is an error that names the token") {
  const auto made = run_fake(toy_gpu(), {3}, [](int, std::int64_t, BlockOperations& out) {
    const int load = add(out, load_k(0, 16));
    const int product = add_after(out, load, matmul(512));
    out.operations[static_cast<std::size_t>(product)].wait_count = 2;
  });
  REQUIRE_FALSE(made);
  CHECK(made.error().sentence ==
        "the program can never go on: a block waits for signal 2 of token 'token 0', which was signalled 1 times");
}

TEST_CASE("groups: what waits for HBM lands later by what is asked for after it, at most by hbm.reorder_cycles") {
  constexpr int buffers = 4;
  const auto landings = [](double reorder_cycles) {
    GpuSpec gpu = toy_gpu();
    gpu.hbm_bytes_per_second = 5 * gpu.sm_clock_hz;  // a tile of 512 bytes takes a hundred cycles
    gpu.hbm_reorder_cycles = reorder_cycles;
    const auto made = run(Pipeline(buffers, buffers), gpu);
    REQUIRE(made);
    const auto loads = spans_of(**made).first;
    std::vector<double> ends;
    for (int t = 0; t < buffers; ++t) ends.push_back(loads.at(t).end);
    return ends;
  };
  const std::vector<double> in_order = landings(0), slightly = landings(7), much = landings(1e6);
  for (std::size_t t = 0; t + 1 < buffers; ++t) {
    CAPTURE(t);
    CHECK(slightly[t] == doctest::Approx(in_order[t] + 7));
    CHECK(much[t] > in_order[t] + 50);
    CHECK(much[t] <= doctest::Approx(in_order.back() + 100.0 * static_cast<double>(t)));
  }
  CHECK(slightly.back() == in_order.back());  // nothing is asked for after the last
  CHECK(much.back() == in_order.back());
}

TEST_CASE("groups: groups of one block that share the tensor cores take as long as all their products") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_dependent_cycles = 4;
  constexpr int count = 8;
  const auto cycles_of = [&](int groups) {
    const auto made = run(SideBySide(groups, count), gpu);
    REQUIRE(made);
    return (*made)->cycles.value;
  };
  const double work = count * product_flops * cycles_per(gpu.product_flops_per_cycle());
  for (const int groups : {1, 2, 3, 4}) {
    CAPTURE(groups);
    CHECK(cycles_of(groups) >= groups * work);
    CHECK(cycles_of(groups) < (groups + 1) * work + 2000);
  }
}

TEST_CASE("groups: a run with tokens repeats to the bit") {
  const auto a = run(Pipeline(12, 3)), b = run(Pipeline(12, 3));
  REQUIRE(a);
  REQUIRE(b);
  CHECK((*a)->cycles.value == (*b)->cycles.value);
  for (std::int64_t step = 0; step < (*a)->trace->step_count(0); ++step)
    REQUIRE((*a)->trace->state_at(0, step) == (*b)->trace->state_at(0, step));
}

}  // namespace tilescope
