/* Devices and buffers. Every entry point leaves the host's current CUDA context as it found it. */
#include "device.h"

#include <stdio.h>
#include <string.h>

#include "number.h"
#include "sim/sim.h"

/* ---- the context stack -------------------------------------------------------------------------------------------------- */

static const char *fault_meaning(weiri_cures r) {
    switch (r) {
    case 700: return "an access outside any allocation: a tensor shorter than its shape, or freed";
    case 701: return "too many registers or too much shared memory for a launch";
    case 702: return "the display driver's time limit";
    case 715: return "an illegal instruction: mostly a tensor map that is not one";
    case 716: return "a misaligned address: mostly a shared-memory destination of TMA";
    case 719: return "a fault at a barrier or a copy: an arrive too many, or a shared address out of range";
    default: return "a fault in the kernel";
    }
}

static weir_status fail_dead(weir_device *d) {
    return weiri_fail(d->ctx, WEIR_E_DRIVER,
                      "GPU %d cannot be used: its context was lost when kernel '%s' failed with error %d (%s)", d->index,
                      d->killer, d->dead, fault_meaning(d->dead));
}

weir_status weiri_device_enter(weir_device *d, bool *pushed) {
    weiri_cuctx current = NULL;
    *pushed = false;
    if (d->dead) return fail_dead(d);
    weiri_cures r = d->cu->ctx_get(&current);
    if (r == CU_OK && current == d->context) return WEIR_OK;
    if (r == CU_OK) r = d->cu->ctx_push(d->context);
    if (r != CU_OK) return weiri_device_fail(d, r, "GPU %d: its context cannot be made current", d->index);
    *pushed = true;
    return WEIR_OK;
}

void weiri_device_leave(weir_device *d, bool pushed) {
    weiri_cuctx popped;
    if (pushed) d->cu->ctx_pop(&popped);
}

weir_status weiri_device_fail(weir_device *d, weiri_cures r, const char *what, ...) {
    char text[320];
    va_list ap;
    va_start(ap, what);
    vsnprintf(text, sizeof text, what, ap);
    va_end(ap);
    if (!weiri_cuda_fatal(r)) return weiri_cuda_fail(d->ctx, d->cu, r, "%s", text);
    d->dead = r;
    snprintf(d->killer, sizeof d->killer, "%s", *d->last_kernel ? d->last_kernel : "(not weir's)");
    return weiri_cuda_fail(d->ctx, d->cu, r,
                           "kernel '%s' failed: %s. The context of GPU %d is lost; nothing more can run in it. Seen at: %s",
                           d->killer, fault_meaning(r), d->index, text);
}

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

static void add_device(weiri_cuda *cu, weir_device *d) {
    d->next = cu->devices;
    cu->devices = d;
}

static weir_device *open_sim(weir_ctx *ctx, weiri_cuda *cu, const weir_device_desc *desc) {
    if (desc && desc->sms < 0) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "sms is %d: the simulated CTAs that run at once are 1 or more; 0: 8", desc->sms);
        return NULL;
    }
    weir_device *d = weiri_alloc(ctx, sizeof *d);
    if (!d) return NULL;
    d->ctx = ctx;
    d->index = -1;
    d->seed = desc && desc->seed ? desc->seed : 1;
    d->seeds = 1;
    d->last_seed = d->seed;
    d->sms = desc && desc->sms > 0 ? desc->sms : 8;
    snprintf(d->name, sizeof d->name, "simulator");
    weiri_buf_init(&d->findings, ctx);
    add_device(cu, d);
    return d;
}

