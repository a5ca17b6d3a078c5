// Terms of the glossary on screen: the tooltip of a word that the mouse rests on, and the words of a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/model/lessons/glossary.h"
#include "app/views/view.h"

namespace tilescope {

/// Shows the entry of the term under the mouse, where nothing else has a tooltip. Call it last in a frame.
void draw_term_tooltip(const View& view);

/// Returns the entries of the terms in a text, each once.
std::vector<const GlossaryEntry*> entries_in(const View& view, std::string_view text);

/// Shows an entry as a tooltip.
void show_entry(const View& view, const GlossaryEntry& entry);

}  // namespace tilescope
