// Finds what is known of the chosen lane; compares, validates and measures in the background.
#include "app/model/session/measured.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "app/model/measurements/block_of_row.h"
#include "app/model/measurements/imported_counters.h"
#include "app/model/measurements/live_measurement.h"
#include "app/model/measurements/validation_run.h"
#include "kernels/measure/date_now.h"
#include "kernels/measure/measure_case.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// The newest of a kind goes first, and takes the place of an older live one of the same.
template <class Known, class Same>
void put_live(std::vector<std::shared_ptr<const Known>>& list, Known known, Same same) {
  std::erase_if(list, [&](const auto& other) { return other->live && same(*other); });
  list.insert(list.begin(), std::make_shared<const Known>(std::move(known)));
}

}  // namespace

struct Measured::Shelf {
  std::mutex mutex;
  struct Validated {
    const KnownBundle* of = nullptr;
    std::size_t index = 0;
    CaseValidation result;
  };
  std::vector<Validated> validated;
  std::vector<LiveMeasurement> measured;   // each is there before its samples are
  std::optional<MeasuringSession> device;  // of the background thread alone
  bool validating = false;                 // from asking for it until it is over; of the session's thread, as what follows
  int validation_turn = 0;                 // so that the end of an earlier one is not taken for that of this one
  std::atomic<const KnownBundle*> wanted = nullptr;  // whose validation may go on
};

namespace {

/// Sums the results up, once there are all.
void sum_up(ValidationState& held) {
  if (!held.complete() || held.summary) return;
  std::vector<CaseValidation> results;
  for (const auto& result : held.results) results.push_back(*result);
  const KnownBundle& known = *held.bundle;
  held.summary = summarise(known.bundle.cases, results);
  held.stale = stale_misses(known.misses, known.bundle, known.bundle.cases, results);
}

}  // namespace

Measured::Measured(const Sources& sources, Measurements known, GpuLoader load_gpu, int threads)
    : from_(sources), load_gpu_(load_gpu), threads_(threads), known_(std::move(known)), shelf_(std::make_shared<Shelf>()) {
  if (!known_.bundles.empty()) validation_ = &validation_of(known_.bundles.front());
  validation_->problem = known_.problem;
}

ValidationState& Measured::validation_of(const std::shared_ptr<const KnownBundle>& bundle) {
  for (ValidationState& state : validations_)
    if (state.bundle == bundle) return state;
  ValidationState& added = validations_.emplace_back();
  added.bundle = bundle;
  added.results.resize(bundle->bundle.cases.size());
  if (bundle->results.size() == added.results.size()) {  // the table of this version saves minutes
    added.results.assign(bundle->results.begin(), bundle->results.end());
    added.done = added.results.size();
  }
  sum_up(added);
  return added;
}

/// Compares the bundle that the user chose for the GPU with the model. Else that which has the run on screen, else most cases of
/// its program, else most cases; the first of all where there is none of the GPU.
void Measured::choose_validation() {
  if (validations_.empty()) return;
  if (const auto chosen = chosen_bundles_.find(from_.requested.gpu_base.id); chosen != chosen_bundles_.end()) {
    validation_ = &validation_of(chosen->second);
    return;
  }
  const SimulationRequest& request = from_.requested.request;
  const auto info = find_program(request.algorithm, request.problem.pass);
  const auto cases_of_program = [&](const KnownBundle& known) {
    return std::ranges::count_if(known.bundle.cases, [&](const MeasuredCase& measured) {
      return info && (measured.kernel == (*info)->id || measured.kernel == chosen_by(**info, request.problem));
    });
  };
  using Rank = std::tuple<bool, std::ptrdiff_t, std::size_t>;
  std::optional<Rank> most;
  validation_ = &validations_.front();
  for (const auto& known : known_.bundles) {
    if (known->live || known->bundle.gpu != from_.requested.gpu_base.id) continue;
    const Rank rank = {found_ && found_->bundle == known, cases_of_program(*known), known->bundle.cases.size()};
    if (most && rank <= *most) continue;
    most = rank;
    validation_ = &validation_of(known);
  }
}

void Measured::take_finished() {
  take_validated();
  take_measured();
}

void Measured::ask() {
  if (!from_.playback.empty()) {
    find();
    ask_for_comparison();
  }
  choose_validation();
  ask_for_validation();
}

// --- what is shown ----------------------------------------------------------------------------------------------------------

void Measured::find() {
  const auto& simulation = from_.playback.chosen().simulation;
  if (found_for_ == simulation) return;
  found_for_ = simulation;
  found_ = find_case(known_, *simulation);
  imported_ = nullptr;
  for (const auto& imported : all_imported_)
    if (imported_ == nullptr && is_of(*imported, *simulation)) imported_ = imported;
  probes_ = find_probes(known_, *simulation);
  bandwidth_ = find_bandwidth(known_, *simulation);
  probe_ = compare_asked_ = nullptr;
  compared_ = nullptr;
}

