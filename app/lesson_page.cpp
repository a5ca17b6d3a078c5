// Prose as HTML. What a reader answers stays in the page's fields; the script puts it beside the answer.
#include "app/lesson_page.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/answer_script.h"
#include "app/model/lessons/glossary.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/page_figures.h"
#include "app/step_page.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/caption.h"
#include "app/views/lesson/figure_words.h"

namespace tilescope {

namespace {

/// Writes prose; a term carries its meaning where it stands first.
class HtmlProse {
 public:
  HtmlProse(const SessionView& view, const ExpressionValues* values) : view_(view), values_(values) {}

  std::string blocks(const Prose& prose) {
    std::string out;
    for (const ProseBlock& block : prose) {
      switch (block.kind) {
        case ProseBlock::Kind::heading:
          out += fmt::format("<h3>{}</h3>", runs(block));
          break;
        case ProseBlock::Kind::code:
          out += fmt::format("<pre>{}</pre>", runs(block));
          break;
        case ProseBlock::Kind::item:
          out += fmt::format("<p style=\"margin-left:{}em\">{} {}</p>", 1.2 * (block.depth + 1),
                             block.number > 0 ? fmt::format("{}.", block.number) : "•", runs(block));
          break;
        case ProseBlock::Kind::paragraph:
          out += fmt::format("<p>{}</p>", runs(block));
          break;
      }
    }
    return out;
  }

 private:
  std::string runs(const ProseBlock& block) {
    std::string out;
    const bool plain = block.kind == ProseBlock::Kind::code || block.kind == ProseBlock::Kind::heading;
    for (const ProseRun& run : block.runs) {
      if (run.figure) {
        const auto found = values_ != nullptr ? values_->find(run.figure->expression) : ExpressionValues::const_iterator();
        const bool known = values_ != nullptr && found != values_->end();
        out += fmt::format("<b>{}</b>", html_text(known ? figure_words(found->second, run.figure->unit) : "–"));
      } else {
        const std::string text = plain || run.code ? html_text(run.text) : with_terms(run.text);
        out += run.code ? fmt::format("<code>{}</code>", text) : run.bold ? fmt::format("<b>{}</b>", text) : text;
      }
    }
    return out;
  }

  std::string with_terms(std::string_view text) {
    if (view_.glossary == nullptr) return html_text(formula_text(text));
    std::string out;
    std::size_t at = 0;
    for (const FoundTerm& found : view_.glossary->terms_in(text, view_.workspace->language)) {
      if (std::find(seen_.begin(), seen_.end(), found.entry) != seen_.end()) continue;
      seen_.push_back(found.entry);
      out += html_text(formula_text(text.substr(at, found.first - at)));
      out += fmt::format("<abbr title=\"{}\">{}</abbr>", html_text(found.entry->text(view_.workspace->language).meaning),
                         html_text(text.substr(found.first, found.last - found.first)));
      at = found.last;
    }
    return out + html_text(formula_text(text.substr(at)));
  }

