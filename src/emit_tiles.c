/* The loop over work tiles: a number for each, its coordinates by the raster, lanes of tasks that take the tiles in turn. */
#include "emit.h"

/* A coordinate of this CTA's tile, from that of its cluster's. */
static void emit_coord(emitter *e, const weir_res *q, int axis, const char *at) {
    weir_cluster c = e->k->cluster;
    int per = axis == q->axis_m ? c.m * c.v : axis == q->axis_n ? c.n : 1;
    const char *off = "";
    if (per > 1 && axis == q->axis_m)
        off = c.v > 1 ? em_fmt(e, " + (i32)(rank %% %d)", c.m * c.v) : em_fmt(e, " + %s", em_cta_expr(e, 'm'));
    else if (per > 1) off = em_fmt(e, " + %s", em_cta_expr(e, 'n'));
    em_line(e, "const i32 %s = %s%s%s;", em_coord_name(e, q, axis, false), at, per > 1 ? em_fmt(e, " * %d", per) : "", off);
}

/* The variable that holds the extent of an axis, in tiles. */
static const char *extent_name(emitter *e, const weir_res *q, int axis) {
    return weiri_name(e->p, NAME_EXTENT, q->index, em_fmt(e, "%s_tiles_%s", q->name, q->axis[axis]));
}

static const char *divisor(emitter *e, const weir_res *q, int i) { return em_fmt(e, "%s_by%d", em_queue(e, q), i); }

/* Divisions by extents, in every tile: by a reciprocal made once. A grid's CTA has one tile. */
static void emit_divisor(emitter *e, const weir_res *q, int i, const char *by) {
    const char *Q = em_queue(e, q);
    em_line(e, "const i32 %s_by%d = %s;", Q, i, by);
    if (q->qkind != WEIR_QUEUE_GRID) em_line(e, "const u32 %s_per%d = w_reciprocal(%s_by%d);", Q, i, Q, i);
}

static const char *quotient(emitter *e, const weir_res *q, const char *x, int i) {
    const char *Q = em_queue(e, q);
    if (q->qkind == WEIR_QUEUE_GRID) return em_fmt(e, "%s / %s_by%d", x, Q, i);
    return em_fmt(e, "w_quotient(%s, %s_by%d, %s_per%d)", x, Q, i, Q, i);
}

/* Rows of tiles side by side in a band, of the CTAs of a cluster one. */
static int band_rows(const weir_res *q, weir_cluster c) {
    int ctas = q->axis_m == q->qrank - 2 ? c.m * c.v : 1, g = q->group_rows / ctas;
    return g < 1 ? 1 : g;
}

/* What coordinates are found by dividing by: for each outer axis the tiles within one step of it, for the inner two what the raster
 * walks first. */
static void emit_divisors(emitter *e, const weir_res *q) {
    if (q->raster == WEIR_RASTER_CUSTOM) return;
    int inner = q->qrank >= 2 ? 2 : 1;
    for (int i = 0; i + inner < q->qrank; i++) {
        weiri_buf d;
        weiri_buf_init(&d, e->k->ctx);
        for (int j = i + 1; j < q->qrank; j++) weiri_put(&d, "%s%s", j > i + 1 ? " * " : "", extent_name(e, q, j));
        emit_divisor(e, q, i, d.s);
        weiri_buf_free(&d);
    }
    if (inner == 1) return;
    const char *rows = extent_name(e, q, q->qrank - 2), *columns = extent_name(e, q, q->qrank - 1);
    emit_divisor(e, q, q->qrank - inner,
                 q->raster == WEIR_RASTER_ROW      ? columns
                 : q->raster == WEIR_RASTER_COLUMN ? rows
                                                   : em_fmt(e, "%d * %s", band_rows(q, e->k->cluster), columns));
}

/* Coordinates of the two innermost axes from the number within the outer ones. */
static void emit_inner(emitter *e, const weir_res *q, const char *rest) {
    const char *Q = em_queue(e, q);
    const int last = q->qrank - 2;
    const char *whole = quotient(e, q, rest, last), *by = divisor(e, q, last);
    if (q->raster == WEIR_RASTER_ROW) {
        em_line(e, "const i32 %s_c0 = %s, %s_c1 = %s - %s_c0 * %s;", Q, whole, Q, rest, Q, by);
        return;
    }
    if (q->raster == WEIR_RASTER_COLUMN) {
        em_line(e, "const i32 %s_c1 = %s, %s_c0 = %s - %s_c1 * %s;", Q, whole, Q, rest, Q, by);
        return;
    }
    const int g = band_rows(q, e->k->cluster);
    em_line(e, "// %d rows of tiles side by side; the last band may have fewer", q->group_rows);
    em_line(e, "const i32 %s_band = %s, %s_in = %s - %s_band * %s, %s_high = w_min(%s - %s_band * %d, %d);", Q, whole, Q, rest,
            Q, by, Q, extent_name(e, q, last), Q, g, g);
    em_line(e, "i32 %s_row, %s_c1;", Q, Q);
    em_line(e, "if (%s_high == %d) { %s_c1 = (i32)((u32)%s_in / %d); %s_row = (i32)((u32)%s_in %% %d); }", Q, g, Q, Q, g, Q, Q,
            g);
    em_line(e, "else { %s_c1 = %s_in / %s_high; %s_row = %s_in %% %s_high; }", Q, Q, Q, Q, Q, Q);
    em_line(e, "const i32 %s_c0 = %s_band * %d + %s_row;", Q, Q, g, Q);
}

