/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * softhca: runs a command with the emulated adapter preloaded. It finds the library, puts the
 * settings into the environment, passes signals on to the command and the command's end on to its
 * own caller, and takes the fabric's file away behind the last user.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_file.h"
#include "options.h"

/* Exit statuses of our own, those that env(1) and timeout(1) use. */
enum launcher_status {
    STATUS_LAUNCHER_FAILED = 125,
    STATUS_CANNOT_RUN = 126,
    STATUS_NOT_FOUND = 127,
};

static bool set_variable(const char *name, const char *value)
{
    if ((value ? setenv(name, value, 1) : unsetenv(name)) == 0)
        return true;
    fprintf(stderr, "softhca: cannot set %s: %s\n", name, strerror(errno));
    return false;
}

static bool set_number(const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return set_variable(name, text);
}

static bool set_cost(const char *name, const struct softhca_cost *cost)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRIu64 ",%" PRIu64, cost->base, cost->page);
    return set_variable(name, text);
}

/* The command may change directory before the library opens the file. */
static bool set_stats(const char *file)
{
    char directory[PATH_MAX], path[2 * PATH_MAX];
    if (!file || *file == '/')
        return set_variable("SOFTHCA_STATS", file);
    if (!getcwd(directory, sizeof directory) || strlen(file) >= PATH_MAX) {
        fprintf(stderr, "softhca: --stats %s: cannot make it an absolute path\n", file);
        return false;
    }
    snprintf(path, sizeof path, "%s/%s", directory, file);
    return set_variable("SOFTHCA_STATS", path);
}

/* What the library also takes from its user's environment, per process: left alone if not asked
 * for. */
static bool set_if_given(const char *name, const char *value)
{
    return !value || set_variable(name, value);
}

static bool set_adapter(const struct softhca_options *options)
{
    return set_if_given("SOFTHCA_LIKE", options->like) &&
           set_if_given("SOFTHCA_MAX_INLINE", options->max_inline) &&
           set_if_given("SOFTHCA_PORTS", options->ports) &&
           set_if_given("SOFTHCA_DEVICES", options->devices) &&
           set_if_given("SOFTHCA_PKEYS", options->pkeys) &&
           set_if_given("SOFTHCA_GRH_REQUIRED", options->grh_required ? "1" : NULL);
}

static bool set_environment(const struct softhca_options *options, const struct fabric_file *file)
{
    const struct softhca_settings *s = &options->settings;
    return set_number("SOFTHCA_BANDWIDTH", s->bandwidth) &&
           set_number("SOFTHCA_LATENCY", s->latency) && set_number("SOFTHCA_GAP", s->gap) &&
           set_cost("SOFTHCA_REG", &s->reg) && set_cost("SOFTHCA_DEREG", &s->dereg) &&
           set_number("SOFTHCA_MEMLOCK", s->memlock) &&
           set_variable("SOFTHCA_SEGMENT", file->segment) && set_stats(options->stats) &&
           set_if_given("SOFTHCA_DATA_IN_ORDER", options->data_in_order) && set_adapter(options) &&
           set_variable("SOFTHCA_FAULT", options->fault) &&
           set_variable("SOFTHCA_LOG", options->verbose ? "1" : NULL);
}

/* The directory of this program. */
static bool own_directory(char *directory, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", directory, size - 1);
    if (length <= 0)
        return false;
    directory[length] = '\0';
    *strrchr(directory, '/') = '\0';
    return true;
}

/* Finds the library: where SOFTHCA_LIB says, in the build tree, beside an installed launcher, or
 * where it was configured to go. */
