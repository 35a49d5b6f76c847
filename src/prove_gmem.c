/* Tensors that a kernel writes: which of the places that it accesses there can meet. The order is the runs' matter. */
#include <stdlib.h>
#include <string.h>

#include "deal.h"
#include "lower.h"
#include "plan_tc.h"
#include "prove_know.h"
#include "range.h"
#include "raster.h"

/* ---- places ------------------------------------------------------------------------------------------------------------- */

typedef struct finder {
    const weir_kernel *k;
    weiri_arena *a;
    const weiri_op *op;
    weiri_gplaces *out;
    weiri_share share;
    WEIRI_LIST(uint32_t) columns;
} finder;

/* The spans of a view, and adds it as a place of the op; of what is no tensor that the kernel writes, nothing. */
static void add_place(finder *f, uint32_t view, weiri_share share, bool write) {
    weiri_view v;
    weiri_view_of(f->k, view, &v);
    const weiri_value *base = weiri_val(f->k, v.base);
    const weir_res *g = v.res;
    if (g->kind != WEIR_RES_GMEM || !g->tensor->out) return;
    weiri_gplace p = { .op = f->op, .tensor = g->tensor, .view = view, .share = share, .write = write, .rank = g->rank,
                       .adds = f->op->atom == ATOM_TMA_REDUCE_ADD, .turned = v.t, .whole = !v.limit };
    for (int i = 0; i < g->rank; i++)
        p.span[i] = (weiri_span){ base->arg[i], v.op == WEIR_OP_VIEW_FROM ? 1 : g->tile[i], 0, g->tile[i] };
    for (int i = 0; i < v.nsub; i++) {
        int64_t n;
        weiri_span *s = &p.span[v.axis + i];
        if (weiri_value_const(f->k, v.sub[i], &n)) s->plus += n, s->extent = 1;
        else p.vague = true;
    }
    weiri_span *col = &p.span[g->rank - 1];
    if (v.nrows) col[-1].plus += v.row0, col[-1].extent = v.nrows;
    if (v.ncols) col->plus += v.col0, col->extent = v.ncols;
    p.whole = p.whole && !p.vague;
    WEIRI_PUSH(f->a, *f->out, p);
}

/* The tiles that a value is loaded from: that is done where the value is used. */
static void add_loads(finder *f, uint32_t id) {
    if (!weiri_visit(f->k, id)) return;
    const weiri_value *v = weiri_val(f->k, id);
    if (v->op == WEIR_OP_LOAD) {
        if (v->kind == WEIR_VALUE_TILE) add_place(f, v->arg[0], f->share, false);
        return;
    }
    for (int i = 0; i < v->nargs; i++) add_loads(f, v->arg[i]);
}

/* Columns that values take of tiles: what is loaded there is another thread's, as it may be, or all threads' (one column beside
 * wider ones). */
static void find_columns(finder *f, uint32_t id) {
    if (!weiri_visit(f->k, id)) return;
    const weiri_value *v = weiri_val(f->k, id);
    if (v->op == WEIR_OP_TILE_COLS) WEIRI_PUSH(f->a, f->columns, v->arg[0]);
    for (int i = 0; i < v->nargs; i++) find_columns(f, v->arg[i]);
}

static void note_leaf(void *any, uint32_t view) {
    (void)view;
    *(bool *)any = true;
}

/* Who has what of that which threads store, or load to store it. */
static weiri_share share_of(const weir_kernel *k, const weiri_op *op) {
    bool held = false, tensor = false;
    for (int i = 0; i < op->nargs; i++) {
        held = held || weiri_value_in_regs(k, op->arg[i]);
        if (weiri_tc(k)) weiri_tc_leaves(k, op->arg[i], note_leaf, &tensor);
    }
    return tensor ? SHARE_TENSOR : held ? SHARE_HELD : SHARE_ORDER;
}

/* What the op writes or reads by itself in tensors that the kernel writes. What bodies do is on trust. */
static void places_of(const weir_kernel *k, weiri_arena *a, const weiri_op *op, weiri_gplaces *out) {
    finder f = { k, a, op, out, share_of(k, op), { 0 } };
    switch (op->atom) {
    case ATOM_STORE:
        if (op->res->kind == WEIR_RES_GMEM) add_place(&f, op->arg[1], f.share, true);
        break;
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD: add_place(&f, op->arg[1], SHARE_BULK, true); return;
    case ATOM_TMA_LOAD: add_place(&f, op->arg[0], SHARE_BULK, false); return;
    case ATOM_CP_ASYNC: add_place(&f, op->arg[0], SHARE_CP, false); return;
    case ATOM_LOAD: /* from here on, to where it is used */
        add_place(&f, op->arg[0], weiri_val(k, op->ret[0])->kind == WEIR_VALUE_TILE ? SHARE_LATER : SHARE_ALL, false);
        return;
    default: break;
    }
    weiri_visit_begin(k);
    for (int i = 0; i < op->nargs; i++) add_loads(&f, op->arg[i]);
    weiri_visit_begin(k);
    for (int i = 0; i < op->nargs; i++) find_columns(&f, op->arg[i]);
    f.share = SHARE_ALL;
    weiri_visit_begin(k);
    for (int i = 0; i < f.columns.n; i++) add_loads(&f, f.columns.v[i]);
}

