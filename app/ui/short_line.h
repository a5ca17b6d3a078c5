// Short forms of what a narrow panel would cut: lines of a listing, a unit that is said twice.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// Shortens "mask hidden scores" to "mask hidden"; returns short lines unchanged.
std::string_view short_line(std::string_view line);

/// Returns a formula with the letter l as ℓ: in the sans face a lone l reads as a capital I.
std::string formula_text(std::string_view text);

/// Returns "6.14" of "6.14 kB" where `other` has the same unit, else `text` itself.
std::string_view without_unit_of(std::string_view other, std::string_view text);

/// Returns a line of a listing as the window shows it: its words are translated, its tensors and operations stay.
std::string listing_text(std::string_view line);

}  // namespace tilescope
