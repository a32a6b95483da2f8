/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Prints predictions as a transport each, and runs rbuf-plot.
 */
#include "tune/plot.h"

#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void print_line(FILE *stream, const char *name, uint64_t bytes, double ns)
{
    fprintf(stream, "%s,%" PRIu64 ",reused,pingpong,bytes,warm,1,%.3f,%.1f\n", name, bytes,
            ns / 1000, (double) bytes * 1000 / ns);
}

void tune_print_csv(FILE *stream, const struct tune_measured *measured,
                    const struct tune_advice *advice, const char *protocol)
{
    const struct tune_traffic *traffic = &measured->traffic;
    char name[300];

    fputs("transport,size,buffers,pattern,type,cache,window,median_us,mb_per_s\n", stream);
    for (int i = 0; i < TUNE_PROTOCOLS; i++) {
        snprintf(name, sizeof name, "%s (predicted)", tune_protocol_names[i]);
        for (uint64_t bytes = TUNE_SMALLEST; bytes <= TUNE_LARGEST; bytes *= 2) {
            print_line(stream, name, bytes, tune_predict(advice, (enum tune_protocol) i, bytes));
        }
    }
    snprintf(name, sizeof name, "%s as it is (measured)", protocol);
    for (int i = 1; traffic->over_rbuf && i < traffic->points; i++) {
        print_line(stream, name, traffic->bytes[i], traffic->ns[i].value);
    }
}

static void find_plot(char path[PATH_MAX])
{
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length > 0) {
        self[length] = '\0';
        if (snprintf(path, PATH_MAX, "%s/rbuf-plot", dirname(self)) < PATH_MAX &&
            access(path, X_OK) == 0) {
            return;
        }
    }
    snprintf(path, PATH_MAX, "rbuf-plot");
}

bool tune_plot(const char *csv, const char *picture, bool measured)
{
    char plot[PATH_MAX];
    char *arguments[] = {plot,
                         (char *) "--title",
                         (char *) (measured ? "rbuf-tune: predicted and measured"
                                            : "rbuf-tune: predicted (not run over rbuf)"),
                         (char *) "--output",
                         (char *) picture,
                         (char *) csv,
                         NULL};
    int status = -1;
    pid_t child;

    find_plot(plot);
    if (posix_spawnp(&child, plot, NULL, NULL, arguments, environ) != 0) {
        fputs("rbuf-tune: rbuf-plot is not found: install it beside rbuf-tune\n", stderr);
        return false;
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
