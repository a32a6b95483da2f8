/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Communicators (osc_rbuf_comm.h): who shares them, their receives, and Open MPI's progress, which
 * visits the one used last and another, in turn. Owns the list of them.
 */
#include "osc_rbuf_comm.h"

#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/request/request.h"
#include "ompi/runtime/mpiruntime.h"
#include "osc_rbuf_inbox.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_results.h"

enum { WINDOWS = 16 /* that a table has room for at first */ };

static LIST_HEAD(, osc_rbuf_comm) comms = LIST_HEAD_INITIALIZER(comms);
static struct osc_rbuf_comm *turn; /* visited next beside the first; NULL: begins anew */
static long ids;                   /* the highest that was given */

/* ---- receiving ---- */

static int receive(struct osc_rbuf_comm *comm, struct osc_rbuf_buffer *buffer)
{
    return osc_rbuf_irecv(comm->mpi, buffer->bytes, osc_rbuf_params.message_size, &buffer->request);
}

static int receives_start(struct osc_rbuf_comm *comm)
{
    comm->spare = osc_rbuf_buffer_take();
    if (comm->spare == NULL) {
        return MPI_ERR_NO_MEM;
    }
    comm->spare->home = &comm->spare;
    for (int i = 0; i < OSC_RBUF_RECEIVES; i++) {
        comm->receiving[i] = osc_rbuf_buffer_take();
        if (comm->receiving[i] == NULL || receive(comm, comm->receiving[i]) != MPI_SUCCESS) {
            return MPI_ERR_NO_MEM;
        }
    }
    return MPI_SUCCESS;
}

static void receives_end(struct osc_rbuf_comm *comm)
{
    for (int i = 0; i < OSC_RBUF_RECEIVES; i++) {
        struct osc_rbuf_buffer *buffer = comm->receiving[i];

        if (buffer == NULL) {
            continue;
        }
        if (buffer->request != MPI_REQUEST_NULL) {
            ompi_request_cancel(buffer->request);
            ompi_request_wait(&buffer->request, MPI_STATUS_IGNORE);
        }
        osc_rbuf_buffer_give(buffer);
    }
    if (comm->spare != NULL) {
        comm->spare->home = NULL;
        osc_rbuf_buffer_give(comm->spare);
    }
}

/* The first of those that are under way has left, or is waited for. */
static void take_back(struct osc_rbuf_comm *comm)
{
    struct osc_rbuf_buffer *buffer = STAILQ_FIRST(&comm->sending);
    const int status = ompi_request_wait(&buffer->request, MPI_STATUS_IGNORE);

    STAILQ_REMOVE_HEAD(&comm->sending, link);
    if (buffer->window != NULL) {
        buffer->window->peers[buffer->origin].under_way--;
        if (status != MPI_SUCCESS) {
            osc_rbuf_operations_failed(buffer->window, buffer, status);
        }
    }
    osc_rbuf_buffer_give(buffer);
}

/* Our own sends end in their order, or nearly: the first is looked at. */
void osc_rbuf_comm_reap(struct osc_rbuf_comm *comm)
{
    const struct osc_rbuf_buffer *buffer;

    while ((buffer = STAILQ_FIRST(&comm->sending)) != NULL && REQUEST_COMPLETE(buffer->request)) {
        take_back(comm);
    }
}

static void give_all(struct osc_rbuf_comm *comm)
{
    struct osc_rbuf_buffer *buffer;

    while ((buffer = STAILQ_FIRST(&comm->held)) != NULL) {
        STAILQ_REMOVE_HEAD(&comm->held, link);
        osc_rbuf_buffer_give(buffer);
    }
    while (!STAILQ_EMPTY(&comm->sending)) {
        take_back(comm);
    }
}

/* ---- messages that wait for their epoch ---- */

static bool is_ahead(const struct osc_rbuf_buffer *buffer)
{
    return osc_rbuf_epochs_ahead(buffer->window, buffer->header.fences) > 0;
}

/* Whether a message is of a fence epoch that has not begun here, or has to stay behind such ones.
 */
static bool is_to_hold(const struct osc_rbuf_comm *comm, const struct osc_rbuf_buffer *buffer)
{
    const struct osc_rbuf_buffer *held;

    if (buffer->header.kind != OSC_RBUF_FENCE_DATA) {
        return false;
    }
    if (is_ahead(buffer)) {
        return true;
    }
    STAILQ_FOREACH(held, &comm->held, link)
    {
        if (held->window == buffer->window) {
            return true;
        }
    }
    return false;
}

