// softmax_safe, softmax_online, softmax_fused: the softmax of the rows of S in three passes, in two, and in one together with V.
//
//   safe    l2_to_sm = 3·B·Hq·Nq·Nk′·e   sm_to_l2 = B·Hq·Nq·Nk′·e     4 accesses per element
//   online  l2_to_sm = 2·B·Hq·Nq·Nk′·e   sm_to_l2 = B·Hq·Nq·Nk′·e     3
//   fused   l2_to_sm = B·Hq·(Nq·Nk′ + ⌈Nq/Br⌉·Nk·d)·e   sm_to_l2 = B·Hq·Nq·d·e     1: P is never stored
//                                                                    Nk′: Nk in whole sectors, see row_pitch()
#include <limits>
#include <type_traits>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view family_source = "arXiv:1805.02867";

enum class SafeLine {
  init,
  max_loop,
  load_for_max,
  row_max,
  sum_loop,
  load_for_sum,
  exp_for_sum,
  row_sum,
  result_loop,
  load,
  exp,
  divide,
  store,
  count
};
constexpr ListingLine safe_listing[] = {
    {0, "m = −∞, l = 0", tensors::m, "m = −∞, l = 0", "A row at a time; maximum and sum start empty."},
    {0, "for each key tile j", Tensor(), "pass 1: the maximum",
     "The largest score must be known before anything is exponentiated, or exp overflows.", ListingLine::heading},
    {1, "load Sⱼ → registers", tensors::s, "Sⱼ: Br × Bc", "The first time that the row is read."},
    {1, "m = max(m, rowmax S)", tensors::m, "m = max(m, max S)", "The largest score so far."},
    {0, "for each key tile j", Tensor(), "pass 2: the sum", "With the maximum known, the sum can be formed.", ListingLine::heading},
    {1, "load Sⱼ → registers", tensors::s, "Sⱼ: Br × Bc", "The second time."},
    {1, "P̃ = exp(S − m)", tensors::p, "P̃ = exp(S − m)", "Never above 1. Only its sum is kept."},
    {1, "l = l + rowsum P̃", tensors::l, "l = l + Σ P̃", "The denominator."},
    {0, "for each key tile j", Tensor(), "pass 3: the result", "With the sum known, the row can be divided.", ListingLine::heading},
    {1, "load Sⱼ → registers", tensors::s, "Sⱼ: Br × Bc", "The third time."},
    {1, "P = exp(S − m)", tensors::p, "P = exp(S − m)",
     "The same exponentials, recomputed because there was no room to keep them."},
    {1, "P = P / l", tensors::p, "P = P / l", "The row now sums to 1."},
    {1, "store Pⱼ → HBM", tensors::p, "Pⱼ: Br × Bc", "Three loads and a store for each element."},
};

enum class OnlineLine {
  init,
  sum_loop,
  load_for_sum,
  row_max,
  exp_for_sum,
  alpha,
  row_sum,
  keep_max,
  result_loop,
  load,
  exp,
  divide,
  store,
  count
};
constexpr ListingLine online_listing[] = {
    {0, "m = −∞, l = 0", tensors::m, "m = −∞, l = 0", "A row at a time; maximum and sum start empty."},
    {0, "for each key tile j", Tensor(), "pass 1: maximum and sum together",
     "New: the sum is rescaled whenever the maximum grows, so one pass computes both.", ListingLine::heading},
    {1, "load Sⱼ → registers", tensors::s, "Sⱼ: Br × Bc", "The first time that the row is read."},
    {1, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)", "The largest score so far."},
    {1, "P̃ = exp(S − m′)", tensors::p, "P̃ = exp(S − m′)", "As seen from the maximum so far."},
    {1, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "Rescale factor for the sum so far: its terms have e^−m and need e^−m′."},
    {1, "l = α l + rowsum P̃", tensors::l, "l = α·l + Σ P̃", "The sum of all exponentials so far, exact at every step."},
    {1, "m = m′", tensors::m, "m = m′", "The new maximum is the old one of the next tile."},
    {0, "for each key tile j", Tensor(), "pass 2: the result",
     "The row must be read once more: no element can be divided before the last was seen.", ListingLine::heading},
    {1, "load Sⱼ → registers", tensors::s, "Sⱼ: Br × Bc", "The second and last time."},
    {1, "P = exp(S − m)", tensors::p, "P = exp(S − m)", "Now with the final maximum."},
    {1, "P = P / l", tensors::p, "P = P / l", "The row now sums to 1."},
    {1, "store Pⱼ → HBM", tensors::p, "Pⱼ: Br × Bc", "Two loads and a store for each element."},
};

