/* weir_test: the pure functions of layout.h and protocol.h for Lua tests. Tables in, tables out; field names are the C ones.
 * A table field that is absent is 0 or false, as in a desc struct. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "layout.h"
#include "protocol.h"

static lua_Integer int_field(lua_State *L, int t, const char *name) {
    lua_getfield(L, t, name);
    lua_Integer x = lua_isnil(L, -1) ? 0 : luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return x;
}

static bool bool_field(lua_State *L, int t, const char *name) {
    lua_getfield(L, t, name);
    bool x = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return x;
}

static const char *str_field(lua_State *L, int t, const char *name) /* lives as long as the table */
{
    lua_getfield(L, t, name);
    const char *x = lua_isnil(L, -1) ? NULL : luaL_checkstring(L, -1);
    lua_pop(L, 1);
    return x;
}

static void set_int(lua_State *L, const char *name, lua_Integer x) {
    lua_pushinteger(L, x);
    lua_setfield(L, -2, name);
}

static void set_bool(lua_State *L, const char *name, bool x) {
    lua_pushboolean(L, x);
    lua_setfield(L, -2, name);
}

static void set_str(lua_State *L, const char *name, const char *x) {
    lua_pushstring(L, x);
    lua_setfield(L, -2, name);
}

static int refused(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

/* ---- layout ------------------------------------------------------------------------------------------------------------- */

/* { { name, size, align, group, phase }, ... }: group and phase from 1, absent: plain */
static weiri_item *items(lua_State *L, int t, int *n) {
    *n = (int)luaL_len(L, t);
    weiri_item *item = lua_newuserdatauv(L, sizeof *item * (size_t)(*n + 1), 0);
    for (int i = 0; i < *n; i++) {
        lua_geti(L, t, i + 1);
        int at = lua_gettop(L);
        item[i] = (weiri_item){ .name = str_field(L, at, "name"),
                                .size = int_field(L, at, "size"),
                                .align = int_field(L, at, "align"),
                                .group = (int)int_field(L, at, "group") - 1,
                                .phase = (int)int_field(L, at, "phase") - 1,
                                .offset = -1 };
        lua_pop(L, 1);
    }
    return item;
}

/* place(items, ngroups) -> total, offsets, saved | nil, why */
static int place(lua_State *L) {
    int n, ngroups = (int)luaL_checkinteger(L, 2);
    weiri_item *item = items(L, 1, &n);
    char why[256] = "";
    int64_t total = weiri_layout_place(item, n, ngroups, why, sizeof why);
    if (total < 0) return refused(L, why);
    lua_pushinteger(L, total);
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, item[i].offset);
        lua_seti(L, -2, i + 1);
    }
    lua_pushinteger(L, weiri_layout_saved(item, n, ngroups));
    return 3;
}

/* barriers({ { name, count, arrivals }, ... }) -> used, firsts, runs */
static int barriers(lua_State *L) {
    int n = (int)luaL_len(L, 1), nruns;
    weiri_bar_item *item = lua_newuserdatauv(L, sizeof *item * (size_t)(n + 1), 0);
    weiri_bar_run *run = lua_newuserdatauv(L, sizeof *run * (size_t)(n + 1), 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, 1, i + 1);
        int at = lua_gettop(L);
        item[i] = (weiri_bar_item){ .name = str_field(L, at, "name"),
                                    .count = (int)int_field(L, at, "count"),
                                    .arrivals = (int)int_field(L, at, "arrivals"),
                                    .first = -1 };
        lua_pop(L, 1);
    }
    lua_pushinteger(L, weiri_layout_barriers(item, n, run, &nruns));
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, item[i].first);
        lua_seti(L, -2, i + 1);
    }
    lua_newtable(L);
    for (int i = 0; i < nruns; i++) {
        const int x[3] = { run[i].begin, run[i].end, run[i].arrivals };
        lua_newtable(L);
        for (int j = 0; j < 3; j++) {
            lua_pushinteger(L, x[j]);
            lua_seti(L, -2, j + 1);
        }
        lua_seti(L, -2, i + 1);
    }
    return 3;
}

