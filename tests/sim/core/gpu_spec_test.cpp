// The specs that come with the program, and what the parser says to files that are wrong.
#include "sim/core/gpu_spec.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/sim/test_gpus.h"

namespace tilescope {

namespace {

std::filesystem::path spec_folder() {
  return std::filesystem::path(TILESCOPE_SOURCE_DIR) / "assets" / "gpus";
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string toy_text() {
  return text_of(spec_folder() / "toy.toml");
}

GpuSpec shipped(const std::string& id) {
  auto spec = parse_gpu_spec(text_of(spec_folder() / (id + ".toml")), id);
  REQUIRE_MESSAGE(spec, (spec ? "" : spec.error().sentence));
  return *spec;
}

/// toy.toml with the line of `key` (as the file writes it) replaced.
std::string toy_with(std::string_view section, std::string_view key, std::string_view line) {
  std::istringstream lines(toy_text());
  std::string text, current, each;
  bool replaced = false;
  while (std::getline(lines, each)) {
    if (each.starts_with('[')) current = each.substr(1, each.size() - 2);
    if (current == section && each.starts_with(key) && (each[key.size()] == ' ' || each[key.size()] == '=')) {
      each = line;
      replaced = true;
    }
    text += each + '\n';
  }
  REQUIRE(replaced);
  return text;
}

std::string error_of(const std::string& text) {
  const auto spec = parse_gpu_spec(text, "my.toml");
  REQUIRE_FALSE(spec);
  CHECK(spec.error().sentence.text().find('\n') == std::string::npos);
  return spec.error().sentence;
}

}  // namespace

TEST_CASE(
    "gpu spec: an H100 takes the time for calls that kernels/lab/call_latency.cu measured, and its SMs are those of an H200") {
  std::istringstream lines(text_of(TILESCOPE_SOURCE_DIR "/kernels/lab/measured/h100-call-latency-2026-11-27.txt"));
  std::map<int, double> cycles;  // with one warp on a scheduler, by the sines of a call
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (int sines = 0; words >> sines) words >> cycles[sines];
  }
  REQUIRE(cycles.size() == 4);  // also without a sine
  for (const char* id : {"h100", "h200"}) {
    const GpuSpec gpu = shipped(id);
    CHECK(gpu.sm_sine_call_cycles == doctest::Approx(cycles[1]).epsilon(0.001));
    CHECK(gpu.sm_two_sines_call_cycles == doctest::Approx(cycles[2]).epsilon(0.001));
    CHECK(gpu.sm_four_sines_call_cycles == doctest::Approx(cycles[4]).epsilon(0.001));
  }
}

TEST_CASE("gpu spec: every shipped file loads, is named after its id, and says where each number is from") {
  std::set<std::string> ids;
  for (const auto& file : std::filesystem::directory_iterator(spec_folder())) {
    const std::string id = file.path().stem().string();
    CAPTURE(id);
    const GpuSpec spec = shipped(id);
    ids.insert(id);
    CHECK(spec.id == id);
    const auto left_out =
        std::ranges::count_if(spec_keys(), [&](const SpecKey& key) { return key.optional && !spec.provenance.contains(key.key); });
    CHECK(spec.provenance.size() == spec_keys().size() + 1 - static_cast<std::size_t>(left_out));
    CHECK(spec.slows_under_load() == spec.provenance.contains("sm.clock_under_load_hz"));
    REQUIRE(spec.provenance.contains(sm_groups_key));
    CHECK(spec.provenance.find(sm_groups_key)->second.note.size() >= 4);
    for (const SpecKey& key : spec_keys()) {
      CAPTURE(std::string(key.key));
      if (key.optional && !spec.provenance.contains(key.key)) continue;
      REQUIRE(spec.provenance.contains(key.key));
      CHECK(spec.provenance.find(key.key)->second.note.size() >= 4);
      CHECK(spec.provenance.find(key.key)->second.source != Source::user);
    }
  }
  for (const char* id : {"toy", "textbook", "a100", "h100", "h200", "rtx4090"}) CHECK(ids.contains(id));
}

TEST_CASE("gpu spec: toy.toml is the toy of the model's tests with a small L2, a slow HBM and short latencies") {
  const GpuSpec file = shipped("toy");
  GpuSpec built = toy_gpu();
  built.sm_block_start_cycles = 20;
  built.l2_capacity_bytes = 4096;
  built.l2_latency_cycles = built.l2_far_latency_cycles = 50;
  built.hbm_bytes_per_second = 4e9;
  built.hbm_latency_cycles = 100;
  built.launch_overhead_ns = 100;
  for (const SpecKey& key : spec_keys()) {
    CAPTURE(std::string(key.key));
    CHECK(file.*key.member == built.*key.member);
  }
  CHECK(file.sm_groups == built.sm_groups);
}

TEST_CASE("gpu spec: the shipped numbers agree with each other and with the data sheets' totals") {
  const struct {
    const char* id;
    double fp16_tflops, hbm_gb;
  } sheets[] = {{"a100", 312, 2039}, {"h100", 1070, 3352}, {"h200", 1070, 4800}, {"rtx4090", 165, 1008}};
  for (const auto& sheet : sheets) {
    CAPTURE(std::string(sheet.id));
    const GpuSpec spec = shipped(sheet.id);
    CHECK(spec.sm_count * spec.sm_clock_hz * spec.sm_tensor_flops_per_cycle / 1e12 ==
          doctest::Approx(sheet.fp16_tflops).epsilon(0.01));
    CHECK(spec.hbm_bytes_per_second / 1e9 == doctest::Approx(sheet.hbm_gb).epsilon(0.001));
    CHECK(spec.l2_bytes_per_cycle <= 1.001 * spec.sm_count * spec.sm_l2_bytes_per_cycle);
    CHECK(spec.sm_mma_flops_per_cycle <= spec.sm_tensor_flops_per_cycle);
    CHECK(spec.hbm_read_fraction >= spec.hbm_sustained_fraction);
    CHECK(spec.l2_far_latency_cycles >= spec.l2_latency_cycles);
    CHECK(spec.hbm_latency_cycles > spec.l2_latency_cycles);
    CHECK(spec.hbm_rate().value < spec.l2_bytes_per_cycle);
  }
  CHECK(shipped("h200").l2_capacity_bytes == 60 * 1024 * 1024);
  CHECK_FALSE(shipped("textbook").has_l2());
  CHECK(shipped("textbook").sm_count == 1);
  // HBM, not what stands in for the missing L2, limits the textbook machine.
  CHECK(shipped("textbook").hbm_rate().value < shipped("textbook").sm_l2_bytes_per_cycle);
}

TEST_CASE("gpu spec: a value noted as that of an H200 is the one that h200.toml has now") {
  const GpuSpec h200 = shipped("h200");
  int quoted = 0;
  for (const char* id : {"a100", "h100", "rtx4090"}) {
    const GpuSpec spec = shipped(id);
    for (const SpecKey& key : spec_keys()) {
      const auto from = spec.provenance.find(key.key);
      if (from == spec.provenance.end() || from->second.note.find("as measured on an H200") == std::string::npos) continue;
      CAPTURE(id);
      CAPTURE(key.key);
      CHECK(spec.*key.member == h200.*key.member);
      ++quoted;
    }
  }
  CHECK(quoted >= 20);
}

TEST_CASE("gpu spec: the table of keys has no key twice, sane ranges and a sentence for each") {
  std::set<std::string_view> keys;
  for (const SpecKey& key : spec_keys()) {
    CAPTURE(std::string(key.key));
    CHECK(keys.insert(key.key).second);
    CHECK(key.minimum <= key.maximum);
    CHECK(key.meaning.ends_with('.'));
    CHECK(key.meaning.find('\n') == std::string_view::npos);
  }
}

TEST_CASE("gpu spec: a wrong file is refused with the file, the line, the key and the way out") {
  CHECK(error_of("") == "my.toml: id is missing");
  CHECK(error_of("id = \"x\"\nname = \"X\"\n") == "my.toml: sm.count is missing");
  CHECK(error_of("id = \"x\nname").find("my.toml:1: not TOML: ") == 0);
  CHECK(error_of(std::string("\xff\xfe\0\1", 4)).find("my.toml:1: not TOML: ") == 0);
  CHECK(error_of("id = 7\n") == "my.toml:1: id must be a text that is not empty");
  CHECK(error_of("id = \"a\\nb\"\n") == "my.toml:1: id must be one line of at most 100 bytes");
  CHECK(error_of("colour = \"red\"\n") == "my.toml:1: unknown key colour: tilescope simulate --help lists all keys");
  CHECK(error_of("[sm]\ncuont = { value = 1, source = \"vendor\", note = \"n\" }\n") ==
        "my.toml:2: unknown key sm.cuont: did you mean sm.count? tilescope simulate --help lists all keys");
  CHECK(error_of("[sm]\nquarters = { value = 4, source = \"vendor\", note = \"n\" }\n") ==
        "my.toml:2: sm.quarters is now called sm.sub_partitions: use that name");
  CHECK(error_of(toy_with("sm", "count", "")) == "my.toml: sm.count is missing");
  CHECK(error_of(toy_with("sm", "count", "count = 4")).find("sm.count must say where it is from: { value = ") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { source = \"vendor\", note = \"n\" }")).find("sm.count has no value") !=
        std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = \"4\", source = \"vendor\", note = \"n\" }"))
            .find("sm.count must be a number") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = true, source = \"vendor\", note = \"n\" }"))
            .find("sm.count must be a number") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = 0, source = \"vendor\", note = \"n\" }"))
            .find("sm.count is 0: it must be from 1 to 4096") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = nan, source = \"vendor\", note = \"n\" }"))
            .find("sm.count is nan: it must be from 1 to 4096") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = 1.5, source = \"vendor\", note = \"n\" }"))
            .find("sm.count is 1.5: it must be a whole number") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = 4, note = \"n\" }")).find("sm.count has no source") !=
        std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = 4, source = \"rumour\", note = \"n\" }"))
            .find("the source of sm.count is 'rumour': it must be vendor, measured, estimated or user") != std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = 4, source = \"vendor\" }")).find("sm.count has no note") !=
        std::string::npos);
  CHECK(error_of(toy_with("sm", "count", "count = { value = 4, source = \"vendor\", note = \"n\", unit = \"SM\" }"))
            .find("sm.count has an unknown field unit") != std::string::npos);
  CHECK(error_of(toy_with("l2", "sector_bytes", "sector_bytes = { value = 64, source = \"vendor\", note = \"n\" }"))
            .find("l2.sector_bytes is 64: the model only knows 32") != std::string::npos);
  CHECK(error_of(toy_with("sm", "shared_bytes_per_block",
                          "shared_bytes_per_block = { value = 70000, source = \"vendor\", note = \"n\" }"))
            .find("sm.shared_bytes_per_block is 70000 and sm.shared_bytes 65536") != std::string::npos);
  CHECK(error_of(toy_with("l2", "ways", "ways = { value = -1, source = \"vendor\", note = \"n\" }"))
            .find("l2.ways is -1: it must be from 0 to 1024") != std::string::npos);
  CHECK(error_of(toy_with("sm", "reduce_bytes_per_cycle",
                          "reduce_bytes_per_cycle = { value = 1e-300, source = \"estimated\", note = \"n\" }"))
            .find("sm.reduce_bytes_per_cycle is 1e-300: it must be 0, or from 0.01 to") != std::string::npos);
  CHECK(error_of(toy_with("sm", "reduce_queue_bytes", "")) ==
        "my.toml: sm.reduce_queue_bytes is missing: add it, with 0 if nobody measured it");
  CHECK(error_of(toy_with("l2", "dirty_fraction", "dirty_fraction = { value = 1.5, source = \"vendor\", note = \"n\" }"))
            .find("l2.dirty_fraction is 1.5: it must be from 0.01 to 1") != std::string::npos);
  CHECK(error_of("sm = 5\n") == "my.toml:1: unknown key sm: tilescope simulate --help lists all keys");
  CHECK(error_of("[sm.count]\nvalue = 1\n").find("sm.count has no source") != std::string::npos);
}

