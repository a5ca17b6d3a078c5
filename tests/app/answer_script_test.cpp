// What an exported page judges answers by, and how the program judges the same ones. tests/page_judges.js runs the page's script.
#include "app/answer_script.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/typed_quantity.h"

using namespace tilescope;
using Json = nlohmann::json;

namespace {

Json cases() {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/tests/app/model/lessons/typed_answers.json");
  return Json::parse(file);
}

struct Asked {
  LessonQuestion question;
  PageFigures figures;
};

Asked asked(const Json& ask) {
  Asked out;
  LessonQuestion& question = out.question;
  const auto kind = ask["kind"].get<std::string>();
  while (to_string(question.kind) != kind) question.kind = static_cast<QuestionKind>(static_cast<int>(question.kind) + 1);
  question.unit = *figure_unit_from(ask["unit"].get<std::string>());
  question.tolerance = ask.value("tolerance", 0.0);
  question.options.resize(ask.value("options", 0U));
  question.xs = ask.value("xs", std::vector<double>());
  out.figures.answer = ask.value("answer", 0.0);
  out.figures.values = ask.value("values", std::vector<double>());
  out.figures.curve = ask.value("curve", std::vector<double>());
  const auto add = [&](const LessonWrong& wrong, double near) {
    question.wrong.push_back(wrong);
    out.figures.near.push_back(near);
  };
  for (const Json& near : ask.value("near", Json::array())) {
    LessonWrong wrong;
    if (!near.is_null()) wrong.near.text = "a figure";
    add(wrong, near.is_null() ? 0 : near.get<double>());
  }
  for (const Json& option : ask.value("wrong", Json::array())) {
    LessonWrong wrong;
    wrong.option = option.get<int>();
    add(wrong, 0);
  }
  for (const Json& way : ask.value("drawn", Json::array())) {
    LessonWrong wrong;
    wrong.drawn = way == "above" ? DrawnWay::above : way == "below" ? DrawnWay::below : DrawnWay::shape;
    add(wrong, 0);
  }
  return out;
}

/// Returns the answer that these fields of a page stand for; one that is not complete if a number cannot be read.
LessonAnswer answered(const Json& fields, const LessonQuestion& question) {
  LessonAnswer out;
  out.option = fields.value("chosen", 0);
  const auto typed = fields.value("typed", std::vector<std::string>());
  out.order.resize(question.kind == QuestionKind::order ? typed.size() : 0, -1);
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const double number = typed_quantity(typed[i], question.unit).value_or(std::nan(""));
    out.number = number;
    out.drawn.push_back(number);
    if (question.kind == QuestionKind::order && number >= 1 && number <= static_cast<double>(typed.size()))
      out.order[static_cast<std::size_t>(number) - 1] = static_cast<int>(i);
  }
  return out;
}

/// "right", "incomplete", "wrong", or the place of the reason.
Json verdict(const Asked& ask, const LessonAnswer& answer) {
  if (!is_complete(ask.question, answer)) return "incomplete";
  if (is_right(ask.question, answer, ask.figures)) return "right";
  const LessonWrong* const why = why_wrong(ask.question, answer, ask.figures);
  return why == nullptr ? Json("wrong") : Json(why - ask.question.wrong.data());
}

}  // namespace

TEST_CASE("answer script: the program judges the answers of the table as it says") {
  const Json table = cases();
  for (const Json& one : table["questions"]) {
    const Asked ask = asked(one["ask"]);
    for (const Json& fields : one["answers"])
      CHECK_MESSAGE(verdict(ask, answered(fields, ask.question)) == fields["is"], one["ask"].dump() << fields.dump());
  }
}

TEST_CASE("answer script: units have the names that the table says") {
  const Json table = cases();
  for (const Json& row : table["units"])
    for (const auto& unit : row["of"].get<std::vector<std::string>>()) {
      Json names = Json::object();
      for (const auto& [name, factor] : unit_suffixes(*figure_unit_from(unit))) names[std::string(name)] = factor;
      CHECK_MESSAGE(names == row["units"], unit);
      CHECK_MESSAGE(plain_factor(*figure_unit_from(unit)) == row["plain"], unit);
    }
}

TEST_CASE("answer script: a page is given what the table says that its script judges by") {
  const Json table = cases();
  for (const Json& one : table["questions"]) {
    const Asked ask = asked(one["ask"]);
    Json expected = one["page"];
    for (const Json& row : table["units"]) {
      const auto of = row["of"].get<std::vector<std::string>>();
      if (std::find(of.begin(), of.end(), one["ask"]["unit"]) == of.end()) continue;
      expected["plain"] = row["plain"];
      expected["units"] = row["units"];
    }
    CHECK_MESSAGE(Json::parse(judged_by(ask.question, ask.figures)) == expected, judged_by(ask.question, ask.figures));
  }
}
