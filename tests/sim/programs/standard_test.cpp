// standard with a mask of its own: a matrix in HBM that the softmax reads. Nothing is skipped, and the values are those of any
// mask.
#include <algorithm>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "sim/masks/mask_choice.h"
#include "sim/numerics/program_reference.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/sim/programs/last_use.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

namespace {

struct Case {
  std::string mask, score;
};
const Case cases[] = {{"q >= kv", ""},
                      {"q >= kv && q - kv < 9 + 5 * h", "score + 0.125 * (kv - q)"},
                      {"q % 5 != 2 && (b == 0 || kv < 20)", "2 * tanh(score / 2)"},
                      {"false", ""},
                      {"", "log(sigmoid(score) + 1)"}};

AttentionProblem problem_of(const Case& drawn, std::int64_t rows, std::int64_t keys) {
  AttentionProblem p = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = rows, .seq_kv = keys, .head_dim = 16};
  MaskChoice choice;
  if (!drawn.mask.empty()) choice.masks = {drawn.mask};
  choice.score = drawn.score;
  REQUIRE(settle_masks(choice, p));
  return p;
}

std::shared_ptr<const Simulation> simulated(const AttentionProblem& problem, const GpuSpec& gpu, const ProgramTile& tile) {
  SimulationRequest request;
  request.algorithm = "standard";
  request.problem = problem;
  request.tile = tile;
  request.gpu = gpu;
  const auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  return *made;
}

Tensor mask_of(const TileProgram& program) {
  return program.schema().tensor(Meaning::bias);
}

}  // namespace

TEST_CASE("standard: under a dense mask and changed scores O agrees with float64, also where a row sees no key") {
  for (const Case& drawn : cases)
    for (const auto& [rows, keys] : {std::pair{40, 40}, {23, 61}}) {
      const AttentionProblem p = problem_of(drawn, rows, keys);
      CAPTURE(drawn.mask);
      CAPTURE(drawn.score);
      const auto program = (*find_program("standard"))->make(p, ProgramTile(8, 16), toy_gpu());
      REQUIRE(program);
      for (std::int64_t plane = 0; plane < p.query_planes(); plane += 3) {
        const auto made = run_plane(**program, {}, plane, tensors::o);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
        const Matrix expected = reference_plane(**program, {}, plane, tensors::o);
        double apart = 0;
        for (std::size_t i = 0; i < expected.values.size(); ++i)
          apart = std::max(apart, std::abs(static_cast<double>(made->values[i]) - static_cast<double>(expected.values[i])));
        CHECK(apart < 6e-3);
      }
    }
}

TEST_CASE("standard: a dense mask costs a matrix as large as S on the way to the SMs, and saves nothing") {
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()})
    for (const Case& drawn : cases) {
      const AttentionProblem p = problem_of(drawn, 64, 96);
      AttentionProblem plain = p;
      plain.mask = nullptr;
      plain.score_change = nullptr;
      const auto run = simulated(p, gpu, ProgramTile(16, 16)), whole = simulated(plain, gpu, ProgramTile(16, 16));
      CAPTURE(drawn.mask);
      const Tensor mask = mask_of(*run->program);
      CHECK(bool(mask) == !drawn.mask.empty());
      const auto form = run->program->closed_form();
      REQUIRE(form);
      for (const ClosedFormTerm& term : form->terms) CHECK(run->ledger.total(term.tensor, term.link).value == term.bytes.value);
      CHECK(run->flops == form->flops);
      CHECK(run->exps == form->exps);
      CHECK(run->flops == whole->flops);
      const std::int64_t more = mask ? 2 * 4 * 64 * 96 * 2 : 0;
      CHECK(run->ledger.total(Link::l2_to_sm).value == whole->ledger.total(Link::l2_to_sm).value + more);
      CHECK(run->ledger.total(Link::sm_to_l2) == whole->ledger.total(Link::sm_to_l2));
      if (mask) CHECK(run->ledger.total(mask, Link::l2_to_sm).value == more);
      if (mask) CHECK(run->peak_hbm > whole->peak_hbm);
    }
}

TEST_CASE("standard: in a run of both passes, the mask and dO move the bytes of the closed form") {
  AttentionProblem p = {.heads = 2, .seq_q = 256, .seq_kv = 256, .head_dim = 16, .pass = Pass::both};
  p.kv_heads = 2;
  MaskChoice choice;
  choice.masks = {"q - kv < 8"};
  REQUIRE(settle_masks(choice, p));
  const auto run = simulated(p, toy_gpu(), ProgramTile(16, 16));
  const auto form = run->program->closed_form();
  REQUIRE(form);
  std::int64_t to_sm = 0;
  for (const ClosedFormTerm& term : form->terms) {
    CAPTURE(to_string(term.tensor));
    CAPTURE(to_string(term.link));
    CHECK(run->ledger.total(term.tensor, term.link).value == term.bytes.value);
    if (term.link == Link::l2_to_sm) to_sm += term.bytes.value;
  }
  CHECK(run->ledger.total(Link::l2_to_sm).value == to_sm);
}

TEST_CASE("standard: a mask that is the same for every head lies in HBM once, and one by head once for each") {
  const auto bytes = [&](const char* text) {
    const auto run = simulated(problem_of({text, ""}, 64, 64), toy_gpu(), ProgramTile(16, 16));
    return tensor_layout(run->program->problem(), run->program->tile(), mask_of(*run->program)).bytes().value;
  };
  CHECK(bytes("q >= kv") == 64 * 64 * 2);
  CHECK(bytes("q >= kv + h") == 4 * 64 * 64 * 2);
  CHECK(bytes("q >= kv + h + b") == 8 * 64 * 64 * 2);
}

TEST_CASE("standard: a load of the mask waits until the last one has been added to S") {
  for (const double shared : {65536.0, 4096.0}) {  // a row of S fits, and does not
    CAPTURE(shared);
    GpuSpec gpu = toy_gpu();
    gpu.sm_shared_bytes = gpu.sm_shared_bytes_per_block = shared;
    const AttentionProblem p = problem_of({"q >= kv", ""}, 64, shared > 4096 ? 512 : 4096);
    const auto run = simulated(p, gpu, ProgramTile(16, 16));
    BlockOperations block;
    run->program->emit_block(1, 0, block);
    const Tensor mask = mask_of(*run->program);
    int loads = 0;
    bool waits = true;
    for (std::size_t at = 0; at < block.operations.size(); ++at) {
      const Operation& op = block.operations[at];
      if (op.kind != OpKind::load || op.tile.tensor != mask) continue;
      waits = waits && waited_for(block, at) >= last_use(block, at);
      ++loads;
    }
    CHECK(loads > 8);
    CHECK(waits);
  }
}

TEST_CASE("standard: where a row of S does not fit shared memory, S and the mask are read twice") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_shared_bytes = gpu.sm_shared_bytes_per_block = 4096;
  const AttentionProblem p = problem_of({"q >= kv", ""}, 64, 4096);
  const auto run = simulated(p, gpu, ProgramTile(16, 16));
  const Tensor mask = mask_of(*run->program);
  CHECK(run->ledger.total(mask, Link::l2_to_sm).value == 2 * 8 * 64 * 4096 * 2);
  const auto form = run->program->closed_form();
  REQUIRE(form);
  for (const ClosedFormTerm& term : form->terms) CHECK(run->ledger.total(term.tensor, term.link).value == term.bytes.value);
}

}  // namespace tilescope
