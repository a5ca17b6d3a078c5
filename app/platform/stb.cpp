// The code of stb, which is a header each. Apart from ours, so that clang-tidy can leave it out.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_IMPLEMENTATION
#include "app/platform/stb.h"
