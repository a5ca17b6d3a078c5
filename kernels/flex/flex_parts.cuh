// What the flex kernels share: the functions that generated expressions call, the words of shared memory behind a kernel's tiles,
// the lists of key tiles, and the walk over a lane's scores.
//
//   The text of a request defines FlexScore and FlexMask (sim/masks/kernel_source.h) and follows the kernel's file. A part of an
//   expression is computed where it changes, and no oftener:
//
//     the block        uniforms   shared, once a block, by one thread
//     the query        rows       shared, once a block, a thread a query row
//     the key          columns    shared, in the ring beside K and V
//     the element      registers, on S
//
//   Order of the tiles: partial ones first, then full ones. Only partial tiles are masked. Tables are read past the L1, so the
//   bytes of a request follow from its expressions.
#pragma once

#include "kernels/common/warp_tiles.cuh"
#include "kernels/flex/flex_arguments.h"
#include "kernels/flex/sines.cuh"

namespace tilescope::device {

/// What an expression knows of its block.
struct FlexPlace {
  const FlexArguments& arguments;
  int b, h;
  const std::uint32_t* uniforms;
};

template <bool on>
struct Flag {
  static constexpr bool value = on;
};

/// A kernel's shape with FlexScore and FlexMask, and the words of shared memory behind its tiles: counts, uniforms, rows, columns,
/// the first key of each tile to visit, and the pages from the first visited one to the last.
template <class Kernel, class ScoreChange, class Visible, int key_tiles_of_block, bool is_ragged, int keys_of_page>
struct FlexLayout : Kernel {
  using Score = ScoreChange;
  using Mask = Visible;
  static constexpr int page_keys = keys_of_page;  // 0: K and V have no pages
  static_assert(page_keys == 0 || page_keys % Kernel::bc == 0 || Kernel::bc % page_keys == 0);
  static constexpr bool rows_may_be_hidden = Score::present || Mask::present;
  // At D 64 that is 1 % slower.
  static constexpr bool keeps_offsets = rows_may_be_hidden && Kernel::d == 128;
  static constexpr bool skips_hidden = Mask::present;
  // Whether what follows from the block's and the lane's place is computed again where it is needed, so that no register holds it
  // through the loop: 1.4 % faster at D 128 under a mask, slower elsewhere.
  static constexpr bool rereads_place = Kernel::d == 128 && Mask::present && !Score::present && page_keys == 0;
  static constexpr bool ragged = is_ragged;  // the last key tile is not whole
  static constexpr int tiles_of_block = key_tiles_of_block;
  static constexpr int uniforms = Score::uniforms + Mask::uniforms, rows = Score::rows + Mask::rows;
  static constexpr int columns = Score::columns + Mask::columns;
  static constexpr int words_at = (Kernel::shared_bytes + 15) / 16 * 16;
  static constexpr int uniforms_at = 4, rows_at = (uniforms_at + uniforms + 3) / 4 * 4, columns_at = rows_at + rows * Kernel::br;
  static constexpr int visits_at = columns_at + Kernel::stages * columns * Kernel::bc;
};

/// Loads a list's or a table's word past the L1: so the bytes are the same whatever ran on the SM before.
__device__ __forceinline__ std::uint32_t load_past_l1(const void* address) {
  std::uint32_t value;
  asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(value) : "l"(address));
  return value;
}

// What generated expressions call, beside cuda_prelude().

/// Returns a table's word; 0 where the element is beyond the end of the queries or keys.
__device__ __forceinline__ std::uint32_t expr_word(const void* table, int index, bool inside) {
  return inside ? load_past_l1(static_cast<const std::uint32_t*>(table) + index) : 0u;
}
/// Returns floor(a / d), with the magic of d from the host.
__device__ __forceinline__ int expr_divide_by(int a, unsigned magic, int shift) {
  const int sign = a >> 31;
  return static_cast<int>(static_cast<unsigned long long>(static_cast<unsigned>(a ^ sign)) * magic >> shift) ^ sign;
}
__device__ __forceinline__ int expr_modulo_by(int a, unsigned magic, int shift, int divisor) {
  return a - expr_divide_by(a, magic, shift) * divisor;
}
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Returns 1 / (1 + 2^x), from which tanh and the sigmoid follow.
__device__ __forceinline__ float expr_reciprocal_exp2(float x) {
  return reciprocal(1.f + exp2_fast(x));
}
/// Replaces four x by 1 / (1 + 2^x) with one reciprocal for all: the special-function unit, which also has the softmax's
/// exponentials, is what limits such a kernel. Exponents are cut at 30, where tanh is 1 to the last digit, so that the product of
/// four is finite. A NaN spreads to all four: the scores must all be visible, so that it fills their row in any case.
__device__ __forceinline__ void expr_reciprocals_exp2(float (&x)[4]) {
#pragma unroll
  for (float& value : x) {
    float cut;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(cut) : "f"(value), "f"(30.f));
    value = 1.f + exp2_fast(cut);
  }
  const float first = x[0] * x[1], second = x[2] * x[3], of_all = reciprocal(first * second);
  const float of_first = of_all * second, of_second = of_all * first, x0 = x[0], x2 = x[2];
  x[0] = of_first * x[1];
  x[1] = of_first * x0;
  x[2] = of_second * x[3];
  x[3] = of_second * x2;
}
__device__ __forceinline__ float expr_tanh(float x) {
  return 1.f - 2.f * expr_reciprocal_exp2(x * (2.f * log2_e));
}
__device__ __forceinline__ float expr_sigmoid(float x) {
  return expr_reciprocal_exp2(-x * log2_e);
}

