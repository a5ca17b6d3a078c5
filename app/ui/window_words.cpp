// Flags and the controls that stand for them; units and the numbers before them.
#include "app/ui/window_words.h"

#include <algorithm>
#include <array>

#include "app/ui/language.h"

namespace tilescope {

namespace {

struct Control {
  std::string_view flag;
  const char* name;
};

/// Longer flags before those that they begin with.
constexpr std::array controls = {Control{"--seq-kv", "keys"},
                                 Control{"--seq", "N"},
                                 Control{"--head-dim", "d"},
                                 Control{"--heads", "H"},
                                 Control{"--kv-heads", "key heads"},
                                 Control{"--batch", "B"},
                                 Control{"--block-q", "Br"},
                                 Control{"--block-kv", "Bc"},
                                 Control{"--blocks-per-sm", "blocks on an SM"},
                                 Control{"--stages", "buffers of K and V"}};

/// As sim/analysis/format.h writes them: sizes, rates and times; a prefix alone shortens a count.
constexpr std::array<std::string_view, 25> units = {
    "B",  "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB",   "TiB",    "GB/s",    "B/cycle",   "ns", "µs",
    "ms", "s",  "%",  "k",  "M",  "G",   "T",   "bytes", "cycles", "threads", "registers", "SMs"};

bool begins_with_unit(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" ,.;:)\n"));
  return std::find(units.begin(), units.end(), word) != units.end();
}

}  // namespace

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

std::string window_words(std::string_view sentence) {
  std::string out;
  while (!sentence.empty()) {
    const auto control =
        std::find_if(controls.begin(), controls.end(), [&](const Control& c) { return sentence.starts_with(c.flag); });
    if (control == controls.end()) {
      out += sentence.front();
      sentence.remove_prefix(1);
    } else {
      out += tr(control->name);
      sentence.remove_prefix(control->flag.size());
    }
  }
  return with_units_kept(out);
}

}  // namespace tilescope
