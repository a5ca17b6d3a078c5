// The blocks of the zeros and of the sums, and the closed form of both.
#include "sim/programs/table_sums.h"

#include <algorithm>

#include "sim/programs/table_tensors.h"

namespace tilescope {

TableSums::TableSums(const AttentionProblem& problem, const TileShape& tile, const BlockPlan& plan, const Lines& lines)
    : problem_(problem), plan_(plan), lines_(lines), reads_(gathered_reads(problem, tile)) {}

std::span<const TableGradient> TableSums::gradients() const {
  return problem_.score_change->table_gradients();
}

std::int64_t TableSums::blocks() const {
  std::int64_t blocks = 0;
  if (reads_.empty()) return blocks;
  for (const TableGradient& gradient : gradients())
    if (gradient.in_order) blocks += gradient.rows() * ceil_div(gradient.cols(), table_chunk);
  return blocks;
}

TableBox TableSums::zero_share(Tensor tensor, std::int64_t block, std::int64_t blocks) const {
  const TensorLayout& layout = plan_.layouts[tensor.index()];
  return table_share(layout.rows, layout.cols, block, blocks);
}

void TableSums::emit_zeros(BlockBuilder& b, std::int64_t block, std::int64_t blocks) const {
  if (reads_.empty()) return;
  const std::span<const TableGradient> all = gradients();
  const auto zero = [&](ChipTile zeros) {
    const TableBox share = zero_share(zeros.tensor(), block, blocks);
    if (share.empty()) return;
    b.table_box(zeros, share);
    b.fill(lines_.zero, zeros, 0.0F);
    b.store(lines_.store_zero, zeros);
  };
  for (std::size_t n = 0; n < all.size(); ++n)
    if (!all[n].in_order) zero(tables::zeros(n, tables::gradient(n, all[n].table->name)));
  for (const GatheredRead& read : reads_)
    if (read.parts) zero(read.gathered);
}

/// Adds the parts of reads to the elements of a chunk of their table, in order.
class TableSums::PartsOfChunk {
 public:
  PartsOfChunk(const TableSums& sums, BlockBuilder& b, ChipTile chip_tile, const TableBox& chunk)
      : problem_(sums.problem_), grid_(sums.plan_.grid), lines_(sums.lines_), b_(b), sums_(chip_tile), chunk_(chunk) {}

  void add(const GatheredRead& read) {
    for (std::int64_t plane = 0; plane < problem_.query_planes(); ++plane)
      if (read.read->origin(plane).row == chunk_.row) add(read, plane);
  }
  std::int64_t loads() const { return loads_; }

 private:
  /// The elements of the chunk that a plane's scores meet: origin + step · x, for x in [first, end).
  struct Meeting {
    std::int64_t origin, first, end;
    int step;
  };

  void add(const GatheredRead& read, std::int64_t plane) {
    const std::int64_t origin = read.read->origin(plane).col;
    const int step = read.read->reach == TableReach::key ? read.read->per_key : read.read->per_query;
    const std::int64_t first = step > 0 ? chunk_.col - origin : origin - chunk_.col - chunk_.cols + 1;
    const Meeting meeting{origin, first, first + chunk_.cols, step};
    switch (read.read->reach) {
      case TableReach::head:
        if (origin >= chunk_.col && origin < chunk_.col + chunk_.cols) load(read, {plane, 1, 0, grid_.query_tiles}, origin, 0);
        return;
      case TableReach::query:
        return add_row(read, meeting, plane, problem_.seq_q);
      case TableReach::key:
        for (std::int64_t i = 0; i < grid_.query_tiles; ++i) add_row(read, meeting, plane * grid_.query_tiles + i, problem_.seq_kv);
        return;
      case TableReach::distance:
      case TableReach::pair:
        for (std::int64_t i = 0; i < grid_.query_tiles; ++i)
          for (std::int64_t j = 0; j < grid_.key_tiles; ++j) add_diagonals(read, meeting, plane, i, j);
    }
  }
  /// Adds what lies in the chunk of a row of parts, one for each query or key.
  void add_row(const GatheredRead& read, const Meeting& meeting, std::int64_t row, std::int64_t length) {
    const std::int64_t low = std::max<std::int64_t>(meeting.first, 0), high = std::min(meeting.end, length);
    if (low < high) load(read, {row, 1, low, high - low}, meeting.origin + meeting.step * low, meeting.step);
  }
  /// Adds what lies in the chunk of the diagonals of a pair of tiles.
  void add_diagonals(const GatheredRead& read, const Meeting& meeting, std::int64_t plane, std::int64_t i, std::int64_t j) {
    const TileRange queries = grid_.queries(i), keys = grid_.keys(j);
    TableBox box = read.parts->box(plane, i, queries, j, keys);
    const std::int64_t least = queries.first - (keys.end() - 1);
    const std::int64_t low = std::max(meeting.first, least), high = std::min(meeting.end, least + box.cols);
    if (low >= high) return;
    box.col += low - least;
    box.cols = high - low;
    load(read, box, meeting.origin + meeting.step * low, meeting.step);
  }
  /// Loads a box of parts and adds them to the elements from `element` on, `step` apart.
  void load(const GatheredRead& read, const TableBox& box, std::int64_t element, int step) {
    b_.iteration(loads_, loads_ % static_cast<std::int64_t>(BufferToken::most_stages));
    ++loads_;
    b_.table_box(read.gathered, box);
    b_.load(lines_.load_parts, read.gathered);
    b_.add_parts(lines_.sum_parts, sums_, read.gathered, element - chunk_.col, step);
  }