TEST_CASE("gpu spec: a rate, a time or a share may be a fraction, and a number of things may not") {
  int fractions = 0, whole = 0;
  for (const SpecKey& key : spec_keys()) {
    CAPTURE(key.key);
    const bool is_share = key.key.ends_with("_fraction");
    const bool is_measured = is_share || key.key.ends_with("_cycle") || key.key.ends_with("_cycles") ||
                             key.key.ends_with("_second") || key.key.ends_with("_hz") || key.key.ends_with("_ns");
    GpuSpec gpu = toy_gpu();
    const double value = is_share ? 0.5 : key.minimum + 1.5;
    const bool is_taken = static_cast<bool>(set_spec_value(gpu, fmt::format("{}={}", key.key, value)));
    if (is_measured) {
      CHECK(is_taken);
      CHECK(gpu.*key.member == value);
    }
    if (key.key == "sm.count" || key.key.ends_with("_threads") || key.key.ends_with("_blocks") || key.key.ends_with("partitions") ||
        key.key.ends_with("_ways") || key.key.ends_with("_registers"))
      CHECK_FALSE(is_taken);
    ++(is_taken ? fractions : whole);
  }
  CHECK(fractions > 30);
  CHECK(whole > 5);
}

TEST_CASE("gpu spec: reads that take longer than a whole copy are refused, for writes would take less than no time") {
  const std::string half = "read_fraction = { value = 0.5, source = \"vendor\", note = \"n\" }";
  CHECK(error_of(toy_with("hbm", "read_fraction", half)) ==
        "my.toml: hbm.read_fraction is 0.5 and hbm.sustained_fraction 1: reads alone must reach more than half of a copy's "
        "bandwidth");
  GpuSpec gpu = shipped("toy");
  gpu.hbm_read_fraction = 0.51;
  CHECK(check(gpu));
  gpu.hbm_read_fraction = 0;  // that of a copy
  CHECK(check(gpu));
}

