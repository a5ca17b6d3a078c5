// typed_quantity(): the number that a person types as an answer. An exported page reads it by the same rule in JavaScript.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/model/lessons/lesson_prose.h"

namespace tilescope {

/// Reads what a person typed, in the unit's own terms or with one of its names: "3.5", "1/4", "3.5 MB", "45 %", "1.2 ms".
/// nullopt for what is no number. A quantity is
///   [sign] number [/ number] [name]
///   number   65536, 65,536, 65 536, 3.5, 3,5, 3., .5 or 1e6
///   sign     + or -, and the minus sign that texts have
///   name     one of unit_suffixes(), in small or capital letters; spaces around it and in it do not count
/// A comma or a space before three digits groups the digits, if 1 to 3 digits stand before the first one and no zero leads them.
/// Any other comma stands before decimals. A divisor is not zero. Without a name, a percentage from 1 on is one, and less is a
/// share: "45" and "0.45" are the same.
///
/// `app/answer_script.cpp` has this rule in JavaScript. tests/app/model/lessons/typed_answers.json has its cases, for both.
std::optional<double> typed_quantity(std::string_view typed, FigureUnit unit);

/// Returns the names that a typed quantity may have, in small letters, with their factors: "kb", 1000.
std::vector<std::pair<std::string_view, double>> unit_suffixes(FigureUnit unit);
/// Returns the factor of a number from 1 on that has no name.
double plain_factor(FigureUnit unit);

}  // namespace tilescope
