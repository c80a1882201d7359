// How `_core/kernels.pyx` finds and calls the bodies that were compiled for the host.
#ifdef __cplusplus
extern "C" {
#endif
typedef union { void *p; long long i; unsigned long long u; double d; } HostArgument;
typedef void (*HostBody)(const HostArgument *);
typedef struct {
  const char *name, *kinds;  // of each argument: r read, w written, i, u or d a number; s the size of all arrays before it
  HostBody run[2];  // for float and double
} HostKernel;
extern const HostKernel mpigrad_host_kernels[];  // ends with a name that is NULL
#ifdef __cplusplus
}
#endif
