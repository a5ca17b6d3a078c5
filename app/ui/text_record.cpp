// Puts pieces of text into rows.
#include "app/ui/text_record.h"

#include <algorithm>

namespace tilescope {

namespace {

TextRecording*& recording() {
  thread_local TextRecording* active = nullptr;
  return active;
}

}  // namespace

TextRecording::TextRecording() {
  recording() = this;
}

TextRecording::~TextRecording() {
  recording() = nullptr;
}

void record_text(ImVec2 at, float height, std::string_view text) {
  TextRecording* const active = recording();
  if (active == nullptr || text.empty()) return;
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  active->pieces_.push_back({at, height, std::move(line)});
}

std::string TextRecording::text() const {
  std::vector<const Piece*> order;
  for (const Piece& piece : pieces_) order.push_back(&piece);
  const auto middle = [](const Piece* piece) { return piece->at.y + 0.5F * piece->height; };
  std::stable_sort(order.begin(), order.end(), [&](const Piece* a, const Piece* b) { return middle(a) < middle(b); });
  std::string out;
  for (auto row = order.begin(); row != order.end();) {
    const auto end =
        std::find_if(row, order.end(), [&](const Piece* piece) { return middle(piece) - middle(*row) > 0.4F * (*row)->height; });
    std::stable_sort(row, end, [](const Piece* a, const Piece* b) { return a->at.x < b->at.x; });
    for (auto piece = row; piece != end; ++piece) {
      if (piece != row) out += '\t';
      out += (*piece)->text;
    }
    out += '\n';
    row = end;
  }
  return out;
}

}  // namespace tilescope
