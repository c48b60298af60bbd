/* The simulated devices: settings, time, contexts, memory, streams, events. See device.h. */
#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- settings --- */

long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 0) : otherwise;
}

/* --- time --- */

static const nanoseconds SECOND = 1000000000LL;
static const nanoseconds FOREVER = 1LL << 60;
static const nanoseconds LONGEST_NAP = 200000;

nanoseconds now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

void wait_until(nanoseconds moment) {
    nanoseconds left;
    while ((left = moment - now()) > 0) {
        struct timespec nap = {0, left < LONGEST_NAP ? left : LONGEST_NAP};
        nanosleep(&nap, NULL);
    }
}

/* --- calls --- */

static pid_t context_of; /* the process that has a context; a fork inherits the value */
static cudaError_t fault = cudaSuccess;

static void note(const char *text) {
    const char *path = getenv("STANDIN_LOG");
    if (path == NULL) return;
    char name[64] = "?";
    FILE *comm = fopen("/proc/self/comm", "r");
    if (comm != NULL) {
        if (fgets(name, sizeof name, comm) == NULL) name[0] = '\0';
        name[strcspn(name, "\n")] = '\0';
        fclose(comm);
    }
    FILE *log = fopen(path, "a");
    if (log == NULL) return;
    fprintf(log, "{\"pid\": %d, \"parent\": %d, \"process\": \"%s\", \"call\": \"%s\"}\n", getpid(), getppid(), name,
            text);
    fclose(log);
}

cudaError_t enter(const char *function) {
    if (context_of == 0) {
        context_of = getpid();
        note(function);
    }
    if (context_of != getpid()) return cudaErrorInitializationError;
    return fault;
}

cudaError_t sticky_error(void) { return fault; }

/* --- devices --- */

static __thread int current;

int device_count(void) {
    long count = setting("STANDIN_DEVICES", 2);
    if (count > MOST_DEVICES) count = MOST_DEVICES;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible == NULL) return (int)count;
    long named = *visible != '\0';
    for (const char *each = visible; *each != '\0'; each++) named += *each == ',';
    return (int)(named < count ? named : count);
}

int current_device(void) { return current; }

cudaError_t set_current_device(int device) {
    if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
    current = device;
    return enter("cudaSetDevice");
}

size_t device_memory_bytes(void) { return (size_t)setting("STANDIN_MEMORY_BYTES", 4L << 30); }

/* --- memory --- */

struct block {
    char *address;
    size_t bytes;
    int device; /* ON_HOST: pinned memory of the host */
    struct block *next;
};

enum { ON_HOST = -1 };

static struct block *blocks;
static size_t used[MOST_DEVICES];

size_t used_memory_bytes(int device) { return used[device]; }

static cudaError_t allocate(void **address, size_t bytes, int device) {
    pthread_mutex_lock(&lock);
    bool is_full = device != ON_HOST && used[device] + bytes > device_memory_bytes();
    if (!is_full && device != ON_HOST) used[device] += bytes;
    pthread_mutex_unlock(&lock);
    if (is_full) return cudaErrorMemoryAllocation;
    /* MAP_NORESERVE: a device may have more memory than the host */
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct block *block = malloc(sizeof *block);
    if (found == MAP_FAILED || block == NULL) return cudaErrorMemoryAllocation;
    pthread_mutex_lock(&lock);
    *block = (struct block){found, bytes, device, blocks};
    blocks = block;
    pthread_mutex_unlock(&lock);
    *address = found;
    return cudaSuccess;
}

static void release(void *address) {
    pthread_mutex_lock(&lock);
    for (struct block **each = &blocks; *each != NULL; each = &(*each)->next) {
        struct block *block = *each;
        if (block->address != address) continue;
        if (block->device != ON_HOST) used[block->device] -= block->bytes;
        munmap(block->address, block->bytes);
        *each = block->next;
        free(block);
        break;
    }
    pthread_mutex_unlock(&lock);
}

cudaError_t cudaMalloc(void **address, size_t bytes) {
    cudaError_t error = enter("cudaMalloc");
    return error != cudaSuccess ? error : allocate(address, bytes, current);
}

cudaError_t cudaFree(void *address) {
    cudaError_t error = enter("cudaFree"); /* cudaFree(NULL) is a way to make a context */
    if (address != NULL) release(address);
    return error;
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags) {
    (void)flags;
    cudaError_t error = enter("cudaHostAlloc");
    return error != cudaSuccess ? error : allocate(address, bytes, ON_HOST);
}

cudaError_t cudaMallocHost(void **address, size_t bytes) { return cudaHostAlloc(address, bytes, 0); }

