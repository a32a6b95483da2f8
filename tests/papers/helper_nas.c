/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The NAS parallel benchmarks as one of their processes sees its large messages, and the programs
 * of the paper's figures 9 and 10.
 *
 * Order, buffers and sizes are those of NPB 3.3's sources for that class and number of processes;
 * messages that are waited for together are under way together, as are the blocks of an
 * MPI_Alltoall. What is shorter than 16 KB is left out, as no helper sees it. The times between are
 * round numbers of what such processors took. Noise is drawn so that intervals vary as the paper's
 * did, by what it says of its predictions (74.89 % within 0.5 %, 94.68 % within 5 %).
 */
#include "helper_calls.h"
#include "random.h"

#define MB (1024ull * 1024)
#define GB (1024ull * MB)
#define MS 1000000ull

/* Arrays of a program, and where a message of it begins. */
enum { A = 1, B, C };

static uint64_t at(unsigned array, uint64_t offset)
{
    return array * 64 * GB + offset;
}

/* How much longer it takes this time. */
static uint64_t noise(uint64_t compute_ns, uint64_t seed)
{
    struct sim_random random = {seed};
    const uint64_t kind = sim_random_below(&random, 100);
    const uint64_t most = compute_ns / (kind < 75 ? 200 : kind < 95 ? 20 : 5);

    return sim_random_below(&random, most + 1);
}

static void message(struct sim_calls *calls, uint64_t compute_ns, uint64_t base, uint64_t bytes,
                    uint64_t site)
{
    calls->call[calls->count++] = (struct sim_call){
        .compute_ns =
            compute_ns + (calls->quiet ? 0 : noise(compute_ns, calls->count * 977ull + site)),
        .base = base,
        .bytes = bytes,
        .frames = site,
        .more = true};
}

/* All since the last wait have ended. */
static void await(struct sim_calls *calls)
{
    calls->call[calls->count - 1].more = false;
}

/* One message out of `from`, another into `to`. */
static void exchange(struct sim_calls *calls, uint64_t compute_ns, uint64_t to, uint64_t from,
                     uint64_t bytes, uint64_t site)
{
    message(calls, compute_ns, to, bytes, site);
    message(calls, 0, from, bytes, site + 1);
    await(calls);
}

/* ---- BT and SP: six faces at once, then a sweep there and back in each direction ---- */

struct grid {
    uint64_t cells; /* of a process, along each line */
    uint64_t edge;  /* of a cell, points */
    uint64_t solve; /* words of a point there, */
    uint64_t back;  /* and back */
    uint64_t step_ns;
    unsigned steps;
};

static void multipartition(struct sim_calls *calls, const struct grid *grid)
{
    const uint64_t face = (grid->cells - 1) * grid->edge * grid->edge * 10 * 8;
    const uint64_t stages = grid->cells - 1, sweep = grid->edge * grid->edge * 8;

    for (unsigned step = 0; step < grid->steps; step++) {
        for (unsigned i = 0; i < 12; i++) {
            message(calls, i == 0 ? grid->step_ns / 4 : 0, at(i < 6 ? A : B, i % 6 * face), face,
                    1 + i);
        }
        await(calls);
        for (unsigned i = 0; i < 6 * stages; i++) {
            const uint64_t way = i / stages;

            exchange(calls, grid->step_ns / 8 / stages, at(A, 0), at(B, 0),
                     sweep * (way % 2 == 0 ? grid->solve : grid->back), 20 + 2 * way);
        }
    }
}

static void bt(struct sim_calls *calls)
{
    multipartition(calls, &(struct grid){2, 204, 30, 5, 20000 * MS, 60});
}

static void sp(struct sim_calls *calls)
{
    multipartition(calls, &(struct grid){2, 204, 22, 10, 4000 * MS, 60});
}

static void sp_36(struct sim_calls *calls)
{
    multipartition(calls, &(struct grid){6, 68, 22, 10, 3000 * MS, 30});
}

/* ---- LU: one message after the other, at the end of a step ---- */

