// Reads the blocks of a lesson, page by page.
#include "app/model/lessons/lesson_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/model/lessons/complete_lesson.h"
#include "app/model/lessons/lesson_block.h"
#include "app/model/lessons/lesson_figures.h"
#include "app/model/state/panel_ids.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr double drawn_tolerance = 0.5;  // where the question gives none
constexpr std::array<std::string_view, 6> block_kinds = {"lesson", "scene", "ask", "reveal", "try", "notes"};
constexpr std::int64_t newest_version = 1;
constexpr std::size_t most_options = 12, most_pages = 99;

class LessonReader {
 public:
  LessonReader(std::string_view id, std::string_view origin) : origin_(origin) {
    lesson_.id = std::string(id);
    lesson_.origin = std::string(origin);
  }

  Result<LessonHead> read_head(std::string_view text) {
    const std::size_t first_page = text.starts_with("## ") ? 0 : text.find("\n## ");
    Result<MarkdownText> parsed = parse_markdown(text.substr(0, first_page), origin_, block_kinds);
    if (!parsed) return parsed.error();
    if (parsed->fences.empty() || parsed->fences.front().info != "lesson") return no_head();
    if (const Status taken = take(parsed->fences.front()); !taken) return taken.error();
    return LessonHead{std::move(lesson_.title), lesson_.minutes, std::move(lesson_.goal), std::move(lesson_.group)};
  }

  Result<std::shared_ptr<const Lesson>> read(std::string_view text) {
    if (text.empty()) return Error{fmt::format("{}: the file is empty", printable(origin_, 200))};
    if (text.size() > largest_lesson_bytes)
      return Error{fmt::format("{}: a lesson has at most {} KiB, this has {}", printable(origin_, 200), largest_lesson_bytes >> 10U,
                               (text.size() + 1023) >> 10U)};
    Result<MarkdownText> parsed = parse_markdown(text, origin_, block_kinds);
    if (!parsed) return parsed.error();
    if (const Status placed = check_places(*parsed); !placed) return placed.error();
    for (MarkdownText::Page& page : parsed->pages) {
      LessonPage& added = lesson_.pages.emplace_back();
      added.title = std::move(page.title);
      added.line = page.line;
      added.prose = std::move(page.prose);
    }
    for (const Fence& fence : parsed->fences)
      if (const Status taken = take(fence); !taken) return taken.error();
    if (const Status whole = complete_lesson(lesson_); !whole) return whole.error();
    return std::make_shared<const Lesson>(std::move(lesson_));
  }

 private:
  Error fail(int line, std::string_view sentence) const { return error_at(origin_, line, sentence); }

  Error no_head() const { return fail(1, "a lesson begins with a block ```lesson that has title, minutes and goal"); }

  Status check_places(const MarkdownText& text) const {
    if (text.fences.empty() || text.fences.front().info != "lesson") return no_head();
    if (!text.before.empty())
      return fail(text.before.front().line, "this stands before the first page: begin a page with ## Heading");
    if (text.pages.empty()) return fail(1, "the lesson has no page: begin one with ## Heading");
    if (text.pages.size() > most_pages)
      return fail(text.pages.back().line, fmt::format("a lesson has at most {} pages", most_pages));
    for (const Fence& fence : text.fences) {
      const bool head = fence.info == "lesson";
      if (head && &fence != &text.fences.front()) return fail(fence.line, "there is a second block lesson: remove it");
      if (!head && fence.page == 0) return fail(fence.line, fmt::format("the block {} stands before the first page", fence.info));
    }
    return Done{};
  }

  Status take(const Fence& fence) {
    LessonBlock block(fence, origin_);
    if (!block.error()) {
      if (fence.info == "lesson") {
        take_lesson(block);
      } else {
        LessonPage& page = lesson_.pages[fence.page - 1];
        if (fence.info == "scene") take_scene(block, page);
        if (fence.info == "ask") take_ask(block, page);
        if (fence.info == "reveal") take_reveal(block, page);
        if (fence.info == "try") take_try(block, page);
        if (fence.info == "notes") take_notes(block, page);
      }
    }
    if (block.error()) return *block.error();
    return Done{};
  }

