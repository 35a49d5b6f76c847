/* Values: what dims, coordinates, reads and arithmetic give. One node per structure, so that equal expressions are one value in
 * every task; what is read or returned by an op is a node of its own each time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

/* ---- dtypes ------------------------------------------------------------------------------------------------------------- */

/* ORDER DTYPE */
static const struct {
    const char *name;
    int size;
} dtypes[WEIR_DTYPE_COUNT] = {
    { "none", 0 }, { "bool", 1 }, { "i8", 1 },   { "u8", 1 },   { "i16", 2 },  { "u16", 2 },
    { "i32", 4 },  { "u32", 4 },  { "i64", 8 },  { "u64", 8 },  { "f16", 2 },  { "bf16", 2 },
    { "f32", 4 },  { "f64", 8 },  { "tf32", 4 }, { "e4m3", 1 }, { "e5m2", 1 },
};

const char *weir_dtype_name(weir_dtype t) { return (unsigned)t < WEIR_DTYPE_COUNT ? dtypes[t].name : "none"; }
int weir_dtype_size(weir_dtype t) { return (unsigned)t < WEIR_DTYPE_COUNT ? dtypes[t].size : 0; }

weir_dtype weir_dtype_from_name(const char *name) {
    for (int t = WEIR_BOOL; t < WEIR_DTYPE_COUNT; t++)
        if (name && strcmp(dtypes[t].name, name) == 0) return (weir_dtype)t;
    return WEIR_DTYPE_NONE;
}

bool weiri_value_is_float(weir_dtype t) { return t >= WEIR_F16; }
bool weiri_value_is_unsigned(weir_dtype t) { return t == WEIR_U32 || t == WEIR_U64; }

/* What two numbers are computed in: at least 32 bits, floats before integers. */
weir_dtype weiri_value_promote(weir_dtype x, weir_dtype y) {
    if (weiri_value_is_float(x) || weiri_value_is_float(y)) return x == WEIR_F64 || y == WEIR_F64 ? WEIR_F64 : WEIR_F32;
    if (weir_dtype_size(x) == 8 || weir_dtype_size(y) == 8) return x == WEIR_U64 || y == WEIR_U64 ? WEIR_U64 : WEIR_I64;
    if (x == WEIR_U32 || y == WEIR_U32) return WEIR_U32;
    return WEIR_I32;
}

weir_dtype weiri_value_signless(const weir_kernel *k, uint32_t id) {
    const weiri_value *v = weiri_val(k, id);
    const bool compares = v->op >= WEIR_OP_LT && v->op <= WEIR_OP_NE, picks = v->op == WEIR_OP_MIN || v->op == WEIR_OP_MAX;
    if (!compares && !picks && v->op != WEIR_OP_IDIV && v->op != WEIR_OP_MOD && v->op != WEIR_OP_CEIL_DIV) return WEIR_DTYPE_NONE;
    const weir_dtype both = weiri_value_promote(weiri_val(k, v->arg[0])->dtype, weiri_val(k, v->arg[1])->dtype);
    return weiri_value_is_unsigned(both) ? both : WEIR_DTYPE_NONE;
}

int64_t weiri_value_narrow(weir_dtype t, int64_t x) {
    switch (t) {
    case WEIR_I8: return (int8_t)(uint8_t)x;
    case WEIR_U8: return (uint8_t)x;
    case WEIR_I16: return (int16_t)(uint16_t)x;
    case WEIR_U16: return (uint16_t)x;
    default: return x;
    }
}

/* ---- nodes -------------------------------------------------------------------------------------------------------------- */

