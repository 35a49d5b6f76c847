/* weir.place_records, weir.place_barriers, weir.barrier_records, weir.tile_bytes: layouts by hand. lua/weir/allocators.lua makes objects of them. */
#include <string.h>

#include "weirlua.h"

static const weirl_ctx *context(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* The list in a field of the desc, on top; its length. */
static int list_field(const weirl_desc *d, const char *field) {
    if (weirl_get(d, field) != LUA_TTABLE) weirl_raise(d->L, "%s: %s is a list", d->fn, field);
    return (int)lua_rawlen(d->L, -1);
}

int weirl_place_records(lua_State *L) {
    static const char *const names[] = { "arch", "space", "records", "mbarriers", NULL },
                             *const fields[] = { "name", "size", "align", "alias", "phase", NULL };
    static const char *const spaces[] = { "smem", "tmem", NULL };
    weirl_desc d = weirl_desc_open(L, 1, "weir.place_records", names);
    int n = list_field(&d, "records"), list = lua_gettop(L);
    weir_place_record *r = lua_newuserdatauv(L, sizeof *r * (size_t)(n + 1), 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, list, i + 1);
        weirl_desc x = weirl_desc_open(L, -1, "weir.place_records: a record", fields);
        r[i] = (weir_place_record){ .name = weirl_need_str(&x, "name"),
                                    .size = weirl_int64(&x, "size", 0),
                                    .align = weirl_int64(&x, "align", 1),
                                    .alias = weirl_int(&x, "alias", 0),
                                    .phase = weirl_int(&x, "phase", 0) };
    }
    weir_place_desc desc = { .arch = weirl_arch(&d),
                             .tmem = weirl_choice(&d, "space", spaces, 0) == 1,
                             .records = r,
                             .n = n,
                             .mbarriers = weirl_int(&d, "mbarriers", 0) };
    weir_placed out;
    if (weir_place_records(context(L)->c, &desc, &out) != WEIR_OK)
        return weirl_raise(L, "weir.place_records: %s", weir_error(context(L)->c));
    lua_createtable(L, n, 4);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, r[i].name);
        lua_setfield(L, -2, "name");
        weirl_set_int(L, "offset", r[i].offset);
        weirl_set_int(L, "size", r[i].size);
        lua_seti(L, -2, i + 1);
    }
    weirl_set_int(L, "total", out.total);
    weirl_set_int(L, "saved", out.saved);
    weirl_set_int(L, "capacity", out.capacity);
    weirl_set_int(L, "allocated", out.allocated);
    if (desc.mbarriers > 0) weirl_set_int(L, "barrier_offset", out.barrier_offset);
    weirl_set_int(L, "size", out.end);
    return 1;
}

int weirl_tile_bytes(lua_State *L) {
    static const char *const names[] = { "dtype", "tile", "swizzle", "stages", "threads", NULL };
    weirl_desc d = weirl_desc_open(L, 1, "weir.tile_bytes", names);
    weir_tile_desc desc = { .dtype = weirl_dtype(&d, "dtype"),
                            .swizzle = weirl_int(&d, "swizzle", 0),
                            .stages = weirl_count(&d, "stages", 1),
                            .threads = weirl_bool(&d, "threads", false) };
    desc.rank = weirl_ints(&d, "tile", desc.tile, WEIR_MAX_RANK);
    int64_t bytes, align;
    if (weir_tile_bytes(context(L)->c, &desc, &bytes, &align) != WEIR_OK)
        return weirl_raise(L, "weir.tile_bytes: %s", weir_error(context(L)->c));
    lua_pushinteger(L, bytes);
    lua_pushinteger(L, align);
    return 2;
}

