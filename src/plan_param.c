/* The parameters of the emitted kernel, in order: tensor maps, pointers with their strides, the queue's counter, dims, scalars. */
#include "names.h"
#include "planning.h"

const char *weiri_ctype(weir_dtype t) {
    switch (t) {
    case WEIR_BOOL: return "bool";
    case WEIR_I8: return "i8";
    case WEIR_U8: return "u8";
    case WEIR_I16: return "i16";
    case WEIR_U16: return "u16";
    case WEIR_I32: return "i32";
    case WEIR_U32: return "u32";
    case WEIR_I64: return "i64";
    case WEIR_U64: return "u64";
    case WEIR_F16: return "f16";
    case WEIR_BF16: return "bf16";
    case WEIR_F64: return "double";
    case WEIR_E4M3: return "e4m3";
    case WEIR_E5M2: return "e5m2";
    default: return "float";
    }
}

static void add_param(weiri_plan *p, weiri_kparam_kind kind, int index, int axis, const char *name, const char *type,
                      int size) {
    weiri_kparam q = { kind, index, axis, name, type, size };
    WEIRI_PUSH(&p->a, p->params, q);
}

/* The kernel's own name and its parameters' come first: nothing else can take them. */
void pl_make_params(weiri_plan *p) {
    const weir_kernel *k = p->k;
    weiri_kernel_symbol(p);
    for (int i = 0; i < k->tensors.n; i++) weiri_name(p, NAME_ARGUMENT, 0, k->tensors.v[i]->name);
    for (int i = 0; i < k->dims.n; i++) weiri_name(p, NAME_ARGUMENT, 0, weiri_val(k, k->dims.v[i])->name);
    for (int i = 0; i < k->scalars.n; i++) weiri_name(p, NAME_ARGUMENT, 0, weiri_val(k, k->scalars.v[i])->name);
    for (int i = 0; i < p->tmaps.n; i++)
        add_param(p, KP_TMAP, i, 0, weiri_name(p, NAME_MAP, i, p->tmaps.v[i].name), "w_tmap", 128);
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        if (!p->touches[i]) continue;
        const char *type = weiri_arena_fmt(&p->a, "%s%s *", t->out ? "" : "const ", weiri_ctype(t->dtype));
        const char *name = weiri_name(p, NAME_TENSOR, 0, t->name);
        add_param(p, KP_PTR, i, 0, weiri_name(p, NAME_ARGUMENT, 0, t->name), type, 8);
        for (int a = 0; a + 1 < t->rank; a++)
            add_param(p, KP_STRIDE, i, a, weiri_arena_fmt(&p->a, "%s_stride%d", name, a), "i64", 8);
    }
    if (p->queue && weiri_dynamic(p->queue))
        add_param(p, KP_COUNTER, 0, 0,
                  weiri_arena_fmt(&p->a, "%s_counter", weiri_name(p, NAME_QUEUE, p->queue->index, p->queue->name)), "u32 *", 8);
    for (int i = 0; i < k->dims.n; i++)
        add_param(p, KP_DIM, i, 0, weiri_name(p, NAME_ARGUMENT, 0, weiri_val(k, k->dims.v[i])->name), "i32", 4);
    for (int i = 0; i < k->scalars.n; i++) {
        const weiri_value *v = weiri_val(k, k->scalars.v[i]);
        add_param(p, KP_SCALAR, i, 0, weiri_name(p, NAME_ARGUMENT, 0, v->name), weiri_ctype(v->dtype),
                  weir_dtype_size(v->dtype));
    }
}
