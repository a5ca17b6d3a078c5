// Writes and reads sweeps.
#include "app/cli/sweep_file.h"
#include "app/cli/command_words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/csv_field.h"
#include "app/cli/help.h"
#include "kernels/measure/json_fields.h"
#include "sim/core/csv.h"
#include "sim/core/document.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "tilescope.sweep/1";

/// A field of a point and its name in the file.
struct SweptFigure {
  std::string_view name;
  double (*get)(const Outcome&);
  void (*set)(Outcome&, double);
};

template <Link link>
constexpr SweptFigure link_figure(std::string_view name) {
  return {name, [](const Outcome& o) { return o.on(link); },
          [](Outcome& o, double v) { o.bytes[static_cast<std::size_t>(link)] = v; }};
}

/// The share of the run in which a resource works.
template <Bound bound>
constexpr SweptFigure busy_figure(std::string_view name) {
  constexpr auto at = static_cast<std::size_t>(bound);
  return {name, [](const Outcome& o) { return o.utilisation[at]; }, [](Outcome& o, double v) { o.utilisation[at] = v; }};
}

constexpr std::array swept_figures = {
    SweptFigure{"block_q", [](const Outcome& o) { return static_cast<double>(o.tile.block_q); },
                [](Outcome& o, double v) { o.tile.block_q = static_cast<std::int64_t>(v); }},
    SweptFigure{"block_kv", [](const Outcome& o) { return static_cast<double>(o.tile.block_kv); },
                [](Outcome& o, double v) { o.tile.block_kv = static_cast<std::int64_t>(v); }},
    SweptFigure{"blocks_per_sm", [](const Outcome& o) { return static_cast<double>(o.blocks_per_sm); },
                [](Outcome& o, double v) { o.blocks_per_sm = static_cast<int>(v); }},
    SweptFigure{"buffers", [](const Outcome& o) { return static_cast<double>(o.buffers); },
                [](Outcome& o, double v) { o.buffers = static_cast<int>(v); }},
    link_figure<Link::hbm_read>("hbm_read_bytes"),
    link_figure<Link::hbm_write>("hbm_write_bytes"),
    SweptFigure{"hbm_write_after_flush_bytes", [](const Outcome& o) { return o.hbm_write_after_flush_bytes; },
                [](Outcome& o, double v) { o.hbm_write_after_flush_bytes = v; }},
    SweptFigure{"hbm_write_queued_bytes", [](const Outcome& o) { return o.hbm_write_queued_bytes; },
                [](Outcome& o, double v) { o.hbm_write_queued_bytes = v; }},
    link_figure<Link::l2_to_sm>("l2_to_sm_bytes"),
    link_figure<Link::sm_to_l2>("sm_to_l2_bytes"),
    link_figure<Link::smem_read>("smem_read_bytes"),
    link_figure<Link::smem_write>("smem_write_bytes"),
    SweptFigure{"flops", [](const Outcome& o) { return o.flops; }, [](Outcome& o, double v) { o.flops = v; }},
    SweptFigure{"cycles", [](const Outcome& o) { return o.cycles; }, [](Outcome& o, double v) { o.cycles = v; }},
    SweptFigure{"ns", [](const Outcome& o) { return o.time_ns; }, [](Outcome& o, double v) { o.time_ns = v; }},
    SweptFigure{"balanced_ns", [](const Outcome& o) { return o.balanced_ns; }, [](Outcome& o, double v) { o.balanced_ns = v; }},
    SweptFigure{"unshared_lookups_least_ns", [](const Outcome& o) { return o.unshared_ns; },
                [](Outcome& o, double v) { o.unshared_ns = v; }},
    SweptFigure{"clock_under_load_hz", [](const Outcome& o) { return o.under_load.clock_hz; },
                [](Outcome& o, double v) { o.under_load.clock_hz = v; }},
    SweptFigure{"ns_under_load", [](const Outcome& o) { return o.under_load.time_ns; },
                [](Outcome& o, double v) { o.under_load.time_ns = v; }},
    SweptFigure{"recorded_ns", [](const Outcome& o) { return o.under_load.recorded_ns; },
                [](Outcome& o, double v) { o.under_load.recorded_ns = v; }},
    SweptFigure{"live_peak_bytes", [](const Outcome& o) { return o.live_peak_bytes; },
                [](Outcome& o, double v) { o.live_peak_bytes = v; }},
    SweptFigure{"useful_flops", [](const Outcome& o) { return o.useful_flops; }, [](Outcome& o, double v) { o.useful_flops = v; }},
    SweptFigure{"sms", [](const Outcome& o) { return static_cast<double>(o.sms.all); },
                [](Outcome& o, double v) { o.sms.all = static_cast<int>(v); }},
    SweptFigure{"sms_with_blocks", [](const Outcome& o) { return static_cast<double>(o.sms.with_blocks); },
                [](Outcome& o, double v) { o.sms.with_blocks = static_cast<int>(v); }},
    SweptFigure{"idle_share", [](const Outcome& o) { return o.sms.idle; }, [](Outcome& o, double v) { o.sms.idle = v; }},
    busy_figure<Bound::tensor>("tensor_busy"),
    busy_figure<Bound::exp>("exp_busy"),
    busy_figure<Bound::fp32>("fp32_busy"),
    busy_figure<Bound::l2>("l2_busy"),
    busy_figure<Bound::hbm>("hbm_busy"),
    busy_figure<Bound::smem>("smem_busy"),
};

