/* NCCL: a rank's collectives take time on their stream, whether or not the others take part. They deliver this rank's
 * own values, as if all ranks had the same. */
#include "device.h"

#include <stdlib.h>
#include <string.h>
#include <nccl.h>

struct ncclComm {
    int ranks, rank;
};

static size_t bytes_of(ncclDataType_t type) {
    switch (type) {
    case ncclInt8: case ncclUint8: case ncclFloat8e4m3: case ncclFloat8e5m2: return 1;
    case ncclFloat16: case ncclBfloat16: return 2;
    case ncclInt64: case ncclUint64: case ncclFloat64: return 8;
    default: return 4;
    }
}

static ncclResult_t make(ncclComm_t *made, int ranks, int rank) {
    if (enter("ncclCommInitRank") != cudaSuccess) return ncclUnhandledCudaError;
    *made = malloc(sizeof **made);
    if (*made == NULL) return ncclSystemError;
    **made = (struct ncclComm){ranks, rank};
    return ncclSuccess;
}

/* STANDIN_NCCL_NS and 100 GB/s; the bytes are those that a rank receives. */
static ncclResult_t move(void *to, const void *from, size_t own_bytes, size_t all_bytes, cudaStream_t stream) {
    if (enter("NCCL") != cudaSuccess) return ncclUnhandledCudaError;
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
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *made, int ranks, ncclUniqueId id, int rank) {
    (void)id;
    return make(made, ranks, rank);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
    (void)id, (void)config;
    return make(made, ranks, rank);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *made, int ranks, int rank, int count, ncclUniqueId *ids,
                                      ncclConfig_t *config) {
    (void)count, (void)ids, (void)config;
    return make(made, ranks, rank);
}

/* The size of the part is not known here: no rank sees the others' colors. STANDIN_SPLIT_RANKS says it. */
ncclResult_t ncclCommSplit(ncclComm_t whole, int color, int key, ncclComm_t *made, ncclConfig_t *config) {
    (void)whole, (void)config;
    *made = NULL;
    if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
    int ranks = (int)setting("STANDIN_SPLIT_RANKS", 2);
    return make(made, ranks, key % ranks);
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
    return "";
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
