// Device code of flex_backward: the two kinds of block of flash2_backward_two_pass over the tiles that block lists name, with the
// derivative of the score change. Compiled at run time by NVRTC.
//
//   The text of a request defines FlexScore, FlexMask and FlexSlope, the derivative of the score change by the score. A block that
//   owns keys follows the lists by column, one query head after the other; a block that owns queries follows those by row.
//
//                  kept for the block                     in the ring, for each tile that passes by
//     owns keys    uniforms (of a head), columns          rows of the query tile
//     owns queries uniforms, rows                         columns of the key tile
//
//   P · slope takes the place of P once P is rounded for dV: dS = (P · slope) ∘ (dP - D) needs no further registers.
//
//   Gradients of captured tables come from the blocks that own queries (table_gradients.cuh).
#pragma once

#include "kernels/common/query_gradients.cuh"
#include "kernels/flex/flex_parts.cuh"
#include "kernels/flex_backward/flex_backward_arguments.h"
#include "kernels/flex_backward/table_gradients.cuh"

namespace tilescope::device {

/// The shapes of both kinds of block with the three expressions, and the words of shared memory behind their tiles.
template <class T, int d, class ScoreChange, class Visible, class ScoreSlope, int query_tiles, int key_tiles,
          class ReadsOfTables = TableReads<>>
struct FlexBackwardShape : KeyShape<T, d, false, false, 0> {
  using Keys = KeyShape<T, d, false, false, 0>;
  using Queries = QueryShape<Keys, 1>;  // NVRTC takes longer for more code
  using Score = ScoreChange;
  using Mask = Visible;
  using Slope = ScoreSlope;
  using Reads = ReadsOfTables;
  using Keys::bc;
  using Keys::br;
  static constexpr int query_warps = Queries::query_warps, parts = Queries::parts;
  static constexpr int query_tiles_of_block = query_tiles, key_tiles_of_block = key_tiles;
  static constexpr int uniforms = Score::uniforms + Mask::uniforms + Slope::uniforms, rows = Score::rows + Mask::rows + Slope::rows;
  static constexpr int columns = Score::columns + Mask::columns + Slope::columns;
  static constexpr int tiles_bytes = Keys::shared_bytes > Queries::shared_bytes ? Keys::shared_bytes : Queries::shared_bytes;
  static constexpr int words_at = (tiles_bytes + 15) / 16 * 16;
  static constexpr int uniforms_at = 4, kept_at = (uniforms_at + uniforms + 3) / 4 * 4;
  // The kept values of a block, then its ring of two buffers, then its visits.
  static constexpr int key_ring_at = kept_at + columns * bc, key_visits_at = key_ring_at + 2 * rows * br;
  static constexpr int query_ring_at = kept_at + rows * br, gathered_at = query_ring_at + 2 * columns * bc;
  static constexpr int query_visits_at = gathered_at + all_gathered_words<Queries>(Reads());
  static constexpr bool has_reads = count_reads(Reads()) > 0;
  static constexpr bool has_pair_sums = gathers_pairs(Reads()), has_block_sums = gathers_blocks(Reads());
};

/// Returns the words behind the tiles. Their address is a constant, which no register holds.
template <class Shape>
__device__ __forceinline__ std::uint32_t* flex_words() {
  extern __shared__ __align__(128) char shared[];
  return reinterpret_cast<std::uint32_t*>(shared + Shape::words_at);
}

/// Computes the uniforms of a head.
template <class Shape>
__device__ __forceinline__ void set_uniforms(const FlexPlace& place, std::uint32_t* words) {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  std::uint32_t* const to = words + Shape::uniforms_at;
  Score::set_uniforms(place, to);
  Mask::set_uniforms(place, to + Score::uniforms);
  Shape::Slope::set_uniforms(place, to + Score::uniforms + Mask::uniforms);
}
/// Writes the row values of a query to a buffer. `masked`: those of the mask too.
template <class Shape>
__device__ __forceinline__ void set_row(const FlexPlace& place, int query, std::uint32_t* to, bool masked) {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  if constexpr (Score::rows > 0) Score::set_row(place, query, to, Shape::br);
  if constexpr (Mask::rows > 0)
    if (masked) Mask::set_row(place, query, to + Score::rows * Shape::br, Shape::br);
  if constexpr (Shape::Slope::rows > 0) Shape::Slope::set_row(place, query, to + (Score::rows + Mask::rows) * Shape::br, Shape::br);
}
/// Writes the column values of a key to a buffer.
template <class Rule, class Shape>
__device__ __forceinline__ void set_column(const FlexPlace& place, int key, std::uint32_t* to) {
  if constexpr (Rule::columns > 0) {
    typename Rule::ColumnWords held;
    Rule::read_columns(place, key, held);
#pragma unroll
    for (int i = 0; i < Rule::columns; ++i) to[i * Shape::bc] = held.value[i];
  }
}
template <class Shape>
__device__ __forceinline__ void set_columns(const FlexPlace& place, int key, std::uint32_t* to, bool masked) {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  set_column<Score, Shape>(place, key, to);
  if (masked) set_column<Mask, Shape>(place, key, to + Score::columns * Shape::bc);
  set_column<typename Shape::Slope, Shape>(place, key, to + (Score::columns + Mask::columns) * Shape::bc);
}

/// The tiles that a block visits along one axis, as its lists name them: the first query or key of each.
struct ListedTiles {
  int* visits;
  int tiles = 0, partial_tiles = 0;

