// open_closed_streams(): descriptors 0 to 2 are never those of a file that the program opens.
#pragma once

namespace tilescope {

/// Opens the standard streams that are closed, so that reads and writes of them still fail. A file that is opened later would
/// otherwise become standard output. False where that is not possible.
bool open_closed_streams();

}  // namespace tilescope
