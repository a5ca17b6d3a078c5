// Measurement bundles: what is written is read back, and what is not a bundle is refused in one sentence.
#include "kernels/measure/bundle.h"

#include <doctest/doctest.h>

#include <random>

using namespace tilescope;

namespace {

MeasuredCase some_case(std::mt19937_64& engine) {
  auto spread = [&] {
    const auto least = static_cast<double>(engine() >> 20);
    return Spread{least * 1.25, least, least * 1.7};
  };
  MeasuredCase c;
  c.kernel = "flash2";
  c.list = engine() % 2 == 0 ? "build" : "judge";
  c.problem = {2, 8, 4, 1000, 1009, 64, DataType::bf16, true, Pass::forward};
  c.tile = {128, 64};
  c.counters = {{"hbm_read_bytes", spread()}, {"cycles", spread()}};
  c.counters_warm = {{"hbm_read_bytes", spread()}};
  c.hbm_write_after_flush_bytes = spread();
  c.time_cold_ns = spread();
  c.time_warm_ns = spread();
  c.cycles = spread();
  c.sm_clock_hz = 1.755e9 / 3;
  c.counter_passes = 9;
  c.counter_repeats = 3;
  c.time_repeats = 20;
  c.placements = 4;
  c.launches = {{"attention", 128, 128, 255, 2, 82464, spread()}};
  return c;
}

MeasurementBundle some_bundle() {
  std::mt19937_64 engine(7);
  MeasurementBundle b;
  b.gpu = "h200";
  b.device = "NVIDIA \"H200\"\n";
  b.driver = "13.0";
  b.runtime = "13.0";
  b.commit = "0123abc";
  b.date = "2026-11-21";
  b.command = "tilescope measure --suite default";
  b.sm_count = 132;
  b.l2_bytes = 62914560;
  b.sm_clock_hz = 1.98e9;
  b.memory_clock_hz = 3.201e9;
  b.counter_names = {{"hbm_read_bytes", "dram__bytes_read.sum"}};
  b.cases = {some_case(engine), some_case(engine), {}};
  b.cases[2].refused = "no permission";
  b.cases[1].presets = {"sliding_window:window=256", "softcap:cap=20"};
  b.cases[1].masks = {"q - kv < 7"};
  b.cases[1].score = "score * 2";
  b.cases[1].kernel = "flex";
  b.cases[1].problem.page_size = 64;
  b.cases[1].problem.page_order = PageOrder::contiguous;
  return b;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string refusal(std::string_view text) {
  const Result<MeasurementBundle> read = bundle_from_json(text);
  REQUIRE_FALSE(read);
  CHECK(read.error().sentence.text().find('\n') == std::string::npos);
  CHECK(read.error().kind == Error::Kind::wrong_request);
  return read.error().sentence;
}

}  // namespace

TEST_CASE("bundle: what is written is read back, to the bit") {
  const MeasurementBundle bundle = some_bundle();
  const Result<MeasurementBundle> read = bundle_from_json(to_json(bundle));
  REQUIRE_MESSAGE(read, read.error().sentence);
  CHECK(*read == bundle);
  CHECK(to_json(*read) == to_json(bundle));
  const Result<MeasurementBundle> empty = bundle_from_json(to_json(MeasurementBundle{}));
  REQUIRE(empty);
  CHECK(*empty == MeasurementBundle{});
}

TEST_CASE("bundle: one from before tensors were put in several places is of one place") {
  std::string text = to_json(some_bundle());
  const std::string key = "\"placements\"";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key)) {
    const std::size_t comma = text.rfind(',', at);
    text.erase(comma, text.find('\n', at) - comma);
  }
  const Result<MeasurementBundle> read = bundle_from_json(text);
  REQUIRE_MESSAGE(read, read.error().sentence);
  CHECK(read->cases.front().placements == 1);
}

TEST_CASE("bundle: a bundle cut anywhere is refused") {
  const std::string text = to_json(some_bundle());
  CHECK(refusal(text.substr(0, 20)).find("breaks off after 20 bytes") != std::string::npos);
  for (std::size_t length = 0; length + 2 < text.size(); length += 7)
    CHECK(refusal(std::string_view(text).substr(0, length)).find("must be JSON") != std::string::npos);
}

TEST_CASE("bundle: rubbish is refused in one sentence") {
  for (const char* text :
       {"", "\0", "[]", "3", "null", "{}", "\"tilescope\"", "{\"schema\": 4}", "{\"schema\": 1e999}", "\xff\xfe"})
    CHECK_FALSE(refusal(text).empty());
  CHECK_FALSE(refusal(std::string(100000, '[')).empty());
}

TEST_CASE("bundle: another schema is named beside the one that is read") {
  const std::string sentence = refusal(replaced(to_json(some_bundle()), "tilescope.measurements/1", "tilescope.measurements/2"));
  CHECK(sentence.find("tilescope.measurements/2") != std::string::npos);
  CHECK(sentence.find("tilescope.measurements/1") != std::string::npos);
}