bool weiri_gmem_touches(const weir_kernel *k, weiri_arena *a, const weiri_op *op) {
    weiri_gplaces here = { 0 };
    places_of(k, a, op, &here);
    return here.n > 0;
}

/* Is a view of the tensor among what the value is made of? What is no tile has been loaded by an op of its own. */
static bool made_of_tensor(const weir_kernel *k, uint32_t id, const weir_tensor *t) {
    if (!weiri_visit(k, id)) return false;
    const weiri_value *v = weiri_val(k, id);
    if (v->op == WEIR_OP_LOAD && v->kind != WEIR_VALUE_TILE) return false;
    if (v->kind == WEIR_VALUE_VIEW) {
        weiri_view at;
        weiri_view_of(k, id, &at);
        if (at.res->kind == WEIR_RES_GMEM && at.res->tensor == t) return true;
    }
    for (int i = 0; i < v->nargs; i++)
        if (made_of_tensor(k, v->arg[i], t)) return true;
    return false;
}

static bool touches(const weir_kernel *k, const weiri_op *op, const weir_tensor *t) {
    if (op->res->kind == WEIR_RES_GMEM && op->res->tensor == t) return true;
    for (int i = 0; op->atom == ATOM_CUSTOM && i < op->res->nbind; i++)
        if (op->res->bind[i].tensor == t) return true;
    weiri_visit_begin(k);
    for (int i = 0; i < op->nargs; i++)
        if (made_of_tensor(k, op->arg[i], t)) return true;
    return false;
}

bool weiri_gmem_any(const weiri_op *op) { return op->res->kind == WEIR_RES_GMEM || op->res->nbind > 0; }

/* ---- what meets --------------------------------------------------------------------------------------------------------- */

/* In one tile and CTA; `ctas`: in one tile, or of no tile, of any CTAs. */
static weiri_meet meet(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y, bool ctas) {
    if (x->mixed || y->mixed) return SPANS_MAY; /* forms know one tile */
    weiri_meet all = x->whole && y->whole ? SPANS_MEET : SPANS_MAY;
    for (int i = 0; i < x->rank; i++) {
        weiri_meet one = weiri_forms_meet(g->forms, &x->span[i], &y->span[i], ctas);
        if (one == SPANS_APART) return SPANS_APART;
        if (one == SPANS_MAY) all = SPANS_MAY;
    }
    return all;
}

/* Fall the two together where they meet? */
static bool aligned(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    for (int i = 0; i < x->rank; i++)
        if (!weiri_forms_aligned(g->forms, &x->span[i], &y->span[i])) return false;
    return true;
}

/* Has each thread the same elements of one place in both? What is stored to decides who has what: the tile, and whether 16
 * bytes of it are stored at a time, or an element, as of a part or of what may begin anywhere. */
static bool same_shares(const weir_kernel *k, const weiri_gplace *x, const weiri_gplace *y) {
    if (x->view != y->view && (x->vague || y->vague || x->turned != y->turned)) return false;
    if (x->op == y->op) return x->share != SHARE_ALL && y->share != SHARE_ALL;
    if (x->share != SHARE_ORDER || y->share != SHARE_ORDER || x->op->res != y->op->res) return false;
    weir_op a = weiri_val(k, x->op->arg[1])->op, b = weiri_val(k, y->op->arg[1])->op; /* one is a store to this tile, so both are */
    return a == b && (a == WEIR_OP_VIEW_AT || a == WEIR_OP_VIEW_FROM);
}

/* How a store's threads deal out what they access at the place, its rows folded; false: that is not known, or not of all of it. */
static bool dealt_whole(const weiri_plan *p, const weiri_gplace *x, weiri_deal *d) {
    if (x->op->atom != ATOM_STORE || !x->whole || x->turned || (x->share != SHARE_ORDER && x->share != SHARE_HELD)) return false;
    *d = weiri_deal_walk(p, x->task, x->op);
    if (d->kind != DEAL_ORDER && d->kind != DEAL_FRAGMENT) return false;
    const weiri_value *v = weiri_val(p->k, x->op->arg[0]);
    int cols = v->cols, rows = d->kind == DEAL_ORDER ? weiri_deal_place(p, x->op, &cols) : v->rows;
    int64_t lead = 1;
    for (int i = 0; i + 1 < x->rank; i++) lead *= x->span[i].extent;
    return lead == rows && x->span[x->rank - 1].extent == cols;
}

