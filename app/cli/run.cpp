// `tilescope run`.
#include "app/cli/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/request.h"
#include "app/cli/text_table.h"
#include "app/model/run_data/tensor_run.h"
#include "app/platform/files.h"
#include "sim/core/element.h"
#include "sim/core/npy.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t most_shown = 100;

/// A tensor that was given as a file.
struct GivenTensor {
  std::string_view flag;
  std::string file;
  NpyArray array;
};

/// A number that files and flags must agree on, and who said it first.
class AgreedNumber {
 public:
  void flag(std::string_view name, std::optional<std::int64_t> value) {
    if (value) value_ = *value, giver_ = name;
  }
  Status take(const GivenTensor& tensor, std::size_t axis, std::string_view what) {
    const std::int64_t value = tensor.array.shape[axis];
    if (value_ && *value_ != value)
      return Error{fmt::format("{} {} is {}: it has {} {}, but {} has {}; make them agree", tensor.flag,
                               printable(tensor.file, most_shown), shape_text(tensor.array.shape), value, what, giver_, *value_)};
    if (!value_) giver_ = fmt::format("{} {}", tensor.flag, printable(tensor.file, most_shown));
    value_ = value;
    return Done{};
  }
  std::int64_t value() const { return *value_; }

 private:
  std::optional<std::int64_t> value_;
  std::string giver_;
};

Result<GivenTensor> read_tensor(std::string_view flag, const std::string& file) {
  constexpr std::size_t dimensions = 4;
  const auto start = read_file_start(file, longest_npy_header);
  if (!start) return start.error();
  if (const auto header = check_npy_floats(start->bytes, start->whole, file, dimensions); !header)
    return refuse("{}: {}", flag, header.error().sentence);
  const auto bytes = read_binary_file(file);
  if (!bytes) return bytes.error();
  auto array = parse_npy_floats(*bytes, file, dimensions);
  if (!array) return refuse("{}: {}", flag, array.error().sentence);
  return GivenTensor{flag, file, std::move(*array)};
}

/// Reads the files that were named; the first is Q.
Result<std::vector<GivenTensor>> read_tensors(const CommandLine& line) {
  std::vector<GivenTensor> tensors;
  for (const auto& [flag, file] : {std::pair<std::string_view, const std::string&>{"--q", line.q_file},
                                   {"--k", line.k_file},
                                   {"--v", line.v_file},
                                   {"--do", line.do_file}}) {
    if (file.empty()) continue;
    auto tensor = read_tensor(flag, file);
    if (!tensor) return tensor.error();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

const GivenTensor* find(const std::vector<GivenTensor>& tensors, std::string_view flag) {
  const auto found = std::ranges::find(tensors, flag, &GivenTensor::flag);
  return found == tensors.end() ? nullptr : &*found;
}

/// Returns the command line with the sizes of the files.
Result<CommandLine> sized(const CommandLine& line, const std::vector<GivenTensor>& tensors) {
  AgreedNumber batch, heads, kv_heads, seq, seq_kv, head_dim;
  const auto given = [&](const char* flag, std::int64_t value) {
    return line.given.contains(flag) || line.base ? std::optional(value) : std::nullopt;
  };
  batch.flag("--batch", given("--batch", line.batch));
  heads.flag("--heads", given("--heads", line.heads));
  kv_heads.flag("--kv-heads", line.kv_heads);
  seq.flag("--seq", line.seq);
  seq_kv.flag("--seq-kv", line.seq_kv);
  head_dim.flag("--head-dim", line.head_dim);
  for (const GivenTensor& tensor : tensors) {
    const bool query_side = tensor.flag == "--q" || tensor.flag == "--do";
    if (const Status took = batch.take(tensor, 0, "batches"); !took) return took.error();
    if (const Status took = (query_side ? heads : kv_heads).take(tensor, 1, "heads"); !took) return took.error();
    if (const Status took = (query_side ? seq : seq_kv).take(tensor, 2, "rows"); !took) return took.error();
    if (const Status took = head_dim.take(tensor, 3, "columns"); !took) return took.error();
  }
  CommandLine result = line;
  result.batch = batch.value();
  result.heads = heads.value();
  result.kv_heads = kv_heads.value();
  result.seq = seq.value();
  result.seq_kv = seq_kv.value();
  result.head_dim = head_dim.value();
  for (std::string* file : {&result.q_file, &result.k_file, &result.v_file}) file->clear();  // they are no CSV of one plane
  if (!line.gpu_given) result.gpu = "h200";                                                  // its tiles are those of the kernels
  return result;
}

/// Returns the type of the problem: that of --dtype, or of the files.
Result<DataType> type_of(const CommandLine& line, const std::vector<GivenTensor>& tensors) {
  const auto name = [](DataType type) { return type == DataType::fp16 ? "float16" : "float32"; };
  const bool given = line.given.contains("--dtype") || line.base;
  for (const GivenTensor& tensor : tensors) {
    const DataType type = tensor.array.type, first = tensors.front().array.type;
    if (given && type == DataType::fp16 && line.dtype != DataType::fp16)
      return Error{fmt::format("{} {} holds float16, but --dtype is {}: save it as float32, or use --dtype fp16", tensor.flag,
                               printable(tensor.file, most_shown), to_string(line.dtype))};
    if (!given && type != first)
      return Error{fmt::format("{} {} holds {}, but {} {} holds {}: save them alike, or round all with --dtype fp16", tensor.flag,
                               printable(tensor.file, most_shown), name(type), tensors.front().flag,
                               printable(tensors.front().file, most_shown), name(first))};
  }
  return given ? line.dtype : tensors.front().array.type;
}

std::shared_ptr<const Matrix> matrix_of(const GivenTensor* tensor) {
  if (tensor == nullptr) return nullptr;
  const auto& shape = tensor->array.shape;
  auto matrix = std::make_shared<Matrix>();
  matrix->rows = static_cast<int>(shape[0] * shape[1] * shape[2]);
  matrix->cols = static_cast<int>(shape[3]);
  matrix->values = tensor->array.values;
  return matrix;
}

/// Which of the files the algorithm reads: each that it reads must be there, and no other.
Status check_files(const TensorRun& run, const CommandLine& line) {
  const auto info = find_program(run.request.algorithm, run.request.problem.pass);
  if (!info) return info.error();
  const auto program = (*info)->make(run.request.problem, chosen_tile(run.request).value_or(ProgramTile()), run.request.gpu);
  if (!program) return program.error();
  const auto inputs = (*program)->inputs();
  const bool reads_values = std::ranges::any_of(inputs, [](Tensor tensor) { return tensor.means(Meaning::value); });
  if (reads_values && line.v_file.empty()) return Error{fmt::format("{} needs --v V.npy", run.request.algorithm)};
  if (!reads_values && !line.v_file.empty()) return Error{fmt::format("{} reads no V: leave --v out", run.request.algorithm)};
  return Done{};
}

/// Says how many values are no finite numbers of a type. They are allowed. `tensor` names them.
std::string note_on(const std::string& tensor, const std::vector<float>& values, DataType type) {
  std::int64_t nans = 0, infinite = 0, too_large = 0;
  for (const float value : values) {
    nans += std::isnan(value);
    infinite += std::isinf(value);
    too_large += std::isfinite(value) && std::isinf(round_to(type, value));
  }
  std::string note;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0) note += fmt::format("{}{} {}", note.empty() ? "" : ", ", count, what);
  };
  add(nans, "NaN");
  add(infinite, "infinite");
  add(too_large, fmt::format("beyond {}, now infinite", to_string(type)));
  if (note.empty()) return note;
  return fmt::format("{}: of {} elements {}\n", tensor, values.size(), note);
}

