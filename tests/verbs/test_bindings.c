/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which processes of a host have too few processors: a table of jobs, and thousands that are drawn,
 * whose answer a matching of processes and processors gives.
 */
#include "unit.h"

#include "common/bindings.h"
#include "common/cpuset.h"

/* A job: "HOST:LIST ..." in the order of ranks. The answer: "" or "PROCESSES/PROCESSORS on HOST,
 * HOSTS". */
static const struct {
    const char *job;
    const char *answer;
} rows[] = {
    {"", ""},
    {"0:0", ""},
    {"0:0 0:1", ""},
    {"0:0 1:0", ""},            /* the same number on two hosts */
    {"0:0 0:0", "2/1 on 0, 1"}, /* both on one core */
    {"7:3 7:3 7:3", "3/1 on 7, 1"},
    {"0:0-1 0:0-1", ""},                  /* not bound, and enough */
    {"0:0-1 0:0-1 0:0-1", "3/2 on 0, 1"}, /* not bound, and too few */
    {"0:0 0:0-1", ""},                    /* nested, and enough: the other one gives way */
    {"0:0 0:0-1 0:1", "3/2 on 0, 1"},     /* nested, and none of the equal ones are too many */
    {"0:0 0:0 0:0-7", "2/1 on 0, 1"},
    {"0:0-3 0:0-3 0:4-7 0:4-7", ""},    /* two NUMA nodes */
    {"0:0 1:5 0:1 1:5", "2/1 on 1, 1"}, /* ranks by turns on hosts */
    {"0:0 0:0 1:0 1:0 1:0 2:0", "3/1 on 1, 2"},
    {"0:0-1 0:0-1 0:0-1 1:4 1:4", "2/1 on 1, 2"},
    {"0:0 0: 0:x 0:1", ""}, /* nothing is known of two */
    {"0: 0: 0:x 0:x", ""},
};

static void add_all(struct rbuf_bindings *bindings, const char *job)
{
    char *words = strdup(job);
    char *rest = NULL;

    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        rbuf_bindings_add(bindings, (uint32_t) atoi(word), strchr(word, ':') + 1);
    }
    free(words);
}

static void answer_of(struct rbuf_bindings *bindings, char *text, size_t size)
{
    struct rbuf_shortage shortage;

    text[0] = '\0';
    if (rbuf_bindings_shortage(bindings, &shortage)) {
        (void) snprintf(text, size, "%u/%u on %u, %u", shortage.processes, shortage.processors,
                        shortage.host, shortage.hosts);
    }
}

START_TEST(a_job_has_its_answer)
{
    struct rbuf_bindings *bindings = rbuf_bindings_new();
    char text[64];

    add_all(bindings, rows[_i].job);
    answer_of(bindings, text, sizeof(text));
    ck_assert_msg(strcmp(text, rows[_i].answer) == 0, "%s: %s", rows[_i].job, text);
    answer_of(bindings, text, sizeof(text)); /* and again */
    ck_assert_str_eq(text, rows[_i].answer);
    rbuf_bindings_free(bindings);
}
END_TEST

/* Those that were there count on. */
START_TEST(more_may_be_added_behind_an_answer)
{
    struct rbuf_bindings *bindings = rbuf_bindings_new();
    char text[64];

    for (uint32_t i = 0; i < 100; i++) {
        add_all(bindings, "3:5 3:6");
        answer_of(bindings, text, sizeof(text));
        if (i > 0) {
            char expected[64];

            (void) snprintf(expected, sizeof(expected), "%u/1 on 3, 1", i + 1);
            ck_assert_str_eq(text, expected);
        } else {
            ck_assert_str_eq(text, "");
        }
    }
    rbuf_bindings_free(bindings);
}
END_TEST

/* ---- drawn jobs of one host ---- */

enum { PROCESSES = 12, PROCESSORS = 16 };

static bool may[PROCESSES][PROCESSORS];

/* Whether the process finds a processor, if need be from another one that can take a further. */
static bool find_processor(size_t process, int owner[PROCESSORS], bool seen[PROCESSORS])
{
    for (size_t i = 0; i < PROCESSORS; i++) {
        if (!may[process][i] || seen[i]) {
            continue;
        }
        seen[i] = true;
        if (owner[i] < 0 || find_processor((size_t) owner[i], owner, seen)) {
            owner[i] = (int) process;
            return true;
        }
    }
    return false;
}

static bool each_can_have_its_own(size_t processes)
{
    int owner[PROCESSORS];

    memset(owner, -1, sizeof(owner));
    for (size_t i = 0; i < processes; i++) {
        bool seen[PROCESSORS] = {false};

        if (!find_processor(i, owner, seen)) {
            return false;
        }
    }
    return true;
}

/* An aligned range of a power of two processors: nested or disjoint with any other. */
static void draw_nested(bool set[PROCESSORS])
{
    const size_t length = (size_t) 1 << rand() % 4;
    const size_t start = (size_t) rand() % (PROCESSORS / length) * length;

    for (size_t i = 0; i < PROCESSORS; i++) {
        set[i] = i >= start && i < start + length;
    }
}

static void draw_any(bool set[PROCESSORS])
{
    memset(set, 0, PROCESSORS * sizeof(set[0]));
    for (int i = rand() % 3; i >= 0; i--) {
        set[rand() % PROCESSORS] = true;
    }
}

static bool finds_shortage(size_t processes)
{
    struct rbuf_bindings *bindings = rbuf_bindings_new();
    struct rbuf_shortage shortage;
    bool found;

    for (size_t i = 0; i < processes; i++) {
        struct rbuf_cpuset set = {0};
        char *list = NULL;
        size_t length;
        FILE *stream = open_memstream(&list, &length);

        for (size_t j = 0; j < PROCESSORS; j++) {
            if (may[i][j]) {
                CPU_SET(j, &set.cpus[0]);
            }
        }
        rbuf_cpuset_print(&set, stream);
        fclose(stream);
        rbuf_bindings_add(bindings, 0, list);
        free(list);
    }
    found = rbuf_bindings_shortage(bindings, &shortage);
    rbuf_bindings_free(bindings);
    return found;
}

static void draw_jobs(void (*draw)(bool set[PROCESSORS]), bool exact)
{
    unsigned short_ones = 0, jobs = 4000;

    for (unsigned job = 0; job < jobs; job++) {
        const size_t processes = 1 + (size_t) rand() % PROCESSES;
        bool enough, found;

        for (size_t i = 0; i < processes; i++) {
            draw(may[i]);
        }
        enough = each_can_have_its_own(processes);
        found = finds_shortage(processes);
        ck_assert(!(found && enough));
        ck_assert(!exact || found == !enough);
        short_ones += found;
    }
    ck_assert_uint_gt(short_ones, jobs / 100);
    ck_assert_uint_lt(short_ones, jobs - jobs / 100);
}

START_TEST(nested_sets_are_judged_exactly)
{
    draw_jobs(draw_nested, true);
}
END_TEST

START_TEST(no_shortage_is_made_up)
{
    draw_jobs(draw_any, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bindings");

    unit_add_loop(suite, a_job_has_its_answer, sizeof(rows) / sizeof(rows[0]));
    unit_add(suite, more_may_be_added_behind_an_answer);
    unit_add(suite, nested_sets_are_judged_exactly);
    unit_add(suite, no_shortage_is_made_up);
    return unit_run(suite);
}
