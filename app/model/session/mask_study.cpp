// Makes pictures of masks, counts their blocks, and finds who visits a tile.
#include "app/model/session/mask_study.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "app/model/background/slots.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

using namespace std::chrono_literals;

/// A picture under way may still finish this long after a slider moved on.
constexpr auto edit_grace = 200ms;
constexpr std::int64_t most_elements_shown = std::int64_t{1} << 19;

/// The choice with a condition in it, so that the causal mask and none are expressions too.
MaskChoice with_condition(MaskChoice choice) {
  choice.masks.emplace_back("true");
  return choice;
}

TileRange cut(std::int64_t first, std::int64_t end, std::int64_t size, std::int64_t length) {
  return {first * size, std::min(end * size, length) - first * size};
}

Worker::Deliver nothing() {
  return {};
}

/// Whether a choice hides every key of a plane.
bool hides_all(MaskChoice choice, const TableList& tables, const MaskPicture& picture, const MaskScope& scope) {
  AttentionProblem problem = picture.problem;
  problem.mask = nullptr;
  problem.causal = false;
  choice.tables = tables;
  if (!settle_masks(choice, problem, scope) || problem.mask == nullptr) return false;
  bool all = true;
  problem.mask->walk(problem, picture.plane, picture.block,
                     [&](const TileBox& box) { all = all && box.visibility == TileVisibility::empty; });
  return all;
}

/// The texts of the choice that hide every key by themselves.
std::vector<std::string> never_true(const MaskChoice& choice, const MaskPicture& picture, const MaskScope& scope) {
  std::vector<std::string> found;
  for (auto member : {&MaskChoice::masks, &MaskChoice::presets})
    for (const std::string& text : choice.*member) {
      MaskChoice one;
      (one.*member).push_back(text);
      if (hides_all(std::move(one), choice.tables, picture, scope)) found.push_back(text);
    }
  return found;
}

}  // namespace

int depth_of(const MaskPicture& picture, const TileBox& box) {
  const auto halvings = [](std::int64_t whole, std::int64_t part) {
    return static_cast<int>(
               std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, whole / std::max<std::int64_t>(1, part))))) -
           1;
  };
  return std::max(halvings(picture.rows, box.end_row - box.first_row), halvings(picture.cols, box.end_col - box.first_col));
}

Result<std::shared_ptr<const MaskPicture>> make_mask_picture(const MaskChoice& choice, AttentionProblem problem,
                                                             const TileShape& tile, std::int64_t plane,
                                                             const std::function<bool()>& go_on) {
  auto picture = std::make_shared<MaskPicture>();
  if (const Status good = check(problem); !good) return good.error();
  if (const Status good = check(tile); !good) return good.error();
  picture->masked = problem.has_mask();
  MaskScope scope;
  if (problem.mask == nullptr) {
    scope.plane = std::clamp<std::int64_t>(plane, 0, problem.query_planes() - 1);
    scope.go_on = go_on;
    if (const Status settled = settle_masks(choice, problem, scope); !settled) return settled.error();
    picture->masked = problem.has_mask();
    if (problem.mask == nullptr)
      if (const Status settled = settle_masks(with_condition({}), problem, scope); !settled) return settled.error();
  }
  picture->problem = std::move(problem);
  const AttentionProblem& p = picture->problem;
  picture->tile = tile;
  picture->block = mask_block_of(p, tile);
  picture->plane = std::clamp<std::int64_t>(plane, 0, p.query_planes() - 1);
  picture->rows = ceil_div(p.seq_q, picture->block.block_q);
  picture->cols = ceil_div(p.seq_kv, picture->block.block_kv);
  p.mask->walk(p, picture->plane, picture->block, [&](const TileBox& box) {
    picture->boxes.push_back(box);
    (box.visibility == TileVisibility::empty  ? picture->empty
     : box.visibility == TileVisibility::full ? picture->full
                                              : picture->partial) += box.tiles();
    (box.by_analysis ? picture->by_analysis : picture->by_evaluation) += box.tiles();
  });
  if (picture->masked && picture->empty == picture->blocks()) picture->never = never_true(choice, *picture, scope);
  return std::shared_ptr<const MaskPicture>(std::move(picture));
}