constexpr std::array bounds = {Bound::tensor, Bound::exp, Bound::fp32, Bound::l2, Bound::hbm, Bound::smem, Bound::latency};

std::optional<Bound> bound_from(std::string_view name) {
  for (Bound bound : bounds)
    if (to_string(bound) == name) return bound;
  return std::nullopt;
}

/// FNV-1a, over numbers of any width.
class Fnv1a {
 public:
  void add(std::uint32_t value) { hash_ = (hash_ ^ value) * 0x100000001b3U; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

std::uint64_t content_hash(const CapturedTable& table) {
  Fnv1a sum;
  for (const std::int32_t value : table.integers) sum.add(static_cast<std::uint32_t>(value));
  for (const float value : table.reals) sum.add(std::bit_cast<std::uint32_t>(value));
  return sum.hash();
}

/// Returns everything that determines the points; equal values mean the same sweep.
Json asked_of(const SweepRequest& request) {
  Json gpu = {{"id", request.base.gpu.id}};
  for (const SpecKey& key : spec_keys()) gpu[std::string(key.key)] = request.base.gpu.*key.member;
  Json asked = {{"version", version_text()},
                {"over", request.axis.key},
                {"values", request.axis.values},
                {"algorithms", request.algorithms},
                {"problem", json_of(request.base.problem)},
                {"tile", nullptr},
                {"blocks_per_sm", nullptr},
                {"gpu", gpu}};
  if (request.base.tile) asked["tile"] = json_of(TileShape(*request.base.tile));
  if (const PartOfTile& part = request.tile_part; !part.empty()) {
    if (part.block_q) asked["tile"]["block_q"] = *part.block_q;
    if (part.block_kv) asked["tile"]["block_kv"] = *part.block_kv;
    if (part.stages) asked["tile"]["stages"] = *part.stages;
  }
  // Only if not the default, so that older files can continue.
  if (request.base.tile && request.base.tile->stages > 0) asked["tile"]["stages"] = request.base.tile->stages;
  if (request.base.block_order != BlockOrder::launch) asked["block_order"] = to_string(request.base.block_order);
  if (const MaskChoice& masking = request.base.masking; !masking.empty()) {
    Json tables = Json::array();
    for (const auto& table : masking.tables)
      tables.push_back({{"name", table->name}, {"shape", table->shape}, {"hash", content_hash(*table)}});
    asked["masking"] = {{"masks", masking.masks},
                        {"presets", masking.presets},
                        {"score", masking.score},
                        {"tables", tables},
                        {"mask_block", request.base.problem.mask_block}};
    if (!masking.table_gradients.empty()) asked["masking"]["table_gradients"] = masking.table_gradients;
  }
  if (const AttentionProblem& problem = request.base.problem; problem.page_size > 0)
    asked["pages"] = {{"page_size", problem.page_size}, {"page_order", to_string(problem.page_order)}};
  if (request.axis.key == "heads" && request.keeps_kv_heads) asked["keeps_kv_heads"] = true;
  if (request.base.blocks_per_sm) asked["blocks_per_sm"] = *request.base.blocks_per_sm;
  return asked;
}

/// Returns the theory's bytes; nullopt where there is no theory.
std::optional<double> theory_bytes(const SweepResult& result, std::string_view algorithm, double value) {
  const auto count = theory_at(result.request, algorithm, value);
  return count ? std::optional(count->bytes) : std::nullopt;
}

/// Returns the clock of a point's cycles and times: that under load where one is known, else that of its GPU. nullopt for a point
/// that was refused.
std::optional<double> clock_of(const SweepResult& result, std::string_view algorithm, double value, const Outcome& outcome) {
  if (!outcome.done()) return std::nullopt;
  if (outcome.under_load.clock_hz > 0) return outcome.under_load.clock_hz;
  const auto request = request_at(result.request, algorithm, value);
  return request ? std::optional(request->gpu.sm_clock_hz) : std::nullopt;
}

/// What follows from a point's figures. It is written, and not read back.
struct DerivedFigure {
  std::string_view name;
  std::optional<double> (*get)(const Outcome&);
};
constexpr std::array derived_figures = {
    DerivedFigure{"tflops",
                  [](const Outcome& o) { return o.useful_flops > 0 ? std::optional(o.flops_per_second() / 1e12) : std::nullopt; }},
    DerivedFigure{"recorded_error",
                  [](const Outcome& o) {
                    const UnderLoad& load = o.under_load;
                    return load.recorded_ns > 0 ? std::optional(load.time_ns / load.recorded_ns - 1) : std::nullopt;
                  }},
};

template <class Each>
void for_each_point(const SweepResult& result, const Each& each) {
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a)
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v)
      if (result.at(a, v)) each(result.request.algorithms[a], result.request.axis.values[v], *result.at(a, v));
}

