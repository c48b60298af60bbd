/* NVML: readings from the text file STANDIN_NVML, which is read again at every call, so that a test may change it.
 *
 *     count 2                    number of GPUs
 *     gpu0.power 300500          a reading of GPU 0, in NVML's units
 *     gpu0.mig_mode 1            GPU 0 is in MIG mode
 *     gpu0.mig2.exists 1         its third place has a slice
 *     gpu1.energy !3             the call returns error 3, NVML_ERROR_NOT_SUPPORTED
 *
 * A reading that the file lacks is not supported by the GPU. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;

enum result { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };
enum { MOST = 16, SLICES = 7, TEXT_BYTES = 96 };

typedef struct gpu {
    char name[16]; /* as in the file: gpu0, gpu0.mig2 */
    int number;
    struct gpu *whole; /* the GPU of a slice, or NULL */
} *gpu;

static struct gpu gpus[MOST], slices[MOST][SLICES];

/* --- the file --- */

/* Find `key`. Returns its error, or `otherwise` if the file has no such line. */
static enum result find(const char *key, char *text, enum result otherwise) {
    const char *path = getenv("STANDIN_NVML");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    if (file == NULL) return otherwise;
    char name[TEXT_BYTES], value[TEXT_BYTES];
    enum result result = otherwise;
    while (fscanf(file, "%95s %95[^\n]", name, value) == 2) {
        if (strcmp(name, key) != 0) continue;
        result = value[0] == '!' ? (enum result)atoi(value + 1) : SUCCESS;
        if (result == SUCCESS) strcpy(text, value);
        break;
    }
    fclose(file);
    return result;
}

static enum result find_of(gpu of, const char *reading, char *text, enum result otherwise) {
    char key[TEXT_BYTES];
    if (snprintf(key, sizeof key, "%s.%s", of->name, reading) >= (int)sizeof key) return INVALID_ARGUMENT;
    return find(key, text, otherwise);
}

static enum result number_of(gpu of, const char *reading, u64 *number) {
    char text[TEXT_BYTES];
    enum result result = find_of(of, reading, text, NOT_SUPPORTED);
    if (result == SUCCESS) *number = strtoull(text, NULL, 0);
    return result;
}

static enum result small_number_of(gpu of, const char *reading, unsigned *number) {
    u64 found = 0;
    enum result result = number_of(of, reading, &found);
    *number = (unsigned)found;
    return result;
}

static u64 setting(const char *key, u64 otherwise) {
    char text[TEXT_BYTES];
    return find(key, text, NOT_FOUND) == SUCCESS ? strtoull(text, NULL, 0) : otherwise;
}

/* --- the library and its host --- */

enum result nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    char text[TEXT_BYTES];
    return find("init", text, SUCCESS);
}

enum result nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
enum result nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(enum result result) {
    static char text[32];
    snprintf(text, sizeof text, "error %d of the stand-in", result);
    return text;
}

enum result nvmlSystemGetDriverVersion(char *text, unsigned bytes) {
    char found[TEXT_BYTES] = "595.00.00";
    enum result result = find("driver", found, SUCCESS);
    snprintf(text, bytes, "%s", found);
    return result;
}

enum result nvmlSystemGetCudaDriverVersion_v2(int *version) {
    *version = (int)setting("cuda", 13020);
    char text[TEXT_BYTES];
    return find("cuda", text, SUCCESS);
}

/* --- GPUs and their slices --- */

enum result nvmlDeviceGetCount_v2(unsigned *count) {
    *count = (unsigned)setting("count", 0);
    char text[TEXT_BYTES];
    return find("count", text, SUCCESS);
}

enum result nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu *found) {
    if (index >= setting("count", 0) || index >= MOST) return INVALID_ARGUMENT;
    *found = &gpus[index];
    (*found)->number = (int)index;
    snprintf((*found)->name, sizeof (*found)->name, "gpu%u", index);
    char text[TEXT_BYTES];
    return find_of(*found, "handle", text, SUCCESS);
}

enum result nvmlDeviceGetMaxMigDeviceCount(gpu of, unsigned *count) {
    (void)of;
    *count = SLICES;
    return SUCCESS;
}

enum result nvmlDeviceGetMigDeviceHandleByIndex(gpu whole, unsigned index, gpu *found) {
    if (index >= SLICES) return INVALID_ARGUMENT;
    *found = &slices[whole->number][index];
    (*found)->number = whole->number * SLICES + (int)index;
    (*found)->whole = whole;
    snprintf((*found)->name, sizeof (*found)->name, "gpu%d.mig%u", whole->number, index);
    char text[TEXT_BYTES];
    return find_of(*found, "exists", text, NOT_FOUND);
}

enum result nvmlDeviceIsMigDeviceHandle(gpu of, unsigned *is_slice) {
    *is_slice = of->whole != NULL;
    return SUCCESS;
}

enum result nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu of, gpu *whole) {
    *whole = of->whole;
    return of->whole != NULL ? SUCCESS : INVALID_ARGUMENT;
}