enum class FusedLine { init, loop, load_v, load_s, row_max, exp, alpha, row_sum, divide, rescale, weigh, keep, store, count };
constexpr ListingLine fused_listing[] = {
    {0, "m = −∞, l = 0, O = 0", tensors::o, "m = −∞, l = 0, O = 0", "Only P times V is needed, never P itself. So keep O instead."},
    {0, "for each key tile j", Tensor(), "the only pass", "Softmax alone cannot be one pass; softmax times V can.",
     ListingLine::heading},
    {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "The rows of V for these scores; the next tile is in flight."},
    {1, "load Sⱼ → shared", tensors::s, "Sⱼ: Br × Bc", "The only time that the row is read."},
    {1, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)", "The largest score so far."},
    {1, "P = exp(S − m′)", tensors::p, "P = exp(S − m′)", "As seen from the maximum so far."},
    {1, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "Rescale factor for everything so far."},
    {1, "l′ = α l + rowsum P", tensors::l, "l′ = α·l + Σ P", "The sum of all exponentials so far."},
    {1, "P = P / l′", tensors::p, "P = P / l′", "The weights of this tile, as if it were the last one."},
    {1, "O = O (l/l′) α", tensors::o, "O = diag(l·α/l′)·O", "The output so far, corrected for the new maximum and the new sum."},
    {1, "O = O + P Vⱼ", tensors::o, "O = O + P·V",
     "After every tile O is the exact result over the keys seen so far. With tiles of Q and K in place of S this is "
     "FlashAttention."},
    {1, "m = m′, l = l′", tensors::m, "m = m′, l = l′", "On to the next tile."},
    {0, "store O → HBM", tensors::o, "O: Br × d", "One load of S; P is never stored."},
};

enum class Kind : std::uint8_t { safe, online, fused };

template <Kind kind>
using LineOf = std::conditional_t<kind == Kind::safe, SafeLine, std::conditional_t<kind == Kind::online, OnlineLine, FusedLine>>;
static_assert(std::size(safe_listing) == static_cast<std::size_t>(SafeLine::count));
static_assert(std::size(online_listing) == static_cast<std::size_t>(OnlineLine::count));
static_assert(std::size(fused_listing) == static_cast<std::size_t>(FusedLine::count));

Schema declared(Kind kind) {
  using namespace tensors;
  if (kind == Kind::fused)
    return {.tensors = {v, s, p, o, m, l},
            .inputs = {s, v},
            .outputs = {o},
            .tiles = {tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::l_new, tiles::alpha, tiles::o}};
  if (kind == Kind::online)
    return {.tensors = {s, p, m, l},
            .inputs = {s},
            .outputs = {p},
            .tiles = {tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::alpha}};
  return {.tensors = {s, p, m, l}, .inputs = {s}, .outputs = {p}, .tiles = {tiles::s, tiles::p, tiles::m, tiles::l}};
}

constexpr std::string_view id_of(Kind kind) {
  return kind == Kind::safe ? "softmax_safe" : kind == Kind::online ? "softmax_online" : "softmax_fused";
}

/// The overhead instructions of the kernels. Only `warps` of the four warps have elements of a row and execute the exponentials of
/// a merge.
struct SoftmaxOverhead {
  SoftmaxOverhead() = default;
  SoftmaxOverhead(Kind kind, const AttentionProblem& problem, int warps, bool short_row) {
    const KernelProfile &shared = kernel_profile("common"), &kernel = kernel_profile(id_of(kind));
    const auto of = [&](const KernelProfile& profile, std::string_view at) { return profile.overhead("softmax", at, problem); };
    init = of(shared, "init");
    merge = of(kernel, "merge") + of(shared, "shuffles");
    if (kind == Kind::fused) {
      weights = of(kernel, "weights");
      return;
    }
    merge += of(shared, "merge");
    merge.exps += of(kernel, "merge_of_four_warps").exps * warps / 4;
    if (ends_inside_warp_fetch(row_pitch(problem.seq_kv, problem.dtype)))
      merge += of(shared, "parted_merge") + of(shared, "parted_shuffles");
    tile = of(shared, short_row ? "tile_of_short_row" : "tile");
    if (kind == Kind::safe) return;
    row_max_times = kernel.overhead_reading("softmax", "row_max", problem).times;
    exp_times = kernel.overhead_reading("softmax", "exp", problem).times;
  }
  Overhead init;
  /// Merges the threads' partial results of a row through shuffles and shared memory; the fused softmax does so in every tile.
  /// Diverged lanes reconverge in the shuffles: one warp in four executes 64 instructions more, and the others wait for it.
  Overhead merge;
  Overhead tile;                         // of each other tile; more for rows that are too short for the fourfold unrolled loop
  Overhead weights;                      // fused: besides one wavefront per key whose row of V a warp adds
  int row_max_times = 1, exp_times = 1;  // online: a test for a maximum of -inf; each thread rescales its own sum
};

