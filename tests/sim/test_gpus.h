// GPU specs built by hand, so that tests of the model depend on no file: toy_gpu(), h200_gpu(), textbook_gpu().
#pragma once

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// Four SMs with a small L2: everything shows.
inline GpuSpec toy_gpu() {
  GpuSpec gpu;
  gpu.id = "toy";
  gpu.name = "Toy";
  gpu.sm_count = 4;
  gpu.sm_groups = {{4, 0}};
  gpu.sm_clock_hz = 1e9;
  gpu.sm_registers = 65536;
  gpu.sm_max_threads = 1024;
  gpu.sm_max_blocks = 8;
  gpu.sm_shared_bytes = 64 * 1024;
  gpu.sm_shared_bytes_per_block = 64 * 1024;
  gpu.sm_tensor_flops_per_cycle = 512;
  gpu.sm_fp32_flops_per_cycle = 256;
  gpu.sm_exps_per_cycle = 16;
  gpu.sm_shared_bytes_per_cycle = 128;
  gpu.sm_l2_bytes_per_cycle = 32;
  gpu.sm_sub_partitions = 1;
  gpu.sm_mma_flops_per_cycle = 512;
  gpu.sm_wgmma_flops_per_cycle = 512;
  gpu.sm_wgmma_queue = 8;
  gpu.sm_mbarrier_cycles = 10;
  gpu.sm_named_barrier_cycles = 10;
  gpu.sm_issues_per_cycle = 4;
  gpu.sm_alu_lanes_per_cycle = 128;
  gpu.sm_product_issue_cycles = 0;
  gpu.sm_product_latency_cycles = 0;
  gpu.sm_sine_call_cycles = 142.4;
  gpu.sm_two_sines_call_cycles = 201.9;
  gpu.sm_four_sines_call_cycles = 259.9;
  gpu.sm_barrier_cycles = 20;
  gpu.sm_store_bytes_per_cycle = 32;
  gpu.sm_reduce_bytes_per_cycle = 32;
  gpu.sm_copy_bytes_per_cycle = 128;
  gpu.sm_shared_latency_cycles = 30;
  gpu.sm_block_start_cycles = 100;
  gpu.l2_capacity_bytes = 1024 * 1024;
  gpu.l2_partitions = 1;
  gpu.l2_sector_bytes = 32;
  gpu.l2_line_bytes = 128;
  gpu.l2_bytes_per_cycle = 128;
  gpu.l2_write_bytes_per_cycle = 128;
  gpu.l2_reduce_bytes_per_cycle = 128;
  gpu.l2_latency_cycles = 200;
  gpu.l2_far_latency_cycles = 200;
  gpu.hbm_bytes_per_second = 64e9;
  gpu.hbm_sustained_fraction = 1;
  gpu.hbm_read_fraction = 1;
  gpu.hbm_capacity_bytes = 1024.0 * 1024 * 1024;
  gpu.hbm_latency_cycles = 500;
  gpu.launch_overhead_ns = 1000;
  gpu.launch_first_ns = 0;
  return gpu;
}

