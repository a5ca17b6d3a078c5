// Draws tiles in flight: eased along their path, kept apart if they share it, labelled if there is room.
#include <algorithm>
#include <cmath>
#include "app/ui/say.h"
#include "app/ui/short_line.h"

#include "app/ui/widgets.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/analysis/softmax_row.h"
#include "sim/core/mask.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

template <class T>
void add_new(std::vector<T>& list, const T& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

/// One drawn token: a flight, or several of one tensor that move together.
struct Token {
  const TileInFlight* flight = nullptr;  // the one that is drawn
  int flights = 0;                       // that it stands for
  std::vector<TileRef> tiles;            // of them, each once
  std::vector<std::int32_t> sms;
  std::int64_t bytes = 0, hbm_bytes = 0;
  int ring = -1;  // its destination buffer; -1 for another block's
  FlightPath path;
  float left = 0;  // remaining distance
  float tail = 0;  // unshared part of it, from the port to its buffer
  ImVec2 center;
  float size = 0;
  /// None of its bytes has crossed: latency, or others come first.
  bool waits() const { return flight->progress <= 0; }
  void add(const TileInFlight& other) {
    ++flights;
    bytes += other.bytes, hbm_bytes += other.hbm_bytes;
    add_new(tiles, other.tile), add_new(sms, other.sm);
  }
  void add(const Token& other) {
    flights += other.flights;
    bytes += other.bytes, hbm_bytes += other.hbm_bytes;
    for (const TileRef& tile : other.tiles) add_new(tiles, tile);
    for (const std::int32_t sm : other.sms) add_new(sms, sm);
  }
};

/// Returns a flight's destination buffer in the shown block, or -1.
int ring_of(const StageContext& context, const TileInFlight& flight) {
  if (flight.sm != context.lane.focus_sm) return -1;
  for (const ChipTileState& state : context.lane.state.chip_tiles) {
    if (state.run == context.lane.rest.run && state.chip_tile == flight.chip_tile && state.arriving && state.tile == flight.tile)
      return state.ring;
  }
  return -1;
}

/// Merges flights that are close together into one token with a number.
bool together(const Token& token, const TileInFlight& flight, int ring) {
  const TileInFlight& other = *token.flight;
  return other.sm == flight.sm && other.to_sm == flight.to_sm && other.adds == flight.adds &&
         other.tile.tensor == flight.tile.tensor && token.ring == ring && (ring < 0 || other.tile == flight.tile) &&
         (other.hbm_bytes > 0) == (flight.hbm_bytes > 0) && (other.progress > 0) == (flight.progress > 0) &&
         std::abs(other.progress - flight.progress) < 0.08;
}

void add_flight(const StageContext& context, const TileInFlight& flight, std::vector<Token>& tokens) {
  const int ring = ring_of(context, flight);
  const bool waits = flight.to_sm && flight.progress <= 0;
  const auto& flights = context.lane.state.flights;
  const bool all_known = context.simulation().trace->focused_sms().size() == context.lane.state.sms.size();
  const WaitsAt at = waits && context.layout().has_l2 ? waits_at(flight, flights, all_known) : WaitsAt::hbm;
  if (const TileInFlight* fetch = waits && flight.hbm_bytes == 0 ? fetch_of(flight.tile, flights) : nullptr;
      fetch != nullptr && fetch->progress > 0)
    return;  // it waits for bytes that are drawn on their way
  for (Token& token : tokens) {
    const TileInFlight& other = *token.flight;
    const bool same_request = waits && at == WaitsAt::hbm && token.waits() && other.to_sm && other.tile == flight.tile;
    if (!same_request && !together(token, flight, ring)) continue;
    token.add(flight);
    if (same_request && flight.hbm_bytes > other.hbm_bytes) token.flight = &flight;
    return;
  }
  const TensorLayout layout = tensor_layout(context.problem(), context.simulation().program->tile(), flight.tile.tensor);
  const std::int64_t shown = plane_of(context.problem(), flight.tile.tensor->planes, context.cache.history->plane());
  auto path = flight_path(context.layout(), flight, layout, context.lane.focus_sm, std::max(ring, 0), shown);
  if (!path) return;
  if (waits && at == WaitsAt::hbm && flight.hbm_bytes == 0 && context.layout().has_l2) {
    path->points.insert(path->points.begin(), tile_in_hbm(context.layout(), flight, layout, shown));
    ++path->port;
    ++path->jump;
  }
  if (waits && at == WaitsAt::link) path->points.front() = path->points[1];
  if (waits && at == WaitsAt::l2) {
    ImVec2& front = path->points.front();
    const Rect& l2 = context.layout().l2;
    const CellSpan held = span_in_l2(context, flight.tile.tensor);
    front.x = held.begin + (front.y - l2.min.y) / l2.height() * (held.end - held.begin);
  }
  Token token;
  token.flight = &flight;
  token.add(flight);
  token.ring = ring;
  token.left = (1 - ease(static_cast<float>(flight.progress))) * path->length();
  token.tail = flight.to_sm ? path->length_from(path->port) : 0;
  token.path = std::move(*path);
  token.size = context.px(flight.sm == context.lane.focus_sm && !context.alone ? 16 : 13);
  tokens.push_back(std::move(token));
}

/// Puts the requests that wait at the link of the focused SM left of it, above the L2, in columns.
void spread_at_link(const StageContext& context, std::vector<Token>& tokens) {
  const Rect& port = context.layout().port_up;
  int count = 0;
  for (Token& token : tokens) {
    if (!token.waits() || token.center.x != port.center().x || token.center.y != port.max.y) continue;
    const float each = token.size + context.px(3);
    const int rows = std::max(1, static_cast<int>(port.height() / each));
    const int column = count / rows, row = count % rows;
    token.center = {port.min.x - (static_cast<float>(column) + 0.5F) * each, port.max.y - (static_cast<float>(row) + 0.5F) * each};
    ++count;
  }
}

Rect rect_of(const Token& token) {
  const float half = token.size / 2;
  return {{std::round(token.center.x - half), std::round(token.center.y - half)},
          {std::round(token.center.x + half), std::round(token.center.y + half)}};
}

/// Small tiles bring many tokens to one spot. Those of one tensor that would lie on one another are one, and a token that waits
/// stands beside one that moves.
std::vector<Token> thinned(const StageContext& context, std::vector<Token> tokens) {
  std::stable_partition(tokens.begin(), tokens.end(),
                        [&](const Token& token) { return !token.waits() && token.flight->sm == context.lane.focus_sm; });
  std::vector<Token> kept;
  for (Token& token : tokens) {
    const auto on = [&](bool waits) {
      return std::ranges::find_if(kept, [&](const Token& other) {
        return other.waits() == waits && other.flight->tile.tensor == token.flight->tile.tensor &&
               other.flight->to_sm == token.flight->to_sm && other.flight->adds == token.flight->adds &&
               rect_of(other).overlaps(rect_of(token));
      });
    };
    if (token.waits() && on(false) != kept.end()) token.center.x += token.size + context.px(3);
    const auto other = on(token.waits());
    if (other == kept.end()) {
      kept.push_back(std::move(token));
      continue;
    }
    other->add(token);
  }
  return kept;
}

std::vector<Token> tokens_of(const StageContext& context) {
  std::vector<Token> tokens;
  for (const TileInFlight& flight : context.lane.state.flights) add_flight(context, flight, tokens);
  std::stable_sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.left - a.tail < b.left - b.tail; });
  // Simultaneous flights queue behind each other, as on the link.
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool share = tokens[j].flight->sm == tokens[i].flight->sm && tokens[j].flight->to_sm == tokens[i].flight->to_sm;
      const float apart = tokens[i].size + context.px(2);
      const float ahead = tokens[j].left - tokens[j].tail;
      const bool same_end = tokens[i].ring == tokens[j].ring && tokens[i].flight->chip_tile == tokens[j].flight->chip_tile;
      if (!share || tokens[i].waits() || (ahead < 0 && !same_end))
        continue;  // beyond the port, paths to different buffers separate
      tokens[i].left = std::max(tokens[i].left, ahead + apart + tokens[i].tail);
    }
    tokens[i].center =
        tokens[i].waits() ? tokens[i].path.points.front() : tokens[i].path.at(tokens[i].path.length() - tokens[i].left);
  }
  spread_at_link(context, tokens);
  return thinned(context, std::move(tokens));
}

