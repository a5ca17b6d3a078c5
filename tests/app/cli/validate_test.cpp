// `tilescope validate`: exit codes, the table, JSON and the page; on synthetic bundles of the toy GPU.
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/model/measurements/measurements.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "kernels/measure/bundle.h"
#include "sim/analysis/validation_csv.h"
#include "sim/core/spec_text.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

RunOutcome validate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "validate");
  return run_program(std::move(arguments));
}

/// A bundle of the GPU as its file has it, whose figures are the simulated ones times `factor`.
std::string bundle_text(double factor) {
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  return to_json(synthetic_bundle(*toy, factor));
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

}  // namespace

TEST_CASE("validate: the exit code is 0 where no figure fails, else 1; the last line counts the verdicts") {
  const TemporaryFolder folder;
  const RunOutcome good = validate({"--bundle", folder.file("good.json", bundle_text(1))});
  CHECK(good.code == 0);
  CHECK(good.err == "");
  CHECK(last_line(good.out) == "cases: 6 within their bounds, 0 within the hardware's spread, 0 known misses, 0 fail");
  CHECK(good.out.find("synthetic, no hardware") != std::string::npos);

  const std::string off = folder.file("off.json", bundle_text(3));
  const RunOutcome bad = validate({"--bundle", off});
  CHECK(bad.code == 1);
  CHECK(bad.err == "");
  CHECK(last_line(bad.out) == "cases: 0 within their bounds, 0 within the hardware's spread, 0 known misses, 6 fail");
  CHECK(bad.out.find("the mean error of time is 66.7 %") != std::string::npos);
  const std::string part = validate({"--bundle", off, "--list", "judge"}).out;
  CHECK(part.find("0 known misses, 2 fail\n") != std::string::npos);
  CHECK(last_line(part) == "part: 2 of 6 cases were judged");
}

TEST_CASE("validate: figures of every verdict are counted, and a known miss neither fails nor holds") {
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  MeasurementBundle bundle = synthetic_bundle(*toy);
  const auto scale_time = [&](std::size_t i, double factor) {
    Spread& time = bundle.cases[i].time_cold_ns;
    time = exactly(time.median * factor);
  };
  scale_time(0, 1.3);  // −23 %
  scale_time(1, 1.3);
  Spread& reads = bundle.cases[2].counters.at("hbm_read_bytes");
  reads = {reads.median * 100, reads.median, reads.median * 200};
  bundle.cases[2].placements = 4;
  bundle.cases[5].kernel = "standard_cublas";
  const TemporaryFolder folder;
  const std::string file = folder.file("b.json", to_json(bundle));
  const auto misses = [&](const std::string& cap, const std::string& recorded) {
    folder.file("b-known-misses.toml", "schema = \"tilescope.known_misses/1\"\nrecorded = \"" + recorded +
                                           "\"\n[[miss]]\nkernel = \"flash2\"\nproblem = \"" + short_text(bundle.cases[0].problem) +
                                           "\"\nfigure = \"time\"\ncap_percent = " + cap + "\ncause = \"measured\"\n");
  };
  const auto last_of = [&](std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--bundle", file});
    return last_line(validate(std::move(more)).out);
  };
  CHECK(last_of() ==
        "cases: 2 within their bounds, 1 within the hardware's spread, 0 known misses, 2 fail; 1 without bounds, not counted");
  misses("23.5", bundle.date);
  CHECK(last_of() ==
        "cases: 2 within their bounds, 1 within the hardware's spread, 1 known miss, 1 fail; 1 without bounds, not counted");
  misses("23", bundle.date);
  CHECK(last_of().find("2 fail") != std::string::npos);  // beyond its cap
  misses("23.5", "2000-01-01");
  CHECK(last_of().find("2 fail") != std::string::npos);  // reviewed for another recording
  CHECK(validate({"--bundle", file}).out.find("stale known miss: flash2") != std::string::npos);
  misses("23.5", bundle.date);
  scale_time(1, 1 / 1.3);
  folder.file("b.json", to_json(bundle));
  const RunOutcome known = validate({"--bundle", file});
  CHECK(known.code == 0);
  CHECK(last_line(known.out).find("1 known miss, 0 fail") != std::string::npos);
  const auto json = nlohmann::json::parse(validate({"--bundle", file, "--json"}).out);
  CHECK(json["held"] == false);
  CHECK(json["cases"][0]["verdict"] == "known_miss");
  CHECK(json["cases"][0]["figures"]["time"]["known_miss"]["cap"] == doctest::Approx(0.235));
  CHECK(json["cases"][2]["figures"]["hbm_read"]["verdict"] == "within_spread");
  CHECK(json["cases"][2]["held"] == true);
  CHECK(json["cases"][5]["held"].is_null());
  CHECK(json["verdicts"]["cases"]["known_miss"] == 1);
  CHECK(json["verdicts"]["cases"]["unbounded"] == 1);
  scale_time(0, 1 / 1.3);
  folder.file("b.json", to_json(bundle));
  CHECK(validate({"--bundle", file}).out.find("the figure is within its bound") != std::string::npos);
}

