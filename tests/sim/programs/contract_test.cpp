// The contract that every row of the program table keeps, over random shapes.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/mask.h"
#include "sim/engine/simulation.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/closed_form.h"

#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "sim/programs/tile_program.h"
#include "tests/rounds.h"
#include "tests/sim/programs/block_checker.h"
#include "tests/sim/programs/random_problem.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

namespace tilescope {
namespace {

constexpr auto seeds = rounds(std::uint64_t{250});

bool takes_causal(const ProgramInfo& info) {
  REQUIRE(family_of(info) != nullptr);
  return family_of(info)->takes_mask;
}

/// A mask that differs by head: the keys up to the diagonal and a few more for each head, with holes for the odd heads. The last
/// query of every head sees every key.
class MaskByHead final : public Mask {
 public:
  MaskByHead(const AttentionProblem& p) : heads_(p.heads), last_query_(p.seq_q - 1), keys_before_(p.seq_kv - p.seq_q + 1) {}

  bool visible(std::int64_t plane, std::int64_t query, std::int64_t key) const override {
    const std::int64_t head = plane % heads_;
    if (query == last_query_) return true;
    return key < query + keys_before_ + 5 * head && (head % 2 == 0 || key / 8 % 3 != 1);
  }
  TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const override {
    const std::int64_t seen = count_visible(plane, queries, keys);
    if (seen == 0) return TileVisibility::empty;
    return seen == queries.count * keys.count ? TileVisibility::full : TileVisibility::partial;
  }
  std::int64_t row_class(std::int64_t plane, std::int64_t query_tile) const override {
    return query_tile * heads_ + plane % heads_;
  }
  MaskPlanes planes() const override { return {.by_head = true}; }

 private:
  std::int64_t heads_, last_query_, keys_before_;
};

/// Returns whether a program adds a mask that is a matrix to its scores. It then visits every tile (standard_test.cpp).
bool adds_mask(const TileProgram& program) {
  const auto is_mask = [](Tensor tensor) { return tensor->planes == Planes::mask && tensor.means(Meaning::bias); };
  return std::any_of(program.tensors().begin(), program.tensors().end(), is_mask);
}

/// The key tiles that each query tile visits, worked out from the mask alone.
class Visited {
 public:
  Visited(const AttentionProblem& p, const TileShape& tile)
      : tile_(tile), query_tiles_(ceil_div(p.seq_q, tile.block_q)), key_tiles_(ceil_div(p.seq_kv, tile.block_kv)) {
    const auto mask = mask_of(p);
    planes_ = planes_are_alike(p) ? 1 : p.query_planes();
    const auto range = [](std::int64_t i, std::int64_t size, std::int64_t length) {
      return TileRange{i * size, std::min(size, length - i * size)};
    };
    for (std::int64_t plane = 0; plane < planes_; ++plane)
      for (std::int64_t i = 0; i < query_tiles_; ++i) {
        std::int64_t count = 0;
        for (std::int64_t j = 0; j < key_tiles_; ++j) {
          const bool sees =
              mask->tile(plane, range(i, tile.block_q, p.seq_q), range(j, tile.block_kv, p.seq_kv)) != TileVisibility::empty;
          sees_.push_back(sees);
          count += sees ? 1 : 0;
        }
        counts_.push_back(static_cast<int>(count));
      }
  }
  /// Counts those of the query tile that has `row`.
  int count(std::int64_t plane, std::int64_t row) const { return counts_[at(plane, row)]; }
  bool sees(std::int64_t plane, std::int64_t row, std::int64_t key) const {
    return sees_[at(plane, row) * static_cast<std::size_t>(key_tiles_) + static_cast<std::size_t>(key / tile_.block_kv)];
  }

