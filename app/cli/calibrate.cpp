// `tilescope calibrate`.
#include "app/cli/calibrate.h"

#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/model/measurements/calibrated_gpu.h"

namespace tilescope {

Status run_calibrate(const CommandLine& line, std::FILE* out, std::FILE* err) {
  constexpr std::string_view no_gpu_given = "toy";  // the default of --gpu, which is no real GPU
  ProgressPrinter progress(err, line.quiet);
  const Result<CalibratedGpu> made = calibrate_this_machine(
      line.gpu == no_gpu_given ? std::string() : line.gpu,
      [&](const Sentence& step, int done, int of) {
        progress.show(fmt::format("calibrate: {} of {}: {}", done + 1, of, step.text()));
        return true;
      },
      line.brief ? brief_effort : CalibrationEffort{});
  if (!made) return made.error();
  progress.end();
  if (line.brief) return Done{};
  return write_or_print(line.out, made->file, out);
}

}  // namespace tilescope
