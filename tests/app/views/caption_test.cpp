// The caption of a picture on paper: nothing of it is cut.
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "app/model/lessons/lecture.h"
#include "app/ui/text_record.h"
#include "app/views/caption.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"

using namespace tilescope;

TEST_CASE("caption: a scene's title is whole, and beside it stands only what has room") {
  Session::Start start = opening_start();
  auto deck = std::make_shared<Deck>();
  const std::string longest(150, 'm');
  for (const std::string& title : {std::string("Bytes"), std::string(70, 'm'), longest}) {
    deck->scenes.emplace_back();
    deck->scenes.back().title = title;
    deck->scenes.back().state = *from_link("algorithm=standard&step=5");
  }
  start.deck = deck;
  Opened opened(std::move(start));
  PanelScreen screen({1600, 60});
  const auto draw = [](const View& view, Commands&) { draw_caption({{0, 0}, {1600, caption_height(*view.theme, 1600)}}, view); };
  const auto drawn = [&](int scene) {
    opened.after(GoToScene{scene});
    const View view{opened.view(), nullptr};
    screen.frame(view, draw);
    const TextRecording recording;
    screen.frame(view, draw);
    for (const std::string& text : recording.cut()) FAIL_CHECK(text);
    return recording.text();
  };
  CHECK(drawn(0).find("Standard attention · toy") != std::string::npos);
  CHECK(drawn(0).find("Step 5") != std::string::npos);
  CHECK(drawn(1).find(std::string(70, 'm')) != std::string::npos);
  CHECK(drawn(2).find(longest) != std::string::npos);
  CHECK(drawn(2).find("Step 5") == std::string::npos);
}
