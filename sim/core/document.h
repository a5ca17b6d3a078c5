// check_document(): whether a TOML or JSON text is small and flat enough to be given to a parser, which may recurse as deep as it
// nests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

enum class DocumentKind : std::uint8_t { toml, json };

inline constexpr std::size_t largest_document_bytes = std::size_t{16} << 20;
inline constexpr int deepest_document = 32;  // what the program reads and writes nests six deep at most

/// Counts levels of arrays, tables, inline tables and dotted keys, without parsing. Call it before every parser of TOML or JSON.
/// Errors  larger than largest_document_bytes; nested deeper than deepest_document: names `origin` and the line.
Status check_document(std::string_view text, DocumentKind kind, std::string_view origin);

}  // namespace tilescope