  /// Reads the lists of a row of blocks. All threads call it; ends with a barrier. A last block that has fewer tiles is cut.
  template <int threads, int tiles_of_block, int tile_rows>
  __device__ __forceinline__ void read(std::uint32_t* words, const std::int32_t* partial_count, const std::int32_t* full_count,
                                       const std::int32_t* partial, const std::int32_t* full, std::int64_t list, int most_blocks,
                                       int length, int thread) {
    read_list_lengths(words, partial_count, full_count, list, thread);
    const int partial_blocks = words[0], full_blocks = words[1];
    partial_tiles = partial_blocks * tiles_of_block;
    tiles = partial_tiles + full_blocks * tiles_of_block;
    const std::int64_t first = list * most_blocks;
    expand_lists<threads, tiles_of_block, tile_rows>(visits, partial + first, partial_blocks, full + first, full_blocks, thread,
                                                     [] {});
    __syncthreads();
    end_at_last_row<tiles_of_block, tile_rows>(words, visits, tiles, partial_tiles, length, thread);
  }
  /// Visits every tile, where there is no mask.
  template <int threads, int tile_rows>
  __device__ __forceinline__ void all(int length, int thread) {
    tiles = (length + tile_rows - 1) / tile_rows;
#pragma unroll 1
    for (int n = thread; n < tiles; n += threads) visits[n] = n * tile_rows;
    __syncthreads();
  }
};

/// Keeps numbers in shared memory, so that no register holds them through the loop: the tiles to visit, the partial ones among
/// them, and the first query of a block that owns queries. All threads call it; ends with a barrier.
template <class Shape>
__device__ __forceinline__ void keep(int tiles, int partial_tiles, int first_query) {
  __syncthreads();  // all threads have read the lengths that these replace
  if (threadIdx.x == 0) {
    flex_words<Shape>()[1] = tiles;
    flex_words<Shape>()[2] = partial_tiles;
    flex_words<Shape>()[3] = first_query;
  }
  __syncthreads();
}
template <class Shape>
__device__ __forceinline__ int kept(int word) {
  return static_cast<int>(*static_cast<volatile std::uint32_t*>(flex_words<Shape>() + word));
}
template <class Shape>
__device__ __forceinline__ bool is_masked(int visit) {
  if constexpr (Shape::Mask::present) return visit < kept<Shape>(2);
  return false;
}

/// Makes P of four raw scores of one query, and P times the slope: `p` and `s`. `offset`: L in powers of two. Unless `all_visible`,
/// exists(i) says whether the i-th score is one of the sequences.
/// `reads` looks at each raw score, and then at its P.
template <class Shape, bool all_visible, class ScoreRow, class MaskRow, class SlopeRow, class ScoreColumns, class MaskColumns,
          class SlopeColumns, class Exists, class Reads>
__device__ __forceinline__ void weigh_four(const FlexPlace& place, float* const (&s)[4], float (&p)[4], bool masked,
                                           const Exists& exists, float offset, float scale, const ScoreRow& score_row,
                                           const MaskRow& mask_row, const SlopeRow& slope_row, const ScoreColumns& score_columns,
                                           const MaskColumns& mask_columns, const SlopeColumns& slope_columns, const Reads& reads) {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  using Slope = typename Shape::Slope;
  float slope[4];
  if constexpr (Slope::present) {
#pragma unroll
    for (int i = 0; i < 4; ++i) slope[i] = *s[i];
    float* const of[4] = {&slope[0], &slope[1], &slope[2], &slope[3]};
    change_scores<Slope, all_visible>(place, of, slope_row, slope_columns);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) reads.before(i, *s[i]);
  if constexpr (Score::present) change_scores<Score, all_visible>(place, s, score_row, score_columns);
  if constexpr (!all_visible) {
    if constexpr (Mask::present)
      if (masked) hide_scores<Mask>(place, s, mask_row, mask_columns);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (!exists(i)) *s[i] = minus_infinity();
  }
  const float scale_log2 = Score::present ? log2_e : scale * log2_e;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    p[i] = exp2_fast(*s[i] * scale_log2 - offset);
    reads.after(i, p[i]);
    if constexpr (Slope::present)
      *s[i] = p[i] == 0.f ? 0.f : p[i] * slope[i];
    else
      *s[i] = p[i];
  }
}

