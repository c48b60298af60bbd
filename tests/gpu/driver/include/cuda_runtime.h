/* The C part of the header of this name, which nccl.h includes; the rest is for nvcc. */
#pragma once

#include <cuda_runtime_api.h>
