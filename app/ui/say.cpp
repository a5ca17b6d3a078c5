// The window's names of a request's settings, and units kept with their numbers.
#include "app/ui/say.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

/// Units written by sim/analysis/format.h; a prefix alone shortens a count.
constexpr std::array<std::string_view, 25> units = {
    "B",  "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB",   "TiB",    "GB/s",    "B/cycle",   "ns", "µs",
    "ms", "s",  "%",  "k",  "M",  "G",   "T",   "bytes", "cycles", "threads", "registers", "SMs"};

bool begins_with_unit(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" ,.;:)\n"));
  return std::find(units.begin(), units.end(), word) != units.end();
}

}  // namespace

const char* control_name(Setting setting) {
  switch (setting) {
    case Setting::batch:
      return tr("B");
    case Setting::heads:
      return tr("H");
    case Setting::kv_heads:
      return tr("key heads");
    case Setting::seq:
      return tr("N");
    case Setting::seq_kv:
      return tr("keys");
    case Setting::head_dim:
      return tr("d");
    case Setting::dtype:
      return tr("type");
    case Setting::causal:
      return tr("causal");
    case Setting::pass:
      return tr("pass");
    case Setting::algorithm:
      return tr("algorithm");
    case Setting::block_q:
      return tr("Br");
    case Setting::block_kv:
      return tr("Bc");
    case Setting::stages:
      return tr("K, V buffers");
    case Setting::blocks_per_sm:
      return tr("blocks per SM");
    case Setting::key_order:
      return tr("key order");
    case Setting::suite:
      return tr("suite");
    case Setting::set:
      return tr("What if");
    case Setting::mask:
      return tr("mask");
    case Setting::score:
      return tr("score change");
    case Setting::preset:
      return tr("preset");
    case Setting::table:
      return tr("table");
    case Setting::mask_block:
      return tr("mask block");
    case Setting::page_size:
      return tr("page size");
    case Setting::page_order:
      return tr("page order");
  }
  return "";
}

std::string say(const Sentence& sentence) {
  return with_units_kept(sentence.text(control_name, [](const std::string& pattern) { return tr(pattern.c_str()); }));
}

std::string spec_key_name(const SpecKey& key) {
  const std::string meaning = translated(key.meaning);
  std::size_t end = meaning.size();
  for (const std::string_view after : {", ", "; ", ". "}) end = std::min(end, meaning.find(after));
  return meaning.substr(0, end - (end > 0 && meaning[end - 1] == '.' ? 1 : 0));
}

std::string with_units_kept(std::string_view sentence) {
  std::string out;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const bool after_digit = i > 0 && sentence[i - 1] >= '0' && sentence[i - 1] <= '9';
    if (sentence[i] == ' ' && after_digit && begins_with_unit(sentence.substr(i + 1)))
      out += "\u00A0";
    else
      out += sentence[i];
  }
  return out;
}

}  // namespace tilescope
