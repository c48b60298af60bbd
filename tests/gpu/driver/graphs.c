/* CUDA graphs: a capture allows what a real one allows, and a graph is one kernel. See device.h. */
#include "device.h"

static cudaStream_t capturing;
static bool has_begun;
static unsigned long long captures;
static _Thread_local enum cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

bool is_captured(cudaStream_t stream) { return has_begun && stream == capturing; }

/* Reading an event, or waiting, is an error during a capture, unless the thread has said that it knows. */
cudaError_t unsafe_call(void) {
    bool is_allowed = !has_begun || mode_of_thread == cudaStreamCaptureModeRelaxed;
    return is_allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    enum cudaStreamCaptureMode before = mode_of_thread;
    mode_of_thread = *mode;
    *mode = before;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    *status = is_captured(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *number, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
                                     const cudaGraphEdgeData **edges, size_t *count) {
    (void)graph, (void)nodes, (void)edges, (void)count;
    if (number != NULL) *number = captures;
    return cudaStreamIsCapturing(stream, status);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    (void)mode;
    if (setting("STANDIN_GRAPHS", 0) == 0) return cudaErrorNotSupported;
    capturing = stream;
    has_begun = true;
    captures++;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    if (!is_captured(stream)) return cudaErrorIllegalState;
    has_begun = false;
    *graph = (cudaGraph_t)&captures;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags) {
    (void)flags;
    *made = (cudaGraphExec_t)graph;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiate(made, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    (void)graph;
    return add_kernel(stream);
}
