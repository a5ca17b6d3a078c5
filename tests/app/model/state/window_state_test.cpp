// WindowState: the link holds all of it, in one form, and refuses what it cannot mean.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "app/model/state/panel_ids.h"
#include "app/model/state/playhead.h"
#include "app/model/state/window_state.h"
#include "app/views/panel_table.h"
#include "sim/analysis/bank_conflicts.h"
#include "sim/analysis/sweep.h"
#include "sim/programs/programs.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

namespace {

class RandomStates {
 public:
  explicit RandomStates(std::uint64_t seed) : random_(seed) {}

  WindowState next(bool may_pin = true) {
    WindowState s;
    if (coin()) s.algorithm = pick(program_table()).id;
    if (coin()) s.gpu = coin() ? "h200" : text();
    for (const SpecKey& row : spec_keys())
      if (number(0, 9) == 0) s.spec_values[std::string(row.key)] = spec_value(row);
    problem(s.problem);
    for (auto member : {&WindowState::masks, &WindowState::presets, &WindowState::tables})
      for (std::int64_t i = number(-2, 2); i > 0; --i) (s.*member).push_back(text());
    if (coin()) s.score = text();
    if (coin()) s.problem.mask_block = number(1, 512);
    if (coin()) s.problem.page_size = number(1, 512);
    if (s.problem.page_size > 0 && coin()) s.problem.page_order = PageOrder::contiguous;
    if (coin()) s.tile = ProgramTile(number(1, 4096), number(1, 4096), coin() ? number(1, 8) : 0);
    if (coin()) s.blocks_per_sm = static_cast<int>(number(1, 1024));
    if (coin()) s.block_order = pick(block_orders()).order;
    s.key_order = coin() ? KeyOrder::descending : KeyOrder::ascending;
    s.race = coin();
    if (s.race && coin()) s.race.with = pick(program_table()).id;
    if (coin()) s.seed = random_();
    if (coin()) s.spread = real(0, 1e6);
    for (auto member : {&WindowState::q, &WindowState::k, &WindowState::v})
      if (coin()) s.*member = matrix();
    if (const auto kind = number(0, 2); kind == 1)
      s.position = WindowState::Step{number(0, std::numeric_limits<std::int64_t>::max())};
    else if (kind == 2)
      s.position = WindowState::Cycle{std::ldexp(real(0, 1), static_cast<int>(number(-40, 60)))};
    if (coin()) s.speed = real(playing_speeds.front(), playing_speeds.back());
    s.grain = static_cast<Grain>(number(0, 2));
    if (coin()) s.focus_sm = static_cast<int>(number(0, 200));
    if (coin()) s.row = static_cast<int>(number(0, 4096));
    s.center = pick(center_views()).view;
    s.banks = banks();
    if (coin()) s.rung = pick(ladder()).id;
    if (coin()) s.alone = pick(std::span<const std::string_view>(panel_ids));
    s.side = pick(std::span<const std::string_view>(side_panel_ids));
    s.traffic = pick(std::span<const LinkChoice>(link_choices));
    s.by_sm = coin();
    if (coin()) {
      const double from = real(0, 1e6);
      s.range = TimeRange{from, from + real(1e-3, 1e6)};
    }
    s.views = views();
    s.present = coin();
    s.theme = coin() ? ThemeKind::light : ThemeKind::dark;
    if (coin()) s.language = "ko";
    if (coin()) s.sweep = sweep();
    if (may_pin && number(0, 3) == 0)
      for (std::int64_t left = number(1, static_cast<std::int64_t>(most_pinned)); left > 0; --left)
        s.pinned.push_back(to_link(next(false)));
    const auto pins = static_cast<int>(s.pinned.size());
    s.compared = usual_comparison(s.pinned.size());
    if (pins > 0 && coin()) s.compared = {static_cast<int>(number(0, pins - 1)), pins};
    return s;
  }
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool coin() { return number(0, 1) == 1; }