/// Returns one sum before and after an addition of the block in focus: "dQ_acc[16,0] = 0.213 + 0.0336 = 0.2466". Empty for other
/// flights, and until the values are known.
std::string sum_text(const StageContext& context, const TileInFlight& flight) {
  const Lane& lane = context.lane;
  if (!flight.adds || flight.sm != lane.focus_sm || !lane.history) return {};
  const std::vector<Operation>& all = lane.history->operations().operations;
  const auto adds =
      std::ranges::find_if(all, [&](const Operation& op) { return op.kind == OpKind::reduce_add && op.tile == flight.tile; });
  if (adds == all.end()) return {};
  return formula_with_numbers(*lane.history, static_cast<int>(adds - all.begin()), context.view.workspace->row);
}

/// Labels a token with the tile's name and size between L2 and the focused SM, if there is room.
void draw_label(StageContext& context, const Token& token, std::vector<Rect>& taken) {
  const StageLayout& layout = context.layout();
  const bool on_port = token.center.y > layout.port_up.min.y && token.center.y < layout.port_up.max.y;
  if (context.alone || !on_port || token.waits() || token.flight->sm != context.lane.focus_sm) return;
  const TensorLayout tensor = tensor_layout(context.problem(), context.simulation().program->tile(), token.flight->tile.tensor);
  std::string text = token.tiles.size() > 1
                         ? say("{} × {}", std::to_string(token.tiles.size()), std::string(to_string(token.flight->tile.tensor)))
                         : tile_name(tensor, token.flight->tile);
  if (token.flight->adds) text = "+ " + text;
  text.append("  ").append(format_bytes(Bytes(token.bytes)));
  if (const std::string sum = token.tiles.size() == 1 ? sum_text(context, *token.flight) : std::string(); !sum.empty())
    text.append("  ").append(sum);
  const float left = token.center.x + token.size / 2 + context.px(5), half = context.metrics.small_line / 2;
  const Rect rect = {{left, token.center.y - half}, {left + text_width(context.theme.ui_small, text) + 1, token.center.y + half}};
  for (const Rect& other : taken) {
    if (rect.overlaps(other)) return;
  }
  taken.push_back(rect);
  draw_text(context.list, context.theme.ui_small, rect, context.theme.text_color(token.flight->tile.tensor), text);
}

