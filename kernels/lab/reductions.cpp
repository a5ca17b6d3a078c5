// tilescope_reductions: how fast SMs add fp32 numbers to memory, in each form of the instruction, and which counters see it.
//
//   nvcc -std=c++20 -O2 -arch=sm_90 -I. … kernels/lab/reductions.cpp kernels/calibrate/reducing.cu kernels/device_cuda.cpp
//     kernels/measure/{flush.cu,counters.cpp,counter_table.cpp,cupti_library.cpp}, with the flags of build_l2_policy.sh
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/calibrate/reducing.h"
#include "kernels/measure/counters.h"

using namespace tilescope;
using namespace tilescope::microbench;

namespace {

constexpr std::int64_t kib = 1024;
constexpr std::array forms = {AddForm::scalar, AddForm::pair, AddForm::quad, AddForm::bulk};

std::string text_of(const Result<double>& rate, double times = 1) {
  return rate ? fmt::format("{:.2f}", *rate * times) : rate.error().sentence.text();
}

void print_rates(const DeviceInfo& device) {
  const int sms = device.sm_count;
  fmt::print("bytes added a cycle\n");
  for (const AddForm form : forms) {
    fmt::print("{:7} one SM, 64 KiB of its own {}, 256 KiB {}\n", to_string(form),
               text_of(add_rate(form, AddTarget::own, 1, 64 * kib, 64)), text_of(add_rate(form, AddTarget::own, 1, 256 * kib, 16)));
    for (const int blocks : {8, 33, 66, sms})
      fmt::print("{:7} {} SMs, each 64 KiB of its own {}\n", to_string(form), blocks,
                 text_of(add_rate(form, AddTarget::own, blocks, 64 * kib, 64), blocks));
    fmt::print("{:7} {} SMs, 64 KiB for all {}, 256 KiB for all {}, 1 MiB for all {}\n", to_string(form), sms,
               text_of(add_rate(form, AddTarget::same, sms, 64 * kib, 64), sms),
               text_of(add_rate(form, AddTarget::same, sms, 256 * kib, 16), sms),
               text_of(add_rate(form, AddTarget::same, sms, 1024 * kib, 8), sms));
    // Four times the L2 in all: every addition reads its line from HBM and evicts another.
    const std::int64_t bytes = 4 * device.l2_bytes / sms / (64 * kib) * (64 * kib);
    fmt::print("{:7} {} SMs, {} MiB each, missing the L2 {}\n", to_string(form), sms, bytes >> 20,
               text_of(add_rate(form, AddTarget::own, sms, bytes, 1), sms));
  }
}

/// Counters of one round of additions to 8 MiB by 64 blocks, once right after the same and once after a flush.
void print_counters(const DeviceInfo& device) {
  Result<CounterSession> session = CounterSession::open();
  if (!session) return fmt::print("no counters: {}\n", session.error().sentence.text());
  Result<DeviceMemory> to = DeviceMemory::allocate(8192 * kib), scratch = DeviceMemory::allocate(4 * device.l2_bytes);
  if (!to || !scratch || !to->fill(0)) return fmt::print("no memory\n");
  const std::vector<std::string> metrics = {"lts__t_sectors_op_red.sum",
                                            "lts__t_sectors_op_atom.sum",
                                            "lts__t_sectors_srcunit_tex_op_red.sum",
                                            "lts__t_sectors_srcunit_tex_op_write.sum",
                                            "lts__t_sectors_op_write.sum",
                                            "lts__t_requests_srcunit_tex_op_red.sum",
                                            "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_red.sum",
                                            "smsp__inst_executed_op_global_red.sum",
                                            "l1tex__m_l1tex2xbar_write_bytes.sum",
                                            "l1tex__m_xbar2l1tex_read_bytes.sum",
                                            "lts__t_sectors_srcunit_ltcfabric.sum",
                                            "dram__bytes_read.sum",
                                            "dram__bytes_write.sum"};
  for (const AddForm form : forms)
    for (const bool cold : {false, true}) {
      fmt::print("{:7} 8388608 bytes added, {} L2:", to_string(form), cold ? "cold" : "warm");
      const Result<std::vector<double>> values = session->read_metrics(
          metrics, [&] { return launch(cold ? plan_flush(*scratch) : plan_additions(form, *to, 64), nullptr); },
          [&] { return launch(plan_additions(form, *to, 64), nullptr); });
      if (!values) fmt::print(" {}", values.error().sentence.text());
      for (std::size_t i = 0; values && i < metrics.size(); ++i) fmt::print("\n   {:55} {:.0f}", metrics[i], (*values)[i]);
      fmt::print("\n");
    }
}

}  // namespace

int main() {
  const Result<DeviceInfo> device = find_device();
  if (!device) {
    fmt::print("{}\n", device.error().sentence.text());
    return 77;
  }
  fmt::print("{}, {} SMs, L2 {} MiB\n", device->name, device->sm_count, device->l2_bytes >> 20);
  print_counters(*device);
  print_rates(*device);
}
