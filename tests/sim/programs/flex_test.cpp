// flex, hopper_flex and flex_backward under random masks, lists and score expressions: operations, bytes, order and values.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "sim/masks/block_mask.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"
#include "sim/numerics/producers.h"
#include "sim/numerics/program_reference.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/tensor_layout.h"
#include "tests/rounds.h"
#include "tests/sim/masks/random_expression.h"
#include "tests/sim/programs/block_checker.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

std::shared_ptr<const Mask> mask_from(const AttentionProblem& problem, const std::string& text, const TableList& tables = {}) {
  auto expression = parse_mask_expression(text, sizes_of(problem), tables);
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  const auto mask = ExpressionMask::make(std::move(*expression));
  REQUIRE_MESSAGE(mask, (mask ? std::string() : mask.error().sentence.text()));
  return *mask;
}

std::shared_ptr<const ScoreChange> score_from(const AttentionProblem& problem, const std::string& text) {
  auto expression = parse_score_expression(text, sizes_of(problem), {});
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  const auto change = ScoreChange::make(std::move(*expression), problem.mask.get());
  REQUIRE_MESSAGE(change, (change ? std::string() : change.error().sentence.text()));
  return *change;
}

constexpr const char* masks[] = {"q >= kv",
                                 "q >= kv && q - kv < 9 + 5 * h",
                                 "(q - kv) % 3 == 0",
                                 "kv < 20 || q >= kv",
                                 "q // 12 == kv // 12 && (b == 0 || q >= kv)",
                                 "q < 16 && kv < 16",
                                 "false",
                                 "true",
                                 "kv > q + 8 * b",
                                 "((q ^ kv) & 16) == 0"};
constexpr const char* scores[] = {"score",
                                  "score + exp2(-8.0 * (h + 1) / H) * (kv - q)",
                                  "2 * tanh(score / 2)",
                                  "where(kv % 7 == 3, -inf, score)",
                                  "score * sigmoid(score) + 0.125 * (q - kv)",
                                  "log(sigmoid(score) + 1)"};

struct Drawn {
  AttentionProblem problem;
  ProgramTile tile;
  std::string text;
};

/// A problem of whole sectors, a mask, and lists of blocks that are multiples of the tile.
Drawn random_problem(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Drawn drawn;
  AttentionProblem& p = drawn.problem;
  p.batch = pick(1, 2);
  p.kv_heads = pick(1, 2);
  p.heads = p.kv_heads * pick(1, 2);
  p.seq_q = pick(1, 70);
  p.seq_kv = pick(1, 70);
  p.head_dim = 16;
  p.dtype = static_cast<DataType>(pick(0, 2));
  drawn.tile = ProgramTile(8 * pick(1, 2), 8 * pick(1, 2));
  drawn.tile.key_order = pick(0, 1) == 0 ? KeyOrder::ascending : KeyOrder::descending;
  const std::int64_t multiples[] = {0, 16, 32, 48};
  p.mask_block = multiples[pick(0, 3)];
  const std::string mask = masks[pick(0, static_cast<std::int64_t>(std::size(masks)) - 1)];
  p.mask = mask_from(p, mask);
  const std::string score = scores[pick(0, static_cast<std::int64_t>(std::size(scores)) - 1)];
  p.score_change = score_from(p, score);
  drawn.text = fmt::format("B {} H {}/{} N {}x{} {} tile {}x{} {} mask block {} mask '{}' score '{}'", p.batch, p.heads, p.kv_heads,
                           p.seq_q, p.seq_kv, to_string(p.dtype), drawn.tile.block_q, drawn.tile.block_kv,
                           to_string(drawn.tile.key_order), p.mask_block, mask, score);
  return drawn;
}

