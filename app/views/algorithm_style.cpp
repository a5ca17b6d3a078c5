// Titles, colours and markers of algorithms.
#include "app/views/algorithm_style.h"

#include <array>

#include "app/ui/say.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

/// Returns the index of an algorithm in its family.
std::size_t algorithm_index(std::string_view algorithm) {
  const auto chosen = find_program(algorithm);
  std::size_t index = 0;
  for (const ProgramInfo& row : program_table()) {
    if (row.id == algorithm) return index;
    if (chosen && row.family == (*chosen)->family) ++index;
  }
  return 0;
}

}  // namespace

ImU32 algorithm_color(const Theme& theme, std::string_view algorithm) {
  const auto pale = [&](ImU32 color) { return mix(color, theme.text, 0.5F); };
  const std::array colors = {theme.bad,
                             theme.good,
                             theme.accent,
                             theme.text_dim,
                             theme.highlight,
                             theme.color(Meaning::key),
                             theme.text,
                             theme.color(Meaning::score),
                             theme.color(Meaning::bias),
                             pale(theme.color(Meaning::key)),
                             pale(theme.good),
                             theme.color(Meaning::probability),
                             pale(theme.bad)};
  return colors[algorithm_index(algorithm) % colors.size()];
}

Marker algorithm_marker(std::string_view algorithm) {
  constexpr std::array markers = {Marker::square, Marker::triangle, Marker::circle, Marker::diamond, Marker::ring, Marker::cross};
  return markers[algorithm_index(algorithm) % markers.size()];
}

std::string algorithm_title(std::string_view algorithm) {
  return translated(program_title(algorithm));
}

std::string algorithm_title(std::string_view algorithm, Pass pass) {
  const auto info = find_program(algorithm, pass);
  return info ? translated((*info)->title) : algorithm_title(algorithm);
}

std::string program_summary(const ProgramInfo& info, const AttentionProblem& problem) {
  if (info.choice == nullptr) return translated(info.summary);
  return say(tr("Chooses a rung by head dimension, mask and length. Here: {}."), algorithm_title(info.choice(problem)));
}

}  // namespace tilescope
