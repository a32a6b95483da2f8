/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Requests (osc_rbuf_request.h).
 */
#include "osc_rbuf_request.h"

#include "ompi/constants.h"

struct osc_rbuf_request {
    ompi_request_t super;
    bool forgotten; /* the lock guards it */
};
typedef struct osc_rbuf_request osc_rbuf_request_t;

void osc_rbuf_request_drop(MPI_Request request)
{
    OMPI_REQUEST_FINI(request);
    OBJ_RELEASE(request);
}

static int request_free(MPI_Request *request)
{
    osc_rbuf_request_t *ours = (osc_rbuf_request_t *) *request;
    bool complete;

    osc_rbuf_lock();
    complete = REQUEST_COMPLETE(*request);
    ours->forgotten = !complete;
    osc_rbuf_unlock();
    if (complete) {
        osc_rbuf_request_drop(*request);
    }
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int request_cancel(MPI_Request request, int flag)
{
    (void) request;
    (void) flag;
    return MPI_ERR_REQUEST; /* as MPI says */
}

static void construct(osc_rbuf_request_t *request)
{
    request->super.req_type = OMPI_REQUEST_WIN;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->super.req_status = ompi_request_empty.req_status;
    request->forgotten = false;
}

OBJ_CLASS_DECLARATION(osc_rbuf_request_t);
OBJ_CLASS_INSTANCE(osc_rbuf_request_t, ompi_request_t, construct, NULL);

MPI_Request osc_rbuf_request_new(ompi_win_t *win)
{
    osc_rbuf_request_t *request = OBJ_NEW(osc_rbuf_request_t);

    if (request == NULL) {
        return NULL;
    }
    OMPI_REQUEST_INIT(&request->super, false);
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->super.req_mpi_object.win = win;
    return &request->super;
}

void osc_rbuf_request_complete(MPI_Request request, int error)
{
    const bool forgotten = ((osc_rbuf_request_t *) request)->forgotten;

    request->req_status.MPI_ERROR = error;
    ompi_request_complete(request, true); /* from here on it is MPI's */
    if (forgotten) {
        osc_rbuf_request_drop(request);
    }
}
