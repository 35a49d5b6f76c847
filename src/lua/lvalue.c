/* Values: scalars, register tiles, views and work tiles as Lua sees them, their operators and the functions on them. */
#include <math.h>
#include <string.h>

#include "weirlua.h"

int weirl_pushvalue(lua_State *L, int kidx, weir_value v) {
    kidx = lua_absindex(L, kidx);
    weirl_value *u = weirl_new(L, sizeof *u, 1, WEIRL_VALUE);
    u->kb = lua_touserdata(L, kidx);
    u->v = v;
    lua_pushvalue(L, kidx);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

int weirl_pushnothing(lua_State *L, const char *call) {
    weirl_new(L, 0, 1, WEIRL_NOTHING);
    lua_pushstring(L, call);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

void weirl_nothing(lua_State *L, int idx, const char *what, const char *rule) {
    if (!luaL_testudata(L, idx, WEIRL_NOTHING)) return;
    lua_getiuservalue(L, idx, 1);
    weirl_raise(L, "%s is the result of %s, which returns nothing [%s]", what, lua_tostring(L, -1), rule);
}

static int nothing_tostring(lua_State *L) {
    lua_getiuservalue(L, 1, 1);
    lua_pushfstring(L, "nothing (%s returns no value)", lua_tostring(L, -1));
    return 1;
}

static int nothing_index(lua_State *L) {
    weirl_nothing(L, 1, "this", "C-FLOW-06");
    return 0;
}

static void same_kernel(lua_State *L, const weirl_kernel *of, const weirl_kernel *kb, const char *what) {
    if (of == kb) return;
    if (!of->k) weirl_raise(L, "%s: belongs to a closed kernel", what);
    weir_place a = weir_kernel_place(of->k), b = weir_kernel_place(kb->k);
    const char *one = weir_kernel_name(of->k), *other = weir_kernel_name(kb->k);
    if (!a.file || !b.file) weirl_raise(L, "%s: belongs to kernel '%s', not to '%s'", what, one, other);
    weirl_raise(L, "%s: belongs to kernel '%s' of %s:%d, not to '%s' of %s:%d", what, one, a.file, a.line, other, b.file, b.line);
}

weir_value weirl_tovalue(lua_State *L, int idx, weirl_kernel *kb, const char *what) {
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
        return lua_isinteger(L, idx) ? weir_int(kb->k, lua_tointeger(L, idx)) : weir_float(kb->k, lua_tonumber(L, idx));
    case LUA_TBOOLEAN: { /* what weir.lt and the like give for two plain numbers */
        weir_value pair[2] = { weir_int(kb->k, lua_toboolean(L, idx)), weir_int(kb->k, 1) };
        return weir_apply(kb->k, WEIR_OP_EQ, pair, 2);
    }
    case LUA_TUSERDATA: {
        weirl_value *v = luaL_testudata(L, idx, WEIRL_VALUE);
        if (v) {
            same_kernel(L, v->kb, kb, what);
            return v->v;
        }
        weirl_tile *t = luaL_testudata(L, idx, WEIRL_TILE);
        if (t) {
            same_kernel(L, t->kb, kb, what);
            return weir_tile_place(kb->k, t->t);
        }
        weirl_res *r = luaL_testudata(L, idx, WEIRL_RES);
        if (r && r->kb->k) {
            const char *name = weir_res_name(r->r);
            if (r->kind == WEIR_RES_GMEM)
                weirl_raise(L, "%s: gmem_tile '%s' is a resource: write %s:at(...) for one of its tiles [VAL-ARG]", what, name,
                            name);
            weirl_raise(L, "%s: %s '%s' is a resource: write %s:read() for its value [VAL-ARG]", what, weirl_kind_name(r->kind),
                        name, name);
        }
        break;
    }
    default: break;
    }
    weirl_nothing(L, idx, what, "C-FLOW-06");
    weirl_raise(L, "%s: a value expected, got %s [VAL-ARG]", what, weirl_typename(L, idx));
    return (weir_value){ 0 };
}

int weirl_values(const weirl_desc *d, weirl_kernel *kb, const char *field, weir_value *out, int max) {
    lua_State *L = d->L;
    int t = weirl_get(d, field), n = 0;
    if (t == LUA_TTABLE) {
        n = (int)lua_rawlen(L, -1);
        if (n > max) weirl_raise(L, "%s: field '%s' has %d entries, at most %d are possible", d->fn, field, n, max);
        for (int i = 0; i < n; i++) {
            lua_rawgeti(L, -1, i + 1);
            out[i] = weirl_tovalue(L, -2, kb, lua_pushfstring(L, "%s: %s[%d]", d->fn, field, i + 1));
            lua_pop(L, 2);
        }
    } else if (t != LUA_TNIL) {
        weirl_raise(L, "%s: field '%s' is a list of values, got %s", d->fn, field, weirl_typename(L, -1));
    }
    lua_pop(L, 1);
    return n;
}

/* ---- operators ---------------------------------------------------------------------------------------------------------- */

/* The kernel of the first value among n arguments from `from` on, pushed; NULL, nothing pushed, when all are plain. */
static weirl_kernel *kernel_of(lua_State *L, int from, int n) {
    for (int i = from; i < from + n; i++) {
        weirl_value *v = luaL_testudata(L, i, WEIRL_VALUE);
        weirl_tile *t = v ? NULL : luaL_testudata(L, i, WEIRL_TILE);
        if (!v && !t) continue;
        lua_getiuservalue(L, i, 1);
        return weirl_live(L, v ? v->kb : t->kb);
    }
    return NULL;
}

/* Applies op to n arguments from 1 on, of which one at least is a value; the kernel's index is kidx. */
static int apply(lua_State *L, weirl_kernel *kb, int kidx, weir_op op, int n, const char *what) {
    weir_value args[3];
    weirl_at(L, kb);
    for (int i = 0; i < n; i++) args[i] = weirl_tovalue(L, i + 1, kb, what);
    return weirl_pushvalue(L, kidx, weir_apply(kb->k, op, args, n));
}

static int binary(lua_State *L, weir_op op, const char *sign) {
    weirl_kernel *kb = kernel_of(L, 1, 2);
    return apply(L, kb, lua_gettop(L), op, 2, sign);
}

static int unary(lua_State *L, weir_op op, const char *sign) {
    weirl_kernel *kb = kernel_of(L, 1, 1);
    return apply(L, kb, lua_gettop(L), op, 1, sign);
}

static int v_add(lua_State *L) { return binary(L, WEIR_OP_ADD, "operand of +"); }
static int v_sub(lua_State *L) { return binary(L, WEIR_OP_SUB, "operand of -"); }
static int v_mul(lua_State *L) { return binary(L, WEIR_OP_MUL, "operand of *"); }
static int v_div(lua_State *L) { return binary(L, WEIR_OP_DIV, "operand of /"); }
static int v_idiv(lua_State *L) { return binary(L, WEIR_OP_IDIV, "operand of //"); }
static int v_mod(lua_State *L) { return binary(L, WEIR_OP_MOD, "operand of %"); }
static int v_and(lua_State *L) { return binary(L, WEIR_OP_AND, "operand of &"); }
static int v_or(lua_State *L) { return binary(L, WEIR_OP_OR, "operand of |"); }
static int v_neg(lua_State *L) { return unary(L, WEIR_OP_NEG, "operand of -"); }
static int v_not(lua_State *L) { return unary(L, WEIR_OP_NOT, "operand of ~"); }

static int v_lt(lua_State *L) {
    return weirl_raise(L, "'<' and '>' compare when the script runs, not in the kernel: write weir.lt(a, b) or weir.gt(a, b)");
}
static int v_le(lua_State *L) {
    return weirl_raise(L,
                       "'<=' and '>=' compare when the script runs, not in the kernel: write weir.le(a, b) or weir.ge(a, b)");
}
static int v_eq(lua_State *L) {
    return weirl_raise(L,
                       "'==' and '~=' compare when the script runs, not in the kernel: write weir.eq(a, b) or weir.ne(a, b)");
}
static int v_concat(lua_State *L) {
    return weirl_raise(L, "'..' joins strings, and a value is none: write tostring(value) for its text");
}
static int v_len(lua_State *L) {
    return weirl_raise(L, "'#' of a value has no meaning: a register tile has value.shape, a tensor tensor.shape");
}
static int v_pow(lua_State *L) {
    return weirl_raise(L, "'^' is no operator of values: write weir.exp2(weir.log2(a) * b), or a * a");
}
static int v_xor(lua_State *L) {
    return weirl_raise(L, "'~' between conditions is no operator of values: write weir.ne(a, b)");
}
static int v_shift(lua_State *L) {
    return weirl_raise(L, "shifts are no operators of values: write a * 2^n as a plain number, or a // n");
}
static int v_call(lua_State *L) { return weirl_raise(L, "a value is called like a function"); }

/* ---- functions of values ------------------------------------------------------------------------------------------------ */

/* Of plain numbers they give plain numbers (and comparisons plain booleans), so that metaprogramming needs no second set. */
typedef struct function {
    const char *name;
    weir_op op;
    int args; /* -1: two or more */
} function;
static const function functions[] = {
    { "max", WEIR_OP_MAX, -1 },  { "min", WEIR_OP_MIN, -1 },     { "ceil_div", WEIR_OP_CEIL_DIV, 2 },
    { "abs", WEIR_OP_ABS, 1 },   { "exp", WEIR_OP_EXP, 1 },      { "exp2", WEIR_OP_EXP2, 1 },
    { "log2", WEIR_OP_LOG2, 1 }, { "rcp", WEIR_OP_RCP, 1 },      { "rsqrt", WEIR_OP_RSQRT, 1 },
    { "tanh", WEIR_OP_TANH, 1 }, { "lt", WEIR_OP_LT, 2 },        { "le", WEIR_OP_LE, 2 },
    { "gt", WEIR_OP_GT, 2 },     { "ge", WEIR_OP_GE, 2 },        { "eq", WEIR_OP_EQ, 2 },
    { "ne", WEIR_OP_NE, 2 },     { "select", WEIR_OP_SELECT, 3 }
};

static int plain_ceil_div(lua_State *L) {
    if (lua_isinteger(L, 1) && lua_isinteger(L, 2)) {
        lua_pushvalue(L, 1);
        lua_arith(L, LUA_OPUNM);
        lua_pushvalue(L, 2);
        lua_arith(L, LUA_OPIDIV); /* towards minus infinity, also Lua's error for a zero */
        lua_arith(L, LUA_OPUNM);
    } else {
        lua_pushnumber(L, ceil(lua_tonumber(L, 1) / lua_tonumber(L, 2)));
    }
    return 1;
}

static int plain(lua_State *L, const function *f, int n) {
    if (f->op == WEIR_OP_SELECT) { /* the condition was decided by the script */
        if (lua_type(L, 1) != LUA_TBOOLEAN)
            return weirl_raise(L, "weir.select: a condition expected first, got %s", weirl_typename(L, 1));
        lua_settop(L, 3);
        return lua_pushvalue(L, lua_toboolean(L, 1) ? 2 : 3), 1;
    }
    for (int i = 1; i <= n; i++)
        if (lua_type(L, i) != LUA_TNUMBER)
            return weirl_raise(L, "weir.%s: argument %d: a value or number expected, got %s", f->name, i, weirl_typename(L, i));
    double x = lua_tonumber(L, 1);
    switch (f->op) {
    case WEIR_OP_MAX:
    case WEIR_OP_MIN: {
        int best = 1;
        for (int i = 2; i <= n; i++)
            if (f->op == WEIR_OP_MAX ? lua_compare(L, best, i, LUA_OPLT) : lua_compare(L, i, best, LUA_OPLT)) best = i;
        return lua_pushvalue(L, best), 1;
    }
    case WEIR_OP_CEIL_DIV: return plain_ceil_div(L);
    case WEIR_OP_ABS:
        lua_pushvalue(L, 1);
        if (x < 0) lua_arith(L, LUA_OPUNM);
        return 1;
    case WEIR_OP_EXP: return lua_pushnumber(L, exp(x)), 1;
    case WEIR_OP_EXP2: return lua_pushnumber(L, exp2(x)), 1;
    case WEIR_OP_LOG2: return lua_pushnumber(L, log2(x)), 1;
    case WEIR_OP_RCP: return lua_pushnumber(L, 1 / x), 1;
    case WEIR_OP_RSQRT: return lua_pushnumber(L, 1 / sqrt(x)), 1;
    case WEIR_OP_TANH: return lua_pushnumber(L, tanh(x)), 1;
    case WEIR_OP_LT: return lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT)), 1;
    case WEIR_OP_LE: return lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLE)), 1;
    case WEIR_OP_GT: return lua_pushboolean(L, lua_compare(L, 2, 1, LUA_OPLT)), 1;
    case WEIR_OP_GE: return lua_pushboolean(L, lua_compare(L, 2, 1, LUA_OPLE)), 1;
    case WEIR_OP_EQ: return lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPEQ)), 1;
    case WEIR_OP_NE: return lua_pushboolean(L, !lua_compare(L, 1, 2, LUA_OPEQ)), 1;
    default: return weirl_raise(L, "weir.%s: needs a value", f->name);
    }
}