TEST_CASE("gpu spec: groups of SMs are a list of whole numbers that agrees with the SMs and the partitions, or are refused") {
  const auto toy_with_groups = [](const std::string& value) {
    return toy_with("sm", "groups", "groups = { value = " + value + ", source = \"vendor\", note = \"n\" }");
  };
  const auto good = parse_gpu_spec(toy_with_groups("[{ sms = 1, side = 0 }, { sms = 3, side = 0 }]"), "my.toml");
  REQUIRE(good);
  CHECK(good->sm_groups == std::vector<SmGroup>{{1, 0}, {3, 0}});
  CHECK(error_of(toy_with("sm", "groups", "")) == "my.toml: sm.groups is missing");
  for (const char* list : {"4", "[]", "\"4\""})
    CHECK(error_of(toy_with_groups(list)).find("sm.groups must be a list such as [{ sms = 4, side = 0 }]") != std::string::npos);
  for (const char* group : {"4", "{ sms = 4 }", "{ sms = 4.0, side = 0 }", "{ sms = 0, side = 0 }", "{ sms = 4, side = 2 }",
                            "{ sms = 5000, side = 0 }", "{ sms = 4, side = 0, name = 1 }", "{ sms = \"4\", side = 0 }"}) {
    CAPTURE(std::string(group));
    CHECK(error_of(toy_with_groups("[" + std::string(group) + "]"))
              .find("a group of sm.groups must be { sms = 1 to 4096, side = 0 or 1 }, whole numbers both") != std::string::npos);
  }
  CHECK(error_of(toy_with_groups("[{ sms = 3, side = 0 }]")) == "my.toml: sm.groups has 3 SMs and sm.count is 4: they must agree");
  CHECK(error_of(toy_with_groups("[{ sms = 2, side = 0 }, { sms = 2, side = 1 }]")) ==
        "my.toml: sm.groups has a side 1 and l2.partitions is 1: sides count from 0");
  CHECK(error_of(toy_with("sm", "groups", "groups = [{ sms = 4, side = 0 }]")).find("sm.groups must say where it is from") !=
        std::string::npos);
}

