// draw_prose(): a text of a lesson, wrapped, with its figures in it.
#pragma once

#include "app/model/lessons/lesson_prose.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/ui/theme.h"
#include "app/views/terms.h"

namespace tilescope {

/// Marks the terms of the glossary in texts, each where it stands first; one over several texts.
struct ProseTerms {
  const View& view;
  std::vector<const GlossaryEntry*> seen{};
};

/// Adds empty space below the last item.
void gap(const Theme& theme, float points);
/// Adds the text as one ImGui item, `width` wide. A figure without a value yet is "–".
void draw_prose(const Theme& theme, const Prose& prose, const ExpressionValues* values, float width, ImU32 color,
                ProseTerms* terms = nullptr);
/// Returns its height.
float prose_height(const Theme& theme, const Prose& prose, const ExpressionValues* values, float width);
/// Draws it at a place, without an item; returns its height.
float draw_prose_at(ImDrawList* list, const Theme& theme, const Prose& prose, const ExpressionValues* values, ImVec2 at,
                    float width, ImU32 color, ProseTerms* terms = nullptr);

}  // namespace tilescope
