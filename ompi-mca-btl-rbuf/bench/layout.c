/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The layouts as a table, as MPI datatypes and as loops over blocks.
 */
#include "bench/layout.h"

#include <stdbool.h>
#include <string.h>

static const struct bench_block vector_blocks[] = {{0, 64}};
static const struct bench_block struct_blocks[] = {{0, sizeof(double)}, {8, sizeof(int)}};

static const struct shape {
    size_t payload, extent;
    const struct bench_block *blocks;
    int block_count;
} shapes[BENCH_TYPES] = {
    [BENCH_BYTES] = {1, 1, NULL, 0},
    [BENCH_VECTOR] = {64, 128, vector_blocks, 1},
    [BENCH_STRUCT] = {sizeof(double) + sizeof(int), 16, struct_blocks, 2},
};

static MPI_Datatype vector_type(int elements)
{
    MPI_Datatype type;

    MPI_Type_vector(elements, 64, 128, MPI_BYTE, &type);
    return type;
}

static MPI_Datatype struct_type(int elements)
{
    const int lengths[] = {1, 1};
    const MPI_Aint offsets[] = {0, 8};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype bare, one, all;

    MPI_Type_create_struct(2, lengths, offsets, types, &bare);
    MPI_Type_create_resized(bare, 0, 16, &one);
    MPI_Type_contiguous(elements, one, &all);
    MPI_Type_free(&bare);
    MPI_Type_free(&one);
    return all;
}

/* The elements and behind them, where the next one would begin, `tail` bytes. */
static MPI_Datatype with_tail(MPI_Datatype elements, size_t offset, size_t tail)
{
    const int lengths[] = {1, (int) tail};
    const MPI_Aint offsets[] = {0, (MPI_Aint) offset};
    const MPI_Datatype types[] = {elements, MPI_BYTE};
    MPI_Datatype both;

    MPI_Type_create_struct(2, lengths, offsets, types, &both);
    MPI_Type_free(&elements);
    return both;
}

void bench_layout_open(struct bench_layout *layout, enum bench_type kind, size_t size)
{
    const struct shape *shape = &shapes[kind];
    const size_t elements = size / shape->payload, tail = size % shape->payload;

    *layout = (struct bench_layout){.kind = kind,
                                    .size = size,
                                    .elements = elements,
                                    .payload = shape->payload,
                                    .extent = shape->extent,
                                    .blocks = shape->blocks,
                                    .block_count = shape->block_count,
                                    .span = elements * shape->extent + tail,
                                    .type = MPI_BYTE,
                                    .count = (int) size};
    if (kind == BENCH_BYTES || elements == 0) {
        return;
    }
    layout->type = kind == BENCH_VECTOR ? vector_type((int) elements) : struct_type((int) elements);
    if (tail > 0) {
        layout->type = with_tail(layout->type, elements * shape->extent, tail);
    }
    layout->count = 1;
    MPI_Type_commit(&layout->type);
}

void bench_layout_close(struct bench_layout *layout)
{
    if (layout->type != MPI_BYTE) {
        MPI_Type_free(&layout->type);
    }
}

void bench_layout_unpack(const struct bench_layout *layout, char *memory, const char *packed)
{
    const char *from = packed;

    if (layout->kind == BENCH_BYTES) {
        memcpy(memory, packed, layout->size);
        return;
    }
    for (size_t e = 0; e < layout->elements; e++) {
        for (int b = 0; b < layout->block_count; b++) {
            const struct bench_block *block = &layout->blocks[b];
            memcpy(memory + e * layout->extent + block->offset, from, block->length);
            from += block->length;
        }
    }
    memcpy(memory + layout->elements * layout->extent, from,
           layout->size - (size_t) (from - packed));
}

void bench_layout_pack(const struct bench_layout *layout, const char *memory, char *packed)
{
    char *to = packed;

    if (layout->kind == BENCH_BYTES) {
        memcpy(packed, memory, layout->size);
        return;
    }
    for (size_t e = 0; e < layout->elements; e++) {
        for (int b = 0; b < layout->block_count; b++) {
            const struct bench_block *block = &layout->blocks[b];
            memcpy(to, memory + e * layout->extent + block->offset, block->length);
            to += block->length;
        }
    }
    memcpy(to, memory + layout->elements * layout->extent, layout->size - (size_t) (to - packed));
}
