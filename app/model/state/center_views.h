// What the middle of the window shows: the stage, or one of the views that compare many simulations. One row a view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tilescope {

enum class CenterView : std::uint8_t { stage, roofline, fit, sweep, what_if, compare, validate, mask, banks, ladder };

struct CenterViewInfo {
  CenterView view;
  std::string_view id;  // of its panel, and of --view
  const char* title;    // on its tab
  const char* tooltip;
};

/// In the order of the tabs. The keys 1 to 9 and 0 show them.
std::span<const CenterViewInfo> center_views();
std::optional<CenterView> center_view_from(std::string_view id);

}  // namespace tilescope
