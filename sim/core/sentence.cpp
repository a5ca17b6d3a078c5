// Formats a sentence with the caller's names and language.
#include "sim/core/sentence.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

namespace tilescope {

std::string_view to_string(Setting setting) {
  switch (setting) {
    case Setting::batch:
      return "batch";
    case Setting::heads:
      return "heads";
    case Setting::kv_heads:
      return "kv_heads";
    case Setting::seq:
      return "seq";
    case Setting::seq_kv:
      return "seq_kv";
    case Setting::head_dim:
      return "head_dim";
    case Setting::dtype:
      return "dtype";
    case Setting::causal:
      return "causal";
    case Setting::pass:
      return "pass";
    case Setting::algorithm:
      return "algorithm";
    case Setting::block_q:
      return "block_q";
    case Setting::block_kv:
      return "block_kv";
    case Setting::stages:
      return "stages";
    case Setting::blocks_per_sm:
      return "blocks_per_sm";
    case Setting::key_order:
      return "key_order";
    case Setting::suite:
      return "suite";
    case Setting::set:
      return "set";
    case Setting::mask:
      return "mask";
    case Setting::score:
      return "score";
    case Setting::preset:
      return "preset";
    case Setting::table:
      return "table";
    case Setting::mask_block:
      return "mask_block";
    case Setting::page_size:
      return "page_size";
    case Setting::page_order:
      return "page_order";
    case Setting::table_gradient:
      return "table_gradient";
  }
  return "";
}

std::string Sentence::text() const {
  return text([](Setting setting) { return std::string(to_string(setting)); });
}

std::string Sentence::text(const std::function<std::string(Setting)>& name,
                           const std::function<std::string(const std::string&)>& translate) const {
  if (!is_pattern_) return pattern_;
  fmt::dynamic_format_arg_store<fmt::format_context> shown;
  for (const Value& value : values_)
    std::visit(
        [&](const auto& plain) {
          using Plain = std::decay_t<decltype(plain)>;
          if constexpr (std::is_same_v<Plain, Setting>)
            shown.push_back(name(plain));
          else if constexpr (std::is_same_v<Plain, Inner>)
            shown.push_back(plain->text(name, translate));
          else
            shown.push_back(plain);
        },
        value);
  return fmt::vformat(translate ? translate(pattern_) : pattern_, shown);
}

bool Sentence::operator==(const Sentence& other) const {
  const auto same = [](const Value& a, const Value& b) {
    const auto *inner = std::get_if<Inner>(&a), *other_inner = std::get_if<Inner>(&b);
    return inner != nullptr && other_inner != nullptr ? **inner == **other_inner : a == b;
  };
  return is_pattern_ == other.is_pattern_ && pattern_ == other.pattern_ &&
         std::equal(values_.begin(), values_.end(), other.values_.begin(), other.values_.end(), same);
}

}  // namespace tilescope
