// OpenState: a session that runs reaches any state exactly, or refuses it and keeps what it had.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/model/run_data/arrival.h"
#include "app/model/session/opening.h"
#include "app/model/state/panel_ids.h"
#include "app/model/state/playhead.h"
#include "sim/programs/programs.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

namespace {

/// States small enough that thousands of them are simulated in seconds; now and then one that cannot be.
class SmallStates {
 public:
  explicit SmallStates(std::uint64_t seed) : random_(seed) {}

  WindowState next() {
    WindowState s;
    const ProgramInfo& program = pick(program_table());
    s.algorithm = program.id;
    s.problem.pass = program.pass;
    s.gpu = pick(std::span<const std::string_view>(gpus));
    problem(s.problem);
    if (chance(20)) {
      s.spec_values["l2.capacity_bytes"] = static_cast<double>(number(0, 1 << 20));
      s.spec_values["sm.count"] = static_cast<double>(number(1, 9));
    }
    if (chance(30)) s.spec_values["hbm.bytes_per_second"] = real(1e9, 1e12);
    if (chance(40)) s.tile = ProgramTile(number(1, 20), number(1, 20), chance(20) ? number(1, 3) : 0);
    if (chance(20)) s.blocks_per_sm = static_cast<int>(number(1, 4));
    if (chance(30)) s.block_order = pick(block_orders()).order;
    if (chance(20)) s.key_order = KeyOrder::descending;
    if (chance(10)) s.problem.page_size = 8 * number(1, 4);
    s.race = chance(30);
    if (chance(30)) s.seed = random_();
    if (chance(30)) s.spread = real(0, 4);
    const std::int64_t kv_planes = s.problem.batch * s.problem.kv_heads, q_planes = s.problem.batch * s.problem.heads;
    if (chance(15)) s.q = matrix(s.problem.seq_q * q_planes, s.problem.head_dim);
    if (chance(15)) s.k = matrix(s.problem.seq_kv * kv_planes, s.problem.head_dim);
    if (chance(15)) s.v = matrix(s.problem.seq_kv * kv_planes, s.problem.head_dim);
    if (chance(50)) s.speed = real(playing_speeds.front(), playing_speeds.back());
    s.grain = static_cast<Grain>(number(0, 2));
    if (chance(30)) s.focus_sm = static_cast<int>(number(0, 4));
    if (chance(50)) s.row = static_cast<int>(number(0, 20));
    s.center = pick(center_views()).view;
    if (chance(50)) s.banks = {"column", chance(50), static_cast<int>(number(1, 4))};
    if (chance(50)) s.rung = pick(ladder()).id;
    if (chance(30)) s.alone = pick(std::span<const std::string_view>(panel_ids));
    s.side = pick(std::span<const std::string_view>(side_panel_ids));
    s.traffic = pick(std::span<const LinkChoice>(link_choices));
    s.by_sm = chance(20);
    s.present = chance(50);
    s.theme = chance(50) ? ThemeKind::light : ThemeKind::dark;
    if (chance(50)) s.language = "ko";
    if (chance(40)) s.sweep = sweep();
    if (chance(20)) s.pinned.emplace_back("heads=2&seq=16");
    if (chance(20)) s.pinned.emplace_back("algorithm=standard&seq=24");
    s.compared = usual_comparison(s.pinned.size());
    if (!s.pinned.empty() && chance(50)) s.compared = {0, 1};
    return s;
  }
  /// Where one can stand in the simulations of a state: in a race on a clock, else also at a step.
  void stand(WindowState& s, std::span<const std::shared_ptr<const Simulation>> simulations) {
    // A row that the tile has not is refused, or shown as the last one.
    if (s.row) s.row = std::min(*s.row, static_cast<int>(simulations.back()->program->tile().block_q) - 1);
    double end = 0;
    for (const auto& simulation : simulations) end = std::max(end, simulation->trace->end_cycle());
    if (chance(30)) {
      const double from = real(0, 0.9 * end);
      s.range = TimeRange{from, from + real(0.1, end)};
    }
    if (s.race || chance(30))
      s.position = WindowState::Cycle{chance(10) ? end : real(0, end)};
    else
      s.position = WindowState::Step{number(0, simulations.back()->trace->step_count(s.focus_sm))};
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

 private:
  static constexpr std::array<std::string_view, 6> gpus = {"toy", "toy", "textbook", "a100", "h200", "rtx4090"};

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  template <class Row>
  Row pick(std::span<const Row> rows) {
    return rows[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(rows.size()) - 1))];
  }
  void problem(AttentionProblem& p) {
    p.batch = chance(20) ? 2 : 1;
    p.kv_heads = chance(20) ? 2 : 1;
    p.heads = p.kv_heads * (chance(20) ? 2 : 1);
    p.seq_q = number(1, 40);
    p.seq_kv = chance(70) ? p.seq_q : number(1, 40);
    p.head_dim = chance(80) ? 8 * number(1, 3) : number(1, 20);
    p.dtype = static_cast<DataType>(number(0, 2));
    p.causal = chance(40);
  }
  Matrix matrix(std::int64_t rows, std::int64_t cols) {
    Matrix m(static_cast<int>(rows), static_cast<int>(cols));
    for (float& value : m.values) value = static_cast<float>(real(-3, 3));
    return m;
  }
  SweepState sweep() {
    SweepState s;
    s.axis = to_string(*parse_sweep_axis(chance(50) ? "seq=8:32:x2" : "hbm.bytes_per_second=1000000000,2500000000.5"));
    s.algorithms = chance(50) ? std::vector<std::string>{"flash2"} : std::vector<std::string>{"standard", "flash1"};
    s.quantity = static_cast<SweepQuantity>(number(0, 2));
    return s;
  }

