/* The CUDA driver, opened at run time: no CUDA header at build time, no library at link time. The types and numbers below are
 * those of the driver API's 64-bit ABI (cuda.h); each function is asked for by the ABI version its prototype has here. */
#ifndef WEIRI_CUDA_H
#define WEIRI_CUDA_H

#include "mem.h"

typedef int weiri_cures;                     /* CUresult */
typedef int weiri_cudev;                     /* CUdevice */
typedef uint64_t weiri_cuptr;                /* CUdeviceptr */
typedef void *weiri_cuctx, *weiri_cumod, *weiri_cufn, *weiri_custream, *weiri_cuevent;

typedef struct weiri_cumap { _Alignas(128) uint64_t q[16]; } weiri_cumap;   /* CUtensorMap; 64-aligned before CUDA 13 */

enum {                                       /* CUlaunchAttributeID */
    CU_ATTR_CLUSTER_DIMENSION = 4,
    CU_ATTR_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};
typedef struct weiri_cuattr {                /* CUlaunchAttribute */
    int id;
    _Alignas(8) union { char pad[64]; struct { unsigned x, y, z; } cluster; int flag; } value;
} weiri_cuattr;
typedef struct weiri_culaunch {              /* CUlaunchConfig */
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, smem;
    weiri_custream stream;
    weiri_cuattr *attrs;
    unsigned nattrs;
} weiri_culaunch;
_Static_assert(sizeof(void *) != 8 || (sizeof(weiri_culaunch) == 56 && sizeof(weiri_cuattr) == 72), "driver ABI");

enum {                                       /* CUdevice_attribute */
    CU_DEV_SMS = 16, CU_DEV_CC_MAJOR = 75, CU_DEV_CC_MINOR = 76, CU_DEV_SMEM_OPTIN = 97
};
enum { CU_FUNC_LOCAL_BYTES = 3, CU_FUNC_REGISTERS = 4, CU_FUNC_MAX_DYNAMIC_SMEM = 8, CU_FUNC_NON_PORTABLE_CLUSTER = 14 };
enum {                                       /* CUresult */
    CU_OK = 0, CU_INVALID_VALUE = 1, CU_NOT_INITIALIZED = 3, CU_INVALID_IMAGE = 200, CU_NO_BINARY = 209,
    CU_ILLEGAL_ADDRESS = 700, CU_LAUNCH_FAILED = 719
};