static void lu(struct sim_calls *calls)
{
    for (unsigned step = 0; step < 250; step++) {
        for (unsigned i = 0; i < 4; i++) {
            message(calls, i == 0 ? 8000 * MS : 20 * MS, at(i % 2 == 0 ? A : B, 0),
                    10ull * 204 * 408 * 8, 1 + i);
            await(calls);
        }
    }
}

/* ---- CG: 25 turns with one vector, a last one with another ---- */

static void conjugate(struct sim_calls *calls, unsigned outer, unsigned exchanges, uint64_t bytes,
                      uint64_t compute_ns)
{
    for (unsigned turn = 0; turn < outer * 26; turn++) {
        const unsigned into = turn % 26 < 25 ? B : C;

        for (unsigned i = 0; i < exchanges; i++) {
            exchange(calls, i == 0 ? compute_ns : MS, at(into, 0), at(A, 0), bytes,
                     into * 100 + 2 * i);
        }
    }
}

static void cg(struct sim_calls *calls)
{
    conjugate(calls, 30, 2, 750000 * 8, 400 * MS);
}

static void cg_32(struct sim_calls *calls)
{
    conjugate(calls, 15, 4, 187500 * 8, 100 * MS);
}

/* ---- FT, in one dimension: an MPI_Alltoall each time ---- */

static void all_to_all(struct sim_calls *calls, uint64_t compute_ns, unsigned from, unsigned to,
                       unsigned ranks, uint64_t block, bool together)
{
    for (unsigned i = 1; i < ranks; i++) {
        message(calls, i == 1 ? compute_ns : 0, at(to, i * block), block, 1 + from);
        message(calls, 0, at(from, i * block), block, 10 + from);
        if (!together) {
            await(calls);
        }
    }
    await(calls);
}

/* There twice, the first of which is not timed, and then back again and again. */
static void ft_of(struct sim_calls *calls, unsigned ranks, uint64_t array, uint64_t turn_ns,
                  bool together)
{
    for (unsigned i = 0; i < 27; i++) {
        all_to_all(calls, i < 2 ? turn_ns + turn_ns / 6 : turn_ns, i < 2 ? A : C, B, ranks,
                   array / ranks, together);
    }
}

static void ft(struct sim_calls *calls)
{
    ft_of(calls, 4, 512 * 256 * 256 * 16ull / 4, 3000 * MS, true);
}

/* As libraries do it that have one partner at a time. */
static void ft_pairwise(struct sim_calls *calls)
{
    ft_of(calls, 4, 512 * 256 * 256 * 16ull / 4, 3000 * MS, false);
}

#define CLASS_D (2048 * 1024 * 1024ull * 16)

static void ft_16(struct sim_calls *calls)
{
    ft_of(calls, 16, CLASS_D / 16, 80000 * MS, true);
}

static void ft_32(struct sim_calls *calls)
{
    ft_of(calls, 32, CLASS_D / 32, 40000 * MS, true);
}

static void ft_64(struct sim_calls *calls)
{
    ft_of(calls, 64, CLASS_D / 64, 20000 * MS, true);
}

static void ft_weak_64(struct sim_calls *calls)
{
    ft_of(calls, 64, CLASS_D / 32, 40000 * MS, true);
}

/* ---- FT in two dimensions: rows of eight tasks, columns of two, all to all in each ---- */

#define ROW 8u

struct transpose {
    unsigned task, from;
    unsigned first, step; /* first task of the row or column, and from one to the next */
    unsigned members;
    const unsigned *node_of;
};

/* Adds nothing if all of them are on one node; whether it did. */
static bool transpose(struct sim_calls *calls, const struct transpose *how, uint64_t compute_ns,
                      uint64_t array)
{
    const uint64_t block = array / how->members;
    const uint32_t before = calls->count;

    for (unsigned i = 0; i < how->members; i++) {
        const unsigned partner = how->first + i * how->step;

        if (how->node_of[partner] == how->node_of[how->task]) {
            continue;
        }
        message(calls, calls->count == before ? compute_ns : 0, at(B, i * block), block,
                100 * how->members + how->from);
        message(calls, 0, at(how->from, i * block), block, 100 * how->members + 10 + how->from);
    }
    if (calls->count == before) {
        return false;
    }
    await(calls);
    return true;
}