/// Says how many loads, or stores and additions, a token stands for: "3 loads of 3 SMs, 1,536 B in all".
std::string flights_text(const Token& token) {
  const std::string count = std::to_string(token.flights), sms = std::to_string(token.sms.size());
  std::string bytes = format_exact_bytes(Bytes(token.bytes));
  if (token.flights == 1) return bytes;
  if (token.flight->to_sm)
    return token.sms.size() > 1 ? say(tr("{} loads of {} SMs, {} in all"), count, sms, bytes)
                                : say(tr("{} loads, {} in all"), count, bytes);
  return token.sms.size() > 1 ? say(tr("{} transfers of {} SMs, {} in all"), count, sms, bytes)
                              : say(tr("{} transfers, {} in all"), count, bytes);
}

const char* token_title(const Token& token) {
  const bool several = token.sms.size() > 1;
  if (token.flight->to_sm && token.waits()) return several ? tr("{} requested by several SMs") : tr("{} requested for SM {}");
  if (token.flight->to_sm) return several ? tr("{} in flight for several SMs") : tr("{} in flight to SM {}");
  if (token.waits()) return several ? tr("{} waiting to leave several SMs") : tr("{} waiting to leave SM {}");
  return several ? tr("{} in flight from several SMs") : tr("{} in flight from SM {}");
}

