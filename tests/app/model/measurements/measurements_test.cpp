// Bundles as the program loads them: recorded files, and broken ones. Every number is synthetic.
#include "app/model/measurements/measurements.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "app/ui/say.h"
#include "kernels/measure/bundle.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"
#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

TEST_CASE("measurements: recorded bundles are found, other files ignored, a broken one reported") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path(""));
  CHECK(load_measurements().bundles.empty());
  std::filesystem::create_directory(folder.path("measured"));
  folder.file("measured/toy.json", to_json(synthetic_bundle(toy_gpu())));
  folder.file("measured/toy-other.json", "{\"schema\": \"tilescope.simulation/1\"}");
  folder.file("measured/notes.txt", "no bundle");
  const Measurements good = load_measurements();
  REQUIRE(good.bundles.size() == 1);
  CHECK(good.problem.empty());
  CHECK_FALSE(good.bundles[0]->live);
  CHECK(day_of(good.bundles[0]->bundle.date) == "2000-01-02");

  folder.file("measured/broken.json", "{\"schema\": \"tilescope.measurements/1\", \"gpu\": 3}");
  const Measurements mixed = load_measurements();
  CHECK(mixed.bundles.size() == 1);
  CHECK(mixed.problem.text().find("broken.json") != std::string::npos);
  CHECK(mixed.problem.text().find('\n') == std::string::npos);
}

TEST_CASE("measurements: unreadable samples are reported with their file") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path(""));
  std::filesystem::create_directory(folder.path("measured"));
  folder.file("measured/toy-hbm.json", "{\"schema\": \"tilescope.bandwidth/1\"}");
  const Measurements broken = load_measurements();
  CHECK(broken.bandwidths.empty());
  CHECK(broken.problem.text().find("toy-hbm.json") != std::string::npos);
}

TEST_CASE("measurements: an unusable bundle is one sentence with its path") {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.path("none.json"), folder.file("empty.json", ""), folder.file("text.json", "no JSON"), folder.path("")}) {
    CAPTURE(path);
    const auto bundle = load_bundle(path);
    REQUIRE_FALSE(bundle);
    CHECK(bundle.error().sentence.text().find(path.substr(0, 20)) != std::string::npos);
    CHECK(bundle.error().kind == Error::Kind::wrong_request);
  }
  const auto none = load_bundle(folder.file("bare.json", to_json(MeasurementBundle{})));
  REQUIRE_FALSE(none);
  CHECK(none.error().sentence.text().find("no cases") != std::string::npos);
}