TEST_CASE("gpu spec: every key can be set to both ends of its range, and to nothing beyond them") {
  const GpuSpec toy = shipped("toy");
  for (const SpecKey& key : spec_keys()) {
    CAPTURE(std::string(key.key));
    for (double value : {key.minimum, key.maximum}) {
      GpuSpec spec = toy;
      std::ostringstream assignment;
      assignment.precision(17);
      assignment << key.key << '=' << value;
      REQUIRE(set_spec_value(spec, assignment.str()));
      CHECK(spec.*key.member == value);
      CHECK(spec.provenance.find(key.key)->second.source == Source::user);
      CHECK(spec.provenance.find(key.key)->second.note == changed_note);
    }
    for (double value : {key.minimum - 1, key.maximum * 2 + 1}) {
      GpuSpec spec = toy;
      std::ostringstream assignment;
      assignment.precision(17);
      assignment << key.key << '=' << value;
      CHECK_FALSE(set_spec_value(spec, assignment.str()));
      CHECK(spec.*key.member == toy.*key.member);
      const auto before = toy.provenance.find(key.key);
      const auto after = spec.provenance.find(key.key);
      REQUIRE((after == spec.provenance.end()) == (before == toy.provenance.end()));
      if (before != toy.provenance.end()) CHECK(after->second.source == before->second.source);
    }
  }
}

