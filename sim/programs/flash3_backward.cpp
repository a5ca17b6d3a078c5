// flash3_backward: flash2_backward on Hopper. TMA moves the tiles, wgmma multiplies them, and a producer runs ahead of the warps
// that compute. dQ comes one step late, so that its addition runs under the products of the next query tile.
//
//   producer     load K   load Q₀ L₀ D₀   load V   load dO₀   load Q₁ …       wait empty, load Q₂ …
//   consumer g   S₀ → P₀   issue dP₀ dV₀   dQ₋₁ → shared   dS₀ ─full─►   issue dK₀   add dQ₋₁   issue S₁   wait dV₀ dK₀ ─empty─►
//                wait dS₀ of both   issue dQ₀   P₁   issue dP₁ dV₁ …
//
//   Each of two groups owns half of the keys. All of dS meets in shared memory: of dQ = dS K each group computes half. Here that is
//   half of the rows; at d 128 the kernel's groups take half of the columns.
//
//   l2_to_sm = B·Hkv·2·Bc·⌈Nk/Bc⌉·d·e [K, V] + B·Hq·⌈Nk/Bc⌉·(Br·⌈Nq/Br⌉·2·d·e + Nq·8) [Q, dO, L, D]
//            + B·Hq·Nq·(2·d·e + 4·d) [O, dO, dQ_acc]
//   sm_to_l2   as flash2_backward
#include <algorithm>
#include <array>
#include <vector>

#include "sim/programs/added_gradients.h"
#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash3_backward";

