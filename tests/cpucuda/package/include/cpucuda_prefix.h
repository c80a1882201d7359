// The precompiled header: what practically every kernel of CuPy includes.
#pragma once
#include "cpucuda_device.h"
#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