 private:
  std::size_t at(std::int64_t plane, std::int64_t row) const {
    return static_cast<std::size_t>((planes_ > 1 ? plane : 0) * query_tiles_ + row / tile_.block_q);
  }
  TileShape tile_;
  std::int64_t query_tiles_, key_tiles_, planes_ = 1;
  std::vector<bool> sees_;
  std::vector<int> counts_;
};

/// How often an element of an output is stored. The last query of every head sees every key.
int expected_stores(const ProgramInfo& info, const Visited& visited, Tensor tensor, std::int64_t plane, std::int64_t row,
                    std::int64_t col) {
  if (info.accumulates_in_hbm) return 1 + (tensor->rows == Axis::query ? visited.count(plane, row) : 1);
  if (tensor->cols == Axis::key) return visited.sees(plane, row, col) ? 1 : 0;
  return 1;
}

/// The fp32 sums of dQ, of which there may be copies.
bool is_sum(Tensor tensor) {
  return tensor.means_as(tensors::d_q_acc) && tensor->type.has_value();
}

/// How often something is added to an element, in all copies: each key tile that the row's query tile visits adds to dQ.
int expected_additions(const Visited& visited, Tensor tensor, std::int64_t plane, std::int64_t row) {
  return is_sum(tensor) ? visited.count(plane, row) : 0;
}

/// Puts K and V of a case in pages of one to three key tiles, or in pages of which a key tile fills several.
void put_in_pages(RandomCase& drawn, std::uint64_t seed) {
  AttentionProblem& p = drawn.problem;
  const auto number = static_cast<std::int64_t>(seed / 2 % 5);
  const std::int64_t part = number - 1;  // 2 or 3
  p.page_size =
      number < 3 ? drawn.tile.block_kv * (1 + number) : drawn.tile.block_kv / (drawn.tile.block_kv % part == 0 ? part : 1);
  p.page_order = seed / 2 % 2 == 0 ? PageOrder::shuffled : PageOrder::contiguous;
  drawn.text += fmt::format(", pages of {}, {}", p.page_size, to_string(p.page_order));
}

/// Replaces the causal mask of a case by one that differs by head.
void give_each_head_a_mask(RandomCase& drawn) {
  drawn.problem.causal = false;
  drawn.problem.mask = std::make_shared<MaskByHead>(drawn.problem);
  drawn.text += ", a mask by head";
}

/// Runs every block through the checker and holds the sums against the closed form and the definition.
void check_program(const ProgramInfo& info, const RandomCase& drawn, std::set<int>& lines) {
  const auto made = info.make(drawn.problem, drawn.tile, drawn.gpu);
  REQUIRE(made);
  const TileProgram& program = **made;
  if (adds_mask(program)) return;
  BlockChecker checker(program, info.warp_tile);
  BlockOperations block;
  for (std::size_t launch = 0; launch < program.launches().size(); ++launch)
    for (std::int64_t n = 0; n < program.launches()[launch].blocks(); ++n) {
      program.emit_block(static_cast<int>(launch), n, block);
      REQUIRE(block.launch == static_cast<int>(launch));
      REQUIRE(block.block == n);
      const std::string wrong = checker.check_block(block);
      if (!wrong.empty()) FAIL_CHECK(wrong);
      if (!wrong.empty()) return;
    }
  lines.insert(checker.lines.begin(), checker.lines.end());

  const AttentionProblem& p = drawn.problem;
  const Visited visited(p, drawn.tile);
  const auto additions_to = [&](Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) {
    int sum = 0;
    for (Tensor other : program.outputs())
      if (other == tensor || (is_sum(tensor) && is_sum(other))) sum += checker.added(other, plane, row, col);
    return sum;
  };
  for (Tensor tensor : program.outputs()) {
    const TensorLayout layout = tensor_layout(p, drawn.tile, tensor);
    std::int64_t wrong = 0;
    for (std::int64_t plane = 0; plane < layout.planes; ++plane)
      for (std::int64_t row = 0; row < layout.rows; ++row)
        for (std::int64_t col = 0; col < layout.cols; ++col)
          wrong += checker.stored(tensor, plane, row, col) != expected_stores(info, visited, tensor, plane, row, col) ||
                   additions_to(tensor, plane, row, col) != expected_additions(visited, tensor, plane, row);
    CHECK_MESSAGE(wrong == 0, "elements of ", to_string(tensor), " stored too often or not often enough: ", wrong);
  }
  std::int64_t wrong_scores = 0;
  const auto mask = mask_of(p);
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane)
    for (std::int64_t row = 0; row < p.seq_q; ++row)
      for (std::int64_t key = 0; key < p.seq_kv; ++key) {
        const int times = checker.scored(plane, row, key);
        wrong_scores += mask->visible(plane, row, key) ? times != info.scores_computed : times > info.scores_computed;
      }
  CHECK_MESSAGE(wrong_scores == 0, "visible scores computed more or less often than the row's scores_computed: ", wrong_scores);

