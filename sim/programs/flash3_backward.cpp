// flash3_backward: flash2_backward on Hopper. TMA moves the tiles, wgmma multiplies them, and a producer runs ahead of the warps
// that compute. dQ comes one step late, so that its addition runs under the products of the next query tile.
//
//   producer    load K   load Q₀ L₀ D₀   load V   load dO₀   load Q₁ …       wait empty, load Q₂ …
//   consumers   S₀ → P₀   issue dP₀ dV₀   add dQ₋₁   dS₀   issue dK₀ S₁   wait dV₀ dK₀ ─empty─►   issue dQ₀   P₁   issue dP₁ dV₁ …
//
//   The kernel's consumers are two groups of four warps with half of the keys each. Here they are one group of eight.
//
//   l2_to_sm = B·Hkv·2·Bc·⌈Nk/Bc⌉·d·e [K, V] + B·Hq·⌈Nk/Bc⌉·(Br·⌈Nq/Br⌉·2·d·e + Nq·8) [Q, dO, L, D]
//            + B·Hq·Nq·(2·d·e + 4·d) [O, dO, dQ_acc]
//   sm_to_l2   as flash2_backward
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_parts.h"
#include "sim/programs/closed_form.h"
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
  add,
  wait_d_p,
  subtract,
  d_s,
  d_k,
  wait_d_v,
  wait_d_k,
  d_q,
  wait_d_q,
  store,
  convert_rows,
  load_sum,
  convert,
  store_d_q,
  count
};
constexpr ListingLine listing[] = {
    {0, "for each query tile i, a block:", Tensor(), "⌈Nq/Br⌉ blocks a head", "The first launch makes what every key tile needs."},
    {1, "load Oᵢ", tensors::o, "Oᵢ: Br × d", "The output of the forward pass."},
    {1, "load dOᵢ", tensors::d_o, "dOᵢ: Br × d", "The gradient that arrives from the next layer."},
    {1, "D = rowsum(dO ∘ O)", tensors::row_dot, "D = Σ dO·O",
     "One number a row stands for the whole row of P∘dP: Σⱼ Pⱼ dPⱼ = Σⱼ Pⱼ (dO·Vⱼ) = dO·Σⱼ Pⱼ Vⱼ = dO·O."},
    {1, "store Dᵢ → HBM", tensors::row_dot, "Dᵢ: Br", "Four bytes a row."},
    {1, "dQ_acc = 0", tensors::d_q_acc, "dQ_acc = 0", "Blocks of keys add to it, so it must start at zero."},
    {1, "store dQ_accᵢ → HBM", tensors::d_q_acc, "dQ_accᵢ: Br × d, fp32", "Twice the bytes of dQ in 16 bits."},
    {0, "for each key tile j, a block:", Tensor(), "⌈Nk/Bc⌉ blocks a key head",
     "The second launch. A block owns keys, not queries."},
    {0, "producer: one thread of one warp", Tensor(), "setmaxnreg.dec",
     "The producer needs few registers. It gives the others to the warps that compute."},
    {1, "load Kⱼ → full[K]", tensors::k, "Kⱼ: Bc × d", "Stays on chip."},
    {1, "load Vⱼ → full[V]", tensors::v, "Vⱼ: Bc × d", "Stays on chip. It is needed after the first scores, so it comes after Q."},
    {1, "for each query tile i", Tensor(), "i = 0 … ⌈Nq/Br⌉ − 1, of every query head that reads this key head",
     "With a causal mask the loop starts at the diagonal: earlier queries see no key of this tile."},
    {2, "wait empty[Q]; load Qᵢ → full[Q]", tensors::q, "Qᵢ: Br × d",
     "The buffer is free once dK has read it. The producer runs ahead as far as the ring has room."},
    {2, "load Lᵢ, Dᵢ", tensors::lse, "Lᵢ, Dᵢ: Br", "Two more warps of the producer bring one number a row each."},
    {2, "wait empty[dO]; load dOᵢ → full[dO]", tensors::d_o, "dOᵢ: Br × d", "dO is needed later than Q and freed earlier."},
    {0, "consumer groups: half of the keys each", Tensor(), "setmaxnreg.inc",
     "Each keeps dK and dV of its keys in registers. P and dS come out transposed, as the left factors of dV and dK."},
    {1, "dK = 0, dV = 0", tensors::d_k, "dK = 0, dV = 0", "Summed in registers for the whole life of the block."},
    {1, "wait full[K]", tensors::k, "mbarrier.try_wait", "The bytes of Kⱼ have landed."},
    {1, "wait full[V]", tensors::v, "mbarrier.try_wait", "The bytes of Vⱼ had the first softmax to land in."},
    {1, "for each query tile i", Tensor(), "i = 0 … ⌈Nq/Br⌉ − 1",
     "S of a tile begins one iteration early, before dQ of the tile before."},
    {2, "wait full[Q]", tensors::q, "mbarrier.try_wait", "This wait is short if the producer is ahead."},
    {2, "issue S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
     "The scores are recomputed. They run while dK of the tile before does."},
    {2, "wait S", tensors::s, "wgmma.wait_group", "dQ of the tile before still runs."},
    {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if hidden; causal: c > r + Nk − Nq",
     "Only on tiles that are partly hidden: with a causal mask, those that the diagonal crosses."},
    {2, "P = exp(S − L)", tensors::p, "P = exp(S − L)",
     "The final probabilities at once: L holds maximum and sum. dQ of the tile before runs under it."},
    {2, "wait full[dO]", tensors::d_o, "mbarrier.try_wait", "The bytes of dOᵢ have landed."},
    {2, "issue dP = dOᵢ Vⱼᵀ", tensors::d_p, "dP = dO·Vᵀ", "How much each weight matters."},
    {2, "issue dV = dV + Pᵀ dOᵢ", tensors::d_v, "dV = dV + Pᵀ·dO", "P comes from registers, dO from shared memory."},
    {2, "dQ_acc += dSK of the tile before, in HBM", tensors::d_q_acc, "dQ_acc = dQ_acc + dSK, fp32",
     "The copy engine reads it from shared memory, and the L2 adds in the order of arrival. Two products run meanwhile."},
    {2, "wait dP", tensors::d_p, "wgmma.wait_group", "dV still runs."},
    {2, "dP = dP − D", tensors::d_p, "dP = dP − D", "A row of P sums to 1, so only differences within the row count."},
    {2, "dS = P ∘ dP → shared", tensors::d_p, "dS = P∘(dP − D)",
     "It stays in registers for dK, and goes to shared memory for dQ, which needs the keys of both groups."},
    {2, "issue dK = dK + τ dSᵀ Qᵢ", tensors::d_k, "dK = dK + τ dSᵀ·Q", "dS comes from registers, Q from shared memory."},
    {2, "wait dV → empty[dO]", tensors::d_v, "wgmma.wait_group", "The producer may load the dO after next."},
    {2, "wait dK → empty[Q]", tensors::d_k, "wgmma.wait_group", "The producer may load the Q after next."},
    {2, "issue dSK = τ dS Kⱼ", tensors::d_q_acc, "dSK = τ dS·K", "What this key tile contributes to dQ."},
    {2, "wait dSK", tensors::d_q_acc, "wgmma.wait_group", "By now it is over: it had the next softmax to run under."},
    {1, "store dKⱼ, dVⱼ → HBM", tensors::d_k, "dKⱼ, dVⱼ: Bc × d", "Through the memory of K and V, as boxes of TMA."},
    {0, "for each query tile i, a block:", Tensor(), "⌈Nq/Br⌉ blocks a head", "The third launch."},
    {1, "load dQ_accᵢ", tensors::d_q_acc, "dQ_accᵢ: Br × d, fp32", "The sum is complete now."},
    {1, "dQ = dQ_acc", tensors::d_q, "dQ = dQ_acc", "Rounded to the type of Q."},
    {1, "store dQᵢ → HBM", tensors::d_q, "dQᵢ: Br × d", "The result."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// L and D of a query tile, in a ring like Q.
namespace rings {
namespace declared {
inline constexpr TileSpec lse{.name = "L", .tensor = tensors::lse, .index = 32, .ring = true};
inline constexpr TileSpec row_dot{.name = "D", .tensor = tensors::row_dot, .index = 33, .ring = true};
}  // namespace declared
inline constexpr Slot lse = declared::lse, row_dot = declared::row_dot;
}  // namespace rings

/// S, P, dP and dS exist only on chip.
Schema declared() {
  using namespace tensors;
  return {{q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot, d_q_acc},
          {q, k, v, o, lse, d_o},
          {row_dot, d_q_acc, d_q, d_k, d_v},
          {tiles::q_ring,  tiles::k_kept,   tiles::v_kept,  tiles::s,        tiles::p,     tiles::p_kept, rings::lse,
           rings::row_dot, tiles::row_dot,  tiles::d_o,     tiles::d_o_ring, tiles::d_o_o, tiles::o,      tiles::d_p,
           tiles::d_s,     tiles::d_q_part, tiles::d_q_acc, tiles::d_q,      tiles::d_k,   tiles::d_v}};
}

enum LaunchIndex { row_dot_launch, key_launch, convert_launch };
enum Group : std::size_t { producer, consumers };

class Flash3Backward final : public TileProgram {
 public:
  Flash3Backward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()) {
    const TileGrid& grid = plan_.grid;
    LaunchSpec keys{"gradients",
                    grid.key_tiles,
                    problem.kv_heads,
                    problem.batch,
                    flash3_backward_needs(problem, tile, gpu),
                    LineId(Line::key_tiles).number,
                    LineId(Line::store).number};
    keys.axis = Axis::key;
    launches_ = {{"row dots", grid.query_tiles, problem.heads, problem.batch, row_dot_needs(id, problem, tile),
                  LineId(Line::rows).number, LineId(Line::store_zero).number},
                 keys,
                 {"convert dQ", grid.query_tiles, problem.heads, problem.batch, convert_needs(id, problem, tile),
                  LineId(Line::convert_rows).number, LineId(Line::store_d_q).number}};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[static_cast<std::size_t>(launch)].needs;
    if (launch == key_launch) {
      const std::int64_t j = block % grid.key_tiles, kv_plane = block / grid.key_tiles;
      const std::vector<GroupVisit> visits = group_visits(grid, kv_plane, j);
      BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::along(Axis::key, kv_plane, grid.keys(j)),
                     slot_bits(tiles::q_ring, tiles::k_kept, tiles::v_kept, tiles::d_o_ring, tiles::d_s));
      out.iterations = static_cast<std::int32_t>(visits.size());
      b.keys(j, grid.keys(j));
      Emission{*this, b, visits, needs.stages}.emit();
      return;
    }
    const std::int64_t i = block % grid.query_tiles, plane = block / grid.query_tiles;
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), 0);
    b.queries(i, rows);
    if (launch == row_dot_launch) {
      emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot});
      b.fill(Line::zero, tiles::d_q_acc, 0.0F);
      b.store(Line::store_zero, tiles::d_q_acc);
    } else {
      b.load(Line::load_sum, tiles::d_q_acc);
      b.copy(Line::convert, tiles::d_q, tiles::d_q_acc);
      b.store(Line::store_d_q, tiles::d_q);
    }
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == key_launch) return place_of_keys(plan_, block / grid.key_tiles, block % grid.key_tiles, true);
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const std::int64_t i = block % grid.query_tiles, plane = block / grid.query_tiles;
    const TileRange rows = grid.queries(i);
    return plan_.place(plane, rows, plan_.place_in_sector(plane, rows.first));
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  /// Emits a block that owns keys.
  struct Emission {
    const Flash3Backward& program;
    BlockBuilder& b;
    const std::vector<GroupVisit>& visits;
    std::int64_t stages;

    std::int64_t count() const { return std::ssize(visits); }
    std::int64_t stage_of(std::int64_t n) const { return n % stages; }
    std::int16_t full(Slot slot, std::int64_t n) const {
      return BufferToken::full(BufferToken::buffer(slot, static_cast<std::int32_t>(stage_of(n))));
    }
    std::int16_t empty(Slot slot, std::int64_t n) const {
      return BufferToken::empty(BufferToken::buffer(slot, static_cast<std::int32_t>(stage_of(n))));
    }
    /// Returns how often the token of a slot's buffer has been signalled once tile n is through.
    std::int64_t signals_of(Slot slot, std::int64_t n) const { return slot.is_ring() ? n / stages + 1 : n + 1; }
    /// Sets the coordinates of query tile n, in iteration `iteration`. Only what belongs to the tile of the iteration lies in a
    /// ring.
    void look_at(std::int64_t n, std::int64_t iteration) const {
      const GroupVisit& visit = visits[static_cast<std::size_t>(n)];
      b.query_plane(visit.plane);
      b.queries(visit.tile.index, program.plan_.grid.queries(visit.tile.index));
      b.iteration(iteration, stage_of(iteration));
    }

    void emit() const {
      b.tokens_by_hand();
      b.group(consumers);
      b.fill(Line::init, tiles::d_k, 0.0F);
      b.fill(Line::init, tiles::d_v, 0.0F);
      if (count() > 0) {
        load_kept(Line::load_k, tiles::k_kept);
        wait_for_load(Line::wait_k, tiles::k_kept, 0);
        start_scores(0);
        finish_scores(0);
        wait_for_load(Line::wait_v, tiles::v_kept, 0);
        for (std::int64_t n = 0; n < count(); ++n) step(n);
      }
      b.queries(-1, {});
      b.iteration(count(), 0);
      b.store(Line::store, tiles::d_k);
      b.store(Line::store, tiles::d_v);
    }

    // The producer.
    void load_kept(Line line, Slot slot) const {
      b.group(producer);
      b.load_boxes(line, slot, program.tile_.block_kv);
      b.signals(full(slot, 0));
      b.group(consumers);
    }
    /// `freed` is the slot whose release also frees this one.
    void loaded(Slot slot, Slot freed, std::int64_t n) const {
      b.waits(empty(freed, n), n / stages);
      b.signals(full(slot, n));
    }
    void load_tile(std::int64_t n) const {
      b.group(producer);
      b.load_boxes(Line::load_q, tiles::q_ring, program.tile_.block_q);
      loaded(tiles::q_ring, tiles::q_ring, n);
      for (const Slot slot : {rings::lse, rings::row_dot}) {
        b.load_after(Line::load_stats, slot, -1);
        loaded(slot, tiles::q_ring, n);
      }
      if (n == 0) load_kept(Line::load_v, tiles::v_kept);
      b.group(producer);
      b.load_boxes(Line::load_d_o, tiles::d_o_ring, program.tile_.block_q);
      loaded(tiles::d_o_ring, tiles::d_o_ring, n);
      b.group(consumers);
    }

    // The consumers.
    void wait_for_load(Line line, Slot slot, std::int64_t n) const {
      b.wait_until(line, slot, WaitOn::mbarrier);
      b.waits(full(slot, n), signals_of(slot, n));
    }
    void issued(Slot result, std::int64_t n) const {
      b.asynchronous();
      b.signals(full(result, n));
    }
    void wait_for_product(Line line, Slot result, std::int64_t n) const {
      b.wait_until(line, result, WaitOn::product);
      b.waits(full(result, n), signals_of(result, n));
    }
    void start_scores(std::int64_t n) const {
      look_at(n, n);
      load_tile(n);
      wait_for_load(Line::wait_q, tiles::q_ring, n);
      b.matmul(Line::scores, tiles::s, tiles::q_ring, tiles::k_kept, {.transpose = true, .factor = program.plan_.scale});
      issued(tiles::s, n);
    }
    void finish_scores(std::int64_t n) const {
      look_at(n, n);
      wait_for_product(Line::wait_s, tiles::s, n);
      if (visits[static_cast<std::size_t>(n)].tile.partial) b.mask(Line::mask, tiles::s);
      b.exp(Line::exp, tiles::p, tiles::s, rings::lse);
      b.waits(full(rings::lse, n), signals_of(rings::lse, n));
      b.copy(Line::exp, tiles::p_kept, tiles::p);
    }
    void add_queries(std::int64_t n, std::int64_t iteration) const {
      look_at(n, iteration);
      b.reduce_add(Line::add, tiles::d_q_part);
    }
    /// Takes one query tile, from P on, and makes the next P.
    void step(std::int64_t n) const {
      const bool more = n + 1 < count(), early = more && stages > 1;  // with one buffer, the next Q takes the place of this one
      look_at(n, n);
      wait_for_load(Line::wait_d_o, tiles::d_o_ring, n);
      b.matmul(Line::d_p, tiles::d_p, tiles::d_o_ring, tiles::v_kept, {.transpose = true});
      issued(tiles::d_p, n);
      b.matmul(Line::d_v, tiles::d_v, tiles::p_kept, tiles::d_o_ring, {.accumulate = true, .transpose_left = true});
      issued(tiles::d_v, n);
      if (n > 0) add_queries(n - 1, n);
      look_at(n, n);
      wait_for_product(Line::wait_d_p, tiles::d_p, n);
      b.subtract_rows(Line::subtract, tiles::d_p, rings::row_dot);
      b.waits(full(rings::row_dot, n), signals_of(rings::row_dot, n));
      b.multiply(Line::d_s, tiles::d_p, tiles::p_kept);
      b.copy(Line::d_s, tiles::d_s, tiles::d_p);
      b.matmul(Line::d_k, tiles::d_k, tiles::d_s, tiles::q_ring,
               {.accumulate = true, .factor = program.plan_.scale, .transpose_left = true});
      issued(tiles::d_k, n);
      if (early) start_scores(n + 1);
      look_at(n, early ? n + 1 : n);
      wait_for_product(Line::wait_d_v, tiles::d_v, n);
      b.signals(empty(tiles::d_o_ring, n));
      wait_for_product(Line::wait_d_k, tiles::d_k, n);
      b.signals(empty(tiles::q_ring, n));
      if (more && !early) start_scores(n + 1);
      const std::int64_t iteration = more ? n + 1 : n;  // it began with the next scores
      look_at(n, iteration);
      b.matmul(Line::d_q, tiles::d_q_part, tiles::d_s, tiles::k_kept, {.factor = program.plan_.scale});
      issued(tiles::d_q_part, n);
      if (more) finish_scores(n + 1);
      look_at(n, iteration);
      wait_for_product(Line::wait_d_q, tiles::d_q_part, n);
      if (!more) add_queries(n, iteration);
    }
  };

  BlockPlan plan_;
};

