/* cuBLAS and cuBLASLt: handles, and products that take a kernel's time and compute nothing. Their arguments do not
 * matter, so they are not declared. */
#include <stdatomic.h>
#include "device.h"

enum { OK = 0, ALLOC_FAILED = 3, EXECUTION_FAILED = 13 };

static __thread cudaStream_t stream_of_products;
static int handle;

/* The product number STANDIN_CUBLAS_FULL_AT finds no memory for itself. */
static int product(void) {
    static atomic_long products;
    if (++products == setting("STANDIN_CUBLAS_FULL_AT", 0)) return ALLOC_FAILED;
    return add_kernel(stream_of_products) == cudaSuccess ? OK : EXECUTION_FAILED;
}

int cublasCreate_v2(void **made) {
    if (enter("cublasCreate") != cudaSuccess) return EXECUTION_FAILED;
    *made = &handle;
    return OK;
}

int cublasSetStream_v2(void *of, cudaStream_t stream) {
    (void)of;
    stream_of_products = stream;
    return OK;
}

int cublasGemmEx(void) { return product(); }
int cublasSgemm_v2(void) { return product(); }
int cublasSgemmEx(void) { return product(); }
int cublasGemmStridedBatchedEx(void) { return product(); }
int cublasLtMatmul(void) { return product(); }

int cublasLtMatmulAlgoGetHeuristic(void *of, void *how, void *a, void *b, void *c, void *d, void *preference, int asked,
                                   void *results, int *found) {
    (void)of, (void)how, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)asked, (void)results;
    *found = 1;
    return OK;
}

size_t cublasLtGetVersion(void) { return 130400; }
