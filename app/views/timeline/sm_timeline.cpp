// Rows of SMs: layout, contents and tooltips.
#include "app/views/timeline/sm_timeline.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/ui/say.h"
#include "app/views/timed_run.h"
#include "app/views/timeline/sm_picture.h"
#include "app/views/timeline/timeline_measured.h"
#include "sim/analysis/format.h"
#include "sim/analysis/launch_balance.h"
#include "sim/core/probe_result.h"

namespace tilescope {

namespace {

constexpr double seconds_at_rest = 0.25;

using Kind = TimelineRow::Kind;

std::string launch_name(const Simulation& simulation, std::size_t launch) {
  const std::string name = launch < simulation.launches.size() ? translated(simulation.launches[launch].name) : std::string();
  return simulation.launches.size() > 1 ? fmt::format("{} {}", launch + 1, name) : name;
}

/// "2.5 waves", "16 blocks, 132 would fill the GPU" of a grid that fills no wave, and of a persistent launch "7.8 tiles per block".
std::string waves_text(const LaunchWaves& waves) {
  if (waves.tiles_per_block > 0) return say(tr("{} tiles per block"), format_times(waves.tiles_per_block));
  if (waves.waves == 1) return tr("1 wave");
  if (waves.waves > 0 && waves.waves < 1)
    return say(waves.blocks == 1 ? tr("{} block, {} would fill the GPU") : tr("{} blocks, {} would fill the GPU"),
               format_count(waves.blocks), format_count(std::llround(static_cast<double>(waves.blocks) / waves.waves)));
  return waves.waves > 0 ? say(tr("{} waves"), format_times(waves.waves)) : std::string();
}

const SmLanes* lanes_of(const SmPanelState& state, const View& view, const TimelineRow& row) {
  if (row.kind == Kind::measured_sms || row.kind == Kind::measured_launches) return state.measured.get();
  return view.lanes[row.group].sm_lanes.get();
}

std::string time_of(double cycles, double clock_hz) {
  return format_time(Nanoseconds(cycles / clock_hz * 1e9));
}

/// Returns the row's clock; a recorded kernel's differs from the simulated one.
double clock_of(const View& view, const TimelineRow& row) {
  if (row.kind == Kind::measured_sms || row.kind == Kind::measured_launches) return view.measured.probe->probe.sm_clock_hz;
  return view.lanes[row.group].simulation->request.gpu.sm_clock_hz;
}

/// " at 1.98 GHz" where other views have the run at its clock under load; else nothing.
std::string at_drawn_clock(const View& view, const TimelineRow& row) {
  const bool has_other = view.studies->under_load != nullptr || view.studies->race != nullptr;
  return has_other ? ' ' + say(tr("at {}"), format_clock(clock_of(view, row))) : std::string();
}

/// The launches of a row: times and colours.
struct LaunchBars {
  std::vector<LaunchTime> times;
  std::vector<Tensor> made;
  double end = 0;
};

LaunchBars launch_bars(const SmPanelState& state, const View& view, const TimelineRow& row) {
  if (const SmLanes* lanes = lanes_of(state, view, row); lanes != nullptr) return {lanes->launches, lanes->made, lanes->end};
  const Simulation& simulation = *view.lanes[row.group].simulation;
  LaunchBars bars;
  const auto times = simulation.trace->launches();
  bars.times.assign(times.begin(), times.end());
  for (std::size_t i = 0; i < times.size(); ++i) bars.made.push_back(made_by(simulation, static_cast<int>(i)));
  bars.end = simulation.trace->end_cycle();
  return bars;
}

/// What the first launch costs before its blocks begin: a part of the run's time that the axis leaves out. Empty for the others.
std::string launch_cost(const Simulation& simulation, std::size_t launch, bool measured) {
  const double ns = simulation.request.gpu.launch_first_ns;
  return launch > 0 || measured || ns <= 0 ? std::string() : format_time(Nanoseconds(ns));
}

/// Draws one bar per launch with as much text as fits, and the end of the run.
void draw_launch_bars(ImDrawList* list, const SmPanelState& state, const View& view, const TimelineLayout& layout,
                      const TimeWindow& window, const TimelineRow& row) {
  const Theme& theme = *view.theme;
  const Simulation& simulation = *view.lanes[row.group].simulation;
  const LaunchBars bars = launch_bars(state, view, row);
  const ProbeResult* const probe = row.kind == Kind::measured_launches ? &view.measured.probe->probe : nullptr;
  ImFont* const font = row.rect.height() >= theme.ui_bold->FontSize ? theme.ui_bold : theme.ui_small;
  const float pad = 6 * theme.scale;
  float end = layout.plot.min.x;
  for (std::size_t i = 0; i < bars.times.size(); ++i) {
    const LaunchTime& launch = bars.times[i];
    if (launch.end <= launch.start) continue;
    const double left = window.x_of(launch.start, layout.plot.min.x, layout.plot.width()),
                 right = window.x_of(launch.end, layout.plot.min.x, layout.plot.width());
    if (right < layout.plot.min.x || left > layout.plot.max.x) continue;
    const Rect bar = {
        {std::max(static_cast<float>(left), layout.plot.min.x), row.rect.min.y},
        {std::min(std::max(static_cast<float>(right), static_cast<float>(left) + 2), layout.plot.max.x), row.rect.max.y}};
    end = std::max(end, static_cast<float>(std::min(right, static_cast<double>(layout.plot.max.x))));
    const ImU32 color = theme.color(bars.made[i]);
    list->AddRectFilled(bar.min, bar.max, color, 3 * theme.scale);
    // Two clocks share an axis of cycles, so equal lengths are not equal times.
    const std::string cycles = fmt::format("{} {}   ", format_cycles(Cycles(launch.end - launch.start)), tr("cycles"));
    const std::string name = launch_name(simulation, i), first = launch_cost(simulation, i, probe != nullptr);
    const std::string short_time = (state.measured != nullptr ? cycles : std::string()) +
                                   time_of(launch.end - launch.start, clock_of(view, row)),
                      time = short_time + at_drawn_clock(view, row);
    const std::string waves = i < simulation.launches.size() ? waves_text(waves_of(simulation, i)) : std::string();
    std::vector<std::string> texts = {fmt::format("{}   {}   {}", name, time, waves), fmt::format("{}   {}", name, time), name,
                                      fmt::format("{}", i + 1)};
    if (!first.empty()) {
      const std::string both = say(tr("{} + {} to launch"), short_time, first) + at_drawn_clock(view, row);
      texts.insert(texts.begin(), {fmt::format("{}   {}   {}", name, both, waves), fmt::format("{}   {}", name, both)});
    }
    if (const std::string cost = probe != nullptr && i < probe->launches.size()
                                     ? probe_cost(probe->launches[i].probed_ns, probe->launches[i].plain_ns)
                                     : std::string();
        !cost.empty()) {
      // The bar is as long as the blocks by the SM's clock; both times are the launch's, by events.
      texts.insert(texts.begin(), {fmt::format("{}   {}{}", name, cycles, cost), fmt::format("{}   {}", name, cost)});
      if (const std::string against = against_plain(view, *probe); probe->launches.size() == 1 && !against.empty())
        texts.insert(texts.begin(), fmt::format("{}   {}", texts.front(), against));
    }
    for (const std::string& text : texts) {
      if (text_width(font, text) + 2 * pad > bar.width()) continue;
      draw_text(list, font, {{bar.min.x + pad, bar.min.y}, bar.max}, text_on(theme, color), text);
      break;
    }
  }
  // Of a simulation the time of the whole run: what the first launch costs before it begins is not on the axis.
  const bool simulated = bars.end == simulation.trace->end_cycle();
  std::string over = say(tr("Done in {}"), simulated ? format_time(simulation.time) : time_of(bars.end, clock_of(view, row))) +
                     at_drawn_clock(view, row);
  if (probe != nullptr && probe->plain_ns > 0) over = probe_cost(probe->probed_ns, probe->plain_ns);
  if (view.playback.race) {
    const Simulation& rival = *view.lanes[1 - row.group].simulation;
    const double own = timed_in_race(view, row.group).time.value, other = timed_in_race(view, 1 - row.group).time.value;
    const double own_end = simulation.trace->end_cycle(), other_end = rival.trace->end_cycle();
    // A class that watches the race still guesses.
    const bool watched = view.workspace->present && view.playback.cycle < std::max(own_end, other_end);
    if (other > own && !watched) over += say(tr(" ({}× faster)"), format_times(other / own));
  }
  if (window.end >= bars.end && end + 2 * pad + text_width(font, over) < layout.plot.max.x)
    draw_text(list, font, {{end + pad, row.rect.min.y}, {layout.plot.max.x, row.rect.max.y}}, theme.text, over);
  const double playhead = std::floor(window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width()));
  if (playhead < layout.plot.min.x || playhead > layout.plot.max.x) return;
  const auto x = static_cast<float>(playhead), half = std::max(0.75F, 0.75F * theme.scale);
  list->AddRectFilled({x - half, row.rect.min.y}, {x + half, row.rect.max.y}, theme.text);
}

/// Draws "SM 12" as often as there is room, and always for the focused SM.
void draw_row_names(ImDrawList* list, const View& view, const SmRows& rows, const TimelineLayout& layout, const TimelineRow& row) {
  const Theme& theme = *view.theme;
  const float height = row.rect.height() / static_cast<float>(rows.count), line = theme.ui_small->FontSize * 1.05F;
  int every = 1;
  for (const int step : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})
    if (every = step; height * static_cast<float>(step) >= line) break;
  const int focus = view.lanes[row.group].focus_sm;
  const auto middle = [&](int sm) {
    return std::clamp(sm_rect(row, rows, sm).center().y, row.rect.min.y + line * 0.5F, row.rect.max.y - line * 0.5F);
  };
  const Rect in_focus = sm_rect(row, rows, focus);
  const bool focus_shown = row.kind == Kind::sms && in_focus.max.y >= row.rect.min.y && in_focus.min.y < row.rect.max.y;
  const float right = row.rect.min.x - 8 * theme.scale, own = middle(focus);
  const auto name = [&](int sm, ImU32 color, ImFont* font) {
    const float y = middle(sm);
    draw_text(list, font, {{layout.area.min.x, y - line * 0.5F}, {right, y + line * 0.5F}}, color, fmt::format("SM {}", sm),
              Align::right);
  };
  float free_from = row.rect.min.y;  // names at the ends are moved inward, and must not meet others there
  for (int sm = static_cast<int>(rows.first) / every * every; sm < rows.first + rows.count; sm += every) {
    const Rect rect = sm_rect(row, rows, sm);
    if (rect.max.y < row.rect.min.y || rect.min.y >= row.rect.max.y) continue;
    if ((focus_shown && std::abs(middle(sm) - own) < line) || middle(sm) < free_from) continue;
    free_from = middle(sm) + line;
    name(sm, theme.text_faint, theme.ui_small);
  }
  if (!focus_shown) return;
  name(focus, theme.highlight, theme.ui_small);
  const float top = std::max(in_focus.min.y, row.rect.min.y), bottom = std::max(std::min(in_focus.max.y, row.rect.max.y), top + 2);
  list->AddRectFilled({row.rect.min.x - 5 * theme.scale, top}, {row.rect.min.x - theme.scale, bottom}, theme.highlight);
  if (in_focus.height() >= 4)
    list->AddRect({row.rect.min.x, top}, {row.rect.max.x, bottom}, with_alpha(theme.highlight, 0.7F), 0, 0, 1);
}

