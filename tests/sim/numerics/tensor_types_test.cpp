// A tensor with a type of its own is rounded to it, whatever the type of the problem is.
#include <doctest/doctest.h>

#include "sim/core/element.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

enum class Line { load_q, load_k, scores, store_s, load_s, weigh, store_o, count };

constexpr TensorSpec score{.name = "S", .meaning = Meaning::score, .index = 3, .cols = Axis::key, .type = DataType::bf16};
constexpr ChipTileSpec score_tile{.name = "S", .tensor = score, .index = 4};

/// S = Q Kᵀ, kept in bf16, then O = S V: one block, fp32 but for S.
class HalfScores final : public TileProgram {
 public:
  explicit HalfScores(const AttentionProblem& problem)
      : TileProgram(problem, ProgramTile(16, 16),
                    {.tensors = {tensors::q, tensors::k, tensors::v, score, tensors::o},
                     .inputs = {tensors::q, tensors::k, tensors::v},
                     .outputs = {score, tensors::o},
                     .tiles = {tiles::q, tiles::k, tiles::v, score_tile, tiles::o}}),
        plan_(problem, tile(), schema()) {
    LaunchSpec launch;
    launch.name = "all";
    launch.needs.threads = 128;
    launch.last_line = static_cast<int>(Line::count);
    launches_.push_back(launch);
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileRange all{0, 16};
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, BlockPlan::query_rows(0, all),
                   tile_bits(tiles::q, tiles::k));
    b.queries(0, all);
    b.keys(0, all);
    b.iteration(0, 0);
    b.load(Line::load_q, tiles::q);
    b.load(Line::load_k, tiles::k);
    b.matmul(Line::scores, score_tile, tiles::q, tiles::k, {.transpose = true});
    b.store(Line::store_s, score_tile);
    b.load(Line::load_s, tiles::v);
    b.matmul(Line::weigh, tiles::o, score_tile, tiles::v, {});
    b.store(Line::store_o, tiles::o);
  }
  std::optional<ClosedForm> closed_form() const override { return std::nullopt; }

 private:
  BlockPlan plan_;
};

TEST_CASE("numerics: what lies in HBM and what a product reads is rounded to the type of its tensor") {
  const AttentionProblem problem = {.seq_q = 16, .seq_kv = 16, .head_dim = 16, .dtype = DataType::fp32};
  const HalfScores program(problem);
  const InputSource inputs;
  const auto run = run_whole(program, inputs);
  REQUIRE_MESSAGE(run, (run ? std::string() : run.error().sentence.text()));
  const Matrix scores = run->plane(0, score), output = run->plane(0, tensors::o);
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 16; ++c) {
      CHECK(scores.at(r, c) == round_to(DataType::bf16, scores.at(r, c)));
      double expected = 0;
      for (int k = 0; k < 16; ++k) expected += static_cast<double>(scores.at(r, k)) * inputs.value(problem, tensors::v, 0, k, c);
      CHECK(output.at(r, c) == doctest::Approx(expected).epsilon(1e-5));
    }
}

}  // namespace
}  // namespace tilescope
