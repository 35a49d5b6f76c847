/* Devices and tensors in their memory. */
#include <string.h>

#include "weirlua.h"

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

weirl_device *weirl_checkdevice(lua_State *L, int idx, const char *what) {
    weirl_device *u = luaL_testudata(L, idx, WEIRL_DEVICE);
    if (!u) weirl_raise(L, "%s a device of weir.device expected, got %s", what, weirl_typename(L, idx));
    if (!u->d) weirl_raise(L, "the device is closed");
    return u;
}

/* weir.device(): first GPU, else the simulator. weir.device("sim", { seed=, sms= }), weir.device(0). */
int weirl_device_open(lua_State *L) {
    static const char *const names[] = { "seed", "sms", NULL };
    weirl_ctx *ctx = lua_touserdata(L, lua_upvalueindex(1));
    if (!ctx->c) return weirl_raise(L, "the context is closed");
    lua_settop(L, 2);
    weir_device_desc desc = { .index = 0 };
    bool any = lua_isnil(L, 1);
    if (lua_type(L, 1) == LUA_TSTRING) {
        if (strcmp(lua_tostring(L, 1), "sim") != 0)
            return weirl_raise(L, "weir.device: '%s' is no device; there are \"sim\" and the numbers of GPUs",
                               lua_tostring(L, 1));
        desc.index = -1;
    } else if (!any) {
        desc.index = weirl_tointx(L, 1, "weir.device");
        if (desc.index < 0) return weirl_raise(L, "weir.device(%d): GPUs count from 0; the simulator is \"sim\"", desc.index);
    }
    if (!lua_isnil(L, 2)) {
        weirl_desc d = weirl_desc_open(L, 2, "weir.device", names);
        desc.seed = (uint64_t)weirl_int64(&d, "seed", 0);
        desc.sms = weirl_count(&d, "sms", 0);
    }
    weirl_device *u = weirl_new(L, sizeof *u, 1, WEIRL_DEVICE);
    u->ctx = ctx;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setiuservalue(L, -2, 1);
    u->d = weir_device_open(ctx->c, any ? NULL : &desc);
    return u->d ? 1 : weirl_fail(L, ctx, WEIR_E_NO_DEVICE);
}

static int device_gc(lua_State *L) {
    weirl_device *u = luaL_checkudata(L, 1, WEIRL_DEVICE);
    if (u->d && u->ctx->c) weir_device_close(u->d);
    u->d = NULL;
    return 0;
}

static int done(lua_State *L, const weirl_ctx *ctx, weir_status st) { /* true, or nil, message, code */
    return st == WEIR_OK ? lua_pushboolean(L, 1), 1 : weirl_fail(L, ctx, st);
}

static int d_sync(lua_State *L) {
    weirl_device *u = weirl_checkdevice(L, 1, "self:");
    return done(L, u->ctx, weir_device_sync(u->d));
}

/* dev:explore { seeds = n }: launches run n times each from now on. */
static int d_explore(lua_State *L) {
    static const char *const names[] = { "seeds", NULL };
    weirl_device *u = weirl_checkdevice(L, 1, "self:");
    weirl_desc d = weirl_desc_open(L, 2, "dev:explore", names);
    weir_status st = weir_device_explore(u->d, weirl_int(&d, "seeds", 100));
    return st == WEIR_OK ? (lua_settop(L, 1), 1) : weirl_raise(L, "dev:explore: %s", weir_error(u->ctx->c));
}

static int d_findings(lua_State *L) { return lua_pushstring(L, weir_device_findings(weirl_checkdevice(L, 1, "self:")->d)), 1; }

