// Lists the counters: key, metric, factor, meaning.
#include "kernels/measure/counters.h"

namespace tilescope {

namespace {

constexpr Counter table[] = {
    {"hbm_read_bytes", "dram__bytes_read.sum", 1, "bytes read from HBM"},
    {"hbm_write_bytes", "dram__bytes_write.sum", 1, "bytes written to HBM while the kernel ran"},
    {"l2_to_sm_bytes", "l1tex__m_xbar2l1tex_read_bytes.sum", 1, "bytes that came to the SMs from the L2"},
    {"sm_to_l2_bytes", "l1tex__m_l1tex2xbar_write_bytes.sum", 1, "bytes that the SMs wrote to the L2"},
    {"l2_lookup_read_bytes", "lts__t_sectors_srcunit_tex_op_read.sum", 32,
     "bytes looked up in the L2 for reads of SMs, after the coalescer"},
    {"l2_lookup_write_bytes", "lts__t_sectors_srcunit_tex_op_write.sum", 32, "bytes looked up in the L2 for writes of SMs"},
    {"l2_read_hit_bytes", "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", 32, "of the reads, those found in the L2"},
    {"l2_read_miss_bytes", "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum", 32, "of the reads, those not found there"},
    {"sm_to_l2_reduce_bytes", "lts__t_sectors_srcunit_tex_op_red.sum", 32,
     "bytes that SMs had the L2 add to memory: part of sm_to_l2_bytes"},
    {"l2_fabric_bytes", "lts__t_sectors_srcunit_ltcfabric.sum", 32, "bytes between the two partitions of the L2"},
    {"smem_bytes", "smsp__sass_data_bytes_mem_shared.sum", 1, "bytes that instructions moved to and from shared memory"},
    {"smem_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 1, "turns of 128 bytes that shared memory took"},
    {"smem_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1, "turns lost to bank conflicts"},
    {"tensor_instructions", "sm__inst_executed_pipe_tensor_op_hmma.sum", 1, "mma.sync instructions of warps"},
    {"xu_threads", "smsp__thread_inst_executed_pipe_xu_pred_on.sum", 1, "exponentials and conversions, by thread"},
    {"cycles", "sm__cycles_elapsed.max", 1, "SM cycles from start to end"},
    {"profiled_ns", "gpu__time_duration.sum", 1, "time under the profiler; the time proper is measured without it"},
};

}  // namespace

std::span<const Counter> counter_table() {
  return table;
}

bool belongs(const Counter& counter, CounterSet set) {
  switch (set) {
    case CounterSet::all:
      return true;
    case CounterSet::memory:
      return counter.key.starts_with("hbm_") || counter.key.starts_with("l2_");
    case CounterSet::hbm:
      return counter.key.starts_with("hbm_");
  }
  return false;
}

std::vector<std::string> counter_metrics() {
  std::vector<std::string> names;
  for (const Counter& counter : table) names.emplace_back(counter.metric);
  return names;
}

std::vector<std::string> counter_metrics(CounterSet set) {
  std::vector<std::string> names;
  for (const Counter& counter : table)
    if (belongs(counter, set)) names.emplace_back(counter.metric);
  return names;
}

}  // namespace tilescope
