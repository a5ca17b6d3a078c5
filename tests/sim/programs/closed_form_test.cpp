// Closed forms against figures worked out by hand: the papers' access counts, and real sizes that no test could walk.
#include "sim/programs/closed_form.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "sim/core/mask.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

AttentionProblem formula_problem(std::int64_t n, std::int64_t d) {
  AttentionProblem p;
  p.seq_q = p.seq_kv = n;
  p.head_dim = d;
  return p;
}

ClosedForm formula_of(std::string_view id, const AttentionProblem& p, const TileShape& tile, const GpuSpec& gpu) {
  const auto program = (*find_program(id))->make(p, tile, gpu);
  REQUIRE(program);
  const auto form = (*program)->closed_form();
  REQUIRE(form);
  return *form;
}

std::int64_t term_bytes(const ClosedForm& form, Tensor tensor, Link link) {
  for (const ClosedFormTerm& term : form.terms)
    if (term.tensor == tensor && term.link == link) return term.bytes.value;
  return 0;
}

std::int64_t elements_both_ways(const ClosedForm& form, std::initializer_list<Tensor> tensors) {
  std::int64_t sum = 0;
  for (Tensor tensor : tensors) sum += term_bytes(form, tensor, Link::l2_to_sm) + term_bytes(form, tensor, Link::sm_to_l2);
  return sum / 2;
}

TEST_CASE("closed form: flash1 on the textbook GPU makes the paper's (2 + 3 ⌈N/Bc⌉) N d accesses, and N d to empty O") {
  const GpuSpec gpu = textbook_gpu();
  for (std::int64_t d : {16, 64, 128}) {
    const AttentionProblem p = formula_problem(2048, d);
    const TileShape tile = (*find_program("flash1"))->default_tile(p, gpu);
    const ClosedForm form = formula_of("flash1", p, tile, gpu);
    const std::int64_t loops = ceil_div(p.seq_kv, tile.block_kv);
    CHECK(elements_both_ways(form, {tensors::q, tensors::k, tensors::v, tensors::o}) == (2 + 3 * loops) * 2048 * d + 2048 * d);
  }
}

TEST_CASE("closed form: bytes of a row statistic are its plain formula, or the formula says that they are in sectors") {
  // Each of the three groups of hopper_ping_pong stores 64 rows of its own.
  for (const auto& [id, tile] :
       {std::pair{"flash2", TileShape{64, 64}}, {"flex", TileShape{64, 64}}, {"hopper_ping_pong", TileShape{192, 128}}}) {
    const GpuSpec gpu = h200_gpu();
    for (const std::int64_t rows : {64, 100, 125, 200}) {
      CAPTURE(id);
      CAPTURE(rows);
      AttentionProblem p = formula_problem(rows, 64);
      p.batch = 2;
      p.heads = p.kv_heads = 3;
      const ClosedForm form = formula_of(id, p, tile, gpu);
      const auto term = std::ranges::find_if(form.terms, [](const ClosedFormTerm& each) { return each.tensor == tensors::lse; });
      REQUIRE(term != form.terms.end());
      const bool plain = term->bytes.value == p.batch * p.heads * rows * 4;
      CHECK(plain == (rows % 8 == 0));
      CHECK(term->formula == (plain ? "B·Hq·Nq·4" : "B·Hq·Nq·4, in sectors"));
    }
  }
}

TEST_CASE("closed form: standard attention moves each N x N matrix twice, and V once for each query tile") {
  const AttentionProblem p = formula_problem(1024, 64);
  const ClosedForm form = formula_of("standard", p, {128, 128}, h200_gpu());
  CHECK(elements_both_ways(form, {tensors::s}) == 2 * 1024 * 1024);
  CHECK(elements_both_ways(form, {tensors::p}) == 2 * 1024 * 1024);
  CHECK(elements_both_ways(form, {tensors::q, tensors::k, tensors::v}) == 3 * 8 * 1024 * 64);
  CHECK(elements_both_ways(form, {tensors::o}) == 1024 * 64);
}

TEST_CASE("closed form: a row of S that does not fit shared memory is read twice by the softmax launch") {
  const AttentionProblem p = formula_problem(1024, 64);
  GpuSpec gpu = toy_gpu();
  gpu.sm_shared_bytes_per_block = 128 + 2047;  // 128 are for the statistics
  CHECK(term_bytes(formula_of("standard", p, {16, 16}, gpu), tensors::s, Link::l2_to_sm) == 2 * 1024 * 1024 * 2);
  gpu.sm_shared_bytes_per_block = 128 + 2048;
  CHECK(term_bytes(formula_of("standard", p, {16, 16}, gpu), tensors::s, Link::l2_to_sm) == 1024 * 1024 * 2);
}