enum result nvmlDeviceGetUUID(gpu of, char *text, unsigned bytes) {
    char found[TEXT_BYTES];
    snprintf(found, sizeof found, "%s-%08d-0000-0000-0000-000000000000", of->whole ? "MIG" : "GPU", of->number);
    enum result result = find_of(of, "uuid", found, SUCCESS);
    snprintf(text, bytes, "%s", found);
    return result;
}

static bool has_uuid(gpu of, const char *uuid) {
    char text[TEXT_BYTES];
    return nvmlDeviceGetUUID(of, text, sizeof text) == SUCCESS && strcmp(text, uuid) == 0;
}

enum result nvmlDeviceGetHandleByUUID(const char *uuid, gpu *found) {
    gpu whole;
    for (unsigned index = 0; nvmlDeviceGetHandleByIndex_v2(index, &whole) != INVALID_ARGUMENT; index++) {
        *found = whole;
        if (has_uuid(whole, uuid)) return SUCCESS;
        for (unsigned place = 0; place < SLICES; place++)
            if (nvmlDeviceGetMigDeviceHandleByIndex(whole, place, found) == SUCCESS && has_uuid(*found, uuid))
                return SUCCESS;
    }
    return NOT_FOUND;
}

enum result nvmlDeviceGetHandleByPciBusId_v2(const char *bus, gpu *found) {
    unsigned index = 0; /* as cudart.c numbers them: 0000:01:00.0 is GPU 0 */
    if (sscanf(bus, "%*x:%x", &index) != 1 || index == 0) return INVALID_ARGUMENT;
    return nvmlDeviceGetHandleByIndex_v2(index - 1, found);
}

enum result nvmlDeviceGetMigMode(gpu of, unsigned *mode, unsigned *pending) {
    enum result result = small_number_of(of, "mig_mode", mode);
    *pending = *mode;
    return result;
}

enum result nvmlDeviceGetName(gpu of, char *text, unsigned bytes) {
    char found[TEXT_BYTES] = "NVIDIA A100-SXM4-80GB";
    enum result result = find_of(of, "name", found, SUCCESS);
    snprintf(text, bytes, "%s", found);
    return result;
}

enum result nvmlDeviceGetCudaComputeCapability(gpu of, int *major, int *minor) {
    (void)of;
    int capability = (int)setting("STANDIN_CAPABILITY", 80); /* as in cudart.c */
    *major = capability / 10, *minor = capability % 10;
    return SUCCESS;
}

/* --- readings --- */

enum result nvmlDeviceGetMemoryInfo(gpu of, u64 memory[3]) {
    u64 used_bytes = 0;
    enum result result = number_of(of, "memory_used", &used_bytes);
    u64 total_bytes = setting("memory_total", 85899345920ULL);
    memory[0] = total_bytes, memory[1] = total_bytes - used_bytes, memory[2] = used_bytes;
    return result;
}

enum result nvmlDeviceGetUtilizationRates(gpu of, unsigned rates[2]) {
    rates[1] = 0;
    return small_number_of(of, "busy", &rates[0]);
}

enum result nvmlDeviceGetPowerUsage(gpu of, unsigned *mw) { return small_number_of(of, "power", mw); }
enum result nvmlDeviceGetPowerManagementLimit(gpu of, unsigned *mw) { return small_number_of(of, "power_limit", mw); }
enum result nvmlDeviceGetTotalEnergyConsumption(gpu of, u64 *mj) { return number_of(of, "energy", mj); }
enum result nvmlDeviceGetCurrentClocksEventReasons(gpu of, u64 *bits) { return number_of(of, "clock_reasons", bits); }

enum result nvmlDeviceGetTemperature(gpu of, int sensor, unsigned *celsius) {
    (void)sensor;
    return small_number_of(of, "temperature", celsius);
}

enum result nvmlDeviceGetClockInfo(gpu of, int clock, unsigned *mhz) {
    (void)clock;
    return small_number_of(of, "clock", mhz);
}

/* The CPUs near the GPU, as a mask in 64-bit words: `gpu0.cpus 0xff`. */
enum result nvmlDeviceGetCpuAffinity(gpu of, unsigned words, unsigned long *mask) {
    u64 found = 0;
    enum result result = number_of(of, "cpus", &found);
    memset(mask, 0, words * sizeof *mask);
    mask[0] = found;
    return result;
}

enum result nvmlDeviceGetComputeRunningProcesses_v3(gpu of, unsigned *count, void *processes) {
    (void)of, (void)processes;
    *count = 0;
    return SUCCESS;
}

enum result nvmlDeviceGetComputeRunningProcesses(gpu of, unsigned *count, void *processes) {
    return nvmlDeviceGetComputeRunningProcesses_v3(of, count, processes);
}

enum result nvmlDeviceGetGpuFabricInfoV(gpu of, void *info) {
    (void)of, (void)info;
    return NOT_SUPPORTED;
}

enum result nvmlDeviceGetNvLinkRemoteDeviceType(gpu of, unsigned link, void *type) {
    (void)of, (void)link, (void)type;
    return NOT_SUPPORTED;
}

enum result nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu of, unsigned link, void *info) {
    (void)of, (void)link, (void)info;
    return NOT_SUPPORTED;
}