/* What two places have in common, along an axis: where that begins in each, and how far it goes. */
typedef struct common { int64_t x, y, n; } common;

static bool in_common(weiri_prog *g, const weiri_span *x, const weiri_span *y, common *out) {
    int64_t a, b;
    const int base = weiri_forms_base(g->forms, x, &a);
    if (base < 0 || weiri_forms_base(g->forms, y, &b) != base) return false;
    const int64_t first = a > b ? a : b, end = a + x->extent < b + y->extent ? a + x->extent : b + y->extent;
    *out = (common){ first - a, first - b, end - first };
    return true;
}

/* Two accesses by the threads of one task, by those of one actor or (`two`) of two: does each come to elements of its own, or is some
 * element for certain one's in the one and another's in the other? */
static weiri_meet meet_by_threads(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y, bool two) {
    const weiri_plan *p = g->p;
    const int actor = p->tasks[x->task].wg_actor ? 128 : 32;
    weiri_deal a, b;
    common in[WEIR_MAX_RANK];
    int64_t n = 1;
    const bool together = aligned(g, x, y); /* where they meet at all */
    if (together && same_shares(p->k, x, y)) return SPANS_APART;
    if (!dealt_whole(p, x, &a) || !dealt_whole(p, y, &b)) return SPANS_MAY;
    if (together && !memcmp(&a, &b, sizeof a)) return SPANS_APART;
    for (int i = 0; i < x->rank; i++) {
        if (!in_common(g, &x->span[i], &y->span[i], &in[i])) return SPANS_MAY;
        n *= in[i].n;
    }
    for (int64_t e = 0; e < n; e++) {
        int64_t rest = e, row[2] = { 0, 0 }, col[2], by[2] = { 1, 1 };
        const int last = x->rank - 1;
        col[0] = in[last].x + rest % in[last].n, col[1] = in[last].y + rest % in[last].n;
        rest /= in[last].n;
        for (int i = last; i-- > 0; rest /= in[i].n) {
            row[0] += by[0] * (in[i].x + rest % in[i].n), row[1] += by[1] * (in[i].y + rest % in[i].n);
            by[0] *= x->span[i].extent, by[1] *= y->span[i].extent;
        }
        const int s = weiri_deal_thread(p, x->task, &a, row[0], col[0]), t = weiri_deal_thread(p, y->task, &b, row[1], col[1]);
        if (s != t && (s / actor != t / actor) == two) return SPANS_MEET;
    }
    return SPANS_APART;
}

/* Is it the same place of one op, and another one each time that the op comes to it? */
static bool once_each(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    return x->op == y->op && !memcmp(x->span, y->span, sizeof x->span) && weiri_forms_moved(g->forms, x->span, x->rank, x->node);
}

static bool threads_write(const weiri_gplace *x) { return x->write && x->share != SHARE_BULK; }
static bool copied(const weiri_gplace *x) { return x->share == SHARE_BULK || x->share == SHARE_CP; }

/* Two accesses by one actor, a warp or warpgroup: each of its threads has its share, and needs no order with itself. A bulk
 * store is one thread's, whatever that thread's share is; of two the last to land stands. */
static weiri_meet meet_in_actor(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    if (!copied(x) && !copied(y)) return meet_by_threads(g, x, y, false);
    if (once_each(g, x, y)) return SPANS_APART;
    return copied(x) && copied(y) && y->write && x->write ? SPANS_MAY : meet(g, x, y, false);
}

/* A warpgroup's rows (or columns): of what it holds, and of the stages that it stores by bulk copies. */
static bool of_warpgroup(const weiri_gplace *x) { return x->share == SHARE_BULK || x->share == SHARE_HELD; }

/* ... by two actors of one task: warps or warpgroups. Those that take iterations in turn are as good as tasks of their own. */
static weiri_meet meet_in_task(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    if (g->p->tasks[x->task].lanes) return once_each(g, x, y) ? SPANS_APART : meet(g, x, y, false);
    if (x->one || y->one) return meet_in_actor(g, x, y);
    if (of_warpgroup(x) && of_warpgroup(y) && aligned(g, x, y)) return SPANS_APART;
    return copied(x) || copied(y) ? SPANS_MAY : meet_by_threads(g, x, y, true);
}

static bool clash(const weiri_gplace *x, const weiri_gplace *y) {
    return x->tensor == y->tensor && (x->write || y->write) && !(x->adds && y->adds);
}

bool weiri_gmem_works(const weiri_action *act) {
    switch (act->kind) {
    case ACT_BODY: case ACT_MMA: case ACT_LOAD_BULK: case ACT_STORE_BULK: case ACT_CP_ASYNC: return act->op;
    default: return false;
    }
}

