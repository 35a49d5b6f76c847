/* Pipeline groups: members that share one side of their mbarriers. Whether members fit is protocol_group.c's to say. */
#include <string.h>

#include "model.h"
#include "protocol.h"

const char *weiri_group_mode_name(weir_group_mode mode) {
    switch (mode) {
    case WEIR_GROUP_MERGE: return "merge";
    case WEIR_GROUP_FORK: return "fork";
    case WEIR_GROUP_FUSED_MERGE: return "fused_merge";
    case WEIR_GROUP_DEFAULT: break;
    }
    return "group";
}

/* The collapsed side of a mode is written once, on the group; all else on the members. */
bool weiri_group_collapses(weir_group_mode mode, weir_move move) {
    switch (mode) {
    case WEIR_GROUP_MERGE: return move == WEIR_RELEASE;
    case WEIR_GROUP_FORK: return move == WEIR_COMMIT;
    case WEIR_GROUP_FUSED_MERGE: return move == WEIR_TRY_WAIT || move == WEIR_WAIT || move == WEIR_RELEASE;
    case WEIR_GROUP_DEFAULT: break;
    }
    return false;
}

/* Names that group.NAME already means. */
static bool is_taken(const char *name) {
    static const char *const fields[] = { "is_heterogeneous",
                                          "num_barriers_per_stage",
                                          "group_pipeline",
                                          "barriers",
                                          "member",
                                          "members",
                                          "mode",
                                          "name",
                                          "kind",
                                          "pipeline",
                                          "fold",
                                          "acquire",
                                          "try_acquire",
                                          "commit",
                                          "wait",
                                          "try_wait",
                                          "release" };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i], name) == 0) return true;
    return false;
}

/* Can these be members of a new group? On false the reason is in weir_error. */
static bool members_fit(weir_kernel *k, const weir_group_desc *d, weir_res **bare) {
    const char *name = d->name ? d->name : "?";
    if (d->nmembers < 1) {
        weiri_fail(k->ctx, WEIR_E_ARGUMENT, "group '%s' has no members [G-CFG-01]", name);
        return false;
    }
    for (int i = 0; i < d->nmembers; i++) {
        weir_res *r = d->members[i];
        if (!r || r->kind == WEIR_RES_GROUP) {
            weiri_fail(k->ctx, WEIR_E_ARGUMENT, "group '%s': member %d is %s, not a resource [C-ARG-01]", name, i + 1,
                       r ? "a group" : "nothing");
            return false;
        }
        if (r->k != k) {
            weiri_fail(k->ctx, WEIR_E_ARGUMENT, "group '%s': '%s' belongs to another kernel, '%s' [C-ARG-01]", name, r->name,
                       r->k->name);
            return false;
        }
        if (r->kind == WEIR_RES_MEMBER) r = r->bare;
        bare[i] = r;
        bool again = r->group != NULL;
        for (int j = 0; j < i; j++) again |= bare[j] == r;
        if (again) {
            weiri_fail(k->ctx, WEIR_E_ARGUMENT, "group '%s': '%s' is already in group '%s' [G-CFG-02]", name, r->name,
                       r->group ? r->group->name : name);
            return false;
        }
        if (!weiri_piped(r)) {
            weiri_fail(k->ctx, WEIR_E_ARGUMENT, "group '%s': member '%s' has no pipeline [G-CFG-03]", name, r->name);
            return false;
        }
        if (is_taken(r->name)) {
            weiri_fail(k->ctx, WEIR_E_ARGUMENT,
                       "group '%s': a member cannot be named '%s', which is a field or method of groups: rename it [G-NAME-01]",
                       name, r->name);
            return false;
        }
    }
    return true;
}

static weir_res *member_view(weir_kernel *k, weir_res *group, weir_res *bare, int i) {
    weir_res *v = WEIRI_NEW(&k->a, weir_res);
    v->k = k;
    v->kind = WEIR_RES_MEMBER;
    v->name = bare->name;
    v->index = bare->index;
    v->at = group->at;
    v->group = group;
    v->member = i;
    v->bare = bare;
    return v;
}

weir_res *weir_group(weir_kernel *k, const weir_group_desc *d) {
    int n = d->nmembers > 0 ? d->nmembers : 0;
    weir_res **bare = WEIRI_NEW_N(&k->a, weir_res *, n + 1);
    if (!members_fit(k, d, bare)) return NULL;
    weir_pipe_desc *pipe = WEIRI_NEW_N(&k->a, weir_pipe_desc, n);
    const char **name = WEIRI_NEW_N(&k->a, const char *, n);
    for (int i = 0; i < n; i++) {
        pipe[i] = bare[i]->pipe.given;
        name[i] = bare[i]->name;
    }
    weiri_group_out out;
    weiri_group_in in = {
        .mode = d->mode, .member = pipe, .name = name, .n = n, .given = d->pipeline.type ? &d->pipeline : NULL,
        .cluster = k->cluster
    };
    if (!weiri_group_check(&in, &out)) {
        const char *called = d->name ? d->name : "?";
        weiri_fail(k->ctx, WEIR_E_ARGUMENT, "group '%s': %s (expected %s, got %s) [%s]", called, out.fault.text,
                   out.fault.expected, out.fault.got, out.fault.rule);
        return NULL;
    }
    weir_res *g = weiri_res_add(k, WEIR_RES_GROUP, d->name);
    g->mode_given = d->mode;
    g->mode = out.mode;
    g->pipe.given = out.merged;
    g->pipe.given.type = out.type;
    g->pipe.at = g->at;
    g->fold = d->fold;
    g->asked = d->pipeline;
    g->members = bare;
    g->nmembers = n;
    g->views = WEIRI_NEW_N(&k->a, weir_res *, n);
    for (int i = 0; i < n; i++) {
        weiri_group_inherit(&in, &out, &bare[i]->pipe.given);
        bare[i]->group = g;
        bare[i]->member = i;
        g->views[i] = member_view(k, g, bare[i], i);
    }
    return g;
}

weir_res *weir_group_member(weir_res *g, const char *name) {
    for (int i = 0; g->kind == WEIR_RES_GROUP && i < g->nmembers; i++)
        if (strcmp(g->members[i]->name, name) == 0) return g->views[i];
    return NULL;
}

weir_group_mode weir_group_get_mode(const weir_res *g) { return g->mode; }

bool weir_group_is_heterogeneous(const weir_res *g) {
    for (int i = 1; i < g->nmembers; i++)
        if (g->members[i]->pipe.given.type != g->members[0]->pipe.given.type) return true;
    return false;
}

int weir_group_barriers_per_stage(const weir_res *g) { return g->mode == WEIR_GROUP_FUSED_MERGE ? 2 : g->nmembers + 1; }

weir_pipe_desc weir_group_get_pipeline(const weir_res *g) { return g->pipe.given; }