/// The query that is shown: of the block of the step, the chosen row of the tile that is worked on.
std::int64_t Measured::shown_query() const {
  const Lane& lane = from_.derived.chosen();
  const BlockOperations& block = *lane.operations;
  const TileProgram& program = *from_.playback.chosen().simulation->program;
  const int op = lane.rest.op;
  const std::int32_t tile = op >= 0 ? block.operations[static_cast<std::size_t>(op)].q_tile : -1;
  const std::int64_t tile_first = std::max(0, tile) * program.tile().block_q;
  const std::int64_t first = block.domain.axis == Axis::query ? std::max<std::int64_t>(tile_first, block.domain.first) : tile_first;
  const std::int64_t query = first + from_.workspace.row;
  return std::clamp<std::int64_t>(query, 0, program.problem().seq_q - 1);
}

/// The probe of the row that is shown, where there is one; else any of this case.
void Measured::choose_probe() {
  if (probes_.empty()) return;
  std::shared_ptr<const KnownProbe> best = probe_ != nullptr ? probe_ : probes_.front();
  const Lane& lane = from_.derived.chosen();
  if (const BlockOperations* block = lane.operations)
    for (const auto& known : probes_)
      if (known->probe.plane == query_plane(*block, lane.rest.op) && known->probe.query == shown_query()) {
        best = known;
        break;
      }
  if (best == probe_) return;
  probe_ = best;
  compared_ = nullptr;
}

/// Has the tile machine run the block of the probe's row, on the numbers that the kernel read.
void Measured::ask_for_comparison() {
  choose_probe();
  if (probe_ == nullptr || compared_ != nullptr || compare_asked_ == probe_) return;
  if (probe_->probe.steps.empty() && probe_->probe.pairs.empty()) return;
  compare_asked_ = probe_;
  from_.worker.submit(
      Queue::background, slots::compare, WorkKind::probe_comparison,
      [this, asked = probe_, simulation = from_.playback.chosen().simulation](const Progress& progress) -> Worker::Deliver {
        auto made = compare_probe(*simulation->program, asked, progress);
        return [this, asked, made] {
          if (!made && made.error().kind == Error::Kind::cancelled && compare_asked_ == asked) compare_asked_ = nullptr;
          if (made && probe_ == asked) compared_ = *made;
        };
      });
}

// --- validation -------------------------------------------------------------------------------------------------------------

void Measured::ask_for_validation() {
  ValidationState& v = *validation_;
  // What is looked at goes first: a study that another view left running gives way, and this to a study when its view is left.
  const bool wanted = from_.workspace.center == CenterView::validate && v.bundle != nullptr && !v.stopped && !v.complete();
  shelf_->wanted = wanted ? v.bundle.get() : nullptr;
  if (!wanted || (shelf_->validating && !from_.worker.idle(Queue::background))) return;
  const Result<GpuSpec> gpu =
      load_gpu_ != nullptr ? load_gpu_(v.bundle->bundle.gpu) : Result<GpuSpec>(refuse("no GPU can be loaded here"));
  if (!gpu) {
    v.problem = gpu.error().sentence;
    v.stopped = true;
    return;
  }
  std::vector<bool> missing;
  for (const auto& result : v.results) missing.push_back(!result);
  shelf_->validating = true;
  const int turn = ++shelf_->validation_turn;
  from_.worker.submit(
      Queue::background, slots::validate, WorkKind::validation,
      [done_before = v.done, spec = *gpu, known = v.bundle, missing, workers = threads_, turn,
       shelf = shelf_](const Progress& progress) -> Worker::Deliver {
        std::atomic<std::size_t> done = done_before;
        validate_cases(
            spec, known->bundle.cases, known->misses.of(known->bundle), [&](std::size_t i) { return missing[i]; }, workers,
            [&](std::size_t i, const CaseValidation& result) {
              const std::lock_guard lock(shelf->mutex);
              shelf->validated.push_back({known.get(), i, result});
              ++done;
              return true;
            },
            [&] {
              return !progress(static_cast<double>(done) / static_cast<double>(missing.size())) || shelf->wanted != known.get();
            },
            CaseOrder::smallest_first);
        return [shelf, turn] { shelf->validating = shelf->validating && turn != shelf->validation_turn; };
      });
}

void Measured::take_validated() {
  std::vector<Shelf::Validated> finished;
  {
    const std::lock_guard lock(shelf_->mutex);
    finished.swap(shelf_->validated);
  }
  if (finished.empty()) return;
  for (auto& [of, index, result] : finished) {
    const auto held =
        std::ranges::find_if(validations_, [bundle = of](const ValidationState& each) { return each.bundle.get() == bundle; });
    if (!held->results[index]) ++held->done;
    held->results[index] = std::move(result);
  }
  for (ValidationState& held : validations_) sum_up(held);
}