int weirl_place_barriers(lua_State *L) {
    static const char *const names[] = { "records", NULL }, *const fields[] = { "name", "count", "arrivals", NULL };
    weirl_desc d = weirl_desc_open(L, 1, "weir.place_barriers", names);
    int n = list_field(&d, "records"), list = lua_gettop(L), nruns = 0, used = 0;
    weir_barrier_record *r = lua_newuserdatauv(L, sizeof *r * (size_t)(n + 1), 0);
    weir_barrier_run *run = lua_newuserdatauv(L, sizeof *run * (size_t)(n + 1), 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, list, i + 1);
        weirl_desc x = weirl_desc_open(L, -1, "weir.place_barriers: a record", fields);
        r[i] = (weir_barrier_record){ .name = weirl_need_str(&x, "name"),
                                      .count = weirl_int(&x, "count", 0),
                                      .arrivals = weirl_int(&x, "arrivals", 0) };
    }
    if (weir_place_barriers(context(L)->c, r, n, run, &nruns, &used) != WEIR_OK)
        return weirl_raise(L, "weir.place_barriers: %s", weir_error(context(L)->c));
    lua_createtable(L, n, 2);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 4);
        lua_pushstring(L, r[i].name);
        lua_setfield(L, -2, "name");
        weirl_set_int(L, "first", r[i].first);
        weirl_set_int(L, "count", r[i].count);
        weirl_set_int(L, "arrivals", r[i].arrivals);
        lua_seti(L, -2, i + 1);
    }
    lua_createtable(L, nruns, 0);
    for (int i = 0; i < nruns; i++) {
        lua_createtable(L, 0, 3);
        weirl_set_int(L, "first", run[i].begin);
        weirl_set_int(L, "last", run[i].end - 1);
        weirl_set_int(L, "arrivals", run[i].arrivals);
        lua_seti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "runs");
    weirl_set_int(L, "used", used);
    return 1;
}

int weirl_barrier_records(lua_State *L) {
    static const char *const names[] = { "name", "mode", "stages", "members", NULL }, *const fields[] = { "name", "producers",
                                                                                                          "consumers", NULL };
    static const char *const modes[] = { "none", "merge", "fork", "fused_merge", NULL }; /* ORDER weir_group_mode */
    weirl_desc d = weirl_desc_open(L, 1, "weir.barrier_records", names);
    int n = list_field(&d, "members"), list = lua_gettop(L);
    weir_barrier_member *m = lua_newuserdatauv(L, sizeof *m * (size_t)(n + 1), 0);
    weir_barrier_record *out = lua_newuserdatauv(L, sizeof *out * (size_t)(2 * n + 2), 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, list, i + 1);
        weirl_desc x = weirl_desc_open(L, -1, "weir.barrier_records: a member", fields);
        m[i] = (weir_barrier_member){ .name = weirl_need_str(&x, "name"),
                                      .producers = weirl_int(&x, "producers", 0),
                                      .consumers = weirl_int(&x, "consumers", 0) };
    }
    weir_barrier_set set = { .name = weirl_need_str(&d, "name"),
                             .mode = (weir_group_mode)weirl_choice(&d, "mode", modes, 0),
                             .stages = weirl_count(&d, "stages", 1),
                             .members = m,
                             .n = n };
    if (n < 1 || (set.mode == WEIR_GROUP_DEFAULT && n > 1))
        return weirl_raise(L, "weir.barrier_records: a group has a member, a pipeline without mode is one");
    int count = weir_barrier_records(&set, out);
    if (count < 0) {
        bool fork = set.mode == WEIR_GROUP_FORK;
        int i = 1;
        while (fork ? m[i].producers == m[0].producers : m[i].consumers == m[0].consumers) i++;
        return weirl_raise(L, "weir.barrier_records: a %s has one %s barrier, but %s is %d for '%s', %d for '%s' [G-CFG-13]",
                           modes[set.mode], fork ? "full" : "empty", fork ? "producers" : "consumers",
                           fork ? m[0].producers : m[0].consumers, m[0].name, fork ? m[i].producers : m[i].consumers, m[i].name);
    }
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, out[i].name);
        lua_setfield(L, -2, "name");
        weirl_set_int(L, "count", out[i].count);
        weirl_set_int(L, "arrivals", out[i].arrivals);
        lua_seti(L, -2, i + 1);
    }
    return 1;
}
