// Writes bottlenecks, speeds and later write-backs.
#include "app/views/outcome_words.h"

#include <cmath>

#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::tensor:
      return tr("tensor cores");
    case Bound::exp:
      return tr("exponential unit");
    case Bound::fp32:
      return tr("FP32 units");
    case Bound::l2:
      return tr("L2 bandwidth");
    case Bound::hbm:
      return tr("HBM bandwidth");
    case Bound::smem:
      return tr("shared memory");
    case Bound::latency:
      return tr("latency");
  }
  return "";
}

std::string written_after_text(double dirty_bytes) {
  if (dirty_bytes <= 0) return {};
  return say(tr("{} more are written back after the run."), format_bytes(dirty_bytes));
}

std::string written_after_text(double first, double second) {
  if (first <= 0 && second <= 0) return {};
  return say(tr("Written back after the runs: {} more and {} more."), format_bytes(first), format_bytes(second));
}

std::string speed_text(double now, double before) {
  constexpr double alike = 1.005;
  if (now <= 0 || before <= 0) return tr("same time");
  if (before / now >= alike) return say(tr("{}× faster"), format_times(before / now));
  if (now / before >= alike) return say(tr("{}× slower"), format_times(now / before));
  return tr("same time");
}

std::string bound_text(Bound bound, const SmUse& sms) {
  if (is_shared(bound) || !sms.many_idle() || !sms.never_used()) return bound_name(bound);
  return say(tr("{} on {} of {} SMs"), bound_name(bound), sms.with_blocks, sms.all);
}

bool RunBound::idle_decides() const {
  if (is_shared(bound) || !sms.many_idle()) return false;
  if (limit != nullptr && limit->outcome.done()) return sms.idle > -limit->change();
  return bound != Bound::latency && sms.idle > busy;
}

RunBound bound_of(const Simulation& run, const NextLimit* limit) {
  return {run.bound, run.sms, run.utilisation[static_cast<std::size_t>(run.bound)], limit};
}

RunBound bound_of(const Outcome& run, const NextLimit* limit) {
  return {run.bound, run.sms, run.utilisation[static_cast<std::size_t>(run.bound)], limit};
}

bool same_bottleneck(const RunBound& a, const RunBound& b) {
  return a.idle_decides() == b.idle_decides() && (a.idle_decides() || a.bound == b.bound);
}

std::string idle_bound_text(const SmUse& sms) {
  if (sms.never_used()) return say(tr("SMs without a block ({} of {})"), sms.all - sms.with_blocks, sms.all);
  return say(tr("SMs without a block ({} of the SM time)"), format_percent(sms.idle));
}

std::string idle_text(const RunBound& run) {
  const auto& [bound, sms, busy, limit] = run;
  if (!sms.many_idle() || run.idle_decides()) return {};
  if (!sms.never_used()) return say(tr("; SMs have no block {} of the time"), format_percent(sms.idle));
  if (is_shared(bound)) return say(tr("; {} of {} SMs have no block"), sms.all - sms.with_blocks, sms.all);
  return tr("; the others have no block");
}

std::string whole_percent(double share) {
  return format_percent(std::round(share * 100) / 100);
}

std::string busy_text(Bound bound, std::string_view percent) {
  if (is_shared(bound)) return say(tr("{} busy"), percent);
  return say(tr("busy {} of the SM time with a block"), percent);
}

std::string bottleneck_text(const RunBound& run) {
  const auto& [bound, sms, busy, limit] = run;
  if (run.idle_decides()) return say(tr("Bottleneck: {}"), idle_bound_text(sms));
  if (limit == nullptr || !limit->outcome.done() || limit->decides()) return say(tr("Bottleneck: {}"), bound_text(bound, sms));
  if (bound != Bound::latency) return say(tr("No single bottleneck, busiest: {}"), bound_text(bound, sms));
  if (!sms.many_idle() || !sms.never_used()) return tr("No single bottleneck");
  return say(tr("No single bottleneck on {} of {} SMs"), sms.with_blocks, sms.all);
}

std::string unshared_text(const Outcome& outcome) {
  return say(tr("At least {} if no read shares an L2 lookup: the model does not know how many do."),
             format_time(Nanoseconds(outcome.unshared_ns)));
}

std::string next_limit_text(const RunBound& run) {
  const NextLimit& limit = *run.limit;
  std::string faster = speed_text(limit.outcome.time_ns, limit.before_ns);
  if (limit.outcome.l2_may_decide())
    faster =
        say(tr("{} (at least {} if no read shares an L2 lookup)"), faster, format_time(Nanoseconds(limit.outcome.unshared_ns)));
  // Slightly slower is another order of the blocks, not what was lifted.
  if (!limit.decides() || run.idle_decides())
    return say(tr("Without {} alone: {}"), bound_name(limit.without), limit.change() < 0 ? faster : std::string(tr("no faster")));
  switch (limit.outcome.bound) {
    case Bound::tensor:
      return say(tr("Without this limit: {}, then limited by the tensor cores"), faster);
    case Bound::exp:
      return say(tr("Without this limit: {}, then limited by the exponential unit"), faster);
    case Bound::fp32:
      return say(tr("Without this limit: {}, then limited by the FP32 units"), faster);
    case Bound::l2:
      return say(tr("Without this limit: {}, then limited by L2 bandwidth"), faster);
    case Bound::hbm:
      return say(tr("Without this limit: {}, then limited by HBM bandwidth"), faster);
    case Bound::smem:
      return say(tr("Without this limit: {}, then limited by shared memory"), faster);
    case Bound::latency:
      break;
  }
  // Latency was lifted and still no resource is busy for half of the time.
  if (limit.without == Bound::latency) return say(tr("Without this limit: {}, then no single limit"), faster);
  return say(tr("Without this limit: {}, then limited by latency"), faster);
}

}  // namespace tilescope