void Measured::run_validation(bool on) {
  validation_->stopped = !on;
  validation_->problem = {};
  shelf_->validating = false;  // what only waited is forgotten without a word
  ++shelf_->validation_turn;
  if (!on) from_.worker.cancel(Queue::background);
}

void Measured::validate_with(std::shared_ptr<const KnownBundle> bundle) {
  if (bundle == nullptr)
    chosen_bundles_.erase(from_.requested.gpu_base.id);
  else
    chosen_bundles_[bundle->bundle.gpu] = std::move(bundle);
}

void Measured::cancel() {
  validation_->stopped = from_.workspace.center == CenterView::validate && !validation_->complete();
}

void Measured::keep_imported(ImportedCounters imported) {
  all_imported_.insert(all_imported_.begin(), std::make_shared<const ImportedCounters>(std::move(imported)));
  found_for_ = nullptr;
}

// --- measuring --------------------------------------------------------------------------------------------------------------

void Measured::measure() {
  if (!built_with_cuda()) return from_.workspace.notify(no_cuda_error());
  if (from_.playback.empty()) return;
  const Simulation& simulation = *from_.playback.chosen().simulation;
  WhatToMeasure what{simulation.request, simulation.program->tile()};
  what.inputs = from_.requested.fitting_inputs(what.request.problem);
  what.query = what.request.problem.seq_q - 1;  // of step 0: the row that sees most keys
  if (const BlockOperations* block = from_.derived.chosen().operations) {
    what.plane = query_plane(*block, from_.derived.chosen().rest.op);
    what.query = shown_query();
  }
  from_.worker.submit(Queue::background, slots::measure, WorkKind::measurement,
                      [this, what, shelf = shelf_](const Progress& progress) -> Worker::Deliver {
                        LiveMeasurement live = measure_live(shelf->device, what, progress);
                        const bool counted = live.measured && live.measured->refused.empty();
                        {
                          const std::lock_guard lock(shelf->mutex);
                          shelf->measured.push_back(std::move(live));
                        }
                        const std::optional<BandwidthRecord> record =
                            counted && progress(0.75) ? sample_live(shelf->device, what) : std::nullopt;
                        return [this, record] {
                          take_measured();
                          if (record) keep_bandwidth(*record);
                        };
                      });
}

/// What is measured, as soon as it is.
void Measured::take_measured() {
  std::vector<LiveMeasurement> finished;
  {
    const std::lock_guard lock(shelf_->mutex);
    finished.swap(shelf_->measured);
  }
  for (LiveMeasurement& live : finished) {
    live.bundle.date = date_now();
    if (live.probe) {
      ProbeResult& own = *live.probe;
      own.date = live.bundle.date;
      put_live(known_.probes, KnownProbe{own, live.inputs, true}, [&](const KnownProbe& other) {
        return other.probe.kernel == own.kernel && other.probe.problem == own.problem && other.probe.plane == own.plane &&
               other.probe.query == own.query;
      });
    }
    if (live.measured)
      keep_live(live.bundle, std::move(*live.measured));
    else if (live.measured.error().kind != Error::Kind::cancelled)
      from_.workspace.notify(live.measured.error());
  }
}

void Measured::keep_bandwidth(BandwidthRecord record) {
  record.date = date_now();
  put_live(known_.bandwidths, KnownBandwidth{record, true}, [&](const KnownBandwidth& other) {
    return other.record.kernel == record.kernel && other.record.problem == record.problem;
  });
  if (!from_.playback.empty()) bandwidth_ = find_bandwidth(known_, *from_.playback.chosen().simulation);
}

/// The newest measurement of a case takes the place of an older one, and goes before what is recorded.
void Measured::keep_live(const MeasurementBundle& device, MeasuredCase measured_now) {
  KnownBundle live{device, {}, true};
  const bool has_live = !known_.bundles.empty() && known_.bundles.front()->live;
  if (has_live) live = *known_.bundles.front();
  std::erase_if(live.bundle.cases, [&](const MeasuredCase& c) {
    return c.kernel == measured_now.kernel && c.problem == measured_now.problem && c.tile == measured_now.tile;
  });
  const std::string refused = measured_now.refused;
  live.bundle.cases.push_back(std::move(measured_now));
  auto kept = std::make_shared<const KnownBundle>(std::move(live));
  if (has_live)
    known_.bundles.front() = std::move(kept);
  else
    known_.bundles.insert(known_.bundles.begin(), std::move(kept));
  found_for_ = nullptr;
  if (!from_.playback.empty()) find();
  if (!refused.empty()) from_.workspace.notify(Error{refused});
}

}  // namespace tilescope
