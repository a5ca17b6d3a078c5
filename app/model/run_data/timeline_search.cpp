// Names are compared once for each kind of operation; steps are found from intervals.
#include "app/model/run_data/timeline_search.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace tilescope {

namespace {

/// In lower case, with plain digits in the place of subscripts and a plain prime.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    constexpr std::string_view subscript_start = "\xE2\x82";  // U+2080 to U+2089
    constexpr std::string_view prime = "\xE2\x80\xB2";
    if (rest.size() >= 3 && rest.starts_with(subscript_start)) {
      const auto digit = static_cast<unsigned char>(rest[2]);
      if (digit >= 0x80 && digit <= 0x89) {
        out += static_cast<char>('0' + (digit - 0x80));
        i += 2;
        continue;
      }
    }
    if (rest.starts_with(prime)) {
      out += '\'';
      i += 2;
      continue;
    }
    out += text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> steps_named(const Simulation& simulation, const StepIndex& steps, std::string_view text) {
  std::vector<std::int64_t> found;
  const std::string wanted = plain(text);
  if (wanted.empty()) return found;
  const auto listing = simulation.info->listing;
  std::vector<bool> on_line(listing.size() + 1, false);
  for (std::size_t line = 0; line < listing.size(); ++line)
    on_line[line + 1] = plain(listing[line].text).find(wanted) != std::string::npos;
  std::map<std::tuple<std::size_t, std::size_t, std::int32_t, std::int32_t, bool>, bool> named;
  for (std::size_t i = 0; i < steps.labels.size(); ++i) {
    const StepLabel& label = steps.labels[i];
    bool fits = label.line < on_line.size() && on_line[label.line];
    if (!fits) {
      const std::tuple key(label.tensor.index(), label.chip_tile.index(), label.row, label.col, label.moves);
      const auto [at, fresh] = named.try_emplace(key, false);
      if (fresh) at->second = plain(step_name(simulation, label)).find(wanted) != std::string::npos;
      fits = at->second;
    }
    if (fits) found.push_back(simulation.trace->step_of_interval(steps.sm, i));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::int64_t> next_stall(const Simulation& simulation, const StepIndex& steps, std::int64_t from, int direction) {
  std::optional<std::int64_t> best;
  const auto intervals = simulation.trace->intervals(steps.sm);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    const bool stalled = interval.cause != WaitCause::none && interval.cause != WaitCause::program_order &&
                         interval.start - interval.ready >= least_stall_cycles;
    if (!stalled) continue;
    const std::int64_t step = simulation.trace->step_of_interval(steps.sm, i);
    if (direction > 0 ? step <= from : step >= from) continue;
    if (!best || (direction > 0 ? step < *best : step > *best)) best = step;
  }
  return best;
}

std::optional<std::size_t> interval_of_step(const Simulation& simulation, const StepIndex& steps, std::int64_t step) {
  const std::size_t count = simulation.trace->intervals(steps.sm).size();
  for (std::size_t i = 0; i < count; ++i)
    if (simulation.trace->step_of_interval(steps.sm, i) == step) return i;
  return std::nullopt;
}

}  // namespace tilescope