/* Is it a value, or does it stand for one? */
static bool is_value(lua_State *L, int i) { return lua_type(L, i) == LUA_TUSERDATA; }

static int call(lua_State *L) { /* upvalue: index in functions */
    const function *f = &functions[lua_tointeger(L, lua_upvalueindex(1))];
    int n = lua_gettop(L);
    if (f->args < 0 ? n < 2 : n != f->args)
        return weirl_raise(L, "weir.%s takes %s%d argument%s, got %d", f->name, f->args < 0 ? "at least " : "",
                           f->args < 0 ? 2 : f->args, f->args == 1 ? "" : "s", n);
    bool any = false;
    for (int i = 1; i <= n; i++) any |= is_value(L, i);
    if (!any || (f->op == WEIR_OP_SELECT && lua_type(L, 1) == LUA_TBOOLEAN)) return plain(L, f, n);
    weirl_kernel *kb = kernel_of(L, 1, n);
    if (!kb) { /* userdata of another kind: the message is tovalue's */
        for (int i = 1; i <= n; i++) {
            weirl_res *r = luaL_testudata(L, i, WEIRL_RES);
            if (r) weirl_tovalue(L, i, r->kb, lua_pushfstring(L, "weir.%s: argument %d", f->name, i));
        }
        return plain(L, f, n);
    }
    int kidx = lua_gettop(L);
    const char *what = lua_pushfstring(L, "argument of weir.%s", f->name);
    if (f->args > 0) return apply(L, kb, kidx, f->op, n, what);
    weirl_at(L, kb);
    weir_value pair[2] = { weirl_tovalue(L, 1, kb, what), { 0 } };
    for (int i = 2; i <= n; i++) {
        pair[1] = weirl_tovalue(L, i, kb, what);
        pair[0] = weir_apply(kb->k, f->op, pair, 2);
    }
    return weirl_pushvalue(L, kidx, pair[0]);
}