cudaError_t cudaFreeHost(void *address) {
    release(address);
    return sticky_error();
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    cudaError_t error = enter("cudaMemGetInfo");
    *total_bytes = device_memory_bytes();
    *free_bytes = *total_bytes - used[current];
    return error;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *found, const void *pointer) {
    memset(found, 0, sizeof *found);
    found->type = cudaMemoryTypeUnregistered;
    found->device = cudaInvalidDeviceId;
    pthread_mutex_lock(&lock);
    for (const struct block *block = blocks; block != NULL; block = block->next) {
        const char *place = pointer;
        if (place < block->address || place >= block->address + block->bytes) continue;
        bool is_on_host = block->device == ON_HOST;
        found->type = is_on_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
        found->device = is_on_host ? current : block->device;
        found->devicePointer = (void *)pointer;
        found->hostPointer = is_on_host ? (void *)pointer : NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* --- streams --- */

struct CUstream_st {
    int device;
    nanoseconds ready; /* when all work so far is done */
    int priority;
    struct CUstream_st *next;
};

static struct CUstream_st default_streams[MOST_DEVICES];
static struct CUstream_st *streams;
static long kernels;

static struct CUstream_st *stream_of(cudaStream_t stream) {
    /* NULL and small numbers name the default streams */
    return (size_t)stream < 16 ? &default_streams[current] : stream;
}

static void add_to(struct CUstream_st *stream, nanoseconds duration) {
    pthread_mutex_lock(&lock);
    nanoseconds begin = now();
    if (stream->ready > begin) begin = stream->ready;
    stream->ready = begin + duration;
    pthread_mutex_unlock(&lock);
}

void add_work(cudaStream_t stream, nanoseconds duration) { add_to(stream_of(stream), duration); }

cudaError_t add_kernel(cudaStream_t stream) {
    cudaError_t error = enter("kernel");
    if (error != cudaSuccess) return error;
    long number = __atomic_add_fetch(&kernels, 1, __ATOMIC_RELAXED);
    bool hangs = number == setting("STANDIN_HANG_AT", 0);
    add_work(stream, hangs ? FOREVER : setting("STANDIN_KERNEL_NS", 5000));
    if (number == setting("STANDIN_FAULT_AT", 0)) fault = cudaErrorIllegalAddress;
    return cudaSuccess; /* a launch is asynchronous: the next call returns the fault */
}

static cudaError_t make_stream(cudaStream_t *made, int priority) {
    cudaError_t error = enter("cudaStreamCreate");
    if (error != cudaSuccess) return error;
    struct CUstream_st *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return cudaErrorMemoryAllocation;
    stream->device = current;
    stream->priority = priority;
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    *made = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *made) { return make_stream(made, 0); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned flags) {
    (void)flags;
    return make_stream(made, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *made, unsigned flags, int priority) {
    (void)flags;
    return make_stream(made, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    (void)stream; /* torch keeps its streams until the process ends */
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    *priority = stream_of(stream)->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (fault != cudaSuccess) return fault;
    return now() >= stream_of(stream)->ready ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cudaError_t error = enter("cudaStreamSynchronize");
    if (error == cudaSuccess) error = unsafe_call();
    if (error != cudaSuccess) return error;
    wait_until(stream_of(stream)->ready);
    return fault;
}

cudaError_t cudaDeviceSynchronize(void) {
    cudaError_t error = enter("cudaDeviceSynchronize");
    if (error == cudaSuccess) error = unsafe_call();
    if (error != cudaSuccess) return error;
    nanoseconds ready = default_streams[current].ready;
    pthread_mutex_lock(&lock);
    for (const struct CUstream_st *stream = streams; stream != NULL; stream = stream->next)
        if (stream->device == current && stream->ready > ready) ready = stream->ready;
    pthread_mutex_unlock(&lock);
    wait_until(ready);
    return fault;
}

/* --- events --- */

struct CUevent_st {
    bool is_recorded;
    bool is_in_graph;
    nanoseconds at;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags) {
    (void)flags;
    cudaError_t error = enter("cudaEventCreate");
    if (error != cudaSuccess) return error;
    *made = calloc(1, sizeof **made);
    return *made == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *made) { return cudaEventCreateWithFlags(made, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (fault != cudaSuccess) return fault;
    add_work(stream, setting("STANDIN_EVENT_NS", 500));
    event->at = stream_of(stream)->ready;
    event->is_recorded = true;
    event->is_in_graph = is_captured(stream);
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    (void)flags;
    return cudaEventRecord(event, stream);
}

static cudaError_t error_of(cudaEvent_t event) {
    if (fault != cudaSuccess) return fault;
    return event->is_in_graph ? cudaErrorCapturedEvent : unsafe_call();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    cudaError_t error = error_of(event);
    if (error != cudaSuccess) return error;
    return now() >= event->at ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cudaError_t error = error_of(event);
    if (error != cudaSuccess) return error;
    wait_until(event->at);
    return fault;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    cudaError_t error = error_of(begin);
    if (error == cudaSuccess) error = error_of(end);
    if (error != cudaSuccess) return error;
    if (!begin->is_recorded || !end->is_recorded) return cudaErrorInvalidResourceHandle;
    nanoseconds moment = now();
    if (moment < begin->at || moment < end->at) return cudaErrorNotReady;
    *milliseconds = (float)((double)(end->at - begin->at) / 1e6);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)flags;
    struct CUstream_st *waiting = stream_of(stream);
    pthread_mutex_lock(&lock);
    if (event->at > waiting->ready) waiting->ready = event->at;
    pthread_mutex_unlock(&lock);
    return fault;
}