/* Whose tile the place is about, by the coordinates that it is made of. */
static void find_tile(const weir_kernel *k, weiri_gplace *x, bool in_tiles) {
    const weiri_value *v = weiri_val(k, x->view);
    x->of = v->before & 2 ? OF_LAST : v->before ? OF_PREVIOUS : in_tiles ? OF_TURN : OF_NONE;
    x->mixed = v->before && v->tiles;
    x->adrift = x->mixed || (v->before && weiri_lanes_of(k->tasks.v[x->task]));
}

static void find_places(weiri_prog *g) {
    const weiri_node **stands = WEIRI_NEW_N(g->a, const weiri_node *, g->p->k->nops + 1); /* by op id */
    for (int c = 0; c < g->p->ntasks; c++) {
        const weiri_code *code = &g->code.v[c];
        const weiri_node *root = g->p->tasks[c].task->root;
        const int before = g->places.n;
        int from = code->ins.n, to = 0;
        for (int i = 0; i < code->ins.n; i++) {
            const weiri_ins *x = &code->ins.v[i];
            if (x->op == IN_TILES) from = i, to = x->jump;
            if (x->op != IN_ACT || !weiri_gmem_works(x->act)) continue;
            int first = g->places.n;
            places_of(g->p->k, g->a, x->act->op, &g->places);
            for (int q = first; q < g->places.n; q++) {
                weiri_gplace *place = &g->places.v[q];
                place->task = c;
                find_tile(g->p->k, place, i > from && i < to);
                if (place->of >= OF_PREVIOUS) g->gmem_back = 1;
                place->one = x->act->who == WHO_ONE;
            }
        }
        for (const weiri_node *n = NULL; g->places.n > before && (n = weiri_node_next(root, n));)
            if (n->op) stands[n->op->id] = n;
        for (int q = before; q < g->places.n; q++) g->places.v[q].node = stands[g->places.v[q].op->id];
    }
    g->place_of = WEIRI_NEW_N(g->a, int, g->p->k->nops + 1);
    for (int i = 0; i <= g->p->k->nops; i++) g->place_of[i] = -1;
    for (int i = g->places.n; i-- > 0;) {
        int *first = &g->place_of[g->places.v[i].op->id];
        g->places.v[i].next = *first;
        *first = i;
    }
}

/* Two of one task, about tiles of one kind: one turn does both, or one of them only. */
static bool never_both(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    return x->task == y->task && x->op != y->op && x->of == y->of && weiri_forms_exclude(g->forms, x->node, y->node);
}

/* What becomes of places i and j, in that order. */
static void compare(weiri_prog *g, int i, int j) {
    const int pair = i * g->places.n + j;
    weiri_gplace *x = &g->places.v[i];
    const weiri_gplace *y = &g->places.v[j];
    const bool tiles = !x->of != !y->of; /* of which tile, and which CTA's? */
    weiri_meet m = clash(x, y) ? meet(g, x, y, tiles) : SPANS_APART;
    worked(g, 16); /* a comparison costs about as much as touching so many words */
    if (m == SPANS_APART) return;
    if (tiles || x->adrift || y->adrift) {
        g->unordered[pair] = true;
        return;
    }
    if (never_both(g, x, y)) return;
    if (x->task != y->task) g->beside[pair] = (uint8_t)m;
    else if (x->share != SHARE_LATER && y->share != SHARE_LATER) { /* (lower.c sees to what is later in one task) */
        const bool once = i == j && x->of && weiri_forms_once(g->forms, x->node); /* an actor, in one tile */
        g->meets[pair] = (uint8_t)(once ? SPANS_APART : meet_in_actor(g, x, y));
        g->beside[pair] = (uint8_t)meet_in_task(g, x, y);
    }
    x->clashes = x->clashes || g->meets[pair] != SPANS_APART || g->beside[pair] != SPANS_APART;
    g->gmem_ring = 0;
}

/* A place along an axis on which plain numbers alone tell a tensor's places apart. */
typedef struct lying { int64_t from, to; int place; } lying;
typedef WEIRI_LIST(lying) row;

static int by_from(const void *x, const void *y) {
    const lying *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->place - b->place;
}

/* Lays places out along an axis, if they can be. How many of the longest of them lie between the first and the last? -1: they
 * cannot. */
static int64_t lay_along(weiri_prog *g, int axis, row *all) {
    int64_t first = INT64_MAX, last = INT64_MIN, most = 1;
    int base = -1;
    for (int i = 0; i < all->n; i++) {
        lying *l = &all->v[i];
        const weiri_span *x = &g->places.v[l->place].span[axis];
        const int own = weiri_forms_base(g->forms, x, &l->from);
        if (own < 0 || (i && own != base)) return -1;
        base = own;
        l->to = l->from + x->extent;
        if (l->from < first) first = l->from;
        if (l->from > last) last = l->from;
        if (x->extent > most) most = x->extent;
    }
    return (last - first) / most;
}

