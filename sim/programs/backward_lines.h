// The lines that listings of several backward programs have. Each has the reason that most programs give for it; a program may give
// its own, with because().
#pragma once

#include "sim/programs/backward_tensors.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Returns the line with another reason.
constexpr ListingLine because(ListingLine line, std::string_view why) {
  line.why = why;
  return line;
}

namespace backward_lines {

// The launch that makes D, and zeros for dQ where blocks of keys add to it.
inline constexpr ListingLine query_blocks = {0,
                                             "for each query tile i, a block:",
                                             Tensor(),
                                             "⌈Nq/Br⌉ blocks a head",
                                             "The first launch makes what every key tile needs.",
                                             ListingLine::heading};
inline constexpr ListingLine load_o = {1, "load Oᵢ", tensors::o, "Oᵢ: Br × d", "The output of the forward pass."};
inline constexpr ListingLine load_d_o_once = {1, "load dOᵢ", tensors::d_o, "dOᵢ: Br × d",
                                              "The gradient that arrives from the next layer."};
inline constexpr ListingLine row_dot = {
    1, "D = rowsum(dO ∘ O)", tensors::row_dot, "D = Σ dO·O",
    "One number a row stands for the whole row of P∘dP: Σⱼ Pⱼ dPⱼ = Σⱼ Pⱼ (dO·Vⱼ) = dO·Σⱼ Pⱼ Vⱼ = dO·O."};
inline constexpr ListingLine store_row_dot = {1, "store Dᵢ → HBM", tensors::row_dot, "Dᵢ: Br", "Four bytes a row."};
inline constexpr ListingLine zero = {1, "dQ_acc = 0", tensors::d_q_acc, "dQ_acc = 0",
                                     "Blocks of keys add to it, so it must start at zero."};
inline constexpr ListingLine store_zero = {1, "store dQ_accᵢ → HBM", tensors::d_q_acc, "dQ_accᵢ: Br × d, fp32",
                                           "Twice the bytes of dQ in 16 bits."};

// A block that owns keys.
inline constexpr ListingLine key_blocks = {0,
                                           "for each key tile j, a block:",
                                           Tensor(),
                                           "⌈Nk/Bc⌉ blocks a key head",
                                           "The second launch. A block owns keys, not queries.",
                                           ListingLine::heading};
inline constexpr ListingLine init_keys = {1, "dK = 0, dV = 0", tensors::d_k, "dK = 0, dV = 0",
                                          "Summed in registers for the whole life of the block."};
inline constexpr ListingLine load_k_once = {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "Stays on chip."};
inline constexpr ListingLine load_v_once = {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Stays on chip."};
inline constexpr ListingLine query_loop = {1, "for each query tile i", Tensor(), "i = 0 … ⌈Nq/Br⌉ − 1", "", ListingLine::heading};
inline constexpr ListingLine query_loop_of_heads = {
    1,
    "for each query tile i",
    Tensor(),
    "i = 0 … ⌈Nq/Br⌉ − 1, of every query head that reads this key head",
    "With a causal mask the loop starts at the diagonal: earlier queries see no key of this tile.",
    ListingLine::heading};
inline constexpr ListingLine load_q = {2, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d",
                                       "A ring of buffers: the next tile is in flight while this one is used."};
inline constexpr ListingLine load_stats = {2, "load Lᵢ, Dᵢ", tensors::lse, "Lᵢ, Dᵢ: Br",
                                           "L is all that the forward pass saved of the softmax; D is one number per row."};
inline constexpr ListingLine scores = {2, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
                                       "The scores are recomputed instead of read from HBM."};
inline constexpr ListingLine mask = {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if hidden; causal: c > r + Nk − Nq",
                                     "Only on tiles that are partly hidden: with a causal mask, those that the diagonal crosses."};
inline constexpr ListingLine exp = {2, "P = exp(S − L)", tensors::p, "P = exp(S − L)",
                                    "The final probabilities at once: L holds maximum and sum, so nothing is rescaled."};
inline constexpr ListingLine load_d_o = {2, "load dOᵢ → shared", tensors::d_o, "dOᵢ: Br × d", "Asked for early, needed only now."};
inline constexpr ListingLine d_v = {2, "dV = dV + Pᵀ dOᵢ", tensors::d_v, "dV = dV + Pᵀ·dO", "The second product."};
inline constexpr ListingLine d_p = {2, "dP = dOᵢ Vⱼᵀ", tensors::d_p, "dP = dO·Vᵀ", "The third product."};
inline constexpr ListingLine subtract = {2, "dP = dP − D", tensors::d_p, "dP = dP − D",
                                         "A row of P sums to 1, so only differences within the row count."};
inline constexpr ListingLine d_s = {2, "dS = P ∘ dP", tensors::d_s, "dS = P∘(dP − D)", "The derivative of softmax."};
inline constexpr ListingLine d_q_part = {2, "dSK = τ dS Kⱼ", tensors::d_q_acc, "dSK = τ dS·K",
                                         "The fourth product: what this key tile contributes to dQ."};
inline constexpr ListingLine add_d_q = {2, "dQ_accᵢ += dSK, in HBM", tensors::d_q_acc, "dQ_acc = dQ_acc + dSK, fp32", ""};
inline constexpr ListingLine d_k = {2, "dK = dK + τ dSᵀ Qᵢ", tensors::d_k, "dK = dK + τ dSᵀ·Q", "The fifth product."};
inline constexpr ListingLine store_keys = {1, "store dKⱼ, dVⱼ → HBM", tensors::d_k, "dKⱼ, dVⱼ: Bc × d",
                                           "Each element is written exactly once."};

// A block that owns queries.
inline constexpr ListingLine init_queries = {1, "dQ = 0", tensors::d_q, "dQ = 0",
                                             "Summed in registers, so nothing is added in memory."};
inline constexpr ListingLine load_q_once = {1, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d",
                                            "Stays on chip, as in the forward pass."};
inline constexpr ListingLine load_d_o_of_block = {1, "load dOᵢ → shared", tensors::d_o, "dOᵢ: Br × d", "Stays on chip."};
inline constexpr ListingLine load_stats_once = {1, "load Lᵢ, Dᵢ", tensors::lse, "Lᵢ, Dᵢ: Br", "Once a block."};
inline constexpr ListingLine key_loop = {1, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "", ListingLine::heading};
inline constexpr ListingLine load_k = {2, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "A ring of buffers."};
inline constexpr ListingLine scores_again = {2, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ", ""};
inline constexpr ListingLine load_v = {2, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Asked for early, needed only now."};
inline constexpr ListingLine d_q = {2, "dQ = dQ + τ dS Kⱼ", tensors::d_q, "dQ = dQ + τ dS·K", "The seventh product."};
inline constexpr ListingLine store_queries = {1, "store dQᵢ → HBM", tensors::d_q, "dQᵢ: Br × d", "The result."};

// The launch that rounds dQ.
inline constexpr ListingLine load_sum = {1, "load dQ_accᵢ", tensors::d_q_acc, "dQ_accᵢ: Br × d, fp32", "The sum is complete now."};
inline constexpr ListingLine convert = {1, "dQ = dQ_acc", tensors::d_q, "dQ = dQ_acc", "Rounded to the type of Q."};

}  // namespace backward_lines

}  // namespace tilescope