/* A shape: a list of extents, or one of them. */
static int shape_field(const weirl_desc *d, int64_t *shape) {
    lua_State *L = d->L;
    int t = weirl_get(d, "shape"), n = 1;
    if (t == LUA_TNUMBER) {
        shape[0] = weirl_int64(d, "shape", 0);
    } else {
        if (t != LUA_TTABLE) weirl_raise(L, "%s: needs shape = { rows, columns }, got %s", d->fn, weirl_typename(L, -1));
        n = (int)lua_rawlen(L, -1);
        if (n < 1 || n > WEIR_MAX_RANK)
            weirl_raise(L, "%s: shape has %d entries, 1 to %d are possible", d->fn, n, WEIR_MAX_RANK);
        for (int i = 0; i < n; i++) {
            lua_rawgeti(L, -1, i + 1);
            int isint = 0;
            shape[i] = lua_tointegerx(L, -1, &isint);
            if (!isint) weirl_raise(L, "%s: shape[%d] is an integer, got %s", d->fn, i + 1, weirl_typename(L, -1));
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    for (int i = 0; i < n; i++)
        if (shape[i] < 0) weirl_raise(L, "%s: shape[%d] = %lld", d->fn, i + 1, (long long)shape[i]);
    return n;
}

/* A buffer of the device at didx, closed; then filled. */
static weirl_buffer *push_buffer(lua_State *L, int didx) {
    didx = lua_absindex(L, didx);
    weirl_buffer *u = weirl_new(L, sizeof *u, 1, WEIRL_BUFFER);
    u->dev = lua_touserdata(L, didx);
    lua_pushvalue(L, didx);
    lua_setiuservalue(L, -2, 1);
    return u;
}

static int d_tensor(lua_State *L) {
    static const char *const names[] = { "dtype", "shape", "pitch", NULL };
    weirl_device *dev = weirl_checkdevice(L, 1, "self:");
    weirl_desc d = weirl_desc_open(L, 2, "dev:tensor", names);
    weir_buffer_desc desc = { .dtype = weirl_dtype(&d, "dtype"), .pitch = weirl_int(&d, "pitch", 0) };
    if (desc.dtype == WEIR_DTYPE_NONE) return weirl_raise(L, "dev:tensor: needs dtype = a string, \"bf16\" say");
    desc.rank = shape_field(&d, desc.shape);
    weirl_buffer *u = push_buffer(L, 1);
    u->b = weir_buffer_new(dev->d, &desc);
    if (u->b) return 1;
    weir_status st = weir_error_status(dev->ctx->c);
    return st == WEIR_E_ARGUMENT ? weirl_raise(L, "dev:tensor: %s", weir_error(dev->ctx->c)) : weirl_fail(L, dev->ctx, st);
}

static int device_index(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_DEVICE);
    const char *key = luaL_tolstring(L, 2, NULL);
    if (weirl_method(L, WEIRL_DEVICE, key)) return 1;
    weir_device *d = weirl_checkdevice(L, 1, "self:")->d;
    if (strcmp(key, "name") == 0) return lua_pushstring(L, weir_device_name(d)), 1;
    if (strcmp(key, "is_sim") == 0) return lua_pushboolean(L, weir_device_is_sim(d)), 1;
    if (strcmp(key, "seed") == 0) return lua_pushinteger(L, (lua_Integer)weir_device_seed(d)), 1;
    if (strcmp(key, "sms") == 0) return lua_pushinteger(L, weir_device_sms(d)), 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_methods(L, WEIRL_DEVICE, &near);
    weirl_near_try(&near, "name");
    weirl_near_try(&near, "is_sim");
    return weirl_raise(L, "a device has no method or field '%s'%s", key, weirl_near_text(L, &near));
}

static int device_tostring(lua_State *L) {
    weirl_device *u = luaL_checkudata(L, 1, WEIRL_DEVICE);
    return lua_pushfstring(L, "device %s", u->d ? weir_device_name(u->d) : "(closed)"), 1;
}

/* ---- tensors in device memory ------------------------------------------------------------------------------------------- */

static weirl_buffer *check(lua_State *L, int idx) {
    weirl_buffer *u = luaL_testudata(L, idx, WEIRL_BUFFER);
    if (!u) weirl_raise(L, "a device tensor expected, got %s", weirl_typename(L, idx));
    if (!u->b || !u->dev->d) weirl_raise(L, "the tensor or its device is closed");
    return u;
}

static int64_t elements(const weir_buffer *b) {
    int64_t n = 1;
    for (int i = 0; i < weir_buffer_rank(b); i++) n *= weir_buffer_shape(b, i);
    return n;
}

static size_t packed_bytes(const weir_buffer *b) { return (size_t)elements(b) * (size_t)weir_dtype_size(weir_buffer_dtype(b)); }

static int chain(lua_State *L, const weirl_buffer *u, weir_status st) { /* the tensor itself, or nil, message, code */
    if (st != WEIR_OK) return weirl_fail(L, u->dev->ctx, st);
    lua_settop(L, 1);
    return 1;
}

static int buffer_gc(lua_State *L) {
    weirl_buffer *u = luaL_checkudata(L, 1, WEIRL_BUFFER);
    if (u->b && u->dev->ctx->c) weir_buffer_free(u->b);
    u->b = NULL;
    return 0;
}

static int b_randn(lua_State *L) {
    weirl_buffer *u = check(L, 1);
    lua_Integer seed = luaL_optinteger(L, 2, 1);
    return chain(L, u, weir_buffer_randn(u->b, (uint64_t)seed));
}

static bool is_wide_int(weir_dtype t) { return t == WEIR_I64 || t == WEIR_U64; } /* does not fit a double */
static bool is_int(weir_dtype t) { return t >= WEIR_I8 && t <= WEIR_U64; }

/* The tensor itself; an argument that is refused raises, what a device cannot do returns nil, message, code. */
static int took(lua_State *L, const weirl_buffer *u, const char *what, weir_status st) {
    if (st == WEIR_E_ARGUMENT) return weirl_raise(L, "%s: %s", what, weir_error(u->dev->ctx->c));
    return chain(L, u, st);
}

static int b_fill(lua_State *L) {
    weirl_buffer *u = check(L, 1);
    if (lua_type(L, 2) != LUA_TNUMBER) return weirl_raise(L, "fill: a number expected, got %s", weirl_typename(L, 2));
    lua_Number x = lua_tonumber(L, 2);
    if (is_wide_int(weir_buffer_dtype(u->b)) && lua_isinteger(L, 2) && x < 0x1p63 && (lua_Integer)x != lua_tointeger(L, 2))
        return weirl_raise(L, "fill: %s has more than 53 bits; give all elements to set()", luaL_tolstring(L, 2, NULL));
    return took(L, u, "fill", weir_buffer_fill(u->b, x));
}

/* Where set() reads: the numbers of a table, nested as the tensor's shape or flat, row by row. */
typedef struct reading {
    lua_State *L;
    const weir_buffer *b;
    double *out;     /* or NULL: */
    int64_t *wide;   /* 64-bit integers */
    int64_t at;      /* elements so far */
    int64_t path[WEIR_MAX_RANK]; /* indices of the nested tables that are open */
} reading;

/* "[2][3]" of a nested table, "element 7" of a flat one. */
static const char *place_of(reading *r, int depth) {
    if (!depth) return lua_pushfstring(r->L, "element %I", (LUAI_UACINT)(r->at + 1));
    luaL_Buffer s;
    luaL_buffinit(r->L, &s);
    for (int i = 0; i < depth; i++) {
        lua_pushfstring(r->L, "[%I]", (LUAI_UACINT)r->path[i]);
        luaL_addvalue(&s);
    }
    luaL_pushresult(&s);
    return lua_tostring(r->L, -1);
}

static void read_number(reading *r, int depth) {
    lua_State *L = r->L;
    int t = lua_type(L, -1), isint = 0;
    if (t != LUA_TNUMBER && t != LUA_TBOOLEAN) {
        const char *got = weirl_typename(L, -1);
        weirl_raise(L, "set: %s is a number, got %s", place_of(r, depth), got);
    }
    if (!r->wide) {
        r->out[r->at++] = t == LUA_TBOOLEAN ? lua_toboolean(L, -1) : lua_tonumber(L, -1);
        return;
    }
    r->wide[r->at] = lua_tointegerx(L, -1, &isint);
    /* Lua's integers are the 64 bits of a u64 too; a negative float is no such number */
    bool negative = weir_buffer_dtype(r->b) == WEIR_U64 && !lua_isinteger(L, -1) && r->wide[r->at] < 0;
    if (!isint || negative) {
        const char *got = luaL_tolstring(L, -1, NULL);
        weirl_raise(L, "set: %s of the %s tensor is %s: it holds whole numbers of 64 bits", place_of(r, depth),
                    weir_dtype_name(weir_buffer_dtype(r->b)), got);
    }
    r->at++;
}

/* The table on the stack is axis `axis` of the tensor; all of it below. Its depth is the rank, so that no table is too deep. */
static void read_axis(reading *r, int axis) {
    lua_State *L = r->L;
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    bool last = axis == weir_buffer_rank(r->b) - 1;
    if (n != weir_buffer_shape(r->b, axis))
        weirl_raise(L, "set: axis %d of the tensor has %lld entries, the table%s%s %lld", axis + 1,
                    (long long)weir_buffer_shape(r->b, axis), axis ? " at " : "", axis ? place_of(r, axis) : "", (long long)n);
    luaL_checkstack(L, 4, "set");
    for (lua_Integer i = 1; i <= n; i++) {
        r->path[axis] = i;
        if (lua_rawgeti(L, -1, i) != LUA_TTABLE && !last) {
            const char *got = weirl_typename(L, -1);
            weirl_raise(L, "set: %s is a table of %lld, got %s", place_of(r, axis + 1),
                        (long long)weir_buffer_shape(r->b, axis + 1), got);
        }
        if (last) read_number(r, axis + 1);
        else read_axis(r, axis + 1);
        lua_pop(L, 1);
    }
}

static void read_flat(reading *r, int64_t elements) {
    lua_Integer n = (lua_Integer)lua_rawlen(r->L, -1);
    if (n != elements)
        weirl_raise(r->L, "set: the tensor has %lld elements, the table %lld", (long long)elements, (long long)n);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(r->L, -1, i);
        read_number(r, 0);
        lua_pop(r->L, 1);
    }
}

