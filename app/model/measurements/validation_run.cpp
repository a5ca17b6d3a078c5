// Cases of a bundle on all cores, by size.
#include "app/model/measurements/validation_run.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "app/model/background/parallel.h"

namespace tilescope {

double work_of(const MeasuredCase& measured) {
  const AttentionProblem& p = measured.problem;
  return static_cast<double>(p.query_planes()) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv);
}

bool validate_cases(const GpuSpec& gpu, std::span<const MeasuredCase> cases, std::span<const KnownMiss> known,
                    const std::function<bool(std::size_t)>& wanted, int threads, const CaseDone& done,
                    const std::function<bool()>& cancelled, CaseOrder by) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!wanted || wanted(i)) order.push_back(i);
  // A large case begun last would keep one thread busy while the others have nothing left to do.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return by == CaseOrder::largest_first ? work_of(cases[a]) > work_of(cases[b]) : work_of(cases[a]) < work_of(cases[b]);
  });

  std::atomic<bool> stopped = false;
  std::mutex reporting;
  const Progress progress = [&](double) {
    if (cancelled && cancelled()) stopped = true;
    return !stopped.load(std::memory_order_relaxed);
  };
  return on_cores(order, threads, [&](std::size_t index) {
    if (!progress(0)) return false;  // a small case never asks by itself
    const Result<CaseValidation> result = simulate_case(gpu, cases[index], known, progress);
    if (!result) return false;
    const std::lock_guard lock(reporting);
    if (done && !done(index, *result)) stopped = true;
    return !stopped.load();
  });
}

}  // namespace tilescope
