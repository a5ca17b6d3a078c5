// Goes through the pages with the scene that each shows.
#include "app/model/lessons/complete_lesson.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/lesson_figures.h"

namespace tilescope {

namespace {

class LessonCompletion {
 public:
  explicit LessonCompletion(Lesson& lesson) : lesson_(lesson) {}

  Status complete() {
    const LessonScene* scene = nullptr;
    for (LessonPage& page : lesson_.pages) {
      if (page.scene) scene = &*page.scene;
      if (scene == nullptr) return fail(page.line, "the first page has no scene: add a block ```scene with a link");
      if (page.title.empty()) return fail(page.line, "the page has no title: write ## Heading");
      if (page.ask && !page.reveal) return fail(page.ask->line, "the question has no reveal: add a block ```reveal");
      if (page.reveal && !page.ask)
        return fail(page.line, "the page has a reveal and no question: add a block ```ask, or use prose");
      if (const Status known = check_expressions(page, *scene); !known) return known;
      if (page.reveal)
        if (const Status made = make_revealed_scene(page, *scene); !made) return made;
      if (page.ask && page.ask->kind == QuestionKind::draw)
        if (const Status made = make_points(*page.ask, *scene); !made) return made;
      if (page.task && page.task->solution) {
        const Result<WindowState> state = from_link(changed_link(scene->link, page.task->solution->keys));
        if (!state) return fail(page.task->line, std::string(state.error().sentence));
        page.task->solution->state = *state;
      }
    }
    return Done{};
  }

 private:
  Error fail(int line, std::string_view sentence) const { return error_at(lesson_.origin, line, sentence); }

  Status check_names(const std::string& text, int line, const std::vector<std::string>& others) const {
    const auto names = names_in(text);
    if (!names) return fail(line, std::string(names.error().sentence));
    for (const std::string& name : *names)
      if (const Status known = check_figure(name, others); !known) return fail(line, std::string(known.error().sentence));
    return Done{};
  }
  Status check_names(const LessonExpression& expression, const std::vector<std::string>& others) const {
    return expression.empty() ? Status(Done{}) : check_names(expression.text, expression.line, others);
  }
  Status check_names(const Prose& prose, const std::vector<std::string>& others) const {
    for (const FigureText* figure : figures_of(prose))
      if (const Status known = check_names(figure->expression, figure->line, others); !known) return known;
    return Done{};
  }

  Status check_expressions(const LessonPage& page, const LessonScene& scene) const {
    std::vector<std::string> others;
    for (const LessonVariant& other : scene.others) others.push_back(other.name);
    std::vector<const Prose*> texts = {&page.prose};
    std::vector<const LessonExpression*> expressions;
    if (page.ask) {
      texts.push_back(&page.ask->question);
      for (const Prose& option : page.ask->options) texts.push_back(&option);
      for (const LessonExpression& value : page.ask->values) expressions.push_back(&value);
      expressions.insert(expressions.end(), {&page.ask->answer, &page.ask->curve});
      for (const LessonWrong& wrong : page.ask->wrong) {
        texts.push_back(&wrong.say);
        expressions.push_back(&wrong.near);
      }
    }
    if (page.reveal) texts.push_back(&page.reveal->say);
    for (const Prose& note : page.notes) texts.push_back(&note);
    for (const Prose* text : texts)
      if (const Status known = check_names(*text, others); !known) return known;
    for (const LessonExpression* each : expressions)
      if (const Status known = check_names(*each, others); !known) return known;
    if (!page.task) return Done{};
    others.emplace_back(scene_run);
    for (const Prose* text : {&page.task->say, &page.task->done})
      if (const Status known = check_names(*text, others); !known) return known;
    return check_names(page.task->goal, others);
  }

  /// The states of a curve's points and of the variants at each of them.
  Status make_points(LessonQuestion& ask, const LessonScene& scene) const {
    for (const double x : ask.xs) {
      const std::string change = fmt::format("{}={}", ask.x_key, x);
      const Result<WindowState> state = from_link(changed_link(scene.link, change));
      if (!state) return fail(ask.line, std::string(state.error().sentence));
      ask.points.push_back(*state);
      std::vector<LessonVariant>& others = ask.point_others.emplace_back();
      for (const LessonVariant& other : scene.others) {
        const Result<WindowState> beside = from_link(changed_link(changed_link(scene.link, other.keys), change));
        if (!beside) return fail(ask.line, std::string(beside.error().sentence));
        others.push_back({other.name, other.keys, *beside});
      }
    }
    return Done{};
  }

  /// What the window shows once the question is answered.
  Status make_revealed_scene(LessonPage& page, const LessonScene& scene) {
    LessonReveal& reveal = *page.reveal;
    if (reveal.keys.empty() && reveal.look.empty()) return Done{};
    LessonScene then = scene;
    if (!reveal.look.empty()) then.look = reveal.look;
    then.link = changed_link(scene.link, reveal.keys);
    const Result<WindowState> state = from_link(then.link);
    if (!state) return fail(page.ask->line, fmt::format("the link of the reveal: {}", std::string(state.error().sentence)));
    then.state = *state;
    if (page.task && !same_run(then.state, scene.state))
      return fail(page.ask->line, "the reveal shows another run, and the page has a task: give the task a page of its own");
    reveal.scene = std::move(then);
    return Done{};
  }

  Lesson& lesson_;
};

}  // namespace

Status complete_lesson(Lesson& lesson) {
  return LessonCompletion(lesson).complete();
}

}  // namespace tilescope
