// ThemeKind: which of the two looks the window has. A plain value: the model stores it, ui draws with it.
#pragma once

namespace tilescope {

enum class ThemeKind { dark, light };

}  // namespace tilescope