const weiri_value *weiri_val(const weir_kernel *k, uint32_t id) {
    static const weiri_value none = { .op = WEIR_OP_NONE };
    return id && (int)id < k->values.n ? &k->values.v[id] : &none;
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

static uint64_t hash(const weiri_value *v) {
    uint64_t f;
    memcpy(&f, &v->f, sizeof f);
    uint64_t h = mix(mix(mix(v->op, (uint64_t)v->dtype), (uint64_t)v->i), f);
    h = mix(mix(h, (uint64_t)v->count), (uint64_t)(uintptr_t)v->res);
    if (v->op == WEIR_OP_INDEX) h = mix(h, (uint64_t)(uintptr_t)v->loop);
    for (int i = 0; i < v->nargs; i++) h = mix(h, v->arg[i]);
    return h ^ h >> 29;
}

static bool equal(const weiri_value *x, const weiri_value *y) {
    return x->op == y->op && x->kind == y->kind && x->dtype == y->dtype && x->rows == y->rows && x->cols == y->cols &&
           x->i == y->i && memcmp(&x->f, &y->f, sizeof x->f) == 0 && x->count == y->count && x->res == y->res &&
           x->dim == y->dim && (x->op != WEIR_OP_INDEX || x->loop == y->loop) && x->nargs == y->nargs &&
           memcmp(x->arg, y->arg, sizeof *x->arg * (size_t)x->nargs) == 0;
}

static void grow_table(weir_kernel *k) {
    uint32_t cap = k->table_cap ? k->table_cap * 2 : 256;
    uint32_t *t = WEIRI_NEW_N(&k->a, uint32_t, cap);
    for (uint32_t i = 0; i < k->table_cap; i++) {
        uint32_t id = k->table[i];
        if (!id) continue;
        uint32_t at = (uint32_t)hash(weiri_val(k, id)) & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = id;
    }
    k->table = t;
    k->table_cap = cap;
}

static int depth(const weiri_node *n) {
    int d = 0;
    for (; n; n = n->parent) d++;
    return d;
}

/* Fills in what follows from the arguments: the block and the tile the value depends on. */
static void inherit(weir_kernel *k, weiri_value *v) {
    for (int i = 0; i < v->nargs; i++) {
        weiri_value *x = &k->values.v[v->arg[i]];
        x->used = true;
        if (depth(x->scope) > depth(v->scope)) v->scope = x->scope;
        if (x->tiles) v->tiles = x->tiles;
        v->before |= x->before;
    }
}

/* Fills in what is known of a value as a whole; parts are made before it. */
static void measure(const weir_kernel *k, weiri_value *v) {
    uint64_t text = v->nargs > 0;
    v->ops = UINT64_C(1) << v->op; /* ORDER OP: there are fewer than 64 */
    v->deep = v->nargs > 0;
    for (int i = 0; i < v->nargs; i++) {
        const weiri_value *x = weiri_val(k, v->arg[i]);
        text += (uint64_t)x->text * (v->op == WEIR_OP_MOD || v->op == WEIR_OP_ABS ? 2 : 1); /* written twice */
        v->ops |= x->ops;
        if (v->deep < x->deep + 1) v->deep = x->deep + 1;
    }
    v->text = text < UINT32_MAX ? (uint32_t)text : UINT32_MAX;
}
_Static_assert(WEIR_OP_COUNT <= 64, "weiri_value.ops has a bit for each");

weir_value weiri_value_add(weir_kernel *k, const weiri_value *given, bool share) {
    weiri_value v = *given;
    if (!k->values.n) WEIRI_PUSH(&k->a, k->values, (weiri_value){ 0 });
    inherit(k, &v);
    v.at = k->here;
    measure(k, &v);
    if (share && v.deep > WEIRI_MAX_DEEP) {
        weiri_kernel_fault(k, &k->here, "VAL-DEPTH", "keep what is there so far in a reg_tile, or add in pairs: (a + b) + (c + d)",
                           "an expression of more than %d operations in each other", WEIRI_MAX_DEEP);
        return (weir_value){ 0 };
    }
    uint32_t at = 0;
    if (share) {
        if ((uint32_t)k->values.n * 2 >= k->table_cap) grow_table(k);
        at = (uint32_t)hash(&v) & (k->table_cap - 1);
        for (; k->table[at]; at = (at + 1) & (k->table_cap - 1))
            if (equal(weiri_val(k, k->table[at]), &v)) return (weir_value){ k->table[at] };
    }
    WEIRI_PUSH(&k->a, k->values, v);
    uint32_t id = (uint32_t)k->values.n - 1;
    if (share) k->table[at] = id;
    return (weir_value){ id };
}

bool weiri_value_const(const weir_kernel *k, uint32_t id, int64_t *out) {
    const weiri_value *v = weiri_val(k, id);
    if (v->op != WEIR_OP_INT) return false;
    if (out) *out = v->i;
    return true;
}

bool weiri_value_uses(const weir_kernel *k, uint32_t id, weir_op leaf) {
    return weiri_val(k, id)->ops >> leaf & 1;
}

bool weiri_value_in_regs(const weir_kernel *k, uint32_t id) {
    return weiri_value_uses(k, id, WEIR_OP_READ_REG) || weiri_value_uses(k, id, WEIR_OP_ROW) || weiri_value_uses(k, id, WEIR_OP_COL);
}

bool weiri_value_reduces(const weir_kernel *k, uint32_t id) {
    return weiri_value_uses(k, id, WEIR_OP_ROW_MAX) || weiri_value_uses(k, id, WEIR_OP_ROW_MIN) || weiri_value_uses(k, id, WEIR_OP_ROW_SUM);
}

void weiri_visit_begin(const weir_kernel *k) {
    weir_kernel *own = (weir_kernel *)k; /* scratch only */
    if (own->met.cap < k->values.n) {
        own->met.cap = 2 * k->values.n;
        own->met.by = WEIRI_NEW_N(&own->a, uint32_t, own->met.cap);
        own->met.walk = 0;
    }
    own->met.walk++;
}

bool weiri_visit(const weir_kernel *k, uint32_t id) {
    if (!id || (int)id >= k->met.cap || k->met.by[id] == k->met.walk) return false;
    k->met.by[id] = k->met.walk;
    return true;
}

/* ---- use ---------------------------------------------------------------------------------------------------------------- */

static bool is_open(const weir_kernel *k, const weiri_node *block) {
    return k->over || weiri_node_inside(k->open, block); /* over: too deep to be recorded, said once */
}

static bool tile_open(const weir_kernel *k, const weir_res *queue) {
    for (const weiri_node *n = k->open; n; n = n->parent)
        if (n->kind == NODE_TILES && n->queue == queue) return true;
    return false;
}

static bool before_open(const weir_kernel *k, weir_guard_kind kind) {
    if (k->over) return true;
    for (const weiri_node *n = k->open; n; n = n->parent)
        if (weiri_of_before(n) && n->guard == kind) return true;
    return false;
}

static const char *text_of(weir_kernel *k, uint32_t id) {
    char small[160];
    size_t n = weir_value_text(k, (weir_value){ id }, small, sizeof small);
    if (n >= sizeof small) memcpy(small + sizeof small - 4, "...", 4);
    return weiri_arena_str(&k->a, small);
}

static const char *block_name(const weiri_node *n) {
    switch (n->kind) {
    case NODE_LOOP: return "domain loop";
    case NODE_GUARD: return "guard";
    case NODE_TILES: return "work-tile loop";
    case NODE_SKIPPABLE: return "skippable block";
    default: return "schedule";
    }
}

bool weiri_value_usable(weir_kernel *k, uint32_t id, const char *what) {
    const weiri_value *v = weiri_val(k, id);
    if (v->op == WEIR_OP_NONE) { /* what a refused call gave is not complained about again */
        if (!k->faults.list.n) weiri_kernel_fault(k, &k->here, "VAL-ARG", NULL, "%s: there is no value", what);
        return false;
    }
    if (v->scope && !is_open(k, v->scope)) {
        weiri_chain made = v->scope->kind == NODE_OP ? v->at : v->scope->at;
        weiri_kernel_fault(k, &k->here, "VAL-SCOPE", "keep it in a reg_tile, or use it inside the block",
                           "%s: %s is used outside the %s that made it", what, text_of(k, id), block_name(v->scope));
        weiri_also_at(k, &made, "made in this block");
        return false;
    }
    if (v->tiles && !tile_open(k, v->tiles)) {
        weiri_kernel_fault(k, &k->here, "VAL-SCOPE", "use it inside the work-tile loop",
                           "%s: %s is a coordinate of a tile of '%s', and no work-tile loop over it is open", what,
                           text_of(k, id), v->tiles->name);
        return false;
    }
    for (int last = 0; last < 2; last++) {
        const char *of = last ? "last_tile" : "previous_tile";
        if (!(v->before >> last & 1) || before_open(k, last ? WEIR_GUARD_LAST_TILE : WEIR_GUARD_PREVIOUS_TILE)) continue;
        weiri_kernel_fault(k, &k->here, "VAL-SCOPE", weiri_arena_fmt(&k->a, "use it inside `for b in weir.%s(...) do ... end`", of),
                           "%s: %s is made of coordinates that %s gives, and none is open", what, text_of(k, id), of);
        return false;
    }
    k->values.v[id].used = true;
    return true;
}

weir_value weiri_value_load(weir_kernel *k, weir_value v) {
    return weiri_val(k, v.id)->kind == WEIR_VALUE_VIEW ? weir_view_load(k, v) : v;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------------- */

static weir_dtype int_dtype(int64_t x) { return x >= INT32_MIN && x <= INT32_MAX ? WEIR_I32 : WEIR_I64; }

weir_value weir_int(weir_kernel *k, int64_t x) {
    weir_dtype t = int_dtype(x);
    return weiri_value_add(
        k,
        &(weiri_value){
            .op = WEIR_OP_INT, .kind = WEIR_VALUE_SCALAR, .dtype = t, .rows = 1, .cols = 1, .uniform = true, .i = x },
        true);
}

static weir_value truth(weir_kernel *k, bool x) {
    return weiri_value_add(
        k,
        &(weiri_value){
            .op = WEIR_OP_INT, .kind = WEIR_VALUE_COND, .dtype = WEIR_BOOL, .rows = 1, .cols = 1, .uniform = true, .i = x },
        true);
}

weir_value weir_float(weir_kernel *k, double x) {
    return weiri_value_add(
        k,
        &(weiri_value){
            .op = WEIR_OP_FLOAT, .kind = WEIR_VALUE_SCALAR, .dtype = WEIR_F32, .rows = 1, .cols = 1, .uniform = true, .f = x },
        true);
}

/* ---- arithmetic --------------------------------------------------------------------------------------------------------- */

/* ORDER OP: how an operation is written. `level`: binding strength of the operator, 0 when written as a call. */
static const struct {
    const char *text;
    int level, nargs;
} ops[WEIR_OP_COUNT] = {
    [WEIR_OP_ADD] = { "+", 5, 2 },
    [WEIR_OP_SUB] = { "-", 5, 2 },
    [WEIR_OP_MUL] = { "*", 6, 2 },
    [WEIR_OP_DIV] = { "/", 6, 2 },
    [WEIR_OP_IDIV] = { "//", 6, 2 },
    [WEIR_OP_MOD] = { "%", 6, 2 },
    [WEIR_OP_NEG] = { "-", 7, 1 },
    [WEIR_OP_CEIL_DIV] = { "ceil_div", 0, 2 },
    [WEIR_OP_MIN] = { "min", 0, 2 },
    [WEIR_OP_MAX] = { "max", 0, 2 },
    [WEIR_OP_ABS] = { "abs", 0, 1 },
    [WEIR_OP_EXP] = { "exp", 0, 1 },
    [WEIR_OP_EXP2] = { "exp2", 0, 1 },
    [WEIR_OP_LOG2] = { "log2", 0, 1 },
    [WEIR_OP_RCP] = { "rcp", 0, 1 },
    [WEIR_OP_RSQRT] = { "rsqrt", 0, 1 },
    [WEIR_OP_TANH] = { "tanh", 0, 1 },
    [WEIR_OP_LT] = { "<", 4, 2 },
    [WEIR_OP_LE] = { "<=", 4, 2 },
    [WEIR_OP_GT] = { ">", 4, 2 },
    [WEIR_OP_GE] = { ">=", 4, 2 },
    [WEIR_OP_EQ] = { "==", 4, 2 },
    [WEIR_OP_NE] = { "~=", 4, 2 },
    [WEIR_OP_AND] = { "&", 3, 2 },
    [WEIR_OP_OR] = { "|", 2, 2 },
    [WEIR_OP_NOT] = { "~", 7, 1 },
    [WEIR_OP_SELECT] = { "select", 0, 3 },
    [WEIR_OP_CAST] = { "cast", 0, 1 },
    [WEIR_OP_ROW_MAX] = { "row_max", 0, 1 },
    [WEIR_OP_ROW_MIN] = { "row_min", 0, 1 },
    [WEIR_OP_ROW_SUM] = { "row_sum", 0, 1 },
};

static bool is_compare(weir_op op) { return op >= WEIR_OP_LT && op <= WEIR_OP_NE; }
static bool is_logic(weir_op op) { return op == WEIR_OP_AND || op == WEIR_OP_OR || op == WEIR_OP_NOT; }

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* One integer operation; false when the result does not exist or does not fit. The one place that knows their meaning. */
static bool compute(weir_op op, const int64_t *x, int64_t *out) {
    int64_t t;
    switch (op) {
    case WEIR_OP_ADD: return !__builtin_add_overflow(x[0], x[1], out);
    case WEIR_OP_SUB: return !__builtin_sub_overflow(x[0], x[1], out);
    case WEIR_OP_MUL: return !__builtin_mul_overflow(x[0], x[1], out);
    case WEIR_OP_NEG: return !__builtin_sub_overflow((int64_t)0, x[0], out);
    case WEIR_OP_ABS: return x[0] >= 0 ? (*out = x[0], true) : !__builtin_sub_overflow((int64_t)0, x[0], out);
    case WEIR_OP_IDIV:
        if (x[1] == 0 || (x[0] == INT64_MIN && x[1] == -1)) return false;
        *out = floor_div(x[0], x[1]);
        return true;
    case WEIR_OP_MOD:
        if (x[1] == 0 || (x[0] == INT64_MIN && x[1] == -1)) return false;
        *out = x[0] - floor_div(x[0], x[1]) * x[1];
        return true;
    case WEIR_OP_CEIL_DIV:
        if (x[1] == 0 || x[0] == INT64_MIN || __builtin_sub_overflow((int64_t)0, x[0], &t)) return false;
        *out = -floor_div(t, x[1]);
        return true;
    case WEIR_OP_MIN: *out = x[0] < x[1] ? x[0] : x[1]; return true;
    case WEIR_OP_MAX: *out = x[0] > x[1] ? x[0] : x[1]; return true;
    case WEIR_OP_LT: *out = x[0] < x[1]; return true;
    case WEIR_OP_LE: *out = x[0] <= x[1]; return true;
    case WEIR_OP_GT: *out = x[0] > x[1]; return true;
    case WEIR_OP_GE: *out = x[0] >= x[1]; return true;
    case WEIR_OP_EQ: *out = x[0] == x[1]; return true;
    case WEIR_OP_NE: *out = x[0] != x[1]; return true;
    case WEIR_OP_AND: *out = x[0] && x[1]; return true;
    case WEIR_OP_OR: *out = x[0] || x[1]; return true;
    case WEIR_OP_NOT: *out = !x[0]; return true;
    case WEIR_OP_SELECT: *out = x[0] ? x[1] : x[2]; return true;
    default: return false;
    }
}

/* 0 of an integer dtype. */
static weir_value zero_of(weir_kernel *k, weir_dtype t) { return weir_cast(k, weir_int(k, 0), t); }

/* The argument that the whole expression equals, 0 if none: x + 0, x * 1, min(x, x). Integers of the result's own dtype only. */
static weir_value identity(weir_kernel *k, weir_op op, const uint32_t *arg, weir_dtype result) {
    const weir_value none = { 0 };
    int64_t c[2] = { 0, 0 };
    bool known[2] = { weiri_value_const(k, arg[0], &c[0]), weiri_value_const(k, arg[1], &c[1]) };
    weir_dtype t0 = weiri_val(k, arg[0])->dtype, t1 = weiri_val(k, arg[1])->dtype;
    bool is0 = t0 == result, is1 = t1 == result, whole = !weiri_value_is_float(result);
    switch (op) {
    case WEIR_OP_ADD:
        if (whole && is1 && known[0] && c[0] == 0) return (weir_value){ arg[1] };
        return whole && is0 && known[1] && c[1] == 0 ? (weir_value){ arg[0] } : none;
    case WEIR_OP_SUB:
        if (whole && arg[0] == arg[1] && weiri_val(k, arg[0])->kind == WEIR_VALUE_SCALAR) return zero_of(k, result);
        return whole && is0 && known[1] && c[1] == 0 ? (weir_value){ arg[0] } : none;
    case WEIR_OP_MUL:
        if (is1 && known[0] && c[0] == 1) return (weir_value){ arg[1] };
        if (is0 && known[1] && c[1] == 1) return (weir_value){ arg[0] };
        if (whole && ((known[0] && c[0] == 0 && weiri_val(k, arg[1])->kind == WEIR_VALUE_SCALAR) ||
                      (known[1] && c[1] == 0 && weiri_val(k, arg[0])->kind == WEIR_VALUE_SCALAR)))
            return zero_of(k, result);
        return none;
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV: return is0 && known[1] && c[1] == 1 ? (weir_value){ arg[0] } : none;
    case WEIR_OP_MOD: return known[1] && c[1] == 1 && weiri_val(k, arg[0])->kind == WEIR_VALUE_SCALAR ? zero_of(k, result) : none;
    case WEIR_OP_MIN:
    case WEIR_OP_MAX: return arg[0] == arg[1] && is0 ? (weir_value){ arg[0] } : none;
    default: return none;
    }
}

/* dtype and kind of the result; false (with a fault) when the operation does not work on these. */
static bool type_of(weir_kernel *k, weir_op op, const uint32_t *arg, int n, weiri_value *out) {
    const weiri_value *a = weiri_val(k, arg[0]), *b = n > 1 ? weiri_val(k, arg[1]) : a;
    for (int i = 0; i < n; i++) {
        const weiri_value *v = weiri_val(k, arg[i]);
        bool condition_wanted = is_logic(op) || (op == WEIR_OP_SELECT && i == 0);
        bool any = op == WEIR_OP_CAST || ((op == WEIR_OP_EQ || op == WEIR_OP_NE) && a->kind == b->kind);
        if (any || (v->kind == WEIR_VALUE_COND) == condition_wanted) continue;
        if (condition_wanted)
            weiri_kernel_fault(k, &k->here, "VAL-TYPE", "compare first: weir.ne(x, 0)",
                               "%s works on conditions, and %s is %s %s", ops[op].text, text_of(k, arg[i]),
                               v->kind == WEIR_VALUE_TILE ? "a tile of" : "a number of", weir_dtype_name(v->dtype));
        else
            weiri_kernel_fault(k, &k->here, "VAL-TYPE", "turn it into numbers: weir.select(cond, 1, 0)",
                               "%s works on numbers, and %s is a condition", ops[op].text, text_of(k, arg[i]));
        return false;
    }
    bool whole = op == WEIR_OP_IDIV || op == WEIR_OP_MOD || op == WEIR_OP_CEIL_DIV;
    if (whole && (weiri_value_is_float(a->dtype) || weiri_value_is_float(b->dtype))) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", "use / or cast to i32 first", "%s works on integers: %s is %s, %s is %s",
                           ops[op].text, text_of(k, arg[0]), weir_dtype_name(a->dtype), text_of(k, arg[1]),
                           weir_dtype_name(b->dtype));
        return false;
    }
    weir_dtype both = weiri_value_promote(a->dtype, b->dtype);
    out->kind = WEIR_VALUE_SCALAR;
    if (is_compare(op) || is_logic(op)) out->kind = WEIR_VALUE_COND, out->dtype = WEIR_BOOL;
    else if (op == WEIR_OP_SELECT) out->dtype = weiri_value_promote(b->dtype, weiri_val(k, arg[2])->dtype);
    else if (op == WEIR_OP_DIV || (op >= WEIR_OP_EXP && op <= WEIR_OP_TANH))
        out->dtype = both == WEIR_F64 ? WEIR_F64 : WEIR_F32;
    else out->dtype = both;
    return true;
}

