// Draws measured samples over the simulated HBM curve.
#include "app/views/timeline/timeline_bandwidth.h"

#include <algorithm>
#include <cmath>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "kernels/measure/bandwidth.h"
#include "sim/analysis/format.h"
#include "sim/analysis/link_bins.h"

namespace tilescope {

namespace {

/// The cached curve of the last record.
struct KeptCurve {
  const KnownBandwidth* of = nullptr;
  double clock_hz = 0, ceiling = 0;
  BandwidthCurve curve;
};

const BandwidthCurve& measured_curve(const View& view) {
  auto& kept = panel_state<KeptCurve>("measured bandwidth");
  const GpuSpec& gpu = view.lane().simulation->request.gpu;
  const double ceiling = hbm_peak(gpu);
  if (kept.of != view.measured.bandwidth || kept.clock_hz != gpu.sm_clock_hz || kept.ceiling != ceiling)
    kept = {view.measured.bandwidth, gpu.sm_clock_hz, ceiling, curve_of(view.measured.bandwidth->record, gpu.sm_clock_hz, ceiling)};
  return kept.curve;
}

const TimelineRow* hbm_row(const View& view, const TimelineLayout& layout) {
  if (view.measured.bandwidth == nullptr || view.playback.race) return nullptr;
  for (const TimelineRow& row : layout.rows)
    if (row.kind == TimelineRow::Kind::hbm) return &row;
  return nullptr;
}

std::string name_of(const KnownBandwidth& known) {
  return say(known.live ? tr("live {}") : tr("recorded {}"), day_of(known.record.date));
}

/// Returns where in the strip of launch names `width` is free, as far right as possible; else the row of the curves.
Rect legend_rect(const View& view, const TimeWindow& window, const TimelineLayout& layout, const Rect& row, float width) {
  const Theme& theme = *view.theme;
  const Simulation& simulation = *view.lanes.front().simulation;
  const auto launches = simulation.trace->launches();
  float end = layout.plot.max.x;
  if (layout.launch_strip > 0)
    for (std::size_t i = std::min(launches.size(), simulation.launches.size()); i-- > 0;) {
      const auto start = static_cast<float>(window.x_of(launches[i].start, layout.plot.min.x, layout.plot.width()));
      const float begin = std::max(start, layout.plot.min.x) + 12 * theme.scale +
                          text_width(theme.ui_small, fmt::format("{} {}", i + 1, translated(simulation.launches[i].name)));
      if (end - begin >= width) return {{begin, layout.plot.min.y}, {end, layout.plot.min.y + layout.launch_strip}};
      end = std::min(end, start);
    }
  return row;
}

/// Draws the legend above the curves, next to launch names, or else at the right end of their `row`.
void draw_legend(ImDrawList* list, const View& view, const TimeWindow& window, const TimelineLayout& layout, const Rect& curves) {
  const Theme& theme = *view.theme;
  const float scale = theme.scale, sample = 14 * scale, gap = 5 * scale, thickness = std::max(1.0F, 1.5F * scale);
  const struct {
    std::string text;
    ImU32 color;
  } entries[] = {{tr("simulated"), theme.accent}, {name_of(*view.measured.bandwidth), theme.highlight}};
  float width = 0;
  for (const auto& entry : entries) width += sample + gap + text_width(theme.ui_small, entry.text) + 3 * gap;
  const Rect row = legend_rect(view, window, layout, curves, width);
  if (row.height() < theme.ui_small->FontSize * 0.8F || width > layout.plot.width() * 0.6F) return;
  float x = row.max.x - width;
  list->AddRectFilled({x - gap, row.min.y}, row.max, with_alpha(theme.inset, 0.6F));
  for (const auto& entry : entries) {
    const float middle = std::floor(row.center().y);
    list->AddRectFilled({x, middle}, {x + sample, middle + thickness}, entry.color);
    x += sample + gap;
    const float text = text_width(theme.ui_small, entry.text);
    draw_text(list, theme.ui_small, {{x, row.min.y}, {x + text + gap, row.max.y}}, theme.text_dim, entry.text);
    x += text + 3 * gap;
  }
}

}  // namespace

BandwidthCurve curve_of(const BandwidthRecord& record, double clock_hz, double ceiling) {
  BandwidthCurve curve;
  const double cycles_a_ns = clock_hz / 1e9, origin = busy_from_ns(record.samples);
  curve.bin_width = std::max(record.interval_ns * cycles_a_ns, 1e-9);
  curve.ceiling = ceiling;
  curve.before.push_back(0);
  // Samples are nearly an interval apart, bins exactly: each sample's bytes are spread evenly over its own time.
  double before = 0, end = 0;
  for (const BandwidthSample& s : record.samples) {
    const double from = (s.start_ns - origin) * cycles_a_ns, to = (s.end_ns - origin) * cycles_a_ns,
                 bytes = s.read_bytes + s.write_bytes;
    if (from < -0.5 * curve.bin_width || to <= from) continue;
    while (end + curve.bin_width <= to) {
      end += curve.bin_width;
      curve.before.push_back(before + bytes * std::clamp((end - from) / (to - from), 0.0, 1.0));
    }
    before += bytes;
  }
  return curve;
}

double bandwidth_end(const View& view) {
  if (view.measured.bandwidth == nullptr || view.playback.race || view.lanes.empty()) return 0;
  const BandwidthRecord& record = view.measured.bandwidth->record;
  return record.kernel_ns * view.lane().simulation->request.gpu.sm_clock_hz / 1e9;
}

void draw_measured_bandwidth(ImDrawList* list, const View& view, const TimeWindow& window, const TimelineLayout& layout) {
  const TimelineRow* const row = hbm_row(view, layout);
  if (row == nullptr) return;
  const Theme& theme = *view.theme;
  const BandwidthCurve& curve = measured_curve(view);
  const double top = curve_top(curve);
  if (top <= 0 || curve.before.size() < 2) return;
  constexpr float column = 2;
  const float pad = std::min(2 * theme.scale, row->rect.height() * 0.1F), height = row->rect.height() - 2 * pad;
  const double end = curve.bin_width * static_cast<double>(curve.before.size() - 1);
  std::vector<ImVec2> line;
  for (float x = row->rect.min.x; x < row->rect.max.x; x += column) {
    const double cycle = window.cycle_at(x, layout.plot.min.x, layout.plot.width());
    if (cycle < 0 || cycle > end) continue;
    const double rate = curve_rate_at(curve, window, layout, x + column * 0.5F);
    line.push_back({x, row->rect.max.y - pad - static_cast<float>(std::clamp(rate / top, 0.0, 1.0)) * height});
  }
  list->AddPolyline(line.data(), static_cast<int>(line.size()), theme.highlight, ImDrawFlags_None, 1.4F * theme.scale);
  draw_legend(list, view, window, layout, row->rect);
}

std::string measured_bandwidth_text(const View& view, const TimeWindow& window, const TimelineLayout& layout, float x) {
  if (hbm_row(view, layout) == nullptr) return {};
  const KnownBandwidth& known = *view.measured.bandwidth;
  const double rate = curve_rate_at(measured_curve(view), window, layout, x) * view.lane().simulation->request.gpu.sm_clock_hz;
  std::string text = say(known.live ? tr("live on {}, {}: {}") : tr("recorded on {}, {}: {}"), known.record.device,
                         day_of(known.record.date), format_bandwidth(rate));
  add_line(text, say(tr("Samples every {}, from the first traffic on; the kernel took {}"),
                     format_time(Nanoseconds(known.record.interval_ns)), format_time(Nanoseconds(known.record.kernel_ns))));
  return text;
}

}  // namespace tilescope
