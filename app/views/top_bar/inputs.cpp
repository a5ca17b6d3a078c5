// The popover of the inputs: seed, spread, and a matrix of one's own for Q, K or V, typed or loaded.
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "app/model/requests/requested.h"
#include "app/ui/panel_state.h"
#include "app/ui/typed_limits.h"
#include "app/views/chrome.h"

namespace tilescope {

namespace {

struct MatrixEdit {
  int tensor = 0;
  std::array<std::string, 3> text, path;
};

struct Given {
  Meaning meaning;
  const char* name;
};
constexpr std::array<Given, 3> given_tensors = {{{Meaning::query, "Q"}, {Meaning::key, "K"}, {Meaning::value, "V"}}};

void draw_seed(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  InputSource inputs = view.requested->inputs;
  auto seed = static_cast<std::int64_t>(inputs.seed);
  if (number_field(theme, tr("Seed"), "seed", tr("Seed of the random values; equal seeds give equal values on every machine"), seed,
                   0, 1000000)) {
    inputs.seed = static_cast<std::uint64_t>(seed);
    commands.push(SetInputs{inputs});
  }
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("Spread"));
  item_tooltip(theme, tr("Spread"), tr("Standard deviation; a larger one makes the softmax sharper"));
  ImGui::SameLine(std::round(150 * theme.scale));
  ImGui::SetNextItemWidth(std::round(200 * theme.scale));
  auto spread = static_cast<float>(inputs.spread);
  ImGui::PushFont(theme.mono);
  constexpr float least = 0.01F, most = 8;
  if (ImGui::SliderFloat("##spread", &spread, least, most, "%.2f", ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp)) {
    inputs.spread = static_cast<double>(spread);
    commands.push(SetInputs{inputs});
  }
  ImGui::PopFont();
  note_limits(theme, {static_cast<double>(least), static_cast<double>(most)}, static_cast<double>(spread), item_rect());
}

void draw_matrix(const View& view, Commands& commands, MatrixEdit& edit) {
  const Theme& theme = *view.theme;
  const auto index = static_cast<std::size_t>(edit.tensor);
  const auto [tensor, name] = given_tensors[index];
  const AttentionProblem& p = view.requested->request.problem;
  const auto& given = matrix_of(view.requested->inputs, tensor);
  const std::string shape = fmt::format("{}×{}", tensor == Meaning::query ? p.seq_q : p.seq_kv, p.head_dim);
  text_item(theme.ui_small, theme.text_dim,
            given != nullptr ? fmt::format(fmt::runtime(tr("{} is your {}×{} matrix")), name, given->rows, given->cols)
                             : fmt::format(fmt::runtime(tr("{} is random; your matrix must be {}")), name, shape));
  ImGui::PushFont(theme.mono);
  ImGui::InputTextMultiline("##matrix", &edit.text[index], {std::round(420 * theme.scale), std::round(150 * theme.scale)});
  ImGui::PopFont();
  if (ImGui::Button(tr("Use these numbers"))) commands.push(SetMatrix{tensor, edit.text[index].empty() ? " " : edit.text[index]});
  ImGui::SameLine();
  ImGui::BeginDisabled(given == nullptr);
  if (ImGui::Button(tr("Back to random"))) commands.push(SetMatrix{tensor, {}});
  ImGui::EndDisabled();
  ImGui::SetNextItemWidth(std::round(300 * theme.scale));
  const bool entered =
      ImGui::InputTextWithHint("##path", tr("Path of a CSV file"), &edit.path[index], ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::SameLine();
  if ((ImGui::Button(tr("load")) || entered) && !edit.path[index].empty()) commands.push(SetMatrix{tensor, edit.path[index], true});
  control_message(view, fmt::format("inputs.{}", name));
  control_message(view, "inputs");
}

}  // namespace

void draw_input_controls(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  auto& edit = panel_state<MatrixEdit>("inputs");
  panel_heading(theme, tr("Inputs"), tr("Q, K and V"));
  draw_seed(view, commands);
  divider(theme);
  constexpr std::array<const char*, 3> names = {"Q", "K", "V"};
  if (const auto chosen = segmented(theme, "tensor", names, edit.tensor)) edit.tensor = *chosen;
  draw_matrix(view, commands, edit);
}

}  // namespace tilescope
