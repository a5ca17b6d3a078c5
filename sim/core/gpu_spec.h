// GpuSpec: one GPU's numbers, each with where it is from. Data lives in assets/gpus/<id>.toml.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"
#include "sim/core/units.h"

namespace tilescope {

enum class Source : std::uint8_t { vendor, measured, estimated, user };
std::string_view to_string(Source source);

/// The note of a value that set_spec_value() changed.
inline constexpr std::string_view changed_note = "set by the user";

struct Provenance {
  Source source = Source::estimated;
  std::string note;
};

/// Every number the model uses, by the key it has in the TOML file ("sm.count" is sm_count here).
/// A capacity of 0 means the level is absent.
struct GpuSpec {
  std::string id, name;

  double sm_count = 0;
  double sm_clock_hz = 0;
  double sm_registers = 0;
  double sm_max_threads = 0;
  double sm_max_blocks = 0;
  double sm_shared_bytes = 0;
  double sm_shared_bytes_per_block = 0;
  double sm_tensor_flops_per_cycle = 0;   // dense, fp16/bf16 in, fp32 accumulated
  double sm_fp32_flops_per_cycle = 0;
  double sm_exps_per_cycle = 0;
  double sm_shared_bytes_per_cycle = 0;
  double sm_l2_bytes_per_cycle = 0;       // the port of one SM, each direction
  double sm_shared_latency_cycles = 0;
  double sm_block_start_cycles = 0;
  double l2_capacity_bytes = 0;
  double l2_partitions = 0;
  double l2_sector_bytes = 0;
  double l2_line_bytes = 0;
  double l2_bytes_per_cycle = 0;          // all SMs together
  double l2_latency_cycles = 0;           // near partition
  double l2_far_latency_cycles = 0;
  double hbm_bytes_per_second = 0;
  double hbm_sustained_fraction = 1;      // of bytes_per_second that a plain copy reaches
  double hbm_capacity_bytes = 0;
  double hbm_latency_cycles = 0;
  double launch_overhead_ns = 0;          // between dependent launches of one stream

  std::map<std::string, Provenance, std::less<>> provenance;  // by key

  Hertz clock() const { return Hertz(sm_clock_hz); }
  BytesPerCycle hbm_rate() const { return BytesPerCycle(hbm_bytes_per_second * hbm_sustained_fraction / sm_clock_hz); }
  bool has_l2() const { return l2_capacity_bytes > 0; }
};

/// One row of the table that the loader, --set, the sliders and the docs read.
struct SpecKey {
  std::string_view key;       // "l2.capacity_bytes"
  double GpuSpec::* member;
  double minimum, maximum;    // what is accepted
  bool whole;                 // a whole number
  std::string_view meaning;   // one sentence, with the unit
};
std::span<const SpecKey> spec_keys();

/// Reads a spec from TOML text. `origin` names it in errors.
/// Errors  not TOML, unknown or missing key, a value out of range, no source.
Result<GpuSpec> parse_gpu_spec(std::string_view toml_text, std::string_view origin);
/// Overrides one value ("l2.capacity_bytes=0"); its provenance becomes `user`.
Status set_spec_value(GpuSpec& spec, std::string_view assignment);

}  // namespace tilescope
