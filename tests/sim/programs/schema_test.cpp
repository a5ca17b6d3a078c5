// A program with tensors and tiles of its own: what no file outside it has to know.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/mask.h"
#include "sim/engine/run_program.h"
#include "sim/masks/mask_choice.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/tensor_indices.h"
#include "tests/sim/attention_schema.h"
#include "tests/sim/programs/gradient_tables.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

namespace tilescope {
namespace {

enum class Line { load_k, load_q, scores, product, subtract, add, count };

constexpr TensorSpec query{.name = "Q", .meaning = Meaning::query, .index = 0};
constexpr TensorSpec key{.name = "K", .meaning = Meaning::key, .index = 1, .planes = Planes::key, .rows = Axis::key};
constexpr TensorSpec score{.name = "S", .meaning = Meaning::score, .index = 2, .cols = Axis::key};
/// A gradient that every block of keys adds to: declared here and nowhere else.
constexpr TensorSpec query_gradient{.name = "dQ", .meaning = Meaning::query, .index = 3, .type = DataType::fp32, .gradient = true};
constexpr TensorSpec row_dot{.name = "D", .meaning = Meaning::row_dot, .index = 4, .cols = Axis::one, .type = DataType::fp32};

constexpr ChipTileSpec q_tile{.name = "Q", .tensor = query, .index = 1};
constexpr ChipTileSpec k_tile{.name = "K", .tensor = key, .index = 2};
constexpr ChipTileSpec s_tile{.name = "S", .tensor = score, .index = 3};
constexpr ChipTileSpec dq_tile{.name = "dQ", .tensor = query_gradient, .index = 4};
constexpr ChipTileSpec d_tile{.name = "D", .tensor = row_dot, .index = 5};

/// dQ += (S * S − 1) K with S = Q Kᵀ: one block a key tile, which walks the query tiles and adds to fp32 sums in HBM.
class Adding final : public TileProgram {
 public:
  Adding(const AttentionProblem& problem, const ProgramTile& tile)
      : TileProgram(problem, tile,
                    {.tensors = {query, key, score, query_gradient, row_dot},
                     .inputs = {query, key},
                     .outputs = {query_gradient},
                     .tiles = {q_tile, k_tile, s_tile, dq_tile, d_tile}}),
        plan_(problem, tile, schema()) {
    LaunchSpec launch;
    launch.name = "adding";
    launch.grid_x = plan_.grid.key_tiles;
    launch.grid_y = problem.batch * problem.kv_heads;
    launch.axis = Axis::key;
    launch.needs.threads = 128;
    launch.needs.registers_per_thread = 64;
    launch.last_line = static_cast<int>(Line::count);
    launches_.push_back(launch);
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const std::int64_t j = block % grid.key_tiles, kv_plane = block / grid.key_tiles;
    const std::int64_t group = problem_.heads / problem_.kv_heads;
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, BlockPlan::along(Axis::key, kv_plane, grid.keys(j)),
                   tile_bits(q_tile, k_tile));
    b.keys(j, grid.keys(j));
    b.load(Line::load_k, k_tile);
    std::int64_t n = 0;
    for (std::int64_t head = 0; head < group; ++head) {
      b.query_plane(kv_plane * group + head);
      for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
        b.queries(i, grid.queries(i));
        b.iteration(n++, 0);
        b.load(Line::load_q, q_tile);
        b.matmul(Line::scores, s_tile, q_tile, k_tile, {.transpose = true});
        b.multiply(Line::product, s_tile, s_tile);
        b.fill(Line::subtract, d_tile, 1.0F);
        b.subtract_rows(Line::subtract, s_tile, d_tile);
        b.matmul(Line::add, dq_tile, s_tile, k_tile, {});
        b.reduce_add(Line::add, dq_tile);
      }
    }
    out.iterations = static_cast<std::int32_t>(n);
  }
  std::optional<ClosedForm> closed_form() const override { return std::nullopt; }

 private:
  BlockPlan plan_;
};

const AttentionProblem ragged_problem = {
    .batch = 1, .heads = 4, .kv_heads = 2, .seq_q = 40, .seq_kv = 52, .head_dim = 16, .dtype = DataType::fp32};

std::shared_ptr<const Simulation> simulated() {
  static const ListingLine listing[static_cast<std::size_t>(Line::count)] = {};
  static const ProgramInfo info = {.id = "adding", .title = "Adding", .family = "test", .listing = listing};
  SimulationRequest request;
  request.algorithm = "adding";
  request.problem = ragged_problem;
  request.gpu = toy_gpu();
  const auto made = run_program(request, info, std::make_shared<Adding>(ragged_problem, ProgramTile(16, 16)));
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  return *made;
}