/* max(x, low) capped by high; relu is the same without a cap. */
static int bounded(lua_State *L, const char *name, bool capped) {
    int n = capped ? 3 : 1;
    if (lua_gettop(L) != n)
        return weirl_raise(L, "weir.%s takes %d argument%s, got %d", name, n, n == 1 ? "" : "s", lua_gettop(L));
    bool any = false;
    for (int i = 1; i <= n; i++) any |= is_value(L, i);
    weirl_kernel *kb = any ? kernel_of(L, 1, n) : NULL;
    if (!kb) {
        for (int i = 1; i <= n; i++)
            if (lua_type(L, i) != LUA_TNUMBER)
                return weirl_raise(L, "weir.%s: argument %d: a value or number expected, got %s", name, i,
                                   weirl_typename(L, i));
        int at = 1;
        if (!capped) lua_pushinteger(L, 0);
        if (lua_compare(L, 1, 2, LUA_OPLT)) at = 2;
        if (capped && lua_compare(L, 3, at, LUA_OPLT)) at = 3;
        return lua_pushvalue(L, at), 1;
    }
    int kidx = lua_gettop(L);
    const char *what = lua_pushfstring(L, "argument of weir.%s", name);
    weirl_at(L, kb);
    weir_value pair[2] = { weirl_tovalue(L, 1, kb, what), capped ? weirl_tovalue(L, 2, kb, what) : weir_int(kb->k, 0) };
    pair[0] = weir_apply(kb->k, WEIR_OP_MAX, pair, 2);
    if (capped) {
        pair[1] = weirl_tovalue(L, 3, kb, what);
        pair[0] = weir_apply(kb->k, WEIR_OP_MIN, pair, 2);
    }
    return weirl_pushvalue(L, kidx, pair[0]);
}

