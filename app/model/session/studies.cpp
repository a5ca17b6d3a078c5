// Begins studies, and runs the simulations that each is made of.
#include "app/model/session/studies.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "app/model/background/parallel.h"
#include "app/model/background/slots.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/requests/own_tile.h"
#include "app/model/requests/racers.h"
#include "app/model/session/run_sweep.h"
#include "sim/core/refuse.h"
#include "sim/programs/needs_parts.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::size_t most_recent = 12;

/// Largest power of two for which the sweep takes seconds and less than a gigabyte. Time grows with the pairs of tiles of all
/// planes; memory grows with those of one plane, which a block of flash1 walks alone.
std::int64_t longest_sequence(const SimulationRequest& request) {
  const bool small = !is_large(request.gpu);  // tiles of 16 x 16 there, of 64 x 64 elsewhere
  constexpr double most_pairs_of_plane = 1 << 16;
  const double tile = small ? 16 : 64, pairs = small ? 1 << 17 : 1 << 20;
  const double planes = static_cast<double>(request.problem.query_planes());
  const double longest = tile * std::sqrt(std::min(pairs / planes, most_pairs_of_plane));
  return std::int64_t{1} << static_cast<int>(std::clamp(std::floor(std::log2(longest)), 6.0, 17.0));
}

}  // namespace

std::string usual_range(std::string_view key, const SimulationRequest& request) {
  const AttentionProblem& p = request.problem;
  const bool small = !is_large(request.gpu);
  if (key == "seq" || key == "seq_kv") {
    const std::int64_t top = longest_sequence(request);
    return fmt::format("{}={}:{}:x2", key, std::max<std::int64_t>(16, top / 512), top);
  }
  if (key == "head_dim") return "head_dim=16:256:x2";
  if (key == "batch" || key == "heads") return fmt::format("{}=1:{}:x2", key, 64);
  if (key == "kv_heads") return fmt::format("kv_heads=1:{}:x2", p.heads);
  if (key == "block_q" || key == "block_kv") {
    const std::int64_t most = std::min<std::int64_t>(small ? 64 : 256, key == "block_q" ? p.seq_q : p.seq_kv);
    return fmt::format("{}={}:{}:x2", key, std::min<std::int64_t>(small ? 4 : 16, most), most);
  }
  if (key == "stages") return "stages=1:4:+1";
  if (key == "shared_bytes") {
    const double now = request.gpu.sm_shared_bytes_per_block;
    return fmt::format("shared_bytes={:.0f}:{:.0f}:x2", std::max(1024.0, std::round(now / 16)), std::round(now) * 4);
  }
  const SpecKey* row = find_spec_key(key);
  if (row == nullptr) return std::string(key);
  const double real = request.gpu.*row->member, now = real > 0 ? real : std::max(1.0, row->minimum);
  const double from = std::max(now / 8, row->minimum), to = std::min(now * 8, row->maximum);
  return fmt::format("{}={}:{}:x2", key, row->whole ? std::ceil(from) : from, row->whole ? std::floor(to) : to);
}

SweepChoice usual_sweep(const SimulationRequest& request) {
  SweepChoice choice;
  if (auto axis = parse_sweep_axis(usual_range("seq", request))) choice.axis = std::move(*axis);
  const auto chosen = find_program(request.algorithm);
  // Of the Hopper kernels, the ends of the ladder and the one that is chosen: the Ladder view has all rungs.
  const auto is_between = [&](const ProgramInfo& row) {
    return row.compared_apart && row.id != ladder().front().id && row.id != ladder().back().id && row.id != request.algorithm;
  };
  for (const ProgramInfo& row : program_table())
    if (chosen && is_compared(row, **chosen) && !is_between(row)) choice.algorithms.emplace_back(row.id);
  return choice;
}

template <class T, class Make, class Same>
std::shared_ptr<Growing<T>> Studies::find_or_make(Recent<T>& recent, const SimulationRequest& key, const Make& make,
                                                  const Same& same) {
  const auto found = std::find_if(recent.begin(), recent.end(),
                                  [&](const Kept<T>& kept) { return same_request(kept.key, key) && same(*kept.study->read()); });
  if (found != recent.end()) {
    recent.splice(recent.begin(), recent, found);
    return recent.front().study;
  }
  recent.push_front({key, std::make_shared<Growing<T>>(make())});
  if (recent.size() > most_recent) recent.pop_back();
  return recent.front().study;
}

