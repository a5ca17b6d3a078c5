// An outcome in words: its bottleneck, what lifting it saves, how much faster it is, and the bytes written back after it.
#pragma once

#include <string>
#include <string_view>

#include "sim/analysis/next_limit.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// Names a bound, as a label: "tensor cores", "HBM bandwidth".
const char* bound_name(Bound bound);
/// Names a bound and, where many SMs never get a block, the others: "tensor cores on 4 of 132 SMs".
std::string bound_text(Bound bound, const SmUse& sms);
/// Says how many SMs idle, after bound_text(): "; the others have no block". Empty if few do.
std::string idle_text(Bound bound, const SmUse& sms);
/// Says how busy a resource is: "78 % busy" of the run where all SMs share it, else "busy 94 % of the SM time with a block".
std::string busy_text(Bound bound, std::string_view percent);
/// Says what HBM bytes leave out: "2.30 kB more are written back after the run."; empty where the L2 ends clean.
std::string written_after_text(double dirty_bytes);
/// The same of two runs side by side.
std::string written_after_text(double first, double second);
/// Compares two times: "4.9× faster", "1.20× slower", "same time".
std::string speed_text(double now, double before);
/// Returns "At least 1.52 ms if no read shares an L2 lookup. …" of a run on a changed GPU.
std::string unshared_text(const Outcome& outcome);
/// Returns "Without this limit: 20× faster, then limited by the FP32 units".
std::string next_limit_text(const NextLimit& limit);
/// Returns "Bottleneck: HBM bandwidth", or what is only the busiest where lifting it saves little. `limit` may be null.
std::string bottleneck_text(Bound bound, const SmUse& sms, const NextLimit* limit);

}  // namespace tilescope
