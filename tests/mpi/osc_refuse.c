/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Stands between osc/rbuf and Open MPI, and between osc/rbuf and memory (osc_refuse.h).
 */
#include "ompi_config.h"

#include "osc_refuse.h"

#include <link.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "opal/datatype/opal_convertor.h"
#include "osc_rbuf_compat.h"
#include "osc_rbuf_wire.h"

enum {
    BEYOND = 256, /* more than what belongs to a buffer or a cursor besides */
    CURSOR = 2 * sizeof(opal_convertor_t)
};

/* ---- memory ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);

atomic_int refusals;
atomic_int refused;
static bool refuse_cursors; /* cursors too */

static bool is_refused(size_t bytes, size_t least)
{
    if (bytes < least || bytes > least + BEYOND || atomic_load(&refusals) == 0) {
        return false;
    }
    atomic_fetch_sub(&refusals, 1);
    atomic_fetch_add(&refused, 1);
    return true;
}

static atomic_int due; /* the how manieth allocation of osc/rbuf's own is refused; 0: none */
static struct {
    uintptr_t first; /* of osc/rbuf's instructions; 0: they are in no file of their own */
    uintptr_t behind;
} component;

static bool is_due(const void *caller)
{
    if ((uintptr_t) caller < component.first || (uintptr_t) caller >= component.behind ||
        atomic_load(&due) == 0 || atomic_fetch_sub(&due, 1) != 1) {
        return false;
    }
    atomic_fetch_add(&refused, 1);
    return true;
}

/* Buffers of messages. */
void *malloc(size_t bytes)
{
    return is_refused(bytes, MESSAGE) || is_due(__builtin_return_address(0)) ? NULL
                                                                             : __libc_malloc(bytes);
}

/* Cursors. */
void *calloc(size_t count, size_t bytes)
{
    return (count == 1 && refuse_cursors && is_refused(bytes, CURSOR)) ||
                   is_due(__builtin_return_address(0))
               ? NULL
               : __libc_calloc(count, bytes);
}

static int find_component(struct dl_phdr_info *file, size_t size, void *unused)
{
    (void) size;
    (void) unused;
    for (int i = 0; i < file->dlpi_phnum && strstr(file->dlpi_name, "mca_osc_rbuf") != NULL; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            component.first = file->dlpi_addr + part->p_vaddr;
            component.behind = component.first + part->p_memsz;
        }
    }
    return 0;
}

bool refuse_nth(int number)
{
    if (component.first == 0) {
        dl_iterate_phdr(find_component, NULL);
    }
    atomic_store(&due, number);
    return component.first != 0;
}

void refuse(int times, bool cursors)
{
    refuse_cursors = cursors;
    atomic_store(&refused, 0);
    atomic_store(&refusals, times);
}

/* ---- messages ---- */

static typeof(mca_pml.pml_isend) next_isend;
MPI_Comm window_comm;
int window_tag;
uint32_t withhold;
uint32_t announce;
struct withheld withheld;

static int send_or_not(const void *data, size_t count, struct ompi_datatype_t *type, int target,
                       int tag, mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                       struct ompi_request_t **request)
{
    const struct osc_rbuf_header *header = data;
    const bool ours = comm != MPI_COMM_WORLD && tag >= 0 && type == MPI_BYTE &&
                      count >= sizeof(*header) && count <= MESSAGE;
    int status;

    if (ours) {
        window_comm = comm;
        window_tag = tag;
    }
    if (ours && withhold != 0 && header->kind == withhold) {
        withhold = 0;
        memcpy(withheld.bytes, data, count);
        withheld.used = count;
        withheld.target = target;
        withheld.tag = tag;
        withheld.comm = comm;
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    status = next_isend(data, count, type, target, tag, mode, comm, request);
    if (ours && announce != 0 && header->kind == announce) {
        MPI_Request told;

        announce = 0;
        MPI_Isend(NULL, 0, MPI_BYTE, target, 1, MPI_COMM_WORLD, &told);
        MPI_Request_free(&told);
    }
    return status;
}

void refuse_begin(void)
{
    next_isend = mca_pml.pml_isend;
    mca_pml.pml_isend = send_or_not;
}

void refuse_end(void)
{
    mca_pml.pml_isend = next_isend;
}

void send_by_pml(const void *data, size_t bytes, int target, int tag, MPI_Comm comm)
{
    MPI_Request request;

    next_isend(data, bytes, MPI_BYTE, target, tag, MCA_PML_BASE_SEND_STANDARD, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- collective operations: done, and then an error ---- */

static typeof(window_comm->c_coll->coll_barrier) next_barrier;
static typeof(window_comm->c_coll->coll_reduce_scatter_block) next_sums;
bool fail_barrier, fail_sums;
void (*behind_sums)(void);

static int barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const int status = next_barrier(comm, module);

    return comm == window_comm && fail_barrier ? OMPI_ERR_OUT_OF_RESOURCE : status;
}

static int sums(const void *values, void *sum, osc_rbuf_count_t count, struct ompi_datatype_t *type,
                struct ompi_op_t *op, struct ompi_communicator_t *comm,
                mca_coll_base_module_t *module)
{
    const int status = next_sums(values, sum, count, type, op, comm, module);

    if (comm == window_comm && behind_sums != NULL) {
        behind_sums();
        behind_sums = NULL;
    }
    return comm == window_comm && fail_sums ? OMPI_ERR_OUT_OF_RESOURCE : status;
}

void stand_between(void)
{
    if (window_comm->c_coll->coll_barrier != barrier) {
        next_barrier = window_comm->c_coll->coll_barrier;
        window_comm->c_coll->coll_barrier = barrier;
        next_sums = window_comm->c_coll->coll_reduce_scatter_block;
        window_comm->c_coll->coll_reduce_scatter_block = sums;
    }
}