enum class Line {
  rows,
  load_o,
  load_d_o_once,
  row_dot,
  store_row_dot,
  zero,
  store_zero,
  key_tiles,
  producer,
  load_k,
  load_v,
  producer_loop,
  load_q,
  load_stats,
  load_d_o,
  consumers,
  init,
  wait_k,
  wait_v,
  query_loop,
  wait_q,
  scores,
  wait_s,
  mask,
  exp,
  wait_d_o,
  d_p,
  d_v,
  put,
  wait_d_p,
  subtract,
  d_s,
  d_k,
  add,
  wait_d_v,
  wait_d_k,
  wait_d_s,
  d_q,
  wait_d_q,
  store,
  convert_rows,
  load_sum,
  convert,
  store_d_q,
  count
};
namespace lines = backward_lines;
constexpr ListingLine listing[] = {
    lines::query_blocks,
    lines::load_o,
    lines::load_d_o_once,
    lines::row_dot,
    lines::store_row_dot,
    lines::zero,
    lines::store_zero,
    lines::key_blocks,
    {0, "producer: one thread of one warp", Tensor(), "setmaxnreg.dec",
     "The producer needs few registers. It gives the others to the warps that compute.", ListingLine::heading},
    {1, "load Kⱼ → full[K]", tensors::k, "Kⱼ: Bc × d", "Stays on chip."},
    {1, "load Vⱼ → full[V]", tensors::v, "Vⱼ: Bc × d", "Stays on chip. It is needed after the first scores, so it comes after Q."},
    lines::query_loop_of_heads,
    {2, "wait empty[Q]; load Qᵢ → full[Q]", tensors::q, "Qᵢ: Br × d",
     "The buffer is free once dK has read it. The producer runs ahead as far as the ring has room."},
    because(lines::load_stats, "Two more warps of the producer bring one number a row each."),
    {2, "wait empty[dO]; load dOᵢ → full[dO]", tensors::d_o, "dOᵢ: Br × d", "dO is needed later than Q and freed earlier."},
    {0, "consumer groups: half of the keys each", Tensor(), "setmaxnreg.inc",
     "Each keeps dK and dV of its keys in registers. P and dS come out transposed, as the left factors of dV and dK.",
     ListingLine::heading},
    lines::init_keys,
    {1, "wait full[K]", tensors::k, "mbarrier.try_wait", "The bytes of Kⱼ have landed."},
    {1, "wait full[V]", tensors::v, "mbarrier.try_wait", "The bytes of Vⱼ had the first softmax to land in."},
    because(lines::query_loop, "S of a tile begins one iteration early, before dQ of the tile before."),
    {2, "wait full[Q]", tensors::q, "mbarrier.try_wait", "This wait is short if the producer is ahead."},
    {2, "issue S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
     "The scores are recomputed. They run while dK of the tile before does."},
    {2, "wait S", tensors::s, "wgmma.wait_group", "dQ of the tile before still runs."},
    lines::mask,
    because(lines::exp, "The final probabilities at once: L holds maximum and sum. dQ of the tile before runs under it."),
    {2, "wait full[dO]", tensors::d_o, "mbarrier.try_wait", "The bytes of dOᵢ have landed."},
    {2, "issue dP = dOᵢ Vⱼᵀ", tensors::d_p, "dP = dO·Vᵀ", "How much each weight matters."},
    {2, "issue dV = dV + Pᵀ dOᵢ", tensors::d_v, "dV = dV + Pᵀ·dO", "P comes from registers, dO from shared memory."},
    {2, "dSK of the tile before → shared", tensors::d_q_acc, "st.shared",
     "From registers, for the copy engine. Two products run meanwhile."},
    {2, "wait dP", tensors::d_p, "wgmma.wait_group", "dV still runs."},
    lines::subtract,
    {2, "dS = P ∘ dP → shared", tensors::d_p, "dS = P∘(dP − D)",
     "It stays in registers for dK, and goes to shared memory for dQ, which needs the keys of both groups."},
    {2, "issue dK = dK + τ dSᵀ Qᵢ", tensors::d_k, "dK = dK + τ dSᵀ·Q", "dS comes from registers, Q from shared memory."},
    {2, "dQ_acc += dSK of the tile before, in HBM", tensors::d_q_acc, "dQ_acc = dQ_acc + dSK, fp32",
     "One instruction: the copy engine reads it from shared memory, and the L2 adds in the order of arrival. The warps go on."},
    {2, "wait dV → empty[dO]", tensors::d_v, "wgmma.wait_group", "The producer may load the dO after next."},
    {2, "wait dK → empty[Q]", tensors::d_k, "wgmma.wait_group", "The producer may load the Q after next."},
    {2, "wait full[dS]", tensors::d_p, "mbarrier.try_wait", "dQ needs the dS of both groups."},
    {2, "issue dSK = τ dS Kⱼ", tensors::d_q_acc, "dSK = τ dS·K",
     "What this key tile contributes to dQ. Each group computes half of it."},
    {2, "wait dSK", tensors::d_q_acc, "wgmma.wait_group", "By now it is over: it had the next softmax to run under."},
    because(lines::store_keys, "Through the memory of K and V, as boxes of TMA."),
    because(lines::query_blocks, "The third launch."),
    lines::load_sum,
    lines::convert,
    lines::store_queries,
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// L and D of a query tile, in a ring like Q.
namespace rings {
namespace declared {
inline constexpr ChipTileSpec lse{.name = "L", .tensor = tensors::lse, .index = tile_index::lse_ring, .ring = true};
inline constexpr ChipTileSpec row_dot{.name = "D", .tensor = tensors::row_dot, .index = tile_index::row_dot_ring, .ring = true};
}  // namespace declared
inline constexpr ChipTile lse = declared::lse, row_dot = declared::row_dot;
}  // namespace rings

/// A group's half of a tile.
namespace halves {
namespace declared {
inline constexpr ChipTileSpec k = tiles::declared::k_kept.in_strips(), v = tiles::declared::v_kept.in_strips(),
                              d_p = tiles::declared::d_p.in_strips(), d_s = tiles::declared::d_s.in_strips(),
                              d_k = tiles::declared::d_k.in_strips(), d_v = tiles::declared::d_v.in_strips();
inline constexpr ChipTileSpec d_q_sent = tiles::declared::d_q_part.in_strips();  // in shared memory
inline constexpr ChipTileSpec d_q_part =
    ChipTileSpec{.name = "dSK", .tensor = tensors::d_q_acc, .index = tile_index::half_d_q_part, .part = TilePart::of_tile}
        .in_strips();
inline constexpr ChipTileSpec p_kept =
    ChipTileSpec{.name = "P", .tensor = tensors::p, .index = tile_index::half_p_kept}.in_strips();
inline constexpr ChipTileSpec s = ChipTileSpec{.name = "S", .tensor = tensors::s, .index = tile_index::half_s}.in_strips();
inline constexpr ChipTileSpec p = ChipTileSpec{.name = "P", .tensor = tensors::p, .index = tile_index::half_p}.in_strips();
inline constexpr ChipTileSpec d_s_kept =
    ChipTileSpec{.name = "dS", .tensor = tensors::d_s, .index = tile_index::half_d_s_kept}.in_strips();
}  // namespace declared
inline constexpr ChipTile k = declared::k, v = declared::v, s = declared::s, p = declared::p, d_p = declared::d_p,
                          d_s = declared::d_s, d_k = declared::d_k, d_v = declared::d_v, d_q_sent = declared::d_q_sent,
                          d_q_part = declared::d_q_part, p_kept = declared::p_kept, d_s_kept = declared::d_s_kept;
}  // namespace halves

/// S, P, dP and dS exist only on chip.
Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot, d_q_acc},
          .inputs = {q, k, v, o, lse, d_o},
          .outputs = {row_dot, d_q_acc, d_q, d_k, d_v},
          .tiles = {tiles::q_ring,  halves::k,      halves::v,      halves::s,        halves::p,        halves::p_kept,
                    rings::lse,     rings::row_dot, tiles::row_dot, tiles::d_o,       tiles::d_o_ring,  tiles::d_o_o,
                    tiles::o,       halves::d_p,    halves::d_s,    halves::d_s_kept, halves::d_q_part, halves::d_q_sent,
                    tiles::d_q_acc, tiles::d_q,     halves::d_k,    halves::d_v}};
}

