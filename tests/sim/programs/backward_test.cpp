// Backward programs: which one a pass means, closed forms worked out by hand, memory, and both passes as one program.
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "sim/analysis/memory_over_time.h"
#include "sim/engine/simulation.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/kernel_profile.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

AttentionProblem problem_of(std::int64_t n, std::int64_t d, Pass pass = Pass::backward) {
  AttentionProblem p;
  p.seq_q = p.seq_kv = n;
  p.head_dim = d;
  p.pass = pass;
  return p;
}

std::unique_ptr<TileProgram> program_for(std::string_view id, const AttentionProblem& p, const ProgramTile& tile,
                                         const GpuSpec& gpu) {
  const auto info = find_program(id, p.pass);
  REQUIRE_MESSAGE(info, (info ? "" : info.error().sentence));
  auto program = (*info)->make(p, tile, gpu);
  REQUIRE_MESSAGE(program, (program ? "" : program.error().sentence));
  return std::move(*program);
}

ClosedForm form_of(std::string_view id, const AttentionProblem& p, const ProgramTile& tile, const GpuSpec& gpu) {
  const auto form = program_for(id, p, tile, gpu)->closed_form();
  REQUIRE(form);
  return *form;
}

std::int64_t bytes(const ClosedForm& form, Tensor tensor, Link link) {
  for (const ClosedFormTerm& term : form.terms)
    if (term.tensor == tensor && term.link == link) return term.bytes.value;
  return 0;
}
std::int64_t total(const ClosedForm& form, Link link) {
  std::int64_t sum = 0;
  for (const ClosedFormTerm& term : form.terms) sum += term.link == link ? term.bytes.value : 0;
  return sum;
}

std::shared_ptr<const Simulation> run(std::string_view id, const AttentionProblem& p, const GpuSpec& gpu,
                                      std::optional<ProgramTile> tile = {}) {
  SimulationRequest request;
  request.algorithm = std::string(id);
  request.problem = p;
  request.gpu = gpu;
  request.tile = tile;
  request.keeps_intervals = false;
  const auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? "" : made.error().sentence));
  return *made;
}

TEST_CASE("pass: a backward pass of an algorithm is the first backward program of it, and its own id means the same") {
  const auto id = [](std::string_view asked, Pass pass) {
    const auto found = find_program(asked, pass);
    REQUIRE_MESSAGE(found, (found ? "" : found.error().sentence));
    CHECK((*found)->pass == (pass == Pass::forward && (*found)->family == "backward" ? Pass::backward : pass));
    return (*found)->id;
  };
  CHECK(id("flash2", Pass::forward) == "flash2");
  CHECK(id("flash2", Pass::backward) == "flash2_backward");
  CHECK(id("flash2_backward", Pass::backward) == "flash2_backward");
  CHECK(id("flash2_backward", Pass::forward) == "flash2_backward");
  CHECK(id("standard", Pass::backward) == "standard_backward");
  CHECK(id("flash1", Pass::backward) == "flash1_backward");
  CHECK(id("flash2", Pass::both) == "flash2");
  CHECK(id("flash2_backward", Pass::both) == "flash2");
  CHECK(id("flash2_backward_two_pass", Pass::both) == "flash2_backward_two_pass");
  for (const std::string_view none : {"softmax_safe", "softmax_fused", "matmul_tiled"})
    for (const Pass pass : {Pass::backward, Pass::both}) {
      const auto found = find_program(none, pass);
      REQUIRE_FALSE(found);
      CHECK(found.error().sentence ==
            std::string(none) + " has no backward pass: use pass forward, or algorithm standard, flash1, flash2, flex or flash3");
    }
  CHECK(id("flash3", Pass::backward) == "flash3_backward");
  CHECK(id("flash3_backward", Pass::both) == "flash3");
  CHECK(id("flash3", Pass::both) == "flash3");
  for (const std::string_view way_out : {"standard", "flash1", "flash2", "flash3", "flex"})
    for (const Pass pass : {Pass::backward, Pass::both}) CHECK(find_program(way_out, pass));
  CHECK_FALSE(find_program("flash9", Pass::backward));
}