/// Hands `work` to the worker unless it is at it already. A job for another study gives way. The run under load goes first: until
/// it is there, the bar would have another time than the study.
void Studies::begin(const void* what, WorkKind kind, Worker::Work work) {
  if (under_way_ == what || stopped_ || under_load_.is_open()) return;
  under_way_ = what;
  const int turn = ++*turn_;
  worker_.submit(Queue::background, slots::study, kind,
                 [this, turn, work = std::move(work)](const Progress& progress) -> Worker::Deliver {
                   const Worker::Deliver inner = work(progress);
                   return [this, turn, inner] {
                     if (inner) inner();
                     if (turn == *turn_) under_way_ = nullptr;
                   };
                 });
}

void Studies::ask(CenterView center, const std::shared_ptr<const Simulation>& shown, const SimulationRequest& asked,
                  const GpuSpec& real, std::string_view gpu_source, const Measurements& known) {
  const void* before = shown_;
  ask_under_load(shown, gpu_source, known);
  switch (center) {
    case CenterView::roofline:
      ask_roofline(shown, asked, known);
      break;
    case CenterView::what_if: {
      SimulationRequest request = asked;
      request.gpu = real;
      request.block_order = BlockOrder::launch;
      ask_what_if(std::move(request), known);
      ask_at_what_if_clock(shown);
      break;
    }
    case CenterView::fit:
      ask_fit(asked, known);
      break;
    case CenterView::sweep:
      ask_sweep(asked, known);
      break;
    case CenterView::ladder:
      ask_ladder(asked, known);
      break;
    case CenterView::mask:
      ask_dense(shown);
      break;
    default:  // the other views show one run
      break;
  }
  if (shown_ != before) stopped_ = false;
  ask_limit(shown);
}

void Studies::ask_roofline(const std::shared_ptr<const Simulation>& shown, const SimulationRequest& asked,
                           const Measurements& known) {
  const auto make = [&] {
    RooflineStudy study;
    study.gpu = shown->request.gpu;
    study.problem = shown->request.problem;
    return study;
  };
  roofline_ = find_or_make(rooflines_, asked, make, [](const RooflineStudy&) { return true; });
  shown_ = roofline_.get();
  if (roofline_->read()->complete) return;
  begin(shown_, WorkKind::roofline, [study = roofline_, shown, asked, known](const Progress& progress) -> Worker::Deliver {
    // At the clock under load of what is shown, for the roof too.
    auto loaded = pair_under_load(known, shown, shown, progress);
    if (!loaded && loaded.error().kind == Error::Kind::cancelled) return {};
    const Simulation& timed = loaded ? *loaded->first : *shown;
    RooflineKernel chosen = roofline_kernel(timed, true);
    std::optional<RooflineKernel> other;
    SimulationRequest request = at_clock(request_of_rival(asked, companion_of(asked.algorithm)), timed.request.gpu.sm_clock_hz);
    take_own_tile(request);
    if (!request.algorithm.empty()) {
      const auto made = simulate(request, progress);
      if (!made && made.error().kind == Error::Kind::cancelled) return {};
      if (made) other = roofline_kernel(**made, false);
    }
    study->change([&](RooflineStudy& result) {
      result.gpu = timed.request.gpu;
      // With every exponential go the operations of the two products of one score.
      result.roof = roofline_of(result.gpu, flops_per_score(result.problem));
      result.kernels = {std::move(chosen)};
      if (other) {
        const bool before = other->outcome.time_ns > result.kernels.front().outcome.time_ns;
        result.kernels.insert(before ? result.kernels.begin() : result.kernels.end(), std::move(*other));
      }
      result.complete = true;
    });
    return {};
  });
}