/// Puts K and V of a case in pages of one to three key tiles, or in pages of which a key tile fills two or four.
void put_in_pages(std::mt19937_64& random, Drawn& drawn) {
  AttentionProblem& p = drawn.problem;
  const std::int64_t tile = drawn.tile.block_kv, sizes[] = {tile, 2 * tile, 3 * tile, tile / 2, tile / 4};
  p.page_size = sizes[random() % std::size(sizes)];
  p.page_order = random() % 2 == 0 ? PageOrder::shuffled : PageOrder::contiguous;
  drawn.text += fmt::format(" pages of {}, {}", p.page_size, to_string(p.page_order));
}

constexpr std::string_view both[] = {"flex", "hopper_flex"};
constexpr std::string_view all[] = {"flex", "hopper_flex", "flex_backward"};

std::unique_ptr<TileProgram> flex(const AttentionProblem& problem, const ProgramTile& tile, std::string_view id = "flex") {
  auto program = (*find_program(id))->make(problem, tile, toy_gpu());
  REQUIRE_MESSAGE(program, (program ? std::string() : program.error().sentence.text()));
  return std::move(*program);
}

std::shared_ptr<const Simulation> simulated(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile,
                                            const GpuSpec& gpu) {
  SimulationRequest request;
  request.algorithm = id;
  request.problem = problem;
  request.tile = tile;
  request.key_order = tile.key_order;
  request.gpu = gpu;
  const auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  return *made;
}

double allowed(DataType type) {
  return type == DataType::fp32 ? 1e-5 : type == DataType::fp16 ? 2e-3 : 1.6e-2;
}

}  // namespace

TEST_CASE("flex: operations keep the contract under random lists, and bytes in the ledger equal the closed form") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < rounds(360); ++round) {
    const std::string_view id = all[round % 3];
    const int times_a_score = id == "flex_backward" ? 2 : 1;  // in a block that owns keys, and in one that owns queries
    CAPTURE(id);
    Drawn drawn = random_problem(random);
    if (id != "flex_backward" && round / 3 % 2 == 0) put_in_pages(random, drawn);
    CAPTURE(drawn.text);
    const auto program = flex(drawn.problem, drawn.tile, id);
    BlockChecker checker(*program);
    BlockOperations block;
    for (std::size_t launch = 0; launch < program->launches().size(); ++launch)
      for (std::int64_t n = 0; n < program->launches()[launch].blocks(); ++n) {
        program->emit_block(static_cast<int>(launch), n, block);
        const std::string wrong = checker.check_block(block);
        REQUIRE_MESSAGE(wrong.empty(), wrong);
      }
    const AttentionProblem& p = drawn.problem;
    std::int64_t wrong = 0;
    for (std::int64_t plane = 0; plane < p.query_planes(); ++plane)
      for (std::int64_t q = 0; q < p.seq_q; ++q)
        for (std::int64_t kv = 0; kv < p.seq_kv; ++kv) {
          const int times = checker.scored(plane, q, kv);
          wrong += p.mask->visible(plane, q, kv) ? times != times_a_score : times > times_a_score;
        }
    CHECK(wrong == 0);
    const auto form = program->closed_form();
    REQUIRE(form);
    CHECK(form->flops == checker.matmul_flops);
    CHECK(form->exps == checker.exps);
    const auto run = simulated(id, p, drawn.tile, round / 3 % 2 == 0 ? toy_gpu() : h200_gpu());
    std::int64_t loaded = 0, stored = 0;
    for (const ClosedFormTerm& term : form->terms) {
      CAPTURE(to_string(term.tensor));
      CHECK(term.bytes.value == checker.bytes(term.tensor, term.link));
      CHECK(term.bytes.value == run->ledger.total(term.tensor, term.link).value);
      (term.link == Link::l2_to_sm ? loaded : stored) += term.bytes.value;
    }
    CHECK(loaded == run->ledger.total(Link::l2_to_sm).value);
    CHECK(stored == run->ledger.total(Link::sm_to_l2).value);
    CHECK(run->flops == form->flops);
    CHECK(run->exps == form->exps);
  }
}

