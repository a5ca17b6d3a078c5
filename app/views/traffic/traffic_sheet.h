// TrafficSheet: the figures of the traffic panel — bytes by tensor on one link as formula, so far and whole run — and the rivals'
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/model/state/link_choice.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// What the formula column holds for a row.
enum class FormulaKind : std::uint8_t { none, exact, at_least };

struct TrafficRow {
  Tensor tensor;
  FormulaKind kind = FormulaKind::none;
  std::int64_t formula = 0;
  std::string formula_text;  // "B·Hq·⌈N/Br⌉·Nk·d·e"
  std::int64_t so_far = 0, whole = 0;
  std::int64_t of_sms = 0;             // of HBM: what SMs read or wrote of the tensor in the whole run
  std::int64_t dirty = 0;              // of HBM writes: what of it is still in the L2 at the end
  std::optional<std::int64_t> pinned;  // of the whole run that is pinned and compared with this one
  bool agrees() const { return kind == FormulaKind::exact ? formula == whole : kind == FormulaKind::none || formula <= whole; }
};

struct TrafficSheet {
  std::vector<TrafficRow> rows;  // the tensors of the program, in the order Q K V S P O L m l
  TrafficRow total;
};

/// `form` is the program's closed form, if it has one for this shape.
/// `pinned`, where it is not null, is another run: a tensor that only it moves has a row too.
/// On HBM the formula is what must cross at least once; without an L2 it is the closed form itself.
TrafficSheet traffic_sheet(const Simulation& simulation, const std::optional<ClosedForm>& form, const TrafficTable& so_far,
                           LinkChoice choice, const Simulation* pinned = nullptr);

/// A program of the family, and what it moves for the same problem: with its own default tile, or with the run's where that is
/// another than the default of the run's program.
struct Rival {
  std::string id, title, order;
  TileShape tile;
  std::int64_t bytes = 0;  // over the chosen link
  std::vector<std::pair<Tensor, std::int64_t>> by_tensor;
  bool current = false;
  bool default_tile = false;  // the tile is the program's own default
};
/// The program itself first, from its ledger; then the others by their closed forms, which know the links of the SMs only. Programs
/// without one for this shape, or that cannot take the problem, are left out.
std::vector<Rival> find_rivals(const Simulation& simulation, LinkChoice choice);

/// Why there are no others, in a sentence and in short; both empty where that is not for want of closed forms.
struct NoRivals {
  std::string sentence, brief;
};
NoRivals no_rivals(const Simulation& simulation, LinkChoice choice);

}  // namespace tilescope
