// The lines of all rungs, and when a rung has each.
#include "sim/programs/hopper_lines.h"

#include "sim/programs/flex_lists.h"

namespace tilescope {

namespace {

using Line = HopperLine;

/// When a rung has a line.
struct Having {
  bool producer = false, overlap = false, turns = false;  // only with these
  bool lists = false, draws = false;
  bool no_producer = false, no_overlap = false, no_turns = false, no_lists = false;  // only without these
};
struct RungLine {
  Line line{};
  Having having;
  ListingLine text;
};

constexpr RungLine rung_lines[] = {
    {Line::load_counts,
     {.lists = true},
     {0, "load the lists' lengths", lists::partial_count, "kv_num_blocks[i], full_kv_num_blocks[i]",
      "The mask was cut into blocks before the kernel ran. A query tile whose lists are empty loads nothing else."}},
    {Line::load_lists,
     {.lists = true},
     {0, "load the two lists", lists::partial, "kv_indices[i, …], full_kv_indices[i, …]",
      "Empty blocks are in no list: they are neither loaded nor computed. All roles follow the same lists."}},
    {Line::load_pages,
     {.lists = true},
     {0, "load page table entries", paged::table, "page_table[b, first … last page]",
      "Only if K and V lie in pages. All heads of a sequence share its row of the table."}},
    {Line::producer,
     {.producer = true, .lists = true},
     {0, "producer: one warp", Tensor(), "setmaxnreg.dec",
      "Its first thread asks for the copies. All its threads compute what changes with the key alone.", ListingLine::heading}},
    {Line::producer,
     {.producer = true, .no_lists = true},
     {0, "producer: one thread of one warp", Tensor(), "setmaxnreg.dec",
      "The producer needs few registers. It gives the others to the groups that compute.", ListingLine::heading}},
    {Line::producer,
     {.no_producer = true},
     {0, "loads: one thread of the block", Tensor(), "threadIdx.x == 0", "It asks for the copies, and computes like all others.",
      ListingLine::heading}},
    {Line::draw,
     {.draws = true},
     {1, "draw the next ticket", tickets, "next = atomicAdd(tickets, 1)",
      "32 bytes up and 32 down. The answer comes while this tile loads, and says which query tile is next."}},
    {Line::load_q,
     {},
     {1, "load Qᵢ → full[Q]", tensors::q, "Qᵢ: 64 × d per group",
      "One instruction asks TMA for a box of 64 rows per group. The barrier counts the bytes that have landed."}},
    {Line::producer_loop,
     {.producer = true, .lists = true},
     {1, "for each listed tile j", Tensor(), "j in kv_indices[i], then in full_kv_indices[i]",
      "The producer runs ahead of the consumers as far as the ring has room.", ListingLine::heading}},
    {Line::producer_loop,
     {.producer = true, .no_lists = true},
     {1, "for each key tile j, from the last", Tensor(), "j = ⌈Nk/Bc⌉ − 1 … 0",
      "The producer runs ahead of the consumers as far as the ring has room.", ListingLine::heading}},
    {Line::producer_loop,
     {.no_producer = true},
     {1, "for each key tile j, from the last", Tensor(), "j = ⌈Nk/Bc⌉ − 1 … 0",
      "One tile ahead of the groups, whatever they compute meanwhile.", ListingLine::heading}},
    {Line::load_k,
     {.no_producer = true},
     {2, "load Kⱼ → full[K]", tensors::k, "Kⱼ: Bc × d",
      "One instruction. The copy engine computes the addresses and swizzles the rows."}},
    {Line::load_v,
     {.no_producer = true},
     {2, "load Vⱼ → full[V]", tensors::v, "Vⱼ: Bc × d", "Asked for together with K, needed only after the softmax."}},
    {Line::load_k,
     {.producer = true},
     {2, "wait empty[K]; load Kⱼ → full[K]", tensors::k, "Kⱼ: Bc × d",
      "The buffer is free once every consumer group has arrived at its empty barrier."}},
    {Line::load_v,
     {.producer = true},
     {2, "wait empty[V]; load Vⱼ → full[V]", tensors::v, "Vⱼ: Bc × d",
      "V has a ring of its own: it is needed later than K and freed later."}},
    {Line::hand_back,
     {.draws = true},
     {1, "return the tickets", tickets, "done = atomicAdd(tickets + 1, 1)",
      "Once a block, when no ticket is left. The last block sets both counters to 0 for the next launch."}},
    {Line::consumer,
     {.producer = true},
     {0, "consumer groups: 64 query rows each", Tensor(), "setmaxnreg.inc",
      "Each group of four warps keeps its own S, P, m, l and O in registers. All groups read the same K and V.",
      ListingLine::heading}},
    {Line::consumer,
     {.no_producer = true},
     {0, "consumer groups: 64 query rows each", Tensor(), "threadIdx.x / 128",
      "Each group of four warps keeps its own S, P, m, l and O in registers. Both read the same K and V.", ListingLine::heading}},
    {Line::init,
     {},
     {1, "O = 0, m = −∞, l = 0", tensors::o, "m = −∞, l = 0, O = 0",
      "Running maximum, running sum and the unscaled output live in registers."}},
    {Line::wait_q,
     {.producer = true},
     {1, "wait full[Q]", tensors::q, "mbarrier.try_wait", "A group waits only for its own rows."}},
    {Line::wait_q,
     {.no_producer = true},
     {1, "wait full[Q]", tensors::q, "mbarrier.try_wait", "Both groups wait for all rows of the block."}},
    {Line::key_loop,
     {.producer = true, .lists = true},
     {1, "for each listed tile j", Tensor(), "j in kv_indices[i], then in full_kv_indices[i]",
      "Partial tiles come first. The others need no mask.", ListingLine::heading}},
    {Line::key_loop,
     {.no_lists = true},
     {1, "for each key tile j, from the last", Tensor(), "j = ⌈Nk/Bc⌉ − 1 … 0",
      "The tile at the diagonal comes first, so only the first tiles need a mask.", ListingLine::heading}},
    {Line::wait_turn,
     {.turns = true},
     {2, "wait for my turn", Tensor(), "bar.sync", "A named barrier keeps the other groups' products out of the way."}},
    {Line::wait_k,
     {.producer = true},
     {2, "wait full[K]", tensors::k, "mbarrier.try_wait",
      "The bytes of Kⱼ have landed. This wait is short if the producer is ahead."}},
    {Line::wait_k,
     {.no_producer = true},
     {2, "wait full[K]", tensors::k, "mbarrier.try_wait", "The bytes of Kⱼ have landed. They were asked for a tile ago."}},
    {Line::scores,
     {.no_producer = true},
     {2, "issue S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
      "Four warps compute 64 rows together. wgmma reads both factors straight from shared memory: no ldmatrix."}},
    {Line::scores,
     {.producer = true},
     {2, "issue S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
      "wgmma only begins here. The tensor cores read Q and K from shared memory by themselves."}},
    {Line::wait_v_early,
     {.overlap = true},
     {2, "wait full[V] of the tile before", tensors::v, "mbarrier.try_wait",
      "The tile that this group computed in the last iteration."}},
    {Line::weigh_early,
     {.overlap = true},
     {2, "issue O = O + P V of the tile before", tensors::o, "O = O + P·V",
      "The second product of the tile before runs while the softmax of this one is computed."}},
    {Line::pass_turn,
     {.turns = true},
     {2, "pass the turn on", Tensor(), "bar.arrive", "All products of this group are issued. The next group may issue its own."}},
    {Line::wait_s,
     {.no_producer = true},
     {2, "wait S", tensors::s, "wgmma.wait_group",
      "The group idles until its scores are in registers. The other group computes meanwhile."}},
    {Line::wait_s,
     {.producer = true},
     {2, "wait S → empty[K]", tensors::s, "wgmma.wait_group",
      "The scores are in registers, so this group no longer needs Kⱼ and says so."}},
    {Line::modify,
     {.lists = true},
     {2, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)",
      "Applied to every element, of full and of partial tiles. It changes numbers, not bytes.", ListingLine::conditional}},
    {Line::mask,
     {.lists = true},
     {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)",
      "Only in partial tiles, and after the change of scores."}},
    {Line::mask,
     {.no_lists = true},
     {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if hidden; causal: c > r + Nk − Nq",
      "Only on tiles that are partly hidden: with a causal mask, those that the diagonal crosses."}},
    {Line::row_max, {}, {2, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)", "The largest score so far. It only grows."}},
    {Line::wait_o_early,
     {.overlap = true, .turns = true},
     {2, "wait O → empty[V] of the tile before", tensors::o, "wgmma.wait_group",
      "The compiler puts the exponentials behind this wait. They run under the products of the other groups."}},
    {Line::exp,
     {},
     {2, "P = exp(S − m′)", tensors::p, "P = exp(S − m′)", "P stays in registers: it is the left factor of the next wgmma."}},
    {Line::alpha, {}, {2, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "Rescale factor for the earlier tiles."}},
    {Line::row_sum,
     {},
     {2, "l = α l + rowsum P", tensors::l, "l = α·l + Σ P", "The sum of all exponentials so far, as seen from the new maximum."}},
    {Line::wait_o_early,
     {.overlap = true, .no_turns = true},
     {2, "wait O → empty[V] of the tile before", tensors::o, "wgmma.wait_group",
      "By now the product is over: it had the whole softmax to run under."}},
    {Line::rescale, {}, {2, "O = α O", tensors::o, "O = diag(α)·O", "Rescales the output so far to the new maximum."}},
    {Line::wait_v, {.no_overlap = true}, {2, "wait full[V]", tensors::v, "mbarrier.try_wait", "The bytes of Vⱼ have landed."}},
    {Line::weigh,
     {.no_overlap = true},
     {2, "issue O = O + P Vⱼ", tensors::o, "O = O + P·V", "The second product. P comes from registers, V from shared memory."}},
    {Line::wait_o,
     {.no_producer = true},
     {2, "wait O", tensors::o, "wgmma.wait_group", "The group idles until the product is over."}},
    {Line::wait_o,
     {.producer = true, .no_overlap = true},
     {2, "wait O → empty[V]", tensors::o, "wgmma.wait_group",
      "The group idles until the product is over: the next rungs fill this gap."}},
    {Line::keep_max, {}, {2, "m = m′", tensors::m, "m = m′", "The new maximum is the old one of the next tile."}},
    {Line::wait_groups,
     {.no_producer = true},
     {2, "wait for the other group", Tensor(), "__syncthreads",
      "Both have read the tile: the one after the next may overwrite it."}},
    {Line::last_weigh,
     {.overlap = true},
     {1, "wait full[V]; issue the last O = O + P V", tensors::o, "O = O + P·V", "The last product has no softmax to hide."}},
    {Line::last_wait, {.overlap = true}, {1, "wait O → empty[V]", tensors::o, "wgmma.wait_group", "The sums of O are complete."}},
    {Line::finish,
     {},
     {1, "O = O / l,  L = m + log l", tensors::o, "O = O / l, L = m + log l",
      "One division per row. L is all that the backward pass needs to recompute P."}},
    {Line::store,
     {},
     {1, "store Oᵢ, Lᵢ → HBM", tensors::o, "Oᵢ: 64 × d, Lᵢ: 64",
      "Each group stores its own rows through shared memory, as one box of TMA."}},
};

bool has(const HopperRung& rung, const Having& having) {
  if (having.producer && !rung.producer) return false;
  if (having.no_producer && rung.producer) return false;
  if (having.overlap && !rung.overlap) return false;
  if (having.no_overlap && rung.overlap) return false;
  if (having.no_turns && rung.ping_pong) return false;
  if (having.lists && !rung.lists) return false;
  if (having.draws && !rung.draws()) return false;
  if (having.no_lists && rung.lists) return false;
  return !having.turns || rung.ping_pong;
}

}  // namespace

HopperListing::HopperListing(const HopperRung& rung) {
  for (const RungLine& each : rung_lines) {
    if (!has(rung, each.having)) continue;
    lines_.push_back(each.text);
    number_[static_cast<std::size_t>(each.line)] = static_cast<int>(lines_.size());
  }
}

const HopperListing& hopper_listing(HopperRungId id) {
  static const std::vector<HopperListing> all = [] {
    std::vector<HopperListing> made;
    for (const HopperRung& rung : hopper_rungs()) made.emplace_back(rung);
    return made;
  }();
  return all[static_cast<std::size_t>(id)];
}

}  // namespace tilescope
