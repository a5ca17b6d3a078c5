// Counters of Nsight Compute in the window: beside the run that they were opened with, and beside no other.
#include <string>

#include <doctest/doctest.h>

#include "app/model/measurements/imported_counters.h"
#include "app/platform/files.h"
#include "app/views/traffic/traffic_measured.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

namespace {

constexpr const char* counters =
    "ID,Kernel Name,dram__bytes_read.sum,l1tex__m_xbar2l1tex_read_bytes.sum,gpu__time_duration.sum,sm__cycles_elapsed.max\n"
    ",,Kbyte,byte,us,cycle\n"
    "0,flash2_kernel,2,3000,2,3000\n";

Session::Start start_with_files() {
  Session::Start start = opening_start();
  start.load_text = [](const std::string& path) { return read_text_file(path); };
  return start;
}

}  // namespace

TEST_CASE("imported counters: Traffic shows them beside the run that they were opened with, and the clock comes from them") {
  const TemporaryFolder folder;
  const Theme theme = make_theme(ThemeKind::dark, 1);
  Opened opened(start_with_files());
  opened.after(ImportCounters{folder.file("profile.csv", counters)});
  const View view{opened.view(), &theme};
  REQUIRE(view.measured.imported != nullptr);
  CHECK(view.measured.imported->clock_hz() == doctest::Approx(1.5e9));
  CHECK(std::string(measured_heading(view)) == "Nsight Compute");
  const MeasuredTotal reads = measured_total(view, LinkChoice::hbm_read);
  CHECK(reads.known);
  CHECK(reads.bytes == 2000);
  CHECK(reads.details.find("dram__bytes_read.sum") != std::string::npos);
  CHECK_FALSE(measured_total(view, LinkChoice::hbm_write).known);
  CHECK(measured_column_meaning(view).find("attention = ID 0 flash2_kernel") != std::string::npos);
  // Missing metrics are said once, in a message that goes away.
  REQUIRE(view.workspace->message.has_value());
  CHECK(view.workspace->message->error.sentence.text().find("dram__bytes_write.sum") != std::string::npos);

  const AttentionProblem profiled = opened.view().requested->request.problem;
  opened.after(SetProblem{with_rows(opened.view(), profiled.seq_q / 2), "seq"});
  CHECK(opened.view().measured.imported == nullptr);
  opened.after(SetProblem{profiled, "seq"});
  CHECK(opened.view().measured.imported != nullptr);
}

TEST_CASE("imported counters: a file that cannot be read is said, and what was imported stays") {
  const TemporaryFolder folder;
  Opened opened(start_with_files());
  opened.after(ImportCounters{folder.file("profile.csv", counters)});
  opened.after(ImportCounters{folder.file("broken.csv", "ID,Kernel Name\n")});
  REQUIRE(opened.view().workspace->message.has_value());
  CHECK(opened.view().workspace->message->error.sentence.text().find("broken.csv") != std::string::npos);
  CHECK(opened.view().measured.imported != nullptr);
}

TEST_CASE("imported counters: a session may begin with a file") {
  const TemporaryFolder folder;
  Session::Start start = start_with_files();
  start.counters = folder.file("profile.csv", counters);
  Opened opened(std::move(start));
  CHECK(opened.view().measured.imported != nullptr);
}