  const auto form = program.closed_form();
  const auto has_head = [](Tensor tensor) { return tensor->cols == Axis::head; };
  const bool head = std::any_of(program.tensors().begin(), program.tensors().end(), has_head);
  // A group's rows can begin inside a sector where those of a tile do not.
  const auto tiles_of = program.schema().tiles;
  const bool strips = std::any_of(tiles_of.begin(), tiles_of.end(), [](ChipTile chip_tile) { return chip_tile.has_strips(); });
  const bool whole = takes_causal(info) && !strips ? head_tiles_are_whole(p, drawn.tile) : !head || head_rows_are_whole(p);
  REQUIRE(form.has_value() == (whole && (info.has_lists || planes_are_alike(p))));
  if (!form) return;
  CHECK(form->flops == checker.matmul_flops);
  CHECK(form->exps == checker.exps);
  CHECK(form->reduced.value == checker.reduced_bytes);
  CHECK(form->order.find("Θ") == 0);
  std::set<std::pair<Tensor, Link>> named;
  for (const ClosedFormTerm& term : form->terms) {
    CHECK_MESSAGE(term.bytes.value == checker.bytes(term.tensor, term.link), to_string(term.tensor), " ", to_string(term.link), " ",
                  term.formula);
    CHECK_FALSE(term.formula.empty());
    CHECK_MESSAGE(named.insert({term.tensor, term.link}).second, to_string(term.tensor), " ", to_string(term.link),
                  " is there twice");
  }
  for (Tensor tensor : program.tensors())
    for (Link link : {Link::l2_to_sm, Link::sm_to_l2})
      if (!named.contains({tensor, link}))
        CHECK_MESSAGE(checker.bytes(tensor, link) == 0, to_string(tensor), " ", to_string(link), " is missing");
}

TEST_CASE("programs: operations keep the contract and their bytes equal the closed form, for random shapes" *
          doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs()) {
    std::map<const ProgramInfo*, std::set<int>> lines_of;  // by the row whose listing has them
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      RandomCase drawn = random_case(seed, takes_causal(info));
      if (info.takes_pages && seed % 2 == 0) put_in_pages(drawn, seed);
      const bool by_head = drawn.problem.causal && seed % 4 == 1;
      if (by_head) give_each_head_a_mask(drawn);
      CAPTURE(info.id);
      CAPTURE(drawn.text);
      // With a mask that is a matrix, conditional lines run too.
      std::set<int> with_mask;
      check_program(info, drawn, by_head ? with_mask : lines_of[&row_for(info, drawn.problem)]);
    }
    for (const auto& [row, lines] : lines_of) {
      const std::string_view id = row->id;
      CHECK_MESSAGE(!lines.empty(), id, ": no block keeps the contract");
      if (!lines.empty()) CHECK(*lines.rbegin() <= std::ssize(row->listing));
    }
    if (info.row_of != nullptr) continue;  // those that it may launch are programs too, and meet every kind of problem
    for (std::size_t n = 0; n < info.listing.size(); ++n) {
      // No problem here has what the conditional lines need: flex_test.cpp, table_gradients_test.cpp and standard_test.cpp have it.
      const ListingLine& line = info.listing[n];
      CHECK_MESSAGE(lines_of[&info].contains(static_cast<int>(n) + 1) == (line.when == ListingLine::always), info.id, " line ",
                    n + 1, ": ", line.text);
    }
  }
}

TEST_CASE("programs: rows of many key tiles keep the contract, with one and with two buffers, masked and not" *
          doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs())
    for (const bool causal : {false, true})
      for (const std::int64_t seq_kv : {320, 333, 336})
        for (const double shared : {256.0, 65536.0}) {
          RandomCase drawn;
          drawn.problem.heads = 2;
          drawn.problem.seq_q = 50;
          drawn.problem.seq_kv = seq_kv;
          drawn.problem.causal = causal && takes_causal(info);
          drawn.tile = {16, 16};
          drawn.gpu = toy_gpu();
          drawn.gpu.sm_shared_bytes_per_block = shared;
          CAPTURE(info.id);
          CAPTURE(causal);
          CAPTURE(seq_kv);
          CAPTURE(shared);
          std::set<int> lines;
          check_program(info, drawn, lines);
        }
}

