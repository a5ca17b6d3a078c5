// short_line(): a line of a listing in fewer words, for a narrow panel.
#pragma once

#include <string_view>

namespace tilescope {

/// "mask S where key > query" as "mask key > query"; a line that is short already as it is.
std::string_view short_line(std::string_view line);

}  // namespace tilescope