static weir_device *open_gpu(weir_ctx *ctx, weiri_cuda *cu, int index) {
    if (index >= cu->gpus) {
        weiri_fail(ctx, WEIR_E_NO_DEVICE, "there is no GPU %d: the driver sees %d (0%s)", index, cu->gpus,
                   cu->gpus > 1 ? " ..." : "");
        return NULL;
    }
    weir_device *d = weiri_alloc(ctx, sizeof *d);
    if (!d) return NULL;
    int major = 0, minor = 0, optin = 0;
    d->ctx = ctx;
    d->cu = cu;
    d->index = index;
    weiri_buf_init(&d->findings, ctx);
    weiri_cures r = cu->device_get(&d->dev, index);
    if (r == CU_OK) r = cu->device_name(d->name, sizeof d->name, d->dev);
    if (r == CU_OK) r = cu->device_attribute(&d->sms, CU_DEV_SMS, d->dev);
    if (r == CU_OK) r = cu->device_attribute(&major, CU_DEV_CC_MAJOR, d->dev);
    if (r == CU_OK) r = cu->device_attribute(&minor, CU_DEV_CC_MINOR, d->dev);
    if (r == CU_OK) r = cu->device_attribute(&optin, CU_DEV_SMEM_OPTIN, d->dev);
    if (r == CU_OK) r = cu->primary_retain(&d->context, d->dev);
    if (r != CU_OK) {
        weiri_cuda_fail(ctx, cu, r, "GPU %d cannot be opened", index);
        weiri_free(ctx, d, sizeof *d);
        return NULL;
    }
    d->cc = major * 10 + minor;
    d->smem_optin = optin;
    add_device(cu, d);
    return d;
}

weir_device *weir_device_open(weir_ctx *ctx, const weir_device_desc *desc) {
    weiri_cuda *cu = weiri_cuda_state(ctx);
    if (!cu) return NULL;
    if (desc && desc->index < -1) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "device index is %d; it must be -1 (the simulator) or a GPU's number from 0",
                   desc->index);
        return NULL;
    }
    if (desc && desc->index == -1) return open_sim(ctx, cu, desc);
    if (desc) return weiri_cuda_open(ctx) ? open_gpu(ctx, cu, desc->index) : NULL;
    if (!*cu->why) return open_gpu(ctx, cu, 0);
    if (!ctx->said_sim) weiri_log(ctx, WEIR_LOG_WARNING, "weir: %s; the simulator is used", cu->why);
    ctx->said_sim = true;
    return open_sim(ctx, cu, NULL);
}

weir_device *weiri_device_standard(weir_ctx *ctx) {
    weiri_cuda *cu = weiri_cuda_state(ctx);
    if (cu && !cu->standard) cu->standard = weir_device_open(ctx, NULL);
    return cu ? cu->standard : NULL;
}

bool weiri_device_is_open(const weir_ctx *ctx, const weir_device *d) {
    const weiri_cuda *cu = ctx->cuda;
    for (const weir_device *e = cu ? cu->devices : NULL; e; e = e->next)
        if (e == d) return true;
    return false;
}

static void release_memory(weir_buffer *b) {
    bool pushed;
    weir_device *d = b->d;
    weiri_launch_buffer_freed(d, b->address, b->bytes);
    if (d->index < 0) {
        weiri_sim_free(d->ctx, (void *)(uintptr_t)b->address);
    } else if (!d->dead && weiri_device_enter(d, &pushed) == WEIR_OK) {
        weiri_cures r = d->cu->mem_free(b->address);
        if (r != CU_OK) weiri_device_fail(d, r, "freeing %zu bytes", b->bytes);
        weiri_device_leave(d, pushed);
    }
    if (b->prev) b->prev->next = b->next;
    else d->buffers = b->next;
    if (b->next) b->next->prev = b->prev;
    b->d = NULL;
    b->address = 0;
}

void weir_device_close(weir_device *d) {
    if (!d) return;
    weir_ctx *ctx = d->ctx;
    weiri_cuda *cu = ctx->cuda;
    weiri_launch_device_closed(d);
    while (d->buffers) release_memory(d->buffers); /* the objects stay, empty, until weir_buffer_free */
    if (d->context) cu->primary_release(d->dev);
    for (weir_device **at = &cu->devices; *at; at = &(*at)->next) {
        if (*at != d) continue;
        *at = d->next;
        break;
    }
    if (cu->standard == d) cu->standard = NULL;
    weiri_buf_free(&d->findings);
    weiri_free(ctx, d, sizeof *d);
}

int weir_device_count(weir_ctx *ctx) {
    weiri_cuda *cu = weiri_cuda_open(ctx);
    return cu ? cu->gpus : 0;
}

bool weir_device_is_sim(const weir_device *d) { return d->index < 0; }
const char *weir_device_name(const weir_device *d) { return d->name; }
int weir_device_sms(const weir_device *d) { return d->sms; }
const char *weir_device_findings(const weir_device *d) { return d->findings.s ? d->findings.s : ""; }