TEST_CASE("programs: keys of many query tiles keep the contract, with one and with two buffers" *
          doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs())
    for (const double shared : {256.0, 65536.0}) {
      if (info.pass != Pass::backward) continue;
      RandomCase drawn;
      drawn.problem.seq_q = 160;
      drawn.problem.seq_kv = 40;
      drawn.tile = {16, 16};
      drawn.gpu = toy_gpu();
      drawn.gpu.sm_shared_bytes_per_block = shared;
      CAPTURE(info.id);
      CAPTURE(shared);
      std::set<int> lines;
      check_program(info, drawn, lines);
    }
}

TEST_CASE("programs: where heads have masks of their own, the closed form is right or there is none" *
          doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs())
    for (const char* const mask : {"kv < 20 + 30 * h", "kv < 20 + 30 * b"}) {
      SimulationRequest request;
      request.algorithm = info.id;
      request.gpu = toy_gpu();
      request.problem = {.batch = 2, .heads = 2, .kv_heads = 2, .seq_q = 48, .seq_kv = 64, .head_dim = 16};
      request.problem.pass = info.pass;
      request.masking.masks = {mask};
      REQUIRE(settle_masks(request.masking, request.problem, {}));
      CAPTURE(info.id);
      CAPTURE(mask);
      const auto run = simulate(request);
      if (!run) continue;  // it takes no mask of its own
      const auto form = (*run)->program->closed_form();
      if (!form) continue;
      for (const ClosedFormTerm& term : form->terms)
        CHECK_MESSAGE((*run)->ledger.total(term.tensor, term.link).value == term.bytes.value, to_string(term.tensor), " ",
                      to_string(term.link), " ", term.formula);
      CHECK((*run)->flops == form->flops);
    }
}

TEST_CASE("programs: a block is the same however often and after whatever it is emitted" * doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs()) {
    const RandomCase drawn = random_case(7, takes_causal(info));
    const auto program = info.make(drawn.problem, drawn.tile, drawn.gpu);
    REQUIRE(program);
    const auto last = (*program)->launches().size() - 1;
    const std::int64_t block = (*program)->launches()[last].blocks() - 1;
    BlockOperations fresh, used;
    (*program)->emit_block(static_cast<int>(last), block, fresh);
    for (std::int64_t n = 0; n <= block; ++n) (*program)->emit_block(static_cast<int>(last), n, used);
    REQUIRE(fresh.operations.size() == used.operations.size());
    CHECK(fresh.iterations == used.iterations);
    CHECK(fresh.shared_tiles == used.shared_tiles);
    for (std::size_t n = 0; n < fresh.operations.size(); ++n) {
      CHECK(fresh.operations[n].tile == used.operations[n].tile);
      CHECK(fresh.operations[n].wait_token == used.operations[n].wait_token);
      CHECK(fresh.operations[n].wait_count == used.operations[n].wait_count);
      CHECK(fresh.operations[n].signal_token == used.operations[n].signal_token);
    }
  }
}

TEST_CASE("programs: every row of the table is complete and can be found by its id" * doctest::test_suite("every program")) {
  std::set<std::string_view> ids;
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    CHECK(ids.insert(info.id).second);
    CHECK_FALSE(info.title.empty());
    CHECK_FALSE(info.summary.empty());
    CHECK(family_of(info) != nullptr);
    CHECK((info.family == "backward") == (info.pass == Pass::backward));
    if (info.pass == Pass::backward) CHECK((*find_program(info.forward))->pass == Pass::forward);
    for (const ListingLine& line : info.listing) {
      CHECK_FALSE(line.text.empty());
      CHECK_FALSE(line.formula.empty());
      CHECK_FALSE(line.why.empty());
    }
    const auto found = find_program(info.id);
    REQUIRE(found);
    CHECK(*found == &info);
  }
  // Ids that links, scripts and recordings name: none of them may go.
  for (const char* id : {"standard", "flash1", "flash2", "flex", "standard_backward", "flash1_backward", "flash2_backward",
                         "flash2_backward_two_pass", "flash2_backward_deterministic", "flex_backward", "softmax_safe",
                         "softmax_online", "softmax_fused", "matmul_naive", "matmul_tiled"})
    CHECK_MESSAGE(ids.contains(id), id);
}

TEST_CASE("programs: a family's baseline and its best are two programs of the family") {
  for (const ProgramFamily& family : program_families()) {
    CAPTURE(family.id);
    CHECK(family.baseline != family.best);
    for (const std::string_view id : {family.baseline, family.best}) {
      const auto row = find_program(id);
      REQUIRE(row);
      CHECK((*row)->family == family.id);
    }
  }
}