TEST_CASE("closed form: the three softmaxes make four, three and (with V in tiles) one access an element of S") {
  AttentionProblem p = formula_problem(256, 64);
  CHECK(elements_both_ways(formula_of("softmax_safe", p, {1, 64}, h200_gpu()), {tensors::s, tensors::p}) == 4 * 256 * 256);
  CHECK(elements_both_ways(formula_of("softmax_online", p, {1, 64}, h200_gpu()), {tensors::s, tensors::p}) == 3 * 256 * 256);
  CHECK(elements_both_ways(formula_of("softmax_fused", p, {1, 64}, h200_gpu()), {tensors::s, tensors::p}) == 1 * 256 * 256);
}

TEST_CASE("closed form: a K tile of the tiled product serves all rows of a Q tile, of the untiled one a single row") {
  const AttentionProblem p = formula_problem(512, 64);
  const std::int64_t naive = term_bytes(formula_of("matmul_naive", p, {64, 64}, h200_gpu()), tensors::k, Link::l2_to_sm);
  const std::int64_t tiled = term_bytes(formula_of("matmul_tiled", p, {64, 64}, h200_gpu()), tensors::k, Link::l2_to_sm);
  CHECK(tiled == (512 / 64) * 512 * 64 * 2);
  CHECK(naive == 64 * tiled);
}

TEST_CASE("closed form: flash2 at B 4, H 32, N 16384, d 128, worked out by hand") {
  AttentionProblem p = formula_problem(16384, 128);
  p.batch = 4;
  p.heads = 32;
  p.kv_heads = 8;
  const ClosedForm full = formula_of("flash2", p, {128, 64}, h200_gpu());
  const std::int64_t tensor = std::int64_t{128} * 16384 * 128 * 2;  // bytes of Q
  CHECK(term_bytes(full, tensors::q, Link::l2_to_sm) == tensor);
  CHECK(term_bytes(full, tensors::k, Link::l2_to_sm) == 128 * tensor);
  CHECK(term_bytes(full, tensors::o, Link::sm_to_l2) == tensor);
  CHECK(term_bytes(full, tensors::lse, Link::sm_to_l2) == std::int64_t{128} * 16384 * 4);
  CHECK(full.flops == std::int64_t{4} * 128 * 16384 * 16384 * 128);
  p.causal = true;
  // Query tile i of 128 rows visits 2 (i + 1) key tiles of 64.
  const ClosedForm causal = formula_of("flash2", p, {128, 64}, h200_gpu());
  CHECK(term_bytes(causal, tensors::k, Link::l2_to_sm) == std::int64_t{128} * 128 * 129 / 2 * 128 * 128 * 2);
}

TEST_CASE("closed form: statistics are counted in whole sectors wherever their planes start") {
  AttentionProblem p = formula_problem(5, 16);
  p.heads = p.kv_heads = 3;
  // Planes start at bytes 0, 20 and 40; tiles of 4 and 1 rows. Sectors: {0}, {0}; {0,1}, {1}; {1}, {1}.
  CHECK(statistic_bytes(p, {4, 16}, Crossings::once) == 7 * 32);
}

TEST_CASE("closed form: S and P are counted with what pads their rows, and the formula says so") {
  const ClosedForm ragged = formula_of("standard", formula_problem(1001, 64), {128, 128}, h200_gpu());
  const ClosedForm whole = formula_of("standard", formula_problem(1008, 64), {128, 128}, h200_gpu());
  CHECK(term_bytes(ragged, tensors::s, Link::sm_to_l2) == 1001 * 1008 * 2);
  CHECK(term_bytes(ragged, tensors::p, Link::l2_to_sm) == 1001 * 1008 * 2);
  CHECK(term_bytes(whole, tensors::p, Link::l2_to_sm) == 1008 * 1008 * 2);
  const auto formula = [](const ClosedForm& form) {
    for (const ClosedFormTerm& term : form.terms)
      if (term.tensor == tensors::p) return term.formula;
    return std::string();
  };
  CHECK(formula(ragged) == "B·Hq·Nq·Nk′·e");
  CHECK(formula(whole) == "B·Hq·Nq·Nk·e");
}

TEST_CASE("closed form: there is none where tiles, or rows that are loaded one by one, are not whole sectors") {
  const auto none = [](std::string_view id, std::int64_t n, std::int64_t d) {
    return !(*(*find_program(id))->make(formula_problem(n, d), {16, 16}, toy_gpu()))->closed_form().has_value();
  };
  CHECK_FALSE(none("flash2", 64, 20));  // rows of 40 bytes, but tiles of 16 of them
  CHECK(none("flash2", 65, 20));        // the second plane would start inside a sector
  CHECK(none("matmul_naive", 64, 20));
  CHECK_FALSE(none("standard", 65, 16));  // S and P have rows of whole sectors whatever Nk is
  CHECK_FALSE(none("flash2", 65, 16));
  CHECK_FALSE(none("softmax_safe", 64, 20));
}