/// The folder of --out. It is made before the work, so that it can be refused in time, and removed if the work fails.
class OutputFolder {
 public:
  explicit OutputFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ~OutputFolder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove(path_, ignored);  // only if it is empty
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  Status prepare() {
    std::error_code code;
    if (std::filesystem::is_directory(path_, code)) return Done{};
    if (std::filesystem::exists(path_, code))
      return Error{fmt::format("--out {} is a file: name a folder", printable(path_.native(), most_shown))};
    const std::filesystem::path parent = (path_.has_filename() ? path_ : path_.parent_path()).parent_path();
    if (!parent.empty() && !std::filesystem::is_directory(parent, code))
      return Error{fmt::format("--out {}: there is no folder {}; make it first", printable(path_.native(), most_shown),
                               printable(parent.native(), most_shown))};
    made_ = std::filesystem::create_directory(path_, code);
    if (made_) return Done{};
    return Error{fmt::format("--out: cannot make the folder {}: {}", printable(path_.native(), most_shown), code.message())};
  }
  void keep() { made_ = false; }
  std::string file(Tensor tensor) const { return (path_ / fmt::format("{}.npy", to_string(tensor))).native(); }

 private:
  std::filesystem::path path_;
  bool made_ = false;
};

Status check_files_apart(const OutputFolder& folder, const std::vector<Tensor>& left, const std::vector<GivenTensor>& given) {
  for (const Tensor tensor : left) {
    for (const GivenTensor& input : given)
      if (same_file(folder.file(tensor), input.file))
        return Error{fmt::format("--out: {} would overwrite the file that {} reads: name another folder",
                                 printable(folder.file(tensor), most_shown), input.flag)};
    if (Status writable = check_writable(folder.file(tensor)); !writable) return writable;
  }
  return Done{};
}

/// Whether the float64 reference takes a second at most.
bool is_small(const AttentionProblem& p) {
  constexpr double most_products = 1 << 27;
  return static_cast<double>(p.query_planes()) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv) *
             static_cast<double>(p.head_dim) <=
         most_products;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  const auto row = [](const std::vector<float>& values) {
    Matrix matrix;
    matrix.rows = 1;
    matrix.cols = static_cast<int>(values.size());
    matrix.values = values;
    return matrix;
  };
  return relative_error(row(got), row(expected));
}

