// The measured column of the traffic panel.
#include "app/views/traffic/traffic_measured.h"

#include <array>
#include <cmath>

#include "app/model/measurements/imported_counters.h"
#include "app/ui/say.h"
#include "app/views/timed_run.h"
#include "sim/analysis/format.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// What a link is held against. Shared memory has no row: its instructions and bank turns are counted otherwise than the model
/// does.
struct MeasuredLink {
  LinkChoice choice;
  Figure figure;
};
constexpr std::array measured_links = {
    MeasuredLink{LinkChoice::l2_to_sm, Figure::l2_to_sm}, MeasuredLink{LinkChoice::sm_to_l2, Figure::sm_to_l2},
    MeasuredLink{LinkChoice::hbm_read, Figure::hbm_read}, MeasuredLink{LinkChoice::hbm_write, Figure::hbm_write}};

std::int64_t whole(double value) {
  return std::llround(value);
}

MeasuredTotal imported_total(const Simulation& simulation, const ImportedCounters& imported, LinkChoice choice) {
  MeasuredTotal out;
  const CaseValidation compared = compare_imported(simulation, imported);
  for (const MeasuredLink& link : measured_links) {
    const auto& c = compared.figure(link.figure);
    if (link.choice != choice || !c) continue;
    out.known = true;
    out.bytes = whole(c->measured.median);
    out.within = c->within();
    out.details = say(tr("Nsight Compute: {}"), format_exact_bytes(Bytes(out.bytes)));
    add_line(out.details, imported.metric(fmt::format("{}_bytes", to_string(link.figure))));
    if (std::isfinite(c->error()))
      add_line(out.details, say(tr("Simulated against measured: {}"), format_signed_percent(c->error())));
  }
  if (const auto lookups = imported.sum("l2_lookup_read_bytes"); lookups && choice == LinkChoice::l2_to_sm)
    add_line(out.details, say(tr("Looked up in the L2, after the coalescer: {}; simulated {}"),
                              format_exact_bytes(Bytes(whole(*lookups))), format_exact_bytes(simulation.l2.looked_up)));
  return out;
}

}  // namespace

const char* measured_heading(const View& view) {
  if (view.measured.imported != nullptr) return tr("Nsight Compute");
  if (view.measured.found == nullptr) return tr("Measured");
  return view.measured.found->bundle->live ? tr("Live") : tr("Recorded");
}

std::string measured_column_meaning(const View& view) {
  if (const ImportedCounters* imported = view.measured.imported) {
    std::string text = say(tr("Counters of Nsight Compute, from {}"), printable(imported->path, 80));
    add_line(text, imported->match.by_name ? tr("Launches matched by name:") : tr("Launches matched by order:"));
    for (const std::string& line : match_lines(*imported)) add_line(text, line);
    for (const Sentence& doubt : doubts(*view.lane().simulation, *imported)) add_line(text, say(doubt));
    if (imported->launches.size() > 1)
      add_line(text, tr("By default ncu flushes the L2 before every launch: HBM has no bound here."));
    if (const auto missing = missing_metrics(*imported)) add_line(text, say(*missing));
    return text;
  }
  if (view.measured.found == nullptr)
    return tr("This problem was not measured. Open a recorded case from the Validate view, or press M to measure on this GPU.");
  const KnownBundle& known = *view.measured.found->bundle;
  return say(known.live ? tr("Live on {}, {}: hardware counters, cold L2.") : tr("Recorded on {}, {}: hardware counters, cold L2."),
             known.bundle.device, day_of(known.bundle.date));
}

MeasuredTotal measured_total(const View& view, LinkChoice choice) {
  MeasuredTotal out;
  if (view.measured.imported != nullptr) return imported_total(*view.lane().simulation, *view.measured.imported, choice);
  if (view.measured.found == nullptr) return out;
  // At the clock of the recording, as `validate` compares them: HBM bytes move a little with the clock.
  const Simulation& timed = timed_run(view);
  const CaseValidation compared = compare(timed, view.measured.found->measured());
  for (const MeasuredLink& link : measured_links) {
    const auto& c = compared.figure(link.figure);
    if (link.choice != choice || !c) continue;
    out.known = true;
    out.bytes = whole(c->measured.median);
    out.within = c->within();
    out.details =
        say(view.measured.found->bundle->live ? tr("Measured live: {} ({} to {})") : tr("Recorded: {} ({} to {})"),
            format_exact_bytes(Bytes(out.bytes)), format_count(whole(c->measured.least)), format_count(whole(c->measured.most)));
    if (std::isfinite(c->error()))
      add_line(out.details, say(tr("Simulated at {}, against measured: {}"), format_clock(timed.request.gpu.sm_clock_hz),
                                format_signed_percent(c->error())));
  }
  const auto& flushed = compared.figure(Figure::hbm_write_after_flush);
  if (choice == LinkChoice::hbm_write && out.known && flushed)
    add_line(out.details, say(tr("Measured with a flush {}: {}"), format_exact_bytes(Bytes(whole(flushed->measured.median))),
                              format_signed_percent(flushed->error())));
  return out;
}

}  // namespace tilescope