  std::mt19937_64 random_;
};

/// Lets frames pass until the state has arrived; studies may go on.
void arrive(Session& session) {
  while (session.view().opening) {
    session.tick(1.0 / 60);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  session.tick(1.0 / 60);
}

OpenState open(const WindowState& state) {
  return {std::make_shared<const WindowState>(state)};
}

WindowState state_of_link(const char* link) {
  auto state = from_link(link);
  REQUIRE_MESSAGE(state, (state ? "" : state.error().sentence));
  return *state;
}

std::string message(const SessionView& view) {
  return view.workspace->message ? view.workspace->message->error.sentence.text() : std::string();
}

}  // namespace

// TILESCOPE_STATES=10000 draws more.
TEST_CASE("open state: any state is reached exactly by its link, and one that cannot be leaves the session as it was") {
  const char* const asked = std::getenv("TILESCOPE_STATES");
  const int count = asked != nullptr ? std::max(1, std::atoi(asked)) : 400;
  SmallStates states(20261123);
  Session::Start start = opening_start();
  start.threads = true;
  Session session(std::move(start));
  session.finish();
  int reached = 0, refused = 0;
  while (reached < count) {
    WindowState state = states.next();
    const auto request = request_of(state, &load_gpu);
    Result<std::vector<std::shared_ptr<const Simulation>>> made = Error{"no request"};
    if (request) made = simulate_lanes(request->request, state.race, [](double) { return true; });
    if (made) states.stand(state, *made);
    const std::string link = to_link(state);
    CAPTURE(link);
    const auto read = from_link(link);
    REQUIRE_MESSAGE(read, (read ? "" : read.error().sentence));
    REQUIRE(*read == state);
    const WindowState before = window_state_of(session.view());
    session.apply(open(*read));
    arrive(session);
    const bool settle = states.chance(1) && state.center == CenterView::stage;  // a study takes minutes
    if (settle) session.finish();
    const WindowState after = window_state_of(session.view());
    if (made) {
      const std::string now = to_link(after);
      CAPTURE(now);
      REQUIRE(after == state);
      ++reached;
    } else {
      CAPTURE(made.error().sentence);
      REQUIRE(session.view().workspace->message.has_value());
      REQUIRE(message(session.view()).find('\n') == std::string::npos);
      REQUIRE(after == before);
      ++refused;
    }
  }
  MESSAGE(reached << " states reached, " << refused << " refused");
}

TEST_CASE("open state: what shows before the state is there is what was there") {
  Session::Start start = opening_start();
  start.threads = true;
  Session session(std::move(start));
  session.finish();
  const WindowState before = window_state_of(session.view());
  session.apply(open(state_of_link("gpu=h200&seq=256&theme=light&view=fit&step=3")));
  CHECK(session.view().opening);
  CHECK(window_state_of(session.view()) == before);
  arrive(session);
  CHECK(session.view().workspace->theme == ThemeKind::light);
  CHECK(window_state_of(session.view()).position == decltype(WindowState::position)(WindowState::Step{3}));
}