weir_status weir_device_explore(weir_device *d, int seeds) {
    if (d->index >= 0) return weiri_fail(d->ctx, WEIR_E_ARGUMENT, "%s has no seeds: only the simulator explores", d->name);
    if (seeds < 1) return weiri_fail(d->ctx, WEIR_E_ARGUMENT, "seeds is %d; it must be 1 or more", seeds);
    d->seeds = seeds;
    return WEIR_OK;
}

uint64_t weir_device_seed(const weir_device *d) { return d->last_seed; }

weir_status weir_device_sync(weir_device *d) {
    bool pushed;
    if (d->index < 0) {
        d->before = (weiri_sim_before){ 0 };
        return WEIR_OK;
    }
    weir_status st = weiri_device_enter(d, &pushed);
    if (st != WEIR_OK) return st;
    weiri_cures r = d->cu->ctx_sync();
    if (r != CU_OK) st = weiri_device_fail(d, r, "waiting for GPU %d", d->index);
    weiri_device_leave(d, pushed);
    return st;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------------ */

/* a * b of non-negative numbers, or -1 when it leaves 2^62 */
static int64_t times(int64_t a, int64_t b) { return a < 0 || b < 0 || (b > 0 && a > (INT64_MAX / 2) / b) ? -1 : a * b; }

static weir_status allocate(weir_device *d, size_t bytes, uint64_t *address) {
    bool pushed;
    if (d->index < 0) {
        void *p = weiri_sim_malloc(d->ctx, bytes);
        if (!p) return weiri_fail(d->ctx, WEIR_E_MEMORY, "the simulator has no %zu bytes", bytes);
        memset(p, 0, bytes);
        *address = (uint64_t)(uintptr_t)p;
        d->before = (weiri_sim_before){ 0 }; /* clearing it waits on a GPU */
        return WEIR_OK;
    }
    weir_status st = weiri_device_enter(d, &pushed);
    if (st != WEIR_OK) return st;
    weiri_cuptr p = 0;
    weiri_cures r = d->cu->mem_alloc(&p, bytes);
    if (r != CU_OK) {
        st = weiri_device_fail(d, r, "allocating %zu bytes on GPU %d", bytes, d->index);
    } else if ((r = d->cu->set_d8(p, 0, bytes)) != CU_OK) { /* padding too is defined */
        st = weiri_device_fail(d, r, "clearing %zu bytes on GPU %d", bytes, d->index);
        d->cu->mem_free(p);
    }
    weiri_device_leave(d, pushed);
    *address = p;
    return st;
}

static bool plan_buffer(weir_ctx *ctx, const weir_buffer_desc *desc, weir_buffer *b) {
    int size = weir_dtype_size(desc->dtype), pitch = desc->pitch ? desc->pitch : 16;
    if (size <= 0) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "a tensor needs a dtype; %d is none", (int)desc->dtype);
        return false;
    }
    if (desc->rank < 1 || desc->rank > WEIR_MAX_RANK) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "a tensor's rank is 1 to %d; %d was given", WEIR_MAX_RANK, desc->rank);
        return false;
    }
    if (pitch < 0 || pitch % size) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "pitch is %d bytes; it must be a positive multiple of the element's %d", pitch, size);
        return false;
    }
    b->dtype = desc->dtype;
    b->rank = desc->rank;
    for (int i = 0; i < b->rank; i++) {
        b->shape[i] = desc->shape[i];
        if (b->shape[i] >= 0) continue;
        weiri_fail(ctx, WEIR_E_ARGUMENT, "axis %d of a tensor has %lld elements; it must have 0 or more", i,
                   (long long)b->shape[i]);
        return false;
    }
    int last = b->rank - 1;
    b->row_bytes = times(b->shape[last], size);
    b->pitch = b->row_bytes < 0 ? -1 : (b->row_bytes + pitch - 1) / pitch * pitch;
    if (b->pitch == 0) b->pitch = pitch;
    b->stride[last] = 1;
    if (last > 0) b->stride[last - 1] = b->pitch / size;
    b->rows = 1;
    for (int i = last - 1; i >= 0; i--) {
        if (i < last - 1) b->stride[i] = times(b->stride[i + 1], b->shape[i + 1] ? b->shape[i + 1] : 1);
        b->rows = times(b->rows, b->shape[i]);
    }
    int64_t bytes = times(b->rows, b->pitch);
    if (b->row_bytes < 0 || bytes < 0 || (last > 0 && b->stride[0] < 0)) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "the tensor's size leaves 64 bits");
        return false;
    }
    b->bytes = bytes ? (size_t)bytes : 16; /* an empty tensor has an address too */
    return true;
}

