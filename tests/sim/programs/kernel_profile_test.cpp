// Which row of a profile belongs to a problem.
#include "sim/programs/kernel_profile.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tilescope;

namespace {

AttentionProblem problem_of(DataType dtype, std::int64_t head_dim, bool causal = false) {
  AttentionProblem problem;
  problem.dtype = dtype;
  problem.head_dim = head_dim;
  problem.causal = causal;
  return problem;
}

constexpr KernelBuild builds[] = {
    {.launch = "attention", .dtype = DataType::bf16, .head_dim = 64, .causal = false, .registers = 40},
    {.launch = "attention", .dtype = DataType::bf16, .head_dim = 64, .causal = true, .registers = 41},
    {.launch = "attention", .dtype = DataType::bf16, .head_dim = 128, .registers = 60},
    {.launch = "attention", .dtype = DataType::fp16, .head_dim = 64, .registers = 50},
    {.launch = "attention", .dtype = DataType::fp16, .head_dim = 128, .registers = 51},
    {.launch = "softmax", .dtype = DataType::fp16, .registers = 32},
};
constexpr LaunchReading readings[] = {
    {.launch = "attention", .dtype = DataType::bf16, .dependent_share = 0.25},
    {.launch = "attention", .dtype = DataType::fp16, .dependent_share = 0.5},
};
constexpr OverheadReading overheads[] = {
    {.launch = "attention", .at = "store", .head_dim = 64, .what = {.instructions = 7}},
    {.launch = "attention", .at = "store", .head_dim = 128, .what = {.instructions = 9}},
    {.launch = "attention", .at = "scores", .times = 3, .what = {.barriers = 1}},
};
constexpr KernelProfile profile = {"some kernel", builds, readings, overheads};

int registers(const AttentionProblem& problem, std::string_view launch = "attention") {
  return profile.build(launch, problem).registers;
}

}  // namespace

TEST_CASE("profile: a problem runs the build of its type, head dimension and mask") {
  CHECK(registers(problem_of(DataType::bf16, 64)) == 40);
  CHECK(registers(problem_of(DataType::bf16, 64, true)) == 41);
  CHECK(registers(problem_of(DataType::bf16, 128, true)) == 60);
  CHECK(registers(problem_of(DataType::fp16, 64)) == 50);
  CHECK(registers(problem_of(DataType::fp16, 128)) == 51);
  CHECK(registers(problem_of(DataType::fp16, 128), "softmax") == 32);
}

TEST_CASE("profile: a problem without a kernel gets the nearest build, and fp32 the one with more registers") {
  CHECK(registers(problem_of(DataType::fp16, 16)) == 50);
  CHECK(registers(problem_of(DataType::fp16, 80)) == 51);
  CHECK(registers(problem_of(DataType::fp16, 256)) == 51);
  CHECK(registers(problem_of(DataType::fp32, 64)) == 50);
  CHECK(registers(problem_of(DataType::fp32, 128)) == 60);
}

TEST_CASE("profile: what was read by hand follows type and head dimension; fp32 reads as fp16") {
  CHECK(profile.reading("attention", problem_of(DataType::bf16, 64)).dependent_share == 0.25);
  CHECK(profile.reading("attention", problem_of(DataType::fp32, 64)).dependent_share == 0.5);
  CHECK(profile.overhead("attention", "store", problem_of(DataType::fp16, 40)).instructions == 7);
  CHECK(profile.overhead("attention", "store", problem_of(DataType::fp16, 96)).instructions == 9);
  CHECK(profile.overhead_reading("attention", "scores", problem_of(DataType::fp16, 96)).times == 3);
}

TEST_CASE("profile: a row that a kernel lacks is that of the profile common, and its own goes before") {
  const AttentionProblem problem = problem_of(DataType::fp16, 64);
  const KernelProfile& common = kernel_profile("common");
  CHECK(&profile.reading("row dots", problem) == &common.reading("row dots", problem));
  CHECK(&profile.overhead("gradients", "key_store", problem) == &common.overhead("gradients", "key_store", problem));
  const KernelProfile& two_pass = kernel_profile("flash2_backward_two_pass");
  CHECK(&two_pass.reading("row dots", problem) != &common.reading("row dots", problem));
}

TEST_CASE("profile: overheads add up and multiply field by field") {
  const Overhead a = {
      .instructions = 1, .shared_round_trips = 2, .barriers = 3, .l2_round_trips = 4, .alu = 5, .exps = 6, .wavefronts = 7};
  const Overhead b = a + a, c = a * 2;
  CHECK((b.instructions == 2 && b.shared_round_trips == 4 && b.barriers == 6 && b.l2_round_trips == 8));
  CHECK((b.alu == 10 && b.exps == 12 && b.wavefronts == 14));
  CHECK((c.instructions == 2 && c.shared_round_trips == 4 && c.barriers == 6 && c.l2_round_trips == 8));
  CHECK((c.alu == 10 && c.exps == 12 && c.wavefronts == 14));
}

TEST_CASE("profile: the files of the kernels are in the program, each once") {
  const auto all = kernel_profiles();
  for (const char* id :
       {"matmul_naive", "matmul_tiled", "softmax_safe", "softmax_online", "softmax_fused", "standard", "flash1", "flash2"})
    CHECK(std::count_if(all.begin(), all.end(), [&](const KernelProfile& row) { return row.id == id && !row.builds.empty(); }) ==
          1);
}