Error other_sweep(std::string_view origin) {
  return Error{fmt::format("{} holds another sweep (other range, problem, GPU or version): choose another file or remove it",
                           printable(origin, 200))};
}

Error unreadable(std::string_view origin) {
  return Error{fmt::format("{} exists and is not a sweep: choose another file", printable(origin, 200))};
}

constexpr std::string_view check_name = "check";

/// Returns the checksum of a point's text in hexadecimal. Points of a file stand as results without being simulated again, so a
/// point that somebody changed must not pass for one.
std::string check_of(std::string_view text) {
  Fnv1a sum;
  for (const char c : text) sum.add(static_cast<unsigned char>(c));
  return fmt::format("{:016x}", sum.hash());
}

/// `at`: "line 4" or "point 2".
Error cut_or_altered(std::string_view origin, const std::string& at, const std::string& what) {
  return Error{fmt::format("{}, {}: {}. Remove it, and the same command simulates it again", printable(origin, 200), at, what)};
}
constexpr auto wrong_check = "the point was cut or altered, its checksum does not match";

/// Returns the index of a point of the file, or nullopt.
std::optional<std::size_t> index_of(const SweepResult& result, std::string_view algorithm, double value) {
  const auto& algorithms = result.request.algorithms;
  const auto& values = result.request.axis.values;
  const auto a = std::find(algorithms.begin(), algorithms.end(), algorithm);
  const auto v = std::find(values.begin(), values.end(), value);
  if (a == algorithms.end() || v == values.end()) return std::nullopt;
  return result.index(static_cast<std::size_t>(a - algorithms.begin()), static_cast<std::size_t>(v - values.begin()));
}

/// Reads a point from its JSON fields: {"algorithm", "value", figures, "bound_by", "refusal"}.
Status take_point(const Json& point, std::string_view origin, SweepResult& result) {
  const auto place = index_of(result, point.at("algorithm").get<std::string>(), point.at("value").get<double>());
  if (!place) return other_sweep(origin);
  Outcome outcome;
  for (const SweptFigure& figure : swept_figures) {
    const double value = point.at(std::string(figure.name)).get<double>();
    if (!(value >= 0 && value < 1e30)) return unreadable(origin);
    figure.set(outcome, value);
  }
  const auto bound = bound_from(point.at("bound_by").get<std::string>());
  outcome.refusal = point.at("refusal").get<std::string>();
  if (!bound) return unreadable(origin);
  outcome.bound = *bound;
  result.points[*place] = std::move(outcome);
  return Done{};
}

Status take_csv(std::string_view text, std::string_view origin, SweepResult& result) {
  CsvReader reader(text, {});
  const std::string head = fmt::format("# {} ", schema);
  const std::string_view first = reader.next_line();
  if (!first.starts_with(head)) return unreadable(origin);
  if (!check_document(first, DocumentKind::json, origin)) return unreadable(origin);
  if (Json::parse(first.substr(head.size())) != asked_of(result.request)) return other_sweep(origin);
  const auto names = reader.next_row();
  if (names.empty() || names.back() != check_name)
    return Error{fmt::format("{}, line 2: the columns do not end in {}: choose another file or remove it", printable(origin, 200),
                             check_name)};
  while (!reader.done()) {
    const std::string_view row = reader.next_line();
    if (row.empty()) continue;
    const auto fields = CsvReader(row, {}).next_row();
    const std::string at = fmt::format("line {}", reader.line());
    if (fields.size() != names.size())
      return cut_or_altered(origin, at, fmt::format("the point has {} of {} fields", fields.size(), names.size()));
    if (fields.back() != check_of(row.substr(0, row.rfind(',')))) return cut_or_altered(origin, at, wrong_check);
    Json point;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool word = names[i] == "algorithm" || names[i] == "bound_by" || names[i] == "refusal" || names[i] == check_name;
      if (word)
        point[names[i]] = fields[i];
      else if (!fields[i].empty() && check_document(fields[i], DocumentKind::json, origin))  // an empty cell: no theory
        point[names[i]] = Json::parse(fields[i]);
    }
    if (const Status taken = take_point(point, origin, result); !taken) return taken;
  }
  return Done{};
}

}  // namespace

