// Waits as long as other tooltips and a little more, so that those go first.
#include "app/views/terms.h"

#include <algorithm>

#include <imgui_internal.h>

#include "app/ui/text_record.h"
#include "app/ui/widgets.h"

namespace tilescope {

namespace {

constexpr float seconds_at_rest = 0.35F;

}  // namespace

std::vector<const GlossaryEntry*> entries_in(const View& view, std::string_view text) {
  std::vector<const GlossaryEntry*> entries;
  if (view.glossary == nullptr) return entries;
  for (const FoundTerm& found : view.glossary->terms_in(text, view.workspace->language))
    if (std::find(entries.begin(), entries.end(), found.entry) == entries.end()) entries.push_back(found.entry);
  return entries;
}

void show_entry(const View& view, const GlossaryEntry& entry) {
  const GlossaryEntry::Text& text = entry.text(view.workspace->language);
  show_tooltip(*view.theme, text.term, text.meaning);
}

void draw_term_tooltip(const View& view) {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  if (view.glossary == nullptr || context.MouseStationaryTimer < seconds_at_rest || ImGui::IsAnyMouseDown()) return;
  if (!shown_tooltip().empty() || context.ActiveId != 0) return;
  const std::optional<TextAt> under = text_under_mouse();
  if (!under) return;
  for (const FoundTerm& found : view.glossary->terms_in(under->line, view.workspace->language))
    if (under->byte >= found.first && under->byte < found.last) return show_entry(view, *found.entry);
}

}  // namespace tilescope
