// md4c finds the structure. Figures are taken out before it and put back afterwards, so that their stars are no emphasis.
#include "app/model/lessons/lesson_prose.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <md4c.h>

#include "sim/core/text.h"

namespace tilescope {

namespace {

struct UnitName {
  FigureUnit unit;
  std::string_view name;
};
constexpr std::array unit_names = {
    UnitName{FigureUnit::number, "number"},
    UnitName{FigureUnit::bytes, "bytes"},
    UnitName{FigureUnit::exact_bytes, "exact_bytes"},
    UnitName{FigureUnit::capacity, "capacity"},
    UnitName{FigureUnit::bandwidth, "bandwidth"},
    UnitName{FigureUnit::cycles, "cycles"},
    UnitName{FigureUnit::us, "us"},
    UnitName{FigureUnit::flops, "flops"},
    UnitName{FigureUnit::times, "times"},
    UnitName{FigureUnit::percent, "percent"},
};

// The characters of the private use area stand for the figures of a text: U+E000 for the first one.
constexpr unsigned first_mark = 0xE000, end_mark = 0xF900;
constexpr std::size_t mark_bytes = 3;

std::string mark_of(std::size_t figure) {
  const unsigned code = first_mark + static_cast<unsigned>(figure);
  return {static_cast<char>(0xE0U | (code >> 12U)), static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

/// The figure whose mark begins at `at`.
std::optional<std::size_t> mark_at(std::string_view text, std::size_t at) {
  if (at + mark_bytes > text.size()) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if ((byte(0) & 0xF0U) != 0xE0U) return std::nullopt;
  const unsigned code = (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
  if (code < first_mark || code >= end_mark) return std::nullopt;
  return code - first_mark;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Bytes of a whole UTF-8 character at the front; 0 where there is none.
std::size_t whole_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t count = first < 0x80                    ? 1
                            : first >= 0xC2 && first < 0xE0 ? 2
                            : (first & 0xF0U) == 0xE0       ? 3
                            : first >= 0xF0 && first < 0xF5 ? 4
                                                            : 0;
  if (count == 0 || text.size() < count) return 0;
  for (std::size_t i = 1; i < count; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 0;
  return count;
}

/// A text with marks in place of its figures.
struct Marked {
  std::string text;
  std::vector<FigureText> figures;
  std::vector<std::string> sources;  // as they were written

  std::string restored(std::string_view part) const {
    std::string out;
    for (std::size_t at = 0; at < part.size();) {
      const auto figure = mark_at(part, at);
      if (figure && *figure < sources.size())
        out += sources[*figure];
      else
        out += part[at];
      at += figure ? mark_bytes : 1;
    }
    return out;
  }
};

class Marker {
 public:
  Marker(std::string_view text, std::string_view origin, int line) : text_(text), origin_(origin), line_(line) {}

  Result<Marked> mark() {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("{=")) {
        if (Status taken = take_figure(); !taken) return taken.error();
        continue;
      }
      const std::size_t count = whole_character(text_.substr(at_));
      const char c = text_[at_];
      if (count == 0) return fail("the text is not UTF-8 here: save the file as UTF-8");
      if (count == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r')
        return fail("there is a control character: remove it");
      if (mark_at(text_, at_)) return fail("there is a private-use character: remove it");
      if (c == '\n') ++line_;
      out_.text += text_.substr(at_, count);
      at_ += count;
    }
    return std::move(out_);
  }

 private:
  Error fail(std::string_view sentence) const { return error_at(origin_, line_, sentence); }

  Status take_figure() {
    const std::size_t end = std::min(text_.find('}', at_), text_.find('\n', at_));
    if (end == std::string_view::npos || text_[end] != '}')
      return fail("a figure has no }: write {= expression : unit} on one line");
    const std::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
    FigureText figure;
    figure.line = line_;
    const std::size_t colon = inside.rfind(':');
    const std::string_view last = colon == std::string_view::npos ? std::string_view() : trimmed(inside.substr(colon + 1));
    const auto unit = figure_unit_from(last);
    if (unit) {
      figure.unit = *unit;
      figure.expression = std::string(trimmed(inside.substr(0, colon)));
    } else if (colon == std::string_view::npos || inside.find('?') != std::string_view::npos) {
      figure.expression = std::string(trimmed(inside));
    } else {
      return fail(fmt::format("there is no unit '{}': {}", printable(last), figure_unit_hint(last)));
    }
    if (figure.expression.empty()) return fail("a figure has no expression: write {= expression : unit}");
    if (out_.figures.size() >= end_mark - first_mark) return fail("there are too many figures in one text");
    out_.text += mark_of(out_.figures.size());
    out_.figures.push_back(std::move(figure));
    out_.sources.emplace_back(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return Done{};
  }

  std::string_view text_, origin_;
  int line_;
  std::size_t at_ = 0;
  Marked out_;
};

// --- md4c -------------------------------------------------------------------------------------------------------------------

class Walker {
 public:
  Walker(const Marked& marked, std::string_view origin, std::span<const std::string_view> kinds, int first_line)
      : marked_(marked), origin_(origin), kinds_(kinds), first_line_(first_line) {
    for (std::size_t i = 0; i < marked.text.size(); ++i)
      if (marked.text[i] == '\n') line_ends_.push_back(i);
    line_ = first_line;
  }

  Result<MarkdownText> walk() {
    MD_PARSER parser{};
    parser.flags = MD_FLAG_NOHTML | MD_FLAG_NOINDENTEDCODEBLOCKS | MD_FLAG_TABLES;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return static_cast<Walker*>(self)->enter(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return static_cast<Walker*>(self)->leave(type, detail);
    };
    parser.enter_span = [](MD_SPANTYPE type, void*, void* self) { return static_cast<Walker*>(self)->span(type, 1); };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) { return static_cast<Walker*>(self)->span(type, -1); };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return static_cast<Walker*>(self)->text(type, {text, size});
    };
    const int failed = md_parse(marked_.text.data(), static_cast<MD_SIZE>(marked_.text.size()), &parser, this);
    if (!error_.empty()) return error_at(origin_, line_, error_);
    if (failed != 0) return Error{fmt::format("{}: the Markdown cannot be read", printable(origin_, 200))};
    return std::move(out_);
  }

 private:
  struct List {
    int number = 0;  // of the next item; 0: bullets
  };

  int fail(std::string_view sentence) {
    error_ = sentence;
    return 1;
  }

  Prose& prose() { return out_.pages.empty() ? out_.before : out_.pages.back().prose; }

  int enter(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_DOC:
      case MD_BLOCK_HR:
        return 0;
      case MD_BLOCK_UL:
        lists_.push_back({0});
        return 0;
      case MD_BLOCK_OL:
        lists_.push_back({static_cast<int>(std::min(static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start, 9999U))});
        return 0;
      case MD_BLOCK_LI: {
        ProseBlock& item = begin(ProseBlock::Kind::item);
        item.depth = static_cast<int>(lists_.size());
        item.number = lists_.back().number > 0 ? lists_.back().number++ : 0;
        fresh_item_ = true;
        return 0;
      }
      case MD_BLOCK_P:
        if (!fresh_item_) {
          ProseBlock& paragraph = begin(ProseBlock::Kind::paragraph);
          paragraph.depth = static_cast<int>(lists_.size());
        }
        fresh_item_ = false;
        return 0;
      case MD_BLOCK_H:
        if (static_cast<MD_BLOCK_H_DETAIL*>(detail)->level == 2 && lists_.empty()) {
          in_title_ = true;
          out_.pages.emplace_back().line = line_;
        } else {
          begin(ProseBlock::Kind::heading);
        }
        return 0;
      case MD_BLOCK_CODE: {
        const MD_ATTRIBUTE& info = static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->info;
        const std::string word(info.text != nullptr ? info.text : "", info.size);
        in_fence_ = std::find(kinds_.begin(), kinds_.end(), word) != kinds_.end();
        if (in_fence_) {
          out_.fences.push_back({word, {}, 0, out_.pages.size()});
        } else {
          begin(ProseBlock::Kind::code);
          fresh_item_ = false;
        }
        return 0;
      }
      default:
        return fail("lessons have headings, paragraphs, lists and code: this Markdown is something else");
    }
  }

  int leave(MD_BLOCKTYPE type, void*) {
    if (type == MD_BLOCK_UL || type == MD_BLOCK_OL) lists_.pop_back();
    if (type == MD_BLOCK_LI) fresh_item_ = false;
    if (type == MD_BLOCK_H) in_title_ = false;
    if (type == MD_BLOCK_CODE) {
      if (in_fence_ && out_.fences.back().line == 0) out_.fences.back().line = line_ + 1;
      in_fence_ = false;
    }
    return 0;
  }

  int span(MD_SPANTYPE type, int by) {
    if (type == MD_SPAN_IMG) return fail("lessons have no pictures: the scene is the picture");
    if (type == MD_SPAN_STRONG || type == MD_SPAN_EM) bold_ += by;
    if (type == MD_SPAN_CODE) code_ += by;
    return 0;
  }

  int text(MD_TEXTTYPE type, std::string_view text) {
    find_line(text);
    if (in_fence_) {
      Fence& fence = out_.fences.back();
      if (fence.line == 0) fence.line = line_;
      fence.content += marked_.restored(text);
      return 0;
    }
    if (in_title_) {
      out_.pages.back().line = line_;
      out_.pages.back().title += marked_.restored(type == MD_TEXT_SOFTBR ? " " : text);
      return 0;
    }
    if (prose().empty()) begin(ProseBlock::Kind::paragraph);
    fresh_item_ = false;
    ProseBlock& block = prose().back();
    if (block.runs.empty()) block.line = line_;
    if (type == MD_TEXT_SOFTBR) text = " ";
    if (type == MD_TEXT_BR) text = "\n";
    if (type == MD_TEXT_NULLCHAR) return fail("there is a zero byte: this is no text");
    if (type == MD_TEXT_ENTITY) text = entity(text);
    while (!text.empty()) {
      std::size_t end = 0;
      while (end < text.size() && !mark_at(text, end)) ++end;
      if (end > 0) add_text(block, text.substr(0, end));
      if (end < text.size()) {
        if (const std::size_t figure = *mark_at(text, end); figure < marked_.figures.size())
          block.runs.push_back({{}, bold_ > 0, code_ > 0, marked_.figures[figure]});
        end += mark_bytes;
      }
      text.remove_prefix(std::min(end, text.size()));
    }
    return 0;
  }

  /// The few entities that a writer may need; others stay as they were typed.
  static std::string_view entity(std::string_view text) {
    if (text == "&lt;") return "<";
    if (text == "&gt;") return ">";
    if (text == "&amp;") return "&";
    if (text == "&nbsp;") return "\u00A0";
    return text;
  }

  void add_text(ProseBlock& block, std::string_view text) const {
    const bool code = code_ > 0 || block.kind == ProseBlock::Kind::code;
    if (!block.runs.empty()) {
      ProseRun& last = block.runs.back();
      if (!last.figure && last.bold == (bold_ > 0) && last.code == code) {
        last.text += text;
        return;
      }
    }
    block.runs.push_back({std::string(text), bold_ > 0, code, std::nullopt});
  }

  ProseBlock& begin(ProseBlock::Kind kind) {
    ProseBlock& block = prose().emplace_back();
    block.kind = kind;
    block.line = line_;
    return block;
  }

  /// md4c hands out pieces of the text it was given, except for line ends and blanks of its own.
  void find_line(std::string_view text) {
    const char* const first = marked_.text.data();
    if (std::less<>()(text.data(), first) || !std::less<>()(text.data(), first + marked_.text.size())) return;
    const auto at = static_cast<std::size_t>(text.data() - first);
    line_ = first_line_ + static_cast<int>(std::lower_bound(line_ends_.begin(), line_ends_.end(), at) - line_ends_.begin());
  }

  const Marked& marked_;
  std::string_view origin_;
  std::span<const std::string_view> kinds_;
  int first_line_;
  std::vector<std::size_t> line_ends_;
  MarkdownText out_;
  std::vector<List> lists_;
  std::string error_;
  int line_ = 1, bold_ = 0, code_ = 0;
  bool in_title_ = false, in_fence_ = false, fresh_item_ = false;
};

}  // namespace

Error error_at(std::string_view origin, int line, std::string_view sentence) {
  return Error{fmt::format("{}:{}: {}", printable(origin, 200), std::max(1, line), sentence)};
}

std::string_view to_string(FigureUnit unit) {
  for (const UnitName& row : unit_names)
    if (row.unit == unit) return row.name;
  return "";
}

std::optional<FigureUnit> figure_unit_from(std::string_view name) {
  for (const UnitName& row : unit_names)
    if (row.name == name) return row.unit;
  return std::nullopt;
}

std::string figure_unit_hint(std::string_view name) {
  std::vector<std::string_view> names;
  for (const UnitName& row : unit_names) names.push_back(row.name);
  return name_hint(name, names);
}

Result<MarkdownText> parse_markdown(std::string_view text, std::string_view origin, std::span<const std::string_view> kinds,
                                    int first_line) {
  const Result<Marked> marked = Marker(text, origin, first_line).mark();
  if (!marked) return marked.error();
  return Walker(*marked, origin, kinds, first_line).walk();
}

Result<Prose> parse_prose(std::string_view text, std::string_view origin, int line) {
  Result<MarkdownText> parsed = parse_markdown(text, origin, {}, line);
  if (!parsed) return parsed.error();
  if (!parsed->pages.empty())
    return Error{fmt::format("{}:{}: a text inside a block cannot begin a page: use ### or no heading", printable(origin, 200),
                             parsed->pages.front().line)};
  return std::move(parsed->before);
}

std::vector<const FigureText*> figures_of(const Prose& prose) {
  std::vector<const FigureText*> out;
  for (const ProseBlock& block : prose)
    for (const ProseRun& run : block.runs)
      if (run.figure) out.push_back(&*run.figure);
  return out;
}

std::string plain_text(const Prose& prose) {
  std::string out;
  for (const ProseBlock& block : prose) {
    if (!out.empty()) out += ' ';
    for (const ProseRun& run : block.runs) out += run.figure ? "{}" : run.text;
  }
  return out;
}

}  // namespace tilescope