  void take_lesson(LessonBlock& block) {
    // A newer version is said before its unknown keys.
    const auto version = static_cast<std::int64_t>(block.number("version", 1, 1, 1e9));
    if (version > newest_version)
      return block.fail_key("version", fmt::format("the lesson is of version {}, and this program reads version {}: update it",
                                                   version, newest_version));
    constexpr std::array<std::string_view, 5> keys = {"title", "minutes", "goal", "group", "version"};
    block.allow(keys);
    lesson_.title = block.text("title");
    lesson_.minutes = static_cast<int>(block.number("minutes", 0, 1, 600));
    if (lesson_.minutes == 0) block.fail(1, "the block has no minutes: add minutes = 10");
    lesson_.goal = block.prose("goal");
    lesson_.group = block.text("group", false);
  }

  static std::optional<WindowState> state_of(LessonBlock& block, std::string_view key, const std::string& link) {
    const Result<WindowState> state = from_link(link);
    if (state) return *state;
    block.fail_key(key, std::string(state.error().sentence));
    return std::nullopt;
  }

  static std::vector<std::string> panels_of(LessonBlock& block) {
    std::vector<std::string> look = block.texts("look", panel_ids.size(), false);
    for (const std::string& id : look)
      if (std::find(panel_ids.begin(), panel_ids.end(), id) == panel_ids.end())
        block.fail_key("look", fmt::format("there is no panel '{}': {}", printable(id), name_hint(id, panel_ids)));
    return look;
  }