/* A tensor's places, along the axis on which they lie most apart; without such a one all in one spot. */
static row lay_out(weiri_prog *g, const weir_tensor *t) {
    row all = { 0 };
    bool mixed = false; /* forms know one tile */
    for (int i = 0; i < g->places.n; i++) {
        const weiri_gplace *p = &g->places.v[i];
        if (p->tensor != t) continue;
        WEIRI_PUSH(g->a, all, ((lying){ .place = i }));
        mixed = mixed || p->mixed;
    }
    if (!all.n) return all;
    int best = -1;
    int64_t most = 0;
    for (int axis = 0; axis < g->places.v[all.v[0].place].rank && !mixed; axis++) {
        const int64_t apart = lay_along(g, axis, &all);
        if (apart > most) most = apart, best = axis;
    }
    if (best >= 0) lay_along(g, best, &all);
    for (int i = 0; i < all.n && best < 0; i++) all.v[i].from = 0, all.v[i].to = 1;
    qsort(all.v, (size_t)all.n, sizeof *all.v, by_from);
    return all;
}

static void compare_all(weiri_prog *g, const weir_tensor *t) {
    const row all = lay_out(g, t);
    for (int i = 0; i < all.n; i++)
        for (int j = i; j < all.n && all.v[j].from < all.v[i].to; j++) {
            compare(g, all.v[i].place, all.v[j].place);
            if (j > i) compare(g, all.v[j].place, all.v[i].place);
        }
}

void weiri_gmem_places(weiri_prog *g) {
    g->gmem_ring = -1;
    g->early = WEIRI_NEW_N(g->a, bool, g->p->nactions + 1);
    g->slabs = WEIRI_NEW_N(g->a, uint8_t, (g->p->nactions + 1) * g->nctas);
    find_places(g);
    int n = g->places.n;
    g->meets = WEIRI_NEW_N(g->a, uint8_t, n * n + 1);
    g->beside = WEIRI_NEW_N(g->a, uint8_t, n * n + 1);
    g->unordered = WEIRI_NEW_N(g->a, bool, n * n + 1);
    g->unfenced = WEIRI_NEW_N(g->a, bool, n * n + 1);
    for (int i = 0; i < g->p->k->tensors.n; i++) compare_all(g, g->p->k->tensors.v[i]);
}

/* ---- accesses ----------------------------------------------------------------------------------------------------------- */

/* Of a record of the actor, that of the tile which its place is about now. */
static int stage_now(const weiri_run *r, int ai, const weiri_rec *rec) {
    const int first = 1 + r->g->gmem_back, tile = actor_vars(r, ai)[V_TILE];
    switch (r->g->places.v[rec->place - 1].of) {
    case OF_TURN: return first + tile;
    case OF_PREVIOUS: return first + tile - 1;
    case OF_LAST: return first + r->v[r->g->stream_at] - 1; /* no more will come */
    default: return 0;
    }
}

bit weiri_gmem_bit(const weiri_run *r, int ai, int ri) {
    const weiri_rec *rec = &r->g->recs.v[ri];
    return bit_of(r->g, r->g->gmem_ring, stage_now(r, ai, rec), rec->bit);
}

static const char *verb(const weiri_gplace *x) {
    if (x->share == SHARE_CP) return "the cp.async";
    if (!x->write) return x->share == SHARE_BULK ? "the bulk load" : "the load";
    return x->adds ? "the sum" : x->share == SHARE_BULK ? "the bulk store" : "the store";
}

static void race(weiri_run *r, int ai, const weiri_action *act, const weiri_rec *me, const weiri_rec *other, int stage) {
    const weiri_prog *g = r->g;
    weiri_fault *f = weiri_fault_add(r, "PROVE-RACE", act, ai, 0x100000 + other->place);
    if (!f) return;
    const weiri_gplace *x = &g->places.v[me->place - 1], *y = &g->places.v[other->place - 1];
    weiri_buf b;
    weiri_buf_init(&b, g->p->k->ctx);
    weiri_value_print(g->p->k, x->view, &b);
    f->other = other->actor;
    f->other_at = weiri_act_at(r->rec_act[other->aux + R_VARS * stage]);
    f->other_what = y->write ? "the write" : "the read";
    f->object = x->tensor->name;
    const char *at = b.s ? b.s : ""; /* cover: memory */
    f->text = weiri_arena_fmt(r->a, "%s of '%s' %s tensor '%s' at %s, which %s of '%s' %s in no order", verb(x),
                              g->actors.v[ai].name, x->write ? "writes" : "reads", x->tensor->name, at, verb(y),
                              g->actors.v[other->actor].name, !y->write ? "reads" : x->write ? "writes, too," : "writes");
    f->hint = x->task != y->task ? "let one task write the place, or order the two by a pipeline or a barrier"
              : x->share == SHARE_BULK || y->share == SHARE_BULK
                  ? "drain the bulk store, and let all threads of the task meet behind it (in a pipeline move), before the "
                    "place is accessed again"
                  : "let the threads of the task meet (in a pipeline move) between the two";
    weiri_buf_free(&b);
}

