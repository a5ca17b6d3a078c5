// Figures of lessons in words, and numbers that a person types back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/model/lesson_prose.h"

namespace tilescope {

/// "18.4 MB", "4.9×", "45 %": a value with its unit, as the other views write it.
std::string figure_words(double value, FigureUnit unit);

/// The name of a unit beside a field: "bytes", "%".
const char* unit_label(FigureUnit unit);

/// Reads what a person typed, in the unit's own terms or with one of its names: "3.5", "3.5 MB", "45 %", "1.2 ms".
std::optional<double> typed_quantity(std::string_view text, FigureUnit unit);

}  // namespace tilescope