struct NoReads {
  __device__ __forceinline__ void before(int, float) const {}
  __device__ __forceinline__ void after(int, float) const {}
};

/// Looks at four raw scores, and then at their P, by two functions.
template <class Before, class After>
struct ReadsOfFour {
  const Before& before;
  const After& after;
};

/// The pair of tiles of a block that owns keys: those of its n-th visit. What it knows of the lists it reads from shared memory, so
/// that no register holds it through the products.
template <class Shape>
struct FlexKeyPair {
  const FlexPlace& place;
  const int& step;
  int n;

  __device__ __forceinline__ int query_of(int visit) const {
    return reinterpret_cast<const int*>(flex_words<Shape>() + Shape::key_visits_at)[visit];
  }
  __device__ __forceinline__ std::uint32_t* ring(int of_step) const {
    return flex_words<Shape>() + Shape::key_ring_at + (of_step & 1) * Shape::rows * Shape::br;
  }
  /// Writes the row values of the next query tile to its buffer, which is free.
  __device__ __forceinline__ void start_next() const { set_rows(step + 1, n + 1); }
  __device__ __forceinline__ void set_rows(int of_step, int visit) const {
    if constexpr (Shape::rows > 0) {
      const int i = static_cast<int>(threadIdx.x), query = query_of(visit) + i;
      if (i < Shape::br && query < place.arguments.seq_q) set_row<Shape>(place, query, ring(of_step) + i, is_masked<Shape>(visit));
    }
  }

