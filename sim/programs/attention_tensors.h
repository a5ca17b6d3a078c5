// The tensors and on-chip tiles of forward attention and its parts, named by the letters of the papers.
//
// A program lists those that it uses in its Schema, and may add its own. Only programs, their theory, kernels and tests include
// this file; all other code asks a Schema.
#pragma once

#include "sim/programs/operation.h"

namespace tilescope {

namespace tensors {

namespace declared {
inline constexpr TensorSpec q{.name = "Q", .meaning = Meaning::query, .index = 0};
inline constexpr TensorSpec k{.name = "K", .meaning = Meaning::key, .index = 1, .planes = Planes::key, .rows = Axis::key};
inline constexpr TensorSpec v{.name = "V", .meaning = Meaning::value, .index = 2, .planes = Planes::key, .rows = Axis::key};
inline constexpr TensorSpec s{.name = "S", .meaning = Meaning::score, .index = 3, .cols = Axis::key};
inline constexpr TensorSpec p{.name = "P", .meaning = Meaning::probability, .index = 4, .cols = Axis::key};
inline constexpr TensorSpec o{.name = "O", .meaning = Meaning::output, .index = 5};
inline constexpr TensorSpec lse{
    .name = "L", .meaning = Meaning::log_sum_exp, .index = 6, .cols = Axis::one, .type = DataType::fp32};
inline constexpr TensorSpec m{.name = "m", .meaning = Meaning::row_max, .index = 7, .cols = Axis::one, .type = DataType::fp32};
inline constexpr TensorSpec l{.name = "l", .meaning = Meaning::row_sum, .index = 8, .cols = Axis::one, .type = DataType::fp32};
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
inline constexpr ChipTileSpec q{.name = "Q", .tensor = tensors::q, .index = 1};
inline constexpr ChipTileSpec k{.name = "K", .tensor = tensors::k, .index = 2, .ring = true};
inline constexpr ChipTileSpec v{.name = "V", .tensor = tensors::v, .index = 3, .ring = true};
inline constexpr ChipTileSpec s{.name = "S", .tensor = tensors::s, .index = 4, .ring = true};
inline constexpr ChipTileSpec p{.name = "P", .tensor = tensors::p, .index = 5, .ring = true};
inline constexpr ChipTileSpec m{.name = "m", .tensor = tensors::m, .index = 6};
inline constexpr ChipTileSpec m_new{.name = "m′", .tensor = tensors::m, .index = 7, .part = TilePart::updated};
inline constexpr ChipTileSpec m_tile{.name = "m̃", .tensor = tensors::m, .index = 8, .part = TilePart::of_tile};
inline constexpr ChipTileSpec l{.name = "l", .tensor = tensors::l, .index = 9};
inline constexpr ChipTileSpec l_new{.name = "l′", .tensor = tensors::l, .index = 10, .part = TilePart::updated};
inline constexpr ChipTileSpec l_tile{.name = "l̃", .tensor = tensors::l, .index = 11, .part = TilePart::of_tile};
inline constexpr ChipTileSpec alpha{.name = "α", .tensor = tensors::m, .index = 12, .part = TilePart::factor};
inline constexpr ChipTileSpec beta{.name = "β", .tensor = tensors::m, .index = 13, .part = TilePart::factor_of_tile};
inline constexpr ChipTileSpec o{.name = "O", .tensor = tensors::o, .index = 14};
inline constexpr ChipTileSpec pv{.name = "PV", .tensor = tensors::o, .index = 15, .part = TilePart::of_tile};
inline constexpr ChipTileSpec lse{.name = "L", .tensor = tensors::lse, .index = 16};
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
