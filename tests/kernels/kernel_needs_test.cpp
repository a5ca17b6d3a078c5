// What the model says a kernel needs, held against what the kernel's own table says the compiler made of it.
#include "sim/programs/kernel_needs.h"

#include <string>

#include <doctest/doctest.h>

#include "kernels/kernel_table.h"
#include "tests/kernels/shipped_spec.h"

using namespace tilescope;

TEST_CASE("needs: every tile program needs what its compiled kernel needs") {
  const GpuSpec gpu = shipped_spec("h200");
  for (const KernelInfo& row : kernel_table()) {
    if (row.is_library) continue;
    for (DataType type : {DataType::fp16, DataType::bf16})
      for (std::int64_t d : {64, 128})
        for (std::int64_t n : {100, 1000, 4096, 30000, 65536, 100000}) {
          AttentionProblem p;
          p.seq_q = p.seq_kv = n;
          p.head_dim = d;
          p.dtype = type;
          p.pass = row.pass;
          const KernelInfo& kernel = launched_kernel(row, p);
          const std::string id(row.id);
          CAPTURE(id);
          CAPTURE(d);
          CAPTURE(n);
          const ProgramInfo& info = **find_program(kernel.program());
          const TileShape tile = info.default_tile(p, gpu);
          CHECK(tile == kernel.tile(p));
          const auto program = info.make(p, tile, gpu);
          REQUIRE(program);
          const std::vector<LaunchNeeds> compiled = kernel.needs(p);
          const std::span<const LaunchSpec> launches = (*program)->launches();
          REQUIRE(launches.size() == compiled.size());
          for (std::size_t i = 0; i < compiled.size(); ++i) {
            CHECK(launches[i].name == compiled[i].name);
            CHECK(launches[i].needs.threads == compiled[i].threads);
            CHECK(launches[i].needs.registers_per_thread == compiled[i].registers);
            CHECK(launches[i].needs.shared_bytes == compiled[i].shared_bytes);
            CHECK(launches[i].needs.stages == compiled[i].stages);
            CHECK(launches[i].needs.warps_sharing_rows == compiled[i].warps_sharing_rows);
          }
        }
  }
}