/// The three programs, which share the grid, the tiles and the closed form.
template <Kind kind>
class Softmax final : public TileProgram {
 public:
  using Line = LineOf<kind>;

  Softmax(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared(kind)), plan_(problem, tile, schema()) {
    const KernelNeeds needs =
        kind == Kind::fused ? fused_softmax_needs(problem, tile, gpu) : row_softmax_needs(id_of(kind), problem);
    buffers_ = kind == Kind::fused ? needs.stages : tiles_in_registers(needs, tile);
    if (kind == Kind::safe && gpu.sm_dependent_cycles > 0) fetches_at_once_ = 4;
    if (kind != Kind::fused && gpu.sm_dependent_cycles > 0) set_warps(needs);
    overhead_ = SoftmaxOverhead(kind, problem, warps_, plan_.grid.key_tiles < 4 * tiles_in_registers(needs, tile));
    // A thread holds eight columns of O.
    overhead_.weights.wavefronts += static_cast<int>(tile.block_kv * ceil_div(problem.head_dim, std::int64_t{8}) / needs.threads);
    launches_ = {{"softmax", plan_.grid.query_tiles, problem.query_planes(), 1, needs, 1, static_cast<int>(Line::count)}};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const auto [i, plane] = plan_.grid.query_block(block);
    const TileRange rows = plan_.grid.queries(i);
    // Without V, a row passes through registers, a few elements per thread.
    const TileSet shared = kind == Kind::fused ? tile_bits(tiles::s, tiles::v) : 0;
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, BlockPlan::query_rows(plane, rows), shared);
    b.queries(i, rows);
    b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
    b.overhead(overhead_.init);
    b.fill(Line::init, tiles::l, 0.0F);
    if constexpr (kind == Kind::fused) b.fill(Line::init, tiles::o, 0.0F);
    out.iterations = static_cast<std::int32_t>(passes * plan_.grid.key_tiles);
    std::int32_t before = -1;  // the last operation before the tiles that are now fetched together
    for (std::int64_t n = 0; n < passes * plan_.grid.key_tiles; ++n) {
      const std::int64_t j = n % plan_.grid.key_tiles;
      b.keys(j, plan_.grid.keys(j));
      b.iteration(n, n % (buffers_ * fetches_at_once_));
      b.idle_lanes(j + 1 == plan_.grid.key_tiles ? last_share_ : 8);
      const std::int64_t pass = n / plan_.grid.key_tiles;
      if (n != 0 && is_fetched_first(pass, j)) before = b.latest();
      emit_tile(b, pass, j + 1 == plan_.grid.key_tiles, before);
    }
    if constexpr (kind == Kind::fused) {
      b.keys(-1, {});
      b.iteration(out.iterations, 0);
      b.store(Line::store, tiles::o);
    }
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (kind == Kind::fused && !plan_.rows_are_whole(tensors::v)) return std::nullopt;
    const auto [i, plane] = plan_.grid.query_block(block);
    return plan_.place(plane, plan_.grid.queries(i), 0);
  }

  std::optional<ClosedForm> closed_form() const override {
    if (kind == Kind::fused && !head_rows_are_whole(problem_)) return std::nullopt;
    const VisitSums sums = visit_sums(problem_, tile_);
    const std::int64_t planes = problem_.query_planes();
    const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    const Bytes matrix(planes * sums.matrix_bytes);
    const std::string square = matrix_formula(problem_);
    ClosedForm form;
    form.terms.push_back(
        {tensors::s, Link::l2_to_sm, matrix * passes, passes == 1 ? square : std::to_string(passes) + "·" + square});
    if (kind == Kind::fused) {
      form.terms.push_back({tensors::v, Link::l2_to_sm, Bytes(planes * sums.keys * row_bytes), "B·Hq·⌈Nq/Br⌉·Nk·d·e"});
      form.terms.push_back({tensors::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes), "B·Hq·Nq·d·e"});
      form.flops = planes * 2 * problem_.head_dim * sums.rows_keys;
    } else {
      form.terms.push_back({tensors::p, Link::sm_to_l2, matrix, square});
    }
    form.exps = planes * ((kind == Kind::fused ? 1 : 2) * sums.rows_keys + (kind == Kind::safe ? 0 : sums.rows_pairs));
    form.order = kind == Kind::fused ? "Θ(N² + N²d/Br)" : "Θ(N²)";
    return form;
  }

 private:
  static constexpr std::int64_t passes = kind == Kind::safe ? 3 : kind == Kind::online ? 2 : 1;

  void emit_tile(BlockBuilder& b, std::int64_t pass, bool last, [[maybe_unused]] std::int32_t before) const {
    if constexpr (kind == Kind::safe)
      emit_safe(b, pass, last, before);
    else if constexpr (kind == Kind::online)
      emit_online(b, pass, last, before);
    else
      emit_fused(b);
  }

  /// Returns whether tile j is the first of the tiles that are fetched together. The threads' registers hold one fetch of the row,
  /// issued when the previous one is used up. The compiler unrolled the read-only passes of the safe softmax by fetches_at_once_:
  /// the remainder comes first, one fetch at a time, then fetches_at_once_ are issued together.
  bool is_fetched_first(std::int64_t pass, std::int64_t j) const {
    if (j % buffers_ != 0) return false;
    if (pass + 1 == passes) return true;
    const std::int64_t fetch = j / buffers_, left_over = (plan_.grid.key_tiles + buffers_ / 2) / buffers_ % fetches_at_once_;
    return fetch < left_over || (fetch - left_over) % fetches_at_once_ == 0;
  }

  /// Sets the warps with elements, and the share of the last tile: a warp executes its instructions for idle lanes too.
  void set_warps(const KernelNeeds& needs) {
    const std::int64_t at_once = elements_per_warp_fetch, row = problem_.seq_kv,
                       before = (plan_.grid.key_tiles - 1) * tile_.block_kv;
    const std::int64_t executed = ceil_div(row, at_once) * at_once - before;
    last_share_ = static_cast<int>(std::min<std::int64_t>(8 * executed / (row - before), most_share));
    warps_ = static_cast<int>(std::min<std::int64_t>(ceil_div(row, at_once), needs.threads / 32));
  }

  void merge(BlockBuilder& b, bool last) const { b.overhead(last ? overhead_.merge : overhead_.tile); }

  /// Loads a tile of S into registers, as one of the tiles that are fetched together in this pass.
  void fetch(BlockBuilder& b, Line line, std::int64_t pass, std::int32_t before) const {
    b.load_after(line, tiles::s, before);
    b.asked_at_once((pass + 1 == passes ? 1 : fetches_at_once_) * elements_per_warp_fetch);
  }

  void emit_safe(BlockBuilder& b, std::int64_t pass, bool last, std::int32_t before) const {
    if (pass == 0) {
      fetch(b, Line::load_for_max, pass, before);
      b.row_max(Line::row_max, tiles::m, tiles::m, tiles::s);
      merge(b, last);
    } else if (pass == 1) {
      fetch(b, Line::load_for_sum, pass, before);
      b.exp(Line::exp_for_sum, tiles::p, tiles::s, tiles::m);
      b.row_sum(Line::row_sum, tiles::l, tiles::l, tiles::p, ChipTile::none);
      merge(b, last);
    } else {
      fetch(b, Line::load, pass, before);
      emit_result(b);
    }
  }

  void emit_online(BlockBuilder& b, std::int64_t pass, bool last, std::int32_t before) const {
    if (pass == 0) {
      fetch(b, Line::load_for_sum, pass, before);
      b.row_max(Line::row_max, tiles::m_new, tiles::m, tiles::s);
      b.executes(8 * overhead_.row_max_times);
      b.exp(Line::exp_for_sum, tiles::p, tiles::s, tiles::m_new);
      b.executes(8 * overhead_.exp_times);
      b.exp_rows(Line::alpha, tiles::alpha, tiles::m, tiles::m_new);
      b.row_sum(Line::row_sum, tiles::l, tiles::l, tiles::p, tiles::alpha);
      merge(b, last);
      b.copy(Line::keep_max, tiles::m, tiles::m_new);
    } else {
      fetch(b, Line::load, pass, before);
      emit_result(b);
    }
  }

  void emit_result(BlockBuilder& b) const {
    b.exp(Line::exp, tiles::p, tiles::s, tiles::m);
    merge(b, false);
    b.divide(Line::divide, tiles::p, tiles::l);
    b.store(Line::store, tiles::p);
  }

  void emit_fused(BlockBuilder& b) const {
    const std::int32_t before = b.latest();  // S has one buffer, so its load waits for the previous tile
    b.load(Line::load_v, tiles::v);
    b.load(Line::load_s, tiles::s, before);
    b.row_max(Line::row_max, tiles::m_new, tiles::m, tiles::s);
    b.exp(Line::exp, tiles::p, tiles::s, tiles::m_new);
    b.exp_rows(Line::alpha, tiles::alpha, tiles::m, tiles::m_new);
    b.row_sum(Line::row_sum, tiles::l_new, tiles::l, tiles::p, tiles::alpha);
    b.overhead(overhead_.merge);
    b.divide(Line::divide, tiles::p, tiles::l_new);
    b.rescale(Line::rescale, tiles::o, tiles::l, tiles::alpha);
    b.divide(Line::rescale, tiles::o, tiles::l_new);
    b.matmul(Line::weigh, tiles::o, tiles::p, tiles::v, {.accumulate = true});
    b.overhead(overhead_.weights);
    b.copy(Line::keep, tiles::m, tiles::m_new);
    b.copy(Line::keep, tiles::l, tiles::l_new);
  }

  static constexpr std::int64_t most_share = 1 << 12;

  BlockPlan plan_;
  std::int64_t buffers_ = 1;          // of S and of V
  std::int64_t fetches_at_once_ = 1;  // fetches of the row that a read-only pass issues together
  int last_share_ = 8;                // instructions of a row's last tile, in eighths
  int warps_ = 4;                     // warps with elements of a row
  SoftmaxOverhead overhead_;
};

