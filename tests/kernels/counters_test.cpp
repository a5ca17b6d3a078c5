// The host half of the hardware counters: which metrics a chip has and how many passes they take. Needs CUPTI, and no GPU.
#include "kernels/measure/counters.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kernels/device.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

/// CUPTI can be absent where CUDA is not, and is where there is no CUDA at all.
bool have_cupti() {
  const Result<CounterPlan> plan = plan_counters("GH100", counter_metrics());
  if (plan) return true;
  skip_test(plan.error().sentence);
  CHECK(plan.error().kind == Error::Kind::machine_lacks);
  return false;
}

}  // namespace

TEST_CASE("counters: keys and metrics of the table are different") {
  std::set<std::string_view> keys, metrics;
  for (const Counter& counter : counter_table()) {
    CHECK(keys.insert(counter.key).second);
    CHECK(metrics.insert(counter.metric).second);
    CHECK(counter.factor > 0);
  }
}

TEST_CASE("counters: every metric is valid on GA100, AD102, GH100 and GB100, in a handful of passes") {
  if (!have_cupti()) return;
  for (const char* chip : {"GA100", "AD102", "GH100", "GB100"}) {
    CAPTURE(std::string(chip));
    const Result<CounterPlan> plan = plan_counters(chip, counter_metrics());
    REQUIRE(plan);
    // A desktop chip has one L2 partition and no fabric; Blackwell counts its matrix instructions by another name.
    const std::string chip_name = chip;
    for (const Counter& counter : counter_table()) {
      const bool absent = (chip_name == "AD102" && counter.key == "l2_fabric_bytes") ||
                          (chip_name == "GB100" && counter.key == "tensor_instructions");
      const bool unknown = std::find(plan->unknown.begin(), plan->unknown.end(), counter.metric) != plan->unknown.end();
      CHECK_MESSAGE(unknown == absent, std::string(counter.metric));
    }
    CHECK(plan->passes >= 1);
    CHECK(plan->passes <= 16);
  }
}

TEST_CASE("counters: a metric that does not exist is reported, and the others are still planned") {
  if (!have_cupti()) return;
  const std::string metrics[] = {"dram__bytes_read.sum", "dram__bytes_dreamt.sum"};
  const Result<CounterPlan> plan = plan_counters("GH100", metrics);
  REQUIRE(plan);
  REQUIRE(plan->unknown.size() == 1);
  CHECK(plan->unknown[0] == "dram__bytes_dreamt.sum");
  CHECK(plan->passes == 1);
}

TEST_CASE("counters: a chip that does not exist names those that do") {
  if (!have_cupti()) return;
  const std::string metrics[] = {"dram__bytes_read.sum"};
  const Result<CounterPlan> plan = plan_counters("XX999", metrics);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().sentence.text().find("XX999") != std::string::npos);
  CHECK(plan.error().sentence.text().find("GH100") != std::string::npos);
}

TEST_CASE("counters: without a device a session is refused with a sentence") {
  if (find_device()) return;
  const Result<CounterSession> session = CounterSession::open();
  REQUIRE_FALSE(session);
  CHECK(session.error().kind == Error::Kind::machine_lacks);
  CHECK_FALSE(session.error().sentence.empty());
}