TEST_CASE("open state: where only what is shown differs, no simulation is made") {
  Opened opened;
  opened.after(SeekStep{4});
  WindowState state = window_state_of(opened.view());
  const auto simulation = opened.view().lane().simulation;
  state.position = WindowState::Step{9};
  state.theme = ThemeKind::light;
  state.alone = "softmax";
  opened.session.apply(open(state));
  CHECK_FALSE(opened.view().opening);
  opened.session.finish();
  CHECK(window_state_of(opened.view()) == state);
  CHECK(opened.view().lane().simulation == simulation);
}

TEST_CASE("open state: a step or a cycle beyond the end, an SM that the GPU has not, a GPU without a file: one sentence") {
  Opened opened;
  opened.after(SeekStep{4});
  const WindowState before = window_state_of(opened.view());
  const auto refusal = [&](const char* link) {
    const SessionView view = opened.after(open(state_of_link(link)));
    CHECK(window_state_of(view) == before);
    CHECK_FALSE(view.opening);
    return message(view);
  };
  CHECK(refusal("block_q=16&block_kv=16&step=100000").starts_with("there is no step 100000: this run has steps 0 to "));
  CHECK(refusal("seq=128&step=100000").starts_with("there is no step 100000: this run has steps 0 to "));
  CHECK(refusal("seq=128&cycle=1e9").starts_with("there is no cycle 1000000000: this run ends at cycle "));
  CHECK(refusal("sm=7&theme=light") == "there is no SM 7: toy has SMs 0 to 3");
  CHECK(refusal("gpu=h9000").starts_with("unknown GPU 'h9000'"));
  CHECK_FALSE(refusal("gpu=toy&seq=64&block_q=4096&block_kv=4096").empty());
}

TEST_CASE("open state: without a step or a cycle it stands where the window opens") {
  Opened opened;
  const WindowState first = window_state_of(opened.view());
  opened.after(SeekStep{0});
  WindowState anywhere = first;
  anywhere.position = {};
  opened.after(open(anywhere));
  CHECK(window_state_of(opened.view()) == first);
  opened.after(open(state_of_link("seq=96")));
  opened.after(open(anywhere));
  CHECK(window_state_of(opened.view()) == first);
}

TEST_CASE("open state: what is asked for while it is on its way comes on top of it") {
  Session::Start start = opening_start();
  start.threads = true;
  Session session(std::move(start));
  session.finish();
  session.apply(open(state_of_link("seq=128&block_q=16&block_kv=16&step=7&view=roofline")));
  session.apply(SetThemeKind{ThemeKind::light});
  session.finish();
  WindowState now = window_state_of(session.view());
  CHECK(now == state_of_link("seq=128&block_q=16&block_kv=16&step=7&view=roofline&theme=light"));
  session.apply(open(state_of_link("seq=96&block_q=16&block_kv=16&step=5")));
  session.apply(SetAlgorithm{"standard"});
  session.finish();
  now = window_state_of(session.view());
  CHECK(now.algorithm == "standard");
  CHECK(now.problem.seq_q == 96);
}

TEST_CASE("open state: one that is refused gives way to what the controls had asked for") {
  Session::Start start = opening_start();
  start.threads = true;
  Session session(std::move(start));
  session.finish();
  session.apply(SetProblem{with_rows(session.view(), 128), "seq"});
  session.apply(open(state_of_link("seq=64&block_q=4096&block_kv=4096")));
  session.finish();
  CHECK(window_state_of(session.view()).problem.seq_q == 128);
  session.apply(open(state_of_link("seq=96")));
  session.apply(CancelWork{});
  session.finish();
  CHECK_FALSE(session.view().opening);
  CHECK(window_state_of(session.view()).problem.seq_q == 128);
}

TEST_CASE("open state: a matrix of another shape than the problem's is kept and said") {
  Opened opened;
  const SessionView view = opened.after(open(state_of_link("seq=8&head_dim=2&q=1,2;3,4&step=0")));
  CHECK(to_link(window_state_of(view)) == "seq=8&head_dim=2&q=1,2;3,4&step=0");
  REQUIRE(view.workspace->message.has_value());
  CHECK(view.workspace->message->control == "inputs");
}
