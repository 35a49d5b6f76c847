/* A GPU or the simulator, and the tensors in its memory. */
#ifndef WEIRI_DEVICE_H
#define WEIRI_DEVICE_H

#include "cuda.h"
#include "sim/sim.h"

struct weiri_module;

struct weir_device {
    weir_ctx *ctx;
    weir_device *next; /* in weiri_cuda.devices */
    int index;         /* -1: the simulator */
    char name[128];
    int sms; /* multiprocessors; simulator: CTAs that run at once */
    /* GPU */
    weiri_cuda *cu;
    weiri_cudev dev;
    weiri_cuctx context;             /* the primary one, retained once by this object */
    int cc;                          /* compute capability, 90 for 9.0 */
    int64_t smem_optin;              /* bytes of shared memory a CTA may ask for */
    const struct weir_program *last; /* launched last, while it lives; its name stays: */
    char last_kernel[64];            /* asynchronous faults are blamed on it */
    weiri_cures dead;                /* the result that lost the context, 0 none */
    char killer[64];                 /* the kernel it was lost in */
    /* simulator */
    uint64_t seed;
    int seeds;          /* runs of one launch, from `seed` on */
    uint64_t last_seed; /* of the last run */
    weiri_buf findings; /* of the last run */
    weiri_sim_before before; /* the last launch, until the host waits for it */
    /* what closes with it */
    weir_buffer *buffers;
    struct weiri_module *modules;
    weir_bound *bounds;
};

struct weir_buffer {
    weir_ctx *ctx;
    weir_device *d;           /* NULL: the device was closed */
    weir_buffer *prev, *next; /* in d->buffers */
    weir_dtype dtype;
    int rank;
    int64_t shape[WEIR_MAX_RANK], stride[WEIR_MAX_RANK]; /* outermost first, elements */
    int64_t rows, row_bytes, pitch;                      /* innermost rows; bytes of one, and from one to the next */
    size_t bytes;                                        /* allocated */
    uint64_t address;
};

/* Makes the device's context current, unless it is; leave undoes exactly that, so that the host's current context is the
 * same before and after every call. Between the two no early return. enter fails when the context is lost; then there is
 * nothing to leave. */
weir_status weiri_device_enter(weir_device *d, bool *pushed);
void weiri_device_leave(weir_device *d, bool pushed);
/* Turns a driver result into a status and the context's error; results that lose the context mark the device. */
weir_status weiri_device_fail(weir_device *d, weiri_cures r, const char *what, ...) WEIRI_PRINTF(3, 4);
/* Is d one of the context's open devices? */
bool weiri_device_is_open(const weir_ctx *ctx, const weir_device *d);
/* The device that runs a program that names none: the first GPU, else the simulator, which is said once. */
weir_device *weiri_device_standard(weir_ctx *ctx);
/* launch.c: what was bound to memory that is freed is no longer launched. */
void weiri_launch_buffer_freed(const weir_device *d, uint64_t address, size_t bytes);
/* launch.c: unloads the device's modules and cuts its bindings loose. */
void weiri_launch_device_closed(weir_device *d);

#endif
