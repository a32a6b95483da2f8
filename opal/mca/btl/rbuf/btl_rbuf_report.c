/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is printed at the end, if btl_rbuf_report is 1: the counters, one line a process.
 */
#include "btl_rbuf_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "btl_rbuf_counters.h"
#include "btl_rbuf_params.h"
#include "rbuf_version.h"

/* In the report, which is one line: what another protocol would count is left out. */
static bool is_of_use(const struct mca_btl_rbuf_counter *counter)
{
    return mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_HELPER ||
           strncmp(counter->name, "helper_", strlen("helper_")) != 0;
}

void mca_btl_rbuf_report(void)
{
    const struct mca_btl_rbuf_counter *counter;
    struct mca_btl_rbuf_counters sum;
    char line[4096];
    int used;

    if (mca_btl_rbuf_params.report == 0) {
        return;
    }
    mca_btl_rbuf_counters_sum(&sum);
    used = snprintf(
        line, sizeof(line),
        "rbuf-report: rank=%" PRIu32 " host=%s version=" RBUF_VERSION " protocol=%s",
        OPAL_PROC_MY_NAME.vpid, opal_process_info.nodename,
        mca_btl_rbuf_protocol_name((enum mca_btl_rbuf_protocol) mca_btl_rbuf_params.protocol));
    for (size_t i = 0;
         (counter = mca_btl_rbuf_counter(i)) != NULL && used > 0 && (size_t) used < sizeof(line);
         i++) {
        if (is_of_use(counter)) {
            used += snprintf(line + used, sizeof(line) - (size_t) used, " %s=%" PRIu64,
                             counter->name, mca_btl_rbuf_counter_value(&sum, counter));
        }
    }
    if (used > 0 && (size_t) used < sizeof(line) - 1) {
        strcpy(line + used, "\n");
    }
    /* In one piece, where fprintf() may write several: mpirun would mix those of two ranks. */
    fwrite(line, 1, strlen(line), stderr);
}