/* X(result type, field, exported name, base name, ABI version (major * 1000 + minor * 10), arguments) */
#define WEIRI_CUDA_FUNCTIONS(X) \
    X(init, "cuInit", "cuInit", 2000, (unsigned flags)) \
    X(driver_version, "cuDriverGetVersion", "cuDriverGetVersion", 2020, (int *version)) \
    X(device_count, "cuDeviceGetCount", "cuDeviceGetCount", 2000, (int *n)) \
    X(device_get, "cuDeviceGet", "cuDeviceGet", 2000, (weiri_cudev * d, int index)) \
    X(device_name, "cuDeviceGetName", "cuDeviceGetName", 2000, (char *name, int size, weiri_cudev d)) \
    X(device_attribute, "cuDeviceGetAttribute", "cuDeviceGetAttribute", 2000, (int *value, int attribute, weiri_cudev d)) \
    X(primary_retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, (weiri_cuctx * c, weiri_cudev d)) \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", 11000, (weiri_cudev d)) \
    X(ctx_get, "cuCtxGetCurrent", "cuCtxGetCurrent", 4000, (weiri_cuctx * c)) \
    X(ctx_push, "cuCtxPushCurrent_v2", "cuCtxPushCurrent", 4000, (weiri_cuctx c)) \
    X(ctx_pop, "cuCtxPopCurrent_v2", "cuCtxPopCurrent", 4000, (weiri_cuctx * c)) \
    X(ctx_sync, "cuCtxSynchronize", "cuCtxSynchronize", 2000, (void)) \
    X(module_load, "cuModuleLoadData", "cuModuleLoadData", 2000, (weiri_cumod * m, const void *image)) \
    X(module_unload, "cuModuleUnload", "cuModuleUnload", 2000, (weiri_cumod m)) \
    X(module_function, "cuModuleGetFunction", "cuModuleGetFunction", 2000, (weiri_cufn * f, weiri_cumod m, const char *name)) \
    X(module_global, "cuModuleGetGlobal_v2", "cuModuleGetGlobal", 3020, \
      (weiri_cuptr * p, size_t * n, weiri_cumod m, const char *name)) \
    X(func_get, "cuFuncGetAttribute", "cuFuncGetAttribute", 2020, (int *value, int attribute, weiri_cufn f)) \
    X(func_set, "cuFuncSetAttribute", "cuFuncSetAttribute", 9000, (weiri_cufn f, int attribute, int value)) \
    X(launch, "cuLaunchKernelEx", "cuLaunchKernelEx", 11060, \
      (const weiri_culaunch *config, weiri_cufn f, void **params, void **extra)) \
    X(max_clusters, "cuOccupancyMaxActiveClusters", "cuOccupancyMaxActiveClusters", 11070, \
      (int *n, weiri_cufn f, const weiri_culaunch *config)) \
    X(mem_alloc, "cuMemAlloc_v2", "cuMemAlloc", 3020, (weiri_cuptr * p, size_t bytes)) \
    X(mem_free, "cuMemFree_v2", "cuMemFree", 3020, (weiri_cuptr p)) \
    X(copy_to, "cuMemcpyHtoD_v2", "cuMemcpyHtoD", 3020, (weiri_cuptr to, const void *from, size_t bytes)) \
    X(copy_from, "cuMemcpyDtoH_v2", "cuMemcpyDtoH", 3020, (void *to, weiri_cuptr from, size_t bytes)) \
    X(set_d8, "cuMemsetD8_v2", "cuMemsetD8", 3020, (weiri_cuptr p, unsigned char x, size_t n)) \
    X(set_d32_async, "cuMemsetD32Async", "cuMemsetD32Async", 3020, (weiri_cuptr p, unsigned x, size_t n, weiri_custream s)) \
    X(event_create, "cuEventCreate", "cuEventCreate", 2000, (weiri_cuevent * e, unsigned flags)) \
    X(event_destroy, "cuEventDestroy_v2", "cuEventDestroy", 4000, (weiri_cuevent e)) \
    X(event_record, "cuEventRecord", "cuEventRecord", 2000, (weiri_cuevent e, weiri_custream s)) \
    X(event_sync, "cuEventSynchronize", "cuEventSynchronize", 2000, (weiri_cuevent e)) \
    X(event_elapsed, "cuEventElapsedTime", "cuEventElapsedTime", 2000, (float *ms, weiri_cuevent from, weiri_cuevent to)) \
    X(error_name, "cuGetErrorName", "cuGetErrorName", 6000, (weiri_cures r, const char **text)) \
    X(error_text, "cuGetErrorString", "cuGetErrorString", 6000, (weiri_cures r, const char **text)) \
    X(tensor_map, "cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled", 12000, \
      (weiri_cumap * m, int type, unsigned rank, void *base, const uint64_t *dim, const uint64_t *stride, const uint32_t *box, \
       const uint32_t *step, int interleave, int swizzle, int l2_promotion, int oob_fill))

typedef struct weiri_cuda {
    void *lib;
    int version;             /* of the driver: 13000 is CUDA 13.0 */
    int gpus;
    char why[320];           /* why there is no driver; "" when there is */
    struct weir_device *devices; /* every open device, the simulator's too */
    struct weir_device *standard; /* of programs that name none, NULL until needed */
#define WEIRI_CUDA_FIELD(field, exported, base, version, args) weiri_cures(*field) args;
    WEIRI_CUDA_FUNCTIONS(WEIRI_CUDA_FIELD)
#undef WEIRI_CUDA_FIELD
} weiri_cuda;

/* The context's table; opened on the first call. Never NULL but for lack of memory: `why` tells whether there is a driver. */
weiri_cuda *weiri_cuda_state(weir_ctx *ctx);
/* The same, NULL with WEIR_E_NO_DEVICE when there is no driver or no GPU. */
weiri_cuda *weiri_cuda_open(weir_ctx *ctx);
/* Sets the context's error from a driver result: "WHAT: CUDA_ERROR_... (719): text", and returns WEIR_E_DRIVER. */
weir_status weiri_cuda_fail(weir_ctx *ctx, const weiri_cuda *cu, weiri_cures r, const char *what, ...) WEIRI_PRINTF(4, 5);
/* After these results the context is lost and every later call in it fails. */
static inline bool weiri_cuda_fatal(weiri_cures r) { return r >= CU_ILLEGAL_ADDRESS && r <= CU_LAUNCH_FAILED; }

#endif