  __device__ __forceinline__ void weigh(float (&s)[2][4][4], float (&dp)[2][4][4], std::uint32_t (&p_left)[2][2][4], int key_at,
                                        int query_at, std::uint32_t stats, float scale, int lane) const {
    const int first_key = block_x() * Shape::bc, first_query = query_of(n);
    const bool masked = is_masked<Shape>(n),
               at_end = first_key + Shape::bc > place.arguments.seq_kv || first_query + Shape::br > place.arguments.seq_q;
    if (masked || at_end)
      weigh_scores<false>(s, p_left, masked, first_key, first_query, key_at, query_at, stats, scale, lane);
    else
      weigh_scores<true>(s, p_left, false, first_key, first_query, key_at, query_at, stats, scale, lane);
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float2 minus_d = load_two(stats + (Shape::br + t * 8) * 4);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int i = 0; i < 4; ++i) dp[mt][t][i] = i & 1 ? minus_d.y : minus_d.x;
    }
  }

 private:
  template <bool all_visible>
  __device__ __forceinline__ void weigh_scores(float (&s)[2][4][4], std::uint32_t (&p_left)[2][2][4], bool masked, int first_key,
                                               int first_query, int key_at, int query_at, std::uint32_t stats, float scale,
                                               int lane) const {
    using Score = typename Shape::Score;
    using Mask = typename Shape::Mask;
    using Slope = typename Shape::Slope;
    const int lane_key = first_key + key_at + lane / 4, lane_query = query_at + 2 * (lane & 3);
    const std::uint32_t* const columns = flex_words<Shape>() + Shape::kept_at + key_at + lane / 4;
    const std::uint32_t* const rows = ring(step) + lane_query;
    typename Score::Column score_columns[4];
    typename Mask::Column mask_columns[4];
    typename Slope::Column slope_columns[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = i * 8;
      score_columns[i] = Score::column(place, lane_key, at, columns + at, Shape::bc);
      mask_columns[i] = Mask::column(place, lane_key, at, columns + Score::columns * Shape::bc + at, Shape::bc);
      slope_columns[i] = Slope::column(place, lane_key, at, columns + (Score::columns + Mask::columns) * Shape::bc + at, Shape::bc);
    }
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float2 offset = load_two(stats + t * 32);
      float p[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = t * 8 + i, query = first_query + lane_query + at;
        const auto exists = [&](int key) { return query < place.arguments.seq_q && lane_key + key * 8 < place.arguments.seq_kv; };
        float* const four[4] = {&s[0][t][i], &s[0][t][2 + i], &s[1][t][i], &s[1][t][2 + i]};
        weigh_four<Shape, all_visible>(
            place, four, p[i], masked, exists, i == 0 ? offset.x : offset.y, scale,
            Score::row(place, query, lane_key, rows + at, Shape::br),
            Mask::row(place, query, lane_key, rows + Score::rows * Shape::br + at, Shape::br),
            Slope::row(place, query, lane_key, rows + (Score::rows + Mask::rows) * Shape::br + at, Shape::br), score_columns,
            mask_columns, slope_columns, NoReads());
      }
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          p_left[t / 2][mt][(t & 1) * 2 + half] = pack<typename Shape::T>(p[0][mt * 2 + half], p[1][mt * 2 + half]);
    }
  }
};

template <class Shape>
class FlexKeyBlock : public KeyBlock<typename Shape::Keys> {
  using Base = KeyBlock<typename Shape::Keys>;

 public:
  __device__ __forceinline__ FlexKeyBlock(const FlexBackwardArguments& arguments, char* shared)
      : Base(arguments.gradients, shared), arguments_(arguments) {}

