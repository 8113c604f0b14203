// The matrix product, as one fixed BLAS call. Internal to model/.
//
// Thread rule: safe from any thread. Each call runs on its caller's thread (InitArithmetic).
#pragma once

#include <cstdint>

namespace espalier::model {

// A row-major matrix argument of BLAS, with `pitch` elements from row to row.
template <typename T>
struct Matrix {
  const T* data = nullptr;
  int64_t pitch = 0;
  bool transposed = false;
};

// Computes c[m, n] = a[m, k] * b[k, n] + (add ? c : 0), with a and b after transposition and
// `c_pitch` elements between rows of c. REQUIRES: all sizes fit into 31 bits.
template <typename T>
void Multiply(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, bool add, T* c,
              int64_t c_pitch);
template <>
void Multiply(int64_t m, int64_t n, int64_t k, Matrix<float> a, Matrix<float> b, bool add, float* c,
              int64_t c_pitch);
template <>
void Multiply(int64_t m, int64_t n, int64_t k, Matrix<double> a, Matrix<double> b, bool add,
              double* c, int64_t c_pitch);

}  // namespace espalier::model
