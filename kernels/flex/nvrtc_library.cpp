// Finds libnvrtc beside the toolkit or on the system, and compiles with it.
#include "kernels/flex/nvrtc_library.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <vector>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

#ifndef TILESCOPE_CUDA_LIBRARY_DIR
#define TILESCOPE_CUDA_LIBRARY_DIR ""
#endif

struct Nvrtc {
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin = nullptr;
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
};

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<Nvrtc> open_nvrtc() {
  const std::string beside = TILESCOPE_CUDA_LIBRARY_DIR;
  void* library = nullptr;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    for (const std::string& folder : {std::string(), beside.empty() ? beside : beside + "/", std::string("/usr/local/cuda/lib64/"),
                                      std::string("/usr/local/cuda/lib/")})
      if (library == nullptr) library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{
        phrase(
            "libnvrtc was not found, and a mask or a score change is compiled for each request: install the CUDA toolkit's NVRTC "
            "or put its folder on LD_LIBRARY_PATH"),
        Error::Kind::machine_lacks};
  Nvrtc n;
  const bool complete = load(library, "nvrtcCreateProgram", n.create) && load(library, "nvrtcCompileProgram", n.compile) &&
                        load(library, "nvrtcDestroyProgram", n.destroy) && load(library, "nvrtcGetProgramLogSize", n.log_size) &&
                        load(library, "nvrtcGetProgramLog", n.log) && load(library, "nvrtcGetCUBINSize", n.cubin_size) &&
                        load(library, "nvrtcGetCUBIN", n.cubin) && load(library, "nvrtcGetErrorString", n.error_string);
  if (!complete) return Error{phrase("the libnvrtc found is too old: use that of CUDA 12.8 or later"), Error::Kind::machine_lacks};
  return n;
}

/// Returns the first error of a log, without the lines that show where it is.
std::string first_error(const std::string& log) {
  const std::size_t at = log.find("error");
  const std::size_t start = at == std::string::npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(start, std::min<std::size_t>(log.find('\n', start) - start, 400));
}

}  // namespace

Result<std::string> compile_with_nvrtc(const std::string& text, std::span<const EmbeddedSource> headers,
                                       const std::string& architecture) {
  const Result<Nvrtc> library = open_nvrtc();
  if (!library) return library.error();
  std::vector<std::string> names, texts;
  for (const EmbeddedSource& header : headers) names.emplace_back(header.name), texts.emplace_back(header.text);
  std::vector<const char*> name_pointers, text_pointers;
  for (std::size_t i = 0; i < names.size(); ++i)
    name_pointers.push_back(names[i].c_str()), text_pointers.push_back(texts[i].c_str());
  nvrtcProgram program = nullptr;
  const auto failed = [&](nvrtcResult code, std::string_view doing) {
    return Error{phrase("NVRTC failed while {}: {}", doing, library->error_string(code)), Error::Kind::machine_lacks};
  };
  if (const nvrtcResult code = library->create(&program, text.c_str(), "flex.cu", static_cast<int>(names.size()),
                                               text_pointers.data(), name_pointers.data());
      code != NVRTC_SUCCESS)
    return failed(code, "reading the kernel");
  const std::string arch = "--gpu-architecture=" + architecture;
  // Lambdas of device functions are device functions here too.
  std::vector<const char*> options = {arch.c_str(), "--std=c++20", "--device-as-default-execution-space"};
  std::string of_ptxas;
  if (text.starts_with(ptxas_line)) {
    of_ptxas = "--ptxas-options=" + text.substr(ptxas_line.size(), text.find('\n') - ptxas_line.size());
    options.push_back(of_ptxas.c_str());
  }
  const nvrtcResult compiled = library->compile(program, static_cast<int>(options.size()), options.data());
  std::string cubin;
  Result<std::string> result = cubin;
  if (compiled != NVRTC_SUCCESS) {
    std::size_t size = 0;
    library->log_size(program, &size);
    std::string log(size, '\0');
    library->log(program, log.data());
    result = Error{phrase("NVRTC does not take the kernel: {}", first_error(log)), Error::Kind::machine_lacks};
  } else {
    std::size_t size = 0;
    nvrtcResult code = library->cubin_size(program, &size);
    cubin.resize(size);
    if (code == NVRTC_SUCCESS) code = library->cubin(program, cubin.data());
    result = code == NVRTC_SUCCESS ? Result<std::string>(std::move(cubin)) : failed(code, "writing the cubin");
  }
  library->destroy(&program);
  return result;
}

}  // namespace tilescope
