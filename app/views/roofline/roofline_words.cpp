// Writes the sentences of the roofline panel.
#include "app/views/roofline/roofline_words.h"

#include <algorithm>
#include <cmath>

#include "app/ui/say.h"
#include "app/views/algorithm_style.h"
#include "app/views/outcome_words.h"
#include "app/views/timed_run.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// Returns a launch's point at its slowest level.
const RooflinePoint* slowest_level(std::span<const RooflinePoint> points, std::string_view launch) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const RooflinePoint& p) { return p.launch == launch; });
  return found == points.end() ? nullptr : &*found;
}

std::string whole_bytes(double count) {
  return format_bytes(std::round(count));
}

constexpr double shown_share = 0.005;  // of a sum: less does not show in its digits

/// Writes a launch's bytes at a level as a sum: "S 597 MB + P 505 MB + other 17.6 MB". Up to four tensors have their names.
std::string carried(const RooflinePoint& point) {
  std::string text;
  double rest = 0;
  int named = 0;
  for (const TensorShare& share : point.tensors) {
    if (named >= 4 || share.bytes < 0.1 * point.bytes) {
      rest += share.bytes;
      continue;
    }
    text += fmt::format("{}{} {}", named == 0 ? "" : " + ", to_string(share.tensor), whole_bytes(share.bytes));
    ++named;
  }
  if (rest > 0) text += (named > 0 ? " + " : "") + say(tr("other {}"), whole_bytes(rest));
  if (point.queued_bytes > shown_share * point.bytes)
    text += say(tr(" + {} queued by the launch before"), whole_bytes(point.queued_bytes));
  else if (-point.queued_bytes > shown_share * point.bytes)
    text += say(tr(" − {} that HBM writes only after its end"), whole_bytes(-point.queued_bytes));
  return text;
}

/// The same at HBM with the bytes that the L2 still holds when the run ends: results such as O and L, of which a large L2 keeps
/// all.
std::string per_byte_with_later(const RooflineKernel& kernel, const RooflinePoint& whole) {
  const double later = whole.level == Ceiling::hbm ? kernel.outcome.dirty() : 0;
  return format_value(std::round(10 * whole.operations() / (whole.bytes + later)) / 10);
}

}  // namespace

const char* ceiling_name(Ceiling ceiling) {
  switch (ceiling) {
    case Ceiling::hbm:
      return "HBM";
    case Ceiling::l2:
      return "L2";
    case Ceiling::shared_memory:
      return tr("shared memory");
    case Ceiling::tensor_cores:
      return tr("tensor cores");
    case Ceiling::wgmma:
      return tr("tensor cores with wgmma");
    case Ceiling::exponentials:
      return tr("exponentials");
  }
  return "";
}

std::vector<std::string_view> launches_of(const RooflineKernel& kernel) {
  std::vector<std::string_view> names;
  for (const RooflinePoint& point : kernel.launches)
    if (names.empty() || names.back() != point.launch) names.push_back(point.launch);
  return names;
}

const RooflinePoint* whole_at(const RooflineKernel& kernel, Ceiling level) {
  const auto found =
      std::find_if(kernel.whole.begin(), kernel.whole.end(), [&](const RooflinePoint& p) { return p.level == level; });
  return found == kernel.whole.end() ? nullptr : &*found;
}

std::string per_byte(const RooflinePoint& point) {
  return format_value(std::round(point.operations_per_byte() * 10) / 10);
}

std::string roofline_headline(const RooflineStudy& study, const Simulation& timed, const NextLimit* limit) {
  const RooflineKernel *chosen = nullptr, *other = nullptr;
  for (const RooflineKernel& kernel : study.kernels) (kernel.chosen ? chosen : other) = &kernel;
  if (chosen == nullptr || chosen->whole.empty()) return tr("Nothing moves here");
  // The ceilings are those of all SMs, so a run that leaves many idle stays below them whatever limits it.
  std::string text = bottleneck_text(bound_of(timed, limit)) + idle_text(bound_of(timed, limit)) + ". ";
  if (const double best = share_if_far_below(study.kernels); best > 0)
    return text + say(tr("Every launch is far below every ceiling ({} at most)"), format_percent(best));
  const RooflinePoint& point = chosen->whole.front();
  const RooflinePoint* beside = other != nullptr ? whole_at(*other, point.level) : nullptr;
  const auto later = [&](const RooflineKernel& kernel, const RooflinePoint& at) { return per_byte_with_later(kernel, at); };
  const bool written_later =
      later(*chosen, point) != per_byte(point) || (beside != nullptr && later(*other, *beside) != per_byte(*beside));
  if (!written_later) {
    text +=
        say(tr("{}: {} operations per byte of {}"), algorithm_title(chosen->algorithm), per_byte(point), ceiling_name(point.level));
    if (beside != nullptr) text += say(tr(", {} {}"), algorithm_title(other->algorithm), per_byte(*beside));
  } else {
    text += say(tr("{}: {} operations per byte of HBM during the run, {} with later write-backs"),
                algorithm_title(chosen->algorithm), per_byte(point), later(*chosen, point));
    if (beside != nullptr)
      text += say(tr("; {}: {} and {}"), algorithm_title(other->algorithm), per_byte(*beside), later(*other, *beside));
  }
  return text + say(tr(". Below {}, memory is slower than the tensor cores"), format_value(std::round(point.ridge)));
}

