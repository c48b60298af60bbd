/* The simulated devices that the stand-in libraries share.
 *
 * Device memory is host memory with a limit. Time is the host's clock: a stream knows when it will have done its work,
 * and an event when it will have happened. Kernels take time and compute nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <cuda_runtime_api.h>

enum { MOST_DEVICES = 16 };

typedef long long nanoseconds;

/* --- settings: environment variables, which README.md lists --- */

long setting(const char *name, long otherwise);

/* --- time --- */

nanoseconds now(void);
void wait_until(nanoseconds moment);

/* --- calls --- */

/* Every entry point that needs a CUDA context calls this first. It notes the process's first call in STANDIN_LOG. In a
 * process that was forked from one with a context it returns cudaErrorInitializationError, as CUDA does. */
cudaError_t enter(const char *function);

/* An error that ends the context: every later call returns it. */
cudaError_t sticky_error(void);

/* --- devices --- */

int device_count(void);
int current_device(void);
cudaError_t set_current_device(int device);
size_t device_memory_bytes(void);
size_t used_memory_bytes(int device);

/* --- streams --- */

/* Add work to a stream: it begins when the stream has done what it has, and takes `duration`. */
void add_work(cudaStream_t stream, nanoseconds duration);

/* Add a kernel of STANDIN_KERNEL_NS. The kernel number STANDIN_HANG_AT never ends; the one number STANDIN_FAULT_AT
 * accesses memory that it may not. */
cudaError_t add_kernel(cudaStream_t stream);

/* --- graphs --- */

bool is_captured(cudaStream_t stream);

/* The error of a call that may not be made during a capture. */
cudaError_t unsafe_call(void);