/* Shapes spread as in numpy: an extent of 1 fits any. */
static bool spread(weir_kernel *k, weir_op op, const uint32_t *arg, int n, weiri_value *out) {
    out->rows = out->cols = 1;
    bool tile = false;
    for (int i = 0; i < n; i++) {
        const weiri_value *v = weiri_val(k, arg[i]);
        tile |= v->kind == WEIR_VALUE_TILE || v->rows * v->cols > 1;
        if ((v->rows != 1 && out->rows != 1 && v->rows != out->rows) ||
            (v->cols != 1 && out->cols != 1 && v->cols != out->cols)) {
            const weiri_value *a = weiri_val(k, arg[0]);
            weiri_kernel_fault(k, &k->here, "VAL-SHAPE", "an extent of 1 spreads, others must be equal",
                               "%s: %s is { %d, %d } and %s is { %d, %d }", ops[op].text, text_of(k, arg[0]), a->rows, a->cols,
                               text_of(k, arg[i]), v->rows, v->cols);
            return false;
        }
        if (v->rows != 1) out->rows = v->rows;
        if (v->cols != 1) out->cols = v->cols;
    }
    if (out->kind == WEIR_VALUE_SCALAR && tile) out->kind = WEIR_VALUE_TILE;
    return true;
}

static bool all_const(const weir_kernel *k, const uint32_t *arg, int n, int64_t *out) {
    for (int i = 0; i < n; i++)
        if (!weiri_value_const(k, arg[i], &out[i])) return false;
    return true;
}

