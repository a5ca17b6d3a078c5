// One overload a command: its values are ordinary, stale (of an earlier GPU, block or race) or impossible.
#include "tests/monkey/random_command.h"

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <cxxabi.h>
#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/session/export_job.h"
#include "app/model/session/studies.h"
#include "app/model/state/panel_ids.h"
#include "sim/masks/presets.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace {

template <class T>
struct Kind {};

struct Draw {
  Random& random;
  const SessionView& view;
  const std::string& usual_gpu;

  bool shown() const { return !view.lanes.empty() && view.lanes.back().simulation != nullptr; }
  /// Usually an SM of the shown GPU, now and then one of a larger GPU.
  int sm() const {
    const int here = shown() ? static_cast<int>(view.lane().simulation->request.gpu.sm_count) : 4;
    return static_cast<int>(random.below(random.chance(80) ? static_cast<std::size_t>(here) : 132));
  }
  bool coin() const { return random.chance(50); }
  std::string algorithm() const {
    if (random.chance(60)) return random.pick<const char*>({"flash2", "flash1", "standard", "flex", "flash9", ""});
    return std::string(program_table()[random.below(program_table().size())].id);
  }
  std::string gpu() const {
    if (random.chance(40)) return usual_gpu;
    return random.pick<const char*>({"toy", "textbook", "h200", "nonsense", "/nonexistent.toml", ""});
  }
  std::string panel() const { return std::string(panel_ids[random.below(panel_ids.size())]); }
  AttentionProblem problem() const {
    AttentionProblem p = view.requested->request.problem;
    for (std::size_t changes = 1 + random.below(2); changes > 0; --changes) change(p);
    return p;
  }
  void change(AttentionProblem& p) const {
    const auto rows = [&] { return random.pick<std::int64_t>({1, 2, 3, 8, 15, 16, 17, 32, 33, 64, 100, 128, 0, -1}); };
    switch (random.below(9)) {
      case 0:
        p.seq_q = p.seq_kv = rows();
        break;
      case 1:
        p.seq_q = rows();
        break;
      case 2:
        p.seq_kv = rows();
        break;
      case 3:
        p.head_dim = random.pick<std::int64_t>({1, 2, 4, 8, 16, 64, 3, 0, 257});
        break;
      case 4:
        p.heads = p.kv_heads = random.pick<std::int64_t>({1, 2, 3, 4});
        break;
      case 5:
        p.kv_heads = random.pick<std::int64_t>({1, 2, 3, 0});
        break;
      case 6:
        p.batch = random.pick<std::int64_t>({1, 1, 2, std::int64_t{1} << 40});
        break;
      case 7:
        p.causal = coin();
        break;
      default:
        p.dtype = random.pick({DataType::fp16, DataType::bf16, DataType::fp32});
        p.pass = random.chance(90) ? Pass::forward : Pass::backward;
    }
  }
  TileShape tile() const {
    const auto rows = [&] { return random.pick<std::int64_t>({1, 3, 4, 8, 16, 17, 32, 64, 0, 8192}); };
    return {rows(), rows()};
  }

