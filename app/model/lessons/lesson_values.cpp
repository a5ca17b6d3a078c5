// Parts of names, tiles by name, and results compared bit by bit.
#include "app/model/lessons/lesson_values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/numerics/arrival_order.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// A row or a column of a tile: "r0" or "c3".
struct TileLine {
  bool is_row = true;
  int number = 0;
};

std::optional<TileLine> tile_line(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'r' && text.front() != 'c')) return std::nullopt;
  TileLine line{text.front() == 'r', 0};
  const auto [end, code] = std::from_chars(text.data() + 1, text.data() + text.size(), line.number);
  if (code != std::errc() || end != text.data() + text.size() || line.number < 0) return std::nullopt;
  return line;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('.', from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// Returns the values of the tile with that name. Of several, that is the first that holds something.
Result<std::shared_ptr<const Matrix>> tile_named(const StepValues& at, std::string_view name) {
  const std::vector<ChipTile>& tiles = at.block->operations().tiles;
  std::vector<std::string_view> names;
  bool known = false;
  for (const ChipTile tile : tiles) {
    names.push_back(to_string(tile));
    if (names.back() != name) continue;
    known = true;
    if (std::shared_ptr<const Matrix> values = at.block->value(tile, at.op)) return values;
  }
  if (known) return refuse("{} holds nothing at this step: choose a later one", printable(name));
  return refuse("the block has no tile '{}': {}", printable(name), name_hint(name, names));
}

Result<std::vector<float>> line_of(const StepValues& at, std::string_view tile, std::string_view which) {
  const Result<std::shared_ptr<const Matrix>> found = tile_named(at, tile);
  if (!found) return found.error();
  const Matrix& values = **found;
  const TileLine line = *tile_line(which);
  const int lines = line.is_row ? values.rows : values.cols, length = line.is_row ? values.cols : values.rows;
  if (line.number >= lines) return refuse("{}.{} is not there: the tile is {} x {}", tile, which, values.rows, values.cols);
  std::vector<float> out;
  for (int i = 0; i < length; ++i) out.push_back(line.is_row ? values.at(line.number, i) : values.at(i, line.number));
  return out;
}

}  // namespace

Result<StepValues> values_at(const FigureRun& run) {
  const Simulation& simulation = *run.simulation;
  const TraceState state = simulation.trace->state_at(run.focus_sm, run.step);
  if (state.run < 0) return refuse("a value needs a step: write step= in the link of the scene");
  const BlockRun& block = simulation.trace->runs()[static_cast<std::size_t>(state.run)];
  auto history = run_block(*simulation.program, run.inputs, block.launch, block.block);
  if (!history) return history.error();
  return StepValues{std::move(*history), state.op};
}

Status check_element(std::string_view element) {
  const auto parts = parts_of(element);
  const auto row = parts.size() == 3 ? tile_line(parts[1]) : std::nullopt;
  const auto column = parts.size() == 3 ? tile_line(parts[2]) : std::nullopt;
  if (row && row->is_row && column && !column->is_row) return Done{};
  return refuse("value.{} is no element of a tile: write value.P.r0.c0", printable(element));
}

Status check_product(std::string_view product) {
  const auto parts = parts_of(product);
  if (parts.size() == 4 && tile_line(parts[1]) && tile_line(parts[3])) return Done{};
  return refuse("dot.{} has no two lines of tiles: write dot.dO.r0.O.r0", printable(product));
}

Result<double> element_of(const StepValues& values, std::string_view element) {
  if (const Status fine = check_element(element); !fine) return fine.error();
  const auto parts = parts_of(element);
  const Result<std::vector<float>> row = line_of(values, parts[0], parts[1]);
  if (!row) return row.error();
  const auto column = static_cast<std::size_t>(tile_line(parts[2])->number);
  if (column < row->size()) return static_cast<double>((*row)[column]);
  return refuse("value.{} is not there: the tile has {} columns", printable(element), row->size());
}

Result<double> product_of(const StepValues& values, std::string_view product) {
  if (const Status fine = check_product(product); !fine) return fine.error();
  const auto parts = parts_of(product);
  const Result<std::vector<float>> first = line_of(values, parts[0], parts[1]), second = line_of(values, parts[2], parts[3]);
  if (!first) return first.error();
  if (!second) return second.error();
  if (first->size() != second->size())
    return refuse("dot.{} has lines of {} and {} elements", printable(product), first->size(), second->size());
  double sum = 0;
  for (std::size_t i = 0; i < first->size(); ++i) sum += static_cast<double>((*first)[i]) * static_cast<double>((*second)[i]);
  return sum;
}

Result<std::vector<Matrix>> results_of(const FigureRun& run, std::string_view tensor) {
  const TileProgram& program = *run.simulation->program;
  const std::span<const Tensor> outputs = program.outputs();
  const auto found = std::ranges::find_if(outputs, [&](Tensor each) { return to_string(each) == tensor; });
  if (found == outputs.end()) {
    std::vector<std::string_view> names;
    for (const Tensor each : outputs) names.push_back(to_string(each));
    return refuse("{} leaves no '{}': {}", run.simulation->request.algorithm, printable(tensor), name_hint(tensor, names));
  }
  constexpr std::int64_t most_flops = std::int64_t{1} << 28;
  if (run.simulation->flops > most_flops) return refuse("the run is too large to compare its results: use a smaller problem");
  const Result<FinishedRun> finished = run_as_simulated(*run.simulation, run.inputs);
  if (!finished) return finished.error();
  std::vector<Matrix> planes;
  const std::int64_t count = tensor_layout(program.problem(), program.tile(), *found).planes;
  for (std::int64_t plane = 0; plane < count; ++plane) planes.push_back(finished->plane(plane, *found));
  return planes;
}

bool have_other_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
}

Difference difference_of(std::span<const Matrix> first, std::span<const Matrix> second) {
  Difference out;
  for (std::size_t plane = 0; plane < first.size(); ++plane) {
    const Matrix &a = first[plane], &b = second[plane];
    out.all += static_cast<std::int64_t>(a.values.size());
    out.all_rows += a.rows;
    for (int row = 0; row < a.rows; ++row) {
      const std::int64_t before = out.elements;
      for (int col = 0; col < a.cols; ++col) {
        const float one = a.at(row, col), other = b.at(row, col);
        out.elements += have_other_bits(one, other) ? 1 : 0;
        out.largest = std::max(out.largest, std::fabs(static_cast<double>(one) - static_cast<double>(other)));
      }
      out.rows += out.elements > before ? 1 : 0;
    }
  }
  return out;
}

Result<Difference> difference_of(const FigureRun& first, const FigureRun& second, std::string_view tensor) {
  const Result<std::vector<Matrix>> a = results_of(first, tensor), b = results_of(second, tensor);
  if (!a) return a.error();
  if (!b) return b.error();
  if (a->size() != b->size()) return refuse("two runs have other planes of {}", printable(tensor));
  for (std::size_t plane = 0; plane < a->size(); ++plane)
    if ((*a)[plane].rows != (*b)[plane].rows || (*a)[plane].cols != (*b)[plane].cols)
      return refuse("two runs have other sizes of {}", printable(tensor));
  return difference_of(*a, *b);
}

}  // namespace tilescope
