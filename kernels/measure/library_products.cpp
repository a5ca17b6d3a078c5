// cuBLASLt, opened at run time, for the two products of attention.
#include "kernels/measure/library_products.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <memory>
#include <string>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

#ifndef TILESCOPE_CUDA_LIBRARY_DIR
#define TILESCOPE_CUDA_LIBRARY_DIR ""
#endif

constexpr std::int64_t workspace_bytes = 32 * 1024 * 1024;

struct Library {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtMatmulDescCreate) product_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) product_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) product_set = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  cublasLtHandle_t handle = nullptr;
  DeviceMemory workspace;
};

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<std::unique_ptr<Library>> open() {
  void* file = nullptr;
  const std::string beside = TILESCOPE_CUDA_LIBRARY_DIR;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if ((file = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    if (!beside.empty() && (file = dlopen((beside + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    if ((file = dlopen((std::string("/usr/local/cuda/lib64/") + name).c_str(), RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  }
  if (file == nullptr)
    return Error{
        phrase("libcublasLt was not found: standard_cublas needs the cuBLAS of the CUDA toolkit; the other kernels do not"),
        Error::Kind::machine_lacks};
  auto library = std::make_unique<Library>();
  Library& l = *library;
  const bool complete =
      load(file, "cublasLtCreate", l.create) && load(file, "cublasLtMatmulDescCreate", l.product_create) &&
      load(file, "cublasLtMatmulDescDestroy", l.product_destroy) && load(file, "cublasLtMatmulDescSetAttribute", l.product_set) &&
      load(file, "cublasLtMatrixLayoutCreate", l.layout_create) && load(file, "cublasLtMatrixLayoutDestroy", l.layout_destroy) &&
      load(file, "cublasLtMatrixLayoutSetAttribute", l.layout_set) &&
      load(file, "cublasLtMatmulPreferenceCreate", l.preference_create) &&
      load(file, "cublasLtMatmulPreferenceDestroy", l.preference_destroy) &&
      load(file, "cublasLtMatmulPreferenceSetAttribute", l.preference_set) &&
      load(file, "cublasLtMatmulAlgoGetHeuristic", l.heuristic) && load(file, "cublasLtMatmul", l.matmul);
  if (!complete || l.create(&l.handle) != CUBLAS_STATUS_SUCCESS)
    return Error{phrase("libcublasLt was found but could not be started: standard_cublas is not available"),
                 Error::Kind::machine_lacks};
  Result<DeviceMemory> workspace = DeviceMemory::allocate(workspace_bytes);
  if (!workspace) return workspace.error();
  l.workspace = std::move(*workspace);
  return library;
}

/// Opens the library once; a failure lasts for the life of the program.
Result<Library*> library() {
  static Result<std::unique_ptr<Library>> opened = open();
  if (!opened) return opened.error();
  return opened->get();
}

/// A batch of row-major matrices. cuBLASLt is column-major, so it sees each matrix transposed.
struct Matrix {
  const void* data;
  std::int64_t rows, cols, pitch;  // pitch: elements from one row to the next
  std::int64_t stride() const { return rows * pitch; }
};

struct Layout {
  Library& library;
  cublasLtMatrixLayout_t layout = nullptr;

  Layout(Library& l, const Matrix& m, cudaDataType type, std::int64_t batch) : library(l) {
    library.layout_create(&layout, type, static_cast<std::uint64_t>(m.cols), static_cast<std::uint64_t>(m.rows), m.pitch);
    const int count = static_cast<int>(batch);
    const std::int64_t stride = m.stride();
    library.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    library.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { library.layout_destroy(layout); }
};

/// Queues C = factor A op(B), all row-major. cuBLASLt computes the transposed C^T = factor op(B)^T A^T.
Status multiply(const Matrix& a, const Matrix& b, bool transpose_b, const Matrix& c, float factor, std::int64_t batch,
                DataType dtype, StreamHandle stream) {
  Result<Library*> opened = library();
  if (!opened) return opened.error();
  Library& l = **opened;
  const cudaDataType type = dtype == DataType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  l.product_create(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  l.preference_create(&preference);
  const cublasOperation_t operation = transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  l.product_set(product, CUBLASLT_MATMUL_DESC_TRANSA, &operation, sizeof(operation));
  const std::uint64_t space = workspace_bytes;
  l.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space, sizeof(space));
  cublasStatus_t status;
  {
    const Layout left(l, b, type, batch), right(l, a, type, batch), result(l, c, type, batch);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    status = l.heuristic(l.handle, product, left.layout, right.layout, result.layout, result.layout, preference, 1, &found, &count);
    if (status == CUBLAS_STATUS_SUCCESS && count > 0) {
      const float zero = 0;
      void* const to = const_cast<void*>(c.data);
      status = l.matmul(l.handle, product, &factor, b.data, left.layout, a.data, right.layout, &zero, to, result.layout, to,
                        result.layout, &found.algo, l.workspace.address(), static_cast<std::size_t>(workspace_bytes),
                        static_cast<cudaStream_t>(stream));
    } else if (status == CUBLAS_STATUS_SUCCESS) {
      status = CUBLAS_STATUS_NOT_SUPPORTED;
    }
  }
  l.preference_destroy(preference);
  l.product_destroy(product);
  if (status != CUBLAS_STATUS_SUCCESS)
    return Error{phrase("cuBLASLt has no product of {} x {} by {} x {} (status {}): use standard for this shape", a.rows, a.cols,
                        transpose_b ? b.cols : b.rows, transpose_b ? b.rows : b.cols, static_cast<int>(status)),
                 Error::Kind::machine_lacks};
  return Done{};
}

}  // namespace

Status multiply_scores(const AttentionProblem& p, const DeviceTensors& tensors, StreamHandle stream) {
  const std::int64_t rows = p.heads / p.kv_heads * p.seq_q, d = p.head_dim;
  const Matrix q{tensors.q, rows, d, d}, k{tensors.k, p.seq_kv, d, d}, s{tensors.s, rows, p.seq_kv, row_pitch(p.seq_kv, p.dtype)};
  return multiply(q, k, true, s, static_cast<float>(p.scale()), p.batch * p.kv_heads, p.dtype, stream);
}

Status multiply_output(const AttentionProblem& p, const DeviceTensors& tensors, StreamHandle stream) {
  const std::int64_t rows = p.heads / p.kv_heads * p.seq_q, d = p.head_dim;
  const Matrix weights{tensors.p, rows, p.seq_kv, row_pitch(p.seq_kv, p.dtype)}, v{tensors.v, p.seq_kv, d, d},
      o{tensors.o, rows, d, d};
  return multiply(weights, v, false, o, 1.f, p.batch * p.kv_heads, p.dtype, stream);
}

}  // namespace tilescope