void weiri_gmem_access(weiri_run *r, int ai, const weiri_action *act, int ri) {
    const weiri_prog *g = r->g;
    const weiri_rec *me = &g->recs.v[ri];
    const weiri_gplace *place = &g->places.v[me->place - 1];
    const weiri_actor *self = &g->actors.v[ai];
    int need = need_row(self, me->by), n = g->places.n, stage = stage_now(r, ai, me);
    worked(g, g->gmem.n);
    for (int i = 0; i < g->gmem.n; i++) {
        const weiri_rec *q = &g->recs.v[g->gmem.v[i]];
        if (g->actors.v[q->actor].cta != self->cta) continue;
        const int pair = (me->place - 1) * n + q->place - 1;
        weiri_meet m = q->actor == ai ? g->meets[pair] : g->beside[pair];
        bit b = bit_of(g, q->ring, stage, q->bit);
        if (m == SPANS_APART || !has(r, 0, b)) continue;
        if (has(r, need, b)) g->unfenced[pair] |= place->share == SHARE_BULK && threads_write(&g->places.v[q->place - 1]);
        else if (m == SPANS_MAY) g->unordered[pair] = true;
        else race(r, ai, act, me, q, stage);
    }
    bit b = bit_of(g, me->ring, stage, me->bit);
    forget(r, b);
    if (me->fence_bit >= 0) forget(r, bit_of(g, me->ring, stage, me->fence_bit));
    set(r, 0, b);
    int *aux = r->v + me->aux + R_VARS * stage;
    aux[R_AGE] = 0;
    if (!copied(place)) { /* a copy is done when its barrier or its group says so */
        aux[R_AGE] = COMPLETE;
        set(r, self->row + self->by[me->by], b);
    }
    if (r->replay) r->rec_act[me->aux + R_VARS * stage] = act;
}

void weiri_gmem_leave(weiri_run *r, int tiles) {
    const weiri_prog *g = r->g;
    const weiri_ring *ring = &g->rings.v[g->gmem_ring];
    const int most = ring->stages - 1, stay = most - tiles; /* stage 0 is of no tile */
    const weiri_held *held = &g->held[ring->at / 64];
    if (!ring->bits) return;
    worked(g, held->n);
    if (ring->stride % 64) { /* all of it lies in one word */
        const int at = ring->at % 64, first = at + ring->stride, by = tiles * ring->stride;
        const uint64_t all = ~(uint64_t)0 >> (64 - most * ring->stride) << first;
        for (int i = 0; i < held->n; i++) {
            uint64_t *x = r->w + held->at[i];
            *x = (*x & ~all) | ((*x & all) >> by & all);
        }
    } else {
        const size_t words = (size_t)ring->stride / 64;
        for (int i = 0; i < held->n; i++) { /* who keeps one of a ring's words keeps all, side by side */
            uint64_t *x = r->w + held->at[i] + words;
            memmove(x, x + words * (size_t)tiles, sizeof *x * words * (size_t)stay);
            memset(x + words * (size_t)stay, 0, sizeof *x * words * (size_t)(most - stay));
        }
    }
    for (int i = 0; i < g->gmem.n; i++) {
        const weiri_rec *q = &g->recs.v[g->gmem.v[i]];
        int *aux = r->v + q->aux + R_VARS;
        memmove(aux, aux + R_VARS * tiles, sizeof *aux * R_VARS * (size_t)stay);
        memset(aux + R_VARS * stay, 0, sizeof *aux * R_VARS * (size_t)(most - stay));
        for (int t = 1; r->replay && t <= stay; t++) r->rec_act[q->aux + R_VARS * t] = r->rec_act[q->aux + R_VARS * (t + tiles)];
    }
}

/* ---- what is taken on trust --------------------------------------------------------------------------------------------- */

static const char *line_of(weiri_prog *g, const weiri_op *op) {
    const weir_place *at = op->at.at;
    return op->at.n > 0 ? weiri_arena_fmt(g->a, "%s:%d", weiri_file_name(at->file), at->line) : "?";
}

/* Lines of ops, each once; one is written ", k.lua:12", the last one followed by ',' as well: k.lua:1 is none of those. */
static void add_line(weiri_prog *g, const char **lines, const weiri_op *op) {
    const char *line = weiri_arena_fmt(g->a, ", %s,", line_of(g, op));
    if (!*lines) *lines = line;
    else if (!strstr(*lines, line)) *lines = weiri_arena_fmt(g->a, "%s%s", *lines, line + 1);
}