TEST_CASE("flex: O and L agree with float64 for random masks and score expressions, in every type") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < rounds(120); ++round) {
    const std::string_view id = both[round % 2];
    CAPTURE(id);
    const Drawn drawn = random_problem(random);
    CAPTURE(drawn.text);
    const auto program = flex(drawn.problem, drawn.tile, id);
    InputSource inputs;
    inputs.seed = static_cast<std::uint64_t>(round + 1);
    for (std::int64_t plane = 0; plane < drawn.problem.query_planes(); ++plane)
      for (const Tensor tensor : {tensors::o, tensors::lse}) {
        const auto made = run_plane(*program, inputs, plane, tensor);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
        const Matrix expected = reference_plane(*program, inputs, plane, tensor);
        // A few numbers next to 0 have no relative error: they are held to the size of a usual one.
        double size = 0, apart = 0;
        for (std::size_t i = 0; i < expected.values.size(); ++i) {
          const double a = made->values[i], e = expected.values[i];
          REQUIRE(std::isinf(a) == std::isinf(e));
          if (std::isinf(e)) continue;
          apart = std::max(apart, std::abs(a - e));
          size = std::max(size, std::abs(e));
        }
        CHECK(apart <= 4 * allowed(drawn.problem.dtype) * std::max(1.0, size));
      }
  }
}

TEST_CASE(
    "flex: gradients agree with float64 for random masks and score expressions, in every type, alone and after a forward pass") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < rounds(60); ++round) {
    const Drawn drawn = random_problem(random);
    CAPTURE(drawn.text);
    const Pass pass = round % 2 == 0 ? Pass::backward : Pass::both;
    AttentionProblem asked = drawn.problem;
    asked.pass = pass;
    auto made_program = (*find_program("flex", pass))->make(asked, drawn.tile, toy_gpu());
    REQUIRE_MESSAGE(made_program, (made_program ? std::string() : made_program.error().sentence.text()));
    const TileProgram& program = **made_program;
    InputSource inputs;
    inputs.seed = static_cast<std::uint64_t>(round + 1);
    for (const Tensor tensor : {tensors::d_q, tensors::d_k, tensors::d_v}) {
      CAPTURE(to_string(tensor));
      const std::int64_t planes = tensor == tensors::d_q ? asked.query_planes() : asked.batch * asked.kv_heads;
      for (std::int64_t plane = 0; plane < planes; ++plane) {
        const auto made = run_plane(program, inputs, plane, tensor);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
        const Matrix expected = reference_plane(program, inputs, plane, tensor);
        double size = 0, apart = 0;
        for (std::size_t i = 0; i < expected.values.size(); ++i) {
          REQUIRE(std::isfinite(made->values[i]));
          apart = std::max(apart, static_cast<double>(std::abs(made->values[i] - expected.values[i])));
          size = std::max(size, static_cast<double>(std::abs(expected.values[i])));
        }
        CHECK(apart <= 4 * allowed(asked.dtype) * std::max(1.0, size));
      }
    }
  }
}

TEST_CASE("flex: a row that sees no key has O = 0 and L = -inf, in empty, partial and unlisted tiles") {
  AttentionProblem problem = {.heads = 2, .kv_heads = 1, .seq_q = 40, .seq_kv = 40, .head_dim = 16};
  problem.mask = mask_from(problem, "q % 5 != 2 && q < 24 && kv >= q");
  for (const std::string_view id : both) {
    const auto program = flex(problem, ProgramTile(8, 8), id);
    const auto o = run_plane(*program, {}, 1, tensors::o), l = run_plane(*program, {}, 1, tensors::lse);
    REQUIRE(o);
    REQUIRE(l);
    for (int q = 0; q < 40; ++q) {
      const bool sees = q % 5 != 2 && q < 24;
      CHECK(std::isinf(l->at(q, 0)) == !sees);
      double sum = 0;
      for (int c = 0; c < 16; ++c) sum += std::abs(o->at(q, c));
      CHECK((sum > 0) == sees);
    }
  }
}