  void take_scene(LessonBlock& block, LessonPage& page) {
    if (page.scene) return block.fail(1, "the page has a second scene: begin another page");
    constexpr std::array<std::string_view, 4> keys = {"link", "look", "others", "shown"};
    block.allow(keys);
    LessonScene scene;
    scene.line = block.line();
    scene.link = block.text("link");
    if (block.error()) return;
    const auto state = state_of(block, "link", scene.link);
    if (!state) return;
    scene.state = *state;
    scene.look = panels_of(block);
    scene.shown = block.truth("shown");
    for (auto& [name, changes] : block.pairs("others")) {
      if (block.error()) return;
      const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      });
      if (!word || (name.front() >= '0' && name.front() <= '9'))
        return block.fail_key("others", fmt::format("'{}' is no name of a run: use letters, digits and _", printable(name)));
      if (name == scene_run || name == "self" || check_figure(name, {}))
        return block.fail_key("others", fmt::format("the name '{}' is taken: choose another for this run", name));
      const auto other = state_of(block, "others", changed_link(scene.link, changes));
      if (!other) return;
      scene.others.push_back({std::move(name), std::move(changes), *other});
    }
    page.scene = std::move(scene);
  }

  LessonExpression expression(LessonBlock& block, std::string_view key, bool needed = true) const {
    LessonExpression out{block.text(key, needed), block.line_of(key)};
    return out;
  }

  void take_ask(LessonBlock& block, LessonPage& page) {
    if (page.ask) return block.fail(1, "the page has a second question: begin another page");
    LessonQuestion ask;
    ask.line = block.line();
    const std::string kind = block.text("kind");
    if (block.error()) return;
    const auto known = index_of_name(question_kind_names, kind);
    if (!known)
      return block.fail_key("kind",
                            fmt::format("there is no question '{}': {}", printable(kind), name_hint(kind, question_kind_names)));
    ask.kind = static_cast<QuestionKind>(*known);
    ask.question = block.prose("question");
    ask.shows_values = block.has("unit");
    if (ask.shows_values) {
      const std::string name = block.text("unit");
      if (const auto unit = figure_unit_from(name))
        ask.unit = *unit;
      else
        block.fail_key("unit", fmt::format("there is no unit '{}': {}", printable(name), figure_unit_hint(name)));
    }
    switch (ask.kind) {
      case QuestionKind::number:
        take_number(block, ask);
        break;
      case QuestionKind::draw:
        take_draw(block, ask);
        break;
      default:
        take_options(block, ask);
    }
    take_wrong(block, ask);
    page.ask = std::move(ask);
  }

  void take_number(LessonBlock& block, LessonQuestion& ask) const {
    constexpr std::array<std::string_view, 6> keys = {"kind", "question", "answer", "tolerance", "unit", "wrong"};
    block.allow(keys);
    ask.answer = expression(block, "answer");
    ask.tolerance = block.number("tolerance", 0.1, 0, 10);
  }

  void take_options(LessonBlock& block, LessonQuestion& ask) const {
    constexpr std::array<std::string_view, 8> keys = {"kind", "question", "options", "values", "pick", "answer", "unit", "wrong"};
    constexpr std::array<std::string_view, 6> of_order = {"kind", "question", "options", "values", "unit", "wrong"};
    ask.kind == QuestionKind::order ? block.allow(of_order) : block.allow(keys);
    const std::vector<std::string> options = block.texts("options", most_options);
    for (const std::string& option : options) ask.options.push_back(block.prose_of(option, block.line_of("options")));
    if (options.size() < 2) block.fail_key("options", "a question needs at least two options");
    const bool by_answer = ask.kind == QuestionKind::choice && block.has("answer");
    if (by_answer) {
      if (block.has("values") || block.has("pick")) block.fail_key("answer", "answer and values are both given: give one of them");
      ask.answer = expression(block, "answer");
      return;
    }
    for (std::string& value : block.texts("values", most_options))
      ask.values.push_back({std::move(value), block.line_of("values")});
    if (ask.values.size() != options.size())
      block.fail_key(
          "values", fmt::format("there are {} options and {} values: give one value an option", options.size(), ask.values.size()));
    if (ask.kind == QuestionKind::order) return;
    const std::string pick = block.text("pick");
    ask.smallest = pick == "smallest";
    if (pick != "smallest" && pick != "largest") block.fail_key("pick", "pick must be \"largest\" or \"smallest\"");
  }

  void take_draw(LessonBlock& block, LessonQuestion& ask) const {
    constexpr std::array<std::string_view, 7> keys = {"kind", "question", "x", "curve", "tolerance", "unit", "wrong"};
    block.allow(keys);
    ask.x_key = block.text_of("x", "key");
    ask.xs = block.numbers("x", "values");
    ask.curve = expression(block, "curve");
    ask.tolerance = block.number("tolerance", drawn_tolerance, 0, 10);
  }

  static void take_wrong(LessonBlock& block, LessonQuestion& ask) {
    constexpr std::array<std::string_view, 1> of_any = {"say"};
    constexpr std::array<std::string_view, 2> of_options = {"choice", "say"}, of_number = {"near", "say"},
                                              of_drawing = {"drawn", "say"};
    const bool chosen = ask.kind == QuestionKind::choice || ask.kind == QuestionKind::point;
    std::span<const std::string_view> keys = of_any;
    if (chosen) keys = of_options;
    if (ask.kind == QuestionKind::number) keys = of_number;
    if (ask.kind == QuestionKind::draw) keys = of_drawing;
    for (const toml::table* row : block.tables("wrong", most_options, keys)) {
      const int place = LessonBlock::line_of(*row);
      LessonWrong wrong;
      wrong.line = block.line() + place - 1;
      if (row->contains("choice")) {
        const auto option = (*row)["choice"].value_exact<std::int64_t>().value_or(0);
        if (option < 1 || option > static_cast<std::int64_t>(ask.options.size()))
          return block.fail(place, fmt::format("choice must be the place of an option, 1 to {}", ask.options.size()));
        wrong.option = static_cast<int>(option) - 1;
      }
      if (row->contains("near")) wrong.near = {block.text_in(*row, "near"), wrong.line};
      if (row->contains("drawn")) {
        const std::string way = block.text_in(*row, "drawn");
        const auto known = std::find(drawn_way_names.begin(), drawn_way_names.end(), way);
        if (known == drawn_way_names.end()) return block.fail(place, "drawn must be \"above\", \"below\" or \"shape\"");
        wrong.drawn = static_cast<DrawnWay>(known - drawn_way_names.begin());
      }
      const std::string words = block.text_in(*row, "say");
      if (block.error()) return;
      wrong.say = block.prose_of(words, wrong.line);
      for (const LessonWrong& before : ask.wrong) {
        if (before.takes_all())
          return block.fail(place, "this reason comes after the one for every other answer: move it before that one");
        if (wrong.option >= 0 && before.option == wrong.option)
          return block.fail(place, fmt::format("option {} has a second reason: keep one", wrong.option + 1));
        if (wrong.drawn && before.drawn == wrong.drawn)
          return block.fail(place, fmt::format("drawn = \"{}\" has a second reason: keep one", to_string(*wrong.drawn)));
      }
      ask.wrong.push_back(std::move(wrong));
    }
  }

  static void take_reveal(LessonBlock& block, LessonPage& page) {
    if (page.reveal) return block.fail(1, "the page has a second reveal: keep one");
    constexpr std::array<std::string_view, 4> keys = {"say", "play", "link", "look"};
    block.allow(keys);
    LessonReveal reveal;
    reveal.say = block.prose("say");
    reveal.keys = block.text("link", false);
    reveal.look = panels_of(block);
    const std::string play = block.text("play", false);
    if (play == "end") {
      reveal.play = LessonReveal::Play::end;
    } else if (play.starts_with("step:")) {
      reveal.play = LessonReveal::Play::step;
      const char* const end = play.data() + play.size();
      const auto [at, code] = std::from_chars(play.data() + 5, end, reveal.step);
      if (code != std::errc() || at != end || reveal.step < 0) block.fail_key("play", "play = \"step:…\" needs a whole number");
    } else if (!play.empty() && play != "none") {
      block.fail_key("play", "play must be \"end\", \"step:37\" or \"none\"");
    }
    page.reveal = std::move(reveal);
  }

  void take_try(LessonBlock& block, LessonPage& page) const {
    if (page.task) return block.fail(1, "the page has a second task: begin another page");
    constexpr std::array<std::string_view, 5> keys = {"free", "say", "goal", "done", "solution"};
    block.allow(keys);
    LessonTry task;
    task.line = block.line();
    task.free = block.texts("free", 12);
    for (const std::string& key : task.free) {
      // A link with the key alone is read, or refused for its value; only an unknown key is called one.
      const Result<WindowState> read = from_link(fmt::format("{}=?", key));
      if (!read && std::string(read.error().sentence).starts_with("a link has no key"))
        block.fail_key("free", std::string(read.error().sentence));
    }
    task.say = block.prose("say");
    task.goal = expression(block, "goal");
    task.done = block.prose("done");
    if (block.has("solution")) task.solution = LessonVariant{"", block.text("solution"), {}};
    page.task = std::move(task);
  }

  static void take_notes(LessonBlock& block, LessonPage& page) {
    constexpr std::array<std::string_view, 1> keys = {"text"};
    block.allow(keys);
    page.notes.push_back(block.prose("text"));
  }

  std::string_view origin_;
  Lesson lesson_;
};

}  // namespace

Result<std::shared_ptr<const Lesson>> parse_lesson(std::string_view text, std::string_view id, std::string_view origin) {
  return LessonReader(id, origin).read(text);
}

Result<LessonHead> parse_lesson_head(std::string_view text, std::string_view origin) {
  return LessonReader("", origin).read_head(text);
}

}  // namespace tilescope
