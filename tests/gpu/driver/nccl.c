/* NCCL: a rank's collectives take time on their stream, whether or not the others take part. They deliver this rank's
 * own values, as if all ranks had the same. */
#include "device.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include <nccl.h>

typedef unsigned long long u64;

struct ncclComm {
    int ranks, rank;
    u64 id; /* the same on all ranks */
    unsigned splits; /* how often it was split */
};

/* --- the log --- */

static char last_error[256];

static void say(const char *level, const char *format, ...) {
    const char *path = getenv("NCCL_DEBUG_FILE"), *wanted = getenv("NCCL_DEBUG");
    if (path == NULL || wanted == NULL || (strcmp(wanted, "INFO") != 0 && strcmp(level, "INFO") == 0)) return;
    FILE *log = fopen(path, "a");
    if (log == NULL) return;
    va_list values;
    va_start(values, format);
    fprintf(log, "standin:%d:%d [%d] NCCL %s ", getpid(), getpid(), current_device(), level);
    vfprintf(log, format, values);
    fputc('\n', log);
    va_end(values);
    fclose(log);
}

/* --- communicators --- */

static size_t bytes_of(ncclDataType_t type) {
    switch (type) {
    case ncclInt8: case ncclUint8: case ncclFloat8e4m3: case ncclFloat8e5m2: return 1;
    case ncclFloat16: case ncclBfloat16: return 2;
    case ncclInt64: case ncclUint64: case ncclFloat64: return 8;
    default: return 4;
    }
}

static ncclResult_t make(ncclComm_t *made, int ranks, int rank, u64 id) {
    if (enter("ncclCommInitRank") != cudaSuccess) return ncclUnhandledCudaError;
    *made = malloc(sizeof **made);
    if (*made == NULL) return ncclSystemError;
    **made = (struct ncclComm){ranks, rank, id, 0};
    say("INFO", "Using network Socket");
    for (int peer = 0; peer < ranks; peer++)
        if (peer != rank) say("INFO", "Channel 00/0 : %d[%d] -> %d[%d] via SHM/direct/direct", rank, rank, peer, peer);
    say("INFO", "comm %llx rank %d nranks %d - Init COMPLETE", id, rank, ranks);
    return ncclSuccess;
}

/* What each rank of a communicator tells the others: ranks of one color make a part, in the order of their keys. */
struct choice {
    int color, key;
};

struct meeting {
    int left; /* how many have read it */
    struct {
        bool is_made;
        struct choice choice;
    } of[];
};

/* All ranks call it, and each waits for the others, as in NCCL. They meet in shared memory, which the last one removes.
 * Returns the number of ranks with the same color, and the place among them. */
static ncclResult_t meet(u64 id, unsigned number, int ranks, int rank, struct choice own, int *same, int *place) {
    char name[64];
    snprintf(name, sizeof name, "/standin-%llx-%u", id, number);
    size_t bytes = sizeof(struct meeting) + (size_t)ranks * sizeof(((struct meeting *)0)->of[0]);
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return ncclSystemError;
    struct meeting *met = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (met == MAP_FAILED) return ncclSystemError;
    met->of[rank].choice = own;
    __atomic_store_n(&met->of[rank].is_made, true, __ATOMIC_RELEASE);
    *same = *place = 0;
    for (int each = 0; each < ranks; each++) {
        while (!__atomic_load_n(&met->of[each].is_made, __ATOMIC_ACQUIRE)) wait_until(now() + 100000);
        struct choice other = met->of[each].choice;
        if (other.color != own.color) continue;
        ++*same;
        *place += other.key < own.key || (other.key == own.key && each < rank);
    }
    if (__atomic_add_fetch(&met->left, 1, __ATOMIC_ACQ_REL) == ranks) shm_unlink(name);
    munmap(met, bytes);
    return ncclSuccess;
}

static ncclResult_t join(ncclComm_t *made, int ranks, int rank, ncclUniqueId given) {
    u64 id;
    memcpy(&id, &given, sizeof id);
    int same, place;
    ncclResult_t result = meet(id, 0, ranks, rank, (struct choice){0, rank}, &same, &place);
    return result != ncclSuccess ? result : make(made, ranks, rank, id);
}

/* STANDIN_NCCL_NS and 100 GB/s; the bytes are those that a rank receives. */
static ncclResult_t move(void *to, const void *from, size_t own_bytes, size_t all_bytes, cudaStream_t stream) {
    static long collectives;
    if (enter("NCCL") != cudaSuccess) return ncclUnhandledCudaError;
    long number = __atomic_add_fetch(&collectives, 1, __ATOMIC_RELAXED);
    if (number == setting("STANDIN_NCCL_FAULT_AT", 0)) {
        snprintf(last_error, sizeof last_error, "collective %ld: the stand-in's network is down", number);
        say("WARN", "%s", last_error);
        return ncclSystemError;
    }
    if (to != from) memmove(to, from, own_bytes);
    add_work(stream, setting("STANDIN_NCCL_NS", 20000) + (nanoseconds)(all_bytes / 100));
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    memset(id, 7, sizeof *id);
    return getrandom(id, sizeof(u64), 0) == sizeof(u64) ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRank(ncclComm_t *made, int ranks, ncclUniqueId id, int rank) {
    return join(made, ranks, rank, id);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
    (void)config;
    return join(made, ranks, rank, id);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *made, int ranks, int rank, int count, ncclUniqueId *ids,
                                      ncclConfig_t *config) {
    (void)count, (void)config;
    return join(made, ranks, rank, *ids);
}

ncclResult_t ncclCommSplit(ncclComm_t whole, int color, int key, ncclComm_t *made, ncclConfig_t *config) {
    (void)config;
    *made = NULL;
    struct choice own = {color, key};
    int ranks = 0, rank = 0;
    ncclResult_t result = meet(whole->id, ++whole->splits, whole->ranks, whole->rank, own, &ranks, &rank);
    if (result != ncclSuccess || color == NCCL_SPLIT_NOCOLOR) return result;
    return make(made, ranks, rank, (whole->id * 31 + whole->splits) * 31 + (u64)color);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t group, ncclResult_t *error) {
    (void)group;
    *error = sticky_error() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t group, int *ranks) {
    *ranks = group->ranks;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t group, int *rank) {
    *rank = group->rank;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "an error of the stand-in for NCCL";
}

const char *ncclGetLastError(ncclComm_t group) {
    (void)group;
    return last_error;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t group, cudaStream_t stream) {
    (void)operation, (void)group;
    return move(to, from, count * bytes_of(type), count * bytes_of(type), stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t group,
                           cudaStream_t stream) {
    (void)root, (void)group;
    return move(to, from, count * bytes_of(type), count * bytes_of(type), stream);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t group,
                       cudaStream_t stream) {
    return ncclBroadcast(buffer, buffer, count, type, root, group, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t group,
                           cudaStream_t stream) {
    size_t bytes = count * bytes_of(type);
    char *own = malloc(bytes); /* `from` may lie in `to` */
    if (own == NULL) return ncclSystemError;
    memcpy(own, from, bytes);
    for (int rank = 0; rank < group->ranks; rank++) memcpy((char *)to + (size_t)rank * bytes, own, bytes);
    free(own);
    return move(to, to, 0, bytes * (size_t)group->ranks, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t group, cudaStream_t stream) {
    (void)operation;
    size_t bytes = count * bytes_of(type);
    return move(to, (const char *)from + (size_t)group->rank * bytes, bytes, bytes * (size_t)group->ranks, stream);
}
