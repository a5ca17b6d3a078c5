// Nsight Compute's CSV: both forms, their units, and which row is which launch.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels/measure/ncu_csv.h"

using namespace tilescope;

namespace {

std::string fixture(const std::string& name) {
  const std::ifstream file(fmt::format("{}/tests/fuzz/corpus/ncu_csv/{}", TILESCOPE_SOURCE_DIR, name));
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

NcuReport report_of(const std::string& text) {
  const auto report = read_ncu_csv(text, "profile.csv");
  REQUIRE_MESSAGE(static_cast<bool>(report), (report ? "" : report.error().sentence.text()));
  return *report;
}

std::string ncu_refusal(const std::string& text) {
  const auto report = read_ncu_csv(text, "profile.csv");
  return report ? "(accepted)" : report.error().sentence.text();
}

double value(const NcuLaunch& launch, std::string_view key) {
  const NcuValue* found = launch.find(key);
  REQUIRE(found != nullptr);
  return found->value;
}

std::string long_row(std::string_view metric, std::string_view unit, std::string_view count) {
  return fmt::format("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,{},{},\"{}\"\n", metric, unit, count);
}

NcuReport kernels(const std::vector<std::string>& names) {
  NcuReport report;
  for (const std::string& name : names) report.launches.push_back({std::to_string(report.launches.size()), name, {}});
  return report;
}

const std::vector<std::string> attention = {"attention"}, three = {"scores", "softmax", "output"};

}  // namespace

TEST_CASE("ncu csv: the long form has a row a metric, after whatever ncu and the program printed") {
  const NcuReport report = report_of(fixture("long.csv"));
  REQUIRE(report.launches.size() == 1);
  const NcuLaunch& launch = report.launches[0];
  CHECK(plain_kernel_name(launch.kernel) == "flash_fwd_kernel");
  CHECK(value(launch, "hbm_read_bytes") == 25.30e6);
  CHECK(value(launch, "hbm_write_bytes") == 1536250);
  CHECK(value(launch, "profiled_ns") == 205500);
  CHECK(value(launch, "l2_to_sm_bytes") == 545259520);
  CHECK(value(launch, "l2_lookup_read_bytes") == 8650752.0 * 32);
  CHECK(value(launch, "sm_to_l2_bytes") == 270336.0 * 32);
  CHECK(launch.find("sm_to_l2_bytes")->metric == "lts__t_sectors_srcunit_tex_op_write.sum");
  CHECK(value(launch, "cycles") == 349350);
  CHECK(value(launch, "instructions") == 42e6);
  CHECK(report.missing.empty());
}

TEST_CASE("ncu csv: the wide form has a row a launch, names in the first row and units in the second") {
  const NcuReport report = report_of(fixture("wide.csv"));
  CHECK(report.device == "NVIDIA H200");
  REQUIRE(report.launches.size() == 3);
  CHECK(value(report.launches[0], "hbm_read_bytes") == 0.5e9);
  CHECK(value(report.launches[0], "hbm_write_bytes") == 1024);
  CHECK(value(report.launches[0], "profiled_ns") == 1.5e6);
  CHECK(value(report.launches[1], "sm_to_l2_bytes") == 1000);
  CHECK(value(report.launches[2], "l2_to_sm_bytes") == 1024);
  CHECK(plain_kernel_name(report.launches[1].kernel) == "softmax_warp_forward");
}

TEST_CASE("ncu csv: units of every version of ncu, with their decimal prefixes") {
  struct Case {
    const char *metric, *unit, *key;
    double worth;
  };
  for (const Case& c :
       {Case{"dram__bytes_read.sum", "byte", "hbm_read_bytes", 1}, Case{"dram__bytes_read.sum", "", "hbm_read_bytes", 1},
        Case{"dram__bytes_read.sum", "B", "hbm_read_bytes", 1}, Case{"dram__bytes_read.sum", "Kbyte", "hbm_read_bytes", 1e3},
        Case{"dram__bytes_read.sum", "MB", "hbm_read_bytes", 1e6}, Case{"dram__bytes_read.sum", "Tbyte", "hbm_read_bytes", 1e12},
        Case{"dram__sectors_read.sum", "sector", "hbm_read_bytes", 32},
        Case{"dram__sectors_read.sum", "Ksector", "hbm_read_bytes", 32e3},
        Case{"gpu__time_duration.sum", "nsecond", "profiled_ns", 1}, Case{"gpu__time_duration.sum", "ns", "profiled_ns", 1},
        Case{"Duration", "us", "profiled_ns", 1e3}, Case{"gpu__time_duration.sum", "msecond", "profiled_ns", 1e6},
        Case{"gpu__time_duration.sum", "s", "profiled_ns", 1e9}}) {
    CAPTURE(c.metric);
    CAPTURE(c.unit);
    CHECK(value(report_of(long_row(c.metric, c.unit, "2")).launches[0], c.key) == doctest::Approx(2 * c.worth));
  }
  CHECK(ncu_refusal(long_row("dram__bytes_read.sum", "usecond", "2")) ==
        "line 2 of profile.csv: dram__bytes_read.sum has the unknown unit 'usecond': profile with --print-units base");
}

TEST_CASE("ncu csv: thousands separators stand before groups of three digits, and nowhere else") {
  const auto read = [](const char* count) {
    return value(report_of(long_row("dram__bytes_read.sum", "byte", count)).launches[0], "hbm_read_bytes");
  };
  CHECK(read("1,234,567.5") == 1234567.5);
  CHECK(read("12") == 12);
  CHECK(read("1.5e3") == 1500);
  CHECK(read("96 (32; 64)") == 96);
  for (const char* broken : {"1,5", "12,34", ",123", "1,2345", "-1", "1e30", "many", "0x10"}) {
    CAPTURE(broken);
    CHECK(ncu_refusal(long_row("dram__bytes_read.sum", "byte", broken)).find("is not a count") != std::string::npos);
  }
}

TEST_CASE("ncu csv: a metric without a value is missing, and each missing one is named once") {
  const NcuReport report = report_of(
      "ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,dram__bytes_read.sum,byte,n/a\n0,k,dram__bytes_write.sum,byte,5\n"
      "1,k,dram__bytes_write.sum,byte,6\n");
  CHECK(report.launches.size() == 2);
  CHECK(report.launches[0].find("hbm_read_bytes") == nullptr);
  CHECK(report.missing == std::vector<std::string_view>{"dram__bytes_read.sum", "l1tex__m_xbar2l1tex_read_bytes.sum",
                                                        "l1tex__m_l1tex2xbar_write_bytes.sum", "gpu__time_duration.sum"});
}

TEST_CASE("ncu csv: of several names of one figure the best counts, wherever it stands") {
  const NcuReport report = report_of(
      "ID,Kernel Name,lts__t_sectors_srcunit_tex_op_write.sum,l1tex__m_l1tex2xbar_write_bytes.sum\n,,sector,byte\n0,k,3,100\n");
  CHECK(value(report.launches[0], "sm_to_l2_bytes") == 100);
  CHECK(report.launches[0].find("sm_to_l2_bytes")->metric == "l1tex__m_l1tex2xbar_write_bytes.sum");
}

TEST_CASE("ncu csv: a file that is none, is cut off, or has nothing to compare is one sentence with a way out") {
  CHECK(ncu_refusal("").find("is no CSV of Nsight Compute") != std::string::npos);
  CHECK(ncu_refusal("a,b\n1,2\n").find("ncu --csv --log-file FILE") != std::string::npos);
  CHECK(ncu_refusal(fixture("cut.csv")).starts_with("line 3 of profile.csv has 2 fields, the header has 3"));
  CHECK(ncu_refusal(fixture("locale.csv")).find("'1,5', which is not a count") != std::string::npos);
  CHECK(ncu_refusal("ID,Kernel Name,dram__bytes_read.sum\n").find("no profiled launch") != std::string::npos);
  CHECK(ncu_refusal("ID,Kernel Name,smsp__cycles_active.avg\n0,k,5\n").find("--metrics dram__bytes_read.sum,") !=
        std::string::npos);
  CHECK(ncu_refusal("ID,Kernel Name,Metric Name\n0,k,x\n").find("only one of") != std::string::npos);
}

TEST_CASE("ncu csv: launches are matched by name, else by order, else refused with the kernels' names") {
  const auto by_name =
      match_ncu_launches(kernels({"fill", "void x::scores_kernel<1>(int)", "fill", "softmax_k", "Output"}), three, "standard", "p");
  REQUIRE(static_cast<bool>(by_name));
  CHECK(by_name->by_name);
  CHECK(by_name->rows == std::vector<std::size_t>{1, 3, 4});
  const auto of_algorithm = match_ncu_launches(kernels({"fill", "flash2_kernel"}), attention, "flash2", "p");
  REQUIRE(static_cast<bool>(of_algorithm));
  CHECK(of_algorithm->rows == std::vector<std::size_t>{1});
  const auto by_order = match_ncu_launches(kernels({"qk", "rows", "pv"}), three, "standard", "p");
  REQUIRE(static_cast<bool>(by_order));
  CHECK_FALSE(by_order->by_name);
  CHECK(by_order->rows == std::vector<std::size_t>{0, 1, 2});
  const auto repeated = match_ncu_launches(kernels({"mine", "mine", "mine"}), attention, "flash2", "p");
  REQUIRE(static_cast<bool>(repeated));
  CHECK(repeated->rows == std::vector<std::size_t>{0});
  const auto neither = match_ncu_launches(kernels({"fill", "mine"}), attention, "flash2", "profile.csv");
  REQUIRE_FALSE(static_cast<bool>(neither));
  CHECK(neither.error().sentence.text().starts_with("profile.csv has 2 profiled launches (fill, mine), and flash2 has 1: "));
}

TEST_CASE("ncu csv: docs/measuring.md names the metrics that a refusal asks for") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/docs/measuring.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.find("--metrics " + ncu_metric_list() + " ") != std::string::npos);
}
