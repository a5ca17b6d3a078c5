// The rows of a backward pass in the softmax panel: P, dP, D and dS of one row, key by key, and the arithmetic of one of them.
#pragma once

#include <optional>

#include "app/views/softmax/softmax_figures.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the height that the rows take, from `smallest` to the theme's row height a line; 0 if the launch computes no dS.
float gradient_height(const Theme& theme, const SoftmaxParts& parts, float room, float smallest);

/// Draws the rows at the cursor, `height` high, with the key at `column` of the tile chosen. Returns the column that was clicked.
std::optional<int> draw_gradient(const View& view, const SoftmaxFigures& figures, int column, float height);

/// Returns "dS = P · (dP − D)" for the tiles of a gradient, and the same of one key with numbers: "dS[3] = 0.0125 · (2.695 − 0.07)
/// = 0.0336". Empty until dS is computed.
std::string gradient_formula(const RowGradient& gradient);
std::string gradient_numbers(const RowGradient& gradient, int column);

}  // namespace tilescope
