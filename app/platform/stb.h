// The parts of stb that are used: PNG, from memory and to memory.
#pragma once

#define STBI_WRITE_NO_STDIO
#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#include <stb_image.h>
#include <stb_image_write.h>