/* Puts a message aside; another buffer takes its slot. False: there is no memory for one. */
static bool hold(struct osc_rbuf_comm *comm, struct osc_rbuf_buffer **slot)
{
    struct osc_rbuf_buffer *other = osc_rbuf_buffer_take();

    if (other == NULL) {
        return false;
    }
    other->used = 0; /* there is nothing in it, should no receive start at once */
    STAILQ_INSERT_TAIL(&comm->held, *slot, link);
    *slot = other;
    return true;
}

/* Does what was held and whose epoch has begun, in order. Messages done. */
static int handle_held(struct osc_rbuf_comm *comm)
{
    struct osc_rbuf_buffer *buffer = STAILQ_FIRST(&comm->held), *next;
    int handled = 0;

    for (; buffer != NULL; buffer = next) {
        next = STAILQ_NEXT(buffer, link);
        if (is_ahead(buffer)) {
            continue;
        }
        if (!osc_rbuf_inbox_message(buffer->window, buffer)) {
            break; /* memory is short */
        }
        STAILQ_REMOVE(&comm->held, buffer, osc_rbuf_buffer, link);
        osc_rbuf_buffer_give(buffer);
        handled++;
    }
    return handled;
}

/* ---- progress ---- */

/* A message has come: whose it is. One that is too short, or for no window, is dropped. */
static void arrived(struct osc_rbuf_comm *comm, struct osc_rbuf_buffer *buffer)
{
    ompi_status_public_t status;
    void *window = NULL;

    buffer->used = 0;
    buffer->done = 0;
    if (ompi_request_wait(&buffer->request, &status) == MPI_SUCCESS &&
        status._ucount >= sizeof(buffer->header) &&
        opal_hash_table_get_value_uint32(&comm->windows, (uint32_t) status.MPI_TAG, &window) ==
            OPAL_SUCCESS) {
        buffer->used = status._ucount;
        buffer->origin = status.MPI_SOURCE;
    }
    buffer->window = window;
}

/* Handles the message of a receive that has ended, and starts the receive again behind the others.
 * False: it has to be called again, since memory is short. */
static bool handle(struct osc_rbuf_comm *comm, struct osc_rbuf_buffer **slot)
{
    struct osc_rbuf_buffer *buffer = *slot;

    if (buffer->request != MPI_REQUEST_NULL) {
        arrived(comm, buffer);
    }
    if (buffer->used > 0 && buffer->done == 0 && is_to_hold(comm, buffer)) {
        return hold(comm, slot) && receive(comm, *slot) == MPI_SUCCESS;
    }
    return (buffer->used == 0 || osc_rbuf_inbox_message(buffer->window, buffer)) &&
           receive(comm, buffer) == MPI_SUCCESS;
}

static int progress(struct osc_rbuf_comm *comm)
{
    int handled;

    osc_rbuf_comm_reap(comm);
    osc_rbuf_send_late(comm);
    handled = handle_held(comm);
    while (REQUEST_COMPLETE(comm->receiving[comm->next_receive]->request) &&
           handle(comm, &comm->receiving[comm->next_receive])) {
        comm->next_receive = (comm->next_receive + 1) % OSC_RBUF_RECEIVES;
        handled++;
    }
    return handled;
}

/* The communicator whose turn it is, which passes to the next. */
static int progress_turn(void)
{
    struct osc_rbuf_comm *comm = turn;

    if (comm == NULL) {
        turn = LIST_FIRST(&comms);
        return 0;
    }
    turn = LIST_NEXT(comm, link);
    return progress(comm);
}

/* However many there are, a call looks at two: what waits on one of the others comes round with as
 * many calls as there are communicators. */
int osc_rbuf_comms_progress(void)
{
    return LIST_EMPTY(&comms) ? 0 : progress(LIST_FIRST(&comms)) + progress_turn();
}

static void take_out(struct osc_rbuf_comm *comm)
{
    if (turn == comm) {
        turn = LIST_NEXT(comm, link);
    }
    LIST_REMOVE(comm, link);
}

void osc_rbuf_comm_use(struct osc_rbuf_comm *comm)
{
    if (comm != LIST_FIRST(&comms)) {
        take_out(comm);
        LIST_INSERT_HEAD(&comms, comm, link);
    }
}

/* ---- who shares them ---- */

/* Open MPI's communicators of the same processes mostly have their group in common. */
static struct osc_rbuf_comm *find(MPI_Comm mpi)
{
    struct osc_rbuf_comm *comm;

    LIST_FOREACH(comm, &comms, link)
    {
        if (comm->mpi->c_local_group == mpi->c_local_group) {
            break;
        }
    }
    return ompi_mpi_thread_multiple ? NULL : comm;
}

long osc_rbuf_comm_shared(MPI_Comm mpi)
{
    const struct osc_rbuf_comm *comm;
    long id;

    osc_rbuf_lock();
    comm = find(mpi);
    id = comm != NULL ? comm->id : 0;
    osc_rbuf_unlock();
    return id;
}

