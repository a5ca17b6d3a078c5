// Compares two ledgers tensor by tensor.
#include "app/views/race/race_reason.h"

#include <algorithm>

#include "app/ui/language.h"
#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// Tensors are named until they explain this much of the difference.
constexpr double telling_share = 0.75;
/// Totals closer than this count as equal.
constexpr double alike = 0.005;

/// The tensor of a run's program that stands for the same thing; none where it has none.
Tensor counterpart(const Simulation& run, Tensor tensor) {
  for (const Tensor own : run.program->tensors())
    if (own.means_as(tensor)) return own;
  return {};
}

std::int64_t both_ways(const Simulation& run, Tensor tensor, Link up, Link down) {
  const Tensor own = counterpart(run, tensor);
  return own ? run.ledger.total(own, up).value + run.ledger.total(own, down).value : 0;
}

std::int64_t in_all(const Simulation& run, Link up, Link down) {
  return run.ledger.total(up).value + run.ledger.total(down).value;
}

std::string bytes(std::int64_t count) {
  return format_bytes(Bytes(count));
}

}  // namespace

RaceReason race_reason(const Simulation& first, const Simulation& second) {
  constexpr Link up = Link::l2_to_sm, down = Link::sm_to_l2;
  const std::int64_t all = in_all(first, up, down), difference = all - in_all(second, up, down);
  RaceReason reason;
  if (static_cast<double>(difference) <= alike * static_cast<double>(all)) return reason;
  std::vector<std::pair<std::int64_t, Tensor>> savings;
  for (const Tensor tensor : first.program->tensors())
    if (const std::int64_t saved = both_ways(first, tensor, up, down) - both_ways(second, tensor, up, down); saved > 0)
      savings.emplace_back(saved, tensor);
  std::stable_sort(savings.begin(), savings.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::int64_t told = 0;
  for (const auto& [saved, tensor] : savings) {
    if (reason.tensors.size() == 2 || static_cast<double>(told) >= telling_share * static_cast<double>(difference)) break;
    told += saved;
    reason.tensors.push_back(tensor);
    reason.first += both_ways(first, tensor, up, down);
    reason.second += both_ways(second, tensor, up, down);
  }
  reason.share = static_cast<double>(reason.first) / static_cast<double>(all);
  const auto hbm = static_cast<double>(in_all(first, Link::hbm_read, Link::hbm_write));
  const auto less = hbm - static_cast<double>(in_all(second, Link::hbm_read, Link::hbm_write));
  reason.same_hbm = first.request.gpu.has_l2() && std::abs(less) <= alike * hbm;
  return reason;
}

std::vector<std::string> race_sentences(const Simulation& first, const Simulation& second) {
  const RaceReason reason = race_reason(first, second);
  if (reason.tensors.empty()) return {};
  std::string names(to_string(reason.tensors.front()));
  if (reason.tensors.size() == 2) names = say(tr("{} and {}"), names, to_string(reason.tensors.back()));
  const std::string share = format_percent(std::round(reason.share * 100) / 100);
  const std::string short_form =
      reason.second == 0 ? say(tr("{}: {} of the traffic on the left, none on the right"), names, share)
                         : say(tr("{}: {} on the left, {} on the right"), names, bytes(reason.first), bytes(reason.second));
  const std::string full = reason.second == 0
                               ? say(tr("Why: {} of the L2↔SM traffic of {} is {}. {} keeps it in the SM."), share,
                                     translated(first.info->title), names, translated(second.info->title))
                               : say(tr("Why: L2↔SM traffic of {}. {}: {}. {}: {}."), names, translated(first.info->title),
                                     bytes(reason.first), translated(second.info->title), bytes(reason.second));
  if (!reason.same_hbm) return {full, short_form};
  return {full + " " + tr("The L2 holds everything, so HBM traffic is identical."),
          short_form + tr("; the L2 holds everything, so HBM traffic is identical"), short_form};
}

std::string race_by_tensor(const Simulation& first, const Simulation& second, Link up, Link down) {
  std::string text = say(tr("{}, then {}"), translated(first.info->title), translated(second.info->title));
  std::vector<Tensor> tensors(first.program->tensors().begin(), first.program->tensors().end());
  for (const Tensor own : second.program->tensors())
    if (!counterpart(first, own)) tensors.push_back(own);
  for (const Tensor tensor : tensors) {
    const std::int64_t left = both_ways(first, tensor, up, down), right = both_ways(second, tensor, up, down);
    if (left > 0 || right > 0) add_line(text, fmt::format("{}: {}, {}", to_string(tensor), bytes(left), bytes(right)));
  }
  return text;
}

}  // namespace tilescope