HoverText block_text(const SmPanelState& state, const View& view, const SmBlock& block) {
  const Lane& lane = view.lanes[block.group];
  const BlockRun& run = block.run;
  HoverText text;
  text.title =
      say(tr("block {} of {}"), format_count(run.block), launch_name(*lane.simulation, static_cast<std::size_t>(run.launch)));
  const double clock = block.measured ? view.measured.probe->probe.sm_clock_hz : lane.simulation->request.gpu.sm_clock_hz;
  text.body = block.measured ? say(tr("Recorded on hardware SM {}, drawn as SM {}"),
                                   state.measured->hardware_sm[static_cast<std::size_t>(run.sm)], run.sm)
                             : say(tr("SM {}, block slot {}"), run.sm, run.slot);
  add_line(text.body, range_text(run.start, run.end) + ", " + time_of(run.end - run.start, clock));
  if (block.measured) {
    add_line(text.body, where_from(view.measured.probe->live, view.measured.probe->probe.device, view.measured.probe->probe.date));
    return text;
  }
  if (const std::string ticket = ticket_sentence(*lane.simulation, run); !ticket.empty()) add_line(text.body, ticket);
  const SmWork* work = lane.sm_works != nullptr ? lane.sm_works->of(run.sm) : nullptr;
  if (work != nullptr) {
    const SmWork::Waits waits = work->longest_wait(run);
    if (waits.cause != WaitCause::none) {
      add_line(text.body, say(tr("Longest stall: {}, {} cycles ({} of its time)"),
                              cause_text(waits.cause, busy_with(*lane.simulation, run.launch)), format_cycles(Cycles(waits.cycles)),
                              format_percent(waits.cycles / (run.end - run.start))));
      add_line(text.body, tr("That is the cause for which this block's operations waited longest, all their waits added up."));
    }
  } else {
    add_line(text.body, tr("Computing its stalls…"));
  }
  add_line(text.body, tr("Click: focus this SM and go to this block."));
  return text;
}

}  // namespace