void Studies::ask_what_if(SimulationRequest real, const Measurements& known) {
  const auto make = [&] {
    WhatIfTable table;
    table.real = real;
    for (WhatIf& what : what_ifs(real)) table.rows.push_back({std::move(what), {}});
    table.jitters = jitters(real);
    return table;
  };
  what_if_ = find_or_make(what_ifs_, real, make, [](const WhatIfTable&) { return true; });
  shown_ = what_if_.get();
  const auto table = what_if_->read();
  if (table->done() == table->total()) return;
  begin(shown_, WorkKind::variants, [study = what_if_, threads = threads_, known](const Progress& progress) -> Worker::Deliver {
    if (const auto empty = study->read(); !empty->clock_hz) {
      const auto clock =
          clock_of_comparison(empty->real, recordings_of(known, empty->real.gpu), [&](double) { return progress(0); });
      if (!clock) return {};
      study->change([&](WhatIfTable& result) { result.clock_hz = *clock; });
    }
    const auto asked = study->read();
    // The base, the rows, then the runs that tell the noise.
    using Place = std::function<std::optional<Outcome>&(WhatIfTable&)>;
    std::vector<std::pair<SimulationRequest, Place>> missing;
    const auto add = [&](const SimulationRequest& request, const std::optional<Outcome>& outcome, Place place) {
      if (!outcome) missing.emplace_back(request, std::move(place));
    };
    add(asked->real, asked->base, [](WhatIfTable& t) -> std::optional<Outcome>& { return t.base; });
    for (std::size_t i = 0; i < asked->rows.size(); ++i)
      add(asked->rows[i].what.request, asked->rows[i].outcome,
          [i](WhatIfTable& t) -> std::optional<Outcome>& { return t.rows[i].outcome; });
    for (std::size_t i = 0; i < asked->jitters.size(); ++i) {
      add(asked->jitters[i].longer, asked->jitters[i].longer_outcome,
          [i](WhatIfTable& t) -> std::optional<Outcome>& { return t.jitters[i].longer_outcome; });
      add(asked->jitters[i].shorter, asked->jitters[i].shorter_outcome,
          [i](WhatIfTable& t) -> std::optional<Outcome>& { return t.jitters[i].shorter_outcome; });
    }
    std::vector<std::size_t> order(missing.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    on_cores(order, threads, [&](std::size_t index) {
      const SimulationRequest& request = missing[index].first;
      const Place& place = missing[index].second;
      const auto fraction = [&] { return static_cast<double>(study->read()->done()) / static_cast<double>(asked->total()); };
      auto made = simulate_outcome(at_clock(request, *asked->clock_hz), [&](double) { return progress(fraction()); });
      if (!made) return false;
      study->change([&](WhatIfTable& result) { place(result) = std::move(*made); });
      return true;
    });
    return {};
  });
}

namespace {

SimulationRequest request_of_rung(const LadderStudy& ladder, std::size_t index) {
  SimulationRequest request = ladder.of;
  request.algorithm = ladder.rungs[index].algorithm;
  return request;
}

/// Gives the ladder its clock, unless it has one. False: it was cancelled.
bool find_clock_of_ladder(Growing<LadderStudy>& study, const Recordings& recordings, int threads, const Progress& progress) {
  const auto empty = study.read();
  if (empty->clock) return true;
  std::vector<SimulationRequest> rungs;
  for (std::size_t i = 0; i < empty->rungs.size(); ++i) rungs.push_back(request_of_rung(*empty, i));
  auto clock = clock_of_ranking(rungs, recordings, threads, progress);
  if (!clock) return false;
  study.change([&](LadderStudy& result) { result.clock = std::move(*clock); });
  return true;
}

/// Simulates one rung at the ladder's clock, and why its tensor cores idle. False: it was cancelled.
bool simulate_rung(Growing<LadderStudy>& study, std::size_t index, const Recordings& recordings, const Progress& progress) {
  const auto ladder_now = study.read();
  const SimulationRequest request = request_of_rung(*ladder_now, index);
  auto made = simulate_outcome_at(ladder_now->clock->hz, request, recordings, progress);
  if (!made) return false;
  std::array<double, bubble_causes> idle{};
  if (made->done()) {
    const auto intervals = simulate(at_clock(request, ladder_now->clock->hz), progress);
    if (!intervals) return false;
    // Other instructions delay mma.sync, so that a stretch without products says less there.
    if ((*intervals)->program->launches().front().needs.instruction == ProductInstruction::wgmma)
      idle = tensor_bubbles(**intervals, request.focus_sm).idle;
  }
  study.change([&](LadderStudy& result) {
    result.rungs[index].outcome = std::move(*made);
    result.rungs[index].tensor_idle = idle;
  });
  return true;
}

}  // namespace

void Studies::ask_ladder(SimulationRequest asked, const Measurements& known) {
  asked.algorithm = ladder().front().id;
  asked.problem.pass = Pass::forward;
  take_own_tile(asked);
  asked.key_order = KeyOrder::ascending;
  const auto measured_clock = [&](std::string_view algorithm) {
    const MeasuredCase* const measured = find_case_in_any_tile(known, asked.gpu, algorithm, asked.problem);
    return measured != nullptr ? measured->sm_clock_hz : 0;
  };
  const auto make = [&] {
    LadderStudy study{asked, {}, {}};
    for (const LadderStep& step : ladder())
      study.rungs.push_back({std::string(step.id), std::string(step.over), measured_clock(step.id), {}});
    return study;
  };
  // A new measurement may give the rungs another clock.
  ladder_ = find_or_make(ladders_, asked, make, [&](const LadderStudy& study) {
    return std::ranges::all_of(study.rungs,
                               [&](const LadderRung& rung) { return rung.measured_hz == measured_clock(rung.algorithm); });
  });
  shown_ = ladder_.get();
  const auto now = ladder_->read();
  if (now->done() == now->rungs.size()) return;
  begin(shown_, WorkKind::ladder, [study = ladder_, threads = threads_, known](const Progress& progress) -> Worker::Deliver {
    const Recordings recordings = recordings_of(known, study->read()->of.gpu);
    const Progress going_on = [&](double) {
      const auto ladder_now = study->read();
      return progress(static_cast<double>(ladder_now->done()) / static_cast<double>(ladder_now->rungs.size()));
    };
    if (!find_clock_of_ladder(*study, recordings, threads, going_on)) return {};
    const auto begun = study->read();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < begun->rungs.size(); ++i)
      if (!begun->rungs[i].outcome) order.push_back(i);
    on_cores(order, threads, [&](std::size_t index) { return simulate_rung(*study, index, recordings, going_on); });
    return {};
  });
}