TEST_CASE("flex: a block visits its partial tiles first and its full ones after, each up or down") {
  AttentionProblem problem = {.heads = 1, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  problem.mask = mask_from(problem, "q >= kv && q - kv < 40");
  for (const auto& one : {std::pair{both[0], KeyOrder::ascending}, std::pair{both[0], KeyOrder::descending},
                          std::pair{both[1], KeyOrder::ascending}, std::pair{both[1], KeyOrder::descending}}) {
    const std::string_view id = one.first;
    const KeyOrder order = one.second;
    ProgramTile tile(8, 8);
    tile.key_order = order;
    CAPTURE(id);
    const auto program = flex(problem, tile, id);
    BlockOperations block;
    const auto blocks = blocks_of(*program, 0, {Axis::query, 0, 56, 64});  // keys 17 to 63
    REQUIRE(blocks.size() == 1);
    program->emit_block(0, blocks.front(), block);
    std::vector<std::int32_t> visited;
    std::vector<bool> masked;
    for (const Operation& op : block.operations) {
      if (op.kind == OpKind::load && op.dst == tiles::k) visited.push_back(op.kv_tile), masked.push_back(false);
      if (op.kind == OpKind::mask) masked[static_cast<std::size_t>(op.iteration)] = true;
    }
    const std::vector<std::int32_t> up = {2, 7, 3, 4, 5, 6}, down = {7, 2, 6, 5, 4, 3};
    CHECK(visited == (order == KeyOrder::ascending ? up : down));
    CHECK(masked == std::vector<bool>{true, true, false, false, false, false});
  }
}

TEST_CASE("flex: the lists are a tensor that a block loads, with the mask's own numbers") {
  AttentionProblem problem = {.heads = 2, .kv_heads = 2, .seq_q = 64, .seq_kv = 96, .head_dim = 16};
  problem.mask = mask_from(problem, "q + 16 * h >= kv");
  const auto program = flex(problem, ProgramTile(16, 16));
  const Schema& schema = program->schema();
  CHECK(schema.inputs.size() == 7);
  const Tensor list =
      *std::find_if(schema.tensors.begin(), schema.tensors.end(), [](Tensor t) { return to_string(t) == "full_kv_indices"; });
  const TensorLayout layout = tensor_layout(problem, program->tile(), list);
  CHECK(layout.planes == 2);
  CHECK(layout.rows == 4);
  CHECK(layout.cols == 6);
  const auto blocks = blocks_of(*program, 0, {Axis::query, 1, 32, 48});  // head 1: keys 0 to 63, the last 16 partly
  REQUIRE(blocks.size() == 1);
  const auto history = run_block(*program, {}, 0, blocks.front());
  REQUIRE(history);
  const auto value = [&](std::string_view name) {
    const auto chip_tile = std::find_if(schema.tiles.begin(), schema.tiles.end(), [&](ChipTile s) { return to_string(s) == name; });
    return (*history)->value(*chip_tile, static_cast<int>((*history)->operations().operations.size()) - 1);
  };
  CHECK(value("#p")->values == std::vector<float>{1});
  CHECK(value("#f")->values == std::vector<float>{3});
  CHECK(value("Jp")->values == std::vector<float>{3});
  CHECK(value("Jf")->values == std::vector<float>{0, 1, 2});
}

TEST_CASE("flex: without a mask it moves what flash2 moves, and a causal one adds only its lists") {
  for (const bool causal : {false, true}) {
    const AttentionProblem problem = {.heads = 2, .kv_heads = 1, .seq_q = 256, .seq_kv = 256, .head_dim = 64, .causal = causal};
    const auto a = simulated("flash2", problem, ProgramTile(64, 64), h200_gpu()),
               b = simulated("flex", problem, ProgramTile(64, 64), h200_gpu());
    for (const Tensor tensor : {tensors::q, tensors::o, tensors::lse})
      for (const Link link : {Link::l2_to_sm, Link::sm_to_l2})
        CHECK(a->ledger.total(tensor, link) == b->ledger.total(tensor, link));
    if (!causal) CHECK(a->cycles.value == b->cycles.value);
    if (!causal) CHECK(a->ledger.total(Link::l2_to_sm) == b->ledger.total(Link::l2_to_sm));
  }
  // At blocks of 128 the tile above the diagonal is loaded too: it lies in a partial block.
  const AttentionProblem problem = {.seq_q = 256, .seq_kv = 256, .head_dim = 64, .causal = true};
  const auto wide = simulated("flex", problem, ProgramTile(64, 64), h200_gpu()),
             exact = simulated("flash2", problem, ProgramTile(64, 64), h200_gpu());
  CHECK(wide->ledger.total(tensors::k, Link::l2_to_sm).value == (2 + 2 + 4 + 4) * 64 * 64 * 2);
  CHECK(exact->ledger.total(tensors::k, Link::l2_to_sm).value == (1 + 2 + 3 + 4) * 64 * 64 * 2);
}

TEST_CASE("flex: the tables of a mask for each head are read from its own plane, whatever the shapes that blocks share") {
  AttentionProblem problem = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 256, .seq_kv = 256, .head_dim = 64};
  problem.mask = mask_from(problem, "q >= kv && q - kv < 64 * (h + 1)");
  const auto run = simulated("flex", problem, ProgramTile(64, 64), h200_gpu());
  // Each of the four lists is read by both batch elements, and stays in the L2 after the first.
  const Tensor counts = *std::find_if(run->program->tensors().begin(), run->program->tensors().end(),
                                      [](Tensor t) { return to_string(t) == "kv_num_blocks"; });
  CHECK(run->ledger.total(counts, Link::l2_to_sm).value == 2 * 4 * 4 * 32);
  CHECK(run->ledger.total(counts, Link::hbm_read).value == 4 * 2 * 4);  // heads x rows of 128 x int32
}