std::optional<MaskTotals> count_mask(const std::shared_ptr<const MaskPicture>& picture, const MaskChoice& choice,
                                     const std::function<bool()>& go_on) {
  AttentionProblem problem = picture->problem;
  problem.mask = nullptr;
  // The picture's own mask was looked at in one plane alone.
  MaskScope scope;
  scope.go_on = go_on;
  if (const Status settled = settle_masks(with_condition(choice), problem, scope); !settled) {
    if (settled.error().kind == Error::Kind::cancelled) return std::nullopt;
    problem.mask = picture->problem.mask;
  }
  if (problem.mask == nullptr) problem.mask = picture->problem.mask;
  const Mask& mask = *problem.mask;
  const TileShape block = picture->block, tile = picture->tile;
  const MaskPlanes by = mask.planes();
  const std::int64_t batches = by.by_batch ? problem.batch : 1, heads = by.by_head ? problem.heads : 1;
  const std::int64_t copies = problem.query_planes() / (batches * heads);
  MaskTotals totals;
  totals.of = picture;
  bool stopped = false;
  std::int64_t visited = 0, visited_tile_keys = 0;  // elements of the blocks that are visited; keys, once for each query tile
  std::vector<std::pair<TileRange, TileRange>> partial;
  for (std::int64_t b = 0; b < batches && !stopped; ++b)
    for (std::int64_t h = 0; h < heads && !stopped; ++h) {
      const std::int64_t plane = b * problem.heads + h;
      partial.clear();
      mask.walk(problem, plane, block, [&](const TileBox& box) {
        (box.by_analysis ? totals.by_analysis : totals.by_evaluation) += box.tiles();
        if (box.visibility == TileVisibility::empty) {
          totals.empty += box.tiles();
          return;
        }
        const TileRange queries = cut(box.first_row, box.end_row, block.block_q, problem.seq_q);
        const TileRange keys = cut(box.first_col, box.end_col, block.block_kv, problem.seq_kv);
        visited += queries.count * keys.count;
        visited_tile_keys += ceil_div(queries.count, tile.block_q) * keys.count;
        if (box.visibility == TileVisibility::full) {
          totals.full += box.tiles();
          totals.visible += queries.count * keys.count;
        } else {
          totals.partial += box.tiles();
          partial.emplace_back(queries, keys);
        }
      });
      for (std::size_t i = 0; i < partial.size() && !stopped; ++i) {
        totals.visible += mask.count_visible(plane, partial[i].first, partial[i].second);
        stopped = i % 16 == 0 && go_on && !go_on();
      }
    }
  if (stopped) return std::nullopt;
  for (std::int64_t* count : {&totals.empty, &totals.partial, &totals.full, &totals.by_analysis, &totals.by_evaluation,
                              &totals.visible, &visited, &visited_tile_keys})
    *count *= copies;
  const std::int64_t planes = problem.query_planes(), key_bytes = 2 * problem.head_dim * element_bytes(problem.dtype);
  totals.elements = planes * problem.seq_q * problem.seq_kv;
  totals.products = 4 * problem.head_dim * visited;
  totals.dense_products = 4 * problem.head_dim * totals.elements;
  totals.kv_bytes = key_bytes * visited_tile_keys;
  totals.dense_kv_bytes = key_bytes * planes * ceil_div(problem.seq_q, tile.block_q) * problem.seq_kv;
  return totals;
}

