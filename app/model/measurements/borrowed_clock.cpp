// Sums clocks over rectangles of load.
#include "app/model/measurements/borrowed_clock.h"

#include <algorithm>
#include <cmath>

#include "app/model/measurements/useful_flops.h"

namespace tilescope {

std::vector<RecordedRun> recorded_runs(const Measurements& measurements, const GpuSpec& gpu) {
  std::vector<RecordedRun> runs;
  for (const auto& known : measurements.bundles) {
    if (known->bundle.gpu != gpu.id) continue;
    for (const MeasuredCase& measured : known->bundle.cases) {
      const auto kernel = find_kernel(measured.kernel);
      if (!kernel || measured.is_changed() || measured.cycles.median <= 0 || measured.sm_clock_hz <= 0) continue;
      const auto instruction = (*kernel)->is_hopper ? ProductInstruction::wgmma : ProductInstruction::mma_sync;
      runs.push_back({{instruction, useful_flops(**kernel, measured.problem), measured.cycles.median},
                      measured.sm_clock_hz,
                      measured.kernel,
                      measured.problem});
    }
  }
  return runs;
}

TensorLoad load_of(const Simulation& simulation) {
  // Under a mask the tensor cores compute the visited tiles, whatever is visible in them.
  const bool masked = simulation.request.problem.mask != nullptr;
  return {product_instruction(simulation), masked ? static_cast<double>(simulation.flops) : useful_flops(simulation),
          simulation.cycles.value};
}

namespace {

double rate_of(const TensorLoad& load) {
  return load.flops / load.cycles;
}

/// Recorded runs of one instruction, with the sum of their clocks and their number over every rectangle of load.
class RunsByLoad {
 public:
  template <class IsAsked>
  RunsByLoad(std::span<const RecordedRun> runs, ProductInstruction instruction, const IsAsked& is_asked) {
    for (const RecordedRun& run : runs) {
      if (run.load.instruction != instruction || !is_asked(run)) continue;
      runs_.push_back(&run);
      rates_.push_back(rate_of(run.load));
      cycles_.push_back(run.load.cycles);
    }
    for (auto* values : {&rates_, &cycles_}) {
      std::ranges::sort(*values);
      values->erase(std::unique(values->begin(), values->end()), values->end());
    }
    add_up();
  }

  std::optional<BorrowedClock> lend(const TensorLoad& load) const {
    if (runs_.size() < least_lenders || load.cycles <= 0) return std::nullopt;
    // The outermost corners make every load comparable. A corner at the load itself would let the clock rise.
    std::vector<Corner> lower = {Corner{}}, upper = {Corner{rates_.size(), cycles_.size()}};
    for (const RecordedRun* run : runs_) {
      if (rate_of(run->load) <= rate_of(load) && run->load.cycles <= load.cycles) lower.push_back(first_not_below(run->load));
      if (rate_of(run->load) >= rate_of(load) && run->load.cycles >= load.cycles) upper.push_back(first_above(run->load));
    }
    std::optional<BorrowedClock> least;
    for (const Corner& u : lower) {
      BorrowedClock largest;
      for (const Corner& v : upper)
        if (const BorrowedClock mean = mean_between(u, v); mean.hz > largest.hz) largest = mean;
      if (largest.runs > 0 && (!least || largest.hz < least->hz)) least = largest;
    }
    return least;
  }

 private:
  struct Corner {
    std::size_t rate = 0, cycles = 0;  // ranks
  };
  struct Sum {
    double hz = 0;
    int runs = 0;
  };

  static std::size_t rank(const std::vector<double>& values, double value) {
    return static_cast<std::size_t>(std::ranges::lower_bound(values, value) - values.begin());
  }
  static std::size_t rank_above(const std::vector<double>& values, double value) {
    return static_cast<std::size_t>(std::ranges::upper_bound(values, value) - values.begin());
  }
  Corner first_not_below(const TensorLoad& load) const { return {rank(rates_, rate_of(load)), rank(cycles_, load.cycles)}; }
  Corner first_above(const TensorLoad& load) const { return {rank_above(rates_, rate_of(load)), rank_above(cycles_, load.cycles)}; }

  Sum& below(std::size_t rate, std::size_t cycles) { return sums_[rate * (cycles_.size() + 1) + cycles]; }
  const Sum& below(std::size_t rate, std::size_t cycles) const { return sums_[rate * (cycles_.size() + 1) + cycles]; }

  /// below(i, j): the runs of the first i rates and the first j lengths.
  void add_up() {
    sums_.resize((rates_.size() + 1) * (cycles_.size() + 1));
    for (const RecordedRun* run : runs_) {
      Sum& sum = below(rank(rates_, rate_of(run->load)) + 1, rank(cycles_, run->load.cycles) + 1);
      sum.hz += run->clock_hz;
      ++sum.runs;
    }
    for (std::size_t i = 1; i <= rates_.size(); ++i)
      for (std::size_t j = 1; j <= cycles_.size(); ++j) {
        const Sum &left = below(i - 1, j), &under = below(i, j - 1), &both = below(i - 1, j - 1);
        below(i, j).hz += left.hz + under.hz - both.hz;
        below(i, j).runs += left.runs + under.runs - both.runs;
      }
  }

  /// Returns 0 runs for an empty rectangle.
  BorrowedClock mean_between(const Corner& u, const Corner& v) const {
    if (u.rate >= v.rate || u.cycles >= v.cycles) return {};
    const Sum &all = below(v.rate, v.cycles), &left = below(u.rate, v.cycles), &under = below(v.rate, u.cycles),
              &both = below(u.rate, u.cycles);
    const int runs = all.runs - left.runs - under.runs + both.runs;
    return runs == 0 ? BorrowedClock{} : BorrowedClock{(all.hz - left.hz - under.hz + both.hz) / runs, runs};
  }

  std::vector<const RecordedRun*> runs_;
  std::vector<double> rates_, cycles_;  // each value once, ascending
  std::vector<Sum> sums_;
};

}  // namespace

std::optional<BorrowedClock> borrowed_clock(std::span<const RecordedRun> runs, const TensorLoad& load) {
  return RunsByLoad(runs, load.instruction, [](const RecordedRun&) { return true; }).lend(load);
}

std::optional<ClockErrors> borrowed_clock_errors(std::span<const RecordedRun> runs, std::string_view kernel) {
  std::vector<const RecordedRun*> own;
  for (const RecordedRun& run : runs)
    if (run.kernel == kernel) own.push_back(&run);
  ClockErrors errors;
  for (const RecordedRun* run : own) {
    const RunsByLoad others(runs, run->load.instruction,
                            [&](const RecordedRun& other) { return !(other.problem == run->problem); });
    const auto clock = others.lend(run->load);
    if (!clock) continue;
    const double error = std::abs(clock->hz / run->clock_hz - 1);
    ++errors.runs;
    errors.mean += error;
    errors.worst = std::max(errors.worst, error);
  }
  if (errors.runs == 0) return std::nullopt;
  errors.mean /= errors.runs;
  return errors;
}

}  // namespace tilescope
