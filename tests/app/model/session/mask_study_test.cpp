// MaskStudy: the picture follows the controls, counts are those of every element, and a fault keeps the last good picture.
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "app/model/session/mask_study.h"
#include "tests/app/model/session/opened_session.h"

namespace tilescope {

namespace {

MaskChoice condition(std::string text) {
  MaskChoice choice;
  choice.masks = {std::move(text)};
  return choice;
}

}  // namespace

TEST_CASE("mask study: the boxes cover every block once, and say what each is") {
  AttentionProblem p;
  p.heads = p.kv_heads = 2;
  p.seq_q = 100;
  p.seq_kv = 84;
  const auto made = make_mask_picture(condition("q >= kv && q - kv < 20 + 10 * h"), p, {8, 8}, 1);
  REQUIRE(made);
  const MaskPicture& picture = **made;
  CHECK(picture.rows == 13);
  CHECK(picture.cols == 11);
  std::vector<int> seen(static_cast<std::size_t>(picture.blocks()), 0);
  for (const TileBox& box : picture.boxes)
    for (std::int64_t row = box.first_row; row < box.end_row; ++row)
      for (std::int64_t col = box.first_col; col < box.end_col; ++col) {
        ++seen[static_cast<std::size_t>(row * picture.cols + col)];
        std::int64_t visible = 0, all = 0;
        for (std::int64_t q = row * 8; q < std::min<std::int64_t>(100, row * 8 + 8); ++q)
          for (std::int64_t kv = col * 8; kv < std::min<std::int64_t>(84, col * 8 + 8); ++kv, ++all)
            visible += q >= kv && q - kv < 30 ? 1 : 0;
        CHECK(box.visibility == (visible == 0     ? TileVisibility::empty
                                 : visible == all ? TileVisibility::full
                                                  : TileVisibility::partial));
      }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
  CHECK(picture.empty + picture.partial + picture.full == picture.blocks());
  CHECK(depth_of(picture, {0, 13, 0, 11, TileVisibility::full, true}) == 0);
  CHECK(depth_of(picture, {0, 1, 0, 1, TileVisibility::full, true}) == 3);
}

TEST_CASE("mask study: totals over all planes are those of every element") {
  AttentionProblem p;
  p.batch = 2;
  p.heads = p.kv_heads = 3;
  p.seq_q = p.seq_kv = 48;
  p.head_dim = 16;
  const MaskChoice choice = condition("q >= kv && q - kv < 4 * (h + 1)");
  const auto made = make_mask_picture(choice, p, {16, 16}, 0);
  REQUIRE(made);
  const auto totals = count_mask(*made, choice);
  REQUIRE(totals);
  std::int64_t visible = 0;
  for (int h = 0; h < 3; ++h)
    for (int q = 0; q < 48; ++q)
      for (int kv = 0; kv < 48; ++kv) visible += q >= kv && q - kv < 4 * (h + 1) ? 1 : 0;
  CHECK(totals->visible == 2 * visible);
  CHECK(totals->elements == 6 * 48 * 48);
  CHECK(totals->empty + totals->partial + totals->full == 6 * 9);
  // Each head visits its diagonal and the blocks below it: 3 + 2 of 9.
  CHECK(totals->partial + totals->full == 6 * 5);
  CHECK(totals->products == 4 * 16 * 6 * 5 * 256);
  CHECK(totals->kv_bytes == 2 * 16 * 2 * 6 * 5 * 16);
  CHECK(totals->dense_kv_bytes == 2 * 16 * 2 * 6 * 3 * 48);
}

TEST_CASE("mask study: without a mask every block is full, and causal is a mask") {
  AttentionProblem p;
  p.seq_q = p.seq_kv = 64;
  CHECK((*make_mask_picture({}, p, {16, 16}, 0))->full == 16);
  CHECK_FALSE((*make_mask_picture({}, p, {16, 16}, 0))->masked);
  p.causal = true;
  const auto causal = make_mask_picture({}, p, {16, 16}, 0);
  REQUIRE(causal);
  CHECK((*causal)->masked);
  CHECK((*causal)->partial == 4);
  CHECK((*causal)->empty == 6);
}

TEST_CASE("mask study: conditions that hide every key by themselves are named, and only where nothing is visible") {
  const auto never = [](std::vector<std::string> masks, bool causal = false) {
    AttentionProblem p;
    p.seq_q = p.seq_kv = 64;
    p.causal = causal;
    MaskChoice choice;
    choice.masks = std::move(masks);
    const auto picture = make_mask_picture(choice, p, {16, 16}, 0);
    REQUIRE(picture);
    return (*picture)->never;
  };
  CHECK(never({"kv < 0"}) == std::vector<std::string>{"kv < 0"});
  CHECK(never({"q >= kv", "q == 100"}) == std::vector<std::string>{"q == 100"});
  CHECK(never({"kv < 8", "kv >= 8"}).empty());  // each leaves something
  CHECK(never({"q < kv"}, true).empty());
  CHECK(never({"q >= kv"}).empty());
}

TEST_CASE("mask study: the view follows the controls, and a text that cannot be read leaves the last good picture") {
  Opened opened;
  opened.after(SetCenter{CenterView::mask});
  REQUIRE(opened.view().mask.picture);
  SessionView view = opened.after(SetMasking{condition("q >= kv")});
  CHECK(view.requested->request.algorithm == "flex");
  CHECK(view.lane().simulation->request.problem.mask != nullptr);
  CHECK(view.mask.picture->empty > 0);
  REQUIRE(view.mask.totals);
  CHECK(view.mask.totals->of == view.mask.picture);
  const auto before = view.mask.picture;
  view = opened.after(SetMasking{condition("q >= kw")});
  REQUIRE(view.workspace->message);
  CHECK(view.workspace->message->control == "mask.0");
  CHECK(view.workspace->message->error.sentence == "column 6: unknown name 'kw': did you mean kv?");
  CHECK(view.requested->request.masking == condition("q >= kv"));
  CHECK(view.mask.picture == before);
  view = opened.after(SetMasking{condition("q // (kv - 5) > 0")});
  CHECK(view.mask.fault.has_value());
  CHECK(view.mask.picture == before);
  view = opened.after(SetMasking{condition("q > kv")});
  CHECK_FALSE(view.mask.fault.has_value());
  CHECK(view.mask.picture != before);
}

TEST_CASE("mask study: a mask that changes the program says so until it was read, and nothing is said where it stays") {
  Opened opened;
  opened.session.apply(SetMasking{condition("q >= kv")});
  opened.session.finish();
  REQUIRE(opened.view().workspace->message);
  CHECK(opened.view().workspace->message->notice == Notice::program_for_mask);
  CHECK(opened.view().workspace->message->program == "flex");
  opened.after(CancelWork{});
  const SessionView view = opened.after(SetMasking{condition("q > kv")});
  CHECK_FALSE(view.workspace->message);
}

TEST_CASE("mask study: a condition beside a problem that is refused chooses a program, whatever ran before") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    Opened opened;
    opened.after(SetAlgorithm{std::string(info.id)});
    for (std::int64_t AttentionProblem::*length :
         {&AttentionProblem::seq_q, &AttentionProblem::seq_kv, &AttentionProblem::head_dim}) {
      AttentionProblem problem = opened.view().requested->request.problem;
      problem.*length = 0;
      opened.after(SetProblem{problem, "problem"});
      const SessionView view = opened.after(SetMasking{condition("q >= kv")});
      CHECK(view.workspace->message);
    }
  }
}

