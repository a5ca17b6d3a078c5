// `tilescope validate`: exit codes, the table, JSON and the page; on synthetic bundles of the toy GPU.
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/model/assets.h"
#include "app/platform/files.h"
#include "kernels/measure/bundle.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"
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

}  // namespace

TEST_CASE("validate: 0 where every bound held, 1 beyond; the table has every case and says what is beyond") {
  const TemporaryFolder folder;
  const RunOutcome good = validate({"--bundle", folder.file("good.json", bundle_text(1))});
  CHECK(good.code == 0);
  CHECK(good.err == "");
  CHECK(good.out.find("all 6 cases are within their bounds") != std::string::npos);
  CHECK(good.out.find("synthetic, no hardware") != std::string::npos);

  const std::string off = folder.file("off.json", bundle_text(3));
  const RunOutcome bad = validate({"--bundle", off});
  CHECK(bad.code == 1);
  CHECK(bad.err == "");
  CHECK(bad.out.find("6 of 6 cases are beyond their bounds") != std::string::npos);
  CHECK(bad.out.find("the mean error of time is 66.7 %") != std::string::npos);
  CHECK(validate({"--bundle", off, "--list", "judge"}).out.find("2 of 2 cases") != std::string::npos);
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
  CHECK(validate({"--bundle", bundle, "--json", folder.path("out.json")}).out.find("all 6 cases") != std::string::npos);
  CHECK(read_text_file(folder.path("out.json")));
}

TEST_CASE("validate: without any bundle it is exit code 3 and a sentence that says how to get one") {
  const TemporaryFolder folder;
  const char* before = std::getenv("TILESCOPE_ASSETS");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TILESCOPE_ASSETS", folder.path("").c_str(), 1);
  const RunOutcome outcome = validate({});
  kept.empty() ? ::unsetenv("TILESCOPE_ASSETS") : ::setenv("TILESCOPE_ASSETS", kept.c_str(), 1);
  CHECK(outcome.code == 3);
  CHECK(outcome.out == "");
  CHECK(outcome.err.find("tilescope measure --suite") != std::string::npos);
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
  refused({"--bundle", folder.file("gpu.json", to_json(elsewhere))}, "z9000");
  const std::string good = folder.file("good.json", bundle_text(1));
  refused({"--bundle", good, "--list", "jugde"}, "did you mean judge");
  refused({"--bundle", good, "--markdown", folder.path("no/such/folder.md")}, "there is no folder");
}