  const SessionView& view_;
  const ExpressionValues* values_;
  std::vector<const GlossaryEntry*> seen_;
};

std::string text_field(std::size_t page, const std::string& label) {
  return fmt::format("<label>{} <input type=\"text\" name=\"answer-{}\" autocomplete=\"off\" placeholder=\"{}\"></label>", label,
                     page + 1, html_text(tr("Your answer")));
}

std::string x_words(const LessonQuestion& ask, double x) {
  return fmt::format("{} {}", key_words(ask.x_key),
                     figure_words(x, is_capacity(ask.x_key) ? FigureUnit::capacity : FigureUnit::number));
}

/// The question with its fields: buttons to choose from, a place for each option, or numbers to write; then a button to answer.
std::string asked(const LessonQuestion& ask, const ExpressionValues* values, std::size_t page, HtmlProse& prose) {
  std::string out = fmt::format("<fieldset data-ask=\"{}\">{}", page + 1, prose.blocks(ask.question));
  const std::string unit = unit_label(ask.unit);
  const std::string in_unit = unit.empty() ? std::string() : html_text(fmt::format(" ({})", unit));
  switch (ask.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      for (const Prose& option : ask.options) {
        const std::string words = html_text(prose_words(option, values));
        out += fmt::format("<label><input type=\"radio\" name=\"answer-{}\" value=\"{}\"> {}</label>", page + 1, words, words);
      }
      break;
    case QuestionKind::order:
      for (const Prose& option : ask.options) {
        out += fmt::format("<label><select name=\"answer-{}\"><option value=\"\">–</option>", page + 1);
        for (std::size_t i = 1; i <= ask.options.size(); ++i) out += fmt::format("<option>{}</option>", i);
        out += fmt::format("</select> {}</label>", html_text(prose_words(option, values)));
      }
      break;
    case QuestionKind::number:
      out += text_field(page, in_unit);
      break;
    case QuestionKind::draw:
      for (const double x : ask.xs) out += text_field(page, html_text(x_words(ask, x)) + in_unit);
      break;
  }
  return out + fmt::format("<p><button type=\"button\" class=\"answer\">{}</button></p></fieldset>", html_text(tr("Answer")));
}

std::string answered(const SessionView& view, const LessonPage& page, HtmlProse& revealed) {
  const LessonView& lesson = view.lesson;
  const LessonQuestion& ask = *page.ask;
  std::string out = "<fieldset>" + HtmlProse(view, &lesson.figures->shown).blocks(ask.question);
  out += fmt::format(
      "<p class=\"dim\" data-own=\"answer-{}\" data-words=\"{}\" data-good=\"{}\" data-bad=\"{}\" data-incomplete=\"{}\" "
      "data-judge=\"{}\"></p>",
      lesson.page + 1, html_text(tr("Your answer:")), html_text(tr("Right.")), html_text(tr("Not right.")),
      html_text(ask.kind == QuestionKind::order ? tr("Give each option a place of its own.")
                                                : tr("Type a number, such as 12 or 3.5.")),
      html_text(judged_by(ask, *lesson.figures)));
  for (const LessonWrong& wrong : ask.wrong)
    out += fmt::format("<div class=\"dim why\" hidden>{}</div>",
                       HtmlProse(view, &lesson.figures->revealed).blocks(reason_words(wrong)));
  out += fmt::format("<p class=\"right\">{}</p></fieldset>",
                     html_text(fmt::format("{}: {}", answer_source(ask), answer_words(ask, *lesson.figures))));
  if (page.reveal) out += revealed.blocks(page.reveal->say);
  return out;
}

}  // namespace

std::string lesson_article(const SessionView& view, LessonMoment moment, const std::string& picture) {
  const LessonView& lesson = view.lesson;
  const LessonPage& page = lesson.lesson->pages[lesson.page];
  const ExpressionValues* shown = lesson.figures != nullptr ? &lesson.figures->shown : nullptr;
  std::string text =
      fmt::format("<p class=\"dim\">{}</p><h2>{}</h2>",
                  html_text(say(tr("page {} of {}"), lesson.page + 1, lesson.lesson->pages.size())), html_text(page.title));
  HtmlProse prose(view, shown);
  if (moment == LessonMoment::playing) {
    text += fmt::format("<p>{}</p>", html_text(caption_line(View{view, nullptr})));
  } else if (moment == LessonMoment::asked) {
    text += prose.blocks(page.prose);
    if (page.ask) text += asked(*page.ask, shown, lesson.page, prose);
  } else if (page.ask && lesson.figures != nullptr) {
    HtmlProse revealed(view, &lesson.figures->revealed);
    text += answered(view, page, revealed);
  }
  const bool last_moment = moment == LessonMoment::answered || !page.ask;
  if (page.task && last_moment) {
    HtmlProse task(view, lesson.task != nullptr ? &lesson.task->shown : nullptr);
    text += fmt::format("<h3>{}</h3>{}<p class=\"dim\">{}</p>", html_text(tr("Try it")), task.blocks(page.task->say),
                        html_text(tr("The task needs the program: tilescope lesson open.")));
  }
  return fmt::format("<div>{}</div>\n<div class=\"picture\">{}</div>\n", text, picture);
}

std::string lesson_text(const SessionView& view) {
  const LessonView& lesson = view.lesson;
  if (lesson.lesson == nullptr) return {};
  const ExpressionValues* shown = lesson.figures != nullptr ? &lesson.figures->shown : nullptr;
  return HtmlProse(view, shown).blocks(lesson.lesson->pages[lesson.page].prose);
}

std::string lesson_answer(const SessionView& view) {
  const LessonView& lesson = view.lesson;
  if (lesson.lesson == nullptr || lesson.figures == nullptr) return {};
  const LessonPage& page = lesson.lesson->pages[lesson.page];
  if (!page.ask) return {};
  std::string question = HtmlProse(view, &lesson.figures->shown).blocks(page.ask->question);
  for (std::size_t i = 0; i < page.ask->options.size(); ++i)
    question += fmt::format("<p>{}</p>", lettered_choice(i, html_text(prose_words(page.ask->options[i], &lesson.figures->shown))));
  const std::string said = page.reveal ? HtmlProse(view, &lesson.figures->revealed).blocks(page.reveal->say) : std::string();
  return fmt::format("<div class=\"question\">{}</div>{}", question,
                     closed_answer(html_text(answer_words(*page.ask, *lesson.figures)), said));
}

}  // namespace tilescope
