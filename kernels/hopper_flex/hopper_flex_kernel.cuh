// Device code of hopper_flex: the roles of the Hopper kernels over the key tiles that block lists name, with changed scores.
// Compiled at run time by NVRTC.
//
//     producer    a warp: copies by TMA from its first lane; all lanes compute what changes with the key alone
//     consumers   two groups of 64 query rows: S ─► score change ─► mask ─► softmax, under the second product of the tile before
//
//   A consumer has 232 registers, so that few expressions spill. At d 64, tiles of 64 keys, two blocks an SM and no turns were
//   tried. With each softmax behind its product, full attention and windows are 11 % faster and documents 8 %, and a causal bias is
//   7 % slower: 4 % on average of the eleven cases of kernels/lab/flex_cases.py (H100). Not worth a second loop.
#pragma once

#include "kernels/flex/flex_parts.cuh"
#include "kernels/hopper_flex/hopper_flex_arguments.h"
#include "kernels/hopper_ping_pong/ping_pong.cuh"

namespace tilescope::device {

template <class Element, int dim>
using HopperFlexBase = RolesShape<HopperShape<Element, dim, 2, 128, 2, false>>;

/// Shape of a request. `keys_of_page`: of K and V; 0: they have no pages.
template <class Element, int dim, class ScoreChange, class Visible, int key_tiles_of_block, bool is_ragged, int keys_of_page = 0>
struct HopperFlexShape
    : FlexLayout<HopperFlexBase<Element, dim>, ScoreChange, Visible, key_tiles_of_block, is_ragged, keys_of_page> {
  // Where columns stand beside K: the copy and the lanes that wrote them; the lanes that read them.
  static constexpr int key_arrivals = HopperFlexShape::columns > 0 ? 33 : 1;
  static constexpr int key_releases = (HopperFlexShape::columns > 0 ? 128 : 4) * HopperFlexShape::groups;
  // With pages: the rows of a box, and the barrier of the last V, in the free half of the words of the counts.
  static constexpr int box_rows = keys_of_page > 0 && keys_of_page < HopperFlexShape::bc ? keys_of_page : HopperFlexShape::bc;
  static constexpr int tail_barrier_at = HopperFlexShape::words_at + 8;
};

/// The producer: a warp.
template <class Shape>
struct FlexProducer : Producer<Shape> {
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  static constexpr int keys_of_lane = Shape::bc / 32;
  using ColumnsHeld = FlexColumns<Shape>;

  __device__ __forceinline__ void load_visits(const HopperTile<Shape>& tile, const FlexPlace& block,
                                              const FlexVisits<Shape>& visits, const FlexPool<Shape>& pool, int lane) {
    for (int j = 0; j < visits.tiles; ++j) {
      const int key = visits.key_of(block.arguments, j);
      ColumnsHeld held[keys_of_lane]{};  // zero past the end
      if constexpr (Shape::columns > 0) read_columns(block, visits, key, j, lane, held);
      if constexpr (Shape::page_keys > 0) {
        const int keys = block.arguments.seq_kv - key;
        if (j == 0 && lane == 0) this->load_queries(tile, 0);
        load_pages(pool, this->arguments.k, this->memory.k, this->memory.k_full, this->memory.k_empty, key, keys, lane,
                   Flag<false>());
        if constexpr (Shape::columns > 0) store_columns(visits, lane, held);
        if (j == 0 && lane == 0) this->load_queries(tile, 1);
        load_pages(pool, this->arguments.v, this->memory.v, this->memory.v_full, this->memory.v_empty, key, keys, lane,
                   Flag<true>());
      } else {
        if (lane == 0) {
          if (j == 0) this->load_queries(tile, 0);
          this->load_part(this->arguments.k, this->memory.k, this->memory.k_full, this->memory.k_empty, key, tile.kv_plane);
        }
        if constexpr (Shape::columns > 0) store_columns(visits, lane, held);
        if (lane == 0) {
          if (j == 0) this->load_queries(tile, 1);
          this->load_part(this->arguments.v, this->memory.v, this->memory.v_full, this->memory.v_empty, key, tile.kv_plane);
        }
      }
      this->place.next();
    }
  }

