// short_line(): shortens a listing line for a narrow panel.
#pragma once

#include <string_view>

namespace tilescope {

/// Shortens "mask hidden scores" to "mask hidden"; returns short lines unchanged.
std::string_view short_line(std::string_view line);

}  // namespace tilescope
