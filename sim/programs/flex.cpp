// flex: FlashAttention-2's loop over the key tiles that a mask's lists name, with changed scores. Partial tiles first, then full
// ones.
//
//   l2_to_sm = B·Hq·(Nq·d + 2·Σᵢ Wᵢ·d)·e + lists      sm_to_l2 = B·Hq·(Nq·d·e + Nq·4)
//   Wᵢ: keys of the listed blocks of query tile i. A list is a count, in a sector of its own, and four bytes a block.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/masks/block_mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/online_softmax.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flex";

namespace lists {

/// PyTorch's BlockMask; int32, which has the size of fp32.
constexpr TensorSpec declare(std::string_view name, std::uint8_t index, Axis cols) {
  return {.name = name,
          .meaning = Meaning::table,
          .index = index,
          .planes = Planes::mask,
          .rows = Axis::query_block,
          .cols = cols,
          .type = DataType::fp32};
}
constexpr TensorSpec partial_count_spec = declare("kv_num_blocks", 9, Axis::one);
constexpr TensorSpec partial_spec = declare("kv_indices", 10, Axis::key_block);
constexpr TensorSpec full_count_spec = declare("full_kv_num_blocks", 11, Axis::one);
constexpr TensorSpec full_spec = declare("full_kv_indices", 12, Axis::key_block);
constexpr Tensor partial_count = partial_count_spec, partial = partial_spec, full_count = full_count_spec, full = full_spec;

constexpr TileSpec partial_count_tile_spec{.name = "#p", .tensor = partial_count_spec, .index = 17};
constexpr TileSpec partial_tile_spec{.name = "Jp", .tensor = partial_spec, .index = 18};
constexpr TileSpec full_count_tile_spec{.name = "#f", .tensor = full_count_spec, .index = 19};
constexpr TileSpec full_tile_spec{.name = "Jf", .tensor = full_spec, .index = 20};
constexpr Slot partial_count_tile = partial_count_tile_spec, partial_tile = partial_tile_spec;
constexpr Slot full_count_tile = full_count_tile_spec, full_tile = full_tile_spec;

}  // namespace lists