/* There twice, the first of which is not timed, and back again and again, as above. */
void sim_grouped_ft(struct sim_calls *calls, unsigned task, const unsigned node_of[SIM_TASKS])
{
    const uint64_t array = 512 * 512 * 512 * 16ull / SIM_TASKS, half_ns = 2300 * MS;
    uint64_t compute_ns = 0;

    calls->count = 0;
    for (unsigned i = 0; i < 2 * 22; i++) {
        const bool there = i < 4, row = there == (i % 2 == 1);
        const struct transpose how = {.task = task,
                                      .from = there ? A : C,
                                      .first = row ? task / ROW * ROW : task % ROW,
                                      .step = row ? 1 : ROW,
                                      .members = row ? ROW : SIM_TASKS / ROW,
                                      .node_of = node_of};

        compute_ns += half_ns;
        if (transpose(calls, &how, compute_ns, array)) {
            compute_ns = 0;
        }
    }
}

/* ---- MG: one call site at several levels ---- */

static void faces_of(struct sim_calls *calls, unsigned level, uint64_t compute_ns, uint64_t site)
{
    const uint64_t bytes = (1024u >> level) * (512u >> level) * 8ull;

    for (unsigned axis = 0; axis < 2; axis++) {
        for (unsigned i = 0; i < 4; i++) {
            message(calls, axis == 0 && i == 0 ? compute_ns >> 3 * level : 0,
                    at(i < 2 ? A : B, i * GB), bytes, site * 10 + axis * 4 + i);
        }
        await(calls);
    }
}

static void mg(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned level = 1; level < 5; level++) {
            faces_of(calls, level, 8000 * MS, 1);
        }
        for (unsigned level = 4; level > 0; level--) {
            faces_of(calls, level, 2000 * MS, 2);
            faces_of(calls, level, 2000 * MS, 3);
        }
        for (unsigned site = 4; site < 7; site++) {
            faces_of(calls, 0, 1500 * MS, site);
        }
    }
}

/* ---- others ---- */

/* Much is given back at once, and another buffer is used soon behind that. */
static void burst_and_one(struct sim_calls *calls)
{
    for (unsigned step = 0; step < 60; step++) {
        for (unsigned i = 0; i < 32; i++) {
            message(calls, i == 0 ? 300 * MS : 0, at(A, i * GB), 4 * MB, 1);
        }
        await(calls);
        message(calls, 2 * MS, at(B, 0), MB, 2);
        await(calls);
    }
}

static void figure_9(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 30; i++) {
        message(calls, 1000 * MS, at(1 + i % 3, 0), 4 * MB, i % 3);
        await(calls);
    }
}

static void figure_10(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 30; i++) {
        message(calls, 1000 * MS, at(1 + i, 0), 4 * MB, i % 3);
        await(calls);
    }
}

const struct sim_sequence sim_programs[] = {
    {"BT.D.4", "faces at once, then sweeps through two cells", true, 0, bt},
    {"LU.D.4", "four faces, one after the other", true, 0, lu},
    {"SP.D.4", "as BT", true, 0, sp},
    {"CG.D.4", "two exchanges of a vector, the last with another one", true, 0, cg},
    {"FT.B.4", "all to all, all at once", true, 0, ft},
    {"MG.D.4", "six call sites, five levels", true, 0, mg},
    {"FT.B.4 pairwise", "all to all, one partner at a time", false, 0, ft_pairwise},
    {"FT.D.16", "figure 13: strong scaling", false, 0, ft_16},
    {"FT.D.32", "likewise, and figure 3", false, 0, ft_32},
    {"FT.D.64", "likewise", false, 0, ft_64},
    {"FT 64 weak", "figure 14: as much for each process as FT.D.32", false, 0, ft_weak_64},
    {"SP.D.36", "figure 8", false, 0, sp_36},
    {"CG.D.32", "figure 8", false, 0, cg_32},
    {"burst and one", "much is given back, and one buffer used soon behind", false, 0,
     burst_and_one},
    {"figure 9", "three buffers of 4 MB", false, 0, figure_9},
    {"figure 10", "no buffer comes again", false, 0, figure_10}};
const unsigned sim_program_count = sizeof(sim_programs) / sizeof(sim_programs[0]);