long osc_rbuf_comm_ids(void)
{
    long highest;

    osc_rbuf_lock();
    highest = ids;
    osc_rbuf_unlock();
    return highest;
}

/* One that is in no list. What it waits for with the lock held needs no lock: sends and receives of
 * Open MPI, whose progress only tries it. */
static void comm_free(struct osc_rbuf_comm *comm)
{
    osc_rbuf_lock();
    receives_end(comm);
    give_all(comm);
    osc_rbuf_unlock();
    OBJ_DESTRUCT(&comm->windows);
    ompi_comm_free(&comm->mpi);
    free(comm);
}

static void comm_end(struct osc_rbuf_comm *comm)
{
    osc_rbuf_lock();
    take_out(comm);
    osc_rbuf_unlock();
    comm_free(comm);
}

static struct osc_rbuf_comm *comm_alloc(MPI_Comm mpi, long id)
{
    struct osc_rbuf_comm *comm = calloc(1, sizeof(*comm));

    if (comm != NULL) {
        comm->mpi = mpi;
        comm->id = id;
        STAILQ_INIT(&comm->sending);
        STAILQ_INIT(&comm->late);
        STAILQ_INIT(&comm->held);
        OBJ_CONSTRUCT(&comm->windows, opal_hash_table_t);
        opal_hash_table_init(&comm->windows, WINDOWS);
    }
    return comm;
}

static struct osc_rbuf_comm *comm_new(MPI_Comm parent, long id)
{
    struct osc_rbuf_comm *comm;
    MPI_Comm mpi;
    int status;

    /* Without what the program has attached to its own. */
    if (ompi_comm_create(parent, parent->c_local_group, &mpi) != MPI_SUCCESS) {
        return NULL;
    }
    comm = comm_alloc(mpi, id);
    if (comm == NULL) {
        ompi_comm_free(&mpi);
        return NULL;
    }
    osc_rbuf_lock();
    ids = id > ids ? id : ids;
    status = receives_start(comm);
    if (status == MPI_SUCCESS) {
        LIST_INSERT_HEAD(&comms, comm, link);
    }
    osc_rbuf_unlock();
    if (status != MPI_SUCCESS) {
        comm_free(comm);
        return NULL;
    }
    return comm;
}

/* `window` is NULL if there is no memory for it: its number is given all the same. */
static int join(struct osc_rbuf_comm *comm, struct osc_rbuf_window *window)
{
    const uint32_t number = comm->numbers++ & OSC_RBUF_MOST_TAG;

    if (window == NULL ||
        opal_hash_table_set_value_uint32(&comm->windows, number, window) != OPAL_SUCCESS) {
        return MPI_ERR_NO_MEM;
    }
    window->comm = comm;
    window->number = number;
    comm->users++;
    return MPI_SUCCESS;
}

int osc_rbuf_comm_join(struct osc_rbuf_window *window, MPI_Comm parent)
{
    int status;

    osc_rbuf_lock();
    status = join(find(parent), window);
    osc_rbuf_unlock();
    return status;
}

int osc_rbuf_comm_make(struct osc_rbuf_window *window, MPI_Comm parent, long id)
{
    struct osc_rbuf_comm *comm = comm_new(parent, id);
    long made = 0, all_made;
    int status;

    if (comm != NULL) {
        osc_rbuf_lock();
        made = join(comm, window) == MPI_SUCCESS;
        osc_rbuf_unlock();
    }
    status = osc_rbuf_least(parent, &made, &all_made, 1);
    if (status == MPI_SUCCESS && all_made) {
        return MPI_SUCCESS;
    }
    if (comm != NULL && !made) {
        comm_end(comm);
    }
    return MPI_ERR_NO_MEM; /* what was joined is left by who frees the window */
}

/* Its messages have come, but may not have been taken back here. */
static void forget_window(struct osc_rbuf_comm *comm, const struct osc_rbuf_window *window)
{
    struct osc_rbuf_buffer *buffer;

    STAILQ_FOREACH(buffer, &comm->sending, link)
    {
        if (buffer->window == window) {
            buffer->window = NULL;
        }
    }
}

void osc_rbuf_comm_leave(struct osc_rbuf_window *window)
{
    struct osc_rbuf_comm *comm = window->comm;
    bool last;

    osc_rbuf_lock();
    opal_hash_table_remove_value_uint32(&comm->windows, window->number);
    forget_window(comm, window);
    window->comm = NULL;
    last = --comm->users == 0;
    osc_rbuf_unlock();
    if (last) {
        comm_end(comm);
    }
}