SmRows all_rows(int sms) {
  return {0, static_cast<double>(sms), static_cast<double>(sms)};
}

SmRows pan_rows(const SmRows& rows, double by) {
  SmRows out = rows;
  out.first = std::clamp(rows.first + by, 0.0, rows.whole - rows.count);
  return out;
}

SmRows snapped_rows(const SmRows& rows) {
  constexpr double few = 32;
  if (rows.count >= few || rows.count >= rows.whole) return rows;
  SmRows out = rows;
  out.count = std::round(rows.count);
  out.first = std::min(std::round(rows.first), rows.whole - out.count);
  return out;
}

SmRows zoom_rows(const SmRows& rows, double at, double factor) {
  SmRows out = rows;
  out.count = std::clamp(rows.count * factor, 1.0, rows.whole);
  out.first = at - (at - rows.first) * out.count / rows.count;
  return pan_rows(out, 0);
}

bool refresh_sm_state(SmPanelState& state, const View& view) {
  double sms = 0;
  for (const Lane& lane : view.lanes) {
    if (lane.sm_lanes == nullptr) return false;
    sms = std::max(sms, static_cast<double>(lane.sm_lanes->sm_count));
  }
  if (state.rows.whole != sms) set_rows(state, all_rows(static_cast<int>(sms)));
  const KnownProbe* probe = view.playback.race ? nullptr : view.measured.probe;
  if (probe != state.measured_of || (probe != nullptr && state.measured_for != view.lane().sm_lanes)) {
    state.measured_of = probe;
    state.measured_for = view.lane().sm_lanes;
    state.measured =
        probe != nullptr ? std::make_shared<const SmLanes>(make_sm_lanes(probe->probe, *view.lane().sm_lanes)) : nullptr;
  }
  return true;
}