/// A random problem with no mask, the causal one or an expression.
AttentionProblem visited_problem(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  AttentionProblem p = {.batch = pick(1, 3), .heads = pick(1, 4), .seq_q = pick(1, 40), .seq_kv = pick(1, 60), .head_dim = 16};
  p.kv_heads = p.heads;
  p.dtype = static_cast<DataType>(pick(0, 2));
  const char* const masks[] = {"",
                               "causal",
                               "q >= kv && q - kv < 9",
                               "q // 8 == kv // 16",
                               "(q + kv) % 11 == 0",
                               "kv >= 7 && kv < 12 && q != 5",
                               "q >= 20 && kv < 30"};
  const std::string mask = masks[pick(0, std::ssize(masks) - 1)];
  p.causal = mask == "causal";
  if (!mask.empty() && !p.causal) REQUIRE(settle_masks({.masks = {mask}}, p));
  return p;
}

TEST_CASE("closed form: sums over the visited tiles are those of the definition, element by element") {
  std::mt19937_64 random(43);
  for (int round = 0; round < 400; ++round) {
    const AttentionProblem p = visited_problem(random);
    const TileShape tile = {1 + static_cast<std::int64_t>(random() % 20), 1 + static_cast<std::int64_t>(random() % 24)};
    CAPTURE(round);
    const auto is_visible = [&](std::int64_t q, std::int64_t kv) {
      return p.causal ? kv <= q + p.seq_kv - p.seq_q : !p.mask || p.mask->visible(0, q, kv);
    };
    const auto sees = [&](std::int64_t q, std::int64_t q_end, std::int64_t kv, std::int64_t kv_end) {
      for (std::int64_t row = q; row < q_end; ++row)
        for (std::int64_t key = kv; key < kv_end; ++key)
          if (is_visible(row, key)) return true;
      return false;
    };
    const std::int64_t bytes = element_bytes(p.dtype);
    const std::int64_t first_tile = static_cast<std::int64_t>(random() % 3), first_key = first_tile * tile.block_kv;
    const std::int64_t end_key = std::min(p.seq_kv, first_key + tile.block_kv * (1 + static_cast<std::int64_t>(random() % 3)));
    VisitSums sums;
    std::int64_t of_keys = 0, once = 0, once_if_any = 0, every_pair = 0;
    const std::int64_t at_once = static_cast<std::int64_t>(random() % 3) * 5;  // 0: all
    std::set<std::int64_t> seen;
    for (std::int64_t q = 0; q < p.seq_q; q += tile.block_q) {
      const std::int64_t q_end = std::min(q + tile.block_q, p.seq_q), rows = q_end - q;
      std::int64_t visited = 0;
      for (std::int64_t kv = 0; kv < p.seq_kv; kv += tile.block_kv) {
        const std::int64_t kv_end = std::min(kv + tile.block_kv, p.seq_kv);
        if (!sees(q, q_end, kv, kv_end)) continue;
        ++visited;
        for (std::int64_t key = kv; key < kv_end; ++key) seen.insert(key);
        sums.keys += kv_end - kv;
        sums.rows_keys += rows * (kv_end - kv);
        std::set<std::int64_t> sectors;
        for (std::int64_t byte = kv * bytes; byte < kv_end * bytes; ++byte) sectors.insert(byte / sector_size);
        sums.matrix_bytes += rows * std::ssize(sectors) * sector_size;
        if (kv >= first_key && kv < end_key) of_keys += rows;
      }
      sums.tiles += visited > 0;
      sums.rows += visited > 0 ? rows : 0;
      sums.pairs += visited;
      sums.rows_pairs += rows * visited;
      for (std::int64_t plane = 0; plane < p.query_planes(); ++plane) {
        std::int64_t touched = 0;
        for (std::int64_t from = q; from<q_end; from += at_once> 0 ? at_once : rows) {
          std::set<std::int64_t> sectors;
          for (std::int64_t row = from; row < std::min(q_end, from + (at_once > 0 ? at_once : rows)); ++row)
            sectors.insert((plane * p.seq_q + row) * 4 / sector_size);
          touched += std::ssize(sectors) * sector_size;
        }
        once += touched;
        once_if_any += visited > 0 ? touched : 0;
        every_pair += visited * touched;
      }
    }
    // A causal mask is cut where the last query sees every key.
    sums.seen_keys = std::ssize(seen);
    const VisitSums made = visit_sums(p, tile);
    CHECK(made.tiles == sums.tiles);
    CHECK(made.rows == sums.rows);
    CHECK(made.pairs == sums.pairs);
    CHECK(made.keys == sums.keys);
    CHECK(made.seen_keys == sums.seen_keys);
    CHECK(made.rows_pairs == sums.rows_pairs);
    CHECK(made.rows_keys == sums.rows_keys);
    CHECK(made.matrix_bytes == sums.matrix_bytes);
    if (first_key < p.seq_kv) CHECK(rows_pairs_of_keys(p, tile, first_key, end_key) == of_keys);
    CHECK(statistic_bytes(p, tile, Crossings::once, at_once) == once);
    CHECK(statistic_bytes(p, tile, Crossings::once_if_any, at_once) == once_if_any);
    CHECK(statistic_bytes(p, tile, Crossings::every_pair, at_once) == every_pair);
  }
}

}  // namespace
}  // namespace tilescope
