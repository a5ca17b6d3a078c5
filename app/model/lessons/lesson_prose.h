// Prose: the Markdown of lessons as blocks of runs, with the figures that stand in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// How a figure is written: with its unit.
enum class FigureUnit : std::uint8_t { number, bytes, exact_bytes, capacity, bandwidth, cycles, us, flops, times, percent };
std::string_view to_string(FigureUnit unit);
std::optional<FigureUnit> figure_unit_from(std::string_view name);
/// "did you mean bytes?" for a name that is none.
std::string figure_unit_hint(std::string_view name);

/// Returns an error of a lesson that begins with the file and the line.
Error error_at(std::string_view origin, int line, std::string_view sentence);

/// `{= expression : unit}` in a text.
struct FigureText {
  std::string expression;
  FigureUnit unit = FigureUnit::number;
  int line = 0;
  bool operator==(const FigureText&) const = default;
};

/// Text of one look, or one figure.
struct ProseRun {
  std::string text;
  bool bold = false, code = false;
  std::optional<FigureText> figure;
  bool operator==(const ProseRun&) const = default;
};

struct ProseBlock {
  enum class Kind : std::uint8_t { paragraph, heading, item, code };
  Kind kind = Kind::paragraph;
  int depth = 0;   // of an item: lists around it
  int number = 0;  // of an item in a numbered list; 0: a bullet
  int line = 0;
  std::vector<ProseRun> runs;  // of code: one, with its line ends
  bool operator==(const ProseBlock&) const = default;
};
using Prose = std::vector<ProseBlock>;

/// A fenced block: its content is not Markdown.
struct Fence {
  std::string info, content;
  int line = 0;          // of its first line of content
  std::size_t page = 0;  // pages that had begun before it
};

/// A Markdown text cut at its headings of level 2.
struct MarkdownText {
  struct Page {
    std::string title;
    int line = 0;
    Prose prose;
  };
  Prose before;  // the first page
  std::vector<Page> pages;
  std::vector<Fence> fences;  // in order
};

/// Reads Markdown. Fences with a word of `kinds` behind them are returned as they are; others are code.
/// Errors  bytes that are no UTF-8, private-use characters, a figure without an end or with an unknown unit, what lessons do not
///         use (tables, quotes, pictures). Each names `origin` and the line, counted from `first_line`.
Result<MarkdownText> parse_markdown(std::string_view text, std::string_view origin, std::span<const std::string_view> kinds,
                                    int first_line = 1);

/// The same for a text inside a block: no pages and no fences.
Result<Prose> parse_prose(std::string_view text, std::string_view origin, int line);

/// Every figure of a text, in order.
std::vector<const FigureText*> figures_of(const Prose& prose);
/// The text without its looks, figures as "{}": for titles and comparisons.
std::string plain_text(const Prose& prose);

}  // namespace tilescope