weir_buffer *weir_buffer_new(weir_device *d, const weir_buffer_desc *desc) {
    weir_buffer *b = weiri_alloc(d->ctx, sizeof *b);
    if (!b) return NULL;
    if (!plan_buffer(d->ctx, desc, b) || allocate(d, b->bytes, &b->address) != WEIR_OK) {
        weiri_free(d->ctx, b, sizeof *b);
        return NULL;
    }
    b->d = d;
    b->ctx = d->ctx;
    b->next = d->buffers;
    if (b->next) b->next->prev = b;
    d->buffers = b;
    return b;
}

void weir_buffer_free(weir_buffer *b) {
    if (!b) return;
    if (b->d) release_memory(b);
    weiri_free(b->ctx, b, sizeof *b);
}

weir_dtype weir_buffer_dtype(const weir_buffer *b) { return b->dtype; }
int weir_buffer_rank(const weir_buffer *b) { return b->rank; }
int64_t weir_buffer_shape(const weir_buffer *b, int axis) { return axis >= 0 && axis < b->rank ? b->shape[axis] : 0; }
int64_t weir_buffer_stride(const weir_buffer *b, int axis) { return axis >= 0 && axis < b->rank ? b->stride[axis] : 0; }
uint64_t weir_buffer_address(const weir_buffer *b) { return b->address; }

/* ---- moving data -------------------------------------------------------------------------------------------------------- */

enum { TO_DEVICE, FROM_DEVICE };
enum { CHUNK_BYTES = 4 << 20 };

/* One row in host memory: `n` elements from element number `first` of the packed tensor. */
typedef void (*row_fn)(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n);

static weir_status move_bytes(const weir_buffer *b, int direction, int64_t offset, char *host, size_t n) {
    weir_device *d = b->d;
    if (d->index < 0) {
        char *p = (char *)(uintptr_t)b->address + offset;
        memcpy(direction == TO_DEVICE ? p : host, direction == TO_DEVICE ? host : p, n);
        return WEIR_OK;
    }
    bool pushed;
    weir_status st = weiri_device_enter(d, &pushed);
    if (st != WEIR_OK) return st;
    weiri_cuptr p = b->address + (uint64_t)offset;
    weiri_cures r = direction == TO_DEVICE ? d->cu->copy_to(p, host, n) : d->cu->copy_from(host, p, n);
    if (r != CU_OK)
        st = weiri_device_fail(d, r, "copying %zu bytes %s GPU %d", n, direction == TO_DEVICE ? "to" : "from", d->index);
    weiri_device_leave(d, pushed);
    return st;
}

/* Brings the tensor through host memory a few rows at a time and calls fn on each row: before the copy to the device, or
 * after the copy from it. Kernels on any stream are waited for first: launches are asynchronous and the host's streams
 * unknown here. */
static weir_status through_rows(const weir_buffer *b, int direction, row_fn fn, void *ud) {
    if (!b->d) return weiri_fail(b->ctx, WEIR_E_ARGUMENT, "the tensor's device was closed");
    int64_t count = b->shape[b->rank - 1], chunk = CHUNK_BYTES / b->pitch > 0 ? CHUNK_BYTES / b->pitch : 1;
    weir_status st = weir_device_sync(b->d);
    if (st != WEIR_OK || b->rows == 0 || count == 0) return st;
    if (chunk > b->rows) chunk = b->rows;
    size_t size = (size_t)(chunk * b->pitch);
    char *host = weiri_alloc(b->ctx, size);
    if (!host) return WEIR_E_MEMORY;
    for (int64_t row = 0; row < b->rows && st == WEIR_OK; row += chunk) {
        int64_t n = b->rows - row < chunk ? b->rows - row : chunk;
        if (direction == FROM_DEVICE) st = move_bytes(b, direction, row * b->pitch, host, (size_t)(n * b->pitch));
        for (int64_t i = 0; i < n && st == WEIR_OK; i++) fn(ud, b, host + i * b->pitch, (row + i) * count, count);
        if (direction == TO_DEVICE) st = move_bytes(b, direction, row * b->pitch, host, (size_t)(n * b->pitch));
    }
    weiri_free(b->ctx, host, size);
    return st;
}

