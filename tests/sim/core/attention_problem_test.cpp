// Names, masks, head sharing and the sizes that are refused.
#include "sim/core/attention_problem.h"

#include <limits>
#include <string>

#include <doctest/doctest.h>

namespace tilescope {
namespace {

TEST_CASE("attention problem: names of types and passes are read back as what they name") {
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) CHECK(data_type_from(to_string(type)) == type);
  for (Pass pass : {Pass::forward, Pass::backward, Pass::both}) CHECK(pass_from(to_string(pass)) == pass);
  CHECK_FALSE(data_type_from("fp8"));
  CHECK_FALSE(data_type_from(""));
  CHECK_FALSE(pass_from("Forward"));
  CHECK(element_bytes(DataType::fp16) == 2);
  CHECK(element_bytes(DataType::bf16) == 2);
  CHECK(element_bytes(DataType::fp32) == 4);
}

TEST_CASE("attention problem: the causal mask is aligned bottom right") {
  AttentionProblem p;
  p.causal = true;
  p.seq_q = 3;
  p.seq_kv = 5;
  CHECK(p.visible_keys(0) == 3);
  CHECK(p.visible_keys(2) == 5);
  p.seq_q = 5;
  p.seq_kv = 3;
  CHECK(p.visible_keys(0) == 0);
  CHECK(p.visible_keys(1) == 0);
  CHECK(p.visible_keys(2) == 1);
  CHECK(p.visible_keys(4) == 3);
  p.causal = false;
  CHECK(p.visible_keys(0) == 3);
}

TEST_CASE("attention problem: query heads share key heads in neighbouring groups") {
  AttentionProblem p;
  p.batch = 2;
  p.heads = 6;
  p.kv_heads = 2;
  const std::int64_t expected[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3};
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane) CHECK(p.kv_plane_of(plane) == expected[plane]);
}

TEST_CASE("attention problem: the scale is one over the root of the head dimension") {
  AttentionProblem p;
  p.head_dim = 64;
  CHECK(p.scale() == 0.125);
}

std::string refusal(const AttentionProblem& problem) {
  const Status status = check(problem);
  return status ? "" : status.error().sentence;
}

TEST_CASE("attention problem: sizes that make no sense are refused with their value") {
  CHECK(refusal({}).empty());
  std::int64_t AttentionProblem::*const sizes[] = {&AttentionProblem::batch,    &AttentionProblem::heads,
                                                   &AttentionProblem::kv_heads, &AttentionProblem::seq_q,
                                                   &AttentionProblem::seq_kv,   &AttentionProblem::head_dim};
  for (auto size : sizes)
    for (std::int64_t value :
         {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
      AttentionProblem p;
      p.*size = value;
      CHECK_MESSAGE(refusal(p).find(std::to_string(value)) != std::string::npos, refusal(p));
    }
  AttentionProblem p;
  p.head_dim = 257;
  CHECK(refusal(p).find("257") != std::string::npos);
  p.head_dim = 256;
  CHECK(refusal(p).empty());
  p.heads = 6;
  p.kv_heads = 4;
  CHECK(refusal(p).find("6 heads cannot be shared evenly by 4") != std::string::npos);
}

TEST_CASE("attention problem: tensors that no machine holds are refused before any product overflows") {
  AttentionProblem p;
  p.batch = p.heads = p.kv_heads = p.seq_q = p.seq_kv = (std::int64_t{1} << 31) - 1;
  CHECK_FALSE(refusal(p).empty());
  CHECK(refusal(p).find("is a tensor of") == std::string::npos);  // too many planes comes first
  p.heads = p.kv_heads = 1;
  CHECK(refusal(p).find("is a tensor of") != std::string::npos);
  p.batch = 1;
  CHECK(refusal(p).find("is 4.61e+18 scores: the simulation counts at most 3.52e+13; use a smaller batch, heads or seq") !=
        std::string::npos);
  p.seq_kv = 16;
  CHECK(refusal(p).empty());
  p = {.batch = 1 << 16, .heads = 1 << 15, .kv_heads = 1 << 15, .seq_q = 1, .seq_kv = 1, .head_dim = 1};
  CHECK(refusal(p).find("planes") != std::string::npos);
  p.batch -= 1;
  CHECK(refusal(p).empty());
}

TEST_CASE("attention problem: few queries may have any number of keys, and the longer sequence is the one to shorten") {
  AttentionProblem p;
  p.seq_q = 1;
  p.seq_kv = 30'000'000;
  CHECK(refusal(p).empty());
  p.seq_q = 1 << 22;
  CHECK(refusal(p).find("scores") != std::string::npos);
  CHECK(refusal(p).ends_with("use a smaller batch, heads or seq_kv"));
  p.seq_q = p.seq_kv + 1;
  CHECK(refusal(p).ends_with("use a smaller batch, heads or seq"));
}

TEST_CASE("attention problem: tiles are 1 to 4096 rows") {
  CHECK(check(TileShape{1, 4096}));
  for (TileShape tile : {TileShape{0, 16}, TileShape{-5, 16}, TileShape{16, 0}, TileShape{16, 4097}}) CHECK_FALSE(check(tile));
  const Status status = check(TileShape{16, 4097});
  CHECK(status.error().sentence == "block_kv is 4097: it must be 1 to 4096");
}

}  // namespace
}  // namespace tilescope
