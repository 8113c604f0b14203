#include "src/model/blas.h"

#include <cblas.h>

namespace espalier::model {
namespace {

CBLAS_TRANSPOSE Order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

}  // namespace

template <>
void Multiply<float>(int64_t m, int64_t n, int64_t k, Matrix<float> a, Matrix<float> b, bool add,
                     float* c, int64_t c_pitch) {
  cblas_sgemm(CblasRowMajor, Order(a.transposed), Order(b.transposed), m, n, k, 1.0f, a.data,
              a.pitch, b.data, b.pitch, add ? 1.0f : 0.0f, c, c_pitch);
}

template <>
void Multiply<double>(int64_t m, int64_t n, int64_t k, Matrix<double> a, Matrix<double> b, bool add,
                      double* c, int64_t c_pitch) {
  cblas_dgemm(CblasRowMajor, Order(a.transposed), Order(b.transposed), m, n, k, 1.0, a.data,
              a.pitch, b.data, b.pitch, add ? 1.0 : 0.0, c, c_pitch);
}

}  // namespace espalier::model