TEST_CASE("mask study: a mask that hides every key says so when its run arrives, and another mask takes the sentence away") {
  Opened opened;
  SessionView view = opened.after(SetMasking{condition("q < kv - 1000")});
  REQUIRE(view.workspace->message);
  CHECK(view.workspace->message->notice == Notice::mask_shows_nothing);
  CHECK_FALSE(is_good(*view.workspace->message));
  view = opened.after(SetMasking{condition("q > kv")});
  CHECK_FALSE(view.workspace->message);
}

TEST_CASE("mask study: who decided is counted over the same planes as the states of the blocks") {
  AttentionProblem p;
  p.seq_q = p.seq_kv = 64;
  p.heads = p.kv_heads = 4;
  p.batch = 2;
  for (const char* text : {"q >= kv", "q - kv < 4 * h", "q * kv % 7 < 3 + b"}) {
    CAPTURE(text);
    const auto picture = make_mask_picture(condition(text), p, {16, 16}, 0);
    REQUIRE(picture);
    const auto totals = count_mask(*picture, condition(text));
    REQUIRE(totals);
    CHECK(totals->by_analysis + totals->by_evaluation == totals->empty + totals->partial + totals->full);
    CHECK(totals->by_analysis + totals->by_evaluation == 8 * (*picture)->blocks());
  }
}

