// Flags and the controls that stand for them.
#include "app/panels/window_words.h"

#include <algorithm>
#include <array>

#include "app/view.h"

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

}  // namespace

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
  return out;
}

}  // namespace tilescope