/* "k.lua:12, k.lua:1" */
static const char *listed(weiri_prog *g, const char *lines) {
    return weiri_arena_fmt(g->a, "%.*s", (int)strlen(lines) - 3, lines + 2);
}

/* Is the span's place coordinate // n or coordinate % n, and its steps no shorter than what is accessed? n: a value, 0: it is
 * not. */
static uint32_t digit_of(const weir_kernel *k, const weiri_span *x, weir_op op, int axis) {
    const weiri_value *v = weiri_val(k, x->value), *c = weiri_val(k, v->arg[0]);
    return v->op == op && (c->op == WEIR_OP_COORD || c->op == WEIR_OP_BEFORE) && c->i == axis && x->by >= x->extent ? v->arg[1] : 0;
}

/* ... on that axis in both, in steps of one length? */
static uint32_t digit_of_both(const weir_kernel *k, const weiri_gplace *x, const weiri_gplace *y, int i, weir_op op, int axis) {
    const weiri_span *a = &x->span[i], *b = &y->span[i];
    uint32_t n = digit_of(k, a, op, axis);
    return digit_of(k, b, op, axis) == n && a->by == b->by && a->plus == b->plus ? n : 0;
}

/* Do quotient and remainder of a coordinate lie on two axes? Together they tell its tiles apart. */
static bool dealt_in_two(const weir_kernel *k, const weiri_gplace *x, const weiri_gplace *y, int axis) {
    for (int i = 0; i < x->rank; i++)
        for (int j = 0; j < x->rank; j++) {
            uint32_t n = digit_of_both(k, x, y, i, WEIR_OP_IDIV, axis);
            if (n && digit_of_both(k, x, y, j, WEIR_OP_MOD, axis) == n) return true;
        }
    return false;
}

/* Does each tile have a place of its own? */
static bool dealt(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    const weir_res *q = g->p->queue;
    if (x->mixed || y->mixed) return false;
    for (int axis = 0; axis < q->qrank; axis++) {
        const weir_cluster *c = &g->p->k->cluster;
        int64_t extent, ctas = axis == q->axis_m   ? c->v * c->m
                               : axis == q->axis_n ? c->n
                                                   : 1; /* an axis of 1 has as many coordinates */
        if (weiri_value_const(g->p->k, q->extent[axis].id, &extent) && extent <= 1 && ctas <= 1) continue;
        bool apart = false;
        for (int i = 0; i < x->rank && !apart; i++) apart = weiri_forms_dealt(g->forms, &x->span[i], &y->span[i], q, axis);
        if (!apart && !dealt_in_two(g->p->k, x, y, axis)) return false;
    }
    return true;
}

/* May one CTA come to the one and another CTA to the other, in one tile or outside of tiles? Along axes of the cluster that the
 * queue does not split, but for tasks that are on one CTA of them. */
static bool by_two_ctas(const weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    if (!x->of) return true; /* in any cluster */
    const weir_kernel *k = g->p->k;
    const weir_res *q = g->p->queue;
    const weiri_task *t = k->tasks.v[x->task], *u = k->tasks.v[y->task];
    const int size[] = { k->cluster.v, k->cluster.m, k->cluster.n, k->cluster.k };
    const bool split[] = { q->axis_m >= 0, q->axis_m >= 0, q->axis_n >= 0, false };
    for (int i = 0; i < 4; i++) {
        bool same = t->on_cta && u->on_cta && t->cta[i] >= 0 && t->cta[i] == u->cta[i];
        if (size[i] > 1 && !split[i] && !same) return true;
    }
    return false;
}

/* Nothing orders tiles, nor CTAs. Have the two places of their own there, as far as is known? (Whether what is outside of tiles
 * meets what is inside has been asked.) */
static bool kept_apart(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    if (!x->of != !y->of) return true;
    if (x->of && !dealt(g, x, y)) return false;
    return !by_two_ctas(g, x, y) || meet(g, x, y, true) == SPANS_APART;
}

/* Who keeps apart: tasks in one tile, a task's threads there, tiles and CTAs; what bodies fence. */
enum { TRUST_TASKS, TRUST_THREADS, TRUST_TILES, TRUST_FENCES, TRUST_COUNT };

/* Of one tensor: the lines of what is said to keep apart, or to be fenced. */
static void trust_tensor(weiri_prog *g, const weir_tensor *t, int who) {
    static const char *const what[] = {
        "that tasks keep apart", "that the accesses of one task keep apart", "that tiles and CTAs keep apart",
        "a body's fence.proxy.async.global between the stores of threads and what TMA accesses"
    };
    int n = g->places.n;
    const char *lines = NULL;
    for (int i = 0; i < n; i++) {
        const weiri_gplace *x = &g->places.v[i];
        bool named = false;
        for (int j = 0; j < n && x->tensor == t && !named; j++) {
            const weiri_gplace *y = &g->places.v[j];
            const int pair = i * n + j, back = j * n + i;
            if (who == TRUST_FENCES) named = g->unfenced[pair] || g->unfenced[back];
            else if (who == TRUST_TILES)
                named = clash(x, y) && !kept_apart(g, x, y);
            else named = (who == TRUST_THREADS) == (x->task == y->task) && (g->unordered[pair] || g->unordered[back]);
        }
        if (named) add_line(g, &lines, x->op);
    }
    if (lines) weiri_prog_trust(g, weiri_arena_fmt(g->a, "%s in tensor '%s' (%s)", what[who], t->name, listed(g, lines)));
}

