// Closed forms against figures worked out by hand: the papers' access counts, and real sizes that no test could walk.
#include "sim/programs/closed_form.h"

#include <string_view>

#include <doctest/doctest.h>

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
  CHECK(statistic_bytes(p, {4, 16}, Visits::once) == 7 * 32);
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

}  // namespace
}  // namespace tilescope