/* (x + 3) - 1 is x + 2: sums keep one plain number, at the end. 0 when it is no such sum. */
static weir_value regroup(weir_kernel *k, weir_op op, const uint32_t *arg, weir_dtype result) {
    const weir_value none = { 0 };
    const weiri_value *inner = weiri_val(k, arg[0]);
    int64_t c, d, sum;
    if ((op != WEIR_OP_ADD && op != WEIR_OP_SUB) || (inner->op != WEIR_OP_ADD && inner->op != WEIR_OP_SUB)) return none;
    if (weiri_value_is_float(result) || inner->dtype != result || !weiri_value_const(k, arg[1], &c) ||
        !weiri_value_const(k, inner->arg[1], &d))
        return none;
    const int64_t far = INT64_MAX / 4;
    if (c > far || c < -far || d > far || d < -far) return none;
    sum = (inner->op == WEIR_OP_ADD ? d : -d) + (op == WEIR_OP_ADD ? c : -c);
    weir_value x = { inner->arg[0] };
    const weir_dtype of = weiri_val(k, x.id)->dtype;
    if (sum == 0) return of == result ? x : none;
    if (weiri_value_promote(of, int_dtype(sum > 0 ? sum : -sum)) != result) return none; /* it would be computed in other bits */
    return weir_apply(k, sum > 0 ? WEIR_OP_ADD : WEIR_OP_SUB, (weir_value[]){ x, weir_int(k, sum > 0 ? sum : -sum) }, 2);
}

/* Arguments are usable values of the right kinds, none a view. */
static weir_value apply(weir_kernel *k, weir_op op, const uint32_t *arg, int n) {
    const weir_value none = { 0 };
    weiri_value v = { .op = op, .nargs = n, .uniform = true };
    if (!type_of(k, op, arg, n, &v) || !spread(k, op, arg, n, &v)) return none;
    int64_t c[3] = { 0 }, r;
    bool divides = op == WEIR_OP_IDIV || op == WEIR_OP_MOD || op == WEIR_OP_CEIL_DIV;
    if (divides && weiri_value_const(k, arg[1], &r) && r == 0) {
        weiri_kernel_fault(k, &k->here, "VAL-ZERO", "a divisor that is not 0", "%s is divided by 0", text_of(k, arg[0]));
        return none;
    }
    for (int i = 0; i < n; i++) {
        v.arg[i] = arg[i];
        v.uniform = v.uniform && weiri_val(k, arg[i])->uniform;
        k->values.v[arg[i]].used = true;
    }
    if (op == WEIR_OP_NEG && weiri_val(k, arg[0])->op == WEIR_OP_FLOAT) return weir_float(k, -weiri_val(k, arg[0])->f);
    if (all_const(k, arg, n, c) && compute(op, c, &r)) {
        if (v.kind == WEIR_VALUE_COND) return truth(k, r != 0);
        if (int_dtype(r) == v.dtype) return weir_int(k, r); /* else it wraps, or is shorter than its dtype */
    }
    if (n == 2) {
        weir_value same = identity(k, op, arg, v.dtype);
        if (!same.id) same = regroup(k, op, arg, v.dtype);
        if (same.id) return same;
    }
    return weiri_value_add(k, &v, true);
}

weir_value weir_apply(weir_kernel *k, weir_op op, const weir_value *args, int n) {
    const weir_value none = { 0 };
    bool known = (unsigned)op < WEIR_OP_COUNT && ops[op].nargs > 0 && op != WEIR_OP_CAST && op < WEIR_OP_READ_REG;
    bool folds = op == WEIR_OP_MIN || op == WEIR_OP_MAX || op == WEIR_OP_AND || op == WEIR_OP_OR;
    if (!known || (folds ? n < 2 : n != ops[op].nargs)) {
        weiri_kernel_fault(k, &k->here, "VAL-ARG", NULL, "%s takes %d values, given %d", known ? ops[op].text : "weir_apply",
                           known ? ops[op].nargs : 0, n);
        return none;
    }
    weir_value sum = none;
    uint32_t arg[3];
    for (int i = 0; i < n; i++) {
        weir_value x = weiri_value_load(k, args[i]);
        if (!weiri_value_usable(k, x.id, ops[op].text)) return none;
        if (!folds) {
            arg[i] = x.id;
            continue;
        }
        sum = i ? apply(k, op, (uint32_t[]){ sum.id, x.id }, 2) : x;
        if (!sum.id) return none;
    }
    return folds ? sum : apply(k, op, arg, n);
}

weir_value weir_cast(weir_kernel *k, weir_value x, weir_dtype to) {
    x = weiri_value_load(k, x);
    if (!weiri_value_usable(k, x.id, "cast")) return (weir_value){ 0 };
    weiri_value v = *weiri_val(k, x.id);
    if (to <= WEIR_DTYPE_NONE || to >= WEIR_DTYPE_COUNT) {
        weiri_kernel_fault(k, &k->here, "M-DTYPE", NULL, "cast: unknown dtype");
        return (weir_value){ 0 };
    }
    if (v.dtype == to) return x;
    if (v.op == WEIR_OP_INT && to == WEIR_F32) return weir_float(k, (double)v.i);
    weir_value_kind kind = v.rows * v.cols > 1 || v.kind == WEIR_VALUE_TILE ? WEIR_VALUE_TILE : WEIR_VALUE_SCALAR;
    if (to == WEIR_BOOL) kind = WEIR_VALUE_COND;
    return weiri_value_add(k,
                           &(weiri_value){ .op = WEIR_OP_CAST,
                                           .kind = kind,
                                           .dtype = to,
                                           .rows = v.rows,
                                           .cols = v.cols,
                                           .uniform = v.uniform,
                                           .arg = { x.id },
                                           .nargs = 1 },
                           true);
}