std::string table_of(const TensorRun& run, const CommandLine& line, const std::vector<LeftTensor>& left, const OutputFolder& folder,
                     bool finite_inputs) {
  const AttentionProblem& p = run.request.problem;
  std::vector<LeftTensor> expected;
  if (finite_inputs && is_small(p))
    if (auto reference = run_reference(run)) expected = std::move(*reference);
  TextTable table("lllrl");
  table.row({"tensor", "shape", "type", "error", "file"});
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool statistic = left[i].tensor->type == DataType::fp32;
    table.row({std::string(to_string(left[i].tensor)), shape_text(left[i].shape),
               p.dtype == DataType::fp16 && !statistic ? "float16" : "float32",
               expected.empty() ? "–" : fmt::format("{:.2g}", relative_error(left[i].values, expected[i].values)),
               printable(folder.file(left[i].tensor), most_shown)});
  }
  return fmt::format("{}, {}, {} on the {}\n\n{}{}", run.request.algorithm, to_string(p.pass), to_string(p.dtype),
                     line.on_cpu ? "tile machine" : "GPU", table.text("  "),
                     expected.empty() ? "" : "\nError: ‖got − float64‖ / ‖float64‖.\n");
}

Result<std::vector<LeftTensor>> left_by(const TensorRun& run, const CommandLine& line, std::FILE* err) {
  if (!line.on_cpu) return run_on_gpu(run);
  CatchInterrupt interrupt;
  ProgressPrinter progress(err, line.quiet);
  return run_on_tile_machine(run, [&](double fraction) {
    progress.show(fmt::format("run: {:.0f} %", 100 * fraction));
    return !interrupt.asked();
  });
}

}  // namespace

Result<int> run_tensors(const CommandLine& line, std::FILE* out, std::FILE* err) {
  if (line.do_file.empty() && line.pass.value_or(Pass::forward) != Pass::forward)
    return Error{fmt::format("--pass {} needs --do dO.npy", to_string(*line.pass))};
  if (!line.do_file.empty() && line.pass == Pass::forward)
    return Error{"--do is the gradient of O, and --pass forward reads none: leave one of them out"};
  const auto tensors = read_tensors(line);
  if (!tensors) return tensors.error();
  auto settled = sized(line, *tensors);
  if (!settled) return settled.error();
  const auto type = type_of(line, *tensors);
  if (!type) return type.error();
  settled->dtype = *type;
  settled->pass.reset();
  auto request = make_request(*settled);
  if (!request) return request.error();

  TensorRun run;
  run.request = std::move(request->simulation);
  AttentionProblem& problem = run.request.problem;
  if (problem.pass == Pass::backward && line.do_file.empty())
    return Error{fmt::format("{} needs --do dO.npy", run.request.algorithm)};
  if (!line.do_file.empty()) {
    problem.pass = Pass::both;
    if (const Status has = settle_program(run.request); !has) return has.error();
  }
  if (const Status masks = settle_masks(run.request.masking, problem, {}); !masks) return masks.error();
  if (const Status files = check_files(run, line); !files) return files.error();
  run.inputs.q = matrix_of(find(*tensors, "--q"));
  run.inputs.k = matrix_of(find(*tensors, "--k"));
  run.inputs.v = matrix_of(find(*tensors, "--v"));
  run.inputs.d_o = matrix_of(find(*tensors, "--do"));

  const auto wanted = tensors_left(run);
  if (!wanted) return wanted.error();
  OutputFolder folder(line.out);
  if (const Status ready = folder.prepare(); !ready) return ready.error();
  if (const Status apart = check_files_apart(folder, *wanted, *tensors); !apart) return apart.error();
  const auto left = left_by(run, line, err);
  if (!left && left.error().kind == Error::Kind::cancelled) return exit_interrupted;
  if (!left) return left.error();

  std::string notes;
  for (const GivenTensor& tensor : *tensors)
    notes += note_on(fmt::format("{} {}", tensor.flag, printable(tensor.file, most_shown)), tensor.array.values, problem.dtype);
  const bool finite_inputs = notes.empty();
  Outputs outputs(out);
  for (const LeftTensor& tensor : *left) {
    const DataType stored = type_of(tensor.tensor, problem.dtype) == DataType::fp16 ? DataType::fp16 : DataType::fp32;
    notes += note_on(std::string(to_string(tensor.tensor)), tensor.values, stored);
    if (const Status added = outputs.add(folder.file(tensor.tensor), to_npy(stored, tensor.shape, tensor.values)); !added)
      return added.error();
  }
  if (const Status added = outputs.add("-", table_of(run, line, *left, folder, finite_inputs) + notes); !added)
    return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  folder.keep();
  return exit_done;
}

}  // namespace tilescope