std::optional<TileVisit> find_visit(const Simulation& simulation, int focus_sm, const AskVisit& asked) {
  const AttentionProblem& problem = simulation.request.problem;
  const TileProgram& program = *simulation.program;
  const auto inside = [](std::int64_t at, std::int64_t count) { return at >= 0 && at < count; };
  if (!inside(asked.plane, problem.query_planes()) || !inside(asked.query, problem.seq_q) || !inside(asked.key, problem.seq_kv))
    return std::nullopt;  // asked of an earlier problem
  const std::int64_t query_tile = asked.query / program.tile().block_q;
  const std::int64_t query_tiles = ceil_div(problem.seq_q, program.tile().block_q);
  BlockOperations operations;
  for (std::size_t launch = 0; launch < program.launches().size(); ++launch) {
    const LaunchSpec& spec = program.launches()[launch];
    if (spec.grid_x != query_tiles || spec.blocks() != query_tiles * problem.query_planes()) continue;
    const std::int64_t block = spec.in_order_of_rows(asked.plane * query_tiles + query_tile);
    program.emit_block(static_cast<int>(launch), block, operations);
    if (operations.domain.axis != Axis::query || operations.domain.first > asked.query || operations.domain.end() <= asked.query)
      continue;
    TileVisit visit;
    visit.launch = static_cast<int>(launch);
    visit.block = block;
    for (std::size_t i = 0; i < operations.operations.size() && visit.op < 0; ++i) {
      const Operation& op = operations.operations[i];
      if (op.kind == OpKind::load && op.tile.tensor.means(Meaning::key) && op.tile.row <= asked.key &&
          asked.key < op.tile.row + op.tile.rows)
        visit.op = static_cast<int>(i);
    }
    const Trace& trace = *simulation.trace;
    const auto runs = trace.runs();
    const auto run = std::find_if(runs.begin(), runs.end(),
                                  [&](const BlockRun& r) { return r.launch == visit.launch && r.block == visit.block; });
    if (run == runs.end()) return std::nullopt;
    visit.sm = run->sm;
    visit.slot = run->slot;
    visit.start = run->start;
    visit.end = run->end;
    const auto focused = trace.focused_sms();
    if (visit.op >= 0 && run->sm == focus_sm && std::find(focused.begin(), focused.end(), focus_sm) != focused.end()) {
      const auto intervals = trace.intervals(focus_sm);
      const auto from = std::lower_bound(intervals.begin(), intervals.end(), run->start,
                                         [](const Interval& interval, double at) { return interval.start < at; });
      for (auto at = from; at != intervals.end() && at->start <= run->end; ++at)
        if (at->run == static_cast<std::int32_t>(run - runs.begin()) && at->op == visit.op) {
          visit.step = trace.step_of_interval(focus_sm, static_cast<std::size_t>(at - intervals.begin()));
          break;
        }
    }
    return visit;
  }
  return std::nullopt;
}

bool can_compare_masks(const SimulationRequest& asked, const Simulation& other) {
  const AttentionProblem &a = asked.problem, &b = other.request.problem;
  if (a.batch != b.batch || a.heads != b.heads || a.seq_q != b.seq_q || a.seq_kv != b.seq_kv) return false;
  const auto mask_of = [](MaskChoice choice) {
    choice.score.clear();
    choice.table_gradients.clear();
    return choice;
  };
  return a.causal != b.causal || !(mask_of(asked.masking) == mask_of(other.request.masking));
}