Result<std::unique_ptr<TileProgram>> make_safe(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Softmax<Kind::safe>>(id_of(Kind::safe), Masks::refused, problem, tile, gpu);
}
Result<std::unique_ptr<TileProgram>> make_online(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Softmax<Kind::online>>(id_of(Kind::online), Masks::refused, problem, tile, gpu);
}
Result<std::unique_ptr<TileProgram>> make_fused(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Softmax<Kind::fused>>(id_of(Kind::fused), Masks::refused, problem, tile, gpu);
}

}  // namespace

ProgramInfo softmax_safe_program() {
  return {
      .id = id_of(Kind::safe),
      .title = "Safe softmax",
      .family = "softmax",
      .source = family_source,
      .summary = "Three passes over the row: maximum, sum, result.",
      .listing = safe_listing,
      .default_tile = row_softmax_tile,
      .make = make_safe,
      .scores_computed = 0,
  };
}

ProgramInfo softmax_online_program() {
  return {
      .id = id_of(Kind::online),
      .title = "Online softmax",
      .family = "softmax",
      .source = "arXiv:1805.02867, Algorithm 3",
      .summary = "Over safe softmax: maximum and sum in one pass, the sum rescaled whenever the maximum moves.",
      .listing = online_listing,
      .default_tile = row_softmax_tile,
      .make = make_online,
      .scores_computed = 0,
  };
}

ProgramInfo softmax_fused_program() {
  return {
      .id = id_of(Kind::fused),
      .title = "Softmax fused with V",
      .family = "softmax",
      .source = "Z. Ye, From Online Softmax to FlashAttention, 2023",
      .summary = "Over online softmax: times V in the same pass, so P is never stored and S is read once.",
      .listing = fused_listing,
      .default_tile = fused_softmax_tile,
      .make = make_fused,
      .scores_computed = 0,
  };
}

}  // namespace tilescope
