// The measured lanes of the timeline, by the recorded probes: a band for each role, and what a stage says.
#include <string>

#include <doctest/doctest.h>

#include "app/model/measurements/measurements.h"
#include "app/ui/text_record.h"
#include "app/views/panels.h"
#include "app/views/timeline/timeline_measured.h"
#include "sim/analysis/format.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"

namespace tilescope {

namespace {

Session::Start recorded_start(const char* gpu, const char* algorithm, std::int64_t heads, std::int64_t rows, std::int64_t d) {
  Session::Start start =
      h200_start({.heads = heads, .kv_heads = heads, .seq_q = rows, .seq_kv = rows, .head_dim = d, .dtype = DataType::fp16});
  const Result<GpuSpec> spec = start.load_gpu(gpu);
  REQUIRE(static_cast<bool>(spec));
  start.request.gpu = *spec;
  start.request.algorithm = algorithm;
  start.measurements = load_measurements();
  return start;
}

View measured_view(const SessionView& view) {
  View out;
  static_cast<SessionView&>(out) = view;
  return out;
}

std::string timeline_text(PanelScreen& screen, const View& view, ImVec2 at) {
  screen.frame(view, draw_timeline_panel, at);
  const TextRecording recording;
  screen.frame(view, draw_timeline_panel, at);
  return recording.text();
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("measured lanes: a probe with roles has a band for each, under the simulated lanes of the same names") {
  for (const char* algorithm : {"hopper_producer", "hopper_ping_pong", "hopper_persistent", "hopper_causal"}) {
    CAPTURE(algorithm);
    Opened opened(recorded_start("h100", algorithm, 16, 2048, 128));
    const View view = measured_view(opened.view());
    REQUIRE(view.measured.probe != nullptr);
    PanelScreen screen({1600, 400});
    screen.frame(view, draw_timeline_panel);
    const std::string text = timeline_text(screen, view, {1599, 1});
    CHECK(says(text, "recorded on NVIDIA H100"));
    const ProbeResult& probe = view.measured.probe->probe;
    CHECK(says(text, "recorded with the probe: " + format_time(Nanoseconds(probe.probed_ns)) +
                         "; without: " + format_time(Nanoseconds(probe.plain_ns))));
    REQUIRE(view.studies->under_load != nullptr);
    REQUIRE(view.studies->under_load->probed);
    const ProbeTime& time = *view.studies->under_load->probed;
    CHECK(time.recorded->probe == probe);
    CHECK(says(text, format_signed_percent(time.error()) + " against the time without the probe"));
    CHECK(says(text, "producer"));
    const std::size_t simulated = text.find("consumer 1");
    REQUIRE(simulated != std::string::npos);
    CHECK(text.find("consumer 1", simulated + 1) != std::string::npos);
  }
}

TEST_CASE("measured lanes: a stage under the mouse names its role, its token and its key tile") {
  Opened opened(recorded_start("h100", "hopper_ping_pong", 16, 2048, 128));
  const View view = measured_view(opened.view());
  PanelScreen screen({1600, 400});
  screen.frame(view, draw_timeline_panel);
  std::string seen;
  for (float y = 340; y < 400; y += 4)
    for (float x = 120; x < 300; x += 3) seen += timeline_text(screen, view, {x, y}) + "\n";
  for (const char* words : {"Wait for an empty token", "Wait for the full token of Q", "Start the copy of K", "softmax",
                            "O = α O, round P", "key tile visit 1 of the thread block", "Wait for its turn", ", consumer 1"})
    CHECK_MESSAGE(says(seen, words), words);
}

TEST_CASE("measured lanes: a stage of a backward kernel names its launch and the query tile that passes by") {
  Session::Start start =
      h200_start({.heads = 2, .kv_heads = 2, .seq_q = 512, .seq_kv = 512, .head_dim = 64, .pass = Pass::backward});
  start.request.algorithm = "flash2_backward";
  KnownProbe known;
  ProbeResult& probe = known.probe;  // put together here: no kernel recorded it
  probe.kernel = start.request.algorithm;
  probe.device = "NVIDIA H200";
  probe.date = "2000-01-02T03:04:05Z";
  probe.problem = start.request.problem;
  probe.tile = {64, 128};
  probe.sm_clock_hz = 1.7e9;
  probe.launches = {{"row dots", 1000, 1100}, {"gradients", 9000, 9900}, {"convert dQ", 1000, 1100}};
  probe.pairs.resize(512);
  using enum ProbeStage;
  probe.sm_blocks = {
      {0, 0, 0, 2000, {{row_dots, 0, 0, 0, 2000}}},
      {1,
       0,
       2000,
       16000,
       {{wait, 0, 0, 2000, 4000}, {pairs, 0, 0, 4000, 8000}, {d_q_part, 0, 0, 8000, 11000}, {pairs, 0, 1, 12000, 16000}}},
      {2, 0, 16000, 18000, {{convert, 0, 0, 16000, 18000}}}};
  start.measurements.probes = {std::make_shared<const KnownProbe>(known)};
  Opened opened(std::move(start));
  const View view = measured_view(opened.view());
  REQUIRE(view.measured.probe != nullptr);
  PanelScreen screen({1600, 400});
  screen.frame(view, draw_timeline_panel);
  std::string seen;
  for (float y = 350; y < 400; y += 6)
    for (float x = 100; x < 1600; x += 8) seen += timeline_text(screen, view, {x, y}) + "\n";
  for (const char* words :
       {"D = rowsum(dO ∘ O)", "row dots: block 0, warp 0", "the whole tile", "S, P, dP, dS, and their products",
        "query tile visit 0 of the thread block", "query tile visit 1 of the thread block", "dQ_acc += dS K", "dQ = dQ_acc"})
    CHECK_MESSAGE(says(seen, words), words);
}

TEST_CASE("measured lanes: a probe of warps that do the same has its bands as before") {
  Opened opened(recorded_start("h200", "flash2", 32, 1024, 64));
  const View view = measured_view(opened.view());
  REQUIRE(view.measured.probe != nullptr);
  PanelScreen screen({1600, 400});
  screen.frame(view, draw_timeline_panel);
  const std::string text = timeline_text(screen, view, {1599, 1});
  CHECK(says(text, "recorded"));
  CHECK_FALSE(says(text, "consumer"));
  CHECK_FALSE(says(text, "recorded on"));
}

}  // namespace tilescope