  /// Computes dK and dV of the block's key tile.
  template <class Recorder>
  __device__ __forceinline__ void run(const Recorder& probe) {
    constexpr int bc = Shape::bc;
    const FlexArguments& flex = arguments_.flex;
    std::uint32_t* const words = flex_words<Shape>();
    const int thread = threadIdx.x, tile = block_x(), first_key = tile * bc, keys = min(bc, flex.seq_kv - first_key);
    clear(this->dk_);
    clear(this->dv_);
    for (int member = 0; member < flex.heads / flex.kv_heads; ++member) {
      const std::int64_t kv_plane = key_plane(arguments_.gradients);
      const int batch = static_cast<int>(kv_plane / flex.kv_heads),
                head = static_cast<int>(kv_plane % flex.kv_heads) * (flex.heads / flex.kv_heads) + member;
      const FlexPlace place{flex, batch, head, words + Shape::uniforms_at};
      __syncthreads();  // nobody reads the words of the head before any more
      if constexpr (Shape::uniforms > 0)
        if (thread == 32) set_uniforms<Shape>(place, words);
      ListedTiles listed{reinterpret_cast<int*>(words + Shape::key_visits_at)};
      if constexpr (Shape::Mask::present)
        listed.template read<Shape::threads, Shape::query_tiles_of_block, Shape::br>(
            words, arguments_.query_partial_count, arguments_.query_full_count, arguments_.query_partial, arguments_.query_full,
            list_plane(flex, batch, head) * flex.list_columns + tile / arguments_.key_tiles_of_block, flex.list_rows, flex.seq_q,
            thread);
      else
        listed.template all<Shape::threads, Shape::br>(flex.seq_q, thread);
      if (listed.tiles == 0) continue;
      if constexpr (Shape::columns > 0) {
        if (thread < keys) set_columns<Shape>(place, first_key + thread, words + Shape::kept_at + thread, listed.partial_tiles > 0);
        __syncthreads();
      }
      if (this->step_ == 0) this->copy_keys(kv_plane, first_key, keys);
      this->next_row_ = (static_cast<std::int64_t>(batch) * flex.heads + head) * flex.seq_q;
      keep<Shape>(listed.tiles, listed.partial_tiles, 0);
      FlexKeyPair<Shape> pair{place, this->step_, 0};
      this->next_tile_ = pair.query_of(0) / Shape::br;
      this->start_copy(this->step_);
      pair.set_rows(this->step_, 0);
      this->finish_copy(this->step_);
      if (this->step_ == 0) probe.mark(1);  // of the first head that sees the keys
      for (; pair.n < kept<Shape>(1); ++pair.n, ++this->step_) {
        const bool more = pair.n + 1 < kept<Shape>(1);
        if (more) this->next_tile_ = pair.query_of(pair.n + 1) / Shape::br;
        if constexpr (Recorder::on) {
          const int query = pair.query_of(pair.n);
          const auto recorder = probe.of_tile(this->next_row_ + query, min(Shape::br, flex.seq_q - query), first_key, keys);
          recorder.tick(this->step_, 0);
          this->iterate(more, pair, recorder);
        } else {
          this->iterate(more, pair);
        }
      }
    }
    probe.mark(2);
    this->store(block_x() * bc);
    probe.mark(3);
  }

 private:
  const FlexBackwardArguments& arguments_;
};

/// The pair of tiles of a block that owns queries: those of its j-th visit.
template <class Shape>
struct FlexQueryPair {
  using Reads = typename Shape::Reads;
  static constexpr int weighed = weighed_reads(Reads());

  const FlexPlace& place;
  const FlexBackwardArguments& arguments;
  std::uint32_t full;  // barriers of the two buffers
  int j;
  /// P times the factor of each read that needs the scores as they were.
  mutable float weights[weighed > 0 ? weighed : 1][2][4][4];

  __device__ __forceinline__ int key_of(int visit) const {
    return reinterpret_cast<const int*>(flex_words<Shape>() + Shape::query_visits_at)[visit];
  }
  __device__ __forceinline__ std::uint32_t* ring(int of_visit) const {
    return flex_words<Shape>() + Shape::query_ring_at + (of_visit & 1) * Shape::columns * Shape::bc;
  }
  __device__ __forceinline__ void start_next() const { set_columns_of(j + 1); }
  /// Writes the column values of a key tile to its buffer, which is free, and says so.
  __device__ __forceinline__ void set_columns_of(int visit) const {
    if constexpr (Shape::columns > 0) {
      const int i = static_cast<int>(threadIdx.x), key = key_of(visit) + i;
      if (i < Shape::bc && key < place.arguments.seq_kv) set_columns<Shape>(place, key, ring(visit) + i, is_masked<Shape>(visit));
      barrier_arrive(full + (visit & 1) * 8);
    }
  }

