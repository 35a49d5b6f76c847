/* weir.kernel and its methods: sizes, arguments, resources, groups, the dependency graph, tasks, verify, what is printed. */
#include <stdio.h>
#include <string.h>

#include "weirlua.h"

static const char current_key = 0; /* its address: registry key of the kernel whose schedule runs */

weirl_kernel *weirl_live(lua_State *L, weirl_kernel *kb) {
    if (!kb->k) weirl_raise(L, "the kernel is closed");
    return kb;
}

weirl_kernel *weirl_checkkernel(lua_State *L, int idx) {
    weirl_kernel *kb = luaL_testudata(L, idx, WEIRL_KERNEL);
    if (!kb) weirl_raise(L, "a kernel expected, got %s (call its methods with ':')", weirl_typename(L, idx));
    return weirl_live(L, kb);
}

weirl_kernel *weirl_current(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &current_key);
    weirl_kernel *kb = luaL_testudata(L, -1, WEIRL_KERNEL);
    if (!kb || !kb->k) {
        lua_pop(L, 1);
        return NULL;
    }
    return kb;
}

/* Runs the function on top of the stack with kidx as the current kernel; its results or its error value stay on the stack. */
static int run_with(lua_State *L, int kidx, int nargs, int nresults) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &current_key);
    lua_insert(L, -nargs - 2); /* the kernel that was current stays below */
    int below = lua_gettop(L) - nargs - 1;
    lua_pushvalue(L, kidx);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &current_key);
    int status = lua_pcall(L, nargs, nresults, 0);
    lua_pushvalue(L, below);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &current_key);
    lua_remove(L, below);
    return status;
}

/* ---- weir.kernel -------------------------------------------------------------------------------------------------------- */

static weir_cluster cluster_field(const weirl_desc *d, const char *what) {
    static const char *const axes[] = { "v", "m", "n", "k", NULL };
    if (weirl_get(d, "cluster") == LUA_TNIL) return (weir_cluster){ 0 };
    weirl_desc c = weirl_desc_open(d->L, -1, what, axes);
    return (weir_cluster){ weirl_count(&c, "v", 0), weirl_count(&c, "m", 0), weirl_count(&c, "n", 0), weirl_count(&c, "k", 0) };
}

int weirl_kernel_new(lua_State *L) {
    static const char *const names[] = { "name", "arch", "cluster", "ctas_per_sm", NULL };
    weirl_ctx *ctx = lua_touserdata(L, lua_upvalueindex(1));
    if (!ctx->c) return weirl_raise(L, "the context is closed");
    weirl_desc d = weirl_desc_open(L, 1, "weir.kernel", names);
    weir_kernel_desc desc = { .name = weirl_need_str(&d, "name") };
    desc.ctas_per_sm = weirl_count(&d, "ctas_per_sm", 0);
    desc.arch = weirl_arch(&d);
    desc.cluster = cluster_field(&d, "weir.kernel: cluster");
    weirl_kernel *kb = weirl_new(L, sizeof *kb, 3, WEIRL_KERNEL);
    kb->ctx = ctx;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setiuservalue(L, -2, 1);
    lua_newtable(L);
    lua_setiuservalue(L, -2, 2);
    kb->k = weir_kernel_new(ctx->c, &desc);
    if (!kb->k) return weirl_raise(L, "weir.kernel: %s", weir_error(ctx->c));
    weirl_at(L, kb);
    return 1;
}

static int kernel_gc(lua_State *L) {
    weirl_kernel *kb = luaL_checkudata(L, 1, WEIRL_KERNEL);
    if (kb->k && kb->ctx->c) weir_kernel_free(kb->k); /* a context closed by its host took its kernels along */
    kb->k = NULL;
    return 0;
}

static int kernel_close(lua_State *L) {
    weirl_kernel *kb = luaL_checkudata(L, 1, WEIRL_KERNEL);
    if (kb->task) return weirl_raise(L, "the kernel cannot be closed inside a schedule");
    return kernel_gc(L);
}

static int kernel_tostring(lua_State *L) {
    weirl_kernel *kb = luaL_checkudata(L, 1, WEIRL_KERNEL);
    if (kb->k) lua_pushfstring(L, "kernel '%s'", weir_kernel_name(kb->k));
    else lua_pushliteral(L, "kernel (closed)");
    return 1;
}

static int kernel_index(lua_State *L) {
    weirl_kernel *kb = luaL_checkudata(L, 1, WEIRL_KERNEL);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_tolstring(L, 2, NULL);
    if (weirl_method(L, WEIRL_KERNEL, key)) return 1;
    weirl_live(L, kb);
    if (strcmp(key, "name") == 0) {
        lua_pushstring(L, weir_kernel_name(kb->k));
        return 1;
    }
    if (strcmp(key, "cta") == 0) {
        *(weirl_kernel **)weirl_new(L, sizeof kb, 1, WEIRL_CTA) = kb;
        lua_pushvalue(L, 1);
        lua_setiuservalue(L, -2, 1);
        return 1;
    }
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_methods(L, WEIRL_KERNEL, &near);
    return weirl_raise(L, "kernel '%s' has no method or field '%s'%s", weir_kernel_name(kb->k), key, weirl_near_text(L, &near));
}