TEST_CASE("validate: --gpu holds a bundle against another spec, where known misses do not apply") {
  const TemporaryFolder folder;
  const std::string bundle = folder.file("b.json", bundle_text(1));
  CHECK(validate({"--bundle", bundle, "--gpu", "toy"}).code == 0);
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  GpuSpec slow = *toy;
  slow.hbm_bytes_per_second /= 100;
  const std::string spec = folder.file("slow.toml", spec_text(slow, "A toy with slow HBM."));
  const RunOutcome off = validate({"--bundle", bundle, "--gpu", spec});
  CHECK(off.code == 1);
  CHECK(off.out.find("time simulated") != std::string::npos);
  const RunOutcome none = validate({"--bundle", bundle, "--gpu", "tpy"});
  CHECK(none.code == 2);
  CHECK(none.err.find("did you mean toy") != std::string::npos);
}

TEST_CASE("validate: a file with the numbers of the shipped GPU has its known misses, and one with others has none") {
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  MeasurementBundle bundle = synthetic_bundle(*toy);
  bundle.cases[0].time_cold_ns = exactly(bundle.cases[0].time_cold_ns.median * 1.3);
  const TemporaryFolder folder;
  const std::string file = folder.file("b.json", to_json(bundle));
  folder.file("b-known-misses.toml", "schema = \"tilescope.known_misses/1\"\nrecorded = \"" + bundle.date +
                                         "\"\n[[miss]]\nkernel = \"" + bundle.cases[0].kernel + "\"\nproblem = \"" +
                                         short_text(bundle.cases[0].problem) +
                                         "\"\nfigure = \"time\"\ncap_percent = 23.5\ncause = \"measured\"\n");
  CHECK(validate({"--bundle", file}).code == 0);
  CHECK(validate({"--bundle", file, "--gpu", folder.file("copy.toml", spec_text(*toy, "A copy."))}).code == 0);
  GpuSpec other = *toy;
  other.hbm_capacity_bytes *= 2;
  CHECK(validate({"--bundle", file, "--gpu", folder.file("other.toml", spec_text(other, "Another."))}).code == 1);
}

TEST_CASE("validate: --csv has a row a case, and --sample holds a part of the bundle") {
  const TemporaryFolder folder;
  const std::string bundle = folder.file("b.json", bundle_text(1)), table = folder.path("t.csv");
  CHECK(validate({"--bundle", bundle, "--csv", table}).code == 0);
  const auto text = read_text_file(table);
  REQUIRE(text);
  const auto rows = validation_from_csv(*text);
  REQUIRE(rows);
  CHECK(rows->size() == 6);
  CHECK(rows->front().verdict == Verdict::within);
  const std::string sample = validate({"--bundle", bundle, "--sample"}).out;
  CHECK(sample.find("6 cases") != std::string::npos);  // two strata of three cheap cases
  CHECK(sample.find("part: ") == std::string::npos);   // and those are all
}

TEST_CASE("validate: the JSON has every case with its figures, and the page has them too; both alike each time") {
  const TemporaryFolder folder;
  const std::string bundle = folder.file("b.json", bundle_text(1)), page = folder.path("page.md");
  const RunOutcome printed = validate({"--bundle", bundle, "--json", "--markdown", page});
  CHECK(printed.code == 0);
  const auto json = nlohmann::json::parse(printed.out);
  CHECK(json["schema"] == "tilescope.validation/1");
  CHECK(json["held"] == true);
  REQUIRE(json["cases"].size() == 6);
  CHECK(json["cases"][0]["figures"]["l2_to_sm"]["error"] == 0);
  CHECK(json["cases"][0]["figures"]["l2_to_sm"]["allowed"] == 65536);
  CHECK(json["kernels"].size() == 2);
  CHECK(json["lists"].size() == 2);
  const auto text = read_text_file(page);
  REQUIRE(text);
  CHECK(text->find("### flash2") != std::string::npos);
  CHECK(text->find("B1 H2 N100 d16 fp16") != std::string::npos);
  CHECK(text->find(folder.path("")) == std::string::npos);  // no paths of this machine
  validate({"--bundle", bundle, "--markdown", page});
  CHECK(*read_text_file(page) == *text);
  CHECK(validate({"--bundle", bundle, "--json", folder.path("out.json")}).out.find("6 within their bounds") != std::string::npos);
  CHECK(read_text_file(folder.path("out.json")));
}

