/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns nothing: waits for the end of an epoch, and takes the window's error (osc_rbuf_epoch.h).
 */
#include "osc_rbuf_window.h"

#include "ompi/constants.h"
#include "ompi/mca/osc/base/base.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"

void osc_rbuf_wait(struct osc_rbuf_window *window,
                   bool (*done)(struct osc_rbuf_window *window, int argument), int argument)
{
    bool over;

    do {
        osc_rbuf_lock();
        over = done(window, argument);
        osc_rbuf_unlock();
        if (!over) {
            opal_progress();
        }
    } while (!over);
}

int osc_rbuf_first_error(struct osc_rbuf_window *window, int epoch)
{
    const int error = window->error;

    window->error = MPI_SUCCESS;
    return error != MPI_SUCCESS ? error : epoch;
}

int osc_rbuf_refuse(const struct osc_rbuf_window *window, const char *what)
{
    static const char *const accesses[] = {OSC_RBUF_ACCESS_STATES(RBUF_STATE_NAME)};
    static const char *const exposures[] = {OSC_RBUF_EXPOSURE_STATES(RBUF_STATE_NAME)};

    opal_output_verbose(10, ompi_osc_base_framework.framework_output,
                        "osc/rbuf: %s does not fit the window's epochs: access %s, exposure %s",
                        what, accesses[window->access], exposures[window->sync.exposure]);
    return OMPI_ERR_RMA_SYNC;
}
