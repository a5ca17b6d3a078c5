// One function a table.
#include "app/cli/csv_sheets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/csv_field.h"
#include "app/cli/csv_studies.h"
#include "app/model/run_data/step_index.h"
#include "sim/analysis/launch_balance.h"
#include "sim/analysis/link_bins.h"

namespace tilescope {

namespace {

std::string_view launch_name(const Simulation& simulation, int launch) {
  return simulation.launches[static_cast<std::size_t>(launch)].name;
}

std::string line_text(const Simulation& simulation, int line) {
  const auto listing = simulation.info->listing;
  const bool there = line >= 1 && line <= static_cast<int>(listing.size());
  return there ? csv_field(listing[static_cast<std::size_t>(line) - 1].text) : std::string();
}

std::string traffic_sheet(const Simulation& simulation) {
  std::string out = "tensor,link,bytes,closed_form_bytes,formula\n";
  const std::optional<ClosedForm> form = simulation.program->closed_form();
  for (Tensor tensor : simulation.program->tensors())
    for (Link link : all_links) {
      const std::int64_t bytes = simulation.ledger.total(tensor, link).value;
      std::optional<std::int64_t> expected;
      std::string formula;
      if (form)
        for (const ClosedFormTerm& term : form->terms) {
          if (term.tensor != tensor || term.link != link) continue;
          expected = expected.value_or(0) + term.bytes.value;
          formula += (formula.empty() ? "" : " + ") + term.formula;
        }
      if (bytes == 0 && !expected) continue;
      out += fmt::format("{},{},{},{},{}\n", to_string(tensor), to_string(link), bytes,
                         expected ? fmt::format("{}", *expected) : std::string(), csv_field(formula));
    }
  return out;
}

std::string ledger(const Simulation& simulation) {
  std::string out = "launch,launch_name,tensor,link,line,line_text,bytes\n";
  for (const LedgerEntry& entry : simulation.ledger.entries())
    out += fmt::format("{},{},{},{},{},{},{}\n", entry.launch + 1, csv_field(launch_name(simulation, entry.launch)),
                       to_string(entry.tensor), to_string(entry.link), entry.line, line_text(simulation, entry.line), entry.bytes);
  return out;
}

std::string launches_sheet(const Simulation& simulation) {
  std::string out =
      "launch,name,blocks,threads,shared_bytes,blocks_per_sm,waves,tiles_per_block,start_cycle,end_cycle,cycles,hbm_bytes\n";
  const auto times = simulation.trace->launches();
  for (std::size_t i = 0; i < simulation.launches.size(); ++i) {
    const LaunchResult& launch = simulation.launches[i];
    const LaunchWaves waves = waves_of(simulation, i);
    out += fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{:.1f},{:.1f},{:.1f},{:.0f}\n", i + 1, csv_field(launch.name), waves.blocks,
                       launch.threads, launch.shared_bytes, launch.blocks_per_sm, waves.waves, waves.tiles_per_block,
                       times[i].start, times[i].end, launch.cycles.value, launch.hbm_bytes);
  }
  return out;
}

std::string steps(const Simulation& simulation) {
  std::string out = "step,sm,launch,block,line,line_text,unit,start_cycle,end_cycle,waited_cycles,cause,bytes,hbm_read_bytes\n";
  const Trace& trace = *simulation.trace;
  const int sm = trace.focused_sms().front();
  const StepIndex index = make_step_index(simulation, sm);
  const auto intervals = trace.intervals(sm);
  std::vector<std::string> rows(intervals.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    const BlockRun& run = trace.runs()[static_cast<std::size_t>(interval.run)];
    const int line = index.labels[i].line;
    const std::int64_t step = trace.step_of_interval(sm, i);
    rows[static_cast<std::size_t>(step) - 1] =
        fmt::format("{},{},{},{},{},{},{},{:.1f},{:.1f},{:.1f},{},{},{}\n", step, sm, run.launch + 1, run.block, line,
                    line_text(simulation, line), csv_field(to_string(interval.unit)), interval.start, interval.end,
                    interval.start - interval.ready, csv_field(to_string(interval.cause)), interval.bytes, interval.hbm_bytes);
  }
  for (const std::string& row : rows) out += row;
  return out;
}

std::string waits(const Simulation& simulation) {
  std::string out = "sm,unit,cause,operations,waited_cycles\n";
  struct Sum {
    std::int64_t operations = 0;
    double cycles = 0;
  };
  const Trace& trace = *simulation.trace;
  const int sm = trace.focused_sms().front();
  std::map<std::pair<Unit, WaitCause>, Sum> sums;
  for (const Interval& interval : trace.intervals(sm)) {
    if (interval.start <= interval.ready) continue;
    Sum& sum = sums[{interval.unit, interval.cause}];
    ++sum.operations;
    sum.cycles += interval.start - interval.ready;
  }
  for (const auto& [key, sum] : sums)
    out += fmt::format("{},{},{},{},{:.1f}\n", sm, csv_field(to_string(key.first)), csv_field(to_string(key.second)),
                       sum.operations, sum.cycles);
  return out;
}

std::string bandwidth(const Simulation& simulation) {
  std::string out = "start_cycle,end_cycle";
  for (Link link : all_links) out += fmt::format(",{}_bytes", to_string(link));
  out += '\n';
  const TimeBins& bins = simulation.trace->bins();
  const GpuSpec& gpu = simulation.request.gpu;
  // Links that share a rate, and the most that they carry together in a cycle; 0: no limit.
  struct Shared {
    std::vector<Link> links;
    double most;
  };
  std::array<std::vector<double>, link_count> by_link;
  for (const Shared& shared :
       {Shared{{Link::hbm_read, Link::hbm_write}, hbm_peak(gpu)},
        Shared{{Link::smem_read, Link::smem_write}, gpu.sm_count * gpu.sm_shared_bytes_per_cycle}, Shared{{Link::peer_read}, 0}}) {
    std::vector<std::vector<double>> bytes = link_bytes_by_bin(bins, shared.links, shared.most);
    for (std::size_t i = 0; i < bytes.size(); ++i) by_link[static_cast<std::size_t>(shared.links[i])] = std::move(bytes[i]);
  }
  auto l2 = l2_bytes_by_bin(bins, gpu);
  by_link[static_cast<std::size_t>(Link::l2_to_sm)] = std::move(l2[0]);
  by_link[static_cast<std::size_t>(Link::sm_to_l2)] = std::move(l2[1]);
  std::array<double, link_count> so_far{};  // whole bytes, so that a column adds up to the ledger
  std::size_t rows = 0;                     // those after the end of the run have what HBM still writes then
  for (const std::vector<double>& bytes : by_link) rows = std::max(rows, bytes.size());
  for (std::size_t i = 0; i < rows; ++i) {
    out += fmt::format("{:.1f},{:.1f}", static_cast<double>(i) * bins.width, static_cast<double>(i + 1) * bins.width);
    for (Link link : all_links) {
      const std::vector<double>& bytes = by_link[static_cast<std::size_t>(link)];
      double& sum = so_far[static_cast<std::size_t>(link)];
      const double before = sum;
      if (i < bytes.size()) sum += bytes[i];
      out += fmt::format(",{}", std::llround(sum) - std::llround(before));
    }
    out += '\n';
  }
  return out;
}

constexpr std::array sheets = {
    CsvSheet{"traffic", &traffic_sheet}, CsvSheet{"ledger", &ledger},  CsvSheet{"launches", &launches_sheet},
    CsvSheet{"steps", &steps},           CsvSheet{"waits", &waits},    CsvSheet{"bandwidth", &bandwidth},
    CsvSheet{"what_if", &what_if_sheet}, CsvSheet{"fit", &fit_sheet},  CsvSheet{"compare", &compare_sheet},
    CsvSheet{"ladder", &ladder_sheet},   CsvSheet{"mask", &mask_sheet}};

}  // namespace

std::span<const CsvSheet> csv_sheets() {
  return sheets;
}

}  // namespace tilescope