TEST_CASE("flex: hopper_flex without a mask moves what hopper_ping_pong moves, in whole boxes") {
  const AttentionProblem problem = {.heads = 2, .kv_heads = 1, .seq_q = 256, .seq_kv = 200, .head_dim = 128};
  const auto a = simulated("hopper_ping_pong", problem, ProgramTile(128, 128), h200_gpu()),
             b = simulated("hopper_flex", problem, ProgramTile(128, 128), h200_gpu());
  for (const Link link : {Link::l2_to_sm, Link::sm_to_l2}) CHECK(a->ledger.total(link) == b->ledger.total(link));
  CHECK(b->ledger.total(tensors::k, Link::l2_to_sm).value == 2 * 2 * 256 * 128 * 2);
}

TEST_CASE("flex: the producer of hopper_flex waits for the lists, and a block without keys for their lengths alone") {
  AttentionProblem problem = {.heads = 1, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  problem.mask = mask_from(problem, "q >= 32 && q >= kv");
  const auto program = flex(problem, ProgramTile(16, 16), "hopper_flex");
  const auto run = simulated("hopper_flex", problem, ProgramTile(16, 16), toy_gpu());
  CHECK(run->cycles.value > 0);
  for (const auto& [first, loads] : {std::pair{0, 2}, std::pair{32, 4}}) {
    BlockOperations block;
    const auto blocks = blocks_of(*program, 0, {Axis::query, 0, first, first + 16});
    REQUIRE(blocks.size() == 1);
    program->emit_block(0, blocks.front(), block);
    std::int16_t token = -1;
    std::int64_t lists = 0;
    for (const Operation& op : block.operations) {
      if (op.kind == OpKind::load && op.tile.tensor.means(Meaning::table)) token = op.signal_token, ++lists;
      if (op.kind == OpKind::load && op.dst.has_strips()) CHECK(op.wait_token == token);
      if (op.kind == OpKind::divide && block.iterations == 0) CHECK(op.wait_token == token);
    }
    CHECK(lists == (block.iterations == 0 ? 2 : block.iterations == 1 ? 3 : loads));
  }
}

namespace {

/// A program whose page table names the next page of the pool in the first entry that a block reads.
class Mistaken final : public TileProgram {
 public:
  explicit Mistaken(const TileProgram& of) : TileProgram(of.problem(), of.tile(), of.schema()), of_(of) {
    launches_.assign(of.launches().begin(), of.launches().end());
  }
  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override { of_.emit_block(launch, block, out); }
  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override { return of_.place_of(launch, block); }
  std::optional<ClosedForm> closed_form() const override { return of_.closed_form(); }
  std::shared_ptr<const TableValues> tables() const override {
    return std::make_shared<const Values>(of_.tables(), problem().batch * pages_of_sequence(problem()));
  }

 private:
  struct Values final : TableValues {
    Values(std::shared_ptr<const TableValues> of_table, std::int64_t pages_of_pool)
        : of(std::move(of_table)), pages(pages_of_pool) {}
    Matrix tile(const TileRef& tile) const override {
      Matrix values = of->tile(tile);
      float& entry = values.values.front();
      if (tile.tensor == paged::table) entry = static_cast<float>((static_cast<std::int64_t>(entry) + 1) % pages);
      return values;
    }
    std::shared_ptr<const TableValues> of;
    std::int64_t pages;
  };
  const TileProgram& of_;
};

}  // namespace

TEST_CASE("flex: pages of K and V change no bit of O and L, in either order; a wrong entry of the table does") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int differ = 0;
  for (int round = 0; round < rounds(80); ++round) {
    Drawn drawn = random_problem(random);
    if (round % 4 == 0) {
      drawn.problem.mask = nullptr;
      drawn.problem.score_change = nullptr;
      drawn.problem.head_dim = round % 8 == 0 ? 16 : 5;  // with 5, rows share sectors
    }
    const std::string_view id = both[round / 2 % 2];
    CAPTURE(id);
    const auto whole = flex(drawn.problem, drawn.tile, id);
    put_in_pages(random, drawn);
    CAPTURE(drawn.text);
    const auto paged = flex(drawn.problem, drawn.tile, id);
    const Mistaken mistaken(*paged);
    InputSource inputs;
    inputs.seed = static_cast<std::uint64_t>(round + 1);
    for (std::int64_t plane = 0; plane < drawn.problem.query_planes(); ++plane)
      for (const Tensor tensor : {tensors::o, tensors::lse}) {
        const auto expected = run_plane(*whole, inputs, plane, tensor), got = run_plane(*paged, inputs, plane, tensor),
                   wrong = run_plane(mistaken, inputs, plane, tensor);
        REQUIRE(expected);
        REQUIRE_MESSAGE(got, (got ? std::string() : got.error().sentence.text()));
        REQUIRE(wrong);
        CHECK(got->values == expected->values);
        differ += wrong->values != expected->values;
      }
  }
  CHECK(differ > 20);
}

