/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* How the bytes of a message lie in memory: the datatype, and where byte i of it is. */
#include "layout.h"

#include <stdlib.h>

enum { MOST_BLOCKS = 3000 };

struct layout layout_choose(struct dice *dice, size_t bytes, unsigned plain_percent)
{
    static const int weights[] = {0, 20, 40, 25, 15, -1};
    struct layout layout = {.kind = LAYOUT_PLAIN, .bytes = bytes, .block = bytes, .stride = bytes};

    if (bytes == 0 || dice_percent(dice, plain_percent)) {
        return layout;
    }
    layout.kind = (enum layout_kind) dice_weighted(dice, weights);
    if (layout.kind == LAYOUT_WRAPPED) {
        return layout;
    }
    layout.block = dice_between(dice, 1, dice_percent(dice, 50) ? 64 : 9000);
    if (layout.block < bytes / MOST_BLOCKS + 1) {
        layout.block = bytes / MOST_BLOCKS + 1;
    }
    if (layout.kind == LAYOUT_RESIZED) { /* elements are whole */
        while (bytes % layout.block != 0) {
            layout.block = layout.block < bytes ? layout.block + 1 : bytes;
        }
    }
    layout.stride = layout.block + dice_below(dice, layout.block < 64 ? 40 : layout.block / 2);
    layout.lead = layout.kind == LAYOUT_RESIZED ? 0 : dice_below(dice, 50);
    layout.salt = dice_roll(dice);
    return layout;
}

static size_t blocks(const struct layout *layout)
{
    return layout->bytes == 0 ? 0 : (layout->bytes + layout->block - 1) / layout->block;
}

size_t layout_extent(const struct layout *layout)
{
    return layout->lead + blocks(layout) * layout->stride;
}

static size_t place(const struct layout *layout, size_t i)
{
    const size_t slack = layout->stride - layout->block;
    const size_t shift =
        layout->kind == LAYOUT_SCATTERED ? (size_t) (dice_mix(layout->salt + i) % (slack + 1)) : 0;

    return layout->lead + i * layout->stride + shift;
}

static size_t length(const struct layout *layout, size_t i)
{
    const size_t rest = layout->bytes - i * layout->block;

    return rest < layout->block ? rest : layout->block;
}

static MPI_Datatype vector_type(const struct layout *layout)
{
    const size_t whole = layout->bytes / layout->block;
    const size_t rest = layout->bytes % layout->block;
    const int ones[] = {1, (int) rest};
    const MPI_Aint places[] = {(MPI_Aint) layout->lead,
                               (MPI_Aint) (layout->lead + whole * layout->stride)};
    MPI_Datatype parts[] = {MPI_DATATYPE_NULL, MPI_BYTE};
    MPI_Datatype type;

    MPI_Type_create_hvector((int) whole, (int) layout->block, (MPI_Aint) layout->stride, MPI_BYTE,
                            &parts[0]);
    MPI_Type_create_struct(rest > 0 ? 2 : 1, ones, places, parts, &type);
    MPI_Type_free(&parts[0]);
    return type;
}

static MPI_Datatype scattered_type(const struct layout *layout)
{
    const size_t count = blocks(layout);
    int *lengths = soak_memory(count * sizeof(*lengths));
    MPI_Aint *places = soak_memory(count * sizeof(*places));
    MPI_Datatype type;

    for (size_t i = 0; i < count; i++) {
        lengths[i] = (int) length(layout, i);
        places[i] = (MPI_Aint) place(layout, i);
    }
    MPI_Type_create_hindexed((int) count, lengths, places, MPI_BYTE, &type);
    free(lengths);
    free(places);
    return type;
}

static MPI_Datatype resized_type(const struct layout *layout)
{
    MPI_Datatype element, type;

    MPI_Type_contiguous((int) layout->block, MPI_BYTE, &element);
    MPI_Type_create_resized(element, 0, (MPI_Aint) layout->stride, &type);
    MPI_Type_free(&element);
    return type;
}

MPI_Datatype layout_type(const struct layout *layout, int *count)
{
    MPI_Datatype type = MPI_BYTE;

    *count = 1;
    switch (layout->kind) {
    case LAYOUT_PLAIN:
        *count = (int) layout->bytes;
        return type;
    case LAYOUT_WRAPPED:
        MPI_Type_contiguous((int) layout->bytes, MPI_BYTE, &type);
        break;
    case LAYOUT_VECTOR:
        type = vector_type(layout);
        break;
    case LAYOUT_SCATTERED:
        type = scattered_type(layout);
        break;
    case LAYOUT_RESIZED:
        type = resized_type(layout);
        *count = (int) blocks(layout);
        break;
    }
    soak_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    return type;
}

void layout_type_free(MPI_Datatype *type)
{
    if (*type != MPI_BYTE) {
        MPI_Type_free(type);
    }
}

void layout_fill(const struct layout *layout, void *memory, uint64_t key)
{
    const size_t count = blocks(layout);

    for (size_t i = 0; i < count; i++) {
        pattern_fill((char *) memory + place(layout, i), length(layout, i), key, i * layout->block);
    }
}

/* The bytes of [from, to) must be untouched. */
static void check_gap(const void *memory, size_t from, size_t to, const char *what)
{
    const size_t at = untouched_match((const char *) memory + from, to - from);

    if (at != to - from) {
        soak_wrong("%s: byte %zu of the memory is written and belongs to no part of the message",
                   what, from + at);
    }
}

const char *layout_byte(const struct layout *layout, const void *memory, size_t at)
{
    const size_t i = layout->block == 0 ? 0 : at / layout->block;

    return (const char *) memory + place(layout, i) + (at - i * layout->block);
}

size_t layout_match(const struct layout *layout, const void *memory, size_t received, uint64_t key,
                    const char *what)
{
    const char *bytes = memory;
    const size_t count = blocks(layout);
    size_t behind = 0; /* of the last byte that was written */

    for (size_t i = 0; i < count && i * layout->block < received; i++) {
        const size_t from = i * layout->block;
        const size_t here = length(layout, i);
        const size_t written = received - from < here ? received - from : here;
        const size_t at = pattern_match(bytes + place(layout, i), written, key, from);

        if (at != written) {
            return from + at;
        }
        check_gap(bytes, behind, place(layout, i), what);
        behind = place(layout, i) + written;
    }
    check_gap(bytes, behind, layout_extent(layout), what);
    return received;
}

void layout_check(const struct layout *layout, const void *memory, size_t received, uint64_t key,
                  const char *what)
{
    const size_t at = layout_match(layout, memory, received, key, what);

    if (at != received) {
        soak_wrong("%s: wrong from byte %zu on, at %p", what, at,
                   (const void *) layout_byte(layout, memory, at));
    }
    soak.checked += received;
    soak.messages++;
}
