// Presets by their names, conditions by their text.
#include "app/views/mask/mask_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/ui/language.h"
#include "app/ui/say.h"
#include "sim/masks/presets.h"

namespace tilescope {

namespace {

/// The words of a name of the mask language: "sliding window".
std::string words_of(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', ' ');
  return translated(out);
}

}  // namespace

std::string preset_words(std::string_view request) {
  const std::size_t colon = request.find(':');
  std::string out = words_of(request.substr(0, colon));
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : request.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    const std::size_t equal = std::min(pair.find('='), pair.size());
    out += ", " + words_of(pair.substr(0, equal));
    if (equal < pair.size()) out.append(" ").append(pair.substr(equal + 1));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  return out;
}

std::vector<std::string> mask_names(const SimulationRequest& request) {
  std::vector<std::string> out;
  if (request.problem.causal) out.emplace_back(tr("causal"));
  for (const std::string& preset : request.masking.presets)
    if (const auto text = preset_text(preset); text && !text->mask.empty()) out.push_back(preset_words(preset));
  out.insert(out.end(), request.masking.masks.begin(), request.masking.masks.end());
  return out;
}

bool has_own_mask(const SimulationRequest& request) {
  return mask_names(request).size() > (request.problem.causal ? 1U : 0U);
}

std::string mask_words(const SimulationRequest& request) {
  return fmt::format("{}", fmt::join(mask_names(request), ", "));
}

std::string brief_mask_words(const SimulationRequest& request) {
  const std::vector<std::string> names = mask_names(request);
  if (names.empty()) return {};
  if (names.size() > 1) return say(tr("{} masks"), names.size());
  if (!request.masking.masks.empty()) return tr("own mask");
  return names.front().substr(0, names.front().find(','));
}

}  // namespace tilescope
