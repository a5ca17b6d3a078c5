// Fuzzes the reader of Nsight Compute's CSV, and the matching of its launches.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/measure/ncu_csv.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const auto report = read_ncu_csv(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.csv");
  if (!report) {
    fuzz_check_sentence(report.error().sentence.text());
    return 0;
  }
  fuzz_check(!report->launches.empty(), "an accepted file has a launch");
  for (const NcuLaunch& launch : report->launches)
    for (const auto& [key, value] : launch.values)
      fuzz_check(std::isfinite(value.value) && value.value >= 0, "a counter is a count");
  for (const std::vector<std::string>& launches : {std::vector<std::string>{"attention"}, {"scores", "softmax", "output"}}) {
    const auto match = match_ncu_launches(*report, launches, "flash2", "fuzz.csv");
    if (!match) {
      fuzz_check_sentence(match.error().sentence.text());
      continue;
    }
    fuzz_check(match->rows.size() == launches.size(), "every launch has its row");
    for (const std::size_t row : match->rows) fuzz_check(row < report->launches.size(), "a row is one of the file");
  }
  return 0;
}