std::optional<ClosedForm> Flash3Backward::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  const bool padded = head_rows_are_whole(problem_);  // TMA moves whole boxes; it takes no other rows
  const std::int64_t past_the_end = plan_.grid.key_tiles * tile_.block_kv - problem_.seq_kv;
  const std::int64_t last_tile = problem_.seq_kv - problem_.seq_kv % tile_.block_kv;
  const bool last_is_seen = padded && past_the_end > 0 && rows_pairs_of_keys(problem_, tile_, last_tile, problem_.seq_kv) > 0;
  const std::int64_t query_rows = padded ? sums.pairs * tile_.block_q : sums.rows_pairs;
  const std::int64_t key_rows = sums.seen_keys + (last_is_seen ? past_the_end : 0);
  return added_gradients_form(problem_, tile_,
                              {.queries = Bytes(problem_.query_planes() * query_rows * row),
                               .keys = Bytes(key_planes(problem_) * key_rows * row),
                               .query_rows = formula_for(problem_, "⌈Nk/Bc⌉·Br·⌈Nq/Br⌉", "Br·Σᵢ ⌈vis(i)/Bc⌉"),
                               .key_rows = "Bc·⌈Nk/Bc⌉"});
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<Flash3Backward>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash3_backward_program() {
  return {id,
          "FlashAttention-3 backward",
          "backward",
          "arXiv:2407.08608, section 3",
          "Over FlashAttention-2 backward: wgmma and TMA, a producer, and dQ one step late under the next products.",
          listing,
          flash3_backward_tile,
          make,
          {},
          {},
          Pass::backward,
          "flash2",
          "Flash-3 backward"};
}

}  // namespace tilescope
