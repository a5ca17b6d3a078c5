// MaskChoice: texts become masks for whatever sizes a problem has, and a fault names the text it is in.

#include <doctest/doctest.h>

#include "sim/analysis/outcome.h"
#include "sim/analysis/sweep.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/score_change.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

namespace {

AttentionProblem sized(std::int64_t rows, std::int64_t heads = 1) {
  AttentionProblem p;
  p.heads = p.kv_heads = heads;
  p.seq_q = p.seq_kv = rows;
  return p;
}

}  // namespace

TEST_CASE("mask choice: tables are compared by what is in them") {
  const auto with_table = [](std::vector<std::int32_t> values) {
    MaskChoice choice;
    choice.masks = {"doc[q] == doc[kv]"};
    choice.tables = {std::make_shared<const CapturedTable>(make_table("doc", std::move(values)))};
    return choice;
  };
  const MaskChoice choice = with_table({0, 0, 1});
  CHECK(choice == MaskChoice(choice));
  CHECK(choice == with_table({0, 0, 1}));
  CHECK_FALSE(choice == with_table({0, 1, 1}));
  MaskChoice without = choice;
  without.tables.clear();
  CHECK_FALSE(choice == without);
}

TEST_CASE("mask choice: all conditions, presets and causal must hold, for the sizes of the problem") {
  MaskChoice choice;
  choice.masks = {"kv % 2 == 0"};
  choice.presets = {"sliding_window:window=8", "softcap:cap=5"};
  for (const std::int64_t rows : {16, 40}) {
    AttentionProblem p = sized(rows);
    p.causal = true;
    REQUIRE(settle_masks(choice, p));
    for (std::int64_t q = 0; q < rows; ++q)
      for (std::int64_t kv = 0; kv < rows; ++kv) CHECK(p.mask->visible(0, q, kv) == (kv % 2 == 0 && kv <= q && q - kv <= 8));
    REQUIRE(p.score_change);
    CHECK(p.score_change->fits(p));
  }
}

TEST_CASE("mask choice: an empty choice leaves the problem as it is") {
  AttentionProblem p = sized(16);
  REQUIRE(settle_masks({}, p));
  CHECK(p.mask == nullptr);
  CHECK(p.score_change == nullptr);
}

TEST_CASE("mask choice: a fault names its text, and parsing alone finds it") {
  MaskChoice choice;
  choice.masks = {"q >= kv", "q - kw < 3"};
  const AttentionProblem p = sized(16);
  const auto fault = find_mask_fault(choice, p);
  REQUIRE(fault);
  CHECK(fault->where == Setting::mask);
  CHECK(fault->index == 1);
  CHECK(error_of(*fault).sentence == "mask 'q - kw < 3': column 5: unknown name 'kw': did you mean kv?");
  choice.masks.pop_back();
  CHECK_FALSE(find_mask_fault(choice, p));
  choice.presets = {"causal", "softcap", "alibi"};
  const auto two = find_mask_fault(choice, p);
  REQUIRE(two);
  CHECK(two->index == 2);
  CHECK(error_of(*two).sentence == "preset softcap and preset alibi both change the score: write one score");
  choice.presets = {"casual"};
  CHECK(error_of(*find_mask_fault(choice, p)).sentence == "preset: unknown name 'casual': did you mean causal?");
}

TEST_CASE("mask choice: a mask that takes long to look at can be cancelled") {
  MaskChoice choice;
  choice.masks = {"(q * kv) % 3 - (kv * q) % 3 == 0"};
  AttentionProblem p = sized(4096);
  int asked = 0;
  const Status settled = settle_masks(choice, p, {.go_on = [&] { return ++asked < 3; }});
  REQUIRE_FALSE(settled);
  CHECK(settled.error().kind == Error::Kind::cancelled);
}

TEST_CASE("mask choice: a sweep makes the mask anew at every length") {
  SweepRequest sweep;
  sweep.base.gpu = toy_gpu();
  sweep.base.masking.presets = {"sliding_window:window=16"};
  sweep.algorithms = {"flex"};
  sweep.axis = *parse_sweep_axis("seq=64,128,256");
  double before = 0;
  for (const double length : sweep.axis.values) {
    const auto request = request_at(sweep, "flex", length);
    REQUIRE(request);
    const auto outcome = simulate_outcome(*request);
    REQUIRE(outcome);
    REQUIRE_MESSAGE(outcome->done(), outcome->refusal.text());
    // A window's bytes grow with the length, not with its square.
    if (before > 0) CHECK(outcome->on(Link::l2_to_sm) / before == doctest::Approx(2).epsilon(0.15));
    before = outcome->on(Link::l2_to_sm);
  }
}

TEST_CASE("mask choice: two requests of one choice are the same request, whatever objects their masks are") {
  SimulationRequest a;
  a.gpu = toy_gpu();
  a.masking.masks = {"q >= kv"};
  SimulationRequest b = a;
  REQUIRE(settle_masks(a.masking, a.problem));
  CHECK(same_request(a, b));
  b.masking.masks = {"q > kv"};
  CHECK_FALSE(same_request(a, b));
}

}  // namespace tilescope