double measured_sms_end(const SmPanelState& state) {
  return state.measured != nullptr ? state.measured->end : 0;
}

TimelineLayout lay_out_sm_timeline(const Rect& area, const TimelineShape& shape, bool measured) {
  const float scale = shape.scale;
  TimelineLayout layout = timeline_frame(area, shape);
  const auto parts = static_cast<float>(shape.groups + (measured ? 1 : 0));
  const float between = 5 * scale, height = (layout.plot.height() - between * (parts - 1)) / parts;
  const float strip = std::round(std::min(18 * scale, height * 0.3F));
  const float curve = std::round(std::min(16 * scale, height * 0.18F));
  // Curves go before rows become too few pixels to be told from each other.
  const int curves = height < 46 * scale ? 0 : shape.groups > 1 || height < 84 * scale ? 1 : 2;
  layout.lane_height = curve;
  float y = layout.plot.min.y;
  const auto add_row = [&](Kind kind, std::size_t group, float tall) {
    layout.rows.push_back({kind, group, 0, {{layout.plot.min.x, std::floor(y)}, {layout.plot.max.x, std::floor(y + tall)}}});
    y += tall;
  };
  const float shown =
      shape.groups > 1
          ? height
          : (layout.plot.height() - between * (parts - 1) - strip * parts - curve * static_cast<float>(curves)) / parts;
  for (std::size_t group = 0; group < shape.groups; ++group) {
    add_row(Kind::launches, group, strip);
    y += scale;
    if (curves > 0) add_row(Kind::hbm, group, curve);
    if (curves > 1) add_row(Kind::l2, group, curve);
    add_row(Kind::sms, group, (shape.groups > 1 ? shown - strip - curve * static_cast<float>(curves) : shown) - scale);
    y += between;
  }
  if (measured) {
    add_row(Kind::measured_launches, 0, strip);
    y += scale;
    add_row(Kind::measured_sms, 0, shown - scale);
  }
  return layout;
}