enum class Line {
  load_counts,
  load_lists,
  load_q,
  init,
  key_loop,
  load_k,
  scores,
  modify,
  mask,
  row_max,
  exp,
  alpha,
  row_sum,
  rescale,
  load_v,
  weigh,
  keep_max,
  finish,
  store,
  count
};
constexpr ListingLine listing[] = {
    {0, "load the lists' lengths", lists::partial_count, "kv_num_blocks[i], full_kv_num_blocks[i]",
     "The mask was cut into blocks before the kernel ran. A query tile whose lists are empty loads nothing else."},
    {0, "load the two lists", lists::partial, "kv_indices[i, …], full_kv_indices[i, …]",
     "Empty blocks are in no list: they are neither loaded nor computed."},
    {0, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d", "As in FlashAttention-2, the block keeps its queries on chip."},
    {0, "O = 0, m = −∞, l = 0", tensors::o, "m = −∞, l = 0, O = 0",
     "A row that sees no key ends with l = 0: its O is 0 and its L is −∞."},
    {0, "for each listed tile j", Tensor(), "j in kv_indices[i], then in full_kv_indices[i]",
     "So the masked and the unmasked loop are two pieces of code, and only one of them looks at indices."},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "Its address comes from the list: the first load waits for that."},
    {1, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d", "The tile of scores exists only in registers."},
    {1, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)",
     "Applied to every element, of full and of partial tiles. It changes numbers, not bytes."},
    {1, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)",
     "Only in partial tiles, and after the change of scores."},
    {1, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)",
     "Tiles come in another order than in FlashAttention-2, so m takes another path to the same end."},
    {1, "P = exp(S − m′)", tensors::p, "P = exp(S − m′)", "Never above 1, so nothing overflows, whatever the scores are."},
    {1, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "The rescale factor for the earlier tiles."},
    {1, "l = α l + rowsum P", tensors::l, "l = α·l + Σ P", "The sum of all exponentials so far, as seen from the new maximum."},
    {1, "O = α O", tensors::o, "O = diag(α)·O", "The output so far is brought to the new maximum."},
    {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Asked for early, needed only now."},
    {1, "O = O + P Vⱼ", tensors::o, "O = O + P·V", "The second product."},
    {1, "m = m′", tensors::m, "m = m′", "The new maximum is the old one of the next tile."},
    {0, "O = O / l,  L = m + log l", tensors::o, "O = O / l, L = m + log l", "One division a row instead of one a tile."},
    {0, "store Oᵢ, Lᵢ → HBM", tensors::o, "Oᵢ: Br × d, Lᵢ: Br",
     "Each element of O is written exactly once, also where no key is visible."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// Without a mask there are no lists: every tile is visited.
Schema declared(const AttentionProblem& problem) {
  using namespace tensors;
  Schema schema = {
      {q, k, v, s, p, o, lse, m, l},
      {q, k, v},
      {o, lse},
      {tiles::q, tiles::k, tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::alpha, tiles::o, tiles::lse}};
  if (!problem.has_mask()) return schema;
  for (const Tensor list : {lists::partial_count, lists::partial, lists::full_count, lists::full}) {
    schema.tensors.push_back(list);
    schema.inputs.push_back(list);
  }
  for (const Slot tile : {lists::partial_count_tile, lists::partial_tile, lists::full_count_tile, lists::full_tile})
    schema.tiles.push_back(tile);
  return schema;
}

/// The lists as a kernel reads them.
class ListValues final : public TableValues {
 public:
  explicit ListValues(std::shared_ptr<const BlockMask> mask) : mask_(std::move(mask)) {}

  Matrix tile(const TileRef& tile) const override {
    const bool partial = tile.tensor == lists::partial || tile.tensor == lists::partial_count;
    const std::span<const std::int32_t> list = (partial ? mask_->partial : mask_->full).row(tile.plane, tile.row);
    Matrix values(tile.rows, tile.cols);
    if (tile.tensor == lists::partial_count || tile.tensor == lists::full_count)
      values.values[0] = static_cast<float>(list.size());
    else
      for (std::size_t i = 0; i < values.values.size() && i < list.size(); ++i) values.values[i] = static_cast<float>(list[i]);
    return values;
  }

 private:
  std::shared_ptr<const BlockMask> mask_;
};

class Flex final : public TileProgram {
 public:
  Flex(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared(problem)),
        plan_(problem, tile, schema()),
        store_(kernel_profile("flash2").overhead("attention", "store", problem)) {
    if (problem.has_mask())
      mask_ = std::make_shared<const BlockMask>(block_mask_of(*plan_.grid.mask, problem, mask_block_of(problem, tile)));
    if (problem.score_change) cost_ = problem.score_change->cost();
    LaunchSpec launch;
    launch.name = "attention";
    launch.grid_x = plan_.grid.query_tiles;
    launch.grid_y = problem.heads;
    launch.grid_z = problem.batch;
    launch.needs = flex_needs(problem, tile, gpu);
    // Where later query tiles visit more, the last comes first, so that the launch ends with its shortest blocks.
    launch.last_rows_first = mask_ && later_rows_see_more(*mask_);
    launch.first_line = 1;
    launch.last_line = static_cast<int>(std::size(listing));
    launches_.push_back(launch);
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const std::int64_t i = query_tile_of(block), plane = block / grid.query_tiles;
    const TileRange rows = grid.queries(i);
    const KernelNeeds& needs = launches_.front().needs;
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), slot_bits(tiles::q, tiles::k, tiles::v));
    b.queries(i, rows);
    const std::vector<KeyTile> visits = tiles_of(plane, i);
    out.iterations = static_cast<std::int32_t>(visits.size());
    const std::int32_t listed = mask_ ? load_lists(b, plane, i) : -1;
    if (!visits.empty()) b.load(Line::load_q, tiles::q);
    b.fill(Line::init, tiles::o, 0.0F);
    b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
    b.fill(Line::init, tiles::l, 0.0F);
    const int moved = eighths_moved(tile_.block_q, out.iterations);
    b.walk_keys(
        visits, needs.stages, [&](const KeyTile& tile) { return !tile.partial && grid.is_whole(tile); },
        [&](const KeyTile& tile) { emit_pair(b, tile.partial, moved, listed); });
    b.divide(Line::finish, tiles::o, tiles::l);
    if (visits.empty() && mask_) b.after(listed);  // before the lengths arrive, nobody knows that the lists are empty
    b.log_sum_exp(Line::finish, tiles::lse, tiles::m, tiles::l);
    b.overhead(store_);
    b.store(Line::store, tiles::o);
    b.store(Line::store, tiles::lse);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const std::int64_t i = query_tile_of(block), plane = block / plan_.grid.query_tiles;
    const TileRange rows = plan_.grid.queries(i);
    return plan_.place(plane, rows, plan_.grid.row_class(plane, i) * 8 + plan_.place_in_sector(plane, rows.first));
  }

  std::shared_ptr<const TableValues> tables() const override { return mask_ ? std::make_shared<const ListValues>(mask_) : nullptr; }

  std::optional<ClosedForm> closed_form() const override;

 private:
  /// The key tiles of the blocks that the lists name, whether or not a tile inside a partial block is itself empty.
  std::vector<KeyTile> tiles_of(std::int64_t plane, std::int64_t i) const {
    const TileGrid& grid = plan_.grid;
    std::vector<KeyTile> visits;
    if (!mask_) return grid.visits(plane, i);
    const std::int64_t row = i * tile_.block_q / mask_->block.block_q, tiles_of_block = mask_->block.block_kv / tile_.block_kv;
    for (const bool partial : {true, false}) {
      const auto first = static_cast<std::ptrdiff_t>(visits.size());
      for (const std::int32_t block : (partial ? mask_->partial : mask_->full).row(mask_->list_plane(plane), row))
        for (std::int64_t j = block * tiles_of_block; j < std::min((block + 1) * tiles_of_block, grid.key_tiles); ++j)
          visits.push_back({j, partial});
      if (grid.key_order == KeyOrder::descending) std::reverse(visits.begin() + first, visits.end());
    }
    return visits;
  }

  /// Returns the last load of a list: what the first tile's address waits for.
  std::int32_t load_lists(BlockBuilder& b, std::int64_t plane, std::int64_t i) const {
    const std::int64_t row = i * tile_.block_q / mask_->block.block_q, list_plane = mask_->list_plane(plane);
    b.mask_list(list_plane, row, 1);
    b.load(Line::load_counts, lists::partial_count_tile);
    std::int32_t latest = b.load(Line::load_counts, lists::full_count_tile);
    const std::int32_t counted = latest;
    for (const bool partial : {true, false}) {
      const auto entries = static_cast<std::int64_t>((partial ? mask_->partial : mask_->full).row(list_plane, row).size());
      if (entries == 0) continue;
      b.mask_list(list_plane, row, entries);
      latest = b.load_after(Line::load_lists, partial ? lists::partial_tile : lists::full_tile, counted);
    }
    return latest;
  }

  void emit_pair(BlockBuilder& b, bool masked, int moved, std::int32_t listed) const {
    b.load(Line::load_k, tiles::k, listed);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
    if (problem_.score_change) b.modify(Line::modify, tiles::s, cost_.operations, cost_.exps);
    if (masked) b.mask(Line::mask, tiles::s);
    emit_online_softmax(
        b, {Line::row_max, Line::exp, Line::alpha, Line::row_sum, Line::rescale, Line::load_v, Line::weigh, Line::keep_max}, moved,
        listed);
  }

  BlockPlan plan_;
  std::int64_t query_tile_of(std::int64_t block) const {
    return launches_.front().in_order_of_rows(block) % plan_.grid.query_tiles;
  }

  std::shared_ptr<const BlockMask> mask_;  // null: no mask, no lists
  Overhead store_;                         // as in flash2, whose loop this is
  ScoreCost cost_;
};