 private:
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  template <class Row>
  Row pick(std::span<const Row> rows) {
    return rows[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(rows.size()) - 1))];
  }
  /// Every byte but zero.
  std::string text() {
    std::string out;
    for (std::int64_t i = number(1, 12); i > 0; --i) out += static_cast<char>(number(1, 255));
    return out;
  }
  double spec_value(const SpecKey& row) {
    const double value = coin() ? row.minimum : row.minimum + (row.maximum - row.minimum) * real(0, 1);
    return row.whole ? std::floor(value) : value;
  }
  void problem(AttentionProblem& p) {
    if (coin()) p.batch = number(1, 64);
    if (coin()) p.kv_heads = number(1, 16);
    p.heads = p.kv_heads * number(1, 8);
    if (coin()) p.seq_q = number(1, 4096);
    p.seq_kv = coin() ? p.seq_q : number(1, 4096);
    if (coin()) p.head_dim = number(1, 256);
    p.dtype = static_cast<DataType>(number(0, 2));
    p.causal = coin();
    p.pass = static_cast<Pass>(number(0, 2));
  }
  Matrix matrix() {
    Matrix m(static_cast<int>(number(1, 5)), static_cast<int>(number(1, 5)));
    for (float& value : m.values) {
      // Any finite float, by its bits.
      do {
        const auto bits = static_cast<std::uint32_t>(random_());
        std::memcpy(&value, &bits, sizeof value);
      } while (!std::isfinite(value));
    }
    return m;
  }
  ViewChoices views() {
    ViewChoices v;
    if (coin()) {
      const double from = real(0, 1e6);
      v.time_window = TimeRange{from, from + real(1e-3, 1e6)};
    }
    v.wall_time = coin();
    v.column = static_cast<int>(coin() ? number(0, 255) : 0);
    if (coin()) v.fit_map = FitMapChoice{static_cast<DataType>(number(0, 2)), static_cast<int>(number(0, 3))};
    if (coin()) v.what_if_number = "l2.capacity_bytes";
    v.mask.shows = static_cast<MaskShows>(number(0, 2));
    if (coin()) v.mask.plane = number(0, 4096);
    if (coin()) {
      v.mask.zoom = real(1, 100);
      v.mask.query = real(-10, 1e5);
      v.mask.key = real(-10, 1e5);
    }
    return v;
  }
  BankChoice banks() {
    BankChoice choice;
    const AccessPattern& pattern = pick(access_patterns());
    choice.pattern = pattern.id;
    choice.swizzled = pattern.has_swizzle && coin();
    choice.wavefront = static_cast<int>(number(1, wavefront_count(choice)));
    return choice;
  }
  SweepState sweep() {
    SweepState s;
    s.axis = to_string(*parse_sweep_axis(coin() ? "seq=64:4096:x2" : "hbm.bytes_per_second=1000000000,2500000000.5"));
    s.algorithms = coin() ? std::vector<std::string>{"flash2"} : std::vector<std::string>{"standard", "flash1"};
    s.quantity = static_cast<SweepQuantity>(number(0, 2));
    return s;
  }

  std::mt19937_64 random_;
};

std::string link_refusal(std::string_view link) {
  const auto state = from_link(link);
  return state ? std::string("(accepted)") : state.error().sentence.text();
}

}  // namespace

TEST_CASE("window state: the link has the Traffic panel's tab, and links without it open on the first") {
  Opened opened;
  CHECK(to_link(window_state_of(opened.view())).find("traffic=") == std::string::npos);
  opened.after(SetTrafficLink{LinkChoice::hbm_read});
  const std::string link = to_link(window_state_of(opened.view()));
  CHECK(link.find("traffic=hbm_read") != std::string::npos);
  CHECK(opened.after(OpenLink{"seq=64"}).workspace->traffic == LinkChoice::l2_to_sm);
  CHECK(opened.after(OpenLink{link}).workspace->traffic == LinkChoice::hbm_read);
  CHECK(link_refusal("traffic=hbm").find("hbm_read") != std::string::npos);
}

TEST_CASE("window state: a link holds everything, in one form, whatever the order of its keys") {
  RandomStates states(20261123);
  for (int i = 0; i < 10'000; ++i) {
    CAPTURE(i);
    const WindowState state = states.next();
    const std::string link = to_link(state);
    CAPTURE(link);
    REQUIRE(link.find_first_of(" \n\t\"'<>") == std::string::npos);
    const auto back = from_link(link);
    REQUIRE_MESSAGE(back, (back ? "" : back.error().sentence));
    REQUIRE(*back == state);
    REQUIRE(to_link(*back) == link);
    // The first pair goes to the end; of a key that is given twice the order counts.
    const bool twice = link.starts_with("mask=") || link.starts_with("preset=") || link.starts_with("table=");
    if (const std::size_t cut = link.find('&'); cut != std::string::npos && !twice) {
      const auto turned = from_link(link.substr(cut + 1) + "&" + link.substr(0, cut));
      REQUIRE_MESSAGE(turned, (turned ? "" : turned.error().sentence));
      REQUIRE(*turned == state);
    }
  }
}