enum LaunchIndex { row_dot_launch, key_launch, convert_launch };

/// Returns how a block that converts `rows` rows of dQ takes them. A warp takes strips of 16 rows, 32 columns
/// at a time, and transposes them with two dependent shuffles. The rows of a strip that is not whole go two columns a lane at a
/// time.
RowSteps strip_steps(std::int64_t rows, std::int64_t head_dim) {
  constexpr std::int64_t strip = 16, warps = 4, columns = 32;
  const std::int64_t strips = rows / strip, groups = ceil_div(head_dim, columns);
  const std::int64_t whole = ceil_div(strips, warps) * groups;
  const std::int64_t cut =
      strips / warps * groups + ceil_div(rows % strip * head_dim, 2 * columns);  // of the warp with the cut strip
  const std::int64_t steps = std::max(whole, rows % strip > 0 ? cut : 0);
  return {.rounds = steps, .round_trips = 2 * whole};
}
constexpr std::size_t producer = 0;

class Flash3Backward final : public TileProgram {
 public:
  Flash3Backward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()) {
    launches_ =
        added_gradient_launches<Line>(id, plan_.grid, tile, plan_.grid.key_tiles, flash3_backward_needs(problem, tile, gpu));
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[static_cast<std::size_t>(launch)].needs;
    if (launch == key_launch) {
      const std::int64_t j = block % grid.key_tiles, kv_plane = block / grid.key_tiles;
      const std::vector<GroupVisit> visits = group_visits(grid, kv_plane, j);
      BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::along(Axis::key, kv_plane, grid.keys(j)),
                     tile_bits(tiles::q_ring, halves::k, halves::v, tiles::d_o_ring, halves::d_s, halves::d_q_sent));
      // A group computes half of the keys of S, and half of the rows of dQ.
      out.whole_keys = static_cast<std::int32_t>(half_of(tile_.block_kv));
      out.whole_rows = static_cast<std::int32_t>(half_of(tile_.block_q));
      out.iterations = static_cast<std::int32_t>(visits.size());
      Emission(*this, b, visits, needs.stages, j, grid.keys(j)).emit();
      return;
    }
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), 0);
    b.queries(i, rows);
    emit_added_gradient_rows<Line>(b, launch == convert_launch, problem_, needs, rows.count,
                                   strip_steps(rows.count, problem_.head_dim));
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == key_launch) return place_of_keys(plan_, block / grid.key_tiles, block % grid.key_tiles, true);
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    return plan_.place_with_statistic(plane, rows, 0);
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  Overhead overhead(std::string_view at) const { return kernel_profile(id).overhead("gradients", at, problem_); }

  static std::int64_t half_of(std::int64_t length) { return ceil_div(length, std::int64_t{flash3_backward_groups}); }
  /// Returns group g's part of a range whose halves have `half`; empty if the range ends before.
  static TileRange part_of(TileRange range, std::int64_t half, std::int64_t g) {
    return {range.first + g * half, std::clamp(range.count - g * half, std::int64_t{0}, half)};
  }

  /// Emits a block that owns keys. A group whose keys all lie past the last one computes like the other (is_past_the_end()).
  struct Emission {
    const Flash3Backward& program;
    BlockBuilder& b;
    const std::vector<GroupVisit>& visits;
    std::int64_t stages;
    std::int64_t key_tile;
    TileRange keys;
    std::vector<std::array<std::int64_t, flash3_backward_groups>> sent;  // of how many query tiles before n a group computes dQ

    Emission(const Flash3Backward& of, BlockBuilder& builder, const std::vector<GroupVisit>& all, std::int64_t ring,
             std::int64_t tile, TileRange range)
        : program(of), b(builder), visits(all), stages(ring), key_tile(tile), keys(range), sent(all.size() + 1) {
      for (std::size_t n = 0; n < all.size(); ++n)
        for (std::size_t g = 0; g < sent[n].size(); ++g)
          sent[n + 1][g] = sent[n][g] + (has_queries(static_cast<std::int64_t>(g), static_cast<std::int64_t>(n)) ? 1 : 0);
    }

    std::int64_t count() const { return std::ssize(visits); }
    std::int64_t stage_of(std::int64_t n) const { return n % stages; }

    TileRange keys_of(std::int64_t g) const { return part_of(keys, half_of(program.tile_.block_kv), g); }
    bool has_keys(std::int64_t g) const { return keys_of(g).count > 0; }
    std::int64_t groups_with_keys() const {
      std::int64_t groups = 0;
      for (std::int64_t g = 0; g < flash3_backward_groups; ++g) groups += has_keys(g) ? 1 : 0;
      return groups;
    }
    bool has_queries(std::int64_t g, std::int64_t n) const { return queries_of(g, n).count > 0; }
    /// Returns whether a query of tile n does not see all keys of group g.
    bool hides_keys(std::int64_t g, std::int64_t n) const {
      const GroupVisit& visit = visits[static_cast<std::size_t>(n)];
      const TileGrid& grid = program.plan_.grid;
      return visit.tile.partial && grid.mask->tile(visit.plane, grid.queries(visit.tile.index), keys_of(g)) != TileVisibility::full;
    }
    /// Returns the rows of dQ that group g computes.
    TileRange queries_of(std::int64_t g, std::int64_t n) const {
      return part_of(program.plan_.grid.queries(visits[static_cast<std::size_t>(n)].tile.index), half_of(program.tile_.block_q), g);
    }

    /// Sets the coordinates of query tile n and the keys of group g, in iteration `iteration`.
    void look_at(std::int64_t g, std::int64_t n, std::int64_t iteration) const {
      const GroupVisit& visit = visits[static_cast<std::size_t>(n)];
      b.group(static_cast<std::size_t>(1 + g));
      b.query_plane(visit.plane);
      b.strip(static_cast<std::size_t>(g), visit.tile.index, program.plan_.grid.queries(visit.tile.index));
      b.keys(key_tile, keys_of(g));
      b.iteration(iteration, stage_of(n));
    }
    template <class Emit>
    static void for_each_group(Emit emit) {
      for (std::int64_t g = 0; g < flash3_backward_groups; ++g) emit(g);
    }

    void emit() const {
      b.tokens_by_hand();
      for_each_group([&](std::int64_t g) {
        start(g);
        b.fill(Line::init, halves::d_k, 0.0F);
        b.fill(Line::init, halves::d_v, 0.0F);
      });
      if (count() > 0) {
        load_kept(Line::load_k, halves::k);
        load_tile(0);
        for_each_group([&](std::int64_t g) {
          start(g);
          for (std::int64_t from = 0; from < groups_with_keys(); ++from) {  // dQ needs the keys of both groups
            b.keys(key_tile, keys_of(from));
            wait_for_load(Line::wait_k, halves::k, from, 1);
          }
          start(g);
          start_scores(g, 0);
          finish_scores(g, 0);
          wait_for_load(Line::wait_v, halves::v, std::min(g, groups_with_keys() - 1), 1);
        });
        for (std::int64_t n = 0; n < count(); ++n) step(n);
      }
      for_each_group([&](std::int64_t g) {
        if (!has_keys(g)) return;
        start(g);
        b.iteration(count(), 0);
        b.store(Line::store, halves::d_k);
        b.store(Line::store, halves::d_v);
      });
    }
    /// Sets group g and its keys, without a query tile.
    void start(std::int64_t g) const {
      b.group(static_cast<std::size_t>(1 + g));
      b.strip(static_cast<std::size_t>(g), -1, {});
      b.keys(key_tile, keys_of(g));
    }

    // The producer.
    /// The whole key tile is copied, whether its keys exist or not.
    void load_kept(Line line, ChipTile chip_tile) const {
      for (std::int64_t g = 0; g < groups_with_keys(); ++g) {
        start(g);
        b.group(producer);
        const bool is_last = g + 1 == groups_with_keys();
        const std::int64_t first = keys_of(g).first - keys.first;
        b.load_boxes(line, chip_tile, is_last ? program.tile_.block_kv - first : half_of(program.tile_.block_kv));
        b.signals(BufferToken::full(chip_tile, g));
      }
    }
    /// `freed` is the on-chip tile whose release also frees this one.
    void loaded(ChipTile chip_tile, ChipTile freed, std::int64_t n) const {
      b.await_token(BufferToken::empty(freed, stage_of(n)), flash3_backward_groups * (n / stages));
      b.signals(BufferToken::full(chip_tile, stage_of(n)));
    }
    void load_tile(std::int64_t n) const {
      look_at(0, n, n);
      b.group(producer);
      b.load_boxes(Line::load_q, tiles::q_ring, program.tile_.block_q);
      loaded(tiles::q_ring, tiles::q_ring, n);
      for (const ChipTile chip_tile : {rings::lse, rings::row_dot}) {
        b.load_by_warps(Line::load_stats, chip_tile);
        loaded(chip_tile, tiles::q_ring, n);
      }
      if (n == 0) {
        load_kept(Line::load_v, halves::v);
        look_at(0, n, n);
        b.group(producer);
      }
      b.load_boxes(Line::load_d_o, tiles::d_o_ring, program.tile_.block_q);
      loaded(tiles::d_o_ring, tiles::d_o_ring, n);
    }

    // A consumer group.
    void wait_for_load(Line line, ChipTile chip_tile, std::int64_t buffer, std::int64_t signals) const {
      b.emit_wait(line, chip_tile, WaitOn::mbarrier);
      b.await_token(BufferToken::full(chip_tile, buffer), signals);
    }
    void wait_for_tile(Line line, ChipTile chip_tile, std::int64_t n) const {
      wait_for_load(line, chip_tile, stage_of(n), n / stages + 1);
    }
    void issued(ChipTile result, std::int64_t g) const {
      b.asynchronous();
      b.signals(BufferToken::full(result, g));
    }
    /// Waits for the `nth` product into `result`.
    void wait_for_product(Line line, ChipTile result, std::int64_t g, std::int64_t nth) const {
      b.emit_wait(line, result, WaitOn::product);
      b.await_token(BufferToken::full(result, g), nth);
    }
    void start_scores(std::int64_t g, std::int64_t n) const {
      look_at(g, n, n);
      wait_for_tile(Line::wait_q, tiles::q_ring, n);
      b.matmul(Line::scores, halves::s, tiles::q_ring, halves::k,
               {.transpose = true, .factor = program.plan_.scale, .swap_ab = true});
      issued(halves::s, g);
    }
    void finish_scores(std::int64_t g, std::int64_t n) const {
      look_at(g, n, n);
      wait_for_product(Line::wait_s, halves::s, g, n + 1);
      if (has_keys(g) && hides_keys(g, n)) b.mask(Line::mask, halves::s);
      b.exp(Line::exp, halves::p, halves::s, rings::lse);
      b.await_token(BufferToken::full(rings::lse, stage_of(n)), n / stages + 1);
      b.copy(Line::exp, halves::p_kept, halves::p);
      b.overhead(program.overhead("p"));
    }
    /// Sets the part of dQ of query tile n that group g computes.
    void look_at_queries(std::int64_t g, std::int64_t n, std::int64_t iteration) const {
      look_at(g, n, iteration);
      b.strip(static_cast<std::size_t>(g), visits[static_cast<std::size_t>(n)].tile.index, queries_of(g, n));
    }
    /// Hands what was computed for query tile n to the copy engine. It has read the tile before.
    void put_queries(std::int64_t g, std::int64_t n, std::int64_t iteration) const {
      if (!has_queries(g, n)) return;
      look_at_queries(g, n, iteration);
      b.emit_wait(Line::put, halves::d_q_sent, WaitOn::product);
      b.await_token(BufferToken::empty(halves::d_q_sent, g), sent_before(g, n));
      b.copy(Line::put, halves::d_q_sent, halves::d_q_part);
      b.overhead(program.overhead("put"));
    }
    void add_queries(std::int64_t g, std::int64_t n, std::int64_t iteration) const {
      if (!has_queries(g, n)) return;
      look_at_queries(g, n, iteration);
      b.reduce_add(Line::add, halves::d_q_sent);
      b.signals(BufferToken::empty(halves::d_q_sent, g));
    }
    std::int64_t sent_before(std::int64_t g, std::int64_t n) const {
      return sent[static_cast<std::size_t>(n)][static_cast<std::size_t>(g)];
    }
    void multiply_queries(std::int64_t g, std::int64_t n, std::int64_t iteration) const {
      look_at_queries(g, n, iteration);
      // Half of the columns of 64 rows are as much work as half of the rows, with the columns as those of the instruction.
      const bool swap_ab = program.problem_.head_dim > 64;
      for (std::int64_t from = 0; from < flash3_backward_groups; ++from) {
        b.keys(key_tile, keys_of(from));
        b.matmul(Line::d_q, halves::d_q_part, halves::d_s, halves::k,
                 {.accumulate = from > 0, .factor = program.plan_.scale, .swap_ab = swap_ab});
        b.reads_strip(static_cast<std::size_t>(from));
        b.asynchronous();
      }
      b.signals(BufferToken::full(halves::d_q_part, g));
    }

    /// Takes one query tile, from P on, and makes the next P.
    void step(std::int64_t n) const {
      for_each_group([&](std::int64_t g) { differentiate(g, n); });
      const bool more = n + 1 < count();
      const std::int64_t iteration = more ? n + 1 : n;  // it begins with the next scores
      if (stages > 1) {
        if (more) start_next(n);
        for_each_group([&](std::int64_t g) { release(g, n, iteration); });
      } else {  // with one buffer, the next Q takes the place of this one
        for_each_group([&](std::int64_t g) { release(g, n, iteration); });
        if (more) start_next(n);
      }
      for_each_group([&](std::int64_t g) {
        look_at(g, n, iteration);
        b.keys(key_tile, keys);
        wait_for_load(Line::wait_d_s, halves::d_s, 0, flash3_backward_groups * (n + 1));
        multiply_queries(g, n, iteration);
      });
      for_each_group([&](std::int64_t g) {
        if (more) finish_scores(g, n + 1);
        look_at(g, n, iteration);
        wait_for_product(Line::wait_d_q, halves::d_q_part, g, n + 1);
        if (more) return;
        put_queries(g, n, iteration);
        add_queries(g, n, iteration);
      });
    }
    /// Loads the query tile after n, and starts its scores.
    void start_next(std::int64_t n) const {
      load_tile(n + 1);
      for_each_group([&](std::int64_t g) { start_scores(g, n + 1); });
    }
    /// dV, dS and dK of query tile n.
    void differentiate(std::int64_t g, std::int64_t n) const {
      look_at(g, n, n);
      wait_for_tile(Line::wait_d_o, tiles::d_o_ring, n);
      b.matmul(Line::d_p, halves::d_p, tiles::d_o_ring, halves::v, {.transpose = true, .swap_ab = true});
      issued(halves::d_p, g);
      b.matmul(Line::d_v, halves::d_v, halves::p_kept, tiles::d_o_ring, {.accumulate = true, .transpose_left = true});
      issued(halves::d_v, g);
      if (n > 0) put_queries(g, n - 1, n);
      look_at(g, n, n);
      wait_for_product(Line::wait_d_p, halves::d_p, g, n + 1);
      b.subtract_rows(Line::subtract, halves::d_p, rings::row_dot);
      b.overhead(program.overhead("subtract"));
      b.await_token(BufferToken::full(rings::row_dot, stage_of(n)), n / stages + 1);
      b.multiply(Line::d_s, halves::d_p, halves::p_kept);
      b.copy(Line::d_s, halves::d_s_kept, halves::d_p);
      b.copy(Line::d_s, halves::d_s, halves::d_p);
      b.overhead(program.overhead("d_s"));
      b.signals(BufferToken::full(halves::d_s, 0));
      b.matmul(Line::d_k, halves::d_k, halves::d_s_kept, tiles::q_ring,
               {.accumulate = true, .factor = program.plan_.scale, .transpose_left = true});
      issued(halves::d_k, g);
      if (n > 0) add_queries(g, n - 1, n);
    }
    /// Frees the buffers of query tile n.
    void release(std::int64_t g, std::int64_t n, std::int64_t iteration) const {
      look_at(g, n, iteration);
      b.emit_wait(Line::wait_d_v, halves::d_v, WaitOn::product);
      b.await_token(BufferToken::full(halves::d_v, g), n + 1);
      b.signals(BufferToken::empty(tiles::d_o_ring, stage_of(n)));
      b.emit_wait(Line::wait_d_k, halves::d_k, WaitOn::product);
      b.await_token(BufferToken::full(halves::d_k, g), n + 1);
      b.signals(BufferToken::empty(tiles::q_ring, stage_of(n)));
    }
  };

  BlockPlan plan_;
};

