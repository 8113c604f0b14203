// Activations, computed row by row while the row is in the first-level cache. Internal to model/.
//
//   relu max(0, x) · leaky_relu x or 0.01 x · elu x or exp(x) - 1 · gelu x Phi(x) (exact, by erf)
//   silu x sigmoid(x) · tanh · sigmoid · identity
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/job_spec.h"

namespace espalier::model {

// Returns whether the backward pass needs a stored derivative. relu does not, because its
// activation is positive exactly where its derivative is not 0. That is also true after dropout,
// but not if a residual link has added to the activation. A bare identity does not need one either.
bool StoresDerivative(spec::Activation activation, double dropout, bool residual);

// Replaces z[i] by the activation of z[i] + bias[i], and derivative[i] by its derivative there
// (null if not stored). REQUIRES: all aligned, size a multiple of kPadding.
template <typename T>
void ActivateRow(spec::Activation activation, const T* bias, T* z, T* derivative, int64_t size);

// Computes delta[i] *= derivative[i]. For a null derivative: delta[i] = activation[i] > 0 ?
// delta[i] * scale : 0 (relu), or nothing (identity).
template <typename T>
void BackRow(spec::Activation kind, const T* activation, const T* derivative, T scale, T* delta,
             int64_t size);

}  // namespace espalier::model