TEST_CASE("flex: what pages add to the bytes is the entries of the table, once a block; every key still comes from HBM once") {
  AttentionProblem whole = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 200, .head_dim = 16};
  const auto plain = simulated("flex", whole, ProgramTile(16, 16), h200_gpu());
  for (const PageOrder order : {PageOrder::contiguous, PageOrder::shuffled}) {
    AttentionProblem p = whole;
    p.page_size = 16;
    p.page_order = order;
    const auto run = simulated("flex", p, ProgramTile(16, 16), h200_gpu());
    // 13 pages are two sectors of entries, for each of 2 x 4 x 4 blocks. Each sequence has a row of its own.
    CHECK(run->ledger.total(paged::table, Link::l2_to_sm).value == 2 * 4 * 4 * 64);
    CHECK(run->ledger.total(paged::table, Link::hbm_read).value == 2 * 64);
    for (const Tensor tensor : {tensors::k, tensors::v}) {
      CHECK(run->ledger.total(tensor, Link::l2_to_sm) == plain->ledger.total(tensor, Link::l2_to_sm));
      CHECK(run->ledger.total(tensor, Link::hbm_read).value == 2 * 2 * 200 * 16 * 2);
    }
    // The pool has room for 13 pages of 16 keys, although a sequence has 200.
    CHECK(run->peak_hbm.value == plain->peak_hbm.value + 2 * (2 * 2 * 8 * 16 * 2) + 2 * 64);
    CHECK(run->cycles.value >= plain->cycles.value);
  }
}