weir_value weir_row_reduce(weir_kernel *k, weir_op op, weir_value tile, int n) {
    const weir_value none = { 0 };
    if (op != WEIR_OP_ROW_MAX && op != WEIR_OP_ROW_MIN && op != WEIR_OP_ROW_SUM) return weir_apply(k, WEIR_OP_NONE, NULL, 0);
    tile = weiri_value_load(k, tile);
    if (!weiri_value_usable(k, tile.id, ops[op].text)) return none;
    const weiri_value *v = weiri_val(k, tile.id);
    if (v->kind != WEIR_VALUE_TILE) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", NULL, "%s works on a register tile, and %s is %s", ops[op].text,
                           text_of(k, tile.id), v->kind == WEIR_VALUE_COND ? "a condition" : "a scalar");
        return none;
    }
    if (n != 1 && n != 4) {
        weiri_kernel_fault(k, &k->here, "VAL-ARG", "1, or 4: what each lane of a quad holds",
                           "%s keeps 1 or 4 columns, given %d", ops[op].text, n);
        return none;
    }
    if (v->cols == n) return tile;
    if (n == 4 && v->cols % 8 != 0) {
        weiri_kernel_fault(k, &k->here, "VAL-SHAPE", NULL, "%s(4): %s has %d columns, not a multiple of 8", ops[op].text,
                           text_of(k, tile.id), v->cols);
        return none;
    }
    return weiri_value_add(k,
                           &(weiri_value){ .op = op,
                                           .kind = WEIR_VALUE_TILE,
                                           .dtype = weiri_value_promote(v->dtype, v->dtype),
                                           .rows = v->rows,
                                           .cols = n,
                                           .arg = { tile.id },
                                           .nargs = 1,
                                           .i = n },
                           true);
}

weir_value weir_tile_cols(weir_kernel *k, weir_value tile, int first, int count) {
    const weir_value none = { 0 };
    if (weiri_val(k, tile.id)->kind == WEIR_VALUE_VIEW) return weir_view_cols(k, tile, first, count);
    if (!weiri_value_usable(k, tile.id, "cols")) return none;
    const weiri_value *v = weiri_val(k, tile.id);
    if (v->kind != WEIR_VALUE_TILE && !(v->kind == WEIR_VALUE_COND && v->cols > 1)) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", NULL, "cols works on a register tile, and %s is a scalar",
                           text_of(k, tile.id));
        return none;
    }
    if (first < 0 || count < 1 || first > v->cols - count) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG", NULL, "cols(%d, %d): %s has columns 0 to %d", first, count,
                           text_of(k, tile.id), v->cols - 1);
        return none;
    }
    if (count == v->cols) return tile;
    return weiri_value_add(k,
                           &(weiri_value){ .op = WEIR_OP_TILE_COLS,
                                           .kind = v->kind,
                                           .dtype = v->dtype,
                                           .rows = v->rows,
                                           .cols = count,
                                           .arg = { tile.id },
                                           .nargs = 1,
                                           .i = first,
                                           .count = count },
                           true);
}

/* ---- register tiles ----------------------------------------------------------------------------------------------------- */

static bool is_reg(const weir_res *r) { return r && (r->kind == WEIR_RES_REG || r->kind == WEIR_RES_WGMMA); }

static bool want_reg(weir_kernel *k, const weir_res *r, const char *what) {
    if (is_reg(r)) return true;
    weiri_kernel_fault(k, &k->here, "C-NAME-03", NULL, "%s has no %s: only register tiles do",
                       r ? weiri_label(k, r) : "nothing", what);
    return false;
}

weir_value weir_reg_read(weir_kernel *k, weir_res *r) {
    if (!want_reg(k, r, "read()")) return (weir_value){ 0 };
    weiri_op *op = weiri_capture_read(k, r, ATOM_READ, NULL, 0);
    if (!op) return (weir_value){ 0 };
    weir_value v = weiri_value_add(k,
                                   &(weiri_value){ .op = WEIR_OP_READ_REG,
                                                   .kind = WEIR_VALUE_TILE,
                                                   .dtype = r->dtype,
                                                   .rows = r->tile[0],
                                                   .cols = r->tile[1],
                                                   .res = r,
                                                   .by = op,
                                                   .scope = k->open },
                                   false);
    op->ret = WEIRI_NEW(&k->a, uint32_t);
    op->ret[0] = v.id;
    op->nret = 1;
    return v;
}

static weir_value place_index(weir_kernel *k, weir_res *r, weir_op op, const char *what, int rows, int cols) {
    if (!want_reg(k, r, what)) return (weir_value){ 0 };
    return weiri_value_add(
        k, &(weiri_value){ .op = op, .kind = WEIR_VALUE_TILE, .dtype = WEIR_I32, .rows = rows, .cols = cols, .res = r }, true);
}

weir_value weir_row_index(weir_kernel *k, weir_res *r) {
    return place_index(k, r, WEIR_OP_ROW, "row_index()", r ? r->tile[0] : 0, 1);
}
weir_value weir_col_index(weir_kernel *k, weir_res *r) {
    return place_index(k, r, WEIR_OP_COL, "col_index()", 1, r ? r->tile[1] : 0);
}

/* ---- views: shapes ------------------------------------------------------------------------------------------------------ */

static int drop_leading_ones(const int *tile, int rank, int *shape) {
    int first = 0;
    while (first < rank - 1 && tile[first] == 1) first++;
    for (int i = first; i < rank; i++) shape[i - first] = tile[i];
    return rank - first;
}

int weiri_tile_shape(const weir_res *r, int shape[WEIR_MAX_RANK]) { return drop_leading_ones(r->tile, r->rank, shape); }

int weiri_view_shape(const weir_kernel *k, uint32_t id, int shape[WEIR_MAX_RANK]) {
    const weiri_value *v = weiri_val(k, id);
    int rank;
    switch (v->op) {
    case WEIR_OP_VIEW_AT:
    case WEIR_OP_VIEW_FROM:
    case WEIR_OP_VIEW_READ: return weiri_tile_shape(v->res, shape);
    case WEIR_OP_VIEW_SUB:
        if (v->res) {
            rank = v->res->rank;
            memcpy(shape, v->res->tile, sizeof *shape * WEIR_MAX_RANK);
        } else {
            rank = weiri_view_shape(k, v->arg[0], shape);
        }
        if (rank < 2) return shape[0] = 1, 1;
        memmove(shape, shape + 1, sizeof *shape * (size_t)(rank - 1));
        return rank - 1;
    case WEIR_OP_VIEW_ROWS:
        rank = weiri_view_shape(k, v->arg[0], shape);
        shape[rank - 2] = v->count;
        return rank;
    case WEIR_OP_VIEW_COLS:
        rank = weiri_view_shape(k, v->arg[0], shape);
        shape[rank - 1] = v->count;
        return rank;
    case WEIR_OP_VIEW_T:
        rank = weiri_view_shape(k, v->arg[0], shape);
        {
            int t = shape[rank - 1];
            shape[rank - 1] = shape[rank - 2];
            shape[rank - 2] = t;
        }
        return rank;
    case WEIR_OP_VIEW_LIMIT: return weiri_view_shape(k, v->arg[0], shape);
    default: return 0;
    }
}

weir_res *weiri_view_base(const weir_kernel *k, uint32_t id) {
    const weiri_value *v = weiri_val(k, id);
    while (v->kind == WEIR_VALUE_VIEW && !v->res && v->nargs) v = weiri_val(k, v->arg[0]);
    return v->kind == WEIR_VALUE_VIEW ? v->res : NULL;
}

/* ---- views: making ------------------------------------------------------------------------------------------------------ */