/// Problems whose programs declare other tensors: with a mask of their own, with pages, with both; with tables that have gradients.
std::vector<AttentionProblem> declaring_problems() {
  std::vector<AttentionProblem> found(4);
  for (AttentionProblem& problem : found) problem.heads = 2;
  const auto diagonal = [](const AttentionProblem& p) {
    std::vector<bool> seen;
    for (std::int64_t q = 0; q < p.seq_q; ++q)
      for (std::int64_t key = 0; key < p.seq_kv; ++key) seen.push_back(q - key < 8);
    return std::make_shared<MatrixMask>(p.seq_q, p.seq_kv, seen);
  };
  found[1].mask = diagonal(found[1]);
  found[2].page_size = 16;
  found[3].page_size = 16;
  found[3].mask = found[1].mask;
  const std::string score = "score * sigmoid(score * row[q]) + slope[h] * relative[q - kv + NK - 1] + small[(q - kv) % 9]";
  MaskChoice tables{.score = score, .tables = gradient_tables(found[0], score)};
  tables.table_gradients = {"row", "slope", "relative", "small"};
  for (AttentionProblem problem : {found[0], found[1]}) {
    problem.pass = Pass::backward;
    const Status settled = settle_masks(tables, problem);
    REQUIRE_MESSAGE(settled, (settled ? std::string() : settled.error().sentence.text()));
    found.push_back(problem);
  }
  return found;
}

/// Checks that a program declares its tensors and tiles, and that its first and last blocks use no others.
void check_declarations(const ProgramInfo& info, const TileProgram& program) {
  const Schema& schema = program.schema();
  CHECK(schema.fault() == "");
  const auto declared = [&](ChipTile chip_tile) {
    return chip_tile == ChipTile::none || std::find(schema.tiles.begin(), schema.tiles.end(), chip_tile) != schema.tiles.end();
  };
  BlockOperations block;
  for (std::size_t launch = 0; launch < program.launches().size(); ++launch)
    for (const std::int64_t number : {std::int64_t{0}, program.launches()[launch].blocks() - 1}) {
      program.emit_block(static_cast<int>(launch), number, block);
      for (const Operation& op : block.operations) {
        CHECK(declared(op.dst));
        for (ChipTile source : op.src) CHECK(declared(source));
        CHECK(op.line >= 1);
        CHECK(op.line <= static_cast<int>(info.listing.size()));
      }
    }
}

}  // namespace

TEST_CASE("schema: every program declares its tensors and tiles without a fault, in each pass, with a mask and with pages" *
          doctest::test_suite("every program")) {
  int with_mask = 0, with_pages = 0, with_gradients = 0;
  for (const ProgramInfo& info : tested_programs())
    for (const ProgramInfo* row : {&info, info.both}) {
      if (row == nullptr) continue;
      for (const AttentionProblem& problem : declaring_problems()) {
        const auto program = row->make(problem, TileShape{16, 16}, toy_gpu());
        CAPTURE(row->id);
        CAPTURE(to_string(row->pass));
        CAPTURE(problem.mask != nullptr);
        CAPTURE(problem.page_size);
        if (!program) {  // it has no mask or no pages
          CHECK((problem.mask || problem.page_size > 0 || problem.score_change));
          continue;
        }
        with_mask += problem.mask != nullptr;
        with_pages += problem.page_size > 0;
        with_gradients += problem.score_change != nullptr;
        check_declarations(*row, **program);
      }
    }
  if (tested_programs().size() == 1) return;
  CHECK(with_mask > 10);
  CHECK(with_pages >= 2);
  CHECK(with_gradients >= 2);
}

TEST_CASE("schema: an index of attention stands for one tensor and one tile in all programs") {
  std::map<std::size_t, std::set<Tensor>> tensors_of;
  std::map<std::size_t, std::set<std::string_view>> tiles_of;
  for (const ProgramInfo& info : program_table())
    for (const AttentionProblem& problem : declaring_problems()) {
      const auto program = info.make(problem, TileShape{16, 16}, toy_gpu());
      if (!program) continue;
      for (const Tensor tensor : (*program)->tensors()) tensors_of[tensor.index()].insert(tensor);
      for (const ChipTile chip_tile : (*program)->schema().tiles) tiles_of[chip_tile.index()].insert(to_string(chip_tile));
    }
  for (const auto& of : tensors_of)
    if (of.first < tensor_index::after_attention) CHECK_MESSAGE(of.second.size() == 1, "tensors of index ", of.first);
  for (const auto& of : tiles_of)
    if (of.first < tile_index::after_attention) CHECK_MESSAGE(of.second.size() == 1, "tiles of index ", of.first);
}

