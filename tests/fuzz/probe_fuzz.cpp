// Fuzzes the readers of probes and of HBM samples.
#include <string_view>

#include "kernels/measure/probe_json.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto probe = probe_from_json(text))
    fuzz_check(static_cast<bool>(probe_from_json(to_json(*probe))), "an accepted probe can be written and read");
  else
    fuzz_check_sentence(probe.error().sentence.text());
  if (const auto samples = bandwidth_from_json(text))
    fuzz_check(static_cast<bool>(bandwidth_from_json(to_json(*samples))), "accepted samples can be written and read");
  else
    fuzz_check_sentence(samples.error().sentence.text());
  return 0;
}
