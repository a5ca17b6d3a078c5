// The registers that the kernels of flex spill: what the model stores for them is what the counters of an H200 show.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/flex_spills.h"
#include "sim/programs/kernel_needs.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

struct Measured {
  AttentionProblem problem;
  std::vector<std::string> presets;
  double sm_to_l2;  // median of assets/measured/h200-flex.json
};

AttentionProblem shape(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t seq, std::int64_t head_dim,
                       DataType dtype) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.heads = heads;
  problem.kv_heads = kv_heads;
  problem.seq_q = problem.seq_kv = seq;
  problem.head_dim = head_dim;
  problem.dtype = dtype;
  return problem;
}

AttentionProblem settled(AttentionProblem problem, const std::vector<std::string>& presets) {
  MaskChoice choice;
  choice.presets = presets;
  const Status status = settle_masks(choice, problem);
  REQUIRE_MESSAGE(status, (status ? std::string() : status.error().sentence.text()));
  return problem;
}

double stored(const AttentionProblem& problem) {
  SimulationRequest request;
  request.algorithm = "flex";
  request.problem = problem;
  request.tile = flash2_kernel_tile(problem);
  request.gpu = h200_gpu();
  const auto run = simulate(request);
  REQUIRE_MESSAGE(run, (run ? std::string() : run.error().sentence.text()));
  return static_cast<double>((*run)->ledger.total(Link::sm_to_l2).value);
}

}  // namespace

TEST_CASE("flex spills: O, L and the spilled registers are the bytes that an H200 counted") {
  const Measured cases[] = {
      {shape(2, 2, 2, 256, 64, DataType::fp16), {"sliding_window:window=100", "alibi"}, 143360},  // once a block
      {shape(2, 2, 1, 1024, 128, DataType::bf16), {"relative"}, 1327104},                         // once a key tile
      {shape(1, 8, 8, 2048, 64, DataType::fp16), {"dilated_sliding_window:window=512,dilation=2"}, 3063808},
      {shape(2, 8, 4, 4096, 64, DataType::bf16),
       {"batchify:size=1087", "activation"},
       9928704},  // once a partial tile but the first
  };
  for (const Measured& one : cases) {
    CAPTURE(one.presets.front());
    const AttentionProblem problem = settled(one.problem, one.presets);
    CHECK(flex_spills_of(problem, flash2_kernel_tile(problem)).any());
    CHECK(stored(problem) == one.sm_to_l2);
  }
}

TEST_CASE("flex spills: words that a rescaling stores follow from what the expression adds to the scores") {
  const Measured cases[] = {
      {shape(3, 4, 1, 1670, 64, DataType::fp16), {"relative"}, 5401824},             // only the first of 14 tiles moves a maximum
      {shape(1, 8, 8, 1024, 128, DataType::fp16), {"sandwich:width=16"}, 9352704},   // 13.4 of 16
      {shape(1, 16, 16, 4096, 64, DataType::fp16), {"sandwich:width=4"}, 85928448},  // 24 of 32
  };
  for (const Measured& one : cases) {
    CAPTURE(one.presets.front());
    CHECK(stored(settled(one.problem, one.presets)) == doctest::Approx(one.sm_to_l2).epsilon(0.01));
  }
}

TEST_CASE("flex spills: a kernel that spills nothing, or that is not in the table, stores O and L alone") {
  const double rows = 2 * 2 * 256;
  for (const char* preset : {"softcap:cap=20", "sliding_window:window=100"}) {
    CAPTURE(preset);
    const AttentionProblem problem = settled(shape(2, 2, 2, 256, 64, DataType::fp16), {preset});
    CHECK_FALSE(flex_spills_of(problem, flash2_kernel_tile(problem)).any());
    CHECK(stored(problem) == rows * 64 * 2 + rows * 4);
  }
}

TEST_CASE("flex spills: the closed form has them where all blocks spill alike") {
  const auto form = [](const AttentionProblem& problem) {
    SimulationRequest request;
    request.algorithm = "flex";
    request.problem = problem;
    request.tile = flash2_kernel_tile(problem);
    request.gpu = h200_gpu();
    const auto run = simulate(request);
    REQUIRE(run);
    return (*run)->program->closed_form();
  };
  const AttentionProblem biased = settled(shape(2, 2, 1, 1024, 128, DataType::bf16), {"relative"});
  const auto whole = form(biased);
  REQUIRE(whole);
  Bytes sum;
  for (const auto& term : whole->terms)
    if (term.link == Link::sm_to_l2) sum += term.bytes;
  CHECK(static_cast<double>(sum.value) == stored(biased));
  CHECK_FALSE(form(settled(shape(2, 2, 2, 256, 64, DataType::fp16), {"sliding_window:window=100", "alibi"})));  // by the mask
  CHECK_FALSE(form(settled(shape(3, 4, 1, 1670, 64, DataType::fp16), {"relative"})));                           // by the scores
}

TEST_CASE("flex spills: equal texts have one key, and constants are arguments") {
  const auto key = [](AttentionProblem problem, const char* preset) {
    problem = settled(problem, {preset});
    return flex_kernel_key(problem, flash2_kernel_tile(problem));
  };
  const AttentionProblem one = shape(2, 2, 2, 256, 64, DataType::fp16);
  const std::uint64_t window = key(one, "sliding_window:window=100");
  CHECK(window == key(shape(1, 4, 4, 512, 64, DataType::fp16), "sliding_window:window=7"));
  CHECK(window != key(one, "prefix_lm:prefix=100"));
  CHECK(window != key(shape(2, 2, 2, 256, 128, DataType::fp16), "sliding_window:window=100"));
  CHECK(window != key(shape(2, 2, 2, 256, 64, DataType::bf16), "sliding_window:window=100"));
  CHECK(window != key(shape(2, 2, 2, 250, 64, DataType::fp16), "sliding_window:window=100"));  // ragged keys
  CHECK(std::ranges::is_sorted(flex_spills(), {}, &FlexSpillsRow::key));
  CHECK(std::ranges::all_of(flex_spills(), [](const FlexSpillsRow& row) { return row.spills.any(); }));
}

}  // namespace tilescope
