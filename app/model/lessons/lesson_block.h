// LessonBlock: the TOML table of one block of a lesson.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "app/model/lessons/lesson_prose.h"
#include "sim/core/result.h"

namespace tilescope {

/// Reads values by key. The first thing that is wrong is kept; what is read after it is empty.
class LessonBlock {
 public:
  LessonBlock(const Fence& fence, std::string_view origin);

  const std::optional<Error>& error() const { return error_; }
  int line() const { return first_line_; }
  int line_of(std::string_view key) const;
  bool has(std::string_view key) const { return table_.contains(key); }

  /// Keeps an error, unless there is one. `line` counts from the block's first.
  void fail(int line, std::string_view sentence);
  void fail_key(std::string_view key, std::string_view sentence);

  /// Refuses every other key.
  void allow(std::span<const std::string_view> keys);

  std::string text(std::string_view key, bool needed = true);
  /// Returns `usual` for a key that is not there.
  double number(std::string_view key, double usual, double low, double high);
  /// Returns false for a key that is not there.
  bool truth(std::string_view key);
  std::vector<std::string> texts(std::string_view key, std::size_t most, bool needed = true);
  Prose prose(std::string_view key, bool needed = true);
  Prose prose_of(const std::string& words, int line);

  /// Read `key` of the table `of`: rising positive numbers, and a text.
  std::vector<double> numbers(std::string_view of, std::string_view key);
  std::string text_of(std::string_view of, std::string_view key);
  /// Returns the names and the texts of a table.
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view key);

  /// Returns the tables of a list, none with another key than `keys`.
  std::vector<const toml::table*> tables(std::string_view key, std::size_t most, std::span<const std::string_view> keys);
  /// Returns the line of a node, counted from the block's first.
  static int line_of(const toml::node& node);
  std::string text_in(const toml::table& row, std::string_view key);

 private:
  std::string_view origin_;
  int first_line_;
  toml::table table_;
  std::optional<Error> error_;
};

}  // namespace tilescope
