// Icons drawn as shapes, so that they need no font and are sharp at any scale.
#include <algorithm>
#include <cmath>

#include "app/ui/widgets.h"

namespace tilescope {

namespace {

constexpr float pi = 3.14159265F;

/// Draws in a square of -1..1 around the icon's centre.
class Pen {
 public:
  Pen(ImDrawList* list, ImVec2 center, float size, ImU32 color)
      : list_(list), center_(center), half_(size * 0.5F), color_(color), stroke_(std::max(1.2F, size * 0.13F)) {}

  ImVec2 at(float x, float y) const { return {center_.x + x * half_, center_.y + y * half_}; }
  void triangle(float x, float width, float height) const {  // its tip points along `width`
    list_->AddTriangleFilled(at(x, -height), at(x + width, 0), at(x, height), color_);
  }
  void box(float x0, float y0, float x1, float y1) const { list_->AddRectFilled(at(x0, y0), at(x1, y1), color_, half_ * 0.12F); }
  void frame(float x0, float y0, float x1, float y1) const {
    list_->AddRect(at(x0, y0), at(x1, y1), color_, half_ * 0.25F, 0, stroke_);
  }
  void line(float x0, float y0, float x1, float y1) const { list_->AddLine(at(x0, y0), at(x1, y1), color_, stroke_); }
  void disc(float x, float y, float r) const { list_->AddCircleFilled(at(x, y), r * half_, color_); }
  void arc(float x, float y, float r, float from, float to) const {
    list_->PathArcTo(at(x, y), r * half_, from, to);
    list_->PathStroke(color_, 0, stroke_);
  }
  void half_disc() const {  // a ring, its right half filled: "the other theme"
    arc(0, 0, 0.85F, 0, 2 * pi);
    list_->PathArcTo(at(0, 0), half_ * 0.85F, -0.5F * pi, 0.5F * pi);
    list_->PathFillConvex(color_);
  }

 private:
  ImDrawList* list_;
  ImVec2 center_;
  float half_;
  ImU32 color_;
  float stroke_;
};

void draw_sun(const Pen& pen) {
  pen.disc(0, 0, 0.42F);
  for (int i = 0; i < 8; ++i) {
    const float angle = static_cast<float>(i) * pi / 4;
    pen.line(0.65F * std::cos(angle), 0.65F * std::sin(angle), 0.98F * std::cos(angle), 0.98F * std::sin(angle));
  }
}

void draw_present(const Pen& pen) {
  pen.frame(-1, -0.8F, 1, 0.45F);
  pen.line(0, 0.45F, 0, 0.75F);
  pen.line(-0.5F, 0.95F, 0, 0.7F);
  pen.line(0.5F, 0.95F, 0, 0.7F);
}

/// An arrow that turns back; `side` -1 to the left, 1 to the right.
void draw_turn(const Pen& pen, float side) {
  pen.line(side * 0.85F, -0.3F, side * -0.35F, -0.3F);
  pen.line(side * 0.85F, -0.3F, side * 0.4F, -0.75F);
  pen.line(side * 0.85F, -0.3F, side * 0.4F, 0.15F);
  const float from = side < 0 ? -0.5F * pi : 0.5F * pi;
  pen.arc(side * -0.35F, 0.15F, 0.45F, from, from + pi);
  pen.line(side * -0.35F, 0.6F, side * 0.3F, 0.6F);
}

/// Three nodes and the links between them.
void draw_share(const Pen& pen) {
  pen.line(-0.6F, 0, 0.6F, -0.65F);
  pen.line(-0.6F, 0, 0.6F, 0.65F);
  pen.disc(-0.65F, 0, 0.28F);
  pen.disc(0.65F, -0.68F, 0.28F);
  pen.disc(0.65F, 0.68F, 0.28F);
}

void draw_save(const Pen& pen) {  // an arrow into a tray
  pen.line(0, -0.95F, 0, 0.3F);
  pen.line(-0.45F, -0.15F, 0, 0.35F);
  pen.line(0.45F, -0.15F, 0, 0.35F);
  pen.line(-0.85F, 0.3F, -0.85F, 0.85F);
  pen.line(0.85F, 0.3F, 0.85F, 0.85F);
  pen.line(-0.85F, 0.85F, 0.85F, 0.85F);
}

void draw_question(const Pen& pen) {
  pen.arc(0, -0.4F, 0.5F, -1.0F * pi, 0.5F * pi);
  pen.line(0, 0.1F, 0, 0.42F);
  pen.disc(0, 0.85F, 0.17F);
}

}  // namespace

void draw_icon(ImDrawList* list, Icon icon, ImVec2 center, float size, ImU32 color) {
  const Pen pen(list, center, size, color);
  switch (icon) {
    case Icon::first:
      pen.box(-0.9F, -0.8F, -0.6F, 0.8F);
      pen.triangle(0.8F, -1.3F, 0.85F);
      break;
    case Icon::last:
      pen.box(0.6F, -0.8F, 0.9F, 0.8F);
      pen.triangle(-0.8F, 1.3F, 0.85F);
      break;
    case Icon::back:
      pen.triangle(0.6F, -1.35F, 0.9F);
      break;
    case Icon::forward:
      pen.triangle(-0.6F, 1.35F, 0.9F);
      break;
    case Icon::play:
      pen.triangle(-0.65F, 1.6F, 1.0F);
      break;
    case Icon::pause:
      pen.box(-0.65F, -0.85F, -0.2F, 0.85F);
      pen.box(0.2F, -0.85F, 0.65F, 0.85F);
      break;
    case Icon::sun:
      draw_sun(pen);
      break;
    case Icon::moon:
      pen.half_disc();
      break;
    case Icon::help:
      draw_question(pen);
      break;
    case Icon::present:
      draw_present(pen);
      break;
    case Icon::close:
    case Icon::cancel:
      pen.line(-0.65F, -0.65F, 0.65F, 0.65F);
      pen.line(-0.65F, 0.65F, 0.65F, -0.65F);
      break;
    case Icon::undo:
      draw_turn(pen, -1);
      break;
    case Icon::redo:
      draw_turn(pen, 1);
      break;
    case Icon::share:
      draw_share(pen);
      break;
    case Icon::save:
      draw_save(pen);
      break;
    case Icon::plus:
      pen.line(-0.75F, 0, 0.75F, 0);
      pen.line(0, -0.75F, 0, 0.75F);
      break;
    case Icon::minus:
      pen.line(-0.75F, 0, 0.75F, 0);
      break;
    case Icon::reset:
      pen.arc(0, 0, 0.75F, -0.35F * pi, 1.25F * pi);
      pen.line(0.34F, -0.67F, 0.3F, -1.05F);
      pen.line(0.34F, -0.67F, 0.75F, -0.8F);
      break;
    case Icon::chevron:
      pen.line(-0.6F, -0.3F, 0, 0.35F);
      pen.line(0.6F, -0.3F, 0, 0.35F);
      break;
  }
}

}  // namespace tilescope
