/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Buffers that libibverbs allocates for a program, ibv_alloc_buf() of rdma-core 65: memory of the
 * process, since the adapter wants no other. And what perftest asks of adapters of Mellanox, as
 * which the default model presents itself: it has none of their extensions.
 *
 * A handle is owned by the program until ibv_free_buf(). Any thread.
 */
#define _GNU_SOURCE

#include "objects.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct ibv_buf {
    void *memory;
};

EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
EXPORT void ibv_free_buf(struct ibv_buf *buf);
EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
                                     size_t length, int access);

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
    struct ibv_buf *handle = malloc(sizeof(*handle));
    int err;

    (void) pd;
    if (!handle)
        return NULL;
    err = posix_memalign(&handle->memory, (size_t) sysconf(_SC_PAGESIZE), size);
    if (err) {
        free(handle);
        errno = err;
        return NULL;
    }
    *buf = handle;
    return handle->memory;
}

void ibv_free_buf(struct ibv_buf *buf)
{
    free(buf->memory);
    free(buf);
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
                              int access)
{
    (void) buf;
    return ibv_reg_mr(pd, addr, length, access);
}

/* The head of struct mlx5dv_context, with which the caller asks, and is answered. */
struct mlx5dv_head {
    uint8_t version;
    uint64_t flags;
    uint64_t comp_mask; /* of what follows */
};

EXPORT int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_head *answer);
int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_head *answer)
{
    (void) context;
    *answer = (struct mlx5dv_head){0};
    return 0;
}