/* Fills in dtype and shape from what the view looks at, then adds it. */
static weir_value add_view(weir_kernel *k, weiri_value *v, bool share) {
    v->kind = WEIR_VALUE_VIEW;
    v->uniform = true;
    for (int i = 0; i < v->nargs; i++) v->uniform = v->uniform && weiri_val(k, v->arg[i])->uniform;
    weir_value id = weiri_value_add(k, v, share);
    const weir_res *base = weiri_view_base(k, id.id);
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(k, id.id, shape), rows = 1;
    for (int i = 0; i + 1 < rank; i++) rows *= shape[i];
    weiri_value *made = &k->values.v[id.id];
    made->rows = rows;
    made->cols = rank ? shape[rank - 1] : 0;
    made->dtype = base && base->kind != WEIR_RES_QUEUE ? base->dtype : WEIR_DTYPE_NONE;
    return id;
}

/* An index is an integer scalar, equal in all threads. */
static bool want_index(weir_kernel *k, uint32_t id, const char *what) {
    if (!weiri_value_usable(k, id, what)) return false;
    const weiri_value *v = weiri_val(k, id);
    if (v->kind != WEIR_VALUE_SCALAR || weiri_value_is_float(v->dtype)) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", NULL, "%s: %s is no integer", what, text_of(k, id));
        return false;
    }
    if (!v->uniform) {
        weiri_kernel_fault(k, &k->here, "VAL-UNIFORM", "declare the return as `uniform` if all threads give the same",
                           "%s: %s may differ between threads", what, text_of(k, id));
        return false;
    }
    return true;
}

static weir_value view_of_tensor(weir_kernel *k, weir_op op, const char *what, weir_res *g, const weir_value *index, int n) {
    const weir_value none = { 0 };
    if (!g || g->kind != WEIR_RES_GMEM) {
        weiri_kernel_fault(k, &k->here, "C-NAME-03", NULL, "%s has no %s(): only gmem tiles do",
                           g ? weiri_label(k, g) : "nothing", what);
        return none;
    }
    if (n < 1 || n > g->rank) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG", "missing indices are 0",
                           "%s:%s takes 1 to %d indices (tensor '%s' has rank %d), given %d", g->name, what, g->rank,
                           g->tensor ? g->tensor->name : "?", g->rank, n);
        return none;
    }
    weiri_value v = { .op = op, .res = g, .nargs = g->rank };
    const char *where = weiri_arena_fmt(&k->a, "%s:%s", g->name, what);
    for (int i = 0; i < g->rank; i++) {
        weir_value x = i < n ? weiri_value_load(k, index[i]) : weir_int(k, 0);
        if (!want_index(k, x.id, where)) return none;
        v.arg[i] = x.id;
    }
    return add_view(k, &v, true);
}

weir_value weir_view_at(weir_kernel *k, weir_res *g, const weir_value *index, int n) {
    return view_of_tensor(k, WEIR_OP_VIEW_AT, "at", g, index, n);
}
weir_value weir_view_from(weir_kernel *k, weir_res *g, const weir_value *index, int n) {
    return view_of_tensor(k, WEIR_OP_VIEW_FROM, "from", g, index, n);
}

weir_value weir_view_read(weir_kernel *k, weir_res *r, int back) {
    const weir_value none = { 0 };
    weir_res *bare, *group;
    if (!weiri_capture_target(k, r, "read()", &bare, &group)) return none;
    if (!weiri_in_smem(bare) && bare->kind != WEIR_RES_TMEM) {
        weiri_kernel_fault(k, &k->here, "C-NAME-03", NULL,
                           "%s has no read() of a stage: only tiles in shared or tensor memory do", weiri_label(k, bare));
        return none;
    }
    if (back < 0 || (back > 0 && back >= bare->pipe.given.stages)) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG", NULL, "%s: read(%d), but there are %d stages", weiri_label(k, bare), back,
                           bare->pipe.given.stages);
        return none;
    }
    weiri_op *op = weiri_capture_read(k, r, ATOM_READ, NULL, 0);
    if (!op) return none;
    weir_value v =
        add_view(k, &(weiri_value){ .op = WEIR_OP_VIEW_READ, .res = bare, .by = op, .i = back, .scope = k->open }, false);
    op->ret = WEIRI_NEW(&k->a, uint32_t);
    op->ret[0] = v.id;
    op->nret = 1;
    return v;
}

static bool want_view(weir_kernel *k, uint32_t id, const char *what, int min_rank) {
    if (!weiri_value_usable(k, id, what)) return false;
    const weiri_value *v = weiri_val(k, id);
    if (v->kind != WEIR_VALUE_VIEW || v->op == WEIR_OP_VIEW_TILE) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", NULL, "%s works on a view, and %s is %s", what, text_of(k, id),
                           v->op == WEIR_OP_VIEW_TILE ? "a work tile" : "a value");
        return false;
    }
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(k, id, shape);
    if (rank < min_rank) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG", NULL, "%s wants a view of at least %d axes, and %s has %d, leading ones of 1 apart", what,
                           min_rank, text_of(k, id), rank);
        return false;
    }
    return true;
}

/* Is the last axis of the view the tile's rows? Has it a limit? */
static void look_through(const weir_kernel *k, uint32_t view, bool *turned, bool *limited) {
    *turned = *limited = false;
    for (const weiri_value *v = weiri_val(k, view); !v->res; v = weiri_val(k, v->arg[0])) {
        *turned ^= v->op == WEIR_OP_VIEW_T;
        *limited |= v->op == WEIR_OP_VIEW_LIMIT;
    }
}

weir_value weir_view_sub(weir_kernel *k, weir_res *r, weir_value view, weir_value i) {
    const weir_value none = { 0 };
    weiri_value v = { .op = WEIR_OP_VIEW_SUB, .nargs = 2 };
    int extent;
    if (r) {
        weir_res *bare, *group;
        if (!weiri_capture_target(k, r, "sub()", &bare, &group)) return none;
        if (!weiri_in_smem(bare)) {
            weiri_kernel_fault(k, &k->here, "C-NAME-03", NULL, "%s has no sub(): only tiles in shared memory do",
                               weiri_label(k, bare));
            return none;
        }
        v.res = bare;
        v.nargs = 1;
        extent = bare->tile[0];
    } else {
        if (!want_view(k, view.id, "sub", 1)) return none;
        int shape[WEIR_MAX_RANK], rank = weiri_view_shape(k, view.id, shape);
        bool turned, limited;
        look_through(k, view.id, &turned, &limited);
        if (turned && rank < 3) {
            weiri_kernel_fault(k, &k->here, "VIEW-ARG", "take cols(first, 1) before t()",
                               "sub: %s is transposed: its slabs are columns", text_of(k, view.id));
            return none;
        }
        extent = shape[0];
        v.arg[0] = view.id;
    }
    if (!want_index(k, i.id, "sub")) return none;
    int64_t c;
    if (weiri_value_const(k, i.id, &c) && (c < 0 || c >= extent)) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG", NULL, "sub(%lld): the first axis has %d slabs", (long long)c, extent);
        return none;
    }
    v.arg[v.nargs - 1] = i.id;
    return add_view(k, &v, true);
}

static weir_value slice(weir_kernel *k, weir_op op, const char *what, weir_value view, int first, int count, int from_end) {
    if (!want_view(k, view.id, what, from_end)) return (weir_value){ 0 };
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(k, view.id, shape), extent = shape[rank - from_end];
    if (first < 0 || count < 1 || first > extent - count) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG", NULL, "%s(%d, %d): %s has 0 to %d", what, first, count, text_of(k, view.id),
                           extent - 1);
        return (weir_value){ 0 };
    }
    if (count == extent) return view;
    return add_view(k, &(weiri_value){ .op = op, .arg = { view.id }, .nargs = 1, .i = first, .count = count }, true);
}