static int cta_index(lua_State *L) {
    weirl_kernel *kb = weirl_live(L, *(weirl_kernel **)luaL_checkudata(L, 1, WEIRL_CTA));
    static const char *const axes[] = { "v", "m", "n", "k", "rank" };
    const char *key = luaL_tolstring(L, 2, NULL);
    for (int i = 0; i < 5; i++) {
        if (strcmp(key, axes[i]) == 0) {
            weirl_at(L, kb);
            lua_getiuservalue(L, 1, 1);
            return weirl_pushvalue(L, lua_gettop(L), weir_cta(kb->k, *axes[i]));
        }
    }
    return weirl_raise(L, "k.cta has no axis '%s'; there are v, m, n, k and rank", key);
}

static int cta_tostring(lua_State *L) {
    weirl_kernel **kb = luaL_checkudata(L, 1, WEIRL_CTA);
    if (!(*kb)->k) return lua_pushliteral(L, "CTA coordinates of a closed kernel"), 1;
    lua_pushfstring(L, "CTA coordinates of kernel '%s'", weir_kernel_name((*kb)->k));
    return 1;
}

/* ---- sizes and arguments ------------------------------------------------------------------------------------------------ */

static int k_dim(lua_State *L) {
    static const char *const names[] = { "min", "max", "multiple", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    if (lua_type(L, 2) != LUA_TSTRING)
        return weirl_raise(L, "k:dim: the name of a size expected, got %s", weirl_typename(L, 2));
    weir_dim_desc desc = { .name = lua_tostring(L, 2) };
    if (!lua_isnoneornil(L, 3)) {
        weirl_desc d = weirl_desc_open(L, 3, "k:dim", names);
        desc.min = weirl_int64(&d, "min", 0);
        desc.max = weirl_int64(&d, "max", 0);
        desc.multiple = weirl_int64(&d, "multiple", 0);
    }
    weirl_at(L, kb);
    return weirl_pushvalue(L, 1, weir_dim(kb->k, &desc));
}

static int k_scalar(lua_State *L) {
    static const char *const names[] = { "name", "dtype", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:scalar", names);
    weir_scalar_desc desc = { .name = weirl_need_str(&d, "name"), .dtype = weirl_dtype(&d, "dtype") };
    if (desc.dtype == WEIR_DTYPE_NONE) return weirl_raise(L, "k:scalar '%s': needs dtype = a string, \"f32\" say", desc.name);
    weirl_at(L, kb);
    return weirl_pushvalue(L, 1, weir_scalar(kb->k, &desc));
}

static int k_assume(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_at(L, kb);
    weir_assume(kb->k, weirl_tovalue(L, 2, kb, "k:assume"));
    return 0;
}

/* ---- resources ---------------------------------------------------------------------------------------------------------- */

static int push_new(lua_State *L, weirl_kernel *kb, weir_res *r) {
    if (!r) return weirl_raise(L, "%s", weir_error(kb->ctx->c));
    weirl_pushres(L, 1, r, 2);
    return 1;
}

static weir_tensor *tensor_field(const weirl_desc *d, const char *field, bool needed) {
    int t = weirl_get(d, field);
    weirl_tensor *x = luaL_testudata(d->L, -1, WEIRL_TENSOR);
    if (!x && (needed || t != LUA_TNIL))
        weirl_raise(d->L, "%s: needs %s = a tensor of k:tensor, got %s", d->fn, field, weirl_typename(d->L, -1));
    lua_pop(d->L, 1);
    if (x && !x->kb->k) weirl_raise(d->L, "%s: field '%s' is a tensor of a closed kernel", d->fn, field);
    return x ? x->t : NULL;
}

static weir_res *res_field(const weirl_desc *d, const char *field) {
    weir_res *r = weirl_get(d, field) == LUA_TNIL ? NULL : weirl_checkres(d->L, -1, d->fn)->r;
    lua_pop(d->L, 1);
    return r;
}

static int k_gmem_tile(lua_State *L) {
    static const char *const names[] = { "name", "tensor", "tile", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:gmem_tile", names);
    weir_gmem_tile_desc desc = { .name = weirl_need_str(&d, "name"), .tensor = tensor_field(&d, "tensor", true) };
    desc.rank = weirl_ints(&d, "tile", desc.tile, WEIR_MAX_RANK);
    weirl_at(L, kb);
    return push_new(L, kb, weir_gmem_tile(kb->k, &desc));
}

static int k_smem_tile(lua_State *L) {
    static const char *const names[] = { "name", "dtype", "tile", "swizzle", "pipeline", "storage", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:smem_tile", names);
    weir_smem_tile_desc desc = { .name = weirl_need_str(&d, "name"), .dtype = weirl_dtype(&d, "dtype") };
    desc.rank = weirl_ints(&d, "tile", desc.tile, WEIR_MAX_RANK);
    desc.swizzle = weirl_int(&d, "swizzle", 0);
    desc.pipeline = weirl_pipe(&d, "pipeline");
    desc.storage = res_field(&d, "storage");
    weirl_at(L, kb);
    return push_new(L, kb, weir_smem_tile(kb->k, &desc));
}

static void tile2(const weirl_desc *d, int *tile) {
    int n = weirl_ints(d, "tile", tile, 2);
    if (n != 2) weirl_raise(d->L, "%s: needs tile = { rows, columns }, got %d entries", d->fn, n);
}

static int k_reg_tile(lua_State *L) {
    static const char *const names[] = { "name", "dtype", "tile", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:reg_tile", names);
    weir_reg_tile_desc desc = { .name = weirl_need_str(&d, "name"), .dtype = weirl_dtype(&d, "dtype") };
    tile2(&d, desc.tile);
    weirl_at(L, kb);
    return push_new(L, kb, weir_reg_tile(kb->k, &desc));
}

static int k_wgmma_tile(lua_State *L) {
    static const char *const names[] = { "name", "tile", "split", NULL };
    static const char *const splits[] = { "m", "n", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:wgmma_tile", names);
    weir_wgmma_tile_desc desc = { .name = weirl_need_str(&d, "name"), .split = *splits[weirl_choice(&d, "split", splits, 0)] };
    tile2(&d, desc.tile);
    weirl_at(L, kb);
    return push_new(L, kb, weir_wgmma_tile(kb->k, &desc));
}

static int k_tmem_tile(lua_State *L) {
    static const char *const names[] = { "name", "tile", "pipeline", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:tmem_tile", names);
    weir_tmem_tile_desc desc = { .name = weirl_need_str(&d, "name"), .pipeline = weirl_pipe(&d, "pipeline") };
    tile2(&d, desc.tile);
    weirl_at(L, kb);
    return push_new(L, kb, weir_tmem_tile(kb->k, &desc));
}

static int k_barrier(lua_State *L) {
    static const char *const names[] = { "name", "pipeline", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:barrier", names);
    weir_barrier_desc desc = { .name = weirl_need_str(&d, "name"), .pipeline = weirl_pipe(&d, "pipeline") };
    weirl_at(L, kb);
    return push_new(L, kb, weir_barrier(kb->k, &desc));
}

static int new_pdl(lua_State *L, const char *fn, weir_res *(*make)(weir_kernel *, const char *)) {
    static const char *const names[] = { "name", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, fn, names);
    const char *name = weirl_need_str(&d, "name");
    weirl_at(L, kb);
    return push_new(L, kb, make(kb->k, name));
}

static int k_pdl_wait(lua_State *L) { return new_pdl(L, "k:pdl_wait", weir_pdl_wait); }
static int k_pdl_launch(lua_State *L) { return new_pdl(L, "k:pdl_launch", weir_pdl_launch); }

/* The raster function, traced once: from a linear tile number and the queue's extents to the tile's coordinates. */
static void trace_raster(lua_State *L, weirl_kernel *kb, weir_res *q, const char *name) {
    int top = lua_gettop(L), rank = weir_queue_rank(q); /* the function is on top */
    luaL_checkstack(L, WEIR_MAX_RANK + 8, NULL);
    weirl_pushvalue(L, 1, weir_queue_index(kb->k, q));
    for (int i = 0; i < rank; i++) weirl_pushvalue(L, 1, weir_queue_extent(kb->k, q, i));
    if (run_with(L, 1, rank + 1, LUA_MULTRET) != LUA_OK) lua_error(L);
    int n = lua_gettop(L) - top + 1;
    if (n != rank)
        weirl_raise(L, "k:work_queue '%s': the raster function gives %d coordinates, the queue has %d axes", name, n, rank);
    weir_value coord[WEIR_MAX_RANK];
    for (int i = 0; i < n; i++) coord[i] = weirl_tovalue(L, top + i, kb, "a coordinate of the raster function");
    weirl_at(L, kb);
    weir_queue_set_raster(kb->k, q, coord, n);
}

static int k_work_queue(lua_State *L) {
    static const char *const names[] = { "name",   "kind",  "over",   "tile",     "axes", "extent",
                                         "raster", "group", "stages", "pipeline", NULL };
    static const char *const kinds[] = { "static", "atomic", "clc", "grid", NULL }; /* ORDER weir_queue_kind */
    static const char *const rasters[] = { "row", "column", "grouped", NULL };      /* ORDER weir_raster */
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:work_queue", names);
    weir_queue_desc desc = { .name = weirl_need_str(&d, "name"), .over = tensor_field(&d, "over", false) };
    desc.kind = (weir_queue_kind)weirl_choice(&d, "kind", kinds, 0);
    int ntile = weirl_ints(&d, "tile", desc.tile, WEIR_MAX_RANK);
    if (desc.over) {
        if (weirl_has(&d, "axes") || weirl_has(&d, "extent"))
            return weirl_raise(L, "k:work_queue '%s': either 'over' and 'tile', or 'axes' and 'extent' by hand", desc.name);
        if (ntile == 0) return weirl_raise(L, "k:work_queue '%s': 'over' needs tile = { rows, columns }", desc.name);
    } else {
        if (weirl_get(&d, "axes") != LUA_TTABLE || lua_rawlen(L, -1) == 0 || lua_rawlen(L, -1) > WEIR_MAX_RANK)
            return weirl_raise(L, "k:work_queue '%s': needs 'over' and 'tile', or axes = 1 to %d names and their 'extent'",
                               desc.name, WEIR_MAX_RANK);
        desc.rank = (int)lua_rawlen(L, -1);
        for (int i = 0; i < desc.rank; i++) {
            if (lua_rawgeti(L, -1, i + 1) != LUA_TSTRING)
                return weirl_raise(L, "k:work_queue '%s': axes[%d] is a string, got %s", desc.name, i + 1,
                                   weirl_typename(L, -1));
            desc.axes[i] = lua_tostring(L, -1);
            lua_pop(L, 1);
        }
        weirl_at(L, kb);
        int n = weirl_values(&d, kb, "extent", desc.extent, WEIR_MAX_RANK);
        if (n != desc.rank)
            return weirl_raise(L, "k:work_queue '%s': %d axes, but %d entries in 'extent'", desc.name, desc.rank, n);
    }
    bool custom = weirl_get(&d, "raster") == LUA_TFUNCTION;
    desc.raster = custom ? WEIR_RASTER_CUSTOM : (weir_raster)weirl_choice(&d, "raster", rasters, 0);
    desc.group = weirl_count(&d, "group", 0);
    desc.pipeline = weirl_pipe(&d, "pipeline");
    if (weirl_has(&d, "stages")) desc.pipeline.stages = weirl_count(&d, "stages", 0);
    weirl_at(L, kb);
    weir_res *q = weir_work_queue(kb->k, &desc);
    if (q && custom) {
        weirl_get(&d, "raster");
        trace_raster(L, kb, q, desc.name);
    }
    return push_new(L, kb, q);
}

/* The string keys of the table on top, sorted: an array on the stack. Declared order is not known to Lua. */
static int sorted_keys(lua_State *L, const char *fn, const char *field) {
    int t = lua_gettop(L), n = 0;
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, t)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING) weirl_raise(L, "%s: '%s' is a table by name", fn, field);
        int i = ++n;
        for (; i > 1; i--) { /* insertion: a handful of names */
            lua_rawgeti(L, t + 1, i - 1);
            bool before = lua_compare(L, -2, -1, LUA_OPLT);
            if (before) lua_rawseti(L, t + 1, i);
            else lua_pop(L, 1);
            if (!before) break;
        }
        lua_pushvalue(L, -1);
        lua_rawseti(L, t + 1, i);
    }
    return n;
}

static void *scratch(lua_State *L, int n, size_t size) { /* zeroed, left on the stack */
    size_t bytes = (n > 0 ? (size_t)n : 1) * size;
    return memset(lua_newuserdatauv(L, bytes, 0), 0, bytes);
}

/* Interface text of a body: a string, a list of entries, or a map of a single name to its type; NULL if absent. Left on the
 * stack. */
static const char *signature(const weirl_desc *d, const char *field) {
    lua_State *L = d->L;
    int t = weirl_get(d, field), tab = lua_gettop(L);
    if (t == LUA_TNIL || t == LUA_TSTRING) return lua_tostring(L, -1);
    if (t != LUA_TTABLE)
        weirl_raise(L, "%s: '%s' is a string like \"f32 v, i32 n\", got %s", d->fn, field, weirl_typename(L, -1));
    int n = (int)lua_rawlen(L, tab);
    if (n == 0) {
        lua_pushnil(L);
        if (!lua_next(L, tab)) return lua_pushliteral(L, "");
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
            weirl_raise(L, "%s: '%s' maps a name to a type, both strings", d->fn, field);
        const char *entry = lua_pushfstring(L, "%s %s", lua_tostring(L, -1), lua_tostring(L, -2));
        lua_pushvalue(L, -3);
        if (lua_next(L, tab)) weirl_raise(L, "%s: '%s' by name has no order: write \"f32 v, i32 n\"", d->fn, field);
        return entry;
    }
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (int i = 1; i <= n; i++) {
        if (i > 1) luaL_addstring(&text, ", ");
        if (lua_rawgeti(L, tab, i) != LUA_TSTRING)
            weirl_raise(L, "%s: '%s'[%d] is a string, got %s", d->fn, field, i, weirl_typename(L, -1));
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    return lua_tostring(L, -1);
}

static int k_resource(lua_State *L) {
    static const char *const names[] = {
        "name", "space", "dtype", "tile", "swizzle", "pipeline", "bind", "const", "work", NULL
    };
    static const char *const work_names[] = { "side",       "code", "params", "returns", "tx_bytes",
                                              "async_read", "aux",  "file",   "line",    NULL };
    static const char *const spaces[] = { "none", "gmem", "smem", NULL }; /* ORDER weir_space */
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    lua_settop(L, 2);
    weirl_desc d = weirl_desc_open(L, 2, "k:resource", names);
    weir_resource_desc desc = { .name = weirl_need_str(&d, "name"), .dtype = weirl_dtype(&d, "dtype") };
    desc.space = (weir_space)weirl_choice(&d, "space", spaces, 0);
    desc.rank = weirl_ints(&d, "tile", desc.tile, WEIR_MAX_RANK);
    desc.swizzle = weirl_int(&d, "swizzle", 0);
    desc.pipeline = weirl_pipe(&d, "pipeline");
    static const char *const maps[] = { "bind", "const", "work" };
    for (int m = 0; m < 3; m++) {
        luaL_checkstack(L, 64, NULL);
        int type = weirl_get(&d, maps[m]);
        if (type == LUA_TNIL) continue;
        if (type != LUA_TTABLE)
            return weirl_raise(L, "k:resource '%s': '%s' is a table by name, got %s", desc.name, maps[m],
                               weirl_typename(L, -1));
        int map = lua_gettop(L), n = sorted_keys(L, "k:resource", maps[m]), keys = map + 1;
        weir_bind *bind = m == 0 ? scratch(L, n, sizeof *bind) : NULL;
        weir_const *consts = m == 1 ? scratch(L, n, sizeof *consts) : NULL;
        weir_work_def *work = m == 2 ? scratch(L, n, sizeof *work) : NULL;
        for (int i = 0; i < n; i++) {
            lua_rawgeti(L, keys, i + 1);
            const char *key = lua_tostring(L, -1);
            lua_rawget(L, map);
            if (m == 0) {
                weirl_tensor *x = luaL_testudata(L, -1, WEIRL_TENSOR);
                if (x && !x->kb->k)
                    return weirl_raise(L, "k:resource '%s': bind.%s is a tensor of a closed kernel", desc.name, key);
                if (!x)
                    return weirl_raise(L, "k:resource '%s': bind.%s is a tensor of k:tensor, got %s", desc.name, key,
                                       weirl_typename(L, -1));
                bind[i] = (weir_bind){ key, x->t };
            } else if (m == 1) {
                if (lua_type(L, -1) != LUA_TNUMBER)
                    return weirl_raise(L, "k:resource '%s': const.%s is a plain number, got %s", desc.name, key,
                                       weirl_typename(L, -1));
                consts[i] = (weir_const){ key, lua_tonumber(L, -1), lua_isinteger(L, -1) };
            } else {
                if (!luaL_getmetafield(L, -1, "__name") || strcmp(luaL_tolstring(L, -1, NULL), WEIRL_WORK) != 0)
                    return weirl_raise(L, "k:resource '%s': work.%s comes from weir.producer_work or weir.consumer_work",
                                       desc.name, key);
                lua_pop(L, 2);
                const char *fn = lua_pushfstring(L, "work.%s", key);
                weirl_desc w = weirl_desc_open(L, -2, fn, work_names);
                work[i] = (weir_work_def){ .name = key,
                                           .side = (weir_side)weirl_int(&w, "side", 0),
                                           .code = weirl_need_str(&w, "code"),
                                           .file = weirl_str(&w, "file"),
                                           .line = weirl_int(&w, "line", 0),
                                           .tx_bytes = weirl_int64(&w, "tx_bytes", 0),
                                           .async_read = weirl_bool(&w, "async_read", false),
                                           .aux = weirl_bool(&w, "aux", false) };
                work[i].params = weirl_str(&w, "params");
                work[i].returns = weirl_str(&w, "returns");
                lua_pop(L, 1);
            }
            lua_pop(L, 1);
        }
        if (m == 0) desc.bind = bind, desc.nbind = n;
        else if (m == 1) desc.consts = consts, desc.nconsts = n;
        else desc.work = work, desc.nwork = n;
    }
    weirl_at(L, kb);
    return push_new(L, kb, weir_resource(kb->k, &desc));
}

int weirl_work_def(lua_State *L) {
    static const char *const names[] = { "code", "params", "returns", "tx_bytes", "async_read", "aux", NULL };
    bool consumer = lua_toboolean(L, lua_upvalueindex(1));
    const char *fn = consumer ? "weir.consumer_work" : "weir.producer_work";
    weirl_desc d = weirl_desc_open(L, 1, fn, names);
    const char *code = weirl_need_str(&d, "code");
    lua_createtable(L, 0, 10);
    int def = lua_gettop(L);
    for (int i = 0; names[i]; i++) { /* a copy: the caller may reuse its table */
        weirl_get(&d, names[i]);
        lua_setfield(L, def, names[i]);
    }
    static const char *const sigs[] = { "params", "returns" };
    for (int i = 0; i < 2; i++) {
        if (signature(&d, sigs[i])) lua_setfield(L, def, sigs[i]);
        lua_settop(L, def);
    }
    weirl_int64(&d, "tx_bytes", 0); /* types are looked at here, where the author wrote them */
    weirl_bool(&d, "async_read", false);
    weirl_bool(&d, "aux", false);
    lua_pushinteger(L, consumer ? WEIR_SIDE_CONSUMER : WEIR_SIDE_PRODUCER);
    lua_setfield(L, def, "side");
    int line;
    weirl_code_place(L, code, &line);
    lua_setfield(L, def, "file");
    lua_pushinteger(L, line);
    lua_setfield(L, def, "line");
    luaL_setmetatable(L, WEIRL_WORK);
    return 1;
}

/* ---- groups, dependency graph, memory ----------------------------------------------------------------------------------- */

/* The list of resources at idx (or one resource) as an array left on the stack; raises on anything else. */
static weir_res **res_list(lua_State *L, int idx, const char *what, int *n) {
    idx = lua_absindex(L, idx);
    if (luaL_testudata(L, idx, WEIRL_RES)) {
        *n = 1;
        weir_res **one = scratch(L, 1, sizeof *one);
        *one = weirl_checkres(L, idx, what)->r;
        return one;
    }
    if (lua_type(L, idx) != LUA_TTABLE)
        weirl_raise(L, "%s: a list of resources expected, got %s [C-ARG-01]", what, weirl_typename(L, idx));
    *n = (int)lua_rawlen(L, idx);
    weir_res **v = scratch(L, *n, sizeof *v);
    for (int i = 0; i < *n; i++) {
        lua_rawgeti(L, idx, i + 1);
        v[i] = weirl_checkres(L, -1, what)->r;
        lua_pop(L, 1);
    }
    return v;
}

static int k_group(lua_State *L) {
    static const char *const names[] = { "name", "mode", "members", "pipeline", "fold", NULL };
    static const char *const modes[] = { "", "merge", "fork", "fused_merge", NULL }; /* ORDER weir_group_mode */
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    lua_settop(L, 2);
    weirl_desc d = weirl_desc_open(L, 2, "k:group", names);
    weir_group_desc desc = { .name = weirl_need_str(&d, "name"), .mode = (weir_group_mode)weirl_choice(&d, "mode", modes, 0) };
    desc.pipeline = weirl_pipe(&d, "pipeline");
    desc.fold = weirl_bool(&d, "fold", false);
    weirl_get(&d, "members");
    weir_res **members = res_list(L, 3, lua_pushfstring(L, "k:group '%s': members", desc.name), &desc.nmembers);
    desc.members = members;
    weirl_at(L, kb);
    weir_res *g = weir_group(kb->k, &desc);
    if (!g) return weirl_raise(L, "%s", weir_error(kb->ctx->c));
    push_new(L, kb, g);
    for (int i = 0; i < desc.nmembers; i++) { /* handles of the members seen through the group know what they stand for */
        lua_rawgeti(L, 3, i + 1);
        weirl_res *bare = weirl_checkres(L, -1, "k:group");
        weir_res *view = weir_group_member(g, weir_res_name(members[i]));
        lua_getiuservalue(L, -1, 2);
        if (view) weirl_pushres(L, 1, view, lua_gettop(L))->kind = bare->kind;
        lua_settop(L, lua_gettop(L) - (view ? 3 : 2));
    }
    return 1;
}

/* One entry { resource, { what it depends on }, release_after = { work } }, the table on top. */
static void depends_entry(lua_State *L, weirl_kernel *kb) {
    int t = lua_gettop(L), up, n = 0;
    lua_rawgeti(L, t, 1);
    lua_rawgeti(L, t, 2);
    weir_res *down = weirl_checkres(L, t + 1, "k:depends")->r;
    weir_res **ups = res_list(L, t + 2, "k:depends", &up);
    weir_depends(kb->k, down, ups, up);
    lua_pushnil(L);
    while (lua_next(L, t)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "release_after") != 0)
            weirl_raise(L, "k:depends: an entry has no field '%s': { resource, { resources }, release_after = { work } }",
                        lua_tostring(L, -1));
    }
    if (lua_getfield(L, t, "release_after") != LUA_TNIL) {
        if (lua_type(L, -1) == LUA_TSTRING) { /* one name is a list of one */
            lua_createtable(L, 1, 0);
            lua_insert(L, -2);
            lua_rawseti(L, -2, 1);
        }
        if (lua_type(L, -1) != LUA_TTABLE)
            weirl_raise(L, "k:depends: release_after is a list of names of work, got %s", weirl_typename(L, -1));
        int list = lua_gettop(L);
        n = (int)lua_rawlen(L, list);
        const char **work = scratch(L, n, sizeof *work);
        for (int i = 0; i < n; i++) {
            if (lua_rawgeti(L, list, i + 1) != LUA_TSTRING)
                weirl_raise(L, "k:depends: release_after[%d] is a string, got %s", i + 1, weirl_typename(L, -1));
            work[i] = lua_tostring(L, -1); /* the list keeps it */
            lua_pop(L, 1);
        }
        for (int i = 0; i < up; i++) weir_release_after(kb->k, ups[i], down, work, n);
    }
    lua_settop(L, t - 1);
}

static int k_depends(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    lua_settop(L, 2);
    if (!lua_istable(L, 2))
        return weirl_raise(L, "k:depends: pairs { resource, { what it depends on } } expected, got %s", weirl_typename(L, 2));
    weirl_at(L, kb);
    int n = (int)lua_rawlen(L, 2), up;
    for (int i = 1; i <= n; i++) {
        if (lua_rawgeti(L, 2, i) != LUA_TTABLE)
            return weirl_raise(L, "k:depends: entry %d is a pair { resource, { resources } }, got %s", i,
                               weirl_typename(L, -1));
        depends_entry(L, kb);
    }
    if (n > 0) return 0;
    for (int last = -1;;) { /* keyed by resource: read in declaration order, next larger number each time */
        weirl_res *best = NULL;
        lua_settop(L, 2);
        lua_pushnil(L); /* 3: value of the best */
        lua_pushnil(L);
        while (lua_next(L, 2)) {
            weirl_res *r = weirl_checkres(L, -2, "k:depends: a key");
            if (r->seq > last && (!best || r->seq < best->seq)) {
                best = r;
                lua_copy(L, -1, 3);
            }
            lua_pop(L, 1);
        }
        if (!best && last < 0) weir_depends(kb->k, NULL, NULL, 0); /* k:depends {}: a graph, and an empty one */
        if (!best) return 0;
        last = best->seq;
        weir_res **ups = res_list(L, 3, "k:depends", &up);
        weir_depends(kb->k, best->r, ups, up);
    }
}

static int k_alias(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    lua_settop(L, 2);
    if (!lua_istable(L, 2))
        return weirl_raise(L, "k:alias: phases { { resources }, { resources } } expected, got %s", weirl_typename(L, 2));
    int n = (int)lua_rawlen(L, 2);
    weir_phase *phase = scratch(L, n, sizeof *phase);
    luaL_checkstack(L, 2 * n + 8, "too many phases");
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        phase[i].res = res_list(L, -1, "k:alias", &phase[i].n); /* stays on the stack until the call */
    }
    weirl_at(L, kb);
    weir_alias(kb->k, phase, n);
    return 0;
}

/* ---- tasks -------------------------------------------------------------------------------------------------------------- */

int weirl_task(lua_State *L) {
    static const char *const names[] = { "name", "warps", "registers", "cta", "src", "dst", "schedule", NULL };
    static const char *const axes[] = { "v", "m", "n", "k", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    lua_settop(L, 2);
    weirl_desc d = weirl_desc_open(L, 2, "k:task", names);
    weir_task_desc desc = { .name = weirl_need_str(&d, "name"), .registers = weirl_int(&d, "registers", 0) };
    if (kb->task) return weirl_raise(L, "k:task '%s': inside the schedule of task '%s'", desc.name, kb->task);
    int warps[2] = { 0, 0 };
    if (weirl_ints(&d, "warps", warps, 2) != 2) return weirl_raise(L, "k:task '%s': needs warps = { first, count }", desc.name);
    desc.first_warp = warps[0], desc.num_warps = warps[1];
    if (weirl_get(&d, "cta") != LUA_TNIL) {
        weirl_desc c = weirl_desc_open(L, -1, "k:task: cta", axes);
        desc.on_cta = true;
        for (int i = 0; i < 4; i++) desc.cta[i] = weirl_int(&c, axes[i], -1);
    }
    lua_settop(L, 2);
    if (weirl_get(&d, "src") != LUA_TNIL) desc.src = res_list(L, -1, "k:task: src", &desc.nsrc);
    if (weirl_get(&d, "dst") != LUA_TNIL) desc.dst = res_list(L, -1, "k:task: dst", &desc.ndst);
    if (weirl_get(&d, "schedule") != LUA_TFUNCTION)
        return weirl_raise(L, "k:task '%s': needs schedule = a function, got %s [T-SCHED-01]", desc.name,
                           weirl_typename(L, -1));
    lua_newtable(L);
    lua_setiuservalue(L, 1, 3);
    weirl_at(L, kb);
    weir_task_begin(kb->k, &desc);
    kb->task = desc.name;
    int status = run_with(L, 1, 0, 0);
    kb->task = NULL;
    if (status == LUA_OK) weirl_check_blocks(L, 1);
    weirl_at(L, kb);
    weir_task_end(kb->k);
    if (status == LUA_OK) return 0;
    /* The error goes on to the script; should the script swallow it, the kernel still cannot be built. */
    const char *why = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : weirl_typename(L, -1);
    const char *text = lua_pushfstring(L, "the schedule of task '%s' stopped with an error: %s", desc.name, why);
    weir_fault(kb->k, NULL, text, NULL);
    lua_pop(L, 1);
    return lua_error(L);
}

/* ---- verify, and what the plan decided ---------------------------------------------------------------------------------- */

static void not_in_schedule(lua_State *L, const weirl_kernel *kb, const char *fn) {
    if (kb->task) weirl_raise(L, "%s: inside the schedule of task '%s'", fn, kb->task);
}

static int k_verify(lua_State *L) {
    static const char *const names[] = { "prove", "warn_only", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    not_in_schedule(L, kb, "k:verify");
    weir_verify_desc desc = { .no_proof = false };
    if (!lua_isnoneornil(L, 2)) {
        weirl_desc d = weirl_desc_open(L, 2, "k:verify", names);
        desc.no_proof = !weirl_bool(&d, "prove", true);
        desc.warn_only = weirl_bool(&d, "warn_only", false);
    }
    lua_getiuservalue(L, 1, 1);
    weir_report **r = weirl_pushreport(L, lua_gettop(L));
    weir_status st = weir_verify(kb->k, &desc, r);
    if (!*r) return weirl_raise(L, "k:verify: %s (%s)", weir_error(kb->ctx->c), weir_status_name(st));
    return 1;
}

static const char *const prints[] = { "all",  "schedule", "registers", "smem",   "barriers",
                                      "plan", "capture",  "dot",       "launch", NULL }; /* ORDER weir_print */

static const char *kernel_text(lua_State *L, weir_print what) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    not_in_schedule(L, kb, "k:print");
    const char *text = weir_kernel_print(kb->k, what);
    if (!text) weirl_raise(L, "k:print: %s", weir_error(kb->ctx->c));
    return lua_pushstring(L, text);
}

static int k_print(lua_State *L) { return kernel_text(L, (weir_print)luaL_checkoption(L, 2, "all", prints)), 1; }
static int k_schedule_table(lua_State *L) { return kernel_text(L, WEIR_PRINT_SCHEDULE), 1; }
static int k_dot(lua_State *L) { return kernel_text(L, WEIR_PRINT_DOT), 1; }

static int k_explain(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    not_in_schedule(L, kb, "k:explain");
    weirl_res *r = weirl_checkres(L, 2, "k:explain");
    const char *text = weir_explain(kb->k, r->r);
    if (!text) return weirl_raise(L, "k:explain: %s", weir_error(kb->ctx->c));
    return lua_pushstring(L, text), 1;
}

int weirl_explain(lua_State *L) {
    static const char *const names[] = { "pipeline", "arch",      "cluster", "producer_warps", "consumer_warps", "multicast",
                                         "bytes",    "mma_reads", NULL };
    static const char *const multicasts[] = { "none", "m", "n", "mn", NULL }; /* ORDER weir_multicast */
    const weirl_ctx *u = lua_touserdata(L, lua_upvalueindex(1));
    weirl_desc d = weirl_desc_open(L, 1, "weir.explain", names);
    weir_explain_desc desc = { .pipeline = weirl_pipe(&d, "pipeline"),
                               .producer_warps = weirl_int(&d, "producer_warps", 0),
                               .consumer_warps = weirl_int(&d, "consumer_warps", 0),
                               .multicast = weirl_choice(&d, "multicast", multicasts, 0),
                               .bytes = weirl_int64(&d, "bytes", 0),
                               .mma_reads = weirl_bool(&d, "mma_reads", false) };
    if (!desc.pipeline.type)
        return weirl_raise(
            L, "weir.explain: pipeline is missing: weir.explain { pipeline = weir.pipeline.tma_async { stages = 4 } }");
    desc.arch = weirl_arch(&d);
    desc.cluster = cluster_field(&d, "weir.explain: cluster");
    size_t n = weir_explain_pipeline(u->c, &desc, NULL, 0) + 1;
    char *text = lua_newuserdatauv(L, n, 0);
    weir_explain_pipeline(u->c, &desc, text, n);
    return lua_pushstring(L, text), 1;
}

/* k:promela { N = 3, tiles = 2 } */
static int k_promela(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    not_in_schedule(L, kb, "k:promela");
    if (!lua_isnoneornil(L, 2) && !lua_istable(L, 2))
        return weirl_raise(L, "k:promela { N = 3, tiles = 2 }: a table of sizes, got %s", weirl_typename(L, 2));
    lua_settop(L, 2);
    const char *names[32];
    int64_t sizes[32];
    weir_promela_desc d = { .dims = names, .sizes = sizes };
    lua_pushnil(L);
    while (lua_istable(L, 2) && lua_next(L, 2)) {
        if (lua_type(L, -2) != LUA_TSTRING) return weirl_raise(L, "k:promela: sizes are given by the names of dims");
        int isint = 0;
        int64_t x = lua_tointegerx(L, -1, &isint);
        if (!isint || x < 0) return weirl_raise(L, "k:promela: the size of '%s' is not a whole number", lua_tostring(L, -2));
        if (strcmp(lua_tostring(L, -2), "tiles") == 0) d.tiles = weirl_tointx(L, -1, "tiles");
        else if (d.n == 32) return weirl_raise(L, "k:promela: more than 32 dims");
        else names[d.n] = lua_tostring(L, -2), sizes[d.n++] = x;
        lua_pop(L, 1);
    }
    const char *text = weir_kernel_promela(kb->k, &d);
    if (!text) return weirl_raise(L, "k:promela: %s", weir_error(kb->ctx->c));
    lua_pushstring(L, text);
    return 1;
}

static void push_layout(lua_State *L, const weir_layout_row *row, int n) {
    lua_createtable(L, n, 2);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 7);
        lua_pushstring(L, row[i].name);
        lua_setfield(L, -2, "name");
        weirl_set_int(L, "offset", row[i].offset);
        weirl_set_int(L, "size", row[i].size);
        weirl_set_int(L, "align", row[i].align);
        weirl_set_int(L, "stage_bytes", row[i].stage_bytes);
        weirl_set_int(L, "stages", row[i].stages);
        weirl_set_int(L, "phase", row[i].phase);
        lua_rawseti(L, -2, i + 1);
    }
}

static int k_smem_layout(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    int64_t total = 0;
    int n = weir_smem_layout(kb->k, NULL, 0, &total);
    weir_layout_row *row = scratch(L, n, sizeof *row);
    push_layout(L, row, weir_smem_layout(kb->k, row, n, &total));
    weirl_set_int(L, "total", total);
    return 1;
}

static int k_tmem_layout(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    int64_t total = 0, allocated = 0;
    int n = weir_tmem_layout(kb->k, NULL, 0, &total, &allocated);
    weir_layout_row *row = scratch(L, n, sizeof *row);
    push_layout(L, row, weir_tmem_layout(kb->k, row, n, &total, &allocated));
    weirl_set_int(L, "total", total);
    weirl_set_int(L, "allocated", allocated);
    return 1;
}

static int k_barrier_layout(lua_State *L) {
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    int n = weir_barrier_layout(kb->k, NULL, 0);
    weir_barrier_row *row = scratch(L, n, sizeof *row);
    n = weir_barrier_layout(kb->k, row, n);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 6);
        lua_pushstring(L, row[i].name);
        lua_setfield(L, -2, "name");
        weirl_set_int(L, "first", row[i].first);
        weirl_set_int(L, "stages", row[i].stages);
        weirl_set_int(L, "offset", row[i].offset);
        weirl_set_int(L, "arrivals", row[i].arrivals);
        weirl_set_int(L, "tx_bytes", row[i].tx_bytes);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

void weirl_open_kernel(lua_State *L) {
    static const luaL_Reg meth[] = { { "dim", k_dim },
                                     { "scalar", k_scalar },
                                     { "tensor", weirl_tensor_new },
                                     { "assume", k_assume },
                                     { "gmem_tile", k_gmem_tile },
                                     { "smem_tile", k_smem_tile },
                                     { "reg_tile", k_reg_tile },
                                     { "wgmma_tile", k_wgmma_tile },
                                     { "tmem_tile", k_tmem_tile },
                                     { "barrier", k_barrier },
                                     { "work_queue", k_work_queue },
                                     { "resource", k_resource },
                                     { "pdl_wait", k_pdl_wait },
                                     { "pdl_launch", k_pdl_launch },
                                     { "group", k_group },
                                     { "depends", k_depends },
                                     { "alias", k_alias },
                                     { "task", weirl_task },
                                     { "verify", k_verify },
                                     { "build", weirl_kernel_build },
                                     { "source", weirl_kernel_source },
                                     { "print", k_print },
                                     { "schedule_table", k_schedule_table },
                                     { "dot", k_dot },
                                     { "promela", k_promela },
                                     { "explain", k_explain },
                                     { "smem_layout", k_smem_layout },
                                     { "tmem_layout", k_tmem_layout },
                                     { "barrier_layout", k_barrier_layout },
                                     { "close", kernel_close },
                                     { NULL, NULL } };
    static const luaL_Reg meta[] = {
        { "__gc", kernel_gc }, { "__close", kernel_gc }, { "__tostring", kernel_tostring }, { NULL, NULL }
    };
    static const luaL_Reg cta_meta[] = { { "__tostring", cta_tostring }, { NULL, NULL } };
    weirl_class(L, WEIRL_KERNEL, meth, meta, kernel_index);
    weirl_class(L, WEIRL_CTA, NULL, cta_meta, cta_index);
}