static int m_clamp(lua_State *L) { return bounded(L, "clamp", true); }
static int m_relu(lua_State *L) { return bounded(L, "relu", false); }

/* Outside of schedules a plain number becomes the plain number that the dtype holds. */
static int plain_cast(lua_State *L, weir_dtype to) {
    const bool whole = to >= WEIR_I8 && to <= WEIR_U64, wide = to == WEIR_I64 || to == WEIR_U64;
    if (lua_type(L, 1) != LUA_TNUMBER && lua_type(L, 1) != LUA_TBOOLEAN)
        return weirl_raise(L, "weir.cast: a value or a number expected, got %s", weirl_typename(L, 1));
    if (wide && lua_isinteger(L, 1) && (to == WEIR_I64 || lua_tointeger(L, 1) >= 0)) return lua_pushvalue(L, 1), 1;
    double x = lua_isboolean(L, 1) ? lua_toboolean(L, 1) : lua_tonumber(L, 1), y = 0;
    lua_Integer i = 0;
    if (!weir_dtype_number(to, x, &y) || (whole && !lua_numbertointeger(y, &i)))
        return weirl_raise(L, "weir.cast: %s does not fit %s", luaL_tolstring(L, 1, NULL), weir_dtype_name(to));
    if (to == WEIR_BOOL) return lua_pushboolean(L, y != 0), 1;
    return whole ? lua_pushinteger(L, i) : lua_pushnumber(L, y), 1;
}