namespace {

/// Gives all maps of a type the clock under load of the kernel's tile in that type. False: it was cancelled.
bool find_clocks(Growing<FitMaps>& study, const Measurements& known, const Progress& progress) {
  const auto maps = study.read();
  for (std::size_t n = 0; n < maps->maps.size(); ++n) {
    if (study.read()->maps[n].clock_hz) continue;
    const FitMap& map = maps->maps[n];  // the first of a type has the kernel's own number of buffers
    const FitCell* const usual = map.find(map.usual);
    SimulationRequest request = map.request;
    if (usual != nullptr && usual->fits()) request = request_of(map, *usual);
    const auto clock = clock_of_comparison(request, recordings_of(known, request.gpu), progress);
    if (!clock) return false;
    study.change([&](FitMaps& result) {
      for (FitMap& each : result.maps)
        if (each.request.problem.dtype == map.request.problem.dtype) each.clock_hz = *clock;
    });
  }
  return true;
}

}  // namespace

void Studies::ask_fit(const SimulationRequest& asked, const Measurements& known) {
  SimulationRequest key = asked;
  take_own_tile(key);
  const auto make = [&] {
    auto maps = make_fit_maps(key);
    return maps ? std::move(*maps) : FitMaps{};
  };
  // The maps are of both types, whichever is shown.
  if (key.problem.dtype == DataType::fp32) key.problem.dtype = DataType::fp16;
  fit_ = find_or_make(fits_, key, make, [](const FitMaps&) { return true; });
  shown_ = fit_.get();
  const auto maps = fit_->read();
  if (maps->simulated() == maps->fitting()) return;
  begin(shown_, WorkKind::fit_maps, [study = fit_, threads = threads_, known](const Progress& progress) -> Worker::Deliver {
    if (!find_clocks(*study, known, [&](double) { return progress(0); })) return {};
    const auto empty = study->read();
    std::vector<FitPlace> order = fit_order(*empty);
    std::erase_if(order, [&](const FitPlace& at) { return empty->maps[at.map].cells[at.cell].outcome.has_value(); });
    std::vector<std::size_t> indices(order.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    on_cores(indices, threads, [&](std::size_t index) {
      const FitPlace at = order[index];
      const auto fraction = [&] {
        const auto now = study->read();
        return static_cast<double>(now->simulated()) / static_cast<double>(now->fitting());
      };
      const FitMap& map = empty->maps[at.map];
      auto made = simulate_outcome(at_clock(request_of(map, map.cells[at.cell]), *map.clock_hz),
                                   [&](double) { return progress(fraction()); });
      if (!made) return false;
      study->change([&](FitMaps& result) { result.maps[at.map].cells[at.cell].outcome = std::move(*made); });
      return true;
    });
    return {};
  });
}

namespace {

template <class T>
std::shared_ptr<const T> as_shared(T value) {
  return std::make_shared<const T>(std::move(value));
}
std::shared_ptr<const Simulation> as_shared(std::shared_ptr<const Simulation> run) {
  return run;
}

}  // namespace

template <class Key, class T, class Work>
void Studies::ask_for(Single<Key, T>& single, bool changed, int slot, WorkKind kind, Work work) {
  if (!single.is_open() || (!changed && !worker_.idle(Queue::background))) return;
  worker_.submit(Queue::background, slot, kind,
                 [&single, key = single.of, work = std::move(work)](const Progress& progress) -> Worker::Deliver {
                   auto made = work(progress);
                   if (!made && made.error().kind == Error::Kind::cancelled) return {};
                   std::shared_ptr<const T> result;
                   if (made) result = as_shared(std::move(*made));
                   return [&single, key, result] {
                     if (!(single.of == key && single.is_open())) return;
                     single.result = result;
                     single.given_up = result == nullptr;
                   };
                 });
}

/// A second simulation of what is shown. It waits for the run under load, whose limit it is, as the run without the mask does.
void Studies::ask_limit(const std::shared_ptr<const Simulation>& shown) {
  const bool changed = limit_.take(shown);
  if (under_load_.is_open()) return;
  ask_for(limit_, changed, slots::next_limit, WorkKind::next_limit,
          [run = under_load_.result ? under_load_.result->simulation : shown](const Progress& progress) {
            return next_limit(*run, progress);
          });
}

void Studies::ask_under_load(const std::shared_ptr<const Simulation>& shown, std::string_view gpu_source,
                             const Measurements& known) {
  const bool changed = under_load_.take(shown);
  if (!under_load_.is_open()) return;
  const Recordings recordings = recordings_of(known, shown->request.gpu);
  if (changed) {
    errors_ = std::make_shared<const PredictionErrors>(prediction_errors(recordings, *shown, std::nullopt));
    gpu_file_ = clock_of_file_sentence(gpu_source, shown->request.gpu, recordings);
  }
  if (keeps_clock_ || !may_slow(recordings, shown->request.gpu)) under_load_.given_up = true;
  ask_for(under_load_, changed, slots::under_load, WorkKind::simulation,
          [shown, recordings](const Progress& progress) -> Result<RunUnderLoad> {
            if (auto made = run_under_load(recordings, *shown, progress)) return std::move(*made);
            return Error{Sentence(), progress(1) ? Error::Kind::wrong_request : Error::Kind::cancelled};
          });
}

void Studies::ask_at_what_if_clock(const std::shared_ptr<const Simulation>& shown) {
  const auto table = what_if_->read();
  if (!table->clock_hz) return;
  const bool changed = at_clock_.take({shown, *table->clock_hz});
  if (!at_clock_.is_open()) return;
  SimulationRequest request = at_clock(shown->request, *table->clock_hz);
  if (request.gpu.sm_clock_hz == shown->request.gpu.sm_clock_hz) {
    at_clock_.result = shown;
    return;
  }
  request.keeps_intervals = false;
  ask_for(at_clock_, changed, slots::at_what_if_clock, WorkKind::simulation,
          [request = std::move(request)](const Progress& progress) { return simulate(request, progress); });
}

void Studies::ask_race(const std::shared_ptr<const Simulation>& first, const std::shared_ptr<const Simulation>& second,
                       const Measurements& known) {
  const Pair pair(first, second);
  const bool changed = race_.take(pair);
  if (keeps_clock_ || first == nullptr || second == nullptr) race_.given_up = true;
  ask_for(race_, changed, slots::race_under_load, WorkKind::simulation,
          [pair, known](const Progress& progress) -> Result<PairUnderLoad> {
            auto made = pair_under_load(known, pair.second, pair.first, progress);
            if (!made) return made.error();
            return PairUnderLoad{made->second, made->first};
          });
}

std::optional<SimulationRequest> dense_request(const Simulation& masked) {
  SimulationRequest request = masked.request;
  if (!request.problem.causal && request.problem.mask == nullptr) return std::nullopt;
  request.tile = masked.program->tile();
  request.problem.causal = false;
  request.problem.mask = nullptr;
  request.masking = {};  // the change of scores is made already, and stays in the problem
  request.keeps_intervals = false;
  return request;
}

void Studies::ask_dense(const std::shared_ptr<const Simulation>& shown) {
  const bool changed = dense_.take(shown);
  if (changed) dense_.given_up = !dense_request(*shown);
  if (under_load_.is_open()) return;
  ask_for(dense_, changed, slots::dense_run, WorkKind::simulation,
          [masked = under_load_.result ? under_load_.result->simulation : shown](const Progress& progress) -> Result<DenseRun> {
            auto dense = simulate(*dense_request(*masked), progress);
            if (!dense) return dense.error();
            return DenseRun{masked, std::move(*dense)};
          });
}

void Studies::ask_exactness(const std::shared_ptr<const Simulation>& first, const std::shared_ptr<const Simulation>& second,
                            const InputSource& inputs) {
  const Pair pair(first, second);
  const bool changed = exactness_.take({pair, inputs});
  if (changed) exactness_.given_up = first == nullptr || second == nullptr || !can_compare_outputs(*first, *second);
  ask_for(exactness_, changed, slots::exactness, WorkKind::values,
          [pair, inputs](const Progress& progress) { return compare_outputs(*pair.first, *pair.second, inputs, progress); });
}

void Studies::ask_sweep(const SimulationRequest& asked, const Measurements& known) {
  if (!choice_is_users_) choice_ = usual_sweep(asked);
  SweepRequest request;
  request.base = asked;
  take_own_tile(request.base);
  request.base.algorithm.clear();  // so that another algorithm on the stage does not begin it anew
  request.algorithms = choice_.algorithms;
  request.axis = choice_.axis;
  const auto find_errors = [&] {
    if (std::exchange(errors_of_sweep_, sweep_.get()) != sweep_.get()) sweep_errors_.clear();
    add_errors(sweep_errors_, *sweep_->read(), known);
  };
  // A sweep that was handed over is shown until something else is chosen.
  if (given_) {
    shown_ = sweep_.get();
    find_errors();
    return;
  }
  sweep_ = find_or_make(
      sweeps_, request.base, [&] { return SweepResult(request); },
      [&](const SweepResult& result) { return same_sweep(result.request, request); });
  shown_ = sweep_.get();
  find_errors();
  const auto result = sweep_->read();
  if (result->complete()) return;
  begin(shown_, WorkKind::sweep, [study = sweep_, threads = threads_, known](const Progress& progress) -> Worker::Deliver {
    const Recordings recordings = recordings_of(known, study->read()->request.base.gpu);
    run_sweep(
        *study, threads,
        [&] {
          const auto now = study->read();
          return !progress(static_cast<double>(now->done()) / static_cast<double>(std::max<std::size_t>(1, now->points.size())));
        },
        {}, &recordings);
    return {};
  });
}

void Studies::keep_clock(bool keeps) {
  if (std::exchange(keeps_clock_, keeps) == keeps) return;
  // All that is of another clock is asked for again.
  under_load_ = {};
  limit_ = {};
  race_ = {};
  dense_ = {};
}

void Studies::stop() {
  stopped_ = true;
  limit_.given_up = under_load_.given_up = exactness_.given_up = dense_.given_up = race_.given_up = at_clock_.given_up = true;
  ++*turn_;
  under_way_ = nullptr;
}

void Studies::choose(SweepChoice choice) {
  choice_is_users_ = true;
  given_ = false;
  choice_ = std::move(choice);
}

void Studies::choose_usual() {
  choice_is_users_ = false;
  given_ = false;
  choice_.quantity = SweepQuantity::hbm;
}

void Studies::take(const SweepResult& done, SweepQuantity quantity) {
  choice_is_users_ = true;
  choice_.quantity = quantity;
  choice_.axis = done.request.axis;
  choice_.algorithms = done.request.algorithms;
  sweep_ = std::make_shared<Growing<SweepResult>>(done);
  given_ = true;
}

StudyView Studies::view() const {
  StudyView view;
  if (roofline_) view.roofline = roofline_->read();
  if (what_if_) view.what_if = what_if_->read();
  if (fit_) view.fit = fit_->read();
  if (sweep_) view.sweep = sweep_->read();
  if (ladder_) view.ladder = ladder_->read();
  view.limit = limit_.result;
  view.under_load = under_load_.result;
  view.errors = errors_;
  if (const auto& run = under_load_.result) view.errors = {run, &run->errors};
  view.gpu_file = gpu_file_;
  view.sweep_errors = sweep_errors_;
  view.exactness = exactness_.result;
  view.dense = dense_.result;
  view.race = race_.result;
  view.at_what_if_clock = at_clock_.result;
  view.sweep_choice = choice_;
  view.chosen_by_user = choice_is_users_;
  view.stopped = stopped_;
  view.given = given_;
  return view;
}

}  // namespace tilescope
