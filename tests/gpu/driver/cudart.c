/* The rest of the CUDA runtime: what a device is, copies, launches and errors. */
#include "device.h"

#include <stdio.h>
#include <string.h>

/* --- devices --- */

/* Ten times the compute capability. With 9.0 torch would take its attention from cuDNN, which has no stand-in. */
static int capability(void) { return (int)setting("STANDIN_CAPABILITY", 80); }

static int driver_version(void) { return (int)setting("STANDIN_CUDA_VERSION", 13020); }

cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count();
    cudaError_t error = (cudaError_t)setting("STANDIN_INIT_ERROR", cudaSuccess);
    if (error != cudaSuccess) return error;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDevice(int *device) {
    *device = current_device();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return set_current_device(device); }

cudaError_t cudaDriverGetVersion(int *version) {
    *version = driver_version();
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* Numbers of an A100, except its memory. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *found, int device) {
    memset(found, 0, sizeof *found);
    snprintf(found->name, sizeof found->name, "NVIDIA A100-SXM4-80GB");
    memcpy(found->uuid.bytes, "stand-in GPU 000", sizeof found->uuid.bytes);
    found->uuid.bytes[15] = (char)('0' + device);
    found->major = capability() / 10;
    found->minor = capability() % 10;
    found->pciBusID = device + 1;
    found->totalGlobalMem = device_memory_bytes();
    found->multiProcessorCount = 108;
    found->warpSize = 32;
    found->maxThreadsPerBlock = 1024;
    found->maxThreadsPerMultiProcessor = 2048;
    found->maxBlocksPerMultiProcessor = 32;
    found->maxThreadsDim[0] = found->maxThreadsDim[1] = 1024;
    found->maxThreadsDim[2] = 64;
    found->maxGridSize[0] = 0x7fffffff;
    found->maxGridSize[1] = found->maxGridSize[2] = 65535;
    found->regsPerBlock = found->regsPerMultiprocessor = 65536;
    found->sharedMemPerBlock = 49152;
    found->sharedMemPerBlockOptin = 166912;
    found->sharedMemPerMultiprocessor = 167936;
    found->l2CacheSize = 40 << 20;
    found->textureAlignment = 512;
    found->unifiedAddressing = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    (void)device;
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; break;
    case cudaDevAttrMultiProcessorCount: *value = 108; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 166912; break;
    default: *value = 0;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device) {
    snprintf(text, (size_t)bytes, "0000:%02x:00.0", device + 1);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = device != peer;
    return cudaSuccess;
}

/* --- copies --- */

enum { BYTES_PER_NS = 50 }; /* of a PCIe slot, about */
static const nanoseconds COPY_NS = 2000;

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    cudaError_t error = enter("cudaMemcpy");
    if (error != cudaSuccess) return error;
    memmove(to, from, bytes);
    add_work(stream, COPY_NS + (nanoseconds)(bytes / BYTES_PER_NS));
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)kind;
    return copy(to, from, bytes, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    (void)kind;
    cudaError_t error = copy(to, from, bytes, NULL);
    return error != cudaSuccess ? error : cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream) {
    (void)to_device, (void)from_device;
    return copy(to, from, bytes, stream);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    cudaError_t error = enter("cudaMemset");
    if (error != cudaSuccess) return error;
    memset(to, value, bytes);
    add_work(stream, COPY_NS);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, NULL); }

/* --- launches --- */

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    (void)function, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return add_kernel(stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *function, void **arguments) {
    (void)function, (void)arguments;
    return add_kernel(how->stream);
}

/* nvcc's code for `kernel<<<...>>>()` calls these. */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                               cudaStream_t stream) {
    (void)kernel, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return add_kernel(stream);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
    *kernel = (cudaKernel_t)function;
    return cudaSuccess;
}

enum { DEEPEST_LAUNCH = 64 };
static __thread cudaStream_t launching[DEEPEST_LAUNCH];
static __thread unsigned launches;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream) {
    (void)grid, (void)block, (void)shared_bytes;
    launching[launches++ % DEEPEST_LAUNCH] = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream) {
    *grid = *block = (dim3){1, 1, 1};
    *shared_bytes = 0;
    *(cudaStream_t *)stream = launching[--launches % DEEPEST_LAUNCH];
    return cudaSuccess;
}

static void *binary[8];

void **__cudaRegisterFatBinary(void *code) {
    (void)code;
    return binary;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
void __cudaRegisterFunction(void) {}
void __cudaRegisterVar(void) {}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *found, const void *function) {
    (void)function;
    memset(found, 0, sizeof *found);
    found->maxThreadsPerBlock = 1024;
    found->binaryVersion = found->ptxVersion = capability();
    found->numRegs = 32;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size, size_t shared) {
    (void)function, (void)size, (void)shared;
    *blocks = 2;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size,
                                                                   size_t shared, unsigned flags) {
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, shared);
}

/* --- errors --- */

cudaError_t cudaGetLastError(void) { return sticky_error(); }
cudaError_t cudaPeekAtLastError(void) { return sticky_error(); }

static const struct {
    cudaError_t error;
    const char *name, *text;
} ERRORS[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
};

const char *cudaGetErrorString(cudaError_t error) {
    for (size_t each = 0; each < sizeof ERRORS / sizeof *ERRORS; each++)
        if (ERRORS[each].error == error) return ERRORS[each].text;
    return "an error that the stand-in does not name";
}

const char *cudaGetErrorName(cudaError_t error) {
    for (size_t each = 0; each < sizeof ERRORS / sizeof *ERRORS; each++)
        if (ERRORS[each].error == error) return ERRORS[each].name;
    return "cudaErrorUnknown";
}

/* --- entry points of the driver, which torch looks up by name --- */

static int no_entry_point(void) { return cudaErrorNotSupported; }

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result) {
    (void)name, (void)version, (void)flags;
    *found = (void *)no_entry_point;
    if (result != NULL) *result = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