TEST_CASE("validate: a damaged default bundle, or one with a damaged list of known misses, is named and not replaced") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("measured"));
  std::filesystem::copy(std::string(TILESCOPE_SOURCE_DIR) + "/assets/gpus", folder.path("gpus"));
  const std::string text = bundle_text(1);
  folder.file("measured/a.json", text);
  const auto with_assets = [&] {
    const AssetsFolder assets(folder.path(""));
    return validate({"--quiet"});
  };
  CHECK(with_assets().code == 0);  // the only one
  for (const std::size_t length : {text.size() / 2, std::size_t{10}, std::size_t{0}}) {
    CAPTURE(length);
    folder.file("measured/h200.json", text.substr(0, length));
    const RunOutcome damaged = with_assets();
    CHECK(damaged.code == 2);
    CHECK(damaged.out == "");
    CHECK_MESSAGE(damaged.err.find("h200.json") != std::string::npos, damaged.err);
  }
  folder.file("measured/h200.json", text);
  CHECK(with_assets().code == 0);
  folder.file("measured/h200-known-misses.toml", "not TOML");
  const RunOutcome spoiled = with_assets();
  CHECK(spoiled.code == 2);
  CHECK_MESSAGE(spoiled.err.find("h200-known-misses.toml:1") != std::string::npos, spoiled.err);
  // Where the reference GPU has no bundle, the first by name is the default one.
  std::filesystem::remove(folder.path("measured/h200.json"));
  folder.file("measured/a.json", text.substr(0, text.size() / 2));
  folder.file("measured/b.json", text);
  CHECK(with_assets().err.find("a.json") != std::string::npos);
}

TEST_CASE("validate: without any bundle it is exit code 3 and a sentence that says how to get one") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path(""));
  const RunOutcome outcome = validate({});
  CHECK(outcome.code == 3);
  CHECK(outcome.out == "");
  CHECK(outcome.err.find("tilescope measure --suite") != std::string::npos);
}

TEST_CASE("validate: control characters in a bundle's names do not reach the terminal or the page") {
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  MeasurementBundle bundle = synthetic_bundle(*toy);
  bundle.device = "GPU\x1b[31m red\nline";
  bundle.cases[0].kernel = "flash2\x1b]0;title\x07\n";
  bundle.cases[1].list = "bu\x1bild";
  bundle.command = "a\nb";
  const TemporaryFolder folder;
  const std::string file = folder.file("b.json", to_json(bundle)), page = folder.path("page.md");
  const RunOutcome outcome = validate({"--quiet", "--bundle", file, "--markdown", page});
  CHECK(outcome.out.find("GPU?[31m red?line") != std::string::npos);
  for (const std::string& text : {outcome.out, outcome.err, *read_text_file(page)}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\x07') == std::string::npos);
    CHECK(text.find("\nline") == std::string::npos);
  }
}

TEST_CASE("validate: what cannot be read is exit code 2 and one line") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> arguments, const std::string& fragment) {
    const RunOutcome outcome = validate(std::move(arguments));
    CAPTURE(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err.find(fragment) != std::string::npos);
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  };
  refused({"--bundle", folder.path("none.json")}, "there is no such file");
  refused({"--bundle", folder.file("text.json", "not json")}, "must be JSON");
  refused({"--bundle", folder.file("old.json", "{\"schema\": \"tilescope.measurements/0\"}")}, "schema");
  refused({"--bundle", folder.file("bare.json", to_json(MeasurementBundle{}))}, "no cases");
  MeasurementBundle elsewhere;
  elsewhere.gpu = "z9000";
  elsewhere.cases.resize(1);
  elsewhere.cases[0].refused = "not measured";
  refused({"--bundle", folder.file("gpu.json", to_json(elsewhere))}, "z9000");
  const std::string good = folder.file("good.json", bundle_text(1));
  folder.file("good-known-misses.toml", "schema = \"tilescope.known_misses/0\"");
  refused({"--bundle", good}, "good-known-misses.toml:1: the schema is");
  folder.file("good-known-misses.toml", "schema = \"tilescope.known_misses/1\"\nrecorded = \"2000\"\n");
  refused({"--bundle", good, "--list", "jugde"}, "did you mean judge");
  refused({"--bundle", good, "--markdown", folder.path("no/such/folder.md")}, "there is no folder");
}

TEST_CASE("validate: a GPU that is named is held against its own recording, and one without any is refused") {
  const auto h100 = load_bundle_of("h100");
  REQUIRE(h100);
  CHECK(h100->bundle.gpu == "h100");
  CHECK(std::filesystem::path(h100->path).filename() == "h100.json");
  const RunOutcome none = validate({"--gpu", "toy"});
  CHECK(none.code == 2);
  CHECK(none.err == "tilescope: toy was never built, so nothing is recorded of it: name another --gpu\n");
  const RunOutcome unrecorded = validate({"--gpu", "a100"});
  CHECK(unrecorded.code == 2);
  CHECK(unrecorded.err == "tilescope: nothing is recorded of a100: name the bundle to compare with as --bundle FILE\n");
}