void tip_token(StageContext& context, const Token& token) {
  const TileInFlight& flight = *token.flight;
  const TensorLayout layout = tensor_layout(context.problem(), context.simulation().program->tile(), flight.tile.tensor);
  const std::string name = token.tiles.size() > 1 ? say(tr("{} tiles of {}"), std::to_string(token.tiles.size()),
                                                        std::string(to_string(flight.tile.tensor)))
                                                  : tile_name(layout, flight.tile);
  std::string body = flights_text(token) + "\n";
  if (token.waits()) body += std::string(tr("Waiting: no byte has crossed yet")) + "\n";
  if (flight.adds) {
    body += std::string(tr("Added in the L2 to what lies there")) + "\n";
    if (const std::string sum = token.tiles.size() == 1 ? sum_text(context, flight) : std::string(); !sum.empty())
      body += say(tr("{}, with the blocks in order"), sum) + "\n";
  }
  body += flight.to_sm ? say(tr("{} from HBM, the rest L2 hits"), format_exact_bytes(Bytes(token.hbm_bytes)))
                       : std::string(tr("Stays in the L2 until evicted"));
  const char* const title = token_title(token);
  context.tip(token.sms.size() > 1 ? say(title, name) : say(title, name, std::to_string(flight.sm)), std::move(body),
              flight.tile.tensor);
}

}  // namespace

void draw_flights(StageContext& context) {
  const Theme& theme = context.theme;
  const std::vector<Token> tokens = tokens_of(context);
  for (const Token& token : tokens) {
    const Rect rect = rect_of(token);
    const ImU32 color = theme.color(token.flight->tile.tensor);
    if (token.flights > 1) {  // a second edge
      const float shift = context.px(2.5F);
      context.quads.add({.min = {rect.min.x + shift, rect.min.y - shift},
                         .max = {rect.max.x + shift, rect.max.y - shift},
                         .radius = context.px(4),
                         .fill = mix(theme.inset, color, token.waits() ? 0.15F : 0.6F),
                         .border = token.waits() ? color : theme.text_dim,
                         .border_width = context.px(1),
                         .dashed = token.waits()});
    }
    context.quads.add({.min = rect.min,
                       .max = rect.max,
                       .radius = context.px(4),
                       .fill = token.waits() ? mix(theme.inset, color, 0.25F) : color,
                       .border = token.waits() ? color : theme.text,
                       .border_width = context.px(1),
                       .glow = token.waits() ? 0 : context.px(7),
                       .glow_color = with_alpha(color, 0.6F),
                       .dashed = token.waits()});
    // The boxes of TMA that the tile comes in.
    const int boxes = token.flight->to_sm ? box_columns(context, token.flight->tile.tensor, token.flight->tile.cols) : 0;
    for (int box = 1; box < boxes; ++box) {
      const float x = std::round(rect.min.x + rect.width() * static_cast<float>(box) / static_cast<float>(boxes));
      context.quads.add(
          {.min = {x - context.px(0.75F), rect.min.y}, .max = {x + context.px(0.75F), rect.max.y}, .fill = theme.inset});
    }
    if (context.hit(rect)) tip_token(context, token);
  }
  context.flush();
  std::vector<Rect> taken;
  taken.reserve(tokens.size());
  for (const Token& token : tokens) taken.push_back(rect_of(token));
  for (const Token& token : tokens) {
    const Tensor tensor = token.flight->tile.tensor;
    draw_text(context.list, theme.ui_small, rect_of(token),
              token.waits() ? theme.text_color(tensor) : text_on(theme, theme.color(tensor)), formula_text(to_string(tensor)),
              Align::center);
    if (token.flight->adds) {
      const Rect rect = rect_of(token);
      const float size = theme.ui_bold->FontSize;
      draw_text(context.list, theme.ui_bold,
                {{rect.min.x - size, rect.center().y - size / 2}, {rect.min.x - context.px(1), rect.center().y + size / 2}},
                theme.text, "+", Align::right);
    }
    draw_label(context, token, taken);
  }
}

}  // namespace tilescope
