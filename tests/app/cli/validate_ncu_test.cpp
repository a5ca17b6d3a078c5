// `tilescope validate --ncu`: counters of Nsight Compute beside a simulation. The file is written from the simulation's own
// figures.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "sim/engine/simulation.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

namespace {

constexpr const char* header = "ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n";

RunOutcome validate_ncu(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "validate");
  return run_program(std::move(arguments));
}

std::string row(const std::string& metric, const std::string& unit, double count) {
  return fmt::format("0,void my_flash2<64>(int),{},{},\"{:.0f}\"\n", metric, unit, count);
}

/// Counters of flash2 on the toy GPU: its simulated bytes times `factor`.
std::string counters(double factor) {
  SimulationRequest request;
  request.problem.seq_q = request.problem.seq_kv = 256;
  request.gpu = *load_gpu("toy");
  const auto run = simulate(request);
  REQUIRE(static_cast<bool>(run));
  const auto bytes = [&](Link link) { return factor * static_cast<double>((*run)->ledger.total(link).value); };
  return header + row("dram__bytes_read.sum", "byte", bytes(Link::hbm_read)) +
         row("l1tex__m_xbar2l1tex_read_bytes.sum", "byte", bytes(Link::l2_to_sm)) +
         row("l1tex__m_l1tex2xbar_write_bytes.sum", "byte", bytes(Link::sm_to_l2));
}

const std::vector<std::string> problem = {"--gpu", "toy", "--seq", "256"};

std::vector<std::string> with(std::vector<std::string> first, const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace

TEST_CASE("validate --ncu: the simulation's own bytes are within, what was matched and what is missing is said") {
  const TemporaryFolder folder;
  const std::string file = folder.file("profile.csv", counters(1));
  const RunOutcome good = validate_ncu(with({"--ncu", file}, problem));
  CHECK(good.err == "");
  CHECK(good.code == 0);
  CHECK(good.out.find("matched by name  attention = ID 0 my_flash2") != std::string::npos);
  CHECK(good.out.find("profile.csv lacks dram__bytes_write.sum, gpu__time_duration.sum: profile with") != std::string::npos);
  const auto json = nlohmann::json::parse(validate_ncu(with({"--ncu", file, "--json"}, problem)).out);
  CHECK(json["schema"] == "tilescope.ncu/1");
  CHECK(json["figures"].size() == 3);
  for (const auto& figure : json["figures"]) CHECK(figure["simulated_bytes"] == figure["measured_bytes"]);
  CHECK(json["missing"] == nlohmann::json{"dram__bytes_write.sum", "gpu__time_duration.sum"});
}

TEST_CASE("validate --ncu: a profile of another kind of GPU than the simulated one is told") {
  const TemporaryFolder folder;
  const auto warned = [&](const char* capability) {
    const std::string file = folder.file("cc.csv", fmt::format("ID,Kernel Name,CC,Metric Name,Metric Unit,Metric Value\n"
                                                               "0,flash2_kernel(int),{},dram__bytes_read.sum,byte,4096\n",
                                                               capability));
    return validate_ncu({"--ncu", file, "--gpu", "h100", "--seq", "256"})
               .out.find("the file was profiled on a GPU of compute capability 8.0, and h100 is simulated") != std::string::npos;
  };
  CHECK(warned("8.0"));
  CHECK_FALSE(warned("9.0"));
}

TEST_CASE("validate --ncu: further runs in the file, and a grid of another problem, are told") {
  const TemporaryFolder folder;
  const auto profiled = [&](const char* name, const std::string& grid, const char* kernel) {
    std::string text = "ID,Kernel Name,Block Size,Grid Size,Metric Name,Metric Unit,Metric Value\n";
    for (int id = 3; id < 6; ++id)
      text += fmt::format("{},{},\"(64, 1, 1)\",\"{}\",dram__bytes_read.sum,byte,24576\n", id, kernel, grid);
    return validate_ncu(with({"--ncu", folder.file(name, text)}, problem)).out;
  };
  SimulationRequest request;
  request.problem.seq_q = request.problem.seq_kv = 256;
  request.gpu = *load_gpu("toy");
  const auto run = simulate(request);
  REQUIRE(static_cast<bool>(run));
  const std::int64_t blocks = (*run)->launches[0].blocks, threads = (*run)->launches[0].threads;
  const std::string same = profiled("same.csv", fmt::format("({}, 1, 1)", blocks), "my_flash2");
  CHECK(same.find("= ID 3 my_flash2") != std::string::npos);
  CHECK(same.find("2 more runs of these kernels are in the file and left out") != std::string::npos);
  CHECK((same.find("was profiled with") != std::string::npos) == (threads != 64));
  const std::string other = profiled("other.csv", "(7, 3, 1)", "attend");
  CHECK(other.find("attention was profiled with 21 blocks of 64 threads, and this problem and tile has") != std::string::npos);
  CHECK(other.find("no kernel is named after flash2: its launches were matched by their order") != std::string::npos);
}

TEST_CASE("validate --ncu: the full name of a device is enough to find its spec") {
  const TemporaryFolder folder;
  const std::string text = std::string(header) + "0,flash2,device__attribute_display_name,,NVIDIA H100 80GB HBM3\n" +
                           "0,flash2,dram__bytes_read.sum,byte,24576\n";
  const RunOutcome found = validate_ncu({"--ncu", folder.file("h100.csv", text), "--seq", "256", "--head-dim", "64"});
  CHECK(found.err == "");
  CHECK(found.out.find(", h100") != std::string::npos);
}

TEST_CASE("validate --ncu: a figure beyond its bound ends with 1") {
  const TemporaryFolder folder;
  const RunOutcome bad = validate_ncu(with({"--ncu", folder.file("profile.csv", counters(100))}, problem));
  CHECK(bad.code == 1);
  CHECK(bad.out.find("✗") != std::string::npos);
}

TEST_CASE("validate --ncu: what does not go together is one sentence") {
  const TemporaryFolder folder;
  const std::string file = folder.file("profile.csv", counters(1));
  const auto sentence = [](const std::vector<std::string>& arguments) {
    const RunOutcome outcome = validate_ncu(arguments);
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(sentence({"--ncu", file, "--seq", "256"}).find("add --gpu") != std::string::npos);
  CHECK(sentence({"--ncu", file, "--gpu", "toy", "--bundle", "b.json"}).find("give one of them") != std::string::npos);
  CHECK(sentence({"--seq", "64"}).find("--seq describes the run of --ncu FILE") != std::string::npos);
  CHECK(sentence(with({"--ncu", folder.file("none.csv", "a,b\n")}, problem)).find("is no CSV of Nsight Compute") !=
        std::string::npos);
  CHECK(sentence(with({"--ncu", folder.path("absent.csv")}, problem)).find("absent.csv") != std::string::npos);
  CHECK(sentence(with({"--ncu", file, "--algorithm", "standard"}, problem)).find("standard has 3") != std::string::npos);
}