/* capacity(sm) -> { smem, tmem_columns, registers, max_warps } */
static int capacity(lua_State *L) {
    weiri_capacity c = weiri_layout_capacity((weir_arch)luaL_checkinteger(L, 1));
    lua_newtable(L);
    set_int(L, "smem", c.smem);
    set_int(L, "tmem_columns", c.tmem_columns);
    set_int(L, "registers", c.registers);
    set_int(L, "max_warps", c.max_warps);
    return 1;
}

static int tmem_columns(lua_State *L) {
    lua_pushinteger(L, weiri_layout_tmem_columns((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* { dtype, tile = {..}, swizzle, tma } */
static bool geometry(lua_State *L, int t, weiri_tile_geom *g, weir_dtype *dtype, char *why, size_t size) {
    const char *name = str_field(L, t, "dtype");
    *dtype = weir_dtype_from_name(name ? name : "");
    int tile[WEIR_MAX_RANK + 1] = { 0 };
    lua_getfield(L, t, "tile");
    int rank = (int)luaL_len(L, -1);
    for (int i = 0; i < rank && i < WEIR_MAX_RANK + 1; i++) {
        lua_geti(L, -1, i + 1);
        tile[i] = (int)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return weiri_layout_tile(*dtype, tile, rank, (int)int_field(L, t, "swizzle"), bool_field(L, t, "tma"), g, why, size);
}

/* tile(t) -> geometry | nil, why */
static int tile(lua_State *L) {
    weiri_tile_geom g;
    weir_dtype t;
    char why[256] = "";
    if (!geometry(L, 1, &g, &t, why, sizeof why)) return refused(L, why);
    lua_newtable(L);
    set_int(L, "rows", g.rows);
    set_int(L, "cols", g.cols);
    set_int(L, "elem", g.elem);
    set_int(L, "panels", g.panels);
    set_int(L, "panel_cols", g.panel_cols);
    set_int(L, "row_bytes", g.row_bytes);
    set_int(L, "panel_bytes", g.panel_bytes);
    set_int(L, "bytes", g.bytes);
    set_int(L, "align", g.align);
    return 1;
}

/* elements(t) -> byte offsets of all elements, row by row */
static int elements(lua_State *L) {
    weiri_tile_geom g;
    weir_dtype t;
    char why[256] = "";
    if (!geometry(L, 1, &g, &t, why, sizeof why)) return luaL_error(L, "%s", why);
    lua_createtable(L, g.rows * g.cols, 0);
    for (int r = 0; r < g.rows; r++)
        for (int c = 0; c < g.cols; c++) {
            lua_pushinteger(L, weiri_layout_element(&g, r, c));
            lua_seti(L, -2, (lua_Integer)r * g.cols + c + 1);
        }
    return 1;
}

/* operand(t, transposed, instr_n) -> fields | nil, why */
static int operand(lua_State *L) {
    weiri_tile_geom g;
    weir_dtype t;
    weiri_operand o;
    char why[256] = "";
    if (!geometry(L, 1, &g, &t, why, sizeof why)) return refused(L, why);
    if (!weiri_layout_operand(&g, t, lua_toboolean(L, 2), (int)luaL_checkinteger(L, 3), &o, why, sizeof why))
        return refused(L, why);
    lua_newtable(L);
    set_bool(L, "mn_major", o.mn_major);
    set_int(L, "lbo", o.lbo);
    set_int(L, "sbo", o.sbo);
    set_int(L, "layout", o.layout);
    set_int(L, "k_step_bytes", o.k_step_bytes);
    set_int(L, "k_per_panel", o.k_per_panel);
    set_int(L, "k_panel_bytes", o.k_panel_bytes);
    set_int(L, "m64_bytes", o.m64_bytes);
    set_int(L, "mn_step_bytes", o.mn_step_bytes);
    return 1;
}

/* ---- protocol ----------------------------------------------------------------------------------------------------------- */

static weir_cluster cluster_field(lua_State *L, int t, const char *name, int standard) {
    weir_cluster c = { standard, standard, standard, standard };
    lua_getfield(L, t, name);
    if (lua_istable(L, -1)) {
        int at = lua_gettop(L);
        c = (weir_cluster){ (int)int_field(L, at, "v"), (int)int_field(L, at, "m"), (int)int_field(L, at, "n"),
                            (int)int_field(L, at, "k") };
    }
    lua_pop(L, 1);
    return c;
}

static weir_pipe_type type_field(lua_State *L, int t) {
    const char *name = str_field(L, t, "type");
    for (int i = 1; name && i < WEIR_PIPE_COUNT; i++)
        if (strcmp(name, weiri_pipe_type_name((weir_pipe_type)i)) == 0) return (weir_pipe_type)i;
    if (name) luaL_error(L, "no pipeline type '%s'", name);
    return WEIR_PIPE_NONE;
}

static weir_grain grain_of(lua_State *L, const char *name) {
    static const char *const names[] = { "thread", "warp", "warpgroup" };
    for (int i = 0; name && i < 3; i++)
        if (strcmp(name, names[i]) == 0) return (weir_grain)(i + 1);
    if (name) luaL_error(L, "no grain '%s'", name);
    return WEIR_GRAIN_DEFAULT;
}

static const char *grain_name(weir_grain g) {
    static const char *const names[] = { "none", "thread", "warp", "warpgroup" };
    return names[g];
}

/* The fields of weir_pipe_desc; signaling as bits, flags as 0, 1, -1, producer_op "load". */
static weir_pipe_desc pipe_desc(lua_State *L, int t) {
    const char *op = str_field(L, t, "producer_op");
    weir_pipe_desc d = {
        .type = type_field(L, t),
        .stages = (int)int_field(L, t, "stages"),
        .bytes = int_field(L, t, "bytes"),
        .producers = (int)int_field(L, t, "producers"),
        .consumers = (int)int_field(L, t, "consumers"),
        .cta_layout = cluster_field(L, t, "cta_layout", 0),
        .producer_signaling = (int)int_field(L, t, "producer_signaling"),
        .consumer_signaling = (int)int_field(L, t, "consumer_signaling"),
        .consumer_wait_signaling = (int)int_field(L, t, "consumer_wait_signaling"),
        .advance_on_wait = (int)int_field(L, t, "advance_on_wait"),
        .advance_on_acquire = (int)int_field(L, t, "advance_on_acquire"),
        .producer_op = !op                       ? WEIR_PRODUCER_DEFAULT
                       : strcmp(op, "load") == 0 ? WEIR_PRODUCER_LOAD
                                                 : WEIR_PRODUCER_THREAD,
        .bytes_per_warp_per_cta = int_field(L, t, "bytes_per_warp_per_cta"),
        .grain = grain_of(L, str_field(L, t, "grain")),
        .producer_grain = grain_of(L, str_field(L, t, "producer_grain")),
    };
    lua_getfield(L, t, "interleave");
    for (int i = 0; i < 4 && lua_istable(L, -1); i++) {
        lua_geti(L, -1, i + 1);
        d.interleave[i] = (int)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return d;
}

static weiri_pside pside(lua_State *L, int t, const char *name) {
    weiri_pside s = { 0 };
    lua_getfield(L, t, name);
    if (lua_istable(L, -1)) {
        int at = lua_gettop(L);
        s = (weiri_pside){
            .tasks = (int)int_field(L, at, "tasks"),
            .warps = (int)int_field(L, at, "warps"),
            .warpgroups = (int)int_field(L, at, "warpgroups"),
            .only_mma_reads = bool_field(L, at, "only_mma_reads"),
            .async_reads = bool_field(L, at, "async_reads"),
            .max_warps_of_a_task = (int)int_field(L, at, "max_warps_of_a_task"),
            .domain_lanes = (int)int_field(L, at, "domain_lanes"),
            .one_cta_tasks = (int)int_field(L, at, "one_cta_tasks"),
            .one_cta_warps = (int)int_field(L, at, "one_cta_warps"),
        };
    }
    lua_pop(L, 1);
    return s;
}

static void push_rows(lua_State *L, const char *name, const weiri_row *rows) {
    static const char *const kinds[] = { "end",       "wait",        "arrive",    "expect",
                                         "cp_arrive", "umma_commit", "fence_async", "warp_sync", "wg_sync",
                                         "bulk_wait", "mma_drain",   "spill",       "tc_after",  "tc_before" };
    static const char *const bars[] = { "none", "full", "empty" };
    static const char *const whos[] = { "threads", "lane", "wg", "wg_ctas", "lane_ctas", "one" };
    lua_newtable(L);
    for (int i = 0; i < WEIRI_MAX_ROWS && rows[i].kind != ROW_END; i++) {
        lua_newtable(L);
        set_str(L, "kind", kinds[rows[i].kind]);
        set_str(L, "bar", bars[rows[i].bar]);
        set_str(L, "who", whos[rows[i].who]);
        set_int(L, "targets", rows[i].targets);
        set_bool(L, "cross", rows[i].cross);
        set_bool(L, "cta0_only", rows[i].cta0_only);
        set_bool(L, "leader_only", rows[i].leader_only);
        set_bool(L, "twl_only", rows[i].twl_only);
        set_int(L, "by_warp", weiri_row_arrivals(&rows[i], false));
        set_int(L, "by_warpgroup", weiri_row_arrivals(&rows[i], true));
        lua_seti(L, -2, i + 1);
    }
    lua_setfield(L, -2, name);
}

/* protocol({ given, arch, cluster, producer, consumer, serve, serve_cross, tx, same_warpgroup, fence_wait, fence_acquire, fence_commit }) */
static int protocol(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "given");
    weiri_proto_in in = {
        .given = pipe_desc(L, lua_gettop(L)),
        .arch = (weir_arch)int_field(L, 1, "arch"),
        .cluster = cluster_field(L, 1, "cluster", 1),
        .producer = pside(L, 1, "producer"),
        .consumer = pside(L, 1, "consumer"),
        .serve = (int)int_field(L, 1, "serve"),
        .serve_cross = bool_field(L, 1, "serve_cross"),
        .tx = int_field(L, 1, "tx"),
        .same_warpgroup = bool_field(L, 1, "same_warpgroup"),
        .fence_wait = bool_field(L, 1, "fence_wait"),
        .fence_acquire = bool_field(L, 1, "fence_acquire"),
        .fence_commit = bool_field(L, 1, "fence_commit"),
    };
    weiri_proto out;
    weiri_protocol(&in, &out);
    lua_newtable(L);
    set_int(L, "full_count", out.full_count);
    set_int(L, "empty_count", out.empty_count);
    set_str(L, "full_sum", out.full_sum);
    set_str(L, "empty_sum", out.empty_sum);
    set_bool(L, "has_full", out.has_full);
    set_bool(L, "has_empty", out.has_empty);
    set_str(L, "grain", grain_name(out.grain));
    set_str(L, "producer_grain", grain_name(out.producer_grain));
    set_int(L, "full_per_commit", out.full_per_commit);
    set_int(L, "empty_per_release", out.empty_per_release);
    set_int(L, "expect_bytes", out.expect_bytes);
    set_int(L, "full_tx", out.full_tx);
    push_rows(L, "acquire", out.acquire);
    push_rows(L, "commit", out.commit);
    push_rows(L, "wait", out.wait);
    push_rows(L, "release", out.release);
    lua_newtable(L);
    for (int i = 0; i < out.nfaults; i++) {
        lua_newtable(L);
        set_str(L, "rule", out.fault[i].rule);
        set_str(L, "text", out.fault[i].text);
        set_str(L, "expected", out.fault[i].expected);
        set_str(L, "got", out.fault[i].got);
        lua_seti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "faults");
    return 1;
}

/* served(cluster, serve, cross), mask(cluster, rank, serve, cross) */
static int served(lua_State *L) {
    weir_cluster c = { (int)int_field(L, 1, "v"), (int)int_field(L, 1, "m"), (int)int_field(L, 1, "n"),
                       (int)int_field(L, 1, "k") };
    lua_pushinteger(L, weiri_served(c, (int)luaL_checkinteger(L, 2), lua_toboolean(L, 3)));
    return 1;
}

static int mask(lua_State *L) {
    weir_cluster c = { (int)int_field(L, 1, "v"), (int)int_field(L, 1, "m"), (int)int_field(L, 1, "n"),
                       (int)int_field(L, 1, "k") };
    lua_pushinteger(L, weiri_cta_mask(c, (int)luaL_checkinteger(L, 2), (int)luaL_checkinteger(L, 3), lua_toboolean(L, 4)));
    return 1;
}

/* cursor(stages, stride, lane, producer, n) -> stage, phase */
static int cursor(lua_State *L) {
    int stage, phase;
    weiri_cursor_at((int)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2), (int)luaL_checkinteger(L, 3),
                    lua_toboolean(L, 4), luaL_checkinteger(L, 5), &stage, &phase);
    lua_pushinteger(L, stage);
    lua_pushinteger(L, phase);
    return 2;
}

static weir_group_mode mode_of(lua_State *L, const char *name) {
    static const char *const names[] = { "merge", "fork", "fused_merge" };
    for (int i = 0; name && i < 3; i++)
        if (strcmp(name, names[i]) == 0) return (weir_group_mode)(i + 1);
    if (name) luaL_error(L, "no group mode '%s'", name);
    return WEIR_GROUP_DEFAULT;
}

/* group({ mode, members = { { name, <pipe fields> } }, given, cluster }) -> { ok, mode, type, heterogeneous, barriers_per_stage,
 * merged.. } */
static int group(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "members");
    int list = lua_gettop(L), n = (int)luaL_len(L, list);
    weir_pipe_desc *member = lua_newuserdatauv(L, sizeof *member * (size_t)(n + 1), 0), given = { 0 };
    const char **name = lua_newuserdatauv(L, sizeof *name * (size_t)(n + 1), 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, list, i + 1);
        int at = lua_gettop(L);
        member[i] = pipe_desc(L, at);
        name[i] = str_field(L, at, "name");
        lua_pop(L, 1);
    }
    lua_getfield(L, 1, "given");
    if (lua_istable(L, -1)) given = pipe_desc(L, lua_gettop(L));
    weiri_group_in in = { mode_of(L, str_field(L, 1, "mode")), member, name, n, &given, cluster_field(L, 1, "cluster", 0) };
    weiri_group_out out;
    bool ok = weiri_group_check(&in, &out);
    static const char *const modes[] = { "none", "merge", "fork", "fused_merge" };
    lua_newtable(L);
    set_bool(L, "ok", ok);
    set_str(L, "mode", modes[out.mode]);
    set_str(L, "type", weiri_pipe_type_name(out.type));
    set_bool(L, "heterogeneous", out.heterogeneous);
    set_int(L, "barriers_per_stage", out.barriers_per_stage);
    set_int(L, "producers", out.merged.producers);
    set_int(L, "consumers", out.merged.consumers);
    set_int(L, "bytes", out.merged.bytes);
    set_int(L, "stages", out.merged.stages);
    set_bool(L, "loads", out.merged.producer_op == WEIR_PRODUCER_LOAD);
    if (out.fault.rule) set_str(L, "rule", out.fault.rule);
    set_str(L, "text", out.fault.text);
    set_str(L, "expected", out.fault.expected);
    set_str(L, "got", out.fault.got);
    return 1;
}

/* group_full(mode, n, stages, member, stage), group_empty(..): members and stages count from 0 */
static int group_full(lua_State *L) {
    lua_pushinteger(L,
                    weiri_group_full(mode_of(L, luaL_checkstring(L, 1)), (int)luaL_checkinteger(L, 2),
                                     (int)luaL_checkinteger(L, 3), (int)luaL_checkinteger(L, 4), (int)luaL_checkinteger(L, 5)));
    return 1;
}

static int group_empty(lua_State *L) {
    lua_pushinteger(L, weiri_group_empty(mode_of(L, luaL_checkstring(L, 1)), (int)luaL_checkinteger(L, 2),
                                         (int)luaL_checkinteger(L, 3), (int)luaL_checkinteger(L, 4),
                                         (int)luaL_checkinteger(L, 5)));
    return 1;
}

WEIR_API int luaopen_weir_test(lua_State *L);

/* ---- a tensor as another library would hand it over, for t/foreign.t ------------------------------------------------------ */

struct tensor { /* dlpack.h, DLTensor */
    void *data;
    int32_t device, id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t offset;
};
struct plain { /* DLManagedTensor */
    struct tensor t;
    void *manager;
    void (*deleter)(struct plain *);
};
struct versioned { /* DLManagedTensorVersioned */
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct versioned *);
    uint64_t flags;
    struct tensor t;
};
static int given_back;

static void drop(struct tensor *t, void *all) {
    given_back++;
    free(t->data);
    free(t->shape);
    free(t->strides);
    free(all);
}
static void drop_plain(struct plain *p) { drop(&p->t, p); }
static void drop_versioned(struct versioned *v) { drop(&v->t, v); }

static int64_t *list(lua_State *L, const char *name, int *n) {
    int64_t *x = NULL;
    if (lua_getfield(L, 1, name) == LUA_TTABLE) {
        *n = (int)luaL_len(L, -1);
        x = malloc(sizeof *x * (size_t)(*n + 1));
        for (int i = 0; i < *n && x; i++) {
            lua_geti(L, -1, i + 1);
            x[i] = luaL_checkinteger(L, -1);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return x;
}

/* dltensor { data = string, shape, strides, device, id, code, bits, lanes, offset, major, flags }: light userdata; a major: versioned */
static int dltensor(lua_State *L) {
    struct plain *p = calloc(1, sizeof *p);
    struct versioned *v = calloc(1, sizeof *v);
    int strides = 0;
    size_t n = 0;
    if (!p || !v) return luaL_error(L, "not enough memory");
    lua_getfield(L, 1, "data");
    const char *data = luaL_checklstring(L, -1, &n);
    struct tensor t = { .device = (int32_t)int_field(L, 1, "device"), .id = (int32_t)int_field(L, 1, "id"),
                        .code = (uint8_t)int_field(L, 1, "code"), .bits = (uint8_t)int_field(L, 1, "bits"),
                        .lanes = (uint16_t)int_field(L, 1, "lanes"), .offset = (uint64_t)int_field(L, 1, "offset") };
    t.shape = list(L, "shape", &t.ndim);
    t.strides = list(L, "strides", &strides);
    t.data = malloc(n + 1);
    if (t.data) memcpy(t.data, data, n);
    *p = (struct plain){ t, NULL, drop_plain };
    *v = (struct versioned){ (uint32_t)int_field(L, 1, "major"), 0, NULL, drop_versioned, (uint64_t)int_field(L, 1, "flags"), t };
    void *out = v->major ? (void *)v : (void *)p;
    free(v->major ? (void *)p : (void *)v);
    lua_pushlightuserdata(L, out);
    return 1;
}

static int dltensors_given_back(lua_State *L) {
    lua_pushinteger(L, given_back);
    return 1;
}

int luaopen_weir_test(lua_State *L) {
    static const luaL_Reg functions[] = {
        { "place", place },
        { "barriers", barriers },
        { "capacity", capacity },
        { "tmem_columns", tmem_columns },
        { "tile", tile },
        { "elements", elements },
        { "operand", operand },
        { "protocol", protocol },
        { "served", served },
        { "mask", mask },
        { "cursor", cursor },
        { "group", group },
        { "group_full", group_full },
        { "group_empty", group_empty },
        { "dltensor", dltensor },
        { "dltensors_given_back", dltensors_given_back },
        { NULL, NULL },
    };
    luaL_newlib(L, functions);
    return 1;
}