static int b_set(lua_State *L) {
    weirl_buffer *u = check(L, 1);
    lua_settop(L, 2);
    int64_t n = elements(u->b);
    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t len, want = packed_bytes(u->b);
        const char *s = lua_tolstring(L, 2, &len);
        if (len != want)
            return weirl_raise(L, "set: the tensor holds %zu bytes without padding, the string has %zu", want, len);
        return chain(L, u, weir_buffer_write(u->b, s, len));
    }
    if (lua_type(L, 2) != LUA_TTABLE)
        return weirl_raise(L, "set: a table of numbers or a string of bytes expected, got %s", weirl_typename(L, 2));
    void *x = lua_newuserdatauv(L, sizeof(double) * (size_t)(n > 0 ? n : 1), 0);
    bool wide = is_wide_int(weir_buffer_dtype(u->b)), nested = lua_rawgeti(L, 2, 1) == LUA_TTABLE;
    reading r = { .L = L, .b = u->b, .out = wide ? NULL : x, .wide = wide ? x : NULL };
    lua_pushvalue(L, 2);
    if (nested && weir_buffer_rank(u->b) > 1) read_axis(&r, 0);
    else read_flat(&r, n);
    return took(L, u, "set", wide ? weir_buffer_write(u->b, x, packed_bytes(u->b)) : weir_buffer_write_f64(u->b, x, (size_t)n));
}

