// Short forms of what a narrow panel would cut.
#include "app/ui/short_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "app/ui/say.h"

namespace tilescope {

namespace {

struct Short {
  std::string_view line, shorter;
};

constexpr std::array lines = {Short{"mask hidden scores", "mask hidden"},
                              Short{"loads: one thread of the block", "loads: one thread"},
                              Short{"wait for the other group", "wait for the other"},
                              Short{"m′ = max(m, rowmax S)", "m′ = max(m, S)"},
                              Short{"m = max(m, rowmax S)", "m = max(m, S)"},
                              Short{"for each tile pair (i, j), a block:", "a block a pair (i, j):"},
                              Short{"for each group of rows, a block:", "a block a row group:"},
                              Short{"for each query tile i, a block:", "a block a tile i:"},
                              Short{"for each row r of the tile", "for each row r"},
                              Short{"load Sⱼ → shared again", "load Sⱼ again"},
                              Short{"for each key tile j, a block:", "a block a tile j:"},
                              Short{"for each key tile j of a run, a block:", "a block a run of j:"},
                              Short{"for each piece t of T, a block:", "a block a piece t:"},
                              Short{"D = rowsum(dO ∘ O)", "D = Σ dO∘O"},
                              Short{"D = D + rowsum(P∘dP)", "D = D + Σ P∘dP"},
                              Short{"load Pⱼ, dPⱼ → shared again", "Pⱼ, dPⱼ again"},
                              Short{"store dKⱼ, dVⱼ → HBM", "dKⱼ, dVⱼ → HBM"},
                              Short{"store dQ_accᵢ → HBM", "dQ_accᵢ → HBM"},
                              Short{"dQ_accᵢ += dSK, in HBM", "dQ_acc += dSK"},
                              Short{"dSK of the tile before → shared", "dSK → shared"},
                              Short{"dQ_acc = dQ_acc + next copy", "dQ_acc += copy"},
                              Short{"store Oᵢ, lᵢ, mᵢ → HBM", "Oᵢ, lᵢ, mᵢ → HBM"},
                              Short{"store Oᵢ, l′ᵢ, m′ᵢ → HBM", "Oᵢ, l′ᵢ, m′ᵢ → HBM"},
                              Short{"load Qᵢ → shared (TMA)", "load Qᵢ (TMA)"},
                              Short{"load Kⱼ → shared (TMA)", "load Kⱼ (TMA)"},
                              Short{"load Vⱼ → shared (TMA)", "load Vⱼ (TMA)"},
                              Short{"for each key tile j, from the last", "for each j, last first"},
                              Short{"O = O + P Vⱼ (wgmma)", "O += P Vⱼ (wgmma)"},
                              Short{"O = O / l,  L = m + log l", "O /= l,  L = m + log l"},
                              Short{"producer: one thread of one warp", "producer: one thread"},
                              Short{"consumer groups: 64 query rows each", "consumers: 64 rows"},
                              Short{"wait empty[K]; load Kⱼ → full[K]", "load Kⱼ → full[K]"},
                              Short{"wait empty[V]; load Vⱼ → full[V]", "load Vⱼ → full[V]"},
                              Short{"wait O → empty[V]", "wait O → free V"},
                              Short{"wait full[V] of the tile before", "wait V, before"},
                              Short{"issue O = O + P V of the tile before", "O += P V, before"},
                              Short{"wait O → empty[V] of the tile before", "wait O, before"},
                              Short{"wait full[V]; issue the last O = O + P V", "issue last O += P V"},
                              Short{"consumer groups: half of the keys each", "consumers: 64 keys"},
                              Short{"wait empty[Q]; load Qᵢ → full[Q]", "load Qᵢ → full[Q]"},
                              Short{"wait empty[dO]; load dOᵢ → full[dO]", "load dOᵢ → full"},
                              Short{"issue dV = dV + Pᵀ dOᵢ", "dV += Pᵀ dOᵢ"},
                              Short{"dQ_acc += dSK of the tile before, in HBM", "dQ_acc += dSK"},
                              Short{"dS = P ∘ dP → shared", "dS = P ∘ dP"},
                              Short{"issue dK = dK + τ dSᵀ Qᵢ", "dK += τ dSᵀ Qᵢ"},
                              Short{"wait dV → empty[dO]", "wait dV"},
                              Short{"wait dK → empty[Q]", "wait dK"},
                              Short{"issue dSK = τ dS Kⱼ", "dSK = τ dS Kⱼ"}};

}  // namespace

std::string_view short_line(std::string_view line) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const Short& row) { return row.line == line; });
  return found == lines.end() ? line : found->shorter;
}

std::string_view without_unit_of(std::string_view other, std::string_view text) {
  const std::size_t unit = other.rfind(' ');
  if (unit == std::string_view::npos || !text.ends_with(other.substr(unit))) return text;
  return text.substr(0, text.size() - (other.size() - unit));
}

std::string formula_text(std::string_view text) {
  const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool alone = (i == 0 || !joins(text[i - 1])) && (i + 1 == text.size() || !joins(text[i + 1]));
    text[i] == 'l' && alone ? out.append("ℓ") : out.append(1, text[i]);
  }
  return out;
}

std::string listing_text(std::string_view line) {
  return formula_text(translated(line));
}

}  // namespace tilescope