static bool find_library(char library[PATH_MAX])
{
    const char *given = getenv("SOFTHCA_LIB");
    char directory[PATH_MAX - 64];
    if (given && *given) {
        if (*given == '/' && access(given, R_OK) == 0 && strlen(given) < PATH_MAX) {
            strcpy(library, given);
            return true;
        }
        fprintf(stderr,
                "softhca: SOFTHCA_LIB %s: not readable; allowed: an absolute path of "
                "libsofthca.so\n",
                given);
        return false;
    }
    if (own_directory(directory, sizeof directory)) {
        snprintf(library, PATH_MAX, "%s/.libs/libsofthca.so", directory);
        if (access(library, R_OK) == 0)
            return true;
        snprintf(library, PATH_MAX, "%s/../lib/softhca/libsofthca.so", directory);
        if (access(library, R_OK) == 0)
            return true;
    }
    snprintf(library, PATH_MAX, "%s/libsofthca.so", SOFTHCA_LIBDIR);
    if (access(library, R_OK) == 0)
        return true;
    fprintf(stderr,
            "softhca: libsofthca.so is neither beside this program nor in %s; SOFTHCA_LIB may "
            "name it\n",
            SOFTHCA_LIBDIR);
    return false;
}

/* Puts the library first, so that its names win over other preloaded ones. */
static bool preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    char *list;
    if (strpbrk(library, " :\t\n")) {
        fprintf(stderr,
                "softhca: %s: the loader takes no preloaded library with ':' or blanks in its "
                "path\n",
                library);
        return false;
    }
    if (!others || !*others)
        return set_variable("LD_PRELOAD", library);
    if (asprintf(&list, "%s:%s", library, others) < 0) {
        fputs("softhca: out of memory\n", stderr);
        return false;
    }
    bool done = set_variable("LD_PRELOAD", list);
    free(list);
    return done;
}

static void tell(const struct softhca_options *options, const char *library,
                 const struct fabric_file *file)
{
    const struct softhca_settings *s = &options->settings;
    fprintf(stderr,
            "softhca: profile %s, bandwidth %" PRIu64 " B/s, latency %" PRIu64 " ns, gap %" PRIu64
            " ns, registration %" PRIu64 " ns and %" PRIu64 " ns a page\n"
            "softhca: library %s, fabric %s\n",
            options->profile->name, s->bandwidth, s->latency, s->gap, s->reg.base, s->reg.page,
            library, file->segment);
}

/* Runs in the child; the mask is the one that the launcher was started with. */
static _Noreturn void become(char **command, const sigset_t *mask, const char *library)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (preload(library))
        execvp(command[0], command);
    else
        _exit(STATUS_LAUNCHER_FAILED);
    int status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
    fprintf(stderr, "softhca: cannot run %s: %s\n", command[0], strerror(errno));
    _exit(status);
}

/* Waits for the child's end and passes on what others send us meanwhile. What the terminal sends
 * reaches the child without us. Returns its wait status. */
static int attend(pid_t child, const sigset_t *signals)
{
    for (;;) {
        siginfo_t info;
        int status;
        int signal = sigwaitinfo(signals, &info);
        if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
            kill(child, signal);
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
    }
}

/* Ends as the child ended; a core dump is the child's affair alone. */
static int end_as(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    sigset_t one;
    int number = WTERMSIG(status);
    prctl(PR_SET_DUMPABLE, 0);
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + number;
}

static int run(char **command, const char *library, struct fabric_file *file)
{
    static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t signals, before;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&signals, passed_on[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t child = fork();
    if (child == 0)
        become(command, &before, library);
    if (child < 0) {
        fprintf(stderr, "softhca: cannot fork: %s\n", strerror(errno));
        fabric_file_leave(file);
        return STATUS_LAUNCHER_FAILED;
    }
    int status = attend(child, &signals);
    fabric_file_leave(file);
    return end_as(status);
}

int main(int argc, char **argv)
{
    struct softhca_options options;
    struct fabric_file file;
    char library[PATH_MAX];
    switch (options_parse(argc, argv, &options)) {
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_WRONG:
        return STATUS_LAUNCHER_FAILED;
    case OPTIONS_RUN:
        break;
    }
    if (!find_library(library) || !fabric_file_join(&file, &options))
        return STATUS_LAUNCHER_FAILED;
    if (!set_environment(&options, &file)) {
        fabric_file_leave(&file);
        return STATUS_LAUNCHER_FAILED;
    }
    if (options.profile->warning)
        fprintf(stderr, "softhca: %s\n", options.profile->warning);
    if (options.verbose)
        tell(&options, library, &file);
    return run(options.command, library, &file);
}