/// Returns the block's query tile: from the last one down where later tiles visit more.
__device__ __forceinline__ int flex_query_tile(const FlexArguments& arguments) {
  return static_cast<int>(arguments.last_query_tile_first ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}

/// Writes the first row of each tile that two lists of blocks name to `firsts`, first those of `partial`. No two warps touch the
/// same sector of a list. The loads of both and of `meanwhile` are in flight together.
template <int threads, int tiles_of_block, int tile_rows, class Meanwhile>
__device__ __forceinline__ void expand_lists(int* firsts, const std::int32_t* partial, int partial_count, const std::int32_t* full,
                                             int full_count, int thread, Meanwhile meanwhile) {
  const int into_partial = elements_into_sector(partial, 4), into_full = elements_into_sector(full, 4);
  const auto write = [&](std::uint32_t block, int place) {
#pragma unroll
    for (int t = 0; t < tiles_of_block; ++t)
      firsts[place * tiles_of_block + t] = (static_cast<int>(block) * tiles_of_block + t) * tile_rows;
  };
  const int end = max(partial_count + into_partial, full_count + into_full);
#pragma unroll 1
  for (int base = 0; base < end; base += threads) {
    const int i = base + thread - into_partial, j = base + thread - into_full;
    const bool in_partial = i >= 0 && i < partial_count, in_full = j >= 0 && j < full_count;
    std::uint32_t of_partial = 0, of_full = 0;
    if (in_partial) of_partial = load_past_l1(partial + i);
    if (in_full) of_full = load_past_l1(full + j);
    if (base == 0) meanwhile();
    if (in_partial) write(of_partial, i);
    if (in_full) write(of_full, partial_count + j);
  }
}

/// Returns the plane of the lists of a head.
__device__ __forceinline__ std::int64_t list_plane(const FlexArguments& arguments, int batch, int head) {
  return static_cast<std::int64_t>(batch) * arguments.list_planes_of_batch +
         static_cast<std::int64_t>(head) * arguments.list_planes_of_head;
}

/// Reads how many blocks a row of both lists names to words[0] and words[1]. All threads call it; ends with a barrier. The lists
/// are references, so that the second is read from the arguments after the first is asked for.
__device__ __forceinline__ void read_list_lengths(std::uint32_t* words, const std::int32_t* const& partial_count,
                                                  const std::int32_t* const& full_count, std::int64_t list, int thread) {
  if (thread == 0) {
    const std::uint32_t partial = load_past_l1(partial_count + list), full = load_past_l1(full_count + list);
    words[0] = partial;
    words[1] = full;
  }
  __syncthreads();
}

/// Takes out the tiles beyond the last row of `length`, where its block has fewer. Synchronises the block if it does.
template <int tiles_of_block, int tile_rows>
__device__ __forceinline__ void end_at_last_row(std::uint32_t* words, int* firsts, int& tiles, int& partial_tiles, int length,
                                                int thread) {
  if constexpr (tiles_of_block > 1)
    if ((length + tile_rows - 1) / tile_rows % tiles_of_block != 0) {
      if (thread == 0) {
        int kept = 0, partial = 0;
#pragma unroll 1
        for (int j = 0; j < tiles; ++j) {
          if (firsts[j] >= length) continue;
          partial += j < partial_tiles;
          firsts[kept++] = firsts[j];
        }
        words[0] = partial;
        words[1] = kept;
      }
      __syncthreads();
      partial_tiles = words[0];
      tiles = words[1];
    }
}

/// The key tiles that a block visits.
template <class Shape>
struct FlexVisits {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  static constexpr bool has_lists = Mask::present;

  std::uint32_t* words;
  int tiles, partial_tiles = 0;

  __device__ __forceinline__ int* keys() const { return reinterpret_cast<int*>(words + Shape::visits_at); }

  /// Computes the block's uniforms and the rows of its queries, and writes the first key of each tile to visit. All threads call
  /// it. Returns false where the lists are empty. A __syncthreads must follow.
  __device__ __forceinline__ bool read(const FlexArguments& arguments, const FlexPlace& place, int query_tile, int thread) {
    const int first_row = query_tile * Shape::br, rows = min(Shape::br, arguments.seq_q - first_row);
    if constexpr (Shape::uniforms > 0)
      if (thread == 32) {
        Score::set_uniforms(place, words + Shape::uniforms_at);
        Mask::set_uniforms(place, words + Shape::uniforms_at + Score::uniforms);
      }
    if constexpr (has_lists) {
      const std::int64_t list_row =
          list_plane(arguments, place.b, place.h) * arguments.list_rows + query_tile / arguments.query_tiles_of_block;
      read_list_lengths(words, arguments.partial_count, arguments.full_count, list_row, thread);
      const int partial_blocks = words[0], full_blocks = words[1];
      if (partial_blocks + full_blocks == 0) return false;
      partial_tiles = partial_blocks * Shape::tiles_of_block;
      tiles = partial_tiles + full_blocks * Shape::tiles_of_block;
      const std::int64_t first = list_row * arguments.list_columns;
      const auto set_rows = [&] {
        if constexpr (Mask::rows > 0)
          if (thread < rows && partial_blocks > 0)
            Mask::set_row(place, first_row + thread, words + Shape::rows_at + Score::rows * Shape::br + thread, Shape::br);
        set_score_row(place, first_row, rows, thread);
      };
      expand_lists<Shape::threads, Shape::tiles_of_block, Shape::bc>(keys(), arguments.partial + first, partial_blocks,
                                                                     arguments.full + first, full_blocks, thread, set_rows);
    } else {
      tiles = (arguments.seq_kv + Shape::bc - 1) / Shape::bc;
      if constexpr (Shape::uniforms > 0) __syncthreads();
      set_score_row(place, first_row, rows, thread);
    }
    return true;
  }

  /// Takes out the tiles beyond the last key, where its block has fewer. Synchronises the block if it does.
  __device__ __forceinline__ void end_at_last_key(const FlexArguments& arguments, int thread) {
    if constexpr (has_lists)
      end_at_last_row<Shape::tiles_of_block, Shape::bc>(words, keys(), tiles, partial_tiles, arguments.seq_kv, thread);
  }

  /// Returns the first key of the j-th tile to visit.
  __device__ __forceinline__ int key_of(const FlexArguments& arguments, int j) const {
    if constexpr (has_lists) return keys()[j];
    return j * Shape::bc;
  }

 private:
  __device__ __forceinline__ void set_score_row(const FlexPlace& place, int first_row, int rows, int thread) const {
    if constexpr (Score::rows > 0)
      if (thread < rows) Score::set_row(place, first_row + thread, words + Shape::rows_at + thread, Shape::br);
  }
};

/// Where the keys of a block's tiles lie in a pool of pages. A page is kept as the row of its first key among those of all planes,
/// so that a copy starts from the address of the pool, a constant, which no register holds.
template <class Shape>
struct FlexPool {
  static constexpr int page_keys = Shape::page_keys;

  std::uint32_t* words;
  int pages_at;  // the word of the sequence's page 0; those that no tile visits are not there

  /// Reads the entries of the page table from the first visited page to the last. All threads call it, after the visits are
  /// written. A __syncthreads must follow. `visits_end`: the first word behind the visits.
  __device__ __forceinline__ void read(const FlexPages& pages, const FlexPlace& place, const FlexVisits<Shape>& visits,
                                       int visits_end, int thread) {
    const FlexArguments& arguments = place.arguments;
    int lowest = 0, end = arguments.seq_kv;
    if constexpr (FlexVisits<Shape>::has_lists) {
      // Each of the two lists rises or falls.
      const int* const keys = visits.keys();
      const int partial = visits.partial_tiles, last = visits.tiles - 1;
      const int other = partial > 0 ? partial - 1 : 0, next = partial < visits.tiles ? partial : last;
      lowest = min(min(keys[0], keys[other]), min(keys[next], keys[last]));
      end = min(end, max(max(keys[0], keys[other]), max(keys[next], keys[last])) + Shape::bc);
    }
    const int first = lowest / page_keys, count = (end + page_keys - 1) / page_keys - first;
    const std::int32_t* const entries = pages.table + static_cast<std::int64_t>(place.b) * pages.pitch + first;
    pages_at = visits_end - first;
    const unsigned plane = static_cast<unsigned>(place.h / (arguments.heads / arguments.kv_heads)) * pages.pool_rows;
    for_each_by_sector<Shape::threads, 4>(entries, count, thread,
                                          [&](int i) { words[visits_end + i] = plane + load_past_l1(entries + i) * page_keys; });
  }

  /// Returns the row of a key whose page is there.
  __device__ __forceinline__ unsigned row_of(int key) const {
    return words[pages_at + static_cast<unsigned>(key) / page_keys] + static_cast<unsigned>(key) % page_keys;
  }
};

/// Writes O = 0 and L = -inf to the rows of a query tile that sees no key.
template <class Shape>
__device__ __forceinline__ void write_hidden_rows(const FlexArguments& arguments, const FlexPlace& place, int first_row,
                                                  int thread) {
  const int rows = min(Shape::br, arguments.seq_q - first_row);
  const std::int64_t row = (static_cast<std::int64_t>(place.b) * arguments.heads + place.h) * arguments.seq_q + first_row;
  constexpr int row_bytes = Shape::d * 2;
  uint4* const o = reinterpret_cast<uint4*>(static_cast<char*>(arguments.o) + row * row_bytes);
  for (int i = thread; i < rows * (row_bytes / 16); i += Shape::threads) o[i] = make_uint4(0, 0, 0, 0);
  float* const lse = arguments.lse + row;
  for_block_by_sector<Shape::threads>(lse, rows, thread, [&](int i) { lse[i] = minus_infinity(); });
}

/// The values of one key that change with the key alone, on their way to the words beside K. Each kernel reads them itself: through
/// a function here it would compile to other instructions than the recorded ones.
template <class Shape>
struct FlexColumns {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  typename Score::ColumnWords score;
  typename Mask::ColumnWords mask;

  /// `to`: the key's word of the first column.
  __device__ __forceinline__ void store(std::uint32_t* to) const {
#pragma unroll
    for (int n = 0; n < Score::columns; ++n) to[n * Shape::bc] = score.value[n];
#pragma unroll
    for (int n = 0; n < Mask::columns; ++n) to[(Score::columns + n) * Shape::bc] = mask.value[n];
  }
};

/// The scores that a lane holds: `row_tiles` times 16 rows, of which it has two, and in them two of every eight keys.
/// Calls visit(s, row, columns) for each four of them, s[i] being the score at columns[i]. `score(tile, n, half, i)` returns one.
template <class Rule, class Shape, int row_tiles, class ScoreAt, class Visit>
__device__ __forceinline__ void for_each_score(const FlexPlace& place, int lane, int first_row, int first_key,
                                               const std::uint32_t* rows_of, const std::uint32_t* columns_of, ScoreAt score,
                                               Visit visit) {
  const int lane_column = 2 * (lane & 3);
  typename Rule::Row row[row_tiles][2];
#pragma unroll
  for (int tile = 0; tile < row_tiles; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      row[tile][half] = Rule::row(place, first_row + lane / 4 + tile * 16 + half * 8, first_key + lane_column,
                                  rows_of + tile * 16 + half * 8 + lane / 4, Shape::br);
#pragma unroll
  for (int n = 0; n < Shape::bc / 8; n += 2) {
    typename Rule::Column columns[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = n * 8 + i / 2 * 8 + i % 2;
      columns[i] = Rule::column(place, first_key + lane_column, at, columns_of + lane_column + at, Shape::bc);
    }
#pragma unroll
    for (int tile = 0; tile < row_tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float* const s[4] = {score(tile, n, half, 0), score(tile, n, half, 1), score(tile, n + 1, half, 0),
                             score(tile, n + 1, half, 1)};
        visit(s, row[tile][half], columns);
      }
  }
}

/// Replaces four scores of a row by their changed values. `all_visible`: none of them is hidden, so they may share a NaN.
/// `leaves_factor`: where values are c - factor * reciprocal, they become -reciprocal. The softmax of both is the same if the
/// factor is part of its scale; its maximum lacks c, which is half of the factor.
template <class Score, bool all_visible, bool leaves_factor = false>
__device__ __forceinline__ void change_scores(const FlexPlace& place, float* const (&s)[4], const typename Score::Row& row,
                                              const typename Score::Column (&columns)[4]) {
  float r[4] = {0.f, 0.f, 0.f, 0.f};
  if constexpr (Score::has_reciprocal) {
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = Score::exponent(place, row, columns[i], *s[i]);
    if constexpr (all_visible) {
      expr_reciprocals_exp2(r);
    } else {
#pragma unroll
      for (float& x : r) x = expr_reciprocal_exp2(x);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if constexpr (leaves_factor && Score::has_factor)
      *s[i] = -r[i];
    else
      *s[i] = Score::value(place, row, columns[i], *s[i], r[i]);
}

/// Changes the scores of a tile and hides some of them: change(all_visible), hide(value). `hides`: the tile has hidden scores.
template <class Shape, class Change, class Hide>
__device__ __forceinline__ void change_and_hide(bool hides, Change change, Hide hide) {
  using Score = typename Shape::Score;
  if constexpr (Score::has_reciprocal && (Shape::Mask::present || Shape::ragged)) {
    if constexpr (Score::scales_raw) {
      // Hidden scores are 0 while the others change, so that no NaN of theirs spreads. A loop, not two copies of the code: turn 0
      // hides and changes, turn 1 hides, and where nothing is hidden turn 2 changes.
#pragma unroll 1
      for (int turn = hides ? 0 : 2;; turn = 1) {
        asm volatile("" : "+r"(turn));  // the compiler would copy the code for each
        if (turn != 2) hide(turn == 0 ? 0.f : minus_infinity());
        if (turn != 1) change(Flag<true>());
        if (turn != 0) break;
      }
      return;
    } else if (hides) {
      change(Flag<false>());
    } else {
      change(Flag<true>());
    }
  } else if constexpr (Score::present) {
    change(Flag<true>());
  }
  if (hides) hide(minus_infinity());
}

/// Returns what the softmax multiplies the scores of change_scores<…, true> by.
template <class Score>
__device__ __forceinline__ float flex_scale(const FlexPlace& place) {
  if constexpr (Score::has_factor)
    return Score::factor(place);
  else
    return Score::present ? 1.f : place.arguments.scale;
}
/// What the maxima of such scores lack.
template <class Score>
inline constexpr float left_out = Score::has_factor ? 0.5f : 0.f;

/// Sets four scores of a row to `hidden` where the mask hides them.
template <class Mask>
__device__ __forceinline__ void hide_scores(const FlexPlace& place, float* const (&s)[4], const typename Mask::Row& row,
                                            const typename Mask::Column (&columns)[4], float hidden = minus_infinity()) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (!Mask::value(place, row, columns[i], 0.f, 0.f)) *s[i] = hidden;
}

/// Changes the scores of a tile and hides those that the mask hides, where it is `masked`, and those past the last key, which
/// hide_end(hidden) sets. `hides`: the tile has hidden scores. `words`: of the block; `columns_of`: of the tile; `first_row`: of
/// the block; `row`: of the warp in the block; `score`: as for_each_score(). `rereads_lane`: what follows from the lane is computed
/// again. The parameters are references, so that nothing is computed before it is needed: the recordings are of these instructions.
template <class Shape, int row_tiles, bool rereads_lane, class ScoreAt, class HideEnd>
__device__ __forceinline__ void change_and_mask(const FlexPlace& place, const int& lane, const int& first_row, const int& row,
                                                const int& key, std::uint32_t* const& words, const std::uint32_t* const& columns_of,
                                                const bool& masked, bool hides, const ScoreAt& score, const HideEnd& hide_end) {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  const auto for_each = [&](auto rule, int own_lane, int own_key, int words_at, int columns_at, auto visit) {
    for_each_score<decltype(rule), Shape, row_tiles>(place, own_lane, first_row + row, own_key,
                                                     words + Shape::rows_at + words_at * Shape::br + row,
                                                     columns_of + columns_at * Shape::bc, score, visit);
  };
  const auto change = [&](auto all_visible) {
    for_each(Score(), lane, key, 0, 0, [&](float* const(&s)[4], const auto& row_values, const auto& columns) {
      change_scores<Score, decltype(all_visible)::value, true>(place, s, row_values, columns);
    });
  };
  const auto hide = [&](float hidden) {
    int own_key = key, own_lane = lane;
    if constexpr (rereads_lane) asm volatile("" : "+r"(own_lane));
    if constexpr (Score::scales_raw) asm volatile("" : "+r"(own_key));  // what follows from it is computed again in each turn
    if constexpr (Mask::present)
      if (masked)
        for_each(Mask(), own_lane, own_key, Score::rows, Score::columns,
                 [&](float* const(&s)[4], const auto& row_values, const auto& columns) {
                   hide_scores<Mask>(place, s, row_values, columns, hidden);
                 });
    hide_end(hidden);
  };
  change_and_hide<Shape>(hides, change, hide);
}

}  // namespace tilescope::device
