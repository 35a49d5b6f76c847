/* Tensors of other libraries in the form they exchange them in: DLPack 1.x, whose dlpack.h lays out the structs below. */
#include <string.h>

#include "mem.h"
#include "program.h"

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };           /* DLDeviceType */
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6, DL_E4M3FN = 10, DL_E5M2 = 12 }; /* DLDataTypeCode */

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides in elements; NULL: packed */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed { /* DLManagedTensor, capsule "dltensor" */
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned { /* DLManagedTensorVersioned, capsule "dltensor_versioned" */
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags; /* bit 0: read only */
    dl_tensor tensor;
} dl_versioned;

static weir_dtype dtype_of(int code, int bits) {
    static const struct {
        int code, bits;
        weir_dtype dtype;
    } rows[] = {
        { DL_BOOL, 8, WEIR_BOOL },    { DL_INT, 8, WEIR_I8 },       { DL_INT, 16, WEIR_I16 },   { DL_INT, 32, WEIR_I32 },
        { DL_INT, 64, WEIR_I64 },     { DL_UINT, 8, WEIR_U8 },      { DL_UINT, 16, WEIR_U16 },  { DL_UINT, 32, WEIR_U32 },
        { DL_UINT, 64, WEIR_U64 },    { DL_FLOAT, 16, WEIR_F16 },   { DL_FLOAT, 32, WEIR_F32 }, { DL_FLOAT, 64, WEIR_F64 },
        { DL_BFLOAT, 16, WEIR_BF16 }, { DL_E4M3FN, 8, WEIR_E4M3 },  { DL_E5M2, 8, WEIR_E5M2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code && rows[i].bits == bits) return rows[i].dtype;
    return WEIR_DTYPE_NONE;
}

weir_status weir_dlpack_arg(weir_ctx *ctx, const void *managed, bool versioned, weir_arg *out) {
    if (!managed) return weiri_fail(ctx, WEIR_E_ARGUMENT, "the DLPack tensor is null");
    const dl_versioned *v = versioned ? managed : NULL;
    if (v && v->major != 1) {
        return weiri_fail(ctx, WEIR_E_ARGUMENT,
                          "the DLPack tensor is of version %u.%u; 1.x is read (a tensor without a version: versioned = false)",
                          (unsigned)v->major, (unsigned)v->minor);
    }
    const dl_tensor *t = v ? &v->tensor : &((const dl_managed *)managed)->tensor;
    weir_arg a;
    memset(&a, 0, sizeof a);
    switch (t->device.type) {
    case DL_CPU: a.memory = WEIR_MEMORY_HOST; break;
    case DL_CUDA: a.memory = WEIR_MEMORY_GPU; break;
    case DL_CUDA_HOST:
    case DL_CUDA_MANAGED: break; /* both sides reach it */
    default:
        return weiri_fail(ctx, WEIR_E_ARGUMENT,
                          "the DLPack tensor is on a device of type %d; CPU (1) and CUDA (2, 3, 13) are possible",
                          (int)t->device.type);
    }
    a.gpu = t->device.id;
    a.dtype = dtype_of(t->dtype.code, t->dtype.bits);
    if (a.dtype == WEIR_DTYPE_NONE || t->dtype.lanes != 1) {
        return weiri_fail(ctx, WEIR_E_ARGUMENT,
                          "the DLPack tensor has elements of type code %d, %d bits, %d lanes, which weir has no dtype for",
                          t->dtype.code, t->dtype.bits, t->dtype.lanes);
    }
    if (t->ndim < 1 || t->ndim > WEIR_MAX_RANK)
        return weiri_fail(ctx, WEIR_E_ARGUMENT, "the DLPack tensor has %d axes; 1 to %d are possible", (int)t->ndim, WEIR_MAX_RANK);
    a.rank = t->ndim;
    int64_t packed = 1;
    for (int i = a.rank - 1; i >= 0; i--) {
        a.shape[i] = t->shape[i];
        a.stride[i] = t->strides ? t->strides[i] : packed;
        if (a.shape[i] < 0) {
            return weiri_fail(ctx, WEIR_E_ARGUMENT, "the DLPack tensor's axis %d has %lld elements", i, (long long)a.shape[i]);
        }
        packed *= a.shape[i] > 0 ? a.shape[i] : 1;
    }
    a.address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    a.read_only = v && (v->flags & 1);
    a.name = out->name;
    *out = a;
    return WEIR_OK;
}

void weir_dlpack_release(void *managed, bool versioned) {
    if (!managed) return;
    if (versioned) {
        dl_versioned *v = managed;
        if (v->deleter) v->deleter(v);
    } else {
        dl_managed *m = managed;
        if (m->deleter) m->deleter(m);
    }
}
