// Groups cases into strata and chooses cases from each.
#include "sim/analysis/validation_sample.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace tilescope {

namespace {

constexpr double cheap_elements = 140e6;  // of S; such a case takes about half a second to three seconds of one core
constexpr std::size_t more_of_a_stratum = 3;

enum class Regime : std::uint8_t { fits, near, beyond };

/// Classifies HBM reads from a cold L2 by the capacity of the L2.
Regime regime_of(double hbm_read_bytes, double l2_bytes) {
  constexpr double fits = 0.5, near = 4;  // multiples of the L2's capacity
  return hbm_read_bytes < fits * l2_bytes ? Regime::fits : hbm_read_bytes < near * l2_bytes ? Regime::near : Regime::beyond;
}

/// Returns the elements of S, which the work of a simulation is proportional to.
double elements_of(const MeasuredCase& measured) {
  const AttentionProblem& p = measured.problem;
  return static_cast<double>(p.query_planes()) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv);
}

}  // namespace

std::vector<std::size_t> sample_cases(const MeasurementBundle& bundle, std::span<const KnownMiss> known) {
  std::map<std::tuple<std::string, Regime, bool>, std::vector<std::size_t>> strata;
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < bundle.cases.size(); ++i) {
    const MeasuredCase& c = bundle.cases[i];
    const auto reads = c.counters.find("hbm_read_bytes");
    if (counterpart_of(c.kernel).library || reads == c.counters.end()) continue;
    const Regime regime = regime_of(reads->second.median, static_cast<double>(bundle.l2_bytes));
    strata[{c.kernel, regime, c.problem.causal}].push_back(i);
    const std::string problem = short_text(c);
    const bool listed = std::any_of(known.begin(), known.end(),
                                    [&](const KnownMiss& miss) { return miss.kernel == c.kernel && miss.problem == problem; });
    if (listed && elements_of(c) <= cheap_elements) chosen.insert(i);
  }
  for (auto& [name, members] : strata) {
    std::stable_sort(members.begin(), members.end(),
                     [&](std::size_t a, std::size_t b) { return elements_of(bundle.cases[a]) < elements_of(bundle.cases[b]); });
    chosen.insert(members.front());
    const auto cheap = static_cast<std::size_t>(
        std::partition_point(members.begin(), members.end(),
                             [&](std::size_t i) { return elements_of(bundle.cases[i]) <= cheap_elements; }) -
        members.begin());
    for (std::size_t k = 1; cheap > 0 && k <= more_of_a_stratum; ++k) chosen.insert(members[k * (cheap - 1) / more_of_a_stratum]);
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace tilescope