TEST_CASE("closed form: flash2_backward without a mask is the sum of backward traffic worked out by hand") {
  AttentionProblem p = problem_of(4096, 128);
  p.batch = 2;
  p.heads = 6;
  p.kv_heads = 2;
  const std::int64_t n = 4096, d = 128, e = 2, q_planes = 12, kv_planes = 4, tc = n / 128;
  const ClosedForm form = form_of("flash2_backward", p, {64, 128}, h200_gpu());
  CHECK(total(form, Link::l2_to_sm) ==
        kv_planes * 2 * n * d * e + q_planes * (tc * n * (2 * d * e + 8) + 2 * n * d * e + 4 * n * d));
  CHECK(total(form, Link::sm_to_l2) == kv_planes * 2 * n * d * e + q_planes * (tc * n * 4 * d + 4 * n + 4 * n * d + n * d * e));
  CHECK(form.reduced.value == q_planes * tc * n * 4 * d);
  CHECK(form.flops == q_planes * 10 * n * n * d);  // 2.5 times forward
  CHECK(form.exps == q_planes * n * n);
}

TEST_CASE("closed form: flash2_backward halves what it adds and what it reads when a key tile is twice as large") {
  const AttentionProblem p = problem_of(4096, 64);
  const ClosedForm narrow = form_of("flash2_backward", p, {64, 64}, h200_gpu()),
                   wide = form_of("flash2_backward", p, {64, 128}, h200_gpu());
  CHECK(narrow.reduced == wide.reduced * 2);
  CHECK(bytes(narrow, tensors::q, Link::l2_to_sm) == 2 * bytes(wide, tensors::q, Link::l2_to_sm));
  const ClosedForm tall = form_of("flash2_backward", p, {128, 128}, h200_gpu());
  CHECK(total(tall, Link::l2_to_sm) == total(wide, Link::l2_to_sm));  // rows of a query tile are free
  CHECK(total(tall, Link::sm_to_l2) == total(wide, Link::sm_to_l2));
}

TEST_CASE("closed form: two passes add nothing and make seven products, 1.4 times those of flash2_backward") {
  const AttentionProblem p = problem_of(2048, 64);
  const std::int64_t n = 2048, d = 64, e = 2, tiles = n / 128;
  const ClosedForm two = form_of("flash2_backward_two_pass", p, {128, 128}, h200_gpu());
  const ClosedForm one = form_of("flash2_backward", p, {128, 128}, h200_gpu());
  CHECK(two.reduced.value == 0);
  CHECK(5 * two.flops == 7 * one.flops);
  CHECK(two.exps == 2 * one.exps);
  CHECK(total(two, Link::l2_to_sm) ==
        tiles * n * (2 * d * e + 8) + 2 * n * d * e + tiles * 2 * n * d * e + n * (2 * d * e + 8) + 2 * n * d * e);
  CHECK(total(two, Link::sm_to_l2) == n * d * e + 2 * n * d * e + 4 * n);
}

TEST_CASE("closed form: a copy of dQ's sums for each run of key tiles costs its zeros and its reading, and no more additions") {
  AttentionProblem p = problem_of(2048, 64);
  p.causal = true;
  const ClosedForm one = form_of("flash2_backward", p, {128, 128}, h200_gpu());
  const ClosedForm copies = form_of("flash2_backward_deterministic", p, {128, 128}, h200_gpu());  // one head: four runs
  CHECK(copies.reduced == one.reduced);
  CHECK(total(copies, Link::sm_to_l2) - total(one, Link::sm_to_l2) == 3 * 2048 * 64 * 4);
  CHECK(total(copies, Link::l2_to_sm) - total(one, Link::l2_to_sm) == 3 * 2048 * 64 * 4);
  const auto runs = [](std::int64_t heads) {
    AttentionProblem many = problem_of(2048, 64);
    many.heads = many.kv_heads = heads;
    return program_for("flash2_backward_deterministic", many, {128, 128}, h200_gpu())->launches()[1].grid_x;
  };
  CHECK(runs(16) == 4);  // ⌈132 / 16⌉ = 9 would be more than four
  CHECK(runs(64) == 3);
  CHECK(runs(132) == 1);
}

