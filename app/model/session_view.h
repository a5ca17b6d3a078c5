// SessionView: what a panel may read. Panels never run the model.
//
//   Session ──SessionView──► panels ──Command──► Session ──► worker (simulate, run_block) ──► Session
#pragma once

#include <cstdint>
#include <span>

#include "app/model/lane.h"
#include "app/model/lesson_view.h"
#include "app/model/mask_study.h"
#include "app/model/measured.h"
#include "app/model/pinned.h"
#include "app/model/playback.h"
#include "app/model/requested.h"
#include "app/model/studies.h"
#include "app/model/worker.h"
#include "app/model/workspace.h"

namespace tilescope {

class Glossary;          // app/model/glossary.h
struct CalibrationView;  // app/model/calibration.h
class Lecture;           // app/model/lecture.h
struct ExportView;       // app/model/export_job.h

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

}  // namespace tilescope
