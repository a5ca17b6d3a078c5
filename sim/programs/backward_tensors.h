// The gradients of attention, their accumulators, and the on-chip tiles of a backward pass.
//
// A tile that stays on chip has one buffer; streamed tiles are rings.
#pragma once

#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace tensors {

namespace declared {
inline constexpr TensorSpec d_o{.name = "dO", .meaning = Meaning::output, .index = tensor_index::d_o, .gradient = true};
inline constexpr TensorSpec d_q{.name = "dQ", .meaning = Meaning::query, .index = tensor_index::d_q, .gradient = true};
inline constexpr TensorSpec d_k{
    .name = "dK", .meaning = Meaning::key, .index = tensor_index::d_k, .planes = Planes::key, .rows = Axis::key, .gradient = true};
inline constexpr TensorSpec d_v{.name = "dV",
                                .meaning = Meaning::value,
                                .index = tensor_index::d_v,
                                .planes = Planes::key,
                                .rows = Axis::key,
                                .gradient = true};
inline constexpr TensorSpec d_s{
    .name = "dS", .meaning = Meaning::score, .index = tensor_index::d_s, .cols = Axis::key, .gradient = true};
inline constexpr TensorSpec d_p{
    .name = "dP", .meaning = Meaning::probability, .index = tensor_index::d_p, .cols = Axis::key, .gradient = true};
inline constexpr TensorSpec row_dot{
    .name = "D", .meaning = Meaning::row_dot, .index = tensor_index::row_dot, .cols = Axis::one, .type = DataType::fp32};
/// The fp32 accumulator of dQ, to which the blocks that own keys add.
inline constexpr TensorSpec d_q_acc{
    .name = "dQ_acc", .meaning = Meaning::query, .index = tensor_index::d_q_acc, .type = DataType::fp32, .gradient = true};
}  // namespace declared

inline constexpr Tensor d_o = declared::d_o;
inline constexpr Tensor d_q = declared::d_q;
inline constexpr Tensor d_k = declared::d_k;
inline constexpr Tensor d_v = declared::d_v;
inline constexpr Tensor d_s = declared::d_s;
inline constexpr Tensor d_p = declared::d_p;
inline constexpr Tensor row_dot = declared::row_dot;
inline constexpr Tensor d_q_acc = declared::d_q_acc;

}  // namespace tensors

namespace tiles {

namespace declared {
inline constexpr ChipTileSpec q_ring{.name = "Q", .tensor = tensors::q, .index = tile_index::q_ring, .ring = true};
inline constexpr ChipTileSpec k_kept{.name = "K", .tensor = tensors::k, .index = tile_index::k_kept};
inline constexpr ChipTileSpec v_kept{.name = "V", .tensor = tensors::v, .index = tile_index::v_kept};
inline constexpr ChipTileSpec d_o{.name = "dO", .tensor = tensors::d_o, .index = tile_index::d_o};
inline constexpr ChipTileSpec d_o_ring{.name = "dO", .tensor = tensors::d_o, .index = tile_index::d_o_ring, .ring = true};
inline constexpr ChipTileSpec row_dot{.name = "D", .tensor = tensors::row_dot, .index = tile_index::row_dot};
inline constexpr ChipTileSpec d_p{.name = "dP", .tensor = tensors::d_p, .index = tile_index::d_p};
inline constexpr ChipTileSpec d_p_ring{.name = "dP", .tensor = tensors::d_p, .index = tile_index::d_p_ring, .ring = true};
inline constexpr ChipTileSpec d_s{.name = "dS", .tensor = tensors::d_s, .index = tile_index::d_s};
inline constexpr ChipTileSpec d_s_ring{.name = "dS", .tensor = tensors::d_s, .index = tile_index::d_s_ring, .ring = true};
inline constexpr ChipTileSpec d_q{.name = "dQ", .tensor = tensors::d_q, .index = tile_index::d_q};
inline constexpr ChipTileSpec d_k{.name = "dK", .tensor = tensors::d_k, .index = tile_index::d_k};
inline constexpr ChipTileSpec d_v{.name = "dV", .tensor = tensors::d_v, .index = tile_index::d_v};
/// The contribution of a tile pair to dQ, in registers.
inline constexpr ChipTileSpec d_q_part{
    .name = "dSK", .tensor = tensors::d_q_acc, .index = tile_index::d_q_part, .part = TilePart::of_tile};
inline constexpr ChipTileSpec d_q_acc{.name = "dQ_acc", .tensor = tensors::d_q_acc, .index = tile_index::d_q_acc};
inline constexpr ChipTileSpec d_o_o{.name = "dO∘O", .tensor = tensors::d_o, .index = tile_index::d_o_o, .part = TilePart::of_tile};
inline constexpr ChipTileSpec p_kept{.name = "P", .tensor = tensors::p, .index = tile_index::p_kept};
/// The derivative of a score change at the scores of a tile pair.
inline constexpr ChipTileSpec slope{.name = "f′", .tensor = tensors::d_s, .index = tile_index::slope, .part = TilePart::factor};
}  // namespace declared

inline constexpr ChipTile q_ring = declared::q_ring;
inline constexpr ChipTile k_kept = declared::k_kept;
inline constexpr ChipTile v_kept = declared::v_kept;
inline constexpr ChipTile d_o = declared::d_o;
inline constexpr ChipTile d_o_ring = declared::d_o_ring;
inline constexpr ChipTile row_dot = declared::row_dot;
inline constexpr ChipTile d_p = declared::d_p;
inline constexpr ChipTile d_p_ring = declared::d_p_ring;
inline constexpr ChipTile d_s = declared::d_s;
inline constexpr ChipTile d_s_ring = declared::d_s_ring;
inline constexpr ChipTile d_q = declared::d_q;
inline constexpr ChipTile d_k = declared::d_k;
inline constexpr ChipTile d_v = declared::d_v;
inline constexpr ChipTile d_q_part = declared::d_q_part;
inline constexpr ChipTile d_q_acc = declared::d_q_acc;
inline constexpr ChipTile d_o_o = declared::d_o_o;
inline constexpr ChipTile p_kept = declared::p_kept;
inline constexpr ChipTile slope = declared::slope;

}  // namespace tiles

}  // namespace tilescope