TEST_CASE("gpu spec: a bad assignment is refused with its text and changes nothing") {
  const struct {
    const char* assignment;
    const char* sentence;
  } cases[] = {
      {"l2.capacity_bytes", "'l2.capacity_bytes' sets nothing: write KEY=VALUE, such as l2.capacity_bytes=0"},
      {"l2.capacity=0", "unknown GPU key 'l2.capacity': did you mean l2.capacity_bytes?"},
      {"sm.quarters=4", "sm.quarters is now called sm.sub_partitions: use that name"},
      {"sm.groups=4", "sm.groups is a list and no number: write it into a file"},
      {"l2.size=0", "unknown GPU key 'l2.size': tilescope simulate --help lists all keys"},
      {"capacity=0", "unknown GPU key 'capacity': did you mean l2.capacity_bytes / hbm.capacity_bytes? tilescope simulate --help"},
      {"l2.clock=1e9", "unknown GPU key 'l2.clock': did you mean sm.clock_hz / sm.clock_under_load_hz?"},
      {"=5", "'=5' has no key: write KEY=VALUE, such as l2.capacity_bytes=0"},
      {"name=", "name is a text of a GPU's file and no number: write it into a file"},
      {"sm.count=", "sm.count is '': it must be a number from 1 to 4096"},
      {"sm.count=4x", "sm.count is '4x': it must be a number"},
      {"sm.count=0x10", "sm.count is '0x10': it must be a number"},
      {"sm.count=-1", "sm.count is -1: it must be from 1 to 4096"},
      {"sm.count=nan", "sm.count is nan: it must be from 1 to 4096"},
      {"sm.count=inf", "sm.count is inf: it must be from 1 to 4096"},
      {"sm.count=1e999", "sm.count is '1e999': it must be a number"},
      {"sm.count=2.5", "sm.count is 2.5: it must be a whole number"},
      {"sm.count=1=2", "sm.count is '1=2': it must be a number"},
      {"sm.count=1\n2", "sm.count is '1?2': it must be a number"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.assignment));
    GpuSpec spec = shipped("toy");
    const auto status = set_spec_value(spec, each.assignment);
    REQUIRE_FALSE(status);
    CHECK(status.error().sentence.text().find(each.sentence) == 0);
    CHECK(spec.sm_count == 4);
  }
}

TEST_CASE("gpu spec: blanks around an assignment and exponents are taken") {
  GpuSpec spec = shipped("a100");
  REQUIRE(set_spec_value(spec, " hbm.bytes_per_second = 1555e9 "));
  CHECK(spec.hbm_bytes_per_second == 1555e9);
}

TEST_CASE("gpu spec: a clock under load beyond the clock, or none, is refused where it was set, with the range") {
  GpuSpec spec = shipped("toy");
  const double most = spec.sm_clock_hz;
  for (const char* out : {"sm.clock_under_load_hz=5e9", "sm.clock_under_load_hz=1", "sm.clock_under_load_hz=0"}) {
    CAPTURE(std::string(out));
    REQUIRE(set_spec_value(spec, out));
    const Status refused = check(spec);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().sentence.text().find(": it must be from 1000000 to sm.clock_hz, 1") != std::string::npos);
  }
  spec.sm_clock_under_load_hz = most;
  CHECK(check(spec));
  GpuSpec slow = shipped("h200");  // its clock under load is measured
  REQUIRE(set_spec_value(slow, "sm.clock_hz=1e9"));
  CHECK(check(slow));
}

}  // namespace tilescope