  __device__ __forceinline__ float* gathered() const { return reinterpret_cast<float*>(flex_words<Shape>() + Shape::gathered_at); }
  /// Gathers what a warp's tile gives to tables. `dp`: dP - D.
  __device__ __forceinline__ void take(const float (&dp)[2][4][4], const float (&p)[2][4][4], int part, int query_at, int key_at,
                                       int lane) const {
    if constexpr (Shape::has_reads) {
      const int first_query = kept<Shape>(3), first_key = key_of(j);
      for_each_read<Shape>(Reads(), gathered(), [&](auto read, float* words) {
        using Read = decltype(read);
        float g[2][4][4];
#pragma unroll
        for (int mt = 0; mt < 2; ++mt)
#pragma unroll
          for (int t = 0; t < 4; ++t)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              if constexpr (Read::weighed) {
                g[mt][t][i] = dp[mt][t][i] * weights[Read::weight][mt][t][i];
              } else {
                g[mt][t][i] = dp[mt][t][i] * p[mt][t][i];
                if constexpr (Read::has_factor) {
                  const int query = first_query + query_at + mt * 16 + i / 2 * 8 + lane / 4;
                  const int key = first_key + key_at + t * 8 + 2 * (lane & 3) + i % 2;
                  g[mt][t][i] = g[mt][t][i] == 0.f ? 0.f : g[mt][t][i] * Read::factor(place, 0.f, query, key);
                }
              }
            }
        gather<Shape>(read, g, place, arguments, words, j & 1, part, first_query, first_key, query_at, key_at, lane);
      });
    }
  }
  /// Leaves in memory what all warps gathered of the pair of tiles. All threads call it.
  __device__ __forceinline__ void leave_sums() const {
    if constexpr (Shape::has_pair_sums) {
      __syncthreads();  // the buffer is used again two pairs later, behind another barrier
      for_each_read<Shape>(Reads(), gathered(), [&](auto read, float* words) {
        leave_pair_sums<Shape>(read, place, arguments, words, j & 1, kept<Shape>(3), key_of(j));
      });
    }
  }

  __device__ __forceinline__ void weigh(float (&s)[2][4][4], float (&dp)[2][4][4], int query_at, int key_at, const float* stats,
                                        float scale, int lane) const {
    const int first_key = key_of(j), first_query = kept<Shape>(3);
    const bool masked = is_masked<Shape>(j),
               at_end = first_key + Shape::bc > place.arguments.seq_kv || first_query + Shape::br > place.arguments.seq_q;
    if (masked || at_end)
      weigh_scores<false>(s, masked, first_key, first_query, query_at, key_at, stats, scale, lane);
    else
      weigh_scores<true>(s, false, first_key, first_query, query_at, key_at, stats, scale, lane);
#pragma unroll
    for (int mt = 0; mt < 2; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float minus_d = stats[Shape::br + query_at + lane / 4 + mt * 16 + half * 8];
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int i = half * 2; i < half * 2 + 2; ++i) dp[mt][t][i] = minus_d;
      }
  }

 private:
  template <bool all_visible>
  __device__ __forceinline__ void weigh_scores(float (&s)[2][4][4], bool masked, int first_key, int first_query, int query_at,
                                               int key_at, const float* stats, float scale, int lane) const {
    using Score = typename Shape::Score;
    using Mask = typename Shape::Mask;
    using Slope = typename Shape::Slope;
    const int lane_key = first_key + key_at + 2 * (lane & 3), lane_query = query_at + lane / 4;
    const std::uint32_t* const columns = ring(j) + key_at + 2 * (lane & 3);
    const std::uint32_t* const rows = flex_words<Shape>() + Shape::kept_at + lane_query;
#pragma unroll
    for (int t = 0; t < 4; t += 2) {
      typename Score::Column score_columns[4];
      typename Mask::Column mask_columns[4];
      typename Slope::Column slope_columns[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = t * 8 + i / 2 * 8 + i % 2;
        score_columns[i] = Score::column(place, lane_key, at, columns + at, Shape::bc);
        mask_columns[i] = Mask::column(place, lane_key, at, columns + Score::columns * Shape::bc + at, Shape::bc);
        slope_columns[i] =
            Slope::column(place, lane_key, at, columns + (Score::columns + Mask::columns) * Shape::bc + at, Shape::bc);
      }
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = mt * 16 + half * 8, query = first_query + lane_query + at;
          const auto exists = [&](int i) {
            return query < place.arguments.seq_q && lane_key + t * 8 + i / 2 * 8 + i % 2 < place.arguments.seq_kv;
          };
          float* const four[4] = {&s[mt][t][half * 2], &s[mt][t][half * 2 + 1], &s[mt][t + 1][half * 2],
                                  &s[mt][t + 1][half * 2 + 1]};
          float p[4];
          const auto weight = [&](auto read, int i) -> float& {
            return weights[decltype(read)::weight][mt][t + i / 2][half * 2 + i % 2];
          };
          const auto each_weighed = [&](const auto& visit) {
            for_each_read<Shape>(Reads(), nullptr, [&](auto read, float*) {
              if constexpr (decltype(read)::weighed) visit(read);
            });
          };
          const auto before = [&](int i, float raw) {
            each_weighed([&](auto read) {
              weight(read, i) = decltype(read)::factor(place, raw * scale, query, lane_key + t * 8 + i / 2 * 8 + i % 2);
            });
          };
          const auto after = [&](int i, float own) {
            each_weighed([&](auto read) { weight(read, i) = own == 0.f ? 0.f : own * weight(read, i); });
          };
          weigh_four<Shape, all_visible>(
              place, four, p, masked, exists, stats[lane_query + at], scale,
              Score::row(place, query, lane_key, rows + at, Shape::br),
              Mask::row(place, query, lane_key, rows + Score::rows * Shape::br + at, Shape::br),
              Slope::row(place, query, lane_key, rows + (Score::rows + Mask::rows) * Shape::br + at, Shape::br), score_columns,
              mask_columns, slope_columns, ReadsOfFour<decltype(before), decltype(after)>{before, after});
        }
    }
  }
};

