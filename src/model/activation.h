// Activations, row by row while the row is in the first-level cache. Internal to model/.
//
//   relu max(0, x) · leaky_relu x or 0.01 x · elu x or exp(x) - 1 · gelu x Phi(x) (exact, by erf)
//   silu x sigmoid(x) · tanh · sigmoid · identity
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/job_spec.h"

namespace espalier::model {

// Whether the backward pass needs a stored derivative. It does not for relu, whose activation is
// positive just where its derivative is not 0 (after dropout too, but not when a residual link has
// added to it), nor for a bare identity.
bool StoresDerivative(spec::Activation activation, double dropout, bool residual);

// z[i] becomes the activation of z[i] + bias[i]; derivative[i] its derivative there (null when not
// stored). REQUIRES: all aligned, size a multiple of kPadding.
template <typename T>
void ActivateRow(spec::Activation activation, const T* bias, T* z, T* derivative, int64_t size);

// delta[i] *= derivative[i], or for a null derivative: delta[i] = activation[i] > 0 ? delta[i] *
// scale : 0 (relu), or nothing (identity).
template <typename T>
void BackRow(spec::Activation kind, const T* activation, const T* derivative, T scale, T* delta,
             int64_t size);

}  // namespace espalier::model