 private:
  /// Loads a tile, page by page. `keys`: those up to the last key of the sequence. The pool holds anything behind it: of K, whose
  /// scores are hidden, it may stay, but the products with V need zeros.
  template <class OfValues>
  __device__ __forceinline__ void load_pages(const FlexPool<Shape>& pool, const CUtensorMap& map, std::uint32_t ring,
                                             std::uint32_t full, std::uint32_t empty, int key, int keys, int lane, OfValues) {
    constexpr int panels = Shape::d / 64, box_bytes = Shape::box_rows * 128;  // of a panel
    constexpr bool is_whole = Shape::box_rows == Shape::bc;
    const int stage = this->place.stage, boxes = Shape::ragged && keys < Shape::bc ? (keys + Shape::box_rows - 1) / Shape::box_rows
                                                                                   : Shape::bc / Shape::box_rows;
    const bool has_tail = Shape::ragged && OfValues::value && keys < Shape::bc;
    const std::uint32_t to = ring + stage * Shape::kv_bytes,
                        landed =
                            has_tail ? shared_address(pool.words) + (Shape::tail_barrier_at - Shape::words_at) : full + 8 * stage;
    barrier_wait(empty + 8 * stage, this->place.parity ^ 1);
    if (lane == 0) barrier_arrive_expecting(landed, boxes * panels * box_bytes);
    __syncwarp();
    if constexpr (is_whole) {
      if (lane == 0) load_box(to, &map, landed, pool.row_of(key), 0);
    } else if (lane < boxes * panels) {
      const int box = lane / panels, panel = lane % panels;
      load_panel_box(to + panel * Shape::kv_panel_bytes + box * box_bytes, &map, landed, pool.row_of(key + box * Shape::box_rows),
                     panel);
    }
    if (!has_tail) return;
    barrier_wait(landed, 0);  // once a block
    constexpr int row_chunks = 128 / 16;
    for (int panel = 0; panel < panels; ++panel)
      for (int i = keys * row_chunks + lane; i < Shape::bc * row_chunks; i += 32)
        store_shared_zeros(to + panel * Shape::kv_panel_bytes + i * 16);
    shared_writes_visible_to_async();
    __syncwarp();
    if (lane == 0) barrier_arrive(full + 8 * stage);
  }
  static __device__ __forceinline__ void store_shared_zeros(std::uint32_t address) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(0) : "memory");
  }

  /// Reads the columns of a tile. They travel while K is copied.
  __device__ __forceinline__ void read_columns(const FlexPlace& block, const FlexVisits<Shape>& visits, int key, int j, int lane,
                                               ColumnsHeld (&held)[keys_of_lane]) {
#pragma unroll
    for (int i = 0; i < keys_of_lane; ++i) {
      const int kv = key + lane + 32 * i;
      if (Shape::ragged && kv >= block.arguments.seq_kv) continue;
      if constexpr (Score::columns > 0) Score::read_columns(block, kv, held[i].score);
      if constexpr (Mask::columns > 0)
        if (j < visits.partial_tiles) Mask::read_columns(block, kv, held[i].mask);
    }
  }
  __device__ __forceinline__ void store_columns(const FlexVisits<Shape>& visits, int lane,
                                                const ColumnsHeld (&held)[keys_of_lane]) {
    const int stage = this->place.stage;
    barrier_wait(this->memory.k_empty + 8 * stage, this->place.parity ^ 1);
    std::uint32_t* const to = visits.words + Shape::columns_at + stage * Shape::columns * Shape::bc + lane;
#pragma unroll
    for (int i = 0; i < keys_of_lane; ++i) held[i].store(to + 32 * i);
    barrier_arrive(this->memory.k_full + 8 * stage);
  }
};

/// One consumer group.
template <class Shape>
struct FlexConsumer : Consumer<Shape, PingPong<Shape::groups>> {
  using Base = Consumer<Shape, PingPong<Shape::groups>>;
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  const FlexPlace& block;
  const FlexVisits<Shape>& visits;

  __device__ __forceinline__ FlexConsumer(const HopperFlexArguments& arguments, const RolesMemory<Shape>& memory,
                                          const FlexPlace& own_block, const FlexVisits<Shape>& visits_of_block, int group)
      : Base(arguments, memory, group), block(own_block), visits(visits_of_block) {
    this->scale_log2 = flex_scale<Score>(block) * log2_e;
  }