TEST_CASE("bundle: pages that its kernel cannot have are refused with the case, and a kernel of another version is read") {
  MeasurementBundle bundle = some_bundle();
  const auto refused_with = [&](const char* kernel, std::int64_t page_size) {
    bundle.cases[1].kernel = kernel;
    bundle.cases[1].problem.page_size = page_size;
    return refusal(to_json(bundle));
  };
  const std::string start = "the measurement bundle is not sound: cases[1] was not measured so: ";
  CHECK(refused_with("flash2", 64) == start + "kernel flash2 has no page table: leave out page_size");
  CHECK(refused_with("flex", 7) ==
        start + "page_size is 7, and the key tile is 128: one must be a multiple of the other, such as 128");
  CHECK(refused_with("flex", 48).starts_with(start + "page_size is 48, and the key tile is 128"));
  CHECK(refused_with("hopper_flex", 8) ==
        start + "kernel hopper_flex takes pages of 16 keys or more, not 8: use a larger page_size");
  bundle.cases[1].kernel = "flex_of_tomorrow";
  bundle.cases[1].problem.page_size = 64;
  CHECK(bundle_from_json(to_json(bundle)));
}

TEST_CASE("bundle: numbers that nothing measures are refused with their case and bounds") {
  const auto refused_with = [](auto change) {
    MeasurementBundle bundle = some_bundle();
    change(bundle, bundle.cases[1]);
    return refusal(to_json(bundle));
  };
  const std::string start = "the measurement bundle is not sound: cases[1].";
  CHECK(refused_with([](auto&, MeasuredCase& c) { c.time_cold_ns = {}; }) ==
        start + "time_cold_ns must be at least 1 and below 1e+15");
  CHECK(refused_with([](auto&, MeasuredCase& c) { c.sm_clock_hz = 0; }) ==
        start + "sm_clock_hz must be at least 1 and below 1e+11");
  CHECK(refused_with([](auto&, MeasuredCase& c) { c.sm_clock_hz = -1; }) ==
        start + "sm_clock_hz must be at least 1 and below 1e+11");
  CHECK(refused_with([](auto&, MeasuredCase& c) {
          c.cycles = {1e-300, 1e-300, 1e-300};
        }) == start + "cycles must be at least 1 and below 1e+18");
  CHECK(refused_with([](auto&, MeasuredCase& c) {
          c.counters["hbm_read_bytes"] = {1e300, 1e300, 1e300};
        }) == start + "counters.hbm_read_bytes must be below 1e+18");
  CHECK(refused_with([](auto&, MeasuredCase& c) {
          c.counters_warm["a"] = {0, 0, 1e18};
        }).find("counters_warm.a must be") != std::string::npos);
  CHECK(refused_with([](auto&, MeasuredCase& c) {
          c.launches[0].time_ns = {1, 1, 1e300};
        }).find("launches time_ns must be") != std::string::npos);
  CHECK(refused_with([](MeasurementBundle& b, auto&) { b.sm_clock_hz = -1; }) ==
        "the measurement bundle is not sound: sm_clock_hz must be at least 0 and below 1e+11");
  // A reason is no licence for numbers: only a case without any is one that was not measured.
  CHECK(refused_with([](auto&, MeasuredCase& c) { c.refused = "no counters", c.sm_clock_hz = 0; }).find("sm_clock_hz") !=
        std::string::npos);
}

TEST_CASE("bundle: a key with control characters is printed as one line") {
  const std::string text = to_json(some_bundle()), strange = R"("counters": {"hbm\nread\u007f":[-1,-1,-1],)";
  const std::string sentence = refusal(replaced(text, "\"counters\": {", strange));
  CHECK_MESSAGE(sentence.find("hbm?read? is below zero") != std::string::npos, sentence);
}

TEST_CASE("bundle: a missing key and a value of another kind are named with their case") {
  const std::string text = to_json(some_bundle());
  struct Change {
    const char *from, *to, *says;
  };
  for (const Change& change :
       {Change{"\"driver\"", "\"drive\"", "driver is missing"},
        Change{"\"time_warm_ns\"", "\"time\"", "cases[0].time_warm_ns is missing"},
        Change{"\"sm_count\": 132", "\"sm_count\": -1", "sm_count must be a whole number"},
        Change{"\"sm_count\": 132", "\"sm_count\": 5000000000", "sm_count must be a whole number"},
        Change{"\"sm_count\": 132", "\"sm_count\": 1e3", "sm_count must be a whole number"},
        Change{"\"bf16\"", "\"fp64\"", "cases[0].problem.dtype must be"},
        Change{"\"block_kv\":64", "\"block_kv\":0", "cases[0].tile is not a tile"},
        Change{"\"kv_heads\":4", "\"kv_heads\":3", "cases[0].problem is not one that can be run"},
        Change{"\"page_size\": 64", "\"page_size\": 4294967296", "cases[1] is not one that can be run: page_size is 4294967296"},
        Change{"\"page_size\": 64", "\"page_size\": 0", "cases[1].page_size must be at least 1, or be left out"},
        Change{"\"page_size\": 64", "\"pages\": 64", "cases[1].page_order is the order of pages, but page_size is missing"},
        Change{"\"page_order\": \"contiguous\"", "\"page_order\": \"mixed\"", "cases[1].page_order must be"},
        Change{"\"page_order\"", "\"order\"", "cases[1].page_order is missing"},
        Change{"\"counter_names\": {", "\"counter_names\": [], \"x\": {", "counter_names must be an object"}}) {
    const std::string sentence = refusal(replaced(text, change.from, change.to));
    CHECK_MESSAGE(sentence.find(change.says) != std::string::npos, sentence);
  }
  const std::size_t spread = text.find("\"time_cold_ns\": [") + 16;
  CHECK(refusal(text.substr(0, spread) + "[9,1,2]" + text.substr(text.find(']', spread) + 1)).find("median outside") !=
        std::string::npos);
}
