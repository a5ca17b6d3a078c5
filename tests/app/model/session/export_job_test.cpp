// The command line of what the window shows, and the process that draws it.
#include "app/model/session/export_job.h"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "app/cli/command_line.h"
#include "app/cli/request.h"
#include "app/platform/files.h"
#include "app/platform/png.h"
#include "tests/app/temporary_folder.h"
#include "tests/skip.h"

namespace tilescope {

namespace {

WindowState odd_state() {
  WindowState state;
  state.algorithm = "flash1";
  state.gpu = "h200";
  state.spec_values = {{"l2.capacity_bytes", 0}};
  state.problem = {2, 8, 4, 300, 200, 64, DataType::bf16, true, Pass::forward, {}};
  state.tile = ProgramTile(32, 64);
  state.blocks_per_sm = 1;
  state.block_order = BlockOrder::reversed;
  state.race = true;
  state.seed = 7;
  state.by_sm = true;
  state.theme = ThemeKind::light;
  state.language = "ko";
  return state;
}

/// Waits until the export is over, ten seconds at most.
void wait_for(ExportJob& job) {
  for (int i = 0; i < 500 && job.view().running; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    job.tick();
  }
}

/// A program of a shell that stands in for the one that draws.
std::string program(const TemporaryFolder& folder, const std::string& script) {
  const std::string path = folder.file("program", "#!/bin/sh\n" + script);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace

TEST_CASE("export job: the copied command asks for what the window shows") {
  ExportChoice choice;
  choice.file = "out.mp4";
  choice.first = 3;
  choice.last = 40;
  choice.grain = Grain::tile;
  choice.width = 1280;
  choice.height = 720;
  choice.caption = false;
  const WindowState state = odd_state();
  const auto line = parse_command_line(export_arguments(state, choice));
  REQUIRE_MESSAGE(line, line.error().sentence.text());
  CHECK(line->command == CommandKind::exported);
  CHECK(line->steps->first == 3);
  CHECK(line->steps->last == 40);
  CHECK(line->grain == Grain::tile);
  CHECK(line->size == PictureSize{1280, 720});
  CHECK_FALSE(line->caption);
  CHECK(line->out == "out.mp4");
  CHECK(line->race);
  CHECK(line->theme == ThemeKind::light);
  CHECK(line->language == "ko");
  CHECK(line->by_sm == true);
  CHECK(line->seed == 7);
  const auto request = make_request(*line);
  REQUIRE_MESSAGE(request, request.error().sentence.text());
  CHECK(request->simulation.problem == state.problem);
  CHECK(request->simulation.algorithm == "flash1");
  CHECK(request->simulation.tile == state.tile);
  CHECK(request->simulation.blocks_per_sm == 1);
  CHECK(request->simulation.block_order == BlockOrder::reversed);
  CHECK(request->simulation.gpu.l2_capacity_bytes == 0);
}

TEST_CASE("export job: masks, a changed score, tables and pages are in the command") {
  const TemporaryFolder folder;
  WindowState state = odd_state();
  state.algorithm = "flex";
  state.problem = {1, 2, 2, 64, 64, 16, DataType::fp16, false, Pass::forward, {}};
  state.problem.page_size = 64;
  state.masks = {"q - kv < shift[0]", "-q < kv"};
  state.presets = {"sliding_window:window=8"};
  state.score = "-score / 2";
  state.tables = {"shift=" + folder.file("shift.csv", "16\n")};
  ExportChoice choice;
  choice.file = "out.csv";
  const auto line = parse_command_line(export_arguments(state, choice));
  REQUIRE_MESSAGE(line, line.error().sentence.text());
  const auto request = make_request(*line);
  REQUIRE_MESSAGE(request, request.error().sentence.text());
  const MaskChoice& read = request->simulation.masking;
  CHECK(read.masks == state.masks);
  CHECK(read.presets == state.presets);
  CHECK(read.score == state.score);
  CHECK(read.tables.size() == 1);
  CHECK(request->simulation.problem.page_size == 64);
}

TEST_CASE("export job: a table has no flags of a picture") {
  ExportChoice choice;
  choice.file = "out.csv";
  choice.sheet = "waits";
  const auto line = parse_command_line(export_arguments(odd_state(), choice));
  REQUIRE_MESSAGE(line, line.error().sentence.text());
  CHECK_FALSE(line->steps);
  CHECK_FALSE(line->theme);
  CHECK(line->sheet == "waits");
}

TEST_CASE("export job: a command for a shell is quoted where it must be") {
  CHECK(command_text({"export", "--out", "a.gif"}) == "tilescope export --out a.gif");
  CHECK(command_text({"--gpu", "my gpu's.toml"}) == "tilescope --gpu 'my gpu'\\''s.toml'");
}

TEST_CASE("export job: progress, a refusal and the end come from the process") {
  const TemporaryFolder folder;
  ExportJob good(program(folder, "echo 'export: frames, 50 %' >&2\nsleep 0.2\nexit 0\n"));
  good.start({}, {});
  CHECK(good.view().running);
  wait_for(good);
  CHECK(good.view().done);
  CHECK(good.view().progress == doctest::Approx(0.5));
  CHECK(good.view().refusal.empty());

  ExportJob bad(program(folder, "echo 'tilescope: there is no step 9' >&2\nexit 2\n"));
  bad.start({}, {});
  wait_for(bad);
  CHECK_FALSE(bad.view().done);
  CHECK(bad.view().refusal == "there is no step 9");
}

TEST_CASE("export job: cancelling ends the process at once") {
  const TemporaryFolder folder;
  ExportJob job(program(folder, "sleep 60\n"));
  job.start({}, {});
  CHECK(job.view().running);
  const auto before = std::chrono::steady_clock::now();
  job.stop();
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
  CHECK_FALSE(job.view().running);
  CHECK_FALSE(job.view().done);
}

TEST_CASE("export job: without a program it says so") {
  ExportJob job("");
  job.start({}, {});
  CHECK_FALSE(job.view().running);
  CHECK(job.view().refusal.text().find("Copy as command") != std::string::npos);
  ExportJob missing("/nonexistent/tilescope");
  missing.start({}, {});
  CHECK(missing.view().refusal.text().find("cannot start") != std::string::npos);
}

TEST_CASE("export job: the program itself writes the file that the window asks for") {
  const TemporaryFolder folder;
  ExportJob job(TILESCOPE_EXECUTABLE);
  WindowState state;
  state.problem = {1, 1, 1, 16, 16, 4, DataType::fp16, false, Pass::forward, {}};
  ExportChoice choice;
  choice.file = folder.path("step.png");
  choice.first = choice.last = 3;
  choice.width = 320;
  choice.height = 200;
  job.start(state, choice);
  for (int i = 0; i < 3000 && job.view().running; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    job.tick();
  }
  if (job.view().refusal.text().find("OpenGL") != std::string::npos) return skip_test(job.view().refusal);
  CHECK(job.view().refusal == "");
  REQUIRE(job.view().done);
  CHECK(decode_png(*read_binary_file(choice.file), "the file")->width == 320);
}

}  // namespace tilescope
