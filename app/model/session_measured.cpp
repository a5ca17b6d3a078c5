// The session's dealings with measurements: the case of what is shown, validation in the background, opening a case, measuring.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <atomic>

#include "app/model/parallel.h"
#include "app/model/probe_inputs.h"
#include "app/model/session_state.h"
#include "kernels/measure/bandwidth.h"
#include "kernels/measure/measure_case.h"

namespace tilescope {

namespace {

constexpr double seconds_of_a_notice = 12;

/// What a measurement came to.
struct LiveMeasurement {
  MeasurementBundle bundle;  // without cases
  Result<MeasuredCase> measured = Error{};
  std::optional<ProbeResult> probe;
  InputSource inputs;  // that the probe was given
};

/// What is to be measured: the case, and the row that the kernel is to follow.
struct WhatToMeasure {
  SimulationRequest request;
  TileShape tile;
  std::int64_t plane = 0, query = 0;
  InputSource inputs;
};

/// What the kernel sees of itself, where it has a probe; in few repeats, because a person waits.
std::optional<ProbeResult> probe_live(const KernelInfo& kernel, const WhatToMeasure& what) {
  const std::vector<ProbeShape> shapes = probe_shapes(kernel, what.request.problem);
  if (shapes.empty()) return std::nullopt;
  ProbeRequest request;
  const auto [block, row] = shapes[static_cast<std::size_t>(row_launch_of(shapes))].place_of(what.plane, what.query);
  request.block = block;
  request.row = row;
  request.repeats = 3;
  Result<ProbeResult> probe = run_probe(kernel, what.request.problem, request, probe_inputs(what.inputs, what.request.problem));
  if (!probe) return std::nullopt;
  probe->seed = what.inputs.seed;
  return std::move(*probe);
}

/// Opens the device on first use and keeps it open; only the background thread comes here.
LiveMeasurement measure_live(std::optional<MeasuringSession>& device, const WhatToMeasure& what, const Progress& progress) {
  LiveMeasurement out;
  const SimulationRequest& request = what.request;
  const Result<const KernelInfo*> kernel = find_kernel(request.algorithm);
  if (!kernel) {
    out.measured = kernel.error();
    return out;
  }
  if (const Status supported = supports(**kernel, request.problem, what.tile); !supported) {
    out.measured = supported.error();
    return out;
  }
  if (!device) {
    Result<MeasuringSession> opened = MeasuringSession::open();
    if (!opened) {
      out.measured = opened.error();
      return out;
    }
    device.emplace(std::move(*opened));
  }
  out.bundle = device->empty_bundle();
  if (out.bundle.gpu != request.gpu.id) {
    out.measured = Error{fmt::format("this machine has an {}, and {} is shown: choose {} to measure beside its model",
                                     device->device().name, request.gpu.id, out.bundle.gpu)};
    return out;
  }
  constexpr double counted = 0.7;  // of the whole; then come the samples
  out.measured =
      device->measure(**kernel, request.problem, {}, [&](double done, std::string_view) { return progress(counted * done); });
  if (out.measured && progress(counted)) out.probe = probe_live(**kernel, what);
  return out;
}

/// The samples come last, because they take as long as all the rest.
std::optional<BandwidthRecord> sample_live(std::optional<MeasuringSession>& device, const WhatToMeasure& what) {
  if (!device) return std::nullopt;
  Result<BandwidthRecord> record = device->sample(**find_kernel(what.request.algorithm), what.request.problem);
  if (!record) return std::nullopt;
  return std::move(*record);
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// The newest of a kind goes first, and takes the place of an older live one of the same.
template <class Known, class Same>
void put_live(std::vector<std::shared_ptr<const Known>>& list, Known known, Same same) {
  std::erase_if(list, [&](const auto& other) { return other->live && same(*other); });
  list.insert(list.begin(), std::make_shared<const Known>(std::move(known)));
}

}  // namespace

/// What the background leaves for the session's thread to pick up.
struct Session::State::Background {
  std::mutex mutex;
  std::vector<std::pair<std::size_t, CaseValidation>> validated;
  std::vector<LiveMeasurement> measured;   // each is there before its samples are
  std::optional<MeasuringSession> device;  // of the background thread alone
  bool validating = false;                 // from asking for it until it is over; of the session's thread, as what follows
  int validation_turn = 0;                 // so that the end of an earlier one is not taken for that of this one
  std::atomic<bool> validation_wanted = false;
};

std::shared_ptr<Session::State::Background> Session::State::make_background() {
  return std::make_shared<Background>();
}

// --- what is shown ----------------------------------------------------------------------------------------------------------

void Session::State::find_measured() {
  if (lanes.empty() || measured_for == lanes.back().simulation) return;
  measured_for = lanes.back().simulation;
  measured = find_case(measurements, *measured_for);
  probes = find_probes(measurements, *measured_for);
  bandwidth = find_bandwidth(measurements, *measured_for);
  probe = compare_asked = nullptr;
  compared = nullptr;
}

/// The query that is shown: of the block of the step, the chosen row of the tile that is worked on.
static std::int64_t shown_query(const LaneState& lane, int row) {
  const BlockOperations& block = *lane.operations;
  const int op = lane.lane.rest.op;
  const std::int32_t tile = op >= 0 ? block.operations[static_cast<std::size_t>(op)].q_tile : -1;
  const std::int64_t tile_first = std::max(0, tile) * lane.simulation->program->tile().block_q;
  const std::int64_t query = std::max<std::int64_t>(tile_first, block.domain.first) + row;
  return std::clamp<std::int64_t>(query, 0, lane.simulation->program->problem().seq_q - 1);
}

/// The probe of the row that is shown, where there is one; else any of this case.
void Session::State::choose_probe() {
  if (probes.empty()) return;
  std::shared_ptr<const KnownProbe> best = probe != nullptr ? probe : probes.front();
  const LaneState& lane = lanes.back();
  if (lane.operations != nullptr)
    for (const auto& known : probes)
      if (known->probe.plane == lane.operations->domain.plane && known->probe.query == shown_query(lane, row)) {
        best = known;
        break;
      }
  if (best == probe) return;
  probe = best;
  compared = nullptr;
}

/// Has the tile machine run the block of the probe's row, on the numbers that the kernel read.
void Session::State::ask_for_comparison() {
  choose_probe();
  if (probe == nullptr || compared != nullptr || compare_asked == probe || probe->probe.steps.empty()) return;
  compare_asked = probe;
  background->submit(compare_slot, tr("holding the kernel's row against the tile machine"),
                     [this, asked = probe, simulation = lanes.back().simulation](const Progress& progress) -> Worker::Deliver {
                       auto made = compare_probe(*simulation->program, asked, progress);
                       return [this, asked, made] {
                         if (!made && made.error().kind == Error::Kind::cancelled && compare_asked == asked)
                           compare_asked = nullptr;
                         if (made && probe == asked) compared = *made;
                       };
                     });
}

/// Where the probe's row is in the simulation; its SM comes into focus first.
void Session::State::operator()(const ShowProbe&) {
  if (compared == nullptr || lanes.empty()) return;
  if (!same_numbers(inputs, compared->probe->inputs)) (*this)(SetInputs{compared->probe->inputs});
  const LaneState& lane = lanes.back();
  const auto runs = lane.simulation->trace->runs();
  const auto run = std::find_if(runs.begin(), runs.end(),
                                [&](const BlockRun& r) { return r.launch == compared->launch && r.block == compared->block; });
  if (run == runs.end()) return notice(tr("The block of that row is not in the trace, which is too long to hold all of them."));
  playing = false;
  row = compared->row;
  row_chosen = true;
  going_to_probe = true;
  if (run->sm != lane.focus_sm) (*this)(SetFocusSm{run->sm});
  if (lanes.back().focus_sm == run->sm) go_to_probe();
}

/// To the first step of the row at which m, l and alpha are there, past the first tile where there is one.
void Session::State::go_to_probe() {
  going_to_probe = false;
  if (compared == nullptr) return;
  const LaneState& lane = lanes.back();
  const Trace& trace = *lane.simulation->trace;
  const auto intervals = trace.intervals(lane.focus_sm);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < intervals.size() && !found; ++i) {
    const BlockRun& run = trace.runs()[static_cast<std::size_t>(intervals[i].run)];
    if (intervals[i].op == compared->telling_op && run.launch == compared->launch && run.block == compared->block) found = i;
  }
  if (!found) return notice(tr("The block of that row is not in the trace, which is too long to hold all of them."));
  set_step(trace.step_of_interval(lane.focus_sm, *found), 0);
}

void Session::State::operator()(const OpenCase& command) {
  if (command.gpu != request.gpu.id || !unchanged(request.gpu)) {
    if (load_gpu == nullptr) return;
    Result<GpuSpec> loaded = load_gpu(command.gpu);
    if (!loaded) {
      message = ControlMessage{"gpu", loaded.error().sentence};
      return;
    }
    gpu_base = request.gpu = std::move(*loaded);
    request.focus_sm = 0;
  }
  request.algorithm = command.algorithm;
  request.problem = command.problem;
  request.tile = command.tile;
  request.blocks_per_sm.reset();
  race = false;
  row_chosen = false;
  simulate_again("algorithm");
}

// --- validation -------------------------------------------------------------------------------------------------------------

void Session::State::ask_for_validation() {
  ValidationState& v = validation;
  // What is looked at goes first: a study that another view left running gives way, and this to a study when its view is left.
  const bool wanted = center == CenterView::validate && v.bundle != nullptr && !v.stopped && !v.complete();
  shelf->validation_wanted = wanted;
  if (!wanted || (shelf->validating && !background->idle())) return;
  const Result<GpuSpec> gpu =
      load_gpu != nullptr ? load_gpu(v.bundle->bundle.gpu) : Result<GpuSpec>(Error{"no GPU can be loaded here"});
  if (!gpu) {
    v.problem = gpu.error().sentence;
    v.stopped = true;
    return;
  }
  std::vector<bool> missing;
  for (const auto& result : v.results) missing.push_back(!result);
  shelf->validating = true;
  const int turn = ++shelf->validation_turn;
  // With threads, the shown simulation has a core of its own.
  const int workers = threads ? std::max(1, core_count() - 1) : core_count();
  background->submit(
      validation_slot, tr("holding the model against the measurements"),
      [done_before = v.done, spec = *gpu, known = v.bundle, missing, workers, turn,
       shelf = shelf](const Progress& progress) -> Worker::Deliver {
        std::atomic<std::size_t> done = done_before;
        validate_cases(
            spec, known->bundle.cases, [&](std::size_t i) { return missing[i]; }, workers,
            [&](std::size_t i, const CaseValidation& result) {
              const std::lock_guard lock(shelf->mutex);
              shelf->validated.emplace_back(i, result);
              ++done;
              return true;
            },
            [&] { return !progress(static_cast<double>(done) / static_cast<double>(missing.size())) || !shelf->validation_wanted; },
            CaseOrder::smallest_first);
        return [shelf, turn] { shelf->validating = shelf->validating && turn != shelf->validation_turn; };
      });
}

void Session::State::take_validated() {
  std::vector<std::pair<std::size_t, CaseValidation>> finished;
  {
    const std::lock_guard lock(shelf->mutex);
    finished.swap(shelf->validated);
  }
  if (finished.empty()) return;
  for (auto& [index, result] : finished) {
    if (!validation.results[index]) ++validation.done;
    validation.results[index] = std::move(result);
  }
  if (!validation.complete()) return;
  std::vector<CaseValidation> results;
  for (const auto& result : validation.results) results.push_back(*result);
  validation.summary = summarise(validation.bundle->bundle.cases, results);
}

void Session::State::operator()(const RunValidation& command) {
  validation.stopped = !command.on;
  validation.problem.clear();
  shelf->validating = false;  // what only waited is forgotten without a word
  ++shelf->validation_turn;
  if (!command.on) background->cancel_all();
}

// --- measuring --------------------------------------------------------------------------------------------------------------

void Session::State::notice(std::string sentence) {
  message = ControlMessage{{}, std::move(sentence)};
  notice_until = clock_seconds + seconds_of_a_notice;
}

void Session::State::operator()(const Measure&) {
  if (!built_with_cuda()) return notice(no_cuda_error().sentence);
  if (lanes.empty()) return;
  const LaneState& lane = lanes.back();
  WhatToMeasure what{lane.simulation->request, lane.simulation->program->tile()};
  what.inputs = fitting_inputs(what.request.problem, nullptr);
  what.query = what.request.problem.seq_q - 1;  // of step 0: the row that sees most keys
  if (lane.operations != nullptr) {
    what.plane = lane.operations->domain.plane;
    what.query = shown_query(lane, row);
  }
  background->submit(measure_slot, tr("measuring"), [this, what, shelf = shelf](const Progress& progress) -> Worker::Deliver {
    LiveMeasurement live = measure_live(shelf->device, what, progress);
    live.inputs = what.inputs;
    const bool counted = live.measured && live.measured->refused.empty();
    {
      const std::lock_guard lock(shelf->mutex);
      shelf->measured.push_back(std::move(live));
    }
    const std::optional<BandwidthRecord> record = counted && progress(0.75) ? sample_live(shelf->device, what) : std::nullopt;
    return [this, record] {
      take_measured();
      if (record) keep_bandwidth(*record);
    };
  });
}

/// What is measured, as soon as it is.
void Session::State::take_measured() {
  std::vector<LiveMeasurement> finished;
  {
    const std::lock_guard lock(shelf->mutex);
    finished.swap(shelf->measured);
  }
  for (LiveMeasurement& live : finished) {
    live.bundle.date = now_text();
    if (live.probe) {
      ProbeResult& own = *live.probe;
      own.date = live.bundle.date;
      put_live(measurements.probes, KnownProbe{own, live.inputs, true}, [&](const KnownProbe& other) {
        return other.probe.kernel == own.kernel && other.probe.problem == own.problem && other.probe.plane == own.plane &&
               other.probe.query == own.query;
      });
    }
    if (live.measured)
      keep_live(live.bundle, std::move(*live.measured));
    else if (live.measured.error().kind != Error::Kind::cancelled)
      notice(live.measured.error().sentence);
  }
}

void Session::State::keep_bandwidth(BandwidthRecord record) {
  record.date = now_text();
  put_live(measurements.bandwidths, KnownBandwidth{record, true}, [&](const KnownBandwidth& other) {
    return other.record.kernel == record.kernel && other.record.problem == record.problem;
  });
  if (!lanes.empty()) bandwidth = find_bandwidth(measurements, *lanes.back().simulation);
}

/// The newest measurement of a case takes the place of an older one, and goes before what is recorded.
void Session::State::keep_live(const MeasurementBundle& device, MeasuredCase measured_now) {
  KnownBundle live{device, {}, true};
  const bool has_live = !measurements.bundles.empty() && measurements.bundles.front()->live;
  if (has_live) live = *measurements.bundles.front();
  std::erase_if(live.bundle.cases, [&](const MeasuredCase& c) {
    return c.kernel == measured_now.kernel && c.problem == measured_now.problem && c.tile == measured_now.tile;
  });
  const std::string refused = measured_now.refused;
  live.bundle.cases.push_back(std::move(measured_now));
  auto kept = std::make_shared<const KnownBundle>(std::move(live));
  if (has_live)
    measurements.bundles.front() = std::move(kept);
  else
    measurements.bundles.insert(measurements.bundles.begin(), std::move(kept));
  measured_for = nullptr;
  find_measured();
  if (!refused.empty()) notice(refused);
}

}  // namespace tilescope
