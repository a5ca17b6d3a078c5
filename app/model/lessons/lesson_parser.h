// Reads the text of a lesson.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "app/model/lessons/lesson.h"
#include "sim/core/result.h"

namespace tilescope {

inline constexpr std::size_t largest_lesson_bytes = std::size_t{256} << 10;

/// Reads a lesson. `origin` names it in errors.
/// Errors  one sentence with file and line: Markdown that parse_markdown() refuses, a block that is no TOML, an unknown or missing
///         key, a link that from_link() refuses, an expression with an unknown name, a lesson of a newer version or without pages.
Result<std::shared_ptr<const Lesson>> parse_lesson(std::string_view text, std::string_view id, std::string_view origin);

/// What a list of lessons shows.
struct LessonHead {
  std::string title;
  int minutes = 0;
  Prose goal;
  std::string group;
};
/// Reads the block before the first page only. Errors  those of parse_lesson() up to there.
Result<LessonHead> parse_lesson_head(std::string_view text, std::string_view origin);

}  // namespace tilescope
