// Formats a sentence with the caller's names and language.
#include "sim/core/sentence.h"

#include <fmt/args.h>
#include <fmt/format.h>

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
          if constexpr (std::is_same_v<std::decay_t<decltype(plain)>, Setting>)
            shown.push_back(name(plain));
          else
            shown.push_back(plain);
        },
        value);
  return fmt::vformat(translate ? translate(pattern_) : pattern_, shown);
}

Sentence Sentence::after(std::string_view where) const {
  Sentence placed = *this;
  placed.pattern_.clear();
  for (const char c : where) placed.pattern_.append(is_pattern_ && (c == '{' || c == '}') ? 2 : 1, c);
  placed.pattern_ += pattern_;
  return placed;
}

}  // namespace tilescope