template <class Shape>
class FlexQueryBlock : public QueryBlock<typename Shape::Queries> {
  using Base = QueryBlock<typename Shape::Queries>;

 public:
  __device__ __forceinline__ FlexQueryBlock(const FlexBackwardArguments& arguments, char* shared)
      : Base(arguments.gradients, shared, Shape::columns > 0 ? 2 : 1), arguments_(arguments) {}

  /// Computes dQ of the block's query tile, which is counted over the heads that read its key head.
  __device__ __forceinline__ void run() {
    constexpr int br = Shape::br;
    const FlexArguments& flex = arguments_.flex;
    std::uint32_t* const words = flex_words<Shape>();
    const Tile own = tile();
    const int thread = threadIdx.x;
    const FlexPlace place{flex, own.batch, own.head, words + Shape::uniforms_at};
    if constexpr (Shape::uniforms > 0)
      if (thread == 32) set_uniforms<Shape>(place, words);
    ListedTiles listed{reinterpret_cast<int*>(words + Shape::query_visits_at)};
    if constexpr (Shape::Mask::present)
      listed.template read<Shape::threads, Shape::key_tiles_of_block, Shape::bc>(
          words, flex.partial_count, flex.full_count, flex.partial, flex.full,
          list_plane(flex, own.batch, own.head) * flex.list_rows + own.first_row / br / flex.query_tiles_of_block,
          flex.list_columns, flex.seq_kv, thread);
    else
      listed.template all<Shape::threads, Shape::bc>(flex.seq_kv, thread);
    for (auto& columns : this->sum_) clear(columns);
    if (listed.tiles > 0) {
      if constexpr (Shape::rows > 0)
        if (thread < own.rows)
          set_row<Shape>(place, own.first_row + thread, words + Shape::kept_at + thread, listed.partial_tiles > 0);
      this->start_rows(key_plane(arguments_.gradients), own.row, own.rows);
      keep<Shape>(listed.tiles, listed.partial_tiles, own.first_row);
      FlexQueryPair<Shape> pair{place, arguments_, this->full(0), 0, {}};
      if constexpr (Shape::has_block_sums)
        for (int i = thread; i < Shape::query_visits_at - Shape::gathered_at; i += Shape::threads) pair.gathered()[i] = 0.f;
      this->start_copy(0, pair.key_of(0));
      pair.set_columns_of(0);
      __syncthreads();
      for (; pair.j < kept<Shape>(1); ++pair.j) {
        this->iterate(pair.j, pair.j + 1 < kept<Shape>(1), pair);
        pair.leave_sums();
      }
      if constexpr (Shape::has_block_sums) {
        __syncthreads();
        for_each_read<Shape>(typename Shape::Reads(), pair.gathered(), [&](auto read, float* sums) {
          leave_block_sums<Shape>(read, place, arguments_, sums, kept<Shape>(3));
        });
      }
    }
    const Tile again = tile();
    this->store(again.row, again.rows);
  }