std::shared_ptr<const MaskDifference> compare_masks(const std::shared_ptr<const MaskPicture>& picture,
                                                    const std::shared_ptr<const Simulation>& other,
                                                    const std::function<bool()>& go_on) {
  constexpr std::int64_t most_looked_at = std::int64_t{1} << 26;
  AttentionProblem problem = other->request.problem;
  problem.score_change = nullptr;
  problem.mask_block = picture->problem.mask_block;
  const auto there = make_mask_picture(other->request.masking, problem, picture->tile, picture->plane, go_on);
  if (!there || (*there)->rows != picture->rows || (*there)->cols != picture->cols) return nullptr;
  auto difference = std::make_shared<MaskDifference>();
  difference->of = picture;
  difference->other = other;
  difference->there = *there;
  const auto grid_of = [](const MaskPicture& of) {
    std::vector<TileVisibility> grid(static_cast<std::size_t>(of.rows * of.cols));
    for (const TileBox& box : of.boxes)
      for (std::int64_t row = box.first_row; row < box.end_row; ++row)
        for (std::int64_t col = box.first_col; col < box.end_col; ++col)
          grid[static_cast<std::size_t>(row * of.cols + col)] = box.visibility;
    return grid;
  };
  const std::vector<TileVisibility> ours = grid_of(*picture), theirs = grid_of(**there);
  const AttentionProblem& p = picture->problem;
  std::int64_t looked_at = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i] && ours[i] != TileVisibility::partial) continue;
    if (i % 16 == 0 && go_on && !go_on()) return nullptr;
    MaskDifference::Block block{static_cast<std::int64_t>(i) / picture->cols, static_cast<std::int64_t>(i) % picture->cols};
    const TileRange queries = cut(block.row, block.row + 1, picture->block.block_q, p.seq_q),
                    keys = cut(block.col, block.col + 1, picture->block.block_kv, p.seq_kv);
    looked_at += queries.count * keys.count;
    if (looked_at > most_looked_at) return nullptr;
    for (std::int64_t q = queries.first; q < queries.end(); ++q)
      for (std::int64_t kv = keys.first; kv < keys.end(); ++kv) {
        const bool here = p.mask->visible(picture->plane, q, kv), also = (*there)->problem.mask->visible(picture->plane, q, kv);
        block.here += here && !also ? 1 : 0;
        block.there += also && !here ? 1 : 0;
      }
    if (block.here + block.there == 0) continue;
    difference->only_here += block.here;
    difference->only_there += block.there;
    difference->blocks.push_back(block);
  }
  return difference;
}

void MaskStudy::ask(const SimulationRequest& asked, std::shared_ptr<const Simulation> other) {
  Key key;
  key.choice = asked.masking;
  key.choice.score.clear();  // changes numbers, no block
  key.problem = asked.problem;
  key.problem.score_change = nullptr;
  const std::optional<ProgramTile> tile = chosen_tile(asked);
  key.tile = tile ? TileShape(*tile) : TileShape();
  key.plane = std::clamp<std::int64_t>(at_.plane, 0, std::max<std::int64_t>(1, asked.problem.query_planes()) - 1);
  if (asked_ != key) {
    asked_ = key;
    working_ = true;
    worker_.submit(
        Queue::quick, slots::mask_picture, WorkKind::unnamed,
        [this, key](const Progress& progress) -> Worker::Deliver {
          auto made = make_mask_picture(key.choice, key.problem, key.tile, key.plane, [&] { return progress(0); });
          if (!made && made.error().kind == Error::Kind::cancelled) return nothing();
          std::shared_ptr<const MaskPicture> picture = made ? *made : nullptr;
          std::optional<Error> fault = made ? std::nullopt : std::optional(made.error());
          return [this, key, picture, fault] {
            if (picture) picture_ = picture;
            if (asked_ != key) return;
            working_ = false;
            fault_ = fault;
          };
        },
        edit_grace);
  }
  ask_difference(std::move(other));
  ask_elements();
  ask_totals();
}

void MaskStudy::ask_difference(std::shared_ptr<const Simulation> other) {
  if (other == nullptr) {
    difference_ = nullptr;
    difference_other_ = nullptr;
    return;
  }
  if (picture_ == nullptr || working_ || (difference_asked_ == picture_.get() && difference_other_ == other.get())) return;
  if (difference_other_ != other.get()) difference_ = nullptr;
  difference_asked_ = picture_.get();
  difference_other_ = other.get();
  worker_.submit(Queue::background, slots::mask_difference, WorkKind::unnamed,
                 [this, picture = picture_, other = std::move(other)](const Progress& progress) -> Worker::Deliver {
                   auto found = compare_masks(picture, other, [&] { return progress(0); });
                   return [this, found, of = other.get()] {
                     if (difference_other_ == of) difference_ = found;
                   };
                 });
}