  template <class T>
  T operator()(Kind<T>) const {
    return {};
  }
  SetAlgorithm operator()(Kind<SetAlgorithm>) const { return {algorithm()}; }
  SetRace operator()(Kind<SetRace>) const { return {coin()}; }
  SetGpu operator()(Kind<SetGpu>) const { return {gpu()}; }
  SetSpecValue operator()(Kind<SetSpecValue>) const {
    if (random.chance(30)) {
      const SpecKey& key = spec_keys()[random.below(spec_keys().size())];
      return {fmt::format("{}={}", key.key, random.pick<const char*>({"0", "1", "2", "1e9", "-1", "x", ""}))};
    }
    return {
        random.pick<const char*>({"l2.capacity_bytes=0", "l2.capacity_bytes=4096", "sm.count=1", "sm.count=3", "sm.count=8",
                                  "sm.shared_bytes_per_block=1024", "sm.count=-1", "=", "nonsense", "hbm.bytes_per_second=nan"})};
  }
  ResetSpecValue operator()(Kind<ResetSpecValue>) const {
    return {random.pick<const char*>({"", "sm.count", "l2.capacity_bytes", "nonsense"})};
  }
  SetProblem operator()(Kind<SetProblem>) const { return {problem(), "seq"}; }
  SetTile operator()(Kind<SetTile>) const {
    if (random.chance(30)) return {std::nullopt, "block_q"};
    ProgramTile chosen(tile());
    chosen.stages = random.pick<std::int64_t>({0, 0, 1, 2, 9});
    return {chosen, "block_q"};
  }
  SetBlocksPerSm operator()(Kind<SetBlocksPerSm>) const {
    if (coin()) return {std::nullopt};
    return {random.pick({1, 2, 8, 0, 1000})};
  }
  SetBlockOrder operator()(Kind<SetBlockOrder>) const {
    return {random.pick({BlockOrder::launch, BlockOrder::heads, BlockOrder::reversed, BlockOrder::longest, BlockOrder::grouped})};
  }
  SetKeyOrder operator()(Kind<SetKeyOrder>) const { return {random.pick({KeyOrder::ascending, KeyOrder::descending})}; }
  SetMasking operator()(Kind<SetMasking>) const {
    MaskChoice choice;
    if (random.chance(20)) return {choice};
    if (coin())
      choice.masks.emplace_back(random.pick<const char*>({"q >= kv", "q - kv < 5 and q >= kv", "kv % 3 == 0", "false", "h == b",
                                                          "q - kw < 4", "doc[q] == doc[kv]", "q // 0 == kv", ")", ""}));
    if (random.chance(40)) choice.presets.emplace_back(presets()[random.below(presets().size())].name);
    if (random.chance(10)) choice.presets.emplace_back(random.pick<const char*>({"sliding_window:window=-1", "no_such:x=1", ":"}));
    if (random.chance(40))
      choice.score = random.pick<const char*>({"score + 0.5 * (kv - q)", "20 * tanh(score / 20)", "score / 0",
                                               "log(0 - abs(score))", "where(q == kv, 0, score)", "q", "score +"});
    return {choice};
  }
  SetMaskTable operator()(Kind<SetMaskTable>) const {
    return {random.pick<const char*>({"doc", "q", ""}), random.pick<const char*>({"", "/nonexistent.csv"})};
  }
  TileRange rows() const {
    const auto first = static_cast<std::int64_t>(random.below(140));
    return {random.chance(90) ? first : -5, random.pick<std::int64_t>({0, 1, 8, 64, 5000})};
  }
  LookAtMask operator()(Kind<LookAtMask>) const { return {random.pick<std::int64_t>({0, 0, 1, 3, -1, 99}), rows(), rows()}; }
  AskVisit operator()(Kind<AskVisit>) const { return {random.pick<std::int64_t>({0, 0, 1, 99}), rows().first, rows().first}; }
  SetInputs operator()(Kind<SetInputs>) const {
    InputSource inputs = view.requested->inputs;
    inputs.seed = random.below(4);
    inputs.spread = random.pick({1.0, 0.1, 30.0});
    if (coin()) inputs = {};
    return {inputs};
  }
  SetMatrix operator()(Kind<SetMatrix>) const {
    std::string text = random.pick<const char*>({"", "1,2\n3,4\n", "1,2\n3\n", "x", "nan", "1e999"});
    if (coin()) {  // of the problem's shape
      const AttentionProblem& p = view.requested->request.problem;
      text.clear();
      for (std::int64_t row = 0; row < p.seq_q && row < 128; ++row)
        for (std::int64_t col = 0; col < p.head_dim && col < 64; ++col)
          text += fmt::format("{}{}", random.below(9), col + 1 == p.head_dim ? '\n' : ',');
    }
    const bool is_path = random.chance(10);
    return {random.pick({Meaning::query, Meaning::key, Meaning::value}), is_path ? "/nonexistent.csv" : text, is_path};
  }
  SetFocusSm operator()(Kind<SetFocusSm>) const { return {sm()}; }
  Step operator()(Kind<Step>) const { return {coin() ? 1 : -1, random.pick({Grain::operation, Grain::tile, Grain::phase})}; }
  SeekStep operator()(Kind<SeekStep>) const {
    const std::int64_t count = shown() ? view.lane().step_count : 0;
    return {random.chance(80) ? static_cast<std::int64_t>(random.below(static_cast<std::size_t>(count) + 1))
                              : random.pick<std::int64_t>({0, count, count + 1, -1, 1'000'000})};
  }
  SeekCycle operator()(Kind<SeekCycle>) const {
    return {random.chance(80) ? random.unit() * 20000 : random.pick({0.0, -1.0, 1e18})};
  }
  SetLanes operator()(Kind<SetLanes>) const { return {coin()}; }
  LookIntoSms operator()(Kind<LookIntoSms>) const {
    const int first = sm();
    return {first, random.chance(80) ? first + static_cast<int>(random.below(4)) : sm(), random.below(2)};
  }
  FocusBlock operator()(Kind<FocusBlock>) const {
    if (shown()) {
      const auto runs = view.lane().simulation->trace->runs();
      if (!runs.empty() && random.chance(80)) {
        const BlockRun& run = runs[random.below(runs.size())];
        return {run.sm, run.launch, run.block, run.start};
      }
    }
    return {sm(), static_cast<int>(random.below(3)), static_cast<std::int64_t>(random.below(40)), random.unit() * 5000};
  }
  SetPlaying operator()(Kind<SetPlaying>) const { return {coin()}; }
  SetSpeed operator()(Kind<SetSpeed>) const { return {random.pick({0.05, 0.25, 1.0, 8.0, 0.0, 1e9})}; }
  SetGrain operator()(Kind<SetGrain>) const { return {random.pick({Grain::operation, Grain::tile, Grain::phase})}; }
  SelectRow operator()(Kind<SelectRow>) const { return {static_cast<int>(random.below(random.chance(80) ? 16 : 5000))}; }
  HoverTensor operator()(Kind<HoverTensor>) const {
    if (!shown() || random.chance(30)) return {std::nullopt};
    const auto outputs = view.lane().simulation->program->outputs();
    if (outputs.empty()) return {std::nullopt};
    return {outputs[random.below(outputs.size())]};
  }
  SetThemeKind operator()(Kind<SetThemeKind>) const { return {random.pick({ThemeKind::dark, ThemeKind::light})}; }
  SetCenter operator()(Kind<SetCenter>) const {
    if (coin()) return {CenterView::stage};
    return {center_views()[random.below(center_views().size())].view};
  }
  SetSweep operator()(Kind<SetSweep>) const {
    return {random.pick<const char*>({"seq=16:64:x2", "head_dim=2:8:x2", "stages=1:3:+1", "seq=64:16:x2", "nonsense=1:2:x2", "",
                                      "l2.capacity_bytes=0:65536:x4", "seq=1:9:+0"}),
            {algorithm(), algorithm()},
            random.pick({SweepQuantity::hbm, SweepQuantity::sm_link, SweepQuantity::time})};
  }
  SetBanks operator()(Kind<SetBanks>) const {
    return {{random.pick<const char*>({"ldmatrix", "column", "rows", "broadcast", "row_a_lane", "nonsense"}), coin(),
             static_cast<int>(random.below(40))}};
  }
  SetRung operator()(Kind<SetRung>) const {
    return {random.pick<const char*>({"", "flash2", "hopper_wgmma", "hopper_causal", "flash3", "nonsense"})};
  }
  SetViews operator()(Kind<SetViews>) const {
    ViewChoices views;
    if (coin()) views.time_window = TimeRange{100.0, 100.0 + static_cast<double>(1 + random.below(5000))};
    views.wall_time = coin();
    views.column = static_cast<int>(random.below(300));
    if (coin()) views.fit_map = FitMapChoice{coin() ? DataType::fp32 : DataType::fp16, static_cast<int>(random.below(5))};
    if (coin()) views.what_if_number = "l2.capacity_bytes";
    views.mask = {static_cast<MaskShows>(random.below(3)), static_cast<std::int64_t>(random.below(40)),
                  1 + static_cast<double>(random.below(9)), static_cast<double>(random.below(100)),
                  static_cast<double>(random.below(100))};
    return {views};
  }
  SetPresent operator()(Kind<SetPresent>) const { return {coin()}; }
  SetAlone operator()(Kind<SetAlone>) const { return {random.chance(60) ? "" : panel()}; }
  SetSide operator()(Kind<SetSide>) const { return {std::string(side_panel_ids[random.below(side_panel_ids.size())])}; }
  SetTrafficLink operator()(Kind<SetTrafficLink>) const { return {link_choices[random.below(link_choices.size())]}; }
  ShowHelp operator()(Kind<ShowHelp>) const { return {random.chance(20)}; }
  ShowFind operator()(Kind<ShowFind>) const {
    return {random.chance(20), random.pick<const char*>({"", "tile", "hbm", "no such word"})};
  }
  SetTimeRange operator()(Kind<SetTimeRange>) const {
    if (random.chance(30)) return {};
    const double from = random.pick<double>({0, 1, 100, 5000, 1e12});
    return {TimeRange{from, from + random.pick<double>({1, 50, 1e9})}};
  }
  Calibrate operator()(Kind<Calibrate>) const { return {random.chance(70)}; }
  SetLanguage operator()(Kind<SetLanguage>) const { return {random.pick<const char*>({"en", "en", "ko", "xx"})}; }
  OpenCase operator()(Kind<OpenCase>) const { return {gpu(), counterpart_of(algorithm()), problem(), tile()}; }
  /// A state near the one that is shown, possible or not.
  OpenState operator()(Kind<OpenState>) const {
    WindowState state = window_state_of(view);
    if (coin()) state.problem = problem();
    if (random.chance(30)) state.tile = tile();
    if (random.chance(30)) state.gpu = gpu();
    if (random.chance(30)) state.focus_sm = sm();
    if (random.chance(30)) state.race = coin();
    if (coin()) state.position = WindowState::Step{(*this)(Kind<SeekStep>{}).step};
    if (random.chance(20)) state.position = WindowState::Cycle{(*this)(Kind<SeekCycle>{}).cycle};
    return {std::make_shared<const WindowState>(std::move(state))};
  }
  OpenLink operator()(Kind<OpenLink>) const {
    return {random.pick<const char*>({"", "tilescope:seq=32&step=3", "?gpu=h200&seq=64", "seq=0", "nonsense", "race=1&cycle=100"})};
  }
  SetBlank operator()(Kind<SetBlank>) const { return {coin()}; }
  GoToScene operator()(Kind<GoToScene>) const { return {random.pick({0, 1, 2, 5, -1})}; }
  TurnPage operator()(Kind<TurnPage>) const { return {coin() ? 1 : -1}; }
  NameDeck operator()(Kind<NameDeck>) const { return {random.pick<const char*>({"", "Attention", "주의"})}; }
  EditScene operator()(Kind<EditScene>) const {
    Scene scene;
    scene.state = window_state_of(view);
    scene.raised = coin();
    if (coin())
      scene.steps = StepRange{static_cast<std::int64_t>(random.below(10)), static_cast<std::int64_t>(10 + random.below(9))};
    return {random.pick({0, 1, 7}), std::make_shared<const Scene>(std::move(scene))};
  }
  MoveScene operator()(Kind<MoveScene>) const { return {random.pick({0, 1, 2, 9}), random.pick({0, 1, 2, -1})}; }
  DeleteScene operator()(Kind<DeleteScene>) const { return {random.pick({0, 1, 9, -1})}; }
  AskClass operator()(Kind<AskClass>) const { return {coin(), coin()}; }
  CountAnswer operator()(Kind<CountAnswer>) const { return {random.pick({0, 1, 8, 9, -1}), random.pick({0, 3, -5, 1 << 30})}; }
  WriteQuestion operator()(Kind<WriteQuestion>) const {
    return {coin() ? std::make_shared<const ClassQuestion>(ClassQuestion{"How many?", {"one", "two"}, random.pick({0, 1})})
                   : nullptr};
  }
  UnpinRun operator()(Kind<UnpinRun>) const { return {random.pick({0, 1, 2, 9, -1})}; }
  CompareRuns operator()(Kind<CompareRuns>) const { return {{random.pick({0, 1, 2, 9, -1}), random.pick({0, 1, 3})}}; }
  ImportCounters operator()(Kind<ImportCounters>) const { return {"/nonexistent.csv"}; }
  StartExport operator()(Kind<StartExport>) const { return {std::make_shared<const ExportChoice>()}; }
  OpenLesson operator()(Kind<OpenLesson>) const { return {random.pick<const char*>({"1", "1", "3", "99", ""}), random.below(3)}; }
  TurnLessonPage operator()(Kind<TurnLessonPage>) const { return {coin() ? 1 : -1}; }
  RetryLesson operator()(Kind<RetryLesson>) const { return {}; }
  CloseLesson operator()(Kind<CloseLesson>) const { return {}; }
  AnswerLesson operator()(Kind<AnswerLesson>) const {
    LessonAnswer answer;
    answer.given = coin();
    answer.option = static_cast<int>(random.below(5)) - 1;
    return {std::make_shared<const LessonAnswer>(answer)};
  }
  RunValidation operator()(Kind<RunValidation>) const { return {coin()}; }
  SetValidation operator()(Kind<SetValidation>) const { return {}; }
};