 private:
  struct Tile {
    int batch, head, first_row, rows;
    std::int64_t row;  // over all heads
  };
  /// Returns the block's query tile, from the hardware's indices each time, so that no register holds it.
  __device__ __forceinline__ Tile tile() const {
    const FlexArguments& flex = arguments_.flex;
    const int group = flex.heads / flex.kv_heads, query_tiles = (flex.seq_q + Shape::br - 1) / Shape::br,
              index = block_x() - (flex.seq_kv + Shape::bc - 1) / Shape::bc;
    const std::int64_t kv_plane = key_plane(arguments_.gradients);
    Tile own;
    own.batch = static_cast<int>(kv_plane / flex.kv_heads);
    own.head = static_cast<int>(kv_plane % flex.kv_heads) * group + index / query_tiles;
    own.first_row = index % query_tiles * Shape::br;
    own.rows = min(Shape::br, flex.seq_q - own.first_row);
    own.row = (static_cast<std::int64_t>(own.batch) * flex.heads + own.head) * flex.seq_q + own.first_row;
    return own;
  }

  const FlexBackwardArguments& arguments_;
};

/// Grid: key tiles, then the query tiles of the group's heads; key heads; batch. A recorder follows scores that no expression
/// changes: with a slope, the registers hold P times the slope.
template <class Shape, class Recorder = NoProbe>
__device__ __forceinline__ void flex_backward(const typename Recorder::template Launch<FlexBackwardArguments>& arguments) {
  static_assert(!Recorder::on || !(Shape::Score::present || Shape::Slope::present));
  extern __shared__ __align__(128) char shared[];
  const Recorder probe(arguments, 0, threadIdx.x / 32, threadIdx.x % 32);
  probe.mark(0);
  if (block_x() * Shape::bc >= arguments.flex.seq_kv) {
    probe.tick(0, 1);
    FlexQueryBlock<Shape>(arguments, shared).run();
    probe.tick(0, 2);
    return probe.end();
  }
  asm volatile("" ::: "memory");  // nothing of one kind is computed before the branch, where it would take registers of the other
  FlexKeyBlock<Shape>(arguments, shared).run(probe);
  probe.end();
}

}  // namespace tilescope::device