std::optional<ClosedForm> Flash3Backward::closed_form() const {
  // A group's rows can begin inside a sector.
  if (!head_rows_are_whole(problem_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  // TMA moves whole boxes.
  const std::int64_t past_the_end = plan_.grid.key_tiles * tile_.block_kv - problem_.seq_kv;
  const std::int64_t last_tile = problem_.seq_kv - problem_.seq_kv % tile_.block_kv;
  const bool last_is_seen = past_the_end > 0 && rows_pairs_of_keys(problem_, tile_, last_tile, problem_.seq_kv) > 0;
  const std::int64_t query_rows = sums.pairs * tile_.block_q;
  const std::int64_t key_rows = sums.seen_keys + (last_is_seen ? past_the_end : 0);
  return added_gradients_form(problem_, tile_,
                              {.queries = Bytes(problem_.query_planes() * query_rows * row),
                               .keys = Bytes(problem_.kv_planes() * key_rows * row),
                               .statistics = Bytes(statistic_bytes(problem_, tile_, Crossings::every_pair, warp_lanes)),
                               .query_rows = formula_for(problem_, "⌈Nk/Bc⌉·Br·⌈Nq/Br⌉", "Br·Σᵢ ⌈vis(i)/Bc⌉"),
                               .key_rows = "Bc·⌈Nk/Bc⌉"});
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<Flash3Backward>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash3_backward_program() {
  return {
      .id = id,
      .title = "FlashAttention-3 backward",
      .family = "backward",
      .source = "arXiv:2407.08608, section 3",
      .summary = "Over FlashAttention-2 backward: wgmma and TMA, a producer, and dQ one step late under the next products.",
      .listing = listing,
      .default_tile = flash3_backward_tile,
      .make = make,
      .pass = Pass::backward,
      .forward = "flash3",
      .label = "Flash-3 backward",
      .instruction = ProductInstruction::wgmma,
      .may_spill = true,
  };
}

}  // namespace tilescope
