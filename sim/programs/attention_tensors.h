// The tensors and on-chip tiles of forward attention and its parts, named by the letters of the papers.
//
// A program lists those that it uses in its Schema, and may add its own. Only programs, their theory, kernels and tests include
// this file; all other code asks a Schema.
#pragma once

#include "sim/programs/operation.h"
#include "sim/programs/tensor_indices.h"

namespace tilescope {

namespace tensors {

namespace declared {
inline constexpr TensorSpec q{.name = "Q", .meaning = Meaning::query, .index = tensor_index::q};
inline constexpr TensorSpec k{
    .name = "K", .meaning = Meaning::key, .index = tensor_index::k, .planes = Planes::key, .rows = Axis::key};
inline constexpr TensorSpec v{
    .name = "V", .meaning = Meaning::value, .index = tensor_index::v, .planes = Planes::key, .rows = Axis::key};
inline constexpr TensorSpec s{.name = "S", .meaning = Meaning::score, .index = tensor_index::s, .cols = Axis::key};
inline constexpr TensorSpec p{.name = "P", .meaning = Meaning::probability, .index = tensor_index::p, .cols = Axis::key};
inline constexpr TensorSpec o{.name = "O", .meaning = Meaning::output, .index = tensor_index::o};
inline constexpr TensorSpec lse{
    .name = "L", .meaning = Meaning::log_sum_exp, .index = tensor_index::lse, .cols = Axis::one, .type = DataType::fp32};
inline constexpr TensorSpec m{
    .name = "m", .meaning = Meaning::row_max, .index = tensor_index::m, .cols = Axis::one, .type = DataType::fp32};
inline constexpr TensorSpec l{
    .name = "l", .meaning = Meaning::row_sum, .index = tensor_index::l, .cols = Axis::one, .type = DataType::fp32};
}  // namespace declared

inline constexpr Tensor q = declared::q;
inline constexpr Tensor k = declared::k;
inline constexpr Tensor v = declared::v;
inline constexpr Tensor s = declared::s;
inline constexpr Tensor p = declared::p;
inline constexpr Tensor o = declared::o;
inline constexpr Tensor lse = declared::lse;
inline constexpr Tensor m = declared::m;
inline constexpr Tensor l = declared::l;

}  // namespace tensors

namespace tiles {

namespace declared {
inline constexpr ChipTileSpec q{.name = "Q", .tensor = tensors::q, .index = tile_index::q};
inline constexpr ChipTileSpec k{.name = "K", .tensor = tensors::k, .index = tile_index::k, .ring = true};
inline constexpr ChipTileSpec v{.name = "V", .tensor = tensors::v, .index = tile_index::v, .ring = true};
inline constexpr ChipTileSpec s{.name = "S", .tensor = tensors::s, .index = tile_index::s, .ring = true};
inline constexpr ChipTileSpec p{.name = "P", .tensor = tensors::p, .index = tile_index::p, .ring = true};
inline constexpr ChipTileSpec m{.name = "m", .tensor = tensors::m, .index = tile_index::m};
inline constexpr ChipTileSpec m_new{.name = "m′", .tensor = tensors::m, .index = tile_index::m_new, .part = TilePart::updated};
inline constexpr ChipTileSpec m_tile{.name = "m̃", .tensor = tensors::m, .index = tile_index::m_tile, .part = TilePart::of_tile};
inline constexpr ChipTileSpec l{.name = "l", .tensor = tensors::l, .index = tile_index::l};
inline constexpr ChipTileSpec l_new{.name = "l′", .tensor = tensors::l, .index = tile_index::l_new, .part = TilePart::updated};
inline constexpr ChipTileSpec l_tile{.name = "l̃", .tensor = tensors::l, .index = tile_index::l_tile, .part = TilePart::of_tile};
inline constexpr ChipTileSpec alpha{.name = "α", .tensor = tensors::m, .index = tile_index::alpha, .part = TilePart::factor};
inline constexpr ChipTileSpec beta{.name = "β", .tensor = tensors::m, .index = tile_index::beta, .part = TilePart::factor_of_tile};
inline constexpr ChipTileSpec o{.name = "O", .tensor = tensors::o, .index = tile_index::o};
inline constexpr ChipTileSpec pv{.name = "PV", .tensor = tensors::o, .index = tile_index::pv, .part = TilePart::of_tile};
inline constexpr ChipTileSpec lse{.name = "L", .tensor = tensors::lse, .index = tile_index::lse};
}  // namespace declared

inline constexpr ChipTile q = declared::q;
inline constexpr ChipTile k = declared::k;
inline constexpr ChipTile v = declared::v;
inline constexpr ChipTile s = declared::s;
inline constexpr ChipTile p = declared::p;
inline constexpr ChipTile m = declared::m;
inline constexpr ChipTile m_new = declared::m_new;
inline constexpr ChipTile m_tile = declared::m_tile;
inline constexpr ChipTile l = declared::l;
inline constexpr ChipTile l_new = declared::l_new;
inline constexpr ChipTile l_tile = declared::l_tile;
inline constexpr ChipTile alpha = declared::alpha;
inline constexpr ChipTile beta = declared::beta;
inline constexpr ChipTile o = declared::o;
inline constexpr ChipTile pv = declared::pv;
inline constexpr ChipTile lse = declared::lse;

}  // namespace tiles

}  // namespace tilescope