TEST_CASE("schema: a program whose schema is at fault is refused with the fault") {
  constexpr static TensorSpec twin{.name = "K2", .meaning = Meaning::key, .index = 1, .planes = Planes::key, .rows = Axis::key};
  class TwoOfOneIndex final : public TileProgram {
   public:
    explicit TwoOfOneIndex(const AttentionProblem& problem)
        : TileProgram(problem, ProgramTile(16, 16), {.tensors = {query, key, twin}}) {
      LaunchSpec launch;
      launch.name = "none";
      launches_.push_back(launch);
    }
    void emit_block(int, std::int64_t, BlockOperations& out) const override { out.clear(); }
    std::optional<ClosedForm> closed_form() const override { return std::nullopt; }
  };
  static const ProgramInfo info = {.id = "twins"};
  SimulationRequest request;
  request.algorithm = "twins";
  request.gpu = toy_gpu();
  const auto made = run_program(request, info, std::make_shared<TwoOfOneIndex>(request.problem));
  REQUIRE_FALSE(made);
  CHECK(made.error().sentence.text() == "twins declares its tensors wrongly: tensor K2 has the index of another one");
}

TEST_CASE("schema: two tensors with one index, and a tile of an undeclared tensor, are faults that name them") {
  constexpr static TensorSpec twin{.name = "K2", .meaning = Meaning::key, .index = 0};
  CHECK(Schema{.tensors = {query, twin}}.fault() == "tensor K2 has the index of another one");
  CHECK(Schema{.tensors = {query}, .tiles = {k_tile}}.fault() == "tile K is a piece of a tensor that is not declared");
  CHECK(Schema{.tensors = {query}, .inputs = {key}}.fault() == "tensor K is read or written but not declared");
}

TEST_CASE("schema: blocks that own keys add to an fp32 tensor of their own, and the sum is right for every head") {
  const Adding program(ragged_problem, ProgramTile(16, 16));
  for (std::int64_t plane = 0; plane < ragged_problem.query_planes(); ++plane) {
    const auto made = run_plane(program, {}, plane, query_gradient);
    REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
    const InputSource inputs;
    const std::int64_t kv_plane = ragged_problem.kv_plane_of(plane);
    double worst = 0;
    for (int r = 0; r < 40; ++r)
      for (int t = 0; t < 16; ++t) {
        double expected = 0;
        for (int c = 0; c < 52; ++c) {
          double s = 0;
          for (int u = 0; u < 16; ++u)
            s += static_cast<double>(inputs.value(ragged_problem, query, plane, r, u)) *
                 inputs.value(ragged_problem, key, kv_plane, c, u);
          expected += (s * s - 1) * inputs.value(ragged_problem, key, kv_plane, c, t);
        }
        worst = std::max(worst, std::abs(made->at(r, t) - expected) / std::max(1.0, std::abs(expected)));
      }
    CHECK(worst < 1e-4);
  }
}

TEST_CASE("schema: additions are counted in what goes to the L2, and apart") {
  const auto run = simulated();
  const std::int64_t tiles = 4 * 4;  // key tiles x heads
  const std::int64_t all = tiles * 40 * 16 * 4;
  CHECK(run->reduced.value == all);
  CHECK(run->ledger.total(query_gradient, Link::sm_to_l2).value == all);
  CHECK(run->ledger.total(key, Link::l2_to_sm).value == 2 * 52 * 16 * 4);  // each key tile once a key head
  CHECK(run->ledger.total(query, Link::l2_to_sm).value == tiles * 40 * 16 * 4);
  CHECK(to_string(run->ledger.entries().front().tensor) == "Q");
}

TEST_CASE("schema: an addition to what the L2 does not hold reads it from HBM first") {
  const auto run = simulated();
  // dQ is 4 x 40 x 16 fp32. Each of its sectors is read once, by the first addition to it, and stays in the L2 of the toy.
  CHECK(run->ledger.total(query_gradient, Link::hbm_read).value == 4 * 40 * 16 * 4);
}

}  // namespace tilescope
