// MaskStudy: what the Mask view shows of the mask that the controls ask for, worked out off the frame.
//
//   requested ──ask()──► boxes of one plane (quick) ──► totals of all planes (background) ──► view()
//
// The picture follows the controls, not the simulation: a mask of 131,072 queries takes milliseconds, its simulation does not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/background/worker.h"
#include "app/model/state/commands.h"
#include "sim/core/mask.h"
#include "sim/masks/block_mask.h"

namespace tilescope {

/// The blocks of one plane: rectangles of alike blocks, as they were decided.
struct MaskPicture {
  AttentionProblem problem;  // with its mask, without its change of scores
  bool masked = false;       // false: every key is visible
  TileShape block, tile;
  std::int64_t plane = 0;
  std::int64_t rows = 0, cols = 0;  // blocks
  std::vector<TileBox> boxes;       // cover every block once
  std::int64_t empty = 0, partial = 0, full = 0;
  std::int64_t by_analysis = 0, by_evaluation = 0;
  std::vector<std::string> never;  // conditions and presets of the choice that hide every key by themselves

  std::int64_t blocks() const { return rows * cols; }
  /// Lists of flex may have blocks of several tiles.
  bool blocks_are_tiles() const { return block == tile; }
};

/// Returns how often the plane was halved until a box was decided.
int depth_of(const MaskPicture& picture, const TileBox& box);

/// Over all planes, and against the same loop without a mask.
struct MaskTotals {
  std::shared_ptr<const MaskPicture> of;
  std::int64_t empty = 0, partial = 0, full = 0;
  std::int64_t blocks() const { return empty + partial + full; }
  std::int64_t by_analysis = 0, by_evaluation = 0;  // the same blocks, by who decided
  std::int64_t visible = 0, elements = 0;           // of the score matrices
  std::int64_t products = 0, dense_products = 0;    // multiplications and additions
  std::int64_t kv_bytes = 0, dense_kv_bytes = 0;    // K and V from the L2 to the SMs
};

/// Where the mask of the controls and that of another run of equal lengths differ, in the plane of the picture.
struct MaskDifference {
  std::shared_ptr<const MaskPicture> of;
  std::shared_ptr<const Simulation> other;   // the run that has the other mask
  std::shared_ptr<const MaskPicture> there;  // of its mask, in the blocks of `of`
  /// Elements of a block that one of the two masks alone leaves visible.
  struct Block {
    std::int64_t row = 0, col = 0, here = 0, there = 0;
  };
  std::vector<Block> blocks;  // those with such elements
  std::int64_t only_here = 0, only_there = 0;
};

/// The elements of a rectangle, row by row.
struct MaskElements {
  std::shared_ptr<const MaskPicture> of, there;  // `there`: the other mask that they are compared with; may be null
  TileRange queries, keys;
  std::vector<std::uint8_t> visible, visible_there;  // 0 or 1; the second empty without another mask

  bool at(std::int64_t query, std::int64_t key) const { return visible[index(query, key)] != 0; }
  bool at_there(std::int64_t query, std::int64_t key) const { return visible_there[index(query, key)] != 0; }

 private:
  std::size_t index(std::int64_t query, std::int64_t key) const {
    return static_cast<std::size_t>((query - queries.first) * keys.count + key - keys.first);
  }
};

/// Who visits a tile of the simulation on screen.
struct TileVisit {
  int launch = 0, sm = 0, slot = 0;
  std::int64_t block = 0;
  double start = 0, end = 0;         // of the block, in cycles
  int op = -1;                       // that loads the tile of K; -1: the tile is not visited
  std::optional<std::int64_t> step;  // of that operation, where the SM is in focus
};

struct MaskView {
  std::shared_ptr<const MaskPicture> picture;        // null until the view was opened
  std::shared_ptr<const MaskTotals> totals;          // of another picture while they are counted
  std::shared_ptr<const MaskElements> elements;      // of another picture while they are looked at
  std::shared_ptr<const MaskDifference> difference;  // null without another mask, and while the two are compared
  bool working = false;
  std::optional<Error> fault;  // of what is asked for: the picture is the last good one then
  std::optional<AskVisit> visit_asked;
  std::optional<TileVisit> visit;  // of what was asked for; absent where no block of a trace has it
};

class MaskStudy {
 public:
  explicit MaskStudy(Worker& worker) : worker_(worker) {}

  /// Sees to it that the plane looked at is there or under way. `other`: the run whose mask is compared with it; may be null.
  void ask(const SimulationRequest& asked, std::shared_ptr<const Simulation> other = nullptr);
  void look(const LookAtMask& at);
  void set_visit(const AskVisit& asked, std::optional<TileVisit> visit);
  MaskView view() const;

 private:
  struct Key {
    MaskChoice choice;
    AttentionProblem problem;
    TileShape tile;
    std::int64_t plane = 0;
    bool operator==(const Key&) const = default;
  };
  void ask_totals();
  void ask_difference(std::shared_ptr<const Simulation> other);
  void ask_elements();

  Worker& worker_;
  LookAtMask at_;
  std::optional<Key> asked_;
  std::shared_ptr<const MaskPicture> picture_;
  std::shared_ptr<const MaskTotals> totals_;
  std::shared_ptr<const MaskElements> elements_;
  std::shared_ptr<const MaskDifference> difference_;
  const void *totals_asked_ = nullptr, *elements_asked_ = nullptr, *elements_there_ = nullptr;
  const void *difference_asked_ = nullptr, *difference_other_ = nullptr;  // the picture, and the run
  TileRange elements_queries_, elements_keys_;
  bool working_ = false;
  std::optional<Error> fault_;
  std::optional<AskVisit> visit_asked_;
  std::optional<TileVisit> visit_;
};

/// Makes the picture of a plane. Errors  those of settle_masks()
Result<std::shared_ptr<const MaskPicture>> make_mask_picture(const MaskChoice& choice, AttentionProblem problem,
                                                             const TileShape& tile, std::int64_t plane,
                                                             const std::function<bool()>& go_on = {});
/// nullopt: cancelled.
std::optional<MaskTotals> count_mask(const std::shared_ptr<const MaskPicture>& picture, const MaskChoice& choice,
                                     const std::function<bool()>& go_on = {});
/// Whether another run has a mask that can be compared with that of a request: of equal lengths and heads, and not the same.
bool can_compare_masks(const SimulationRequest& asked, const Simulation& other);
/// Compares the mask of a picture with that of another run. Returns null where it was cancelled, where the masks are too large to
/// look at every element that may differ, or where the other mask cannot be made.
std::shared_ptr<const MaskDifference> compare_masks(const std::shared_ptr<const MaskPicture>& picture,
                                                    const std::shared_ptr<const Simulation>& other,
                                                    const std::function<bool()>& go_on = {});
/// Returns where the tile of a query and a key is loaded in a simulation of attention whose blocks own query tiles.
std::optional<TileVisit> find_visit(const Simulation& simulation, int focus_sm, const AskVisit& asked);

}  // namespace tilescope
