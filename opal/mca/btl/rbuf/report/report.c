/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The report (report/report.h): a process's own counters, as text. report/summary.c has the
 * job's. Owns whether it is due.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/counters.h"
#include "params/left_out.h"
#include "params/params.h"
#include "common/cpuset.h"
#include "rbuf_version.h"

/* "mlx5_0:1,mlx5_1:1": the ports that were started. */
static void print_ports(FILE *stream)
{
    const struct mca_btl_rbuf_process *process = &mca_btl_rbuf_process;
    const uint32_t started = atomic_load_explicit(&process->started, memory_order_relaxed);
    const char *separator = "";

    for (size_t i = 0; i < process->module_count; i++) {
        if ((started >> i & 1) != 0) {
            fprintf(stream, "%s%s", separator, process->ports[i]->name);
            separator = ",";
        }
    }
}

/* "0-3,8": where the program's thread may run now. A program may have bound itself after it
 * started, as OpenMP's run-time does. Nothing where the kernel does not say. */
static void print_processors(FILE *stream)
{
    struct rbuf_cpuset own;

    if (rbuf_cpuset_own(&own)) {
        rbuf_cpuset_print(&own, stream);
    }
}

/* What another protocol would count does not stand in it, nor what this build leaves out. */
static bool is_of_use(const struct mca_btl_rbuf_counter *counter)
{
    return mca_btl_rbuf_left_out(counter->name) == NULL &&
           (mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_HELPER ||
            !mca_btl_rbuf_is_of(counter->name, "helper"));
}

/* How a counter stands in a line, and in JSON. */
struct form {
    const char *counter;
    bool zeros; /* whether those that are 0 do */
};

static const struct form line_form = {" %s=%" PRIu64, true};
static const struct form brief_form = {" %s=%" PRIu64, false};
static const struct form json_form = {",\"%s\":%" PRIu64, true};

static void print_counters(FILE *stream, const struct form *form)
{
    const struct mca_btl_rbuf_counter *counter;
    struct mca_btl_rbuf_counters sum;

    mca_btl_rbuf_counters_sum(&sum);
    for (size_t i = 0; (counter = mca_btl_rbuf_counter(i)) != NULL; i++) {
        const uint64_t value = mca_btl_rbuf_counter_value(&sum, counter);

        if (is_of_use(counter) && (form->zeros || value != 0)) {
            fprintf(stream, form->counter, counter->name, value);
        }
    }
}

static void print_line(FILE *stream, const struct form *form)
{
    fprintf(stream,
            "rbuf-report: rank=%" PRIu32 " host=%s version=" RBUF_VERSION " protocol=%s ports=",
            OPAL_PROC_MY_NAME.vpid, opal_process_info.nodename, mca_btl_rbuf_protocol_name());
    print_ports(stream);
    print_counters(stream, form);
    fputs(" processors=", stream);
    print_processors(stream);
    fputc('\n', stream);
}

/* Names of hosts, ports and protocols have no character that JSON would quote. */
static void print_json(FILE *stream)
{
    fprintf(stream,
            "{\"report\":\"rbuf\",\"rank\":%" PRIu32 ",\"host\":\"%s\",\"version\":\"" RBUF_VERSION
            "\",\"protocol\":\"%s\",\"ports\":\"",
            OPAL_PROC_MY_NAME.vpid, opal_process_info.nodename, mca_btl_rbuf_protocol_name());
    print_ports(stream);
    fputs("\",\"processors\":\"", stream);
    print_processors(stream);
    fputc('"', stream);
    print_counters(stream, &json_form);
    fputs("}\n", stream);
}

/* Superpipeline is what all expect. */
static void print_default(FILE *stream)
{
    if (mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_AUTO &&
        mca_btl_rbuf_default_why()[0] != '\0') {
        fprintf(stream, "rbuf-report: protocol auto is the %s\n", mca_btl_rbuf_default_why());
    }
}

/* Rank 0 prints for all, or each for itself. */
static void print_job(FILE *stream)
{
    struct mca_btl_rbuf_summary *summary = mca_btl_rbuf_summary_new();
    uint32_t processes = 0;
    char *line = NULL;
    size_t length;
    FILE *memory = open_memstream(&line, &length);

    if (memory == NULL || summary == NULL) {
        mca_btl_rbuf_summary_free(summary);
        return;
    }
    print_line(memory, &brief_form);
    fclose(memory);
    switch (mca_btl_rbuf_job_texts(line, &processes, summary)) {
    case MCA_BTL_RBUF_TEXTS_ARE_HERE:
        mca_btl_rbuf_summary_print(summary, processes, stream);
        print_default(stream);
        break;
    case MCA_BTL_RBUF_TEXTS_AT_RANK_0:
        break;
    case MCA_BTL_RBUF_NO_TEXTS:
        fputs("rbuf-report: not all processes of the job came to its report: each reports for "
              "itself\n",
              stream);
        print_line(stream, &line_form);
        break;
    }
    free(line);
    mca_btl_rbuf_summary_free(summary);
}

/* Of a report: from modules to close. */
static enum { NOT_DUE, DUE } state;

void mca_btl_rbuf_print_whole(void (*print)(FILE *stream))
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);

    if (memory != NULL) {
        print(memory);
        fclose(memory);
        fwrite(text, 1, length, stderr);
        free(text);
    }
}

static void print_report(FILE *memory)
{
    switch ((enum mca_btl_rbuf_report_level) mca_btl_rbuf_params.report) {
    case MCA_BTL_RBUF_REPORT_NONE:
        break;
    case MCA_BTL_RBUF_REPORT_JOB:
        print_job(memory);
        break;
    case MCA_BTL_RBUF_REPORT_PROCESSES:
        print_line(memory, &line_form);
        break;
    case MCA_BTL_RBUF_REPORT_JSON:
        print_json(memory);
        break;
    }
}

void mca_btl_rbuf_report(void)
{
    if (state == DUE) {
        state = NOT_DUE;
        mca_btl_rbuf_print_whole(print_report);
    }
}

static void before_pmix_ends(void *unused)
{
    (void) unused;
    mca_btl_rbuf_report();
}

void mca_btl_rbuf_report_open(void)
{
    state = DUE;
    if (mca_btl_rbuf_params.report == MCA_BTL_RBUF_REPORT_JOB &&
        rbuf_compat_before_pmix_ends(before_pmix_ends)) {
        mca_btl_rbuf_job_texts_stay_loaded();
    }
}