TEST_CASE("closed form: standard_backward moves N x N matrices seven times, flash1_backward none") {
  const AttentionProblem p = problem_of(1024, 64);
  const ClosedForm standard = form_of("standard_backward", p, {128, 128}, h200_gpu());
  const std::int64_t matrix = 1024 * 1024 * 2;
  CHECK(bytes(standard, tensors::p, Link::l2_to_sm) == 2 * matrix);
  CHECK(bytes(standard, tensors::d_p, Link::l2_to_sm) + bytes(standard, tensors::d_p, Link::sm_to_l2) == 2 * matrix);
  CHECK(bytes(standard, tensors::d_s, Link::l2_to_sm) + bytes(standard, tensors::d_s, Link::sm_to_l2) == 3 * matrix);
  CHECK(standard.flops == std::int64_t{8} * 1024 * 1024 * 64);
  CHECK(standard.exps == 0);
  // Rows of P and dP that do not fit shared memory are read twice.
  GpuSpec gpu = toy_gpu();
  gpu.sm_shared_bytes_per_block = 128 + 2 * 2048 - 1;
  CHECK(bytes(form_of("standard_backward", p, {16, 16}, gpu), tensors::p, Link::l2_to_sm) == 3 * matrix);
  CHECK(bytes(form_of("standard_backward", p, {16, 16}, gpu), tensors::d_p, Link::l2_to_sm) == 2 * matrix);
}

TEST_CASE("closed form: what standard_backward moves several times says how often, and what it moves once does not") {
  GpuSpec small = toy_gpu();
  small.sm_shared_bytes_per_block = 128 + 2 * 2048 - 1;
  const std::int64_t matrix = 1024 * 1024 * 2;
  for (const GpuSpec& gpu : {toy_gpu(), small}) {
    int several = 0;
    for (const ClosedFormTerm& term : form_of("standard_backward", problem_of(1024, 64), {16, 16}, gpu).terms) {
      if (term.tensor != tensors::p && term.tensor != tensors::d_p && term.tensor != tensors::d_s) continue;
      CAPTURE(term.formula);
      const std::int64_t times = term.bytes.value / matrix;
      const std::string said = std::to_string(times) + "·";
      CHECK(term.formula.starts_with(said) == (times > 1));
      CHECK(term.formula.find("B·Hq·Nq·Nk") == (times > 1 ? said.size() : 0));
      several += times > 1 ? 1 : 0;
    }
    CHECK(several >= 2);
  }
}

TEST_CASE("closed form: a causal mask leaves out the key tiles of each query tile that it hides") {
  AttentionProblem p = problem_of(1024, 64);
  p.causal = true;
  // Query tile i of 128 rows meets i + 1 key tiles: 36 pairs of the 64.
  const ClosedForm form = form_of("flash2_backward", p, {128, 128}, h200_gpu());
  CHECK(form.reduced.value == 36 * 128 * 64 * 4);
  CHECK(bytes(form, tensors::q, Link::l2_to_sm) == 36 * 128 * 64 * 2);
  CHECK(form.flops == std::int64_t{10} * 36 * 128 * 128 * 64);
}

TEST_CASE("simulate: on textbook, flash1_backward makes the accesses of the paper's Algorithm 4, of order N²d²/M") {
  const AttentionProblem p = problem_of(1024, 64);
  const auto simulation = run("flash1_backward", p, textbook_gpu());
  const std::int64_t n = 1024, d = 64, bc = simulation->request.tile->block_kv, loops = ceil_div(n, bc);
  CHECK(bc == 128);  // ⌈M/4d⌉ with M = 32768
  CHECK(simulation->request.tile->block_q == 64);
  const auto elements = [&](Link link) {
    std::int64_t sum = 0;
    for (Tensor tensor : {tensors::q, tensors::k, tensors::v, tensors::o, tensors::d_o, tensors::d_q, tensors::d_k, tensors::d_v})
      sum += simulation->ledger.total(tensor, link).value / 2;
    return sum;
  };
  CHECK(elements(Link::hbm_read) == 2 * n * d + loops * 4 * n * d);                   // K, V; Q, O, dO, dQ
  CHECK(elements(Link::hbm_write) == n * d + 2 * n * d + loops * n * d + 2 * n * d);  // zeros; dQ; dK, dV
  CHECK(simulation->ledger.total(tensors::m, Link::hbm_read).value == loops * n * 4);
  CHECK(simulation->program->closed_form()->order == "Θ(N²d²/M)");
  // The leading term: 5·N·Nk·d/Bc elements, or 20·N²d²/M with Bc = M/4d. It falls as 1/M.
  GpuSpec half = textbook_gpu();
  half.sm_shared_bytes_per_block = half.sm_shared_bytes = textbook_gpu().sm_shared_bytes_per_block / 2;
  const auto with_half = run("flash1_backward", p, half);
  CHECK(with_half->request.tile->block_kv == 64);
  CHECK(with_half->ledger.total(tensors::d_q, Link::hbm_read).value ==
        2 * simulation->ledger.total(tensors::d_q, Link::hbm_read).value);
}