TEST_CASE("mask study: another length keeps the text and makes the mask anew") {
  Opened opened;
  opened.after(SetMasking{condition("q - kv < 4 && q >= kv")});
  const SessionView view = opened.after(SetProblem{with_rows(opened.view(), 32), "seq"});
  CHECK_FALSE(view.workspace->message.has_value());
  CHECK(view.lane().simulation->request.problem.seq_q == 32);
  CHECK(view.lane().simulation->request.problem.mask->visible(0, 31, 30));
}

TEST_CASE("mask study: elements of a rectangle are those of the mask") {
  Opened opened;
  opened.after(SetMasking{condition("(q + kv) % 3 == 0")});
  opened.after(SetCenter{CenterView::mask});
  const SessionView view = opened.after(LookAtMask{0, {2, 5}, {1, 7}});
  REQUIRE(view.mask.elements);
  for (std::int64_t q = 2; q < 7; ++q)
    for (std::int64_t kv = 1; kv < 8; ++kv) CHECK(view.mask.elements->at(q, kv) == ((q + kv) % 3 == 0));
}

TEST_CASE("mask study: a tile's visit names its block, its SM and its step, and a hidden tile is skipped") {
  Opened opened;
  opened.after(SetMasking{condition("q >= kv && q - kv < 4")});
  SessionView view = opened.after(AskVisit{0, 63, 0});
  REQUIRE(view.mask.visit);
  CHECK(view.mask.visit->op == -1);
  view = opened.after(AskVisit{0, 13, 12});
  REQUIRE(view.mask.visit);
  const TileVisit visit = *view.mask.visit;
  REQUIRE(visit.op >= 0);
  BlockOperations owner;  // flex begins with the last rows, so the block's number says nothing
  view.lane().simulation->program->emit_block(visit.launch, visit.block, owner);
  CHECK(owner.domain.axis == Axis::query);
  CHECK(owner.domain.first <= 13);
  CHECK(13 < owner.domain.end());
  view = opened.after(FocusBlock{visit.sm, visit.launch, visit.block, visit.start, visit.op});
  REQUIRE(view.lane().operation != nullptr);
  CHECK(view.lane().operation->kind == OpKind::load);
  CHECK(view.lane().operation->tile.tensor.means(Meaning::key));
  CHECK(view.lane().operation->tile.row <= 12);
  CHECK(12 < view.lane().operation->tile.row + view.lane().operation->tile.rows);
  view = opened.after(AskVisit{0, 13, 12});
  CHECK(view.mask.visit->step == view.playback.step);
}

TEST_CASE("mask study: at 131,072 queries the picture of a plane takes less than a thirtieth of a second") {
  AttentionProblem p;
  p.seq_q = p.seq_kv = 131072;
  const MaskChoice choice =
      condition("let window = 4096; let length = 9000; q >= kv && q - kv < window && q // length == kv // length");
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(make_mask_picture(choice, p, {128, 128}, 0));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  MESSAGE("picture of 131,072 queries: " << best * 1e3 << " ms");
  CHECK(best < 1.0 / 30);
}

}  // namespace tilescope