template <std::size_t... index>
Command draw_one(const Draw& draw, std::size_t which, std::index_sequence<index...>) {
  using Drawer = Command (*)(const Draw&);
  static constexpr std::array<Drawer, sizeof...(index)> drawers = {
      +[](const Draw& d) -> Command { return d(Kind<std::variant_alternative_t<index, Command>>{}); }...};
  return drawers[which](draw);
}

std::string name_of(const char* mangled) {
  int status = 0;
  char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = plain != nullptr ? plain : mangled;
  std::free(plain);
  if (const std::size_t colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
  return name;
}

}  // namespace

Command random_command(Random& random, const SessionView& view, const std::string& usual_gpu) {
  constexpr std::size_t count = std::variant_size_v<Command>;
  return draw_one({random, view, usual_gpu}, random.below(count), std::make_index_sequence<count>{});
}

std::string describe(const Command& command) {
  return std::visit(
      [](const auto& c) {
        using T = std::decay_t<decltype(c)>;
        std::string values;
        if constexpr (std::is_same_v<T, SetAlgorithm>) values = c.id;
        if constexpr (std::is_same_v<T, SetGpu>) values = c.id_or_path;
        if constexpr (std::is_same_v<T, SetSpecValue>) values = c.assignment;
        if constexpr (std::is_same_v<T, ResetSpecValue>) values = c.key;
        if constexpr (std::is_same_v<T, SetFocusSm>) values = std::to_string(c.sm);
        if constexpr (std::is_same_v<T, SetCenter>) values = std::to_string(static_cast<int>(c.view));
        if constexpr (std::is_same_v<T, SeekStep>) values = std::to_string(c.step);
        if constexpr (std::is_same_v<T, SetSweep>) values = c.axis;
        if constexpr (std::is_same_v<T, SetLanes>) values = c.by_sm ? "true" : "false";
        if constexpr (std::is_same_v<T, SetMasking>)
          values = fmt::format("{}; {}; {}", fmt::join(c.choice.masks, ", "), fmt::join(c.choice.presets, ", "), c.choice.score);
        if constexpr (requires { c.on; }) values = c.on ? "true" : "false";
        if constexpr (std::is_same_v<T, SetProblem> || std::is_same_v<T, OpenCase>)
          values = fmt::format("B {} H {} Hkv {} N {} Nk {} d {}", c.problem.batch, c.problem.heads, c.problem.kv_heads,
                               c.problem.seq_q, c.problem.seq_kv, c.problem.head_dim);
        return fmt::format("{}{{{}}}", name_of(typeid(T).name()), values);
      },
      command);
}

}  // namespace tilescope
