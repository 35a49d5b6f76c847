/* weir.dlpack: a tensor that another library owns, as a launch argument. */
#include <string.h>

#include "weirlua.h"

static weirl_foreign *check(lua_State *L) {
    weirl_foreign *f = luaL_checkudata(L, 1, WEIRL_FOREIGN);
    if (!f->managed) weirl_raise(L, "the tensor was given back to its owner");
    return f;
}

static int foreign_release(lua_State *L) {
    weirl_foreign *f = luaL_checkudata(L, 1, WEIRL_FOREIGN);
    void *managed = f->managed;
    f->managed = NULL; /* once, whatever the deleter does */
    weir_dlpack_release(managed, f->versioned);
    return 0;
}

/* weir.dlpack(pointer, { versioned = false }): takes over a DLManagedTensor, which is released when what this returns is closed or collected. */
int weirl_dlpack(lua_State *L) {
    static const char *const names[] = { "versioned", NULL };
    const weirl_ctx *ctx = lua_touserdata(L, lua_upvalueindex(1));
    void *managed = NULL;
    bool versioned = false;
    if (lua_islightuserdata(L, 1)) {
        managed = lua_touserdata(L, 1);
    } else {
        int isint = 0;
        if (lua_type(L, 1) == LUA_TNUMBER) managed = (void *)(uintptr_t)lua_tointegerx(L, 1, &isint);
        if (!isint)
            return weirl_raise(L, "weir.dlpack: the address of a DLManagedTensor is an integer or light userdata, got %s",
                               weirl_typename(L, 1));
    }
    if (!lua_isnoneornil(L, 2)) {
        weirl_desc d = weirl_desc_open(L, 2, "weir.dlpack", names);
        versioned = weirl_bool(&d, "versioned", false);
    }
    weirl_foreign *f = weirl_new(L, sizeof *f, 0, WEIRL_FOREIGN);
    f->versioned = versioned;
    if (weir_dlpack_arg(ctx->c, managed, versioned, &f->arg) != WEIR_OK)
        return weirl_raise(L, "weir.dlpack: %s", weir_error(ctx->c));
    f->managed = managed; /* from here on it is ours to release */
    return 1;
}

static const char *place(lua_State *L, const weir_arg *a) {
    return a->memory == WEIR_MEMORY_GPU ? lua_pushfstring(L, "GPU %d", a->gpu)
                                        : lua_pushstring(L, a->memory == WEIR_MEMORY_HOST ? "the host" : "host and GPU");
}

static int foreign_index(lua_State *L) {
    static const char *const names[] = { "dtype", "rank", "shape", "stride", "address", "place" };
    luaL_checkudata(L, 1, WEIRL_FOREIGN);
    const char *key = luaL_tolstring(L, 2, NULL);
    if (weirl_method(L, WEIRL_FOREIGN, key)) return 1;
    const weir_arg *a = &check(L)->arg;
    if (strcmp(key, "dtype") == 0) return lua_pushstring(L, weir_dtype_name(a->dtype)), 1;
    if (strcmp(key, "rank") == 0) return lua_pushinteger(L, a->rank), 1;
    if (strcmp(key, "address") == 0) return lua_pushinteger(L, (lua_Integer)a->address), 1;
    if (strcmp(key, "place") == 0) return place(L, a), 1;
    if (strcmp(key, "shape") == 0) return weirl_push_sizes(L, a->shape, a->rank), 1;
    if (strcmp(key, "stride") == 0) return weirl_push_sizes(L, a->stride, a->rank), 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_methods(L, WEIRL_FOREIGN, &near);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) weirl_near_try(&near, names[i]);
    return weirl_raise(L, "a foreign tensor has no method or field '%s'%s", key, weirl_near_text(L, &near));
}

static int foreign_tostring(lua_State *L) {
    const weirl_foreign *f = luaL_checkudata(L, 1, WEIRL_FOREIGN);
    if (!f->managed) return lua_pushliteral(L, "foreign tensor (given back)"), 1;
    const char *shape = weirl_push_shape(L, f->arg.dtype, f->arg.shape, f->arg.rank);
    lua_pushfstring(L, "%s of another library, on %s", shape, place(L, &f->arg));
    return 1;
}

void weirl_open_dlpack(lua_State *L) {
    static const luaL_Reg meth[] = { { "close", foreign_release }, { NULL, NULL } };
    static const luaL_Reg meta[] = {
        { "__gc", foreign_release }, { "__close", foreign_release }, { "__tostring", foreign_tostring }, { NULL, NULL }
    };
    weirl_class(L, WEIRL_FOREIGN, meth, meta, foreign_index);
}