/* b:get(): all elements in one list, row by row. b:get("bytes"): as a string, without padding. */
static int b_get(lua_State *L) {
    static const char *const modes[] = { "list", "bytes", NULL };
    weirl_buffer *u = check(L, 1);
    int64_t n = elements(u->b);
    if (luaL_checkoption(L, 2, "list", modes) == 1) {
        luaL_Buffer s;
        size_t size = packed_bytes(u->b);
        char *p = luaL_buffinitsize(L, &s, size);
        weir_status st = weir_buffer_read(u->b, p, size);
        if (st != WEIR_OK) return weirl_fail(L, u->dev->ctx, st);
        luaL_pushresultsize(&s, size);
        return 1;
    }
    weir_dtype t = weir_buffer_dtype(u->b);
    void *x = lua_newuserdatauv(L, sizeof(double) * (size_t)(n > 0 ? n : 1), 0);
    weir_status st = is_wide_int(t) ? weir_buffer_read(u->b, x, packed_bytes(u->b)) : weir_buffer_read_f64(u->b, x, (size_t)n);
    if (st != WEIR_OK) return weirl_fail(L, u->dev->ctx, st);
    lua_createtable(L, n < 1 << 30 ? (int)n : 0, 0);
    for (int64_t i = 0; i < n; i++) {
        if (is_wide_int(t)) lua_pushinteger(L, (lua_Integer)((int64_t *)x)[i]);
        else if (is_int(t)) lua_pushinteger(L, (lua_Integer)((double *)x)[i]);
        else lua_pushnumber(L, ((double *)x)[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int b_copy(lua_State *L) { /* onto the same device, or the one given */
    weirl_buffer *u = check(L, 1);
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_getiuservalue(L, 1, 1);
        lua_replace(L, 2);
    }
    weirl_device *to = weirl_checkdevice(L, 2, "copy:");
    weir_buffer_desc desc = { .dtype = weir_buffer_dtype(u->b), .rank = weir_buffer_rank(u->b) };
    for (int i = 0; i < desc.rank; i++) desc.shape[i] = weir_buffer_shape(u->b, i);
    weirl_buffer *c = push_buffer(L, 2);
    c->b = weir_buffer_new(to->d, &desc);
    if (!c->b) return weirl_fail(L, to->ctx, weir_error_status(to->ctx->c));
    size_t size = packed_bytes(u->b);
    void *p = lua_newuserdatauv(L, size > 0 ? size : 1, 0);
    weir_status st = weir_buffer_read(u->b, p, size);
    if (st == WEIR_OK) st = weir_buffer_write(c->b, p, size);
    lua_settop(L, 3);
    return st == WEIR_OK ? 1 : weirl_fail(L, to->ctx, st);
}

static int buffer_index(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_BUFFER);
    const char *key = luaL_tolstring(L, 2, NULL);
    if (weirl_method(L, WEIRL_BUFFER, key)) return 1;
    weir_buffer *b = check(L, 1)->b;
    static const char *const names[] = { "dtype", "rank", "shape", "stride", "address", "device" };
    if (strcmp(key, "dtype") == 0) return lua_pushstring(L, weir_dtype_name(weir_buffer_dtype(b))), 1;
    if (strcmp(key, "rank") == 0) return lua_pushinteger(L, weir_buffer_rank(b)), 1;
    if (strcmp(key, "address") == 0) return lua_pushinteger(L, (lua_Integer)weir_buffer_address(b)), 1;
    if (strcmp(key, "device") == 0) return lua_getiuservalue(L, 1, 1), 1;
    if (strcmp(key, "shape") == 0 || strcmp(key, "stride") == 0) {
        int64_t x[WEIR_MAX_RANK];
        for (int i = 0; i < weir_buffer_rank(b); i++)
            x[i] = strcmp(key, "shape") == 0 ? weir_buffer_shape(b, i) : weir_buffer_stride(b, i);
        return weirl_push_sizes(L, x, weir_buffer_rank(b)), 1;
    }
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_methods(L, WEIRL_BUFFER, &near);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) weirl_near_try(&near, names[i]);
    return weirl_raise(L, "a device tensor has no method or field '%s'%s", key, weirl_near_text(L, &near));
}

static int buffer_tostring(lua_State *L) {
    weirl_buffer *u = luaL_checkudata(L, 1, WEIRL_BUFFER);
    if (!u->b || !u->dev->d) return lua_pushliteral(L, "device tensor (closed)"), 1;
    int64_t shape[WEIR_MAX_RANK];
    for (int i = 0; i < weir_buffer_rank(u->b); i++) shape[i] = weir_buffer_shape(u->b, i);
    const char *text = weirl_push_shape(L, weir_buffer_dtype(u->b), shape, weir_buffer_rank(u->b));
    lua_pushfstring(L, "%s on %s", text, weir_device_name(u->dev->d));
    return 1;
}

void weirl_open_device(lua_State *L) {
    static const luaL_Reg device_meth[] = { { "tensor", d_tensor },     { "sync", d_sync },     { "explore", d_explore },
                                            { "findings", d_findings }, { "close", device_gc }, { NULL, NULL } };
    static const luaL_Reg device_meta[] = {
        { "__gc", device_gc }, { "__close", device_gc }, { "__tostring", device_tostring }, { NULL, NULL }
    };
    static const luaL_Reg buffer_meth[] = { { "randn", b_randn }, { "fill", b_fill },     { "set", b_set }, { "get", b_get },
                                            { "copy", b_copy },   { "close", buffer_gc }, { NULL, NULL } };
    static const luaL_Reg buffer_meta[] = {
        { "__gc", buffer_gc }, { "__close", buffer_gc }, { "__tostring", buffer_tostring }, { NULL, NULL }
    };
    weirl_class(L, WEIRL_DEVICE, device_meth, device_meta, device_index);
    weirl_class(L, WEIRL_BUFFER, buffer_meth, buffer_meta, buffer_index);
}
