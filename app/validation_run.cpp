// Cases of a bundle on all cores: each thread takes the largest case that is left.
#include "app/validation_run.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace tilescope {

namespace {

/// What a simulation's work grows with: elements of S.
double size_of(const MeasuredCase& measured) {
  const AttentionProblem& p = measured.problem;
  return static_cast<double>(p.query_planes()) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv);
}

}  // namespace

bool validate_cases(const GpuSpec& gpu, std::span<const MeasuredCase> cases, const std::function<bool(std::size_t)>& wanted, int threads,
                    const CaseDone& done, const std::function<bool()>& cancelled) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!wanted || wanted(i)) order.push_back(i);
  // A large case begun last would keep one thread busy while the others have nothing left to do.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size_of(cases[a]) > size_of(cases[b]); });

  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  std::mutex reporting;
  const Progress progress = [&](double) {
    if (cancelled && cancelled()) stopped = true;
    return !stopped.load(std::memory_order_relaxed);
  };
  const auto work = [&] {
    while (progress(0)) {  // a small case never asks by itself
      const std::size_t at = next++;
      if (at >= order.size()) return;
      const Result<CaseValidation> result = simulate_case(gpu, cases[order[at]], progress);
      if (!result) return;
      const std::lock_guard lock(reporting);
      if (done && !done(order[at], *result)) stopped = true;
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(threads, static_cast<int>(order.size())); ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  return !stopped;
}

int core_count() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace tilescope
