// check_document() refuses TOML and JSON texts that are too large or too deeply nested for a recursive parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

enum class DocumentKind : std::uint8_t { toml, json };

inline constexpr std::size_t largest_document_bytes = std::size_t{16} << 20;
inline constexpr int deepest_document = 32;  // the program's own files nest at most six levels

/// Checks the size and the nesting of a document without parsing it. Arrays, tables, inline tables and dotted keys are levels.
/// Call it before every TOML or JSON parser.
/// Errors  larger than largest_document_bytes; nested deeper than deepest_document, with the line. Both name `origin`.
Status check_document(std::string_view text, DocumentKind kind, std::string_view origin);

}  // namespace tilescope
