// Short forms of listing lines that a narrow panel would cut.
#include "app/ui/short_line.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

struct Short {
  std::string_view line, shorter;
};

constexpr std::array lines = {Short{"mask S where key > query", "mask key > query"},
                              Short{"m′ = max(m, rowmax S)", "m′ = max(m, S)"},
                              Short{"m = max(m, rowmax S)", "m = max(m, S)"},
                              Short{"for each tile pair (i, j), a block:", "a block a pair (i, j):"},
                              Short{"for each group of rows, a block:", "a block a row group:"},
                              Short{"for each query tile i, a block:", "a block a tile i:"},
                              Short{"for each row r of the tile", "for each row r"},
                              Short{"load Sⱼ → shared again", "load Sⱼ again"},
                              Short{"for each key tile j, a block:", "a block a tile j:"},
                              Short{"for each key tile j of a run, a block:", "a block a run of j:"},
                              Short{"D = rowsum(dO ∘ O)", "D = Σ dO∘O"},
                              Short{"D = D + rowsum(P∘dP)", "D = D + Σ P∘dP"},
                              Short{"load Pⱼ, dPⱼ → shared again", "Pⱼ, dPⱼ again"},
                              Short{"store dKⱼ, dVⱼ → HBM", "dKⱼ, dVⱼ → HBM"},
                              Short{"store dQ_accᵢ → HBM", "dQ_accᵢ → HBM"},
                              Short{"dQ_accᵢ += dSK, in HBM", "dQ_acc += dSK"},
                              Short{"dQ_acc = dQ_acc + next copy", "dQ_acc += copy"},
                              Short{"store Oᵢ, lᵢ, mᵢ → HBM", "Oᵢ, lᵢ, mᵢ → HBM"},
                              Short{"store Oᵢ, l′ᵢ, m′ᵢ → HBM", "Oᵢ, l′ᵢ, m′ᵢ → HBM"}};

}  // namespace

std::string_view short_line(std::string_view line) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const Short& row) { return row.line == line; });
  return found == lines.end() ? line : found->shorter;
}

}  // namespace tilescope
