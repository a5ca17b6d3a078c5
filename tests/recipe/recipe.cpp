// A view added by "How do I add a panel?": the bytes that the shown run reads from HBM.
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/language.h"
#include "app/views/panels.h"

namespace tilescope {

void draw_recipe_panel(const View& view, Commands& /*commands*/) {
  if (view.lane().simulation == nullptr) return;
  const Simulation& shown = *view.lane().simulation;
  ImGui::TextUnformatted(tr("recipe: bytes read from HBM"));
  ImGui::TextUnformatted(fmt::format("{}: {}", shown.info->title, shown.ledger.total(Link::hbm_read).value).c_str());
}

}  // namespace tilescope