TEST_CASE("programs: a row says which instruction multiplies, and whether its family computes attention" *
          doctest::test_suite("every program")) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  for (const ProgramInfo& info : tested_programs()) {
    CAPTURE(info.id);
    const auto program = info.make(problem, info.default_tile(problem, h200_gpu()), h200_gpu());
    REQUIRE_MESSAGE(program, (program ? "" : program.error().sentence));
    const auto launches = (*program)->launches();
    CHECK(std::any_of(launches.begin(), launches.end(), [](const LaunchSpec& launch) {
            return launch.needs.has_products && launch.needs.instruction == ProductInstruction::wgmma;
          }) == (info.instruction == ProductInstruction::wgmma));
    const Schema& schema = (*program)->schema();
    const auto reads = [&](Meaning meaning) { return schema.reads(schema.tensor(meaning)); };
    const bool is_attention =
        reads(Meaning::query) && reads(Meaning::key) && reads(Meaning::value) && schema.writes(schema.tensor(Meaning::output));
    CHECK(is_attention == family_of(info)->computes_attention);
  }
}

TEST_CASE("programs: an unknown id is answered with the ids there are") {
  const auto found = find_program("flash9");
  REQUIRE_FALSE(found);
  CHECK(found.error().sentence.text().find("'flash9'") != std::string::npos);
  std::string ids;
  for (const ProgramInfo& info : program_table()) ids.append(ids.empty() ? "" : ", ").append(info.id);
  CHECK(found.error().sentence.text().find(ids) != std::string::npos);
}

TEST_CASE("programs: requests that a program cannot take are refused with a sentence" * doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs()) {
    CAPTURE(info.id);
    AttentionProblem p;
    p.pass = Pass::backward;
    const auto backward = info.make(p, {}, toy_gpu());
    CHECK(static_cast<bool>(backward) == (info.pass == Pass::backward));
    if (!backward) CHECK(backward.error().sentence == std::string(info.id) + " has no backward pass: use pass forward");
    p.pass = Pass::both;
    CHECK_FALSE(info.make(p, {}, toy_gpu()));

    p.pass = Pass::forward;
    p.causal = true;
    const auto causal = info.make(p, {}, toy_gpu());
    CHECK(static_cast<bool>(causal) == takes_causal(info));
    if (!causal) CHECK(causal.error().sentence.text().find("has no causal mask") != std::string::npos);

    p.causal = false;
    CHECK_FALSE(info.make(p, {0, 16}, toy_gpu()));
    CHECK_FALSE(info.make(p, {16, -3}, toy_gpu()));
    p.seq_q = 0;
    CHECK_FALSE(info.make(p, {}, toy_gpu()));
  }
}

TEST_CASE(
    "programs: the softmaxes fetch a turn of a row once the one before is done, the safe one four at a time where it only reads") {
  AttentionProblem problem;
  problem.seq_q = 1;
  problem.seq_kv = 8 * 1024;  // eight turns of 128 threads with eight elements each
  const GpuSpec gpu = h200_gpu();
  constexpr std::size_t turn = 8;  // loads of 128 keys
  for (const auto& one : {std::pair{"softmax_online", turn}, std::pair{"softmax_safe", 4 * turn}}) {
    const char* const id = one.first;
    const std::size_t together = one.second;
    INFO(id);
    const Result<const ProgramInfo*> info = find_program(id);
    REQUIRE(info);
    const auto program = (*info)->make(problem, (*info)->default_tile(problem, gpu), gpu);
    REQUIRE(program);
    BlockOperations block;
    (*program)->emit_block(0, 0, block);
    std::vector<std::int32_t> loads, after;
    for (std::size_t i = 0; i < block.operations.size(); ++i) {
      if (block.operations[i].kind != OpKind::load) continue;
      loads.push_back(static_cast<std::int32_t>(i));
      after.push_back(waited_for(block, i));
    }
    REQUIRE(loads.size() >= 2 * 64);
    for (std::size_t i = 0; i < 64; ++i) {  // the first pass
      const std::size_t first = i / together * together;
      CHECK(after[i] == (first == 0 ? -1 : loads[first] - 1));
      // A warp asks for 512 bytes a turn.
      CHECK(block.operations[static_cast<std::size_t>(loads[i])].sectors_at_once == 16 * together / turn);
    }
    CHECK(block.operations[static_cast<std::size_t>(loads.back())].sectors_at_once == 16);
  }
}

}  // namespace
}  // namespace tilescope
