// Turns counts of operations and busy cycles into shares of the run's time.
#include "sim/engine/busy_shares.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope {

namespace {

/// Adds the work of the operations to the launches: how busy an SM's own pipes and shared memory are while it has a block.
void add_operations(std::vector<LaunchResult>& launches, const std::vector<OpClass>& classes) {
  for (const OpClass& c : classes) {
    LaunchResult& launch = launches[c.launch];
    if (launch.sm_cycles <= 0) continue;
    const double share = static_cast<double>(c.count) / launch.sm_cycles;  // the SMs with a block are averaged
    const auto add = [&](Bound bound, double work) { launch.utilisation[static_cast<std::size_t>(bound)] += work * share; };
    const auto work = [&](Pipe pipe) { return c.work[static_cast<std::size_t>(pipe)]; };
    add(Bound::smem, c.bank_cycles);
    add(Bound::tensor, work(Pipe::tensor));
    add(Bound::exp, work(Pipe::exp));
    add(Bound::fp32, work(Pipe::fp32));
  }
}

/// Returns the use of the L2 during the run. `ports`: busy share of the SMs' ports.
L2Use l2_use_of(const Simulation& simulation, const MemorySystem& memory, double ports) {
  const double cycles = simulation.cycles.value;
  const GpuSpec& gpu = simulation.request.gpu;
  const auto read = static_cast<double>(simulation.ledger.total(Link::l2_to_sm).value);
  const double whole = gpu.has_l2() && gpu.l2_bytes_per_cycle > 0 ? read / gpu.l2_bytes_per_cycle : 0;
  return {Bytes(std::llround(memory.l2_looked_up_bytes())), memory.l2_busy_cycles() / cycles,
          std::max(whole, memory.l2_write_busy_cycles()) / cycles, ports};
}

}  // namespace

SmUse use_of_sms(const Simulation& simulation) {
  SmUse use{static_cast<int>(simulation.request.gpu.sm_count)};
  double all_cycles = 0, with_block = 0;
  for (const LaunchResult& launch : simulation.launches) {
    use.with_blocks = std::max(use.with_blocks, launch.sms);
    all_cycles += launch.cycles.value * use.all;
    with_block += launch.sm_cycles;
  }
  use.idle = all_cycles > 0 ? std::max(0.0, 1 - with_block / all_cycles) : 0;
  return use;
}

void find_bound(Simulation& simulation, const std::vector<OpClass>& classes, const MemorySystem& memory, double end,
                const std::vector<double>& port_cycles) {
  const double cycles = simulation.cycles.value;
  if (cycles <= 0) return;
  add_operations(simulation.launches, classes);
  std::array<double, bound_count>& use = simulation.utilisation;
  double ports = 0;
  for (std::size_t i = 0; i < simulation.launches.size(); ++i) {
    LaunchResult& launch = simulation.launches[i];
    const double part = launch.cycles.value / cycles;  // of the run
    for (std::size_t bound = 0; bound < bound_count; ++bound) use[bound] += launch.utilisation[bound] * part;
    if (launch.sm_cycles > 0) ports += port_cycles[i] / launch.sm_cycles * part;
    if (launch.cycles.value <= 0) continue;
    launch.utilisation[static_cast<std::size_t>(Bound::l2)] = launch.l2_busy_cycles / launch.cycles.value;
    launch.utilisation[static_cast<std::size_t>(Bound::hbm)] = launch.hbm_busy_cycles / launch.cycles.value;
  }
  simulation.l2 = l2_use_of(simulation, memory, ports);
  use[static_cast<std::size_t>(Bound::l2)] = std::max(simulation.l2.lookups, simulation.l2.ports);
  use[static_cast<std::size_t>(Bound::hbm)] = memory.hbm_use(end).busy_cycles / cycles;
  const auto most = std::max_element(use.begin(), use.end());
  simulation.bound = *most > 0.5 ? static_cast<Bound>(most - use.begin()) : Bound::latency;
}

}  // namespace tilescope