TEST_CASE("memory: backward needs 8 N bytes of statistics and the sums of dQ, standard backward N x N matrices") {
  for (const std::int64_t n : {256, 512, 1024}) {
    const std::int64_t d = 64, rows = n * d * 2;
    const auto flash2 = run("flash2_backward", problem_of(n, d), toy_gpu());
    CHECK(flash2->extra_hbm.value == n * (4 + 4) + n * d * 4);  // L, D, dQ_acc
    CHECK(flash2->peak_hbm.value == 8 * rows + flash2->extra_hbm.value);
    const auto two = run("flash2_backward_two_pass", problem_of(n, d), toy_gpu());
    CHECK(two->extra_hbm.value == n * (4 + 4));
    const auto flash1 = run("flash1_backward", problem_of(n, d), toy_gpu());
    CHECK(flash1->extra_hbm.value == n * (4 + 4));  // m, l
    const auto standard = run("standard_backward", problem_of(n, d), toy_gpu());
    CHECK(standard->extra_hbm.value == 3 * n * n * 2);  // P, dP, dS
    const auto both = run("standard", problem_of(n, d, Pass::both), toy_gpu());
    CHECK(both->extra_hbm.value == 4 * n * n * 2);  // and S
    CHECK(run("flash2", problem_of(n, d, Pass::both), toy_gpu())->extra_hbm == flash2->extra_hbm);
  }
}

TEST_CASE("both passes: bytes, work and closed form are those of forward and backward together, each with its own tile") {
  for (const std::string_view id :
       {"standard", "flash1", "flash2", "flash2_backward_two_pass", "flash2_backward_deterministic", "flash3"})
    for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()}) {
      CAPTURE(id);
      CAPTURE(gpu.id);
      AttentionProblem p = problem_of(256, 128, Pass::both);
      p.heads = 2;
      p.causal = true;
      const auto both = run(id, p, gpu);
      p.pass = Pass::backward;
      const auto backward = run(id, p, gpu);
      p.pass = Pass::forward;
      const auto forward = run(id.starts_with("flash2") ? "flash2" : id, p, gpu);
      for (const Link link : {Link::l2_to_sm, Link::sm_to_l2, Link::smem_read, Link::smem_write})
        CHECK(both->ledger.total(link) == forward->ledger.total(link) + backward->ledger.total(link));
      CHECK(both->reduced == backward->reduced);
      CHECK(both->flops == forward->flops + backward->flops);
      CHECK(both->exps == forward->exps + backward->exps);
      CHECK(both->launches.size() == forward->launches.size() + backward->launches.size());
      CHECK(both->info->listing.size() == forward->info->listing.size() + backward->info->listing.size());
      CHECK(both->request.problem.pass == Pass::both);
      CHECK(backward->request.problem.pass == Pass::backward);
      const auto form = both->program->closed_form();
      REQUIRE(form);
      for (const ClosedFormTerm& term : form->terms)
        CHECK_MESSAGE(both->ledger.total(term.tensor, term.link) == term.bytes, to_string(term.tensor), " ", term.formula);
      CHECK(form->flops == both->flops);
      CHECK(form->reduced == both->reduced);
      // Nothing leaves the L2 of these GPUs between the passes, so backward finds what forward left there.
      CHECK(both->ledger.total(Link::hbm_read) <= forward->ledger.total(Link::hbm_read) + backward->ledger.total(Link::hbm_read));
    }
}

