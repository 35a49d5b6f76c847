/* What the stand-in driver keeps; t/c/mock_cuda.c. The structs are the driver's ABI, written down a second time. */
#ifndef MOCK_CUDA_H
#define MOCK_CUDA_H

#include <stddef.h>
#include <stdint.h>

struct mock_attr {
    int id;
    _Alignas(8) unsigned value[16];
};
struct mock_launch {
    unsigned grid[3], block[3], smem;
    void *stream;
    struct mock_attr *attrs;
    unsigned nattrs;
};
struct mock_map {
    int type, rank, swizzle, l2;
    uint64_t base, dim[5], stride[5];
    uint32_t box[5];
};

struct mock {
    /* settings */
    int gpus, cc, sms, max_clusters, smem_optin;
    char fail_name[32]; /* the call of that name gives fail_result, after fail_after more good ones */
    int fail_after, fail_result;
    int lost; /* every call gives this: the context is lost */
    /* seen */
    char log[1 << 16]; /* names of calls */
    int calls, retained, modules, allocations, events, launches, encoded, timings, depth, smem_attribute;
    void *stack[16]; /* context stack */
    const void *image;
    char function[64];
    struct mock_launch launch;
    struct mock_attr attrs[4];
    void **params;
    struct mock_map maps[8];
    unsigned char global[256]; /* of every module, whatever its name */
    size_t global_size;
    void (*on_launch)(struct mock *m); /* plays the kernel */
};

#endif