static weir_status check_size(const weir_buffer *b, size_t given, int64_t expected, const char *unit) {
    if (given == (size_t)expected) return WEIR_OK;
    return weiri_fail(b->ctx, WEIR_E_ARGUMENT, "the tensor holds %lld %s; %zu were given", (long long)expected, unit, given);
}

static void row_in(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n) {
    int64_t size = weir_dtype_size(b->dtype);
    memcpy(row, *(const char **)ud + first * size, (size_t)(n * size));
}

static void row_out(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n) {
    int64_t size = weir_dtype_size(b->dtype);
    memcpy(*(char **)ud + first * size, row, (size_t)(n * size));
}

static void row_from_f64(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n) {
    weiri_number_put_n(b->dtype, *(const double **)ud + first, (size_t)n, row);
}

static void row_to_f64(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n) {
    weiri_number_get_n(b->dtype, row, (size_t)n, *(double **)ud + first);
}

static void row_of_one(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n) {
    int64_t size = weir_dtype_size(b->dtype);
    (void)first;
    for (int64_t i = 0; i < n; i++) memcpy(row + i * size, ud, (size_t)size);
}

static void row_random(void *ud, const weir_buffer *b, char *row, int64_t first, int64_t n) {
    int64_t size = weir_dtype_size(b->dtype);
    (void)first;
    for (int64_t i = 0; i < n; i++) weiri_number_put(b->dtype, weiri_random_normal(ud), row + i * size);
}

static int64_t count_of(const weir_buffer *b) { return b->rows * b->shape[b->rank - 1]; }

weir_status weir_buffer_write(weir_buffer *b, const void *packed, size_t bytes) {
    weir_status st = check_size(b, bytes, b->rows * b->row_bytes, "bytes");
    if (st != WEIR_OK) return st;
    if (b->row_bytes != b->pitch || !b->d || bytes == 0) return through_rows(b, TO_DEVICE, row_in, &packed);
    st = weir_device_sync(b->d);
    return st == WEIR_OK ? move_bytes(b, TO_DEVICE, 0, (char *)(uintptr_t)packed, bytes) : st;
}

weir_status weir_buffer_read(const weir_buffer *b, void *packed, size_t bytes) {
    weir_status st = check_size(b, bytes, b->rows * b->row_bytes, "bytes");
    if (st != WEIR_OK) return st;
    if (b->row_bytes != b->pitch || !b->d || bytes == 0) return through_rows(b, FROM_DEVICE, row_out, &packed);
    st = weir_device_sync(b->d);
    return st == WEIR_OK ? move_bytes(b, FROM_DEVICE, 0, packed, bytes) : st;
}

/* `element` counts from 1; 0: the number is for all of them. */
static weir_status check_number(const weir_buffer *b, double x, size_t element) {
    double low, high;
    char which[48] = "a number for";
    if (weiri_number_fits(b->dtype, x, &low, &high)) return WEIR_OK;
    if (element) snprintf(which, sizeof which, "element %zu of", element);
    return weiri_fail(b->ctx, WEIR_E_ARGUMENT, "%s the %s tensor is %.16g: it holds whole numbers from %.20g to %.20g", which,
                      weir_dtype_name(b->dtype), x, low, high);
}

weir_status weir_buffer_write_f64(weir_buffer *b, const double *x, size_t n) {
    weir_status st = check_size(b, n, count_of(b), "elements");
    for (size_t i = 0; i < n && st == WEIR_OK && b->dtype <= WEIR_U64; i++) st = check_number(b, x[i], i + 1); /* ORDER DTYPE */
    return st == WEIR_OK ? through_rows(b, TO_DEVICE, row_from_f64, &x) : st;
}

weir_status weir_buffer_read_f64(const weir_buffer *b, double *x, size_t n) {
    weir_status st = check_size(b, n, count_of(b), "elements");
    return st == WEIR_OK ? through_rows(b, FROM_DEVICE, row_to_f64, &x) : st;
}

weir_status weir_buffer_fill(weir_buffer *b, double x) {
    char element[8];
    weir_status st = check_number(b, x, 0);
    if (st != WEIR_OK) return st;
    weiri_number_put(b->dtype, x, element);
    return through_rows(b, TO_DEVICE, row_of_one, element);
}

weir_status weir_buffer_randn(weir_buffer *b, uint64_t seed) {
    weiri_random r;
    weiri_random_seed(&r, seed);
    return through_rows(b, TO_DEVICE, row_random, &r);
}