TEST_CASE("window state: two states that differ have two links") {
  RandomStates states(7);
  for (int i = 0; i < 2000; ++i) {
    const WindowState a = states.next(), b = states.next();
    CHECK((a == b) == (to_link(a) == to_link(b)));
  }
}

TEST_CASE("window state: mutated links are read or refused in one line, and what is read has its own link") {
  RandomStates states(99);
  for (int i = 0; i < 5000; ++i) {
    std::string link = to_link(states.next());
    for (std::int64_t edits = states.number(1, 4); edits > 0 && !link.empty(); --edits) {
      const auto at = static_cast<std::size_t>(states.number(0, static_cast<std::int64_t>(link.size()) - 1));
      if (states.coin())
        link[at] = static_cast<char>(states.number(0, 255));
      else
        link.erase(at, static_cast<std::size_t>(states.number(1, 9)));
    }
    CAPTURE(link);
    const auto read = from_link(link);
    if (read) {
      const auto again = from_link(to_link(*read));
      REQUIRE(again);
      REQUIRE(*again == *read);
    } else {
      REQUIRE_FALSE(read.error().sentence.empty());
      REQUIRE(read.error().sentence.text().find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("window state: the default is the empty link, and only what differs is written") {
  CHECK(to_link(WindowState{}).empty());
  CHECK(*from_link("") == WindowState{});
  CHECK(*from_link("causal=0&race=0&swizzled=0") == WindowState{});
  WindowState state;
  state.problem.heads = state.problem.kv_heads = 8;
  state.problem.seq_q = state.problem.seq_kv = 1024;
  state.gpu = "/tmp/my gpu.toml";
  state.spec_values["l2.capacity_bytes"] = 0;
  state.position = WindowState::Step{37};
  state.center = CenterView::sweep;
  CHECK(to_link(state) == "gpu=/tmp/my%20gpu.toml&l2.capacity_bytes=0&heads=8&seq=1024&step=37&view=sweep");
}

TEST_CASE("window state: what a link cannot mean is one sentence with the value and the way out") {
  CHECK(link_refusal("hello") ==
        "'hello' in the link is no key=value: write for example seq=1024, and %26 for an & inside a value");
  CHECK(link_refusal("seq=64&&dtype=fp16") ==
        "'' in the link is no key=value: write for example seq=1024, and %26 for an & inside a value");
  CHECK(link_refusal("sqe=64") == "a link has no key 'sqe': did you mean seq?");
  CHECK(link_refusal("wallpaper=1") == "a link has no key 'wallpaper': take it out");
  CHECK(link_refusal("seq=64&seq=64") == "seq is given twice in the link: give it once");
  CHECK(link_refusal("seq=0") == "seq is '0': it must be a whole number from 1 to 2147483647");
  CHECK(link_refusal("seq=1e3") == "seq is '1e3': it must be a whole number from 1 to 2147483647");
  CHECK(link_refusal("head_dim=512") == "head_dim is '512': it must be a whole number from 1 to 256");
  CHECK(link_refusal("gpu=a%2") == "gpu is 'a%2': it must be percent-encoded, with two digits after each %");
  CHECK(link_refusal("race=yes") == "race is 'yes': it must be 0, 1 or the program to race against");
  CHECK(link_refusal("dtype=fp61") == "dtype is 'fp61': did you mean fp16?");
  CHECK(link_refusal("step=3&cycle=4") == "step and cycle are both given: give one of them");
  CHECK(link_refusal("page_size=-1") == "page_size is '-1': it must be a whole number from 0 to 2147483647");
  const std::string no_pages = "page_order is the order of the pages of K and V: give page_size, or leave page_order out";
  CHECK(link_refusal("page_order=contiguous") == no_pages);
  CHECK(link_refusal("page_size=0&page_order=contiguous") == no_pages);
  CHECK(from_link("page_size=0")->problem.page_size == 0);
  CHECK(link_refusal("block_q=16") == "a tile needs both sides: give block_q and block_kv, or leave them and stages out");
  CHECK(link_refusal("speed=nan") == "speed is 'nan': it must be a number from 0.05 to 8");
  CHECK(link_refusal("heads=3&kv_heads=2") == "heads is 3 and kv_heads is 2: heads must be a multiple of kv_heads");
  CHECK(link_refusal("q=1,x").starts_with("q, line 1: 'x' is not a number"));
  CHECK(link_refusal("range=5:5") == "range is '5:5': it must be two cycles, the earlier one first, such as 100:250");
  CHECK(link_refusal("range=7").starts_with("range is '7': "));
  CHECK(link_refusal("alone=kitchen").starts_with("alone is 'kitchen': "));
}

TEST_CASE("window state: a session's state follows its commands, and its link opens the same") {
  Opened opened;
  opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  opened.after(SetSpecValue{"l2.capacity_bytes=65536"});
  opened.after(SetSpecValue{"sm.clock_under_load_hz=1000000"});
  opened.after(SetMatrix{Meaning::value, ""});
  opened.after(SeekStep{12});
  opened.after(SelectRow{3});
  opened.after(SetCenter{CenterView::fit});
  opened.after(SetThemeKind{ThemeKind::light});
  const WindowState state = window_state_of(opened.view());
  CHECK(state.problem.seq_q == 96);
  CHECK(state.spec_values ==
        std::map<std::string, double, std::less<>>{{"l2.capacity_bytes", 65536.0}, {"sm.clock_under_load_hz", 1e6}});
  CHECK(state.position == decltype(state.position){WindowState::Step{12}});
  CHECK(state.row == 3);
  CHECK(state.center == CenterView::fit);
  CHECK(state.theme == ThemeKind::light);
  const auto back = from_link(to_link(state));
  REQUIRE(back);
  CHECK(*back == state);
  opened.after(SeekCycle{opened.view().playback.cycle + 0.5});
  CHECK(std::holds_alternative<WindowState::Cycle>(window_state_of(opened.view()).position));
}

TEST_CASE("window state: the panels that it stores are those of the table") {
  std::vector<std::string_view> ids;
  for (const PanelInfo& panel : panel_table()) ids.push_back(panel.id);
  CHECK(std::vector<std::string_view>(panel_ids.begin(), panel_ids.end()) == ids);
}

TEST_CASE("window state: masks, presets and tables are keys that may be given several times, and tables are paths") {
  Opened opened;
  MaskChoice choice;
  choice.masks = {"q >= kv && q - kv < 4", "kv != 3"};
  choice.presets = {"sliding_window:window=2"};
  choice.score = "score / 2.0";
  CapturedTable table = make_table("doc", std::vector<std::int32_t>(16, 0));
  table.origin = "some/documents.csv";
  choice.tables = {std::make_shared<const CapturedTable>(table)};
  const WindowState state = window_state_of(opened.after(SetMasking{choice}));
  CHECK(state.masks == choice.masks);
  CHECK(state.tables == std::vector<std::string>{"doc=some/documents.csv"});
  const std::string link = to_link(state);
  CHECK(link.find("mask=q%20%3E%3D%20kv%20%26%26%20q%20-%20kv%20%3C%204&mask=kv%20%21%3D%203&preset=sliding_window:window%3D2&"
                  "table=doc%3Dsome/documents.csv") != std::string::npos);
  CHECK(link.find("score=score%20/%202.0") != std::string::npos);
  const auto back = from_link(link);
  REQUIRE(back);
  CHECK(*back == state);
  WindowState with_gradients = state;
  with_gradients.table_gradients = {"slope", "bias:in_order"};
  CHECK(to_link(with_gradients).find("table_gradient=slope&table_gradient=bias:in_order") != std::string::npos);
  CHECK(*from_link(to_link(with_gradients)) == with_gradients);
  CHECK(link_refusal("mask=").find("mask is ''") != std::string::npos);
  CHECK(link_refusal("mask_block=0").find("mask_block is '0'") != std::string::npos);
}