TEST_CASE("both passes: flash3's listing begins with that of the rung that its forward pass launches") {
  std::set<const ListingLine*> listings;
  for (const std::int64_t d : {64, 128})
    for (const bool causal : {false, true}) {
      AttentionProblem p = problem_of(256, d, Pass::both);
      p.causal = causal;
      CAPTURE(d);
      CAPTURE(causal);
      const auto both = run("flash3", p, h200_gpu());
      p.pass = Pass::forward;
      const auto forward = run("flash3", p, h200_gpu());
      p.pass = Pass::backward;
      const auto backward = run("flash3", p, h200_gpu());
      CHECK(backward->info->id == "flash3_backward");
      CHECK(both->info->title == "FlashAttention-3, both passes");
      listings.insert(both->info->listing.data());
      const std::span<const ListingLine> lines = both->info->listing;
      REQUIRE(lines.size() == forward->info->listing.size() + backward->info->listing.size());
      for (std::size_t n = 0; n < lines.size(); ++n) {
        const bool is_first = n < forward->info->listing.size();
        const ListingLine& half = is_first ? forward->info->listing[n] : backward->info->listing[n - forward->info->listing.size()];
        CHECK(lines[n].text == half.text);
      }
      // The backward launches name the lines behind those of the rung.
      CHECK(both->launches.size() == 4);
      const int before = static_cast<int>(forward->info->listing.size());
      for (std::size_t n = 0; n < 3; ++n)
        CHECK(both->program->launches()[n + 1].first_line == before + backward->program->launches()[n].first_line);
      const MemoryOverTime memory = memory_over_time(*both);
      REQUIRE(memory.checkpointing);
      CHECK(memory.checkpointing->kept.value == 256 * 4);  // L
    }
  CHECK(listings.size() == 3);  // d 128 has one rung here, d 64 two
}

TEST_CASE("both passes: a tile that is asked for is the tile of both") {
  const auto both = run("flash2", problem_of(256, 64, Pass::both), h200_gpu(), ProgramTile(32, 64));
  CHECK(both->launches[0].blocks == 8);
  CHECK(both->launches[2].blocks == 4);  // key tiles of 64
  CHECK(both->request.tile->block_q == 32);
}

TEST_CASE("additions: dQ's sums stay in the L2 while heads in flight fit it, and beyond that each addition reads and writes HBM") {
  const auto reads_of_sums = [](double capacity) {
    GpuSpec gpu = toy_gpu();
    gpu.l2_capacity_bytes = capacity;
    gpu.sm_count = 1;  // blocks side by side would add to one tile while it is there
    gpu.sm_max_blocks = 1;
    const AttentionProblem p = problem_of(512, 32);
    const auto simulation = run("flash2_backward", p, gpu);
    return static_cast<double>(simulation->ledger.total(tensors::d_q_acc, Link::hbm_read).value) /
           static_cast<double>(simulation->reduced.value);
  };
  // 512 rows of dQ_acc are 64 KiB; with Q and dO, 128 KiB are in use at once.
  CHECK(reads_of_sums(1024 * 1024) == 0);
  CHECK(reads_of_sums(64 * 1024) > 0.9);
}

TEST_CASE("closed form: flash3_backward adds and stores what flash2_backward does, and reads whole boxes") {
  const AttentionProblem p = problem_of(1000, 128);
  const ClosedForm two = form_of("flash2_backward", p, {64, 128}, h200_gpu()),
                   three = form_of("flash3_backward", p, {64, 128}, h200_gpu());
  CHECK(three.reduced == two.reduced);
  CHECK(three.flops == two.flops);
  CHECK(total(three, Link::sm_to_l2) == total(two, Link::sm_to_l2));
  CHECK(bytes(three, tensors::q, Link::l2_to_sm) == 8 * 1024 * 128 * 2);  // 16 tiles of 64 rows for each of 8 key tiles
  CHECK(bytes(three, tensors::k, Link::l2_to_sm) == 1024 * 128 * 2);
}

TEST_CASE("timing: flash3_backward is faster than flash2_backward where there is wgmma") {
  for (const std::int64_t d : {64, 128}) {
    AttentionProblem p = problem_of(2048, d);
    p.heads = 16;
    CHECK(run("flash3_backward", p, h200_gpu())->cycles.value < run("flash2_backward", p, h200_gpu())->cycles.value);
  }
}