Rect sm_rect(const TimelineRow& row, const SmRows& rows, int sm) {
  const double height = row.rect.height() / rows.count;
  const auto y = [&](double at) { return row.rect.min.y + static_cast<float>(std::floor((at - rows.first) * height)); };
  return {{row.rect.min.x, y(sm)}, {row.rect.max.x, y(sm + 1)}};
}

std::optional<SmBlock> find_sm_block(const SmPanelState& state, const View& view, const TimelineLayout& layout,
                                     const TimeWindow& window, ImVec2 mouse) {
  for (const TimelineRow& row : layout.rows) {
    if ((row.kind != Kind::sms && row.kind != Kind::measured_sms) || !row.rect.contains(mouse)) continue;
    const SmLanes& lanes = *lanes_of(state, view, row);
    const double at = state.rows.first + (mouse.y - row.rect.min.y) / row.rect.height() * state.rows.count;
    const int sm = static_cast<int>(at);
    if (sm < 0 || sm >= lanes.sm_count) return std::nullopt;
    const double cycle = window.cycle_at(mouse.x, layout.plot.min.x, layout.plot.width());
    const int places = lanes.places_of[static_cast<std::size_t>(lanes.launch_at(cycle))];
    const int nearest = std::clamp(static_cast<int>((at - sm) * places), 0, places - 1);
    // The block slot under the mouse; without bands, any occupied one.
    const bool bands = row.rect.height() / state.rows.count / places >= least_bar;
    for (int i = 0; i < (bands ? 1 : places); ++i)
      if (const auto found = lanes.at(sm, (nearest + i) % places, cycle))
        return SmBlock{row.group, row.kind == Kind::measured_sms, lanes.runs[*found]};
    return std::nullopt;
  }
  return std::nullopt;
}

void draw_sm_labels(ImDrawList* list, const SmPanelState& state, const View& view, const TimelineLayout& layout,
                    const TimeWindow& window) {
  const Theme& theme = *view.theme;
  for (const TimelineRow& row : layout.rows) {
    const bool launches = row.kind == Kind::launches || row.kind == Kind::measured_launches;
    if (row.kind == Kind::sms || row.kind == Kind::measured_sms) draw_row_names(list, view, state.rows, layout, row);
    if (!launches) continue;
    draw_launch_bars(list, state, view, layout, window, row);
    const Rect label = {{layout.area.min.x, row.rect.min.y}, {row.rect.min.x - 8 * theme.scale, row.rect.max.y}};
    std::string name = translated(view.lanes[row.group].simulation->info->title);
    if (row.kind == Kind::measured_launches)
      name = view.measured.probe->live ? tr("live") : tr("recorded");
    else if (state.measured != nullptr)
      name = tr("simulated");
    const bool bold = row.rect.height() >= theme.ui_bold->FontSize && text_width(theme.ui_bold, name) <= label.width();
    draw_text(list, bold ? theme.ui_bold : theme.ui_small, label, theme.text, name);
  }
}