std::string sweep_to_csv(const SweepResult& result) {
  std::string text = fmt::format("# {} {}\nalgorithm,value", schema, asked_of(result.request).dump());
  for (const SweptFigure& figure : swept_figures) text += fmt::format(",{}", figure.name);
  for (const DerivedFigure& figure : derived_figures) text += fmt::format(",{}", figure.name);
  text += fmt::format(",clock_hz,theory_bytes,bound_by,refusal,{}\n", check_name);
  for_each_point(result, [&](const std::string& algorithm, double value, const Outcome& outcome) {
    std::string row = fmt::format("{},{}", algorithm, value);
    for (const SweptFigure& figure : swept_figures) row += fmt::format(",{}", figure.get(outcome));
    for (const DerivedFigure& figure : derived_figures) {
      const std::optional<double> value_of = figure.get(outcome);
      row += value_of ? fmt::format(",{}", *value_of) : ",";
    }
    for (const std::optional<double> each : {clock_of(result, algorithm, value, outcome), theory_bytes(result, algorithm, value)})
      row += each ? fmt::format(",{}", *each) : ",";
    row += fmt::format(",{},{}", to_string(outcome.bound), csv_field(command_words(outcome.refusal)));
    text += fmt::format("{},{}\n", row, check_of(row));
  });
  return text;
}

std::string sweep_to_json(const SweepResult& result) {
  Json points = Json::array();
  for_each_point(result, [&](const std::string& algorithm, double value, const Outcome& outcome) {
    Json point = {{"algorithm", algorithm}, {"value", value}};
    for (const SweptFigure& figure : swept_figures) point[std::string(figure.name)] = figure.get(outcome);
    for (const DerivedFigure& figure : derived_figures)
      if (const std::optional<double> value_of = figure.get(outcome)) point[std::string(figure.name)] = *value_of;
    if (const auto clock = clock_of(result, algorithm, value, outcome)) point["clock_hz"] = *clock;
    if (const auto theory = theory_bytes(result, algorithm, value))
      point["theory_bytes"] = *theory;
    else
      point["theory_bytes"] = nullptr;
    point["bound_by"] = to_string(outcome.bound);
    point["refusal"] = command_words(outcome.refusal);
    point[std::string(check_name)] = check_of(point.dump());
    points.push_back(std::move(point));
  });
  return Json{{"schema", schema}, {"asked", asked_of(result.request)}, {"points", points}}.dump(1) + "\n";
}

Status continue_sweep(std::string_view text, std::string_view origin, SweepResult& result) {
  SweepResult read(result.request);
  try {
    if (text.starts_with("#")) {
      if (const Status taken = take_csv(text, origin, read); !taken) return taken;
    } else {
      if (!check_document(text, DocumentKind::json, origin)) return unreadable(origin);
      const Json document = Json::parse(text);
      if (!document.is_object() || document.value("schema", "") != schema) return unreadable(origin);
      if (document.at("asked") != asked_of(result.request)) return other_sweep(origin);
      std::size_t number = 0;
      for (Json point : document.at("points")) {
        ++number;
        const Json check = point.at(std::string(check_name));
        point.erase(std::string(check_name));
        if (check != check_of(point.dump())) return cut_or_altered(origin, fmt::format("point {}", number), wrong_check);
        if (const Status taken = take_point(point, origin, read); !taken) return taken;
      }
    }
  } catch (const Json::parse_error&) {
    if (!text.starts_with('{') || text.find(schema) == std::string_view::npos) return unreadable(origin);
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    return Error{fmt::format("{} is a sweep in JSON that was cut, at or before line {}: remove it", printable(origin, 200), lines)};
  } catch (const Json::exception&) { return unreadable(origin); }
  for (std::size_t i = 0; i < read.points.size(); ++i)
    if (read.points[i]) result.points[i] = std::move(read.points[i]);
  return Done{};
}

}  // namespace tilescope