static int m_cast(lua_State *L) {
    lua_settop(L, 2);
    weir_dtype to = weirl_todtype(L, 2, "weir.cast");
    weirl_kernel *kb = kernel_of(L, 1, 1);
    if (!kb) kb = weirl_current(L);
    if (!kb) return plain_cast(L, to);
    weirl_at(L, kb);
    return weirl_pushvalue(L, 3, weir_cast(kb->k, weirl_tovalue(L, 1, kb, "argument of weir.cast"), to));
}

/* ---- methods ------------------------------------------------------------------------------------------------------------ */

static weirl_value *self(lua_State *L, const char *method) {
    weirl_value *v = luaL_testudata(L, 1, WEIRL_VALUE);
    if (!v) weirl_raise(L, "%s: called on %s; write value:%s(...)", method, weirl_typename(L, 1), method);
    weirl_live(L, v->kb);
    weirl_at(L, v->kb);
    return v;
}

static int result(lua_State *L, weir_value v) {
    lua_getiuservalue(L, 1, 1);
    return weirl_pushvalue(L, lua_gettop(L), v);
}

static int v_map(lua_State *L) { /* t:map(f, ...) is f(t, ...) */
    self(L, "map");
    if (lua_type(L, 2) != LUA_TFUNCTION) return weirl_raise(L, "map: a function expected, got %s", weirl_typename(L, 2));
    lua_pushvalue(L, 2);
    lua_copy(L, 1, 2);
    lua_replace(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static int reduce(lua_State *L, const char *name, weir_op op) {
    weirl_value *v = self(L, name);
    int n = lua_isnoneornil(L, 2) ? 1 : weirl_tointx(L, 2, name);
    return result(L, weir_row_reduce(v->kb->k, op, v->v, n));
}

static int v_row_max(lua_State *L) { return reduce(L, "row_max", WEIR_OP_ROW_MAX); }
static int v_row_min(lua_State *L) { return reduce(L, "row_min", WEIR_OP_ROW_MIN); }
static int v_row_sum(lua_State *L) { return reduce(L, "row_sum", WEIR_OP_ROW_SUM); }

static int v_cols(lua_State *L) {
    weirl_value *v = self(L, "cols");
    int first = weirl_tointx(L, 2, "cols: first"), count = weirl_tointx(L, 3, "cols: count");
    bool view = weir_value_get(v->kb->k, v->v).kind == WEIR_VALUE_VIEW;
    return result(L, view ? weir_view_cols(v->kb->k, v->v, first, count) : weir_tile_cols(v->kb->k, v->v, first, count));
}

static int v_rows(lua_State *L) {
    weirl_value *v = self(L, "rows");
    return result(L, weir_view_rows(v->kb->k, v->v, weirl_tointx(L, 2, "rows: first"), weirl_tointx(L, 3, "rows: count")));
}

static int v_sub_view(lua_State *L) {
    weirl_value *v = self(L, "sub");
    return result(L, weir_view_sub(v->kb->k, NULL, v->v, weirl_tovalue(L, 2, v->kb, "sub: index")));
}

static int v_t(lua_State *L) {
    weirl_value *v = self(L, "t");
    return result(L, weir_view_t(v->kb->k, v->v));
}

static int v_limit(lua_State *L) {
    weirl_value *v = self(L, "limit");
    return result(L, weir_view_limit(v->kb->k, v->v, weirl_tovalue(L, 2, v->kb, "limit")));
}

static int v_load(lua_State *L) {
    weirl_value *v = self(L, "load");
    return result(L, weir_view_load(v->kb->k, v->v));
}

#define K(kind) (1u << WEIR_VALUE_##kind)
#define ANY (K(SCALAR) | K(TILE) | K(VIEW) | K(COND))
static const struct method {
    const char *name;
    lua_CFunction f;
    unsigned kinds;
} methods[] = { { "map", v_map, ANY },
                { "row_max", v_row_max, K(TILE) | K(VIEW) },
                { "row_min", v_row_min, K(TILE) | K(VIEW) },
                { "row_sum", v_row_sum, K(TILE) | K(VIEW) },
                { "cols", v_cols, K(TILE) | K(VIEW) },
                { "rows", v_rows, K(VIEW) },
                { "sub", v_sub_view, K(VIEW) },
                { "t", v_t, K(VIEW) },
                { "limit", v_limit, K(VIEW) },
                { "load", v_load, K(VIEW) } };
static const struct guard {
    const char *name;
    int kind;
} guards[] = { /* of loop indices */
               { "first_iter", WEIR_GUARD_FIRST },
               { "last_iter", WEIR_GUARD_LAST },
               { "every", WEIR_GUARD_EVERY }
};
static const char *const kind_names[] = { "value", "scalar", "register tile", "view", "condition" }; /* ORDER weir_value_kind */

static int value_index(lua_State *L) {
    weirl_value *v = luaL_checkudata(L, 1, WEIRL_VALUE);
    weirl_live(L, v->kb);
    const char *key = luaL_tolstring(L, 2, NULL);
    weir_value_info info = weir_value_get(v->kb->k, v->v);
    /* a value that came of a fault (kind NONE) has every method: the report tells the cause, not what follows from it */
    weirl_near near;
    weirl_near_begin(&near, key);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (info.kind != WEIR_VALUE_NONE && !(methods[i].kinds >> info.kind & 1u)) continue;
        if (strcmp(methods[i].name, key) == 0) return lua_pushcfunction(L, methods[i].f), 1;
        weirl_near_try(&near, methods[i].name);
    }
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) {
        if (info.kind != WEIR_VALUE_NONE && info.op != WEIR_OP_INDEX) continue;
        if (strcmp(guards[i].name, key) == 0) {
            lua_pushinteger(L, guards[i].kind);
            return lua_pushcclosure(L, weirl_guard, 1), 1;
        }
        weirl_near_try(&near, guards[i].name);
    }
    if (strcmp(key, "kind") == 0) return lua_pushstring(L, kind_names[info.kind]), 1;
    if (strcmp(key, "dtype") == 0) return lua_pushstring(L, weir_dtype_name(info.dtype)), 1;
    if (strcmp(key, "uniform") == 0) return lua_pushboolean(L, info.uniform), 1;
    if (info.kind == WEIR_VALUE_TILE && strcmp(key, "shape") == 0) {
        lua_createtable(L, 2, 0);
        lua_pushinteger(L, info.rows);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, info.cols);
        return lua_rawseti(L, -2, 2), 1;
    }
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        if (strcmp(guards[i].name, key) == 0)
            return weirl_raise(L, "'%s' belongs to the index of a weir.domain_loop, and this is another value", key);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, key) == 0) return weirl_raise(L, "a %s has no method '%s'", kind_names[info.kind], key);
    return weirl_raise(L, "a %s has no method or field '%s'%s", kind_names[info.kind], key, weirl_near_text(L, &near));
}