TEST_CASE("flex: pages smaller than the key tile move the same keys, and more entries of the table") {
  AttentionProblem p = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 200, .head_dim = 16};
  const auto plain = simulated("flex", p, ProgramTile(16, 16), h200_gpu());
  p.page_size = 4;
  const auto run = simulated("flex", p, ProgramTile(16, 16), h200_gpu());
  // 50 entries are seven sectors, for each of 2 x 4 x 4 blocks.
  CHECK(run->ledger.total(paged::table, Link::l2_to_sm).value == 2 * 4 * 4 * 7 * 32);
  for (const Tensor tensor : {tensors::k, tensors::v}) {
    CHECK(run->ledger.total(tensor, Link::l2_to_sm) == plain->ledger.total(tensor, Link::l2_to_sm));
    CHECK(run->ledger.total(tensor, Link::hbm_read).value == 2 * 2 * 200 * 16 * 2);
  }
  // hopper_flex copies boxes of a page, and no box behind the last one.
  const auto boxes = simulated("hopper_flex", p, ProgramTile(16, 16), h200_gpu());
  CHECK(boxes->ledger.total(paged::table, Link::l2_to_sm).value == 2 * 4 * 4 * 7 * 32);
  CHECK(boxes->ledger.total(tensors::k, Link::l2_to_sm).value == 2 * 4 * 4 * 200 * 16 * 2);
  // Without an L2 each load comes from HBM: the parts of a tile are all of it.
  const auto direct = simulated("flex", p, ProgramTile(16, 16), textbook_gpu());
  CHECK(direct->ledger.total(tensors::k, Link::hbm_read) == direct->ledger.total(tensors::k, Link::l2_to_sm));
}

TEST_CASE("flex: the L2 keeps a page table by the sector, or whole if it is shorter") {
  AttentionProblem p = {.batch = 2, .seq_q = 64, .seq_kv = 800, .head_dim = 16, .page_size = 16};
  const auto program = flex(p, ProgramTile(16, 16));
  CHECK(tensor_layout(p, program->tile(), paged::table).tile_cols == 8);
  p.seq_kv = 80;
  CHECK(tensor_layout(p, program->tile(), paged::table).tile_cols == 5);
}

TEST_CASE("flex: a tile of several pages streams from HBM as long as one without pages") {
  AttentionProblem p = {.seq_q = 16, .seq_kv = 64, .head_dim = 64};
  GpuSpec gpu = h200_gpu();
  gpu.hbm_bytes_per_second /= 1000;  // all other ways take less time
  const auto longest = [&](std::int64_t page_size) {
    p.page_size = page_size;
    const auto run = simulated("flex", p, ProgramTile(16, 64), gpu);
    float streams = 0;
    for (const Interval& interval : run->trace->intervals(0))
      if (interval.kind == OpKind::load) streams = std::max(streams, interval.streams);
    return streams;
  };
  CHECK(longest(16) > 0);
  CHECK(longest(16) == doctest::Approx(longest(0)));
}

