// SessionView: what a panel may read. Panels never run the model.
//
//   Session ──SessionView──► panels ──Command──► Session ──► worker (simulate, run_block) ──► Session
#pragma once

#include <cstdint>
#include <span>

#include "app/model/background/worker.h"
#include "app/model/lessons/lesson_view.h"
#include "app/model/requests/requested.h"
#include "app/model/session/lane.h"
#include "app/model/session/mask_study.h"
#include "app/model/session/measured.h"
#include "app/model/session/pinned.h"
#include "app/model/session/studies.h"
#include "app/model/state/playback.h"
#include "app/model/state/workspace.h"

namespace tilescope {

class Glossary;          // app/model/lessons/glossary.h
struct CalibrationView;  // app/model/measurements/calibration.h
class Lecture;           // app/model/lessons/lecture.h
struct ExportView;       // app/model/session/export_job.h
struct WindowState;      // app/model/state/window_state.h

/// The const views of the session's objects, to be read until its next tick() or apply().
struct SessionView {
  const Requested* requested = nullptr;  // what the controls show; may be newer than the simulation
  PlaybackView playback;
  std::span<const Lane> lanes;  // never empty once the first simulation is there
  MeasuredView measured;
  PinnedView pinned;
  const Workspace* workspace = nullptr;
  const ExportView* exporting = nullptr;
  const StudyView* studies = nullptr;  // what the views of many simulations are made of
  MaskView mask;                       // what the Mask view shows
  WorkView work, background_work;      // for the lanes; for studies, validation and measurements
  LessonView lesson;
  const CalibrationView* calibration = nullptr;  // of this machine's GPU
  const Glossary* glossary = nullptr;            // never null in a session
  bool opening = false;                          // a state is on its way: OpenState
  bool can_undo = false, can_redo = false;
  std::uint64_t revision = 0;  // counts what may have changed the state
  const Lecture* lecture = nullptr;

  const Lane& lane() const { return lanes.back(); }  // the chosen algorithm
};

/// Collects the state from what a session shows: of a request that is refused or under way, the one on screen.
WindowState window_state_of(const SessionView& view);

}  // namespace tilescope
