// Sentence: an error message as a pattern with its values, so that the command line and the window can name settings and translate
// it in their own way. A value can be a sentence of its own: "my.toml:3: {}" holds what is wrong in line 3.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tilescope {

/// A setting of a request. The command line prints `--seq` where the window prints `N`.
enum class Setting : std::uint8_t {
  batch,
  heads,
  kv_heads,
  seq,
  seq_kv,
  head_dim,
  dtype,
  causal,
  pass,
  algorithm,
  block_q,
  block_kv,
  stages,
  blocks_per_sm,
  key_order,
  suite,
  set,
  mask,
  score,
  preset,
  table,
  mask_block,
  page_size,
  page_order,
  table_gradient
};

/// Returns the name of a setting in JSON and in Sentence::text(), such as "block_q".
std::string_view to_string(Setting setting);

class Sentence {
 public:
  using Inner = std::shared_ptr<const Sentence>;  // never null
  using Value = std::variant<std::int64_t, double, std::string, Setting, Inner>;

  Sentence() = default;
  /// Holds fixed text, which reads the same everywhere.
  Sentence(std::string words) : pattern_(std::move(words)) {}
  Sentence(const char* words) : pattern_(words) {}

  /// Holds a {fmt} pattern with its values; phrase() and refuse() check it at compile time.
  Sentence(std::string_view pattern, std::vector<Value> values)
      : pattern_(pattern), values_(std::move(values)), is_pattern_(true) {}

  bool empty() const { return pattern_.empty(); }

  /// Formats the sentence with the JSON names of its settings.
  std::string text() const;
  /// Formats the sentence and those inside it. `name` returns the text of a setting, `translate` the pattern in another language.
  std::string text(const std::function<std::string(Setting)>& name,
                   const std::function<std::string(const std::string&)>& translate = nullptr) const;
  operator std::string() const { return text(); }
  bool operator==(const Sentence& other) const;
  friend bool operator==(const Sentence& a, std::string_view b) { return a.text() == b; }

 private:
  std::string pattern_;
  std::vector<Value> values_;
  bool is_pattern_ = false;
};

}  // namespace tilescope