weir_value weir_view_rows(weir_kernel *k, weir_value view, int first, int count) {
    return slice(k, WEIR_OP_VIEW_ROWS, "rows", view, first, count, 2);
}
weir_value weir_view_cols(weir_kernel *k, weir_value view, int first, int count) {
    return slice(k, WEIR_OP_VIEW_COLS, "cols", view, first, count, 1);
}

weir_value weir_view_t(weir_kernel *k, weir_value view) {
    if (!want_view(k, view.id, "t", 2)) return (weir_value){ 0 };
    const weiri_value *v = weiri_val(k, view.id);
    if (v->op == WEIR_OP_VIEW_T) return (weir_value){ v->arg[0] };
    return add_view(k, &(weiri_value){ .op = WEIR_OP_VIEW_T, .arg = { view.id }, .nargs = 1 }, true);
}

weir_value weir_view_limit(weir_kernel *k, weir_value view, weir_value n) {
    n = weiri_value_load(k, n);
    if (!want_view(k, view.id, "limit", 1) || !want_index(k, n.id, "limit")) return (weir_value){ 0 };
    bool turned, limited;
    look_through(k, view.id, &turned, &limited);
    if (turned || limited) {
        weiri_kernel_fault(k, &k->here, "VIEW-ARG",
                           turned ? "limit(n) before t(): there is a limit of columns alone" : "limit(weir.min(n, m))",
                           turned ? "limit: %s is transposed: its last axis is rows" : "limit: %s has a limit already",
                           text_of(k, view.id));
        return (weir_value){ 0 };
    }
    return add_view(k, &(weiri_value){ .op = WEIR_OP_VIEW_LIMIT, .arg = { view.id, n.id }, .nargs = 2 }, true);
}

weir_value weir_view_load(weir_kernel *k, weir_value view) {
    const weir_value none = { 0 };
    if (!want_view(k, view.id, "load", 1)) return none;
    weir_res *base = weiri_view_base(k, view.id), *seen = base->group ? base->group->views[base->member] : base;
    weiri_op *op = weiri_capture_read(k, seen, ATOM_LOAD, &view.id, 1);
    if (!op) return none;
    const weiri_value *v = weiri_val(k, view.id);
    bool one = v->rows * v->cols == 1;
    bool stable = base->kind == WEIR_RES_GMEM && base->tensor && !base->tensor->out;
    weir_value r = weiri_value_add(k,
                                   &(weiri_value){ .op = WEIR_OP_LOAD,
                                                   .kind = one ? WEIR_VALUE_SCALAR : WEIR_VALUE_TILE,
                                                   .dtype = v->dtype,
                                                   .rows = v->rows,
                                                   .cols = v->cols,
                                                   .uniform = one && stable && v->uniform,
                                                   .arg = { view.id },
                                                   .nargs = 1,
                                                   .by = op,
                                                   .scope = k->open },
                                   false);
    op->ret = WEIRI_NEW(&k->a, uint32_t);
    op->ret[0] = r.id;
    op->nret = 1;
    return r;
}

/* ---- evaluation --------------------------------------------------------------------------------------------------------- */

typedef struct evaluation {
    const weir_kernel *k;
    const int64_t *dims, *coord, *before;
    int64_t index;      /* of whatever loop, and of the work tile */
    const int64_t *at;  /* by a loop's node id: its index; NULL: `index` */
    int rank;           /* of the CTA in its cluster, -1: not known */
    int64_t *known;     /* by value, or NULL: parts that are shared are few */
    uint8_t *done;      /* 1: it is there, 2: it cannot be had */
} evaluation;

static bool evaluate_part(const evaluation *e, uint32_t id, int64_t *out);

static bool evaluate(const evaluation *e, uint32_t id, int64_t *out) {
    if (!e->done) return evaluate_part(e, id, out);
    if (!e->done[id]) e->done[id] = evaluate_part(e, id, &e->known[id]) ? 1 : 2;
    *out = e->known[id];
    return e->done[id] == 1;
}

bool weiri_value_eval(const weir_kernel *k, uint32_t id, const int64_t *dims, const int64_t *coord, int64_t index,
                      int64_t *out) {
    return weiri_value_eval_cta(k, id, dims, coord, index, -1, out);
}

static bool evaluate_all(evaluation *e, uint32_t id, int64_t *out) {
    enum { FEW = 256 }; /* operations that are worked out again where they are shared */
    if (weiri_val(e->k, id)->text <= FEW) return evaluate(e, id, out);
    const size_t n = id + 1;
    e->known = weiri_alloc(e->k->ctx, n * sizeof *e->known);
    e->done = weiri_alloc(e->k->ctx, n);
    bool ok = e->known && e->done && evaluate(e, id, out);
    weiri_free(e->k->ctx, e->known, n * sizeof *e->known);
    weiri_free(e->k->ctx, e->done, n);
    return ok;
}

bool weiri_value_eval_cta(const weir_kernel *k, uint32_t id, const int64_t *dims, const int64_t *coord, int64_t index, int rank,
                          int64_t *out) {
    return evaluate_all(&(evaluation){ .k = k, .dims = dims, .coord = coord, .index = index, .rank = rank }, id, out);
}

bool weiri_value_eval_at(const weir_kernel *k, uint32_t id, const int64_t *dims, const int64_t *coord, const int64_t *before,
                         int64_t tile, const int64_t *at, int rank, int64_t *out) {
    return evaluate_all(&(evaluation){ .k = k, .dims = dims, .coord = coord, .before = before, .index = tile, .at = at, .rank = rank }, id,
                        out);
}

static bool evaluate_part(const evaluation *e, uint32_t id, int64_t *out) {
    const weir_kernel *k = e->k;
    const int64_t *dims = e->dims, *coord = e->coord;
    const int rank = e->rank;
    const weiri_value *v = weiri_val(k, id);
    const weir_cluster c = k->cluster;
    int64_t x[3] = { 0 };
    switch (v->op) {
    case WEIR_OP_INT: *out = v->i; return true;
    case WEIR_OP_DIM:
        if (!dims) return false;
        *out = dims[v->dim];
        return true;
    case WEIR_OP_COORD:
        if (!coord) return false;
        *out = coord[v->i];
        return true;
    case WEIR_OP_BEFORE:
        if (!e->before) return false;
        *out = e->before[v->i];
        return true;
    case WEIR_OP_CTA:
        if (rank < 0) return false;
        *out = v->i == 'v'   ? rank % c.v
               : v->i == 'm' ? rank / c.v % c.m
               : v->i == 'n' ? rank / (c.v * c.m) % c.n
               : v->i == 'k' ? rank / (c.v * c.m * c.n)
                             : rank;
        return true;
    case WEIR_OP_INDEX:
    case WEIR_OP_QUEUE_INDEX:
        *out = e->at && v->op == WEIR_OP_INDEX ? e->at[v->loop->id] : e->index;
        return rank < 0 || dims || coord; /* the CTA alone knows no loop */
    case WEIR_OP_SELECT:
        if (!evaluate(e, v->arg[0], &x[0])) return false;
        return evaluate(e, v->arg[x[0] ? 1 : 2], out);
    default: break;
    }
    if (v->nargs < 1 || v->nargs > 2 || weiri_value_is_float(v->dtype) || v->kind == WEIR_VALUE_VIEW) return false;
    for (int i = 0; i < v->nargs; i++)
        if (!evaluate(e, v->arg[i], &x[i])) return false;
    if (v->op == WEIR_OP_CAST) {
        const bool longer = weir_dtype_size(v->dtype) == 8 && weiri_val(k, v->arg[0])->dtype == WEIR_U32;
        *out = v->dtype == WEIR_BOOL ? x[0] != 0 : longer ? (uint32_t)x[0] : weiri_value_narrow(v->dtype, x[0]);
        return true;
    }
    const weir_dtype signless = weiri_value_signless(k, id);
    for (int i = 0; i < 2 && signless == WEIR_U32; i++) x[i] = (uint32_t)x[i]; /* so far they were right but for multiples of 2^32 */
    return (signless != WEIR_U64 || (x[0] >= 0 && x[1] >= 0)) && compute(v->op, x, out);
}