std::string divided_text(const RooflineStudy& study) {
  const RooflineKernel *chosen = nullptr, *other = nullptr;
  for (const RooflineKernel& kernel : study.kernels) (kernel.chosen ? chosen : other) = &kernel;
  if (chosen == nullptr || chosen->whole.empty() || share_if_far_below(study.kernels) > 0) return {};
  const Ceiling level = chosen->whole.front().level;
  const auto of = [](const RooflineKernel& kernel, const RooflinePoint& point) {
    return say(tr("{}: {} over {}"), algorithm_title(kernel.algorithm), format_short(point.operations(), "op"),
               format_bytes(std::round(point.bytes)));
  };
  std::string text = of(*chosen, chosen->whole.front());
  const RooflinePoint* const beside = other != nullptr ? whole_at(*other, level) : nullptr;
  if (beside != nullptr) text += ". " + of(*other, *beside);
  text += '.';
  const std::string later = level != Ceiling::hbm ? std::string()
                            : beside != nullptr   ? written_after_text(chosen->outcome.dirty(), other->outcome.dirty())
                                                  : written_after_text(chosen->outcome.dirty());
  return later.empty() ? text : text + " " + later;
}

std::string roof_clock_text(const View& view, const RooflineStudy& study) {
  const std::string clock = format_clock(study.gpu.sm_clock_hz), below = format_clock(timed_run(view).request.gpu.sm_clock_hz);
  if (below == clock) return say(tr("Simulated at {}."), clock);
  return say(tr("Simulated at {}. The time below is at {}, the clock under load."), clock, below);
}

std::string ceiling_sentence(const RooflineStudy& study, const RooflineKernel& kernel, std::string_view launch,
                             const Simulation& shown) {
  const RooflinePoint* point = slowest_level(kernel.launches, launch);
  const NearestCeiling nearest = nearest_ceiling(study.roof, kernel.launches, launch, flops_per_score(study.problem));
  const double intensity = point->operations_per_byte();
  const RooflineCeiling* level = study.roof.find(point->level);
  const bool below = level != nullptr && intensity < point->ridge;
  const std::string ridge = level != nullptr ? format_value(std::round(point->ridge)) : std::string();
  const bool at_memory = is_memory(nearest.of);
  const char* sentence = below && !at_memory
                             ? tr("{}: {} operations per byte of {}, below its ridge ({}), but closest to {} ({} reached)")
                         : below ? tr("{}: {} operations per byte of {}, below its ridge ({}). Closest ceiling: {} ({} reached)")
                                 : tr("{}: {} operations per byte of {}, above its ridge ({}). Closest ceiling: {} ({} reached)");
  const std::string operations = format_short(point->operations(), "op"), bytes = format_bytes(std::round(point->bytes));
  const std::string why = point->flops > 0 ? say(tr(". {} ({} of products) over {}: {}"), operations,
                                                 format_short(point->flops, "FLOP"), bytes, carried(*point))
                                           : say(tr(". {} (no products) over {}: {}"), operations, bytes, carried(*point));
  const double tensor = shown.utilisation[static_cast<std::size_t>(Bound::tensor)];
  const double useful = product_share(shown);
  const bool said = kernel.chosen && launches_of(kernel).size() == 1 && nearest.of == point->products && tensor > useful;
  std::string taken;
  if (said && shown.sms.many_idle() && shown.sms.never_used())
    taken = say(tr(". Tensor cores of {} of {} SMs busy {} of the SM time with a block, also with other instructions"),
                shown.sms.with_blocks, shown.sms.all, format_percent(tensor));
  else if (said)
    taken = say(tr(". Tensor cores busy {} of the SM time with a block, also with other instructions"), format_percent(tensor));
  const std::string name = launches_of(kernel).size() > 1
                               ? fmt::format("{} {}", algorithm_title(kernel.algorithm), translated(launch))
                               : algorithm_title(kernel.algorithm);
  const auto result = std::ranges::find(kernel.results, launch, &LaunchResult::name);
  const auto busier = result != kernel.results.end() ? busier_without_line(*result, nearest) : std::nullopt;
  const std::string without_line =
      busier ? say(tr(". Busier, and without a line here: {} ({})"), bound_name(busier->of), format_percent(busier->share))
             : std::string();
  return say(sentence, name, format_value(std::round(intensity * 10) / 10), ceiling_name(point->level), ridge,
             ceiling_name(nearest.of), format_percent(nearest.share)) +
         without_line + taken + why;
}

std::string sum_of_launches(const RooflineKernel& kernel) {
  const RooflinePoint* const whole = whole_at(kernel, Ceiling::hbm);
  if (whole == nullptr || launches_of(kernel).size() < 2) return {};
  std::string parts;
  double rest = whole->bytes;
  for (const RooflinePoint& point : kernel.launches) {
    if (point.level != Ceiling::hbm) continue;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : " + ", translated(point.launch), whole_bytes(point.bytes));
    rest -= point.bytes;
  }
  if (rest > shown_share * whole->bytes)
    parts += say(tr(" + {} that HBM writes between launches and after the last"), whole_bytes(rest));
  return say(tr("{}, all launches: {} of HBM: {}"), algorithm_title(kernel.algorithm), whole_bytes(whole->bytes), parts);
}

}  // namespace tilescope