/* The tile's coordinates from its number, at the head of the loop over tiles: the two innermost axes by the raster, outer ones
 * slowest. */
static void emit_raster(emitter *e, const weiri_pnode *n, const weir_res *q) {
    const char *Q = em_queue(e, q), *rest = em_fmt(e, "%s_index", Q);
    const int inner = q->qrank >= 2 ? 2 : 1, last = q->qrank - inner;
    if (q->raster == WEIR_RASTER_CUSTOM) {
        em_name_coords(e, n, q);
        for (int i = 0; i < q->qrank; i++) emit_coord(e, q, i, em_expr(e, q->raster_coord[i].id));
        return;
    }
    for (int i = 0; i < last; i++) {
        em_line(e, "const i32 %s_q%d = %s, %s_r%d = %s - %s_q%d * %s;", Q, i, quotient(e, q, rest, i), Q, i, rest, Q, i,
                divisor(e, q, i));
        emit_coord(e, q, i, em_fmt(e, "%s_q%d", Q, i));
        rest = em_fmt(e, "%s_r%d", Q, i);
    }
    if (inner == 2) emit_inner(e, q, rest);
    else em_line(e, "const i32 %s_c0 = %s;", Q, rest);
    for (int i = last; i < q->qrank; i++) emit_coord(e, q, i, em_fmt(e, "%s_c%d", Q, i - last));
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------ */

/* Tiles along each axis, of the cluster's; their number. */
static void emit_extents(emitter *e, const weir_res *q) {
    const weir_cluster c = e->k->cluster;
    const char *all = "";
    for (int i = 0; i < q->qrank; i++) {
        const int per = i == q->axis_m ? c.m * c.v : i == q->axis_n ? c.n : 1;
        const char *x = em_expr(e, q->extent[i].id);
        em_line(e, "const i32 %s = %s;", extent_name(e, q, i), per > 1 ? em_fmt(e, "w_ceil_div(%s, %d)", x, per) : x);
    }
    for (int i = 0; i < q->qrank; i++) all = em_fmt(e, "%s%s%s", all, i ? " * " : "", extent_name(e, q, i));
    em_line(e, "const i32 %s_tiles = %s;", em_queue(e, q), *all ? all : "1");
}

/* The head of the loop: one tile, tiles by numbers that the queue gives, every so manieth tile. */
static void open_loop(emitter *e, const weir_res *q) {
    const char *Q = em_queue(e, q);
    const int ctas = e->p->cluster;
    const char *first = ctas > 1 ? em_fmt(e, "(i32)(w_block() / %d)", ctas) : "(i32)w_block()";
    const char *step = ctas > 1 ? em_fmt(e, "(i32)(w_blocks() / %d)", ctas) : "(i32)w_blocks()";
    if (q->qkind == WEIR_QUEUE_GRID) {
        em_line(e, "const i32 %s_index = %s;", Q, first);
        em_open(e, "if (%s_index < %s_tiles) {", Q, Q);
    } else if (weiri_dynamic(q)) {
        em_line(e, "i32 %s_next = 0;", Q);
        em_open(e, "for (i32 %s_index = %s; %s_index < %s_tiles; %s_index = %s_next) {", Q, first, Q, Q, Q, Q);
    } else {
        em_open(e, "for (i32 %s_index = %s; %s_index < %s_tiles; %s_index += %s) {", Q, first, Q, Q, Q, step);
    }
}

void em_tiles(emitter *e, const weiri_pnode *n) {
    const weir_res *q = n->src->queue;
    const char *Q = em_queue(e, q);
    const int lanes = n->src->lanes;
    const bool back = weiri_looks_back(e->pt->task);
    emit_extents(e, q);
    emit_divisors(e, q);
    if (lanes > 1) em_line(e, "u32 %s_turn = 0;", Q);
    if (back) em_line(e, "u32 %s_before = 0;  // is there a tile before?", Q);
    for (int i = 0; i < q->qrank && back; i++)
        em_line(e, "i32 %s = 0; (void)%s;", em_coord_name(e, q, i, true), em_coord_name(e, q, i, true));
    open_loop(e, q);
    const int mark = e->made_list.n;
    const weiri_node *around = e->tiles;
    emit_raster(e, n, q);
    e->tiles = n->src;
    if (lanes > 1) em_open(e, "if (%s_turn == %d) {", Q, n->src->lane);
    em_nodes(e, n->first);
    if (back) em_line(e, "%s_before = 1;", Q);
    for (int i = 0; i < q->qrank && back; i++)
        em_line(e, "%s = %s;", em_coord_name(e, q, i, true), em_coord_name(e, q, i, false));
    if (lanes > 1) em_close(e);
    if (n->skip) {
        em_open(e, "else {");
        em_line(e, "// another lane's tile: past its stages");
        e->skipping = true;
        em_nodes(e, n->skip);
        e->skipping = false;
        em_close(e);
    }
    e->tiles = around;
    if (lanes > 1) em_line(e, "if (++%s_turn == %d) %s_turn = 0;", Q, lanes, Q);
    em_forget(e, mark);
    em_close(e);
}