/* ---- text --------------------------------------------------------------------------------------------------------------- */

enum { TEXT_MAX = 1000, TEXT_DEPTH = 24 }; /* shared subexpressions are written out each time: a limit keeps the text finite */

static void print(const weir_kernel *k, uint32_t id, weiri_buf *b, int level, int deep);

static void print_args(const weir_kernel *k, const uint32_t *arg, int n, weiri_buf *b, int deep) {
    weiri_put(b, "(");
    for (int i = 0; i < n; i++) {
        if (i) weiri_put(b, ", ");
        print(k, arg[i], b, 0, deep);
    }
    weiri_put(b, ")");
}

static void print_float(double f, weiri_buf *b) {
    char s[40];
    snprintf(s, sizeof s, "%.9g", f);
    weiri_put(b, "%s%s", s, strpbrk(s, ".eni") ? "" : ".0");
}

static void print_res(const weir_res *r, weiri_buf *b) {
    if (r->group) weiri_put(b, "%s.", r->group->name);
    weiri_put(b, "%s", r->name);
}

static const char *axis_name(const weir_res *queue, int64_t axis) {
    return axis >= 0 && axis < queue->qrank ? queue->axis[axis] : "?";
}

static void print_call(const weir_kernel *k, const weiri_value *v, weiri_buf *b, int deep) {
    switch (v->op) {
    case WEIR_OP_NONE: weiri_put(b, "none"); break;
    case WEIR_OP_INT:
        if (v->kind == WEIR_VALUE_COND) weiri_put(b, "%s", v->i ? "true" : "false");
        else weiri_put(b, "%lld", (long long)v->i);
        break;
    case WEIR_OP_FLOAT: print_float(v->f, b); break;
    case WEIR_OP_DIM:
    case WEIR_OP_SCALAR:
    case WEIR_OP_INDEX: weiri_put(b, "%s", v->name ? v->name : "?"); break;
    case WEIR_OP_CTA:
        if (v->i == 'r') weiri_put(b, "cta.rank");
        else weiri_put(b, "cta.%c", (char)v->i);
        break;
    case WEIR_OP_COORD: weiri_put(b, "t.%s", axis_name(v->res, v->i)); break;
    case WEIR_OP_BEFORE: weiri_put(b, "%s.%s", v->count < 0 ? "last" : "previous", axis_name(v->res, v->i)); break;
    case WEIR_OP_QUEUE_INDEX: weiri_put(b, "i"); break;
    case WEIR_OP_RETURN:
        weiri_put(b, "%s:%s()", v->by->res->name, v->by->work->name);
        if (v->by->work->nreturns > 1) weiri_put(b, ".%s", v->by->work->returns[v->count].name);
        break;
    case WEIR_OP_ROW: weiri_put(b, "%s:row_index()", v->res->name); break;
    case WEIR_OP_COL: weiri_put(b, "%s:col_index()", v->res->name); break;
    case WEIR_OP_READ_REG: weiri_put(b, "%s:read()", v->res->name); break;
    case WEIR_OP_CAST:
        weiri_put(b, "cast(");
        print(k, v->arg[0], b, 0, deep);
        weiri_put(b, ", %s)", weir_dtype_name(v->dtype));
        break;
    case WEIR_OP_ROW_MAX:
    case WEIR_OP_ROW_MIN:
    case WEIR_OP_ROW_SUM:
        print(k, v->arg[0], b, 9, deep);
        weiri_put(b, v->i == 1 ? ":%s()" : ":%s(4)", ops[v->op].text);
        break;
    case WEIR_OP_TILE_COLS:
    case WEIR_OP_VIEW_COLS:
    case WEIR_OP_VIEW_ROWS:
        print(k, v->arg[0], b, 9, deep);
        weiri_put(b, ":%s(%lld, %d)", v->op == WEIR_OP_VIEW_ROWS ? "rows" : "cols", (long long)v->i, v->count);
        break;
    case WEIR_OP_VIEW_READ:
        print_res(v->res, b);
        if (v->i) weiri_put(b, ":read(%lld)", (long long)v->i);
        else weiri_put(b, ":read()");
        break;
    case WEIR_OP_VIEW_AT:
    case WEIR_OP_VIEW_FROM:
        weiri_put(b, "%s:%s", v->res->name, v->op == WEIR_OP_VIEW_AT ? "at" : "from");
        print_args(k, v->arg, v->nargs, b, deep);
        break;
    case WEIR_OP_VIEW_SUB:
        if (v->res) print_res(v->res, b);
        else print(k, v->arg[0], b, 9, deep);
        weiri_put(b, ":sub");
        print_args(k, &v->arg[v->nargs - 1], 1, b, deep);
        break;
    case WEIR_OP_VIEW_T:
    case WEIR_OP_LOAD:
        print(k, v->arg[0], b, 9, deep);
        weiri_put(b, v->op == WEIR_OP_LOAD ? ":load()" : ":t()");
        break;
    case WEIR_OP_VIEW_LIMIT:
        print(k, v->arg[0], b, 9, deep);
        weiri_put(b, ":limit");
        print_args(k, &v->arg[1], 1, b, deep);
        break;
    case WEIR_OP_VIEW_TILE: weiri_put(b, "%s", !v->count ? "t" : v->count < 0 ? "last" : "previous"); break;
    default:
        weiri_put(b, "%s", ops[v->op].text);
        print_args(k, v->arg, v->nargs, b, deep);
        break;
    }
}

/* level: binding strength of what stands around; parentheses where the value binds less. */
static void print(const weir_kernel *k, uint32_t id, weiri_buf *b, int level, int deep) {
    const weiri_value *v = weiri_val(k, id);
    if (b->n > TEXT_MAX || deep > TEXT_DEPTH) {
        weiri_put(b, "...");
        return;
    }
    int own = ops[v->op].level;
    if (!own) {
        bool negative = (v->op == WEIR_OP_INT && v->i < 0) || (v->op == WEIR_OP_FLOAT && v->f < 0);
        if (negative && level > 5) weiri_put(b, "(");
        print_call(k, v, b, deep + 1);
        if (negative && level > 5) weiri_put(b, ")");
        return;
    }
    if (own < level) weiri_put(b, "(");
    if (v->nargs == 1) {
        weiri_put(b, "%s", ops[v->op].text);
        print(k, v->arg[0], b, own + 1, deep + 1);
    } else { /* operators are left-associative: an equal one on the right needs parentheses */
        print(k, v->arg[0], b, own, deep + 1);
        weiri_put(b, " %s ", ops[v->op].text);
        print(k, v->arg[1], b, own + 1, deep + 1);
    }
    if (own < level) weiri_put(b, ")");
}

void weiri_value_print(const weir_kernel *k, uint32_t id, weiri_buf *b) {
    weiri_buf one; /* a buffer of its own, so that the limit counts this value only */
    weiri_buf_init(&one, k->ctx);
    print(k, id, &one, 0, 0);
    if (one.s) weiri_put_n(b, one.s, one.n);
    b->oom = b->oom || one.oom; /* a text without it is not whole */
    weiri_buf_free(&one);
}

size_t weir_value_text(const weir_kernel *k, weir_value v, char *out, size_t size) {
    weiri_buf b;
    weiri_buf_init(&b, k->ctx);
    weiri_value_print(k, v.id, &b);
    size_t n = b.n;
    if (size) {
        size_t m = n < size ? n : size - 1;
        if (m) memcpy(out, b.s, m);
        out[m] = '\0';
    }
    weiri_buf_free(&b);
    return n;
}

weir_value_info weir_value_get(const weir_kernel *k, weir_value v) {
    const weiri_value *x = weiri_val(k, v.id);
    return (weir_value_info){ x->kind, x->op, x->dtype, x->rows, x->cols, x->uniform };
}
