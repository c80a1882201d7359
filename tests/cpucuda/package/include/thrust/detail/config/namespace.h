// Stands in for the file of the same name in CCCL, which CuPy's complex numbers include.
#pragma once
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
#define THRUST_NS_QUALIFIER ::thrust