TEST_CASE(
    "timing: a key tile of flash3_backward whose second group has no keys takes as long as a whole one, and counts what exists") {
  for (const std::int64_t d : {64, 128}) {
    CAPTURE(d);
    AttentionProblem whole = problem_of(8192, d), cut = whole;
    whole.seq_kv = 128;
    cut.seq_kv = 64;
    const auto of_whole = run("flash3_backward", whole, h200_gpu()), of_cut = run("flash3_backward", cut, h200_gpu());
    CHECK(of_cut->cycles.value > 0.98 * of_whole->cycles.value);
    CHECK(2 * of_cut->flops == of_whole->flops);
    CHECK(2 * of_cut->exps == of_whole->exps);
    CHECK(2 * of_cut->ledger.total(tensors::d_k, Link::sm_to_l2).value ==
          of_whole->ledger.total(tensors::d_k, Link::sm_to_l2).value);
  }
}

TEST_CASE("needs: flash3_backward takes the tile, the roles and the registers of its kernel") {
  for (const std::int64_t d : {64, 128}) {
    const AttentionProblem p = problem_of(4096, d);
    const TileShape tile = flash3_backward_tile(p, h200_gpu());
    CHECK(tile == TileShape{d == 64 ? 128 : 64, 128});
    const KernelNeeds needs = flash3_backward_needs(p, tile, h200_gpu());
    CHECK(needs.threads == 384);
    REQUIRE(needs.groups.size() == 3);  // a producer, two groups that compute
    const KernelBuild& build = kernel_profile("flash3_backward").build("gradients", p);
    CHECK(needs.groups.front().registers == build.setmaxnreg_dec);
    CHECK(needs.groups.back().registers == build.setmaxnreg_inc);
    int registers = 0;
    for (const WarpGroup& group : needs.groups) registers += group.warps * group.registers;
    CHECK(registers <= needs.threads / 32 * needs.registers_per_thread);
    CHECK(needs.stages == 2);
    // K and V, dQ of a tile in fp32 and two barriers; for each stage Q, dO, dS, L and D with 16 floats more each, and four
    // barriers.
    const std::int64_t q = tile.block_q, kv = tile.block_kv;
    CHECK(needs.shared_bytes == 2 * kv * d * 2 + q * d * 4 + 2 * 8 + 2 * (2 * q * d * 2 + q * kv * 2 + 2 * (q + 16) * 4 + 4 * 8));
  }
}

TEST_CASE("needs: a block of flash2_backward_two_pass has room for its keys, and for its queries where these need more") {
  const AttentionProblem p = problem_of(4096, 64);
  const auto bytes = [&](const TileShape& tile) { return two_pass_needs(p, tile, h200_gpu()).shared_bytes; };
  // Q, dO, L and D of a block that owns queries, and two stages of K and V with their barriers.
  CHECK(bytes({16, 256}) == 2 * 16 * (64 * 2 + 4) + 2 * (2 * 256 * 64 * 2 + 16));
  CHECK(bytes({64, 128}) == flash2_backward_needs("flash2_backward_two_pass", p, TileShape{64, 128}, h200_gpu()).shared_bytes);
}

TEST_CASE("needs: the dS launch keeps rows of P and dP in shared memory, up to four while they fit") {
  const TileShape tile{16, 16};
  GpuSpec gpu = toy_gpu();
  for (const std::int64_t rows : {1, 3, 4}) {
    gpu.sm_shared_bytes_per_block = 128.0 + static_cast<double>(rows) * 2 * 2048;
    CHECK(gradient_rows(problem_of(1024, 64), tile, gpu).rows == rows);
    CHECK(gradient_rows_needs(problem_of(1024, 64), tile, gpu).shared_bytes == 128 + rows * 2 * 2048);
  }
  CHECK(gradient_rows(problem_of(1024, 64), tile, toy_gpu()).rows == 4);
  CHECK(gradient_rows(problem_of(1024, 64), {2, 16}, toy_gpu()).rows == 2);
  gpu.sm_shared_bytes_per_block = 128 + 2 * 2048 - 1;
  CHECK_FALSE(gradient_rows(problem_of(1024, 64), tile, gpu).kept);
  CHECK(gradient_rows_needs(problem_of(1024, 64), tile, gpu).shared_bytes == 128);
}

