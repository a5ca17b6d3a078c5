// Expressions of lessons: muParser over figures, whose names have dots. The value never depends on the locale.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// Returns the names that an expression reads, in order of first use.
/// Errors  what muParser cannot read, an assignment, several values, more than 500 characters.
Result<std::vector<std::string>> names_in(const std::string& expression);

/// Returns the value of an expression that reads no name; nullopt of another, and where it has none.
std::optional<double> constant_in(const std::string& expression);

/// Returns the value of a name.
using FigureLookup = std::function<Result<double>(const std::string& name)>;

/// Evaluates + - * / ^, comparisons, && || ?: and min max abs sqrt log2 exp round floor ceil; true is 1.
/// Errors  those of names_in() and of `lookup`; a value that is not finite.
Result<double> evaluate(const std::string& expression, const FigureLookup& lookup);

}  // namespace tilescope
