// The texts of a mask: conditions, presets and a change of scores, each with its sliders; what is typed and cannot be read says
// why.
#pragma once

#include "app/ui/widgets.h"
#include "app/views/view.h"
#include "sim/masks/presets.h"

namespace tilescope {

/// Draws the editor in the current child, below the cursor.
void draw_mask_editor(const View& view, Commands& commands);

/// What Tab may put in place of a word of an expression: names of the language, functions, tables, and names that the text defines.
struct MaskWord {
  std::string word, meaning;
};
std::vector<MaskWord> completions(std::string_view begun, std::string_view text, const TableList& tables, bool score);

/// "sliding_window:window=256,…" with another value of a parameter; defaults are left out.
std::string preset_with(std::string_view preset, std::string_view parameter, const std::string& value);

/// The preset as it is put in: with parameters that leave something to see of a problem of this size.
std::string suited_preset(const Preset& preset, const AttentionProblem& problem);

/// The words of a refusal that names `column` of `text`, with line and column where the text has line breaks before it.
std::string with_line_of(const std::string& words, std::string_view text, std::size_t column);

/// The text with line breaks after definitions and before && and ||, so that lines keep to `most` characters.
std::string wrapped_expression(std::string_view text, std::size_t most);

}  // namespace tilescope