void ask_for_works(SmPanelState& state, const View& view, const TimelineLayout& layout, std::optional<SmBlock> under,
                   Commands& commands) {
  const int hovered = under && !under->measured ? under->run.sm : -1;
  if (hovered != state.hovered_sm) state.hovered_seconds = 0;
  state.hovered_sm = hovered;
  state.hovered_seconds += ImGui::GetIO().DeltaTime;
  for (const TimelineRow& row : layout.rows) {
    if (row.kind != Kind::sms) continue;
    const std::shared_ptr<const SmLanes>& lanes = view.lanes[row.group].sm_lanes;
    LookIntoSms wanted;
    if (row.rect.height() / state.rows.count / lanes->places >= least_inside * layout.scale)
      wanted = {static_cast<int>(state.rows.first), static_cast<int>(std::ceil(state.rows.first + state.rows.count)), row.group};
    else if (hovered >= 0 && under->group == row.group && state.hovered_seconds > seconds_at_rest)
      wanted = {hovered, hovered + 1, row.group};
    LookIntoSms& asked = state.asked[row.group];
    if (wanted.last == 0 || (wanted == asked && state.asked_of[row.group] == lanes)) continue;
    asked = wanted;
    state.asked_of[row.group] = lanes;
    commands.push(wanted);
  }
}

HoverText sm_hover(const SmPanelState& state, const View& view, const TimelineLayout& layout, const TimeWindow& window,
                   ImVec2 mouse) {
  if (const auto block = find_sm_block(state, view, layout, window, mouse)) return block_text(state, view, *block);
  for (const TimelineRow& row : layout.rows) {
    if ((row.kind != Kind::launches && row.kind != Kind::measured_launches) || !row.rect.contains(mouse)) continue;
    const Simulation& simulation = *view.lanes[row.group].simulation;
    const LaunchBars bars = launch_bars(state, view, row);
    const double cycle = window.cycle_at(mouse.x, layout.plot.min.x, layout.plot.width());
    std::size_t i = 0;
    while (i + 1 < bars.times.size() && bars.times[i + 1].start <= cycle) ++i;
    if (i >= simulation.launches.size()) return {};
    const LaunchResult& launch = simulation.launches[i];
    HoverText text{launch_name(simulation, i),
                   say(tr("Blocks: {}, of {} threads, {} per SM: {}"), format_count(waves_of(simulation, i).blocks), launch.threads,
                       launch.blocks_per_sm, waves_text(waves_of(simulation, i)))};
    const double cycles = bars.times[i].end - bars.times[i].start;
    add_line(text.body, say(tr("{} cycles, {}"), format_cycles(Cycles(cycles)),
                            time_of(cycles, clock_of(view, row)) + at_drawn_clock(view, row)));
    if (const std::string first = launch_cost(simulation, i, row.kind == Kind::measured_launches); !first.empty())
      add_line(text.body, say(tr("And {} before its blocks begin: the time of the whole run has them, the axis does not."), first));
    if (const SmLanes* lanes = lanes_of(state, view, row); lanes != nullptr && !lanes->complete)
      add_line(text.body, tr("The trace keeps only some of these blocks."));
    if (row.kind == Kind::measured_launches) {
      const ProbeResult& probe = view.measured.probe->probe;
      add_line(text.body, where_from(view.measured.probe->live, probe.device, probe.date));
      const bool has = i < probe.launches.size();
      if (const std::string cost = has ? probe_cost(probe.launches[i].probed_ns, probe.launches[i].plain_ns) : std::string();
          !cost.empty())
        add_line(text.body, cost);
      if (const std::string against = against_plain(view, probe); probe.launches.size() == 1 && !against.empty())
        add_line(text.body, against);
    }
    return text;
  }
  return {};
}

}  // namespace tilescope