  const AttentionProblem& problem_;
  const TileGrid& grid_;
  const Lines& lines_;
  BlockBuilder& b_;
  ChipTile sums_;
  TableBox chunk_;
  std::int64_t loads_ = 0;
};

std::int64_t TableSums::emit_sums(BlockBuilder& b, std::int64_t block) const {
  const std::span<const TableGradient> all = gradients();
  std::int64_t own = block;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (!all[n].in_order) continue;
    const std::int64_t across = ceil_div(all[n].cols(), table_chunk);
    if (own >= all[n].rows() * across) {
      own -= all[n].rows() * across;
      continue;
    }
    const ChipTile sums = tables::zeros(n, tables::gradient(n, all[n].table->name));
    const std::int64_t first = own % across * table_chunk;
    const TableBox chunk{own / across, 1, first, std::min(table_chunk, all[n].cols() - first)};
    b.table_box(sums, chunk);
    b.fill(lines_.zero_sums, sums, 0.0F);
    PartsOfChunk parts(*this, b, sums, chunk);
    for (const GatheredRead& read : reads_)
      if (read.gradient == sums.tensor()) parts.add(read);
    b.iteration(parts.loads(), 0);
    b.store(lines_.store, sums);
    return parts.loads();
  }
  return 0;
}

bool TableSums::add_terms(ClosedForm& form, std::int64_t zero_blocks) const {
  if (reads_.empty()) return true;
  const std::span<const TableGradient> all = gradients();
  const auto zeros_of = [&](Tensor tensor) {
    Bytes zeros;
    for (std::int64_t block = 0; block < zero_blocks; ++block)
      zeros += Bytes(sector_size *
                     sectors_touched(plan_.layouts[tensor.index()], tile_of(tensor, zero_share(tensor, block, zero_blocks))));
    return zeros;
  };
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Tensor tensor = tables::gradient(n, all[n].table->name);
    const TensorLayout& layout = plan_.layouts[tensor.index()];
    Bytes stored, added;
    if (!all[n].in_order) stored = zeros_of(tensor);
    for (std::int64_t row = 0; all[n].in_order && row < layout.rows; ++row)
      for (std::int64_t col = 0; col < layout.cols; col += table_chunk)
        stored +=
            Bytes(sector_size * sectors_touched(layout, tile_of(tensor, {row, 1, col, std::min(table_chunk, layout.cols - col)})));
    for (const GatheredRead& read : reads_) {
      if (read.gradient != tensor) continue;
      const std::optional<Bytes> left = gathered_bytes(problem_, plan_.grid, read);
      if (!left) return false;
      const Tensor parts = read.gathered.tensor();
      if (!read.parts) added += *left;
      if (!read.parts) continue;
      form.terms.push_back({parts, Link::sm_to_l2, zeros_of(parts) + *left, "4·(places + Σ gathered sums), in sectors"});
      form.terms.push_back({parts, Link::l2_to_sm, summed_bytes(problem_, plan_.grid, read, layout),
                            "4·Σ gathered sums, in sectors of each 32 numbers"});
    }
    form.terms.push_back({tensor, Link::sm_to_l2, stored + added, "4·(elements of the table + Σ sums added), in sectors"});
    form.reduced += added;
  }
  return true;
}

}  // namespace tilescope