/// An H200 SXM.
inline GpuSpec h200_gpu() {
  GpuSpec gpu;
  gpu.id = "h200";
  gpu.name = "NVIDIA H200 SXM";
  gpu.sm_count = 132;
  gpu.sm_groups = {{8, 0}, {8, 0}, {16, 0}, {16, 1}, {16, 1}, {16, 1}, {16, 0}, {18, 1}, {18, 0}};
  gpu.sm_clock_hz = 1.98e9;
  gpu.sm_registers = 65536;
  gpu.sm_max_threads = 2048;
  gpu.sm_max_blocks = 32;
  gpu.sm_shared_bytes = 228 * 1024;
  gpu.sm_shared_bytes_per_block = 227 * 1024;
  gpu.sm_tensor_flops_per_cycle = 4096;
  gpu.sm_fp32_flops_per_cycle = 256;
  gpu.sm_exps_per_cycle = 16;
  gpu.sm_shared_bytes_per_cycle = 128;
  gpu.sm_l2_bytes_per_cycle = 64;
  gpu.sm_sub_partitions = 4;
  gpu.sm_mma_flops_per_cycle = 2680;
  gpu.sm_wgmma_flops_per_cycle = 4090;
  gpu.sm_wgmma_issue_cycles = 12;
  gpu.sm_wgmma_queue = 6.3;
  gpu.sm_wgmma_latency_cycles = 62;
  gpu.sm_beside_wgmma_alu_cycles = 1.96;
  gpu.sm_beside_wgmma_exp_cycles = 2.66;
  gpu.sm_wgmma_fp32_cycles = 0.98;
  gpu.sm_wgmma_mixed_cycles = 0.34;
  gpu.sm_wgmma_alu_cycles = 0.22;
  gpu.sm_mbarrier_cycles = 71;
  gpu.sm_mbarrier_wait_cycles = 48;
  gpu.sm_named_barrier_cycles = 32;
  gpu.sm_box_issue_cycles = 97;
  gpu.sm_box_latency_cycles = 190;
  gpu.sm_box_bytes_per_cycle = 110;
  gpu.sm_issues_per_cycle = 4;
  gpu.sm_alu_lanes_per_cycle = 64;
  gpu.sm_product_issue_cycles = 1.35;
  gpu.sm_product_mixed_cycles = 1.114;
  gpu.sm_dependent_cycles = 4.1;
  gpu.sm_product_latency_cycles = 24;
  gpu.sm_sine_call_cycles = 142.4;
  gpu.sm_two_sines_call_cycles = 201.9;
  gpu.sm_four_sines_call_cycles = 259.9;
  gpu.sm_barrier_cycles = 23;
  gpu.sm_store_bytes_per_cycle = 31.6;
  gpu.sm_reduce_bytes_per_cycle = 25.37;
  gpu.sm_reduce_queue_bytes = 5300;
  gpu.sm_copy_bytes_per_cycle = 72.5;
  gpu.sm_shared_latency_cycles = 34;
  gpu.sm_block_start_cycles = 500;
  gpu.l2_capacity_bytes = 60.0 * 1024 * 1024;
  gpu.l2_partitions = 2;
  gpu.l2_sector_bytes = 32;
  gpu.l2_line_bytes = 128;
  gpu.l2_ways = 16;
  gpu.l2_dirty_fraction = 0.457;
  gpu.l2_bytes_per_cycle = 37.0 * 132;
  gpu.l2_write_bytes_per_cycle = 2450;
  gpu.l2_reduce_bytes_per_cycle = 1922;
  gpu.l2_copy_bytes_per_cycle = 4355;
  gpu.l2_merge_cycles = 66;
  gpu.l2_fabric_bytes_per_cycle = 630;
  gpu.l2_latency_cycles = 265;
  gpu.l2_far_latency_cycles = 480;
  gpu.hbm_bytes_per_second = 4.8e12;
  gpu.hbm_sustained_fraction = 0.896;
  gpu.hbm_read_fraction = 0.965;
  gpu.hbm_capacity_bytes = 141e9;
  gpu.hbm_latency_cycles = 650;
  gpu.hbm_tile_latency_cycles = 1200;
  gpu.launch_overhead_ns = 2500;
  gpu.launch_interval_ns = 2750;
  gpu.launch_first_ns = 4600;
  return gpu;
}

/// The machine of the FlashAttention paper: one fast memory of `sm_shared_bytes_per_block`, HBM right behind it, no L2.
inline GpuSpec textbook_gpu() {
  GpuSpec gpu = toy_gpu();
  gpu.id = "textbook";
  gpu.name = "Textbook";
  gpu.sm_max_threads = 2048;
  gpu.sm_max_blocks = 1;
  gpu.l2_capacity_bytes = 0;
  gpu.l2_partitions = 0;
  gpu.l2_bytes_per_cycle = 0;
  gpu.l2_latency_cycles = 0;
  gpu.l2_far_latency_cycles = 0;
  return gpu;
}

}  // namespace tilescope