TEST_CASE("hopper_flex: TMA needs a box for each page and panel of a tile, and time for each box") {
  AttentionProblem p = {.batch = 1, .heads = 8, .kv_heads = 8, .seq_q = 128, .seq_kv = 1024, .head_dim = 128};
  GpuSpec gpu = h200_gpu();
  const auto cycles = [&](std::int64_t page_size, double box_issue_cycles) {
    p.page_size = page_size;
    gpu.sm_box_issue_cycles = box_issue_cycles;
    return simulated("hopper_flex", p, ProgramTile(128, 128), gpu)->cycles.value;
  };
  // Eight tiles of K and of V are 256 boxes of 16 rows and 64 columns, one after the other.
  CHECK(cycles(16, 100) > 256 * 100);
  CHECK(cycles(16, 100) < 256 * 100 + cycles(128, 100));
  CHECK(cycles(128, 100) < 1.2 * cycles(128, 0));
}

TEST_CASE("flex: what it cannot take is answered with a sentence") {
  AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  problem.mask = mask_from(problem, "q >= kv");
  const auto refusal = [](std::string_view id, const AttentionProblem& p, const ProgramTile& tile) {
    const auto made = (*find_program(id))->make(p, tile, toy_gpu());
    REQUIRE_FALSE(made);
    return made.error().sentence.text();
  };
  AttentionProblem odd = problem;
  odd.mask_block = 24;
  CHECK(refusal("flex", odd, ProgramTile(16, 16)) ==
        "mask_block is 24, and the tile is 16x16: the block must be a multiple of both lengths, such as 16");
  AttentionProblem paged = problem;
  paged.page_size = 24;
  CHECK(refusal("flex", paged, ProgramTile(16, 16)) ==
        "page_size is 24, and the key tile is 16: one must be a multiple of the other, such as 32");
  for (const std::string_view id : {"flash2", "hopper_causal", "flex_backward"})
    CHECK(refusal(id, paged, ProgramTile(8, 8)) ==
          fmt::format("{} has no page table: leave out page_size, or run flex forward", id));
  AttentionProblem longer = problem;
  longer.seq_q = longer.seq_kv = 128;
  for (const std::string_view id : {"flex", "flash2", "standard"})
    CHECK(refusal(id, longer, ProgramTile(16, 16)).find("the mask was made for batch 1, heads 1, kv heads 1, 64 queries") == 0);
  AttentionProblem changed = problem;
  changed.score_change = score_from(problem, "score / 2");
  CHECK(refusal("flash2", changed, ProgramTile(16, 16)) == "flash2 takes scores as they are: use algorithm flex with score");
  AttentionProblem nan = problem;
  nan.score_change = score_from(problem, "kv == 3 ? log(-abs(score) - 1) : score");
  const auto program = flex(nan, ProgramTile(16, 16));
  const auto made = run_plane(*program, {}, 0, tensors::o);
  REQUIRE_FALSE(made);
  CHECK(made.error().sentence.text().find("the score expression makes NaN of ") != std::string::npos);
  // The block that runs first has the last 16 queries, and visits its partial tile before the full one that holds key 3.
  CHECK(made.error().sentence.text().find("at b 0, h 0, q 48, kv 3") != std::string::npos);
  // The derivative is checked too, and a run of both passes says which of the two it was.
  AttentionProblem steep = problem;
  steep.score_change = score_from(problem, "kv == 3 ? sqrt(max(score, -1000) - max(score, -1000)) + score : score");
  CHECK(run_plane(*flex(steep, ProgramTile(16, 16), "flex_backward"), {}, 0, tensors::d_q));  // the root stays at 0: slope 0
  steep.score_change = score_from(problem, "kv == 3 ? sqrt(score * 0) : score");
  const auto infinite = run_plane(*flex(steep, ProgramTile(16, 16), "flex_backward"), {}, 0, tensors::d_q);
  CHECK(infinite);
  AttentionProblem endless = problem;
  endless.score_change = score_from(problem, "kv == 3 ? inf : score");
  const auto never = run_plane(*flex(endless, ProgramTile(16, 16), "hopper_flex"), {}, 0, tensors::o);
  REQUIRE_FALSE(never);
  CHECK(never.error().sentence.text().find("the score expression makes infinity of ") != std::string::npos);
}

}  // namespace tilescope