/// Worked out from the mask, tile by tile, and not from its lists.
std::optional<ClosedForm> Flex::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  const AttentionProblem& p = problem_;
  const Mask& mask = *plan_.grid.mask;
  const TileShape block = p.has_mask() ? mask_block_of(p, tile_) : TileShape(tile_);
  const std::int64_t e = element_bytes(p.dtype), cols = ceil_div(p.seq_kv, block.block_kv);
  std::int64_t rows_seen = 0, keys = 0, rows_keys = 0, rows_pairs = 0;
  std::int64_t list_bytes[2] = {}, counts = 0;  // of partial blocks, of full ones
  const auto cut = [](std::int64_t first, std::int64_t size, std::int64_t length) {
    return TileRange{first, std::min(size, length - first)};
  };
  const MaskPlanes by = mask.planes();
  const std::int64_t batches = by.by_batch ? p.batch : 1, heads = by.by_head ? p.heads : 1,
                     copies = p.query_planes() / (batches * heads);
  for (std::int64_t list = 0; list < batches * heads; ++list)
    for (std::int64_t row = 0; row * block.block_q < p.seq_q; ++row) {
      const std::int64_t plane = list / heads * p.heads + list % heads;
      const TileRange queries = cut(row * block.block_q, block.block_q, p.seq_q);
      std::int64_t listed_keys = 0, listed_tiles = 0, entries[2] = {};
      for (std::int64_t col = 0; col < cols; ++col) {
        const TileRange of = cut(col * block.block_kv, block.block_kv, p.seq_kv);
        const TileVisibility seen = mask.tile(plane, queries, of);
        if (seen == TileVisibility::empty) continue;
        listed_keys += of.count;
        listed_tiles += ceil_div(of.count, tile_.block_kv);
        ++entries[seen == TileVisibility::full ? 1 : 0];
      }
      const std::int64_t query_tiles = ceil_div(queries.count, tile_.block_q);
      counts += query_tiles;
      for (int kind = 0; kind < 2; ++kind) {
        const std::int64_t first = (list * ceil_div(p.seq_q, block.block_q) + row) * cols * 4, end = first + entries[kind] * 4;
        if (entries[kind] > 0) list_bytes[kind] += query_tiles * (ceil_div(end, sector_size) - first / sector_size) * sector_size;
      }
      if (listed_keys == 0) continue;
      rows_seen += queries.count;
      keys += query_tiles * listed_keys;
      rows_keys += queries.count * listed_keys;
      rows_pairs += queries.count * listed_tiles;
    }
  ClosedForm form;
  const std::int64_t row_bytes = p.head_dim * e;
  const auto add = [&](Tensor tensor, Link link, std::int64_t bytes, std::string formula) {
    form.terms.push_back({tensor, link, Bytes(bytes), std::move(formula)});
  };
  add(tensors::q, Link::l2_to_sm, copies * rows_seen * row_bytes,
      formula_for(p, "B·Hq·Nq·d·e", "B·Hq·d·e·(rows of tiles that see a key)"));
  for (const Tensor tensor : {tensors::k, tensors::v})
    add(tensor, Link::l2_to_sm, copies * keys * row_bytes,
        formula_for(p, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ keys of the listed blocks"));
  if (p.has_mask()) {
    for (const Tensor tensor : {lists::partial_count, lists::full_count})
      add(tensor, Link::l2_to_sm, copies * counts * sector_size, "B·Hq·⌈Nq/Br⌉·32");
    add(lists::partial, Link::l2_to_sm, copies * list_bytes[0], "B·Hq·Σᵢ 4·partial blocks, in sectors");
    add(lists::full, Link::l2_to_sm, copies * list_bytes[1], "B·Hq·Σᵢ 4·full blocks, in sectors");
  }
  add(tensors::o, Link::sm_to_l2, p.query_planes() * p.seq_q * row_bytes, "B·Hq·Nq·d·e");
  add(tensors::lse, Link::sm_to_l2, statistic_bytes(p, tile_, Visits::once), "B·Hq·Nq·4");
  form.flops = copies * 4 * p.head_dim * rows_keys;
  form.exps = copies * (rows_keys * (1 + cost_.exps) + rows_pairs);
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_request(id, problem, tile, CausalMask::taken, ScoreChanges::taken); !status) return status.error();
  const TileShape block = mask_block_of(problem, tile);
  if (problem.has_mask() && (block.block_q % tile.block_q != 0 || block.block_kv % tile.block_kv != 0))
    return refuse("{} is {}, and the tile is {}x{}: the block must be a multiple of both lengths", Setting::mask_block,
                  problem.mask_block, tile.block_q, tile.block_kv);
  return std::unique_ptr<TileProgram>(std::make_unique<Flex>(problem, tile, gpu));
}

}  // namespace

ProgramInfo flex_program() {
  return {id,
          "FlexAttention",
          "attention",
          "arXiv:2412.05496",
          "Over FlashAttention-2: lists of key blocks from any mask expression, and a score expression.",
          listing,
          flash2_tile,
          make};
}

}  // namespace tilescope
