// Finds what bounds the slower run, and compares two ledgers tensor by tensor.
#include "app/views/race/race_reason.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/ui/language.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/outcome_words.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

namespace {

/// Tensors are named until they explain this much of the difference.
constexpr double sufficient_share = 0.75;
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
  if (!own) return 0;
  return run.ledger.total(own, up).value + run.ledger.total(own, down).value;
}

std::int64_t in_all(const Simulation& run, Link up, Link down) {
  return run.ledger.total(up).value + run.ledger.total(down).value;
}

/// Returns "S" or "S and P".
std::string tensor_names(const RaceReason& reason) {
  const std::string first = formula_text(to_string(reason.tensors.front()));
  return reason.tensors.size() == 2 ? say(tr("{} and {}"), first, formula_text(to_string(reason.tensors.back()))) : first;
}

std::string bytes(std::int64_t count) {
  return format_bytes(Bytes(count));
}

}  // namespace

RaceReason race_reason(const Simulation& first, const Simulation& second) {
  RaceReason reason;
  reason.first_is_slower = first.time.value >= second.time.value;
  const Simulation& slow = reason.first_is_slower ? first : second;
  const Simulation& fast = reason.first_is_slower ? second : first;
  if (slow.time.value <= (1 + alike) * fast.time.value) return reason;
  reason.any = true;
  reason.bound = slow.bound;
  if (slow.bound != Bound::latency) reason.busy = slow.utilisation[static_cast<std::size_t>(slow.bound)];
  reason.hbm_busy = slow.utilisation[static_cast<std::size_t>(Bound::hbm)];
  const auto moved = [](const Simulation& run) { return static_cast<double>(hbm_bytes(run)); };
  reason.same_hbm = slow.request.gpu.has_l2() && std::abs(moved(slow) - moved(fast)) <= alike * moved(slow);
  if (slow.bound != Bound::hbm && slow.bound != Bound::l2) return reason;

  const Link up = slow.bound == Bound::hbm ? Link::hbm_read : Link::l2_to_sm;
  const Link down = slow.bound == Bound::hbm ? Link::hbm_write : Link::sm_to_l2;
  const std::int64_t all = in_all(slow, up, down), difference = all - in_all(fast, up, down);
  if (static_cast<double>(difference) <= alike * static_cast<double>(all)) return reason;
  std::vector<std::pair<std::int64_t, Tensor>> savings;
  for (const Tensor tensor : slow.program->tensors())
    if (const std::int64_t saved = both_ways(slow, tensor, up, down) - both_ways(fast, tensor, up, down); saved > 0)
      savings.emplace_back(saved, tensor);
  std::stable_sort(savings.begin(), savings.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::int64_t told = 0;
  for (const auto& [saved, tensor] : savings) {
    if (reason.tensors.size() == 2 || static_cast<double>(told) >= sufficient_share * static_cast<double>(difference)) break;
    told += saved;
    reason.tensors.push_back(tensor);
    reason.slower += both_ways(slow, tensor, up, down);
    reason.faster += both_ways(fast, tensor, up, down);
  }
  reason.share = static_cast<double>(reason.slower) / static_cast<double>(all);
  return reason;
}

namespace {

/// Says what bounds the slower run where no bytes are credited.
std::string without_bytes(const RaceReason& reason, const Simulation& slow, const Simulation& fast) {
  const std::string slow_name = translated(slow.info->title), hbm = whole_percent(reason.hbm_busy);
  if (bound_of(slow).idle_decides())
    return say(tr("Why: bottleneck of {}: {}{}. HBM is {} busy."), slow_name, idle_bound_text(slow.sms), "", hbm);
  const std::string bound = bound_text(slow.bound, slow.sms), idle = idle_text(bound_of(slow)),
                    busy = busy_text(slow.bound, whole_percent(reason.busy));
  if (reason.bound == Bound::latency && slow.launches.size() > fast.launches.size())
    return say(tr("Why: bottleneck of {}: {}{}. It has {} launches against {}. HBM is {} busy."), slow_name, bound, idle,
               slow.launches.size(), fast.launches.size(), hbm);
  if (reason.bound == Bound::latency) return say(tr("Why: bottleneck of {}: {}{}. HBM is {} busy."), slow_name, bound, idle, hbm);
  if (reason.bound == Bound::hbm) return say(tr("Why: bottleneck of {}: {} ({}){}."), slow_name, bound, busy, idle);
  return say(tr("Why: bottleneck of {}: {} ({}){}. HBM is {} busy."), slow_name, bound, busy, idle, hbm);
}

}  // namespace

std::vector<std::string> race_sentences(const Simulation& first, const Simulation& second) {
  const RaceReason reason = race_reason(first, second);
  if (!reason.any) return {};
  const Simulation& slow = reason.first_is_slower ? first : second;
  const Simulation& fast = reason.first_is_slower ? second : first;
  if (reason.tensors.empty()) {
    const std::string text = without_bytes(reason, slow, fast);
    if (!reason.same_hbm) return {text};
    // A small problem: the L2 evicts nothing, and what one run saves is what it need not write back.
    const bool owes = dirty_bytes_at_end(first) != dirty_bytes_at_end(second);
    return {text + " " +
                (owes ? tr("Nothing is evicted from the L2: the HBM bytes saved are written back at the end.")
                      : tr("The L2 holds everything: HBM traffic is identical.")),
            text};
  }
  const std::string names = tensor_names(reason);
  const std::string cause =
      say(tr("Why: bottleneck of {}: {} ({}){}."), translated(slow.info->title), bound_text(slow.bound, slow.sms),
          busy_text(slow.bound, whole_percent(reason.busy)), idle_text(bound_of(slow)));
  const char* const link = reason.bound == Bound::hbm ? "HBM" : tr("L2↔SM");
  const std::string share = whole_percent(reason.share);
  const std::string bytes_of_both =
      reason.faster == 0 ? say(tr("{} traffic of {}: {} {}. {} moves none of it."), link, translated(slow.info->title), share,
                               names, translated(fast.info->title))
                         : say(tr("{} traffic of {}: {} against {}."), link, names, bytes(reason.slower), bytes(reason.faster));
  return {cause + " " + bytes_of_both, bytes_of_both, cause};
}

namespace {

/// When the first of a run's blocks ends, as a share of the time until the last ends.
double first_end(const Simulation& run) {
  const auto blocks = run.trace->runs();
  if (blocks.empty()) return 1;
  const auto [first, last] = std::ranges::minmax_element(blocks, {}, &BlockRun::end);
  return last->end > 0 ? first->end / last->end : 1;
}

}  // namespace

std::string slower_reason(const Outcome& slow, const Outcome& fast, const std::string& slow_name, const std::string& fast_name) {
  if (slow.time_ns <= (1 + alike) * fast.time_ns) return {};
  const auto both = [&](const std::string& a, const std::string& b) {
    return say(tr("{} {}, {} {}."), slow_name, a, fast_name, b);
  };
  const auto bytes_of = [](double count) { return format_bytes(std::round(count)); };
  const auto more = [](double a, double b) { return a > (1 + alike) * b; };
  if (slow.bound == Bound::hbm && more(slow.hbm_in_time(), fast.hbm_in_time())) {
    std::string text = tr("HBM bytes by the end of the run:");
    text += " " + both(bytes_of(slow.hbm_in_time()), bytes_of(fast.hbm_in_time()));
    if (more(fast.hbm_after(), slow.hbm_after()))
      text += std::string(" ") + tr("Written after it:") + " " + both(bytes_of(slow.hbm_after()), bytes_of(fast.hbm_after()));
    return text;
  }
  if (slow.bound == Bound::l2 && more(slow.sm_link(), fast.sm_link()))
    return std::string(tr("L2↔SM bytes:")) + " " + both(bytes_of(slow.sm_link()), bytes_of(fast.sm_link()));

  std::string text;
  const auto unit = static_cast<std::size_t>(slow.bound);
  if (!is_shared(slow.bound) && slow.hbm() + slow.sm_link() < fast.hbm() + fast.sm_link())
    text = say(tr("Fewer bytes save no time here: HBM is busy {}."),
               format_percent(slow.utilisation[static_cast<std::size_t>(Bound::hbm)])) +
           " ";
  constexpr double clearly = 0.01;  // of the SM time
  if (!is_shared(slow.bound) && slow.sms.idle > fast.sms.idle + clearly)
    return text + tr("Time without a block, mean of all SMs:") + " " +
           both(format_percent(slow.sms.idle), format_percent(fast.sms.idle));
  if (slow.bound == Bound::latency) return text + tr("No unit is the limit: operations wait for each other.");
  const double a = slow.utilisation[unit] * slow.time_ns, b = fast.utilisation[unit] * fast.time_ns;
  if (more(a, b))
    return text + say(tr("Work of its bottleneck ({}):"), bound_name(slow.bound)) + " " +
           both(format_time(Nanoseconds(a)), format_time(Nanoseconds(b)));
  return text + say(tr("Its bottleneck ({}) also waits longer. Busy:"), bound_name(slow.bound)) + " " +
         both(format_percent(slow.utilisation[unit]), format_percent(fast.utilisation[unit]));
}

std::string mask_reason(const Simulation& masked, const Simulation& dense, const NextLimit* limit) {
  const auto bound = [](const Simulation& run) {
    if (bound_of(run).idle_decides()) return idle_bound_text(run.sms);
    if (run.bound == Bound::latency) return bound_text(run.bound, run.sms);
    const double busy = run.utilisation[static_cast<std::size_t>(run.bound)];
    return fmt::format("{} ({})", bound_text(run.bound, run.sms), busy_text(run.bound, whole_percent(busy)));
  };
  const bool decides = limit == nullptr || !limit->outcome.done() || limit->decides() || masked.bound == Bound::latency;
  std::string text = say(decides ? tr("Bottleneck: {}; dense: {}.") : tr("No single bottleneck, busiest: {}; dense: {}."),
                         bound(masked), bound(dense));
  const Outcome with = outcome_of(masked), without = outcome_of(dense);
  const RaceReason reason = race_reason(masked, dense);
  const auto by_tensor = [&](std::int64_t of_masked, std::int64_t of_dense) {
    const char* const link = reason.bound == Bound::hbm ? "HBM" : tr("L2↔SM");
    return say(tr("{} traffic of {}: {}, dense {}."), link, tensor_names(reason), bytes(of_masked), bytes(of_dense));
  };
  const std::string why = slower_reason(with, without, tr("masked"), tr("dense"));
  if (why.empty()) return reason.tensors.empty() ? text : text + " " + by_tensor(reason.faster, reason.slower);
  text +=
      " " +
      say(tr("Slower, although it computes {} of the dense products."), format_percent(with.flops / std::max(without.flops, 1.0))) +
      " " + why;
  const double more = with.bound == Bound::hbm ? with.hbm_in_time() - without.hbm_in_time() : with.sm_link() - without.sm_link();
  if (!reason.tensors.empty() && static_cast<double>(reason.slower - reason.faster) >= sufficient_share * more)
    return text + " " + by_tensor(reason.slower, reason.faster);
  // What the L2 evicts during one run and leaves for after the other costs the first its time.
  const double first = first_end(masked), first_of_dense = first_end(dense);
  if (with.bound == Bound::hbm && without.hbm_after() > with.hbm_after() && first < first_of_dense)
    text +=
        " " + say(tr("Its first block ends at {} of the run, the dense one's at {}: results are written while other blocks read."),
                  whole_percent(first), whole_percent(first_of_dense));
  return text;
}

std::string race_written_after(const Simulation& first, const Simulation& second) {
  return written_after_text(static_cast<double>(dirty_bytes_at_end(first)), static_cast<double>(dirty_bytes_at_end(second)));
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