  __device__ __forceinline__ void visit(const HopperTile<Shape>& tile) {
    this->work.clear();
    this->await_queries();
    this->start_scores();
    this->turns.pass();
    wgmma_wait<0>();
    finish_scores(tile, 0);
    this->work.softmax(this->scale_log2);
    this->work.round();
    for (int j = 1; j < visits.tiles; ++j) {
      this->start_scores();
      this->start_output();
      this->turns.pass();
      wgmma_wait<1>();
      finish_scores(tile, j);
      this->work.softmax(this->scale_log2);
      wgmma_wait<0>();
      this->output_done();
      this->work.rescale();
      this->work.round();
    }
    this->start_output();
    wgmma_wait<0>();
    this->output_done();
    if constexpr (Score::has_factor)
      for (float& highest : this->work.row_max) highest += left_out<Score>;
  }

 private:
  /// Changes and masks the scores of the j-th tile. K is given back as soon as nobody reads its columns any more.
  __device__ __forceinline__ void finish_scores(const HopperTile<Shape>& tile, int j) {
    const std::uint32_t* const columns_of = visits.words + Shape::columns_at + this->k_place.stage * Shape::columns * Shape::bc;
    const int row = this->group * 64 + this->warp * 16, key = visits.key_of(block.arguments, j);
    const auto score_at = [&](int, int n, int half, int i) { return &this->work.s[n * 4 + half * 2 + i]; };
    if constexpr (Shape::columns == 0)
      this->scores_done();
    else
      pin(this->work.s);
    const int keys = block.arguments.seq_kv - key;
    const bool masked = Mask::present && j < visits.partial_tiles, at_end = Shape::ragged && keys < Shape::bc;
    const auto hide_end = [&](float hidden) {
      if (at_end) this->work.mask(keys, this->lane, hidden);
    };
    change_and_mask<Shape, 1, false>(block, this->lane, tile.first_row, row, key, visits.words, columns_of, masked,
                                     masked || at_end, score_at, hide_end);
    if constexpr (Shape::columns > 0) {
      barrier_arrive(this->memory.k_empty + 8 * this->k_place.stage);
      this->k_place.next();
    }
  }
};

/// `Arguments`: HopperFlexArguments, or with pages HopperFlexPagedArguments.
template <class Shape, class Arguments>
__device__ __forceinline__ void hopper_flex_attention(const Arguments& arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x, lane = thread & 31, group = __shfl_sync(0xffffffffu, thread / 128, 0);
  const FlexArguments& flex = arguments.flex;
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(shared + Shape::words_at);
  const int head = blockIdx.y, batch = blockIdx.z;
  const FlexPlace block{flex, batch, head, words + Shape::uniforms_at};
  const HopperTile<Shape> tile(arguments, flex_query_tile(flex), batch * arguments.heads + head);
  const RolesMemory<Shape> memory(shared_address(shared));
  constexpr int starter = 64;  // thread 0 waits for the lengths of the lists
  if constexpr (Shape::page_keys > 0 && Shape::ragged)
    if (thread == starter) barrier_start(shared_address(shared) + Shape::tail_barrier_at, 1);
  memory.start(starter);
  FlexVisits<Shape> visits{words};
  if (!visits.read(flex, block, flex_query_tile(flex), thread))
    return write_hidden_rows<Shape>(flex, block, tile.first_row, thread);
  __syncthreads();
  const int visits_end = Shape::visits_at + (FlexVisits<Shape>::has_lists ? visits.tiles : 0);
  visits.end_at_last_key(flex, thread);
  FlexPool<Shape> pool{words, 0};
  if constexpr (Shape::page_keys > 0) {
    pool.read(arguments.pages, block, visits, visits_end, thread);
    __syncthreads();
  }
  if (group == Shape::groups) {
    give_registers<Shape::producer_registers>();
    if (thread < 128 * Shape::groups + 32) FlexProducer<Shape>{arguments, memory}.load_visits(tile, block, visits, pool, lane);
  } else {
    take_registers<Shape::consumer_registers>();
    FlexConsumer<Shape> consumer(arguments, memory, block, visits, group);
    consumer.visit(tile);
    consumer.store(tile);
    stores_have_read();
  }
#endif
}

}  // namespace tilescope::device