TEST_CASE("needs: flash2_backward takes the shared memory and the warps of its kernel") {
  const auto needs = [](std::int64_t d) {
    return flash2_backward_needs("flash2_backward", problem_of(4096, d), TileShape{64, 128}, h200_gpu());
  };
  // K and V, two buffers of Q, dO, L and D, dS, at d 128 also P, and barriers.
  CHECK(needs(64).shared_bytes == 83056);
  CHECK(needs(128).shared_bytes == 164976);
  CHECK(needs(64).threads == 128);
  CHECK(needs(128).threads == 256);
  // Where a byte is missing for the second buffer there is one.
  GpuSpec small = h200_gpu();
  for (const auto& [missing, stages] : {std::pair{0, 2}, std::pair{1, 1}}) {
    small.sm_shared_bytes_per_block = 83056 - missing;
    const KernelNeeds fitting = flash2_backward_needs("flash2_backward", problem_of(4096, 64), TileShape{64, 128}, small);
    CHECK(fitting.stages == stages);
    CHECK(fitting.shared_bytes == 83056 - (2 - stages) * (2 * 64 * (64 * 2 + 4) + 16));
  }
  // A thread has a register less for each sum that a smaller tile or head spares it: of S and dP, and of dK and dV.
  const auto registers = [](std::int64_t d, std::int64_t block_q) {
    return flash2_backward_needs("flash2_backward", problem_of(4096, d), TileShape{block_q, 128}, h200_gpu()).registers_per_thread;
  };
  const KernelProfile& kernel = kernel_profile("flash2_backward");
  CHECK(registers(64, 64) == kernel.build("gradients", problem_of(4096, 64)).registers);
  CHECK(registers(128, 64) == kernel.build("gradients", problem_of(4096, 128)).registers);
  CHECK(registers(64, 64) - registers(64, 32) == 2 * (64 - 32) * 128 / 128);
  CHECK(registers(64, 64) - registers(32, 64) == 2 * 128 * (64 - 32) / 128);
  CHECK(registers(128, 64) - registers(128, 16) == 2 * (64 - 16) * 128 / 256);
  const auto tile = [](std::int64_t d) { return flash2_backward_tile(problem_of(4096, d), h200_gpu()); };
  CHECK(tile(64) == TileShape{64, 128});
  CHECK(tile(128) == TileShape{64, 128});
  CHECK(tile(256) == TileShape{64, 64});
}

TEST_CASE("backward: a pair of tiles reads from shared memory what the ldmatrix of the compiled loops read") {
  // kernels/lab/gradient_counts.py: ldmatrix of a warp for a pair of 64 queries and 128 keys, fp16. Each reads 512 bytes.
  struct Loop {
    std::string_view id;
    Axis axis;
    std::int64_t head_dim, ldmatrix;
  };
  constexpr Loop loops[] = {{"flash2_backward", Axis::key, 64, 128},
                            {"flash2_backward", Axis::key, 128, 136},
                            {"flash2_backward_deterministic", Axis::key, 64, 128},
                            {"flash2_backward_deterministic", Axis::key, 128, 136},
                            {"flash2_backward_two_pass", Axis::key, 64, 96},
                            {"flash2_backward_two_pass", Axis::key, 128, 104},
                            {"flash2_backward_two_pass", Axis::query, 64, 80},
                            {"flash2_backward_two_pass", Axis::query, 128, 80},
                            {"flex_backward", Axis::key, 64, 96},
                            {"flex_backward", Axis::query, 128, 80}};
  for (const Loop& loop : loops) {
    CAPTURE(loop.id);
    CAPTURE(loop.head_dim);
    const auto program = program_for(loop.id, problem_of(512, loop.head_dim), ProgramTile(64, 128), h200_gpu());
    const auto& launches = program->launches();
    std::int64_t seen = 0, warps = 0;
    for (std::size_t n = 0; n < launches.size(); ++n)
      for (std::int64_t at = 0; at < launches[n].blocks() && seen == 0; ++at) {
        BlockOperations block;
        program->emit_block(static_cast<int>(n), at, block);
        if (launches[n].name != "gradients" || block.domain.axis != loop.axis) continue;
        warps = launches[n].needs.threads / 32;
        for (const Operation& op : block.operations)
          if (op.kind == OpKind::matmul && op.iteration == 1) seen += op.smem_read_bytes;
      }
    CHECK(seen == loop.ldmatrix * warps * 512);
  }
}

}  // namespace
}  // namespace tilescope
