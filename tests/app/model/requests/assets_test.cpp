// Finding assets: beside the executable, by TILESCOPE_ASSETS, and the sentence when there are none.
#include "app/model/requests/assets.h"
#include "app/platform/asset_files.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"

namespace tilescope {

namespace {

std::string source_assets() {
  return std::string(TILESCOPE_SOURCE_DIR) + "/assets";
}

}  // namespace

TEST_CASE("assets: TILESCOPE_ASSETS, if set, is the only folder searched") {
  const AssetsFolder assets(source_assets());
  CHECK(asset_folders() == std::vector<std::filesystem::path>{source_assets()});
  REQUIRE(find_asset("gpus/toy.toml"));
  CHECK(*find_asset("gpus/toy.toml") == source_assets() + "/gpus/toy.toml");
  const auto ids = gpu_ids();
  REQUIRE(ids.size() >= 6);
  CHECK(ids[0] == "toy");
  CHECK(ids[1] == "textbook");
  CHECK(std::is_sorted(ids.begin() + 2, ids.end()));
  for (const std::string& id : ids) {
    const auto gpu = load_gpu(id);
    REQUIRE_MESSAGE(gpu, (gpu ? "" : gpu.error().sentence));
    CHECK(gpu->id == id);
  }
}

TEST_CASE("assets: without the variable, the executable's folders and the install prefix are searched") {
  const AssetsFolder assets("");
  const auto folders = asset_folders();
  const auto executable = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  CHECK(std::find(folders.begin(), folders.end(), executable / "assets") != folders.end());
  CHECK(std::find(folders.begin(), folders.end(), executable.parent_path() / "assets") != folders.end());
  CHECK(std::find(folders.begin(), folders.end(), executable.parent_path() / "share/tilescope/assets") != folders.end());
  CHECK(std::find(folders.begin(), folders.end(), "/usr/local/share/tilescope/assets") != folders.end());
}

TEST_CASE("assets: missing assets give exit code 3, with the searched folders and the way out") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path("nowhere"));
  const auto gpu = load_gpu("toy");
  REQUIRE_FALSE(gpu);
  CHECK(gpu.error().kind == Error::Kind::machine_lacks);
  CHECK(gpu.error().sentence ==
        "there is no gpus/toy.toml in " + folder.path("nowhere") + ": set TILESCOPE_ASSETS to the folder that has it");
  CHECK(gpu_ids().empty());
}

TEST_CASE("assets: a GPU is an asset's name or a user's file") {
  const AssetsFolder assets(source_assets());
  const TemporaryFolder folder;
  CHECK(load_gpu("h20").error().sentence == "unknown GPU 'h20': did you mean h200?");
  CHECK(load_gpu("voodoo").error().sentence.text().find("unknown GPU 'voodoo': there are toy, textbook, a100") == 0);
  CHECK(load_gpu("voodoo").error().sentence.text().find("; or give the path of a .toml file") != std::string::npos);
  CHECK(load_gpu("").error().kind == Error::Kind::wrong_request);
  CHECK(load_gpu("../gpus/toy").error().sentence.text().find("cannot read ") == 0);
  CHECK(load_gpu(source_assets() + "/gpus/toy.toml")->id == "toy");
  CHECK(load_gpu("mine.toml").error().sentence == "cannot read mine.toml: there is no such file");
  CHECK(load_gpu(folder.file("empty.toml", "")).error().sentence.text().find("it is empty") != std::string::npos);
  CHECK(load_gpu(folder.file("broken.toml", "id = ")).error().sentence.text().find("broken.toml:1: not TOML: ") !=
        std::string::npos);
  CHECK(load_gpu(folder.file("large.toml", std::string((1 << 20) + 1, '#'))).error().sentence.text().find("larger than") !=
        std::string::npos);
}

}  // namespace tilescope