/// The elements are counted when nothing else is to be done.
void MaskStudy::ask_totals() {
  if (picture_ == nullptr || working_ || totals_asked_ == picture_.get()) return;
  totals_asked_ = picture_.get();
  worker_.submit(Queue::background, slots::mask_totals, WorkKind::unnamed,
                 [this, picture = picture_, choice = asked_->choice](const Progress& progress) -> Worker::Deliver {
                   auto counted = count_mask(picture, choice, [&] { return progress(0); });
                   if (!counted)
                     return [this, of = picture.get()] {
                       if (totals_asked_ == of) totals_asked_ = nullptr;
                     };
                   return [this, totals = std::make_shared<const MaskTotals>(std::move(*counted))] { totals_ = totals; };
                 });
}

void MaskStudy::ask_elements() {
  if (picture_ == nullptr || at_.queries.count <= 0 || at_.keys.count <= 0) return;
  const auto there = difference_ != nullptr && difference_->of == picture_ ? difference_->there : nullptr;
  if (elements_asked_ == picture_.get() && elements_there_ == there.get() && elements_queries_ == at_.queries &&
      elements_keys_ == at_.keys)
    return;
  const AttentionProblem& p = picture_->problem;
  const auto inside = [](TileRange range, std::int64_t length) {
    const std::int64_t first = std::clamp<std::int64_t>(range.first, 0, length);
    return TileRange{first, std::clamp<std::int64_t>(range.end(), first, length) - first};
  };
  const TileRange queries = inside(at_.queries, p.seq_q), keys = inside(at_.keys, p.seq_kv);
  if (queries.count * keys.count > most_elements_shown || queries.count * keys.count <= 0) return;
  elements_asked_ = picture_.get();
  elements_there_ = there.get();
  elements_queries_ = at_.queries;
  elements_keys_ = at_.keys;
  worker_.submit(
      Queue::quick, slots::mask_elements, WorkKind::unnamed,
      [this, picture = picture_, there, queries, keys](const Progress& progress) -> Worker::Deliver {
        auto found = std::make_shared<MaskElements>();
        found->of = picture;
        found->there = there;
        found->queries = queries;
        found->keys = keys;
        found->visible.reserve(static_cast<std::size_t>(queries.count * keys.count));
        for (std::int64_t q = queries.first; q < queries.end(); ++q) {
          if (!progress(0)) return nothing();
          for (std::int64_t kv = keys.first; kv < keys.end(); ++kv)
            found->visible.push_back(picture->problem.mask->visible(picture->plane, q, kv) ? 1 : 0);
          for (std::int64_t kv = keys.first; there != nullptr && kv < keys.end(); ++kv)
            found->visible_there.push_back(there->problem.mask->visible(picture->plane, q, kv) ? 1 : 0);
        }
        return [this, found] { elements_ = found; };
      },
      edit_grace);
}

void MaskStudy::look(const LookAtMask& at) {
  at_ = at;
}

void MaskStudy::set_visit(const AskVisit& asked, std::optional<TileVisit> visit) {
  visit_asked_ = asked;
  visit_ = visit;
}

MaskView MaskStudy::view() const {
  MaskView view;
  view.picture = picture_;
  view.totals = totals_;
  view.elements = elements_;
  view.difference = difference_ != nullptr && difference_->of == picture_ ? difference_ : nullptr;
  view.working = working_;
  view.fault = fault_;
  view.visit_asked = visit_asked_;
  view.visit = visit_;
  return view;
}

}  // namespace tilescope
