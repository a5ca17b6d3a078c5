// The table of kernels: what each takes, and what is said where it does not.
#include "kernels/kernel_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sim/analysis/validation.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tile_program.h"

using namespace tilescope;

namespace {

AttentionProblem small_problem() {
  AttentionProblem p;
  p.seq_q = p.seq_kv = 256;
  p.head_dim = 64;
  return p;
}

const KernelInfo& kernel(std::string_view id) {
  const Result<const KernelInfo*> found = find_kernel(id);
  REQUIRE(found);
  return **found;
}

bool has(const std::string& sentence, std::string_view part) {
  return sentence.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("kernel table: ids are different, and each but the library's runs a tile program") {
  std::set<std::string_view> ids;
  for (const KernelInfo& row : kernel_table()) {
    CHECK(ids.insert(row.id).second);
    CHECK_FALSE(row.summary.empty());
    CHECK_FALSE(row.inputs.empty());
    CHECK_FALSE(row.outputs.empty());
    if (!row.is_library) CHECK_MESSAGE(bool(find_program(row.program())), std::string(row.id));
  }
  // A program without a kernel is refused by its name.
  for (const ProgramInfo& program : program_table())
    if (const auto found = find_kernel(program.id); !found) CHECK_MESSAGE(has(found.error().sentence, program.id), program.id);
}

TEST_CASE("kernel table: validation knows whose products a library computes, and which kernels are another's in another order") {
  int libraries = 0, variants = 0;
  for (const KernelInfo& row : kernel_table()) {
    CAPTURE(row.id);
    const Counterpart counterpart = counterpart_of(row.id);
    CHECK(counterpart.library == row.is_library);
    libraries += row.is_library ? 1 : 0;
    if (row.variant_of.empty()) continue;
    CHECK(counterpart.algorithm == row.program());
    CHECK(counterpart.key_order == row.key_order);
    // A variant has an order of its own: else it would be the kernel that it varies.
    CHECK((counterpart.key_order != KeyOrder::ascending || counterpart.block_order != BlockOrder::launch));
    ++variants;
  }
  CHECK(libraries == 1);
  CHECK(variants == 3);
}

TEST_CASE("kernel table: flash3 runs the kernel that is fastest for the head dimension, the mask and the length") {
  AttentionProblem p = small_problem();
  CHECK(launched_kernel(kernel("flash3"), p).id == "hopper_wgmma");
  CHECK(kernel("flash3").tile(p) == TileShape{128, 128});
  p.causal = true;
  CHECK(launched_kernel(kernel("flash3"), p).id == "hopper_wgmma_longest");
  p.causal = false;
  p.seq_q = 4096;
  CHECK(launched_kernel(kernel("flash3"), p).id == "hopper_causal");
  CHECK(kernel("flash3").tile(p) == TileShape{192, 128});
  p.head_dim = 128;
  CHECK(launched_kernel(kernel("flash3"), p).id == "hopper_causal");
  CHECK(kernel("flash3").tile(p) == TileShape{128, 128});
  CHECK(launched_kernel(kernel("flash2"), p).id == "flash2");
}

TEST_CASE("kernel table: an unknown id names those there are") {
  const Result<const KernelInfo*> found = find_kernel("flash9");
  REQUIRE_FALSE(found);
  CHECK(has(found.error().sentence, "flash9"));
  CHECK(has(found.error().sentence, "flash2"));
}

TEST_CASE("kernel table: a program whose keys go another way round is run by its variant") {
  CHECK((*find_kernel("flash2", KeyOrder::ascending))->id == "flash2");
  CHECK((*find_kernel("flash2", KeyOrder::descending))->id == "flash2_descending");
  CHECK((*find_kernel("standard_cublas", KeyOrder::ascending))->id == "standard_cublas");
  CHECK(has(find_kernel("flash1", KeyOrder::descending).error().sentence, "no variant that visits its keys in descending order"));
  const std::string unknown = find_kernel("flash9", KeyOrder::descending).error().sentence;
  CHECK(has(unknown, "flash9"));
  CHECK_FALSE(has(unknown, "flash2_descending"));
}

TEST_CASE("kernel table: what a kernel does not take is one sentence with the value and the way out") {
  AttentionProblem p = small_problem();
  CHECK(supports(kernel("flash2"), p));
  p.head_dim = 80;
  CHECK(has(supports(kernel("flash2"), p).error().sentence, "not 80"));
  p = small_problem();
  p.dtype = DataType::fp32;
  CHECK(has(supports(kernel("flash2"), p).error().sentence, "dtype fp16"));
  p = small_problem();
  p.pass = Pass::backward;
  CHECK(has(supports(kernel("flash2"), p).error().sentence, "pass forward"));
  CHECK(supports(kernel("flash1_backward"), p));
  p.pass = Pass::both;
  CHECK(has(supports(kernel("flash1_backward"), p).error().sentence, "runs backward, not both"));
  p = small_problem();
  p.causal = true;
  CHECK(supports(kernel("flash2"), p));
  CHECK(has(supports(kernel("softmax_safe"), p).error().sentence, "causal"));
  p = small_problem();
  p.page_size = 384;
  CHECK(supports(kernel("flex"), p));
  CHECK(supports(kernel("hopper_flex"), p));
  CHECK(has(supports(kernel("flash2"), p).error().sentence, "kernel flash2 has no page table: leave out page_size"));
  p.page_size = 192;
  CHECK(has(supports(kernel("hopper_flex"), p).error().sentence, "page_size is 192, and the key tile is 128"));
  p.page_size = 8;
  CHECK(has(supports(kernel("flex"), p).error().sentence, "kernel flex takes pages of 16 keys or more, not 8"));
  p = small_problem();
  p.batch = 70000;
  CHECK(has(supports(kernel("standard"), p).error().sentence, "65535"));
  p = small_problem();
  p.heads = 3;
  p.kv_heads = 2;
  CHECK(has(supports(kernel("flash2"), p).error().sentence, "kv_heads"));
}

TEST_CASE("kernel table: a backward kernel reads dO and what its forward kernel leaves, and writes the gradients") {
  for (const KernelInfo& row : kernel_table()) {
    CAPTURE(std::string(row.id));
    CHECK((row.pass == Pass::backward) == !row.forward.empty());
    if (row.pass != Pass::backward) continue;
    const KernelInfo& forward = kernel(row.forward);
    CHECK(forward.pass == Pass::forward);
    CHECK((*find_program(row.program()))->forward == forward.program());
    const auto has_tensor = [](std::span<const Tensor> list, Tensor tensor) {
      return std::find(list.begin(), list.end(), tensor) != list.end();
    };
    int left = 0;
    for (Tensor tensor : row.inputs) left += has_tensor(forward.outputs, tensor);
    CHECK(left > 0);
    CHECK(has_tensor(row.inputs, tensors::d_o));
    for (Tensor gradient : {tensors::d_q, tensors::d_k, tensors::d_v}) CHECK(has_tensor(row.outputs, gradient));
  }
}

TEST_CASE("kernel table: only the tile that a kernel was compiled for is taken") {
  AttentionProblem p = small_problem();
  CHECK(kernel("flash2").tile(p) == TileShape{128, 128});
  p.head_dim = 128;
  CHECK(kernel("flash2").tile(p) == TileShape{128, 64});
  CHECK(supports(kernel("flash2"), p, {128, 64}));
  CHECK(has(supports(kernel("flash2"), p, {64, 64}).error().sentence, "128x64"));
}

TEST_CASE("kernel table: every kernel fits the shared memory and the registers of an A100, or of an H100 if it is for Hopper") {
  for (const KernelInfo& row : kernel_table())
    for (std::int64_t d : {64, 128})
      for (std::int64_t keys : {1, 4096, 65536, 200000}) {
        AttentionProblem p = small_problem();
        p.head_dim = d;
        p.seq_kv = keys;
        p.pass = row.pass;
        for (const LaunchNeeds& needs : row.needs(p)) {
          CHECK(needs.shared_bytes <= (row.is_hopper ? 227 * 1024 : 163 * 1024 + 1024));
          CHECK(needs.threads * needs.registers <= 65536);
          CHECK(needs.registers <= 255);
        }
      }
}

TEST_CASE("kernel table: launching without a device or without tensors is an error and not a crash") {
  for (const KernelInfo& row : kernel_table()) {
    AttentionProblem p = small_problem();
    p.pass = row.pass;
    const Status launched = launch(row, p, DeviceTensors{}, nullptr);
    REQUIRE_FALSE(launched);
    CHECK_FALSE(launched.error().sentence.empty());
  }
}

TEST_CASE("device: where there is none, the sentence says so and the kind is 'machine lacks'") {
  const Result<DeviceInfo> device = find_device();
  if (device) {
    CHECK(device->sm_count > 0);
    CHECK(device->compute_major >= 8);
    return;
  }
  CHECK(device.error().kind == Error::Kind::machine_lacks);
  CHECK(has(device.error().sentence, built_with_cuda() ? "NVIDIA" : "CUDA toolkit"));
  CHECK_FALSE(DeviceMemory::allocate(1024));
}