static int value_tostring(lua_State *L) {
    weirl_value *v = luaL_checkudata(L, 1, WEIRL_VALUE);
    if (!v->kb->k) return lua_pushliteral(L, "value of a closed kernel"), 1;
    size_t n = weir_value_text(v->kb->k, v->v, NULL, 0);
    char *s = lua_newuserdatauv(L, n + 1, 0);
    weir_value_text(v->kb->k, v->v, s, n + 1);
    lua_pushlstring(L, s, n);
    return 1;
}

void weirl_open_value(lua_State *L) {
    static const luaL_Reg meta[] = { { "__add", v_add },   { "__sub", v_sub },       { "__mul", v_mul },
                                     { "__div", v_div },   { "__idiv", v_idiv },     { "__mod", v_mod },
                                     { "__unm", v_neg },   { "__band", v_and },      { "__bor", v_or },
                                     { "__bnot", v_not },  { "__lt", v_lt },         { "__le", v_le },
                                     { "__eq", v_eq },     { "__concat", v_concat }, { "__len", v_len },
                                     { "__pow", v_pow },   { "__bxor", v_xor },      { "__shl", v_shift },
                                     { "__shr", v_shift }, { "__call", v_call },     { "__tostring", value_tostring },
                                     { NULL, NULL } };
    static const luaL_Reg nothing[] = { { "__tostring", nothing_tostring }, { NULL, NULL } };
    weirl_class(L, WEIRL_VALUE, NULL, meta, value_index);
    weirl_class(L, WEIRL_NOTHING, NULL, nothing, nothing_index);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushinteger(L, (lua_Integer)i);
        lua_pushcclosure(L, call, 1);
        lua_setfield(L, -2, functions[i].name);
    }
    static const luaL_Reg more[] = { { "clamp", m_clamp }, { "relu", m_relu }, { "cast", m_cast }, { NULL, NULL } };
    luaL_setfuncs(L, more, 0);
}
