// Draws the tiles on their way: eased along their path, held apart where they share it, and named where there is room.
#include <algorithm>
#include <cmath>

#include "app/stage/flight_path.h"
#include "app/stage/stage_context.h"
#include "app/widgets.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

struct Token {
  const TileInFlight* flight = nullptr;
  FlightPath path;
  float left = 0;       // way still to go; tokens of one SM and direction are kept apart by it
  ImVec2 center;
};

/// The ring buffer a flight is bound for.
int ring_of(const StageContext& context, const TileInFlight& flight) {
  for (const SlotState& state : context.lane.state.slots) {
    if (state.slot == flight.slot && state.arriving && state.tile == flight.tile) return state.ring;
  }
  return 0;
}

std::vector<Token> tokens_of(const StageContext& context, float size) {
  std::vector<Token> tokens;
  const TileShape& tile = context.simulation().program->tile();
  for (const TileInFlight& flight : context.lane.state.flights) {
    const TensorLayout layout = tensor_layout(context.problem(), tile, flight.tile.tensor);
    auto path = flight_path(context.layout(), flight, layout, context.lane.focus_sm, ring_of(context, flight));
    if (!path) continue;
    const float left = (1 - ease(static_cast<float>(flight.progress))) * path->length();
    tokens.push_back({&flight, std::move(*path), left, {}});
  }
  std::stable_sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.left < b.left; });
  // Loads that are issued together are on top of each other: the later ones wait behind, as they do on the link.
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool share = tokens[j].flight->sm == tokens[i].flight->sm && tokens[j].flight->to_sm == tokens[i].flight->to_sm;
      if (share && tokens[i].left < tokens[j].left + size) tokens[i].left = tokens[j].left + size;
    }
    tokens[i].center = tokens[i].path.at(tokens[i].path.length() - tokens[i].left);
  }
  return tokens;
}

bool overlaps(const Rect& a, const Rect& b) { return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y; }

void draw_label(StageContext& context, const Token& token, float size, std::vector<Rect>& taken) {
  const StageLayout& layout = context.layout();
  const float y = token.center.y;
  const bool in_upper = y > layout.port_up.min.y && y < layout.port_up.max.y;
  const bool in_lower = layout.has_l2 && y > layout.l2.max.y && y < layout.hbm.min.y;
  if ((!in_upper && !in_lower) || token.flight->sm != context.lane.focus_sm) return;
  const TensorLayout tensor = tensor_layout(context.problem(), context.simulation().program->tile(), token.flight->tile.tensor);
  std::string text = tile_name(tensor, token.flight->tile);
  if (in_upper) text.append("  ").append(format_bytes(Bytes(token.flight->bytes)));
  const float width = text_width(context.theme.ui_small, text), left = token.center.x + size / 2 + context.px(5);
  const Rect rect = {{left, y - context.metrics.small_line / 2}, {left + width + 1, y + context.metrics.small_line / 2}};
  if (in_lower) return;  // the lane's own note stands there
  for (const Rect& other : taken) {
    if (overlaps(rect, other)) return;
  }
  taken.push_back(rect);
  draw_text(context.list, context.theme.ui_small, rect, context.theme.text_color(token.flight->tile.tensor), text);
}

}  // namespace

void draw_flights(StageContext& context) {
  const Theme& theme = context.theme;
  const float size = context.px(15);
  const std::vector<Token> tokens = tokens_of(context, size + context.px(2));
  for (const Token& token : tokens) {
    const Tensor tensor = token.flight->tile.tensor;
    const Rect rect = {{std::round(token.center.x - size / 2), std::round(token.center.y - size / 2)}, {std::round(token.center.x + size / 2), std::round(token.center.y + size / 2)}};
    context.quads.add({.min = rect.min, .max = rect.max, .radius = context.px(4), .fill = theme.color(tensor), .border = theme.text, .border_width = context.px(1),
                       .glow = context.px(7), .glow_color = with_alpha(theme.color(tensor), 0.6F)});
    if (context.hit(rect)) {
      const TensorLayout layout = tensor_layout(context.problem(), context.simulation().program->tile(), tensor);
      context.tip(fill_in(token.flight->to_sm ? tr("{} on its way to SM {}") : tr("{} on its way from SM {}"), {tile_name(layout, token.flight->tile), std::to_string(token.flight->sm)}),
                  format_exact_bytes(Bytes(token.flight->bytes)) + "\n" +
                      (token.flight->to_sm ? fill_in(tr("{} of it from HBM, the rest was in the L2"), {format_exact_bytes(Bytes(token.flight->hbm_bytes))}) : std::string(tr("stays in the L2 until it is evicted"))),
                  tensor);
    }
  }
  context.flush();
  std::vector<Rect> taken;
  for (const Token& token : tokens) {
    const Tensor tensor = token.flight->tile.tensor;
    const Rect rect = {{token.center.x - size / 2, token.center.y - size / 2}, {token.center.x + size / 2, token.center.y + size / 2}};
    draw_text(context.list, theme.ui_small, rect, text_on(theme, theme.color(tensor)), to_string(tensor), Align::center);
    draw_label(context, token, size, taken);
  }
}

}  // namespace tilescope