/* ---- slabs -------------------------------------------------------------------------------------------------------------- */

/* The first slab of the value's views of which it is not known that its tile has it: its number, and the axis of the tile; 0:
 * none. */
static uint32_t slab_outside(weiri_env *e, uint32_t id, const weir_res **res, int *axis) {
    if (!weiri_visit(e->k, id)) return 0;
    const weiri_value *v = weiri_val(e->k, id);
    weiri_view at = { .nsub = 0 };
    if (v->kind == WEIR_VALUE_VIEW) weiri_view_of(e->k, id, &at);
    for (int i = 0; i < at.nsub; i++) {
        e->steps = 0;
        const weiri_range x = weiri_range_of(e, at.sub[i]);
        *res = at.res;
        *axis = at.axis + i;
        if (!x.known || x.lo < 0 || x.hi >= at.res->tile[*axis]) return at.sub[i];
    }
    for (int i = 0; i < v->nargs; i++) {
        const uint32_t x = slab_outside(e, v->arg[i], res, axis);
        if (x) return x;
    }
    return 0;
}

static uint32_t outside(const weir_kernel *k, const weiri_op *op, int cta, const weir_res **res, int *axis) {
    weiri_env e = { .k = k, .cta = cta, .within = true };
    uint32_t x = 0;
    weiri_visit_begin(k);
    for (int i = 0; i < op->nargs && !x; i++) x = slab_outside(&e, op->arg[i], res, axis);
    return x;
}

bool weiri_slabs_inside(const weir_kernel *k, const weiri_op *op, int cta) {
    const weir_res *res;
    int axis;
    return !outside(k, op, cta, &res, &axis);
}

/* A slab by a number that the launch or memory gives lies where that says: in the tile, says the author. */
static void trust_slabs(weiri_prog *g) {
    for (int i = 1; i <= g->p->nactions; i++)
        for (int cta = 0; cta < g->nctas; cta++) {
            const weir_res *res = NULL;
            int axis = 0;
            if (g->slabs[i * g->nctas + cta] != 2) continue;
            const weiri_op *op = g->p->action[i]->op;
            weiri_buf b;
            weiri_buf_init(&b, g->p->k->ctx);
            weiri_value_print(g->p->k, outside(g->p->k, op, cta, &res, &axis), &b);
            const char *number = b.s ? b.s : ""; /* cover: memory */
            weiri_prog_trust(g, weiri_arena_fmt(g->a, "that %s is one of the %d slabs of '%s' (%s)", number, res->tile[axis],
                                                res->name, line_of(g, op)));
            weiri_buf_free(&b);
            break;
        }
}

/* What may be accessed before the wait for the launch before is the author's matter: whether that launch touches the tensor, no
 * plan says. */
static void trust_launch_before(weiri_prog *g, const weir_tensor *t) {
    const char *lines = NULL;
    for (int i = 1; i <= g->p->nactions; i++) {
        const weiri_op *op = g->p->action[i]->op;
        if (g->early[i] && touches(g->p->k, op, t)) add_line(g, &lines, op);
    }
    if (lines)
        weiri_prog_trust(g, weiri_arena_fmt(g->a, "the launch before to leave tensor '%s' alone, which is accessed before "
                                                  "the wait for it (%s)", t->name, listed(g, lines)));
}

void weiri_gmem_trusts(weiri_prog *g) {
    const weir_kernel *k = g->p->k;
    const size_t pairs = sizeof(bool) * (size_t)g->places.n * (size_t)g->places.n;
    const bool doubts = memchr(g->unordered, true, pairs) || memchr(g->unfenced, true, pairs);
    const weir_res *q = g->p->queue;
    if (q && q->raster == WEIR_RASTER_CUSTOM && !weiri_raster_certain(k, q, g->a))
        weiri_prog_trust(g, weiri_arena_fmt(g->a, "the raster of '%s' to reach every tile once", q->name));
    trust_slabs(g);
    for (int i = 0; i < k->tensors.n; i++) {
        for (int who = 0; who < TRUST_COUNT; who++)
            if (who == TRUST_TILES || doubts) trust_tensor(g, k->tensors.v[i], who);
        if (g->nwait) trust_launch_before(g, k->tensors.v[i]);
    }
}
