/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The environment of the emulated adapter. An input is lines NAME=VALUE, the name without
 * SOFTHCA_. A value that is refused ends the process; here that comes back (-Wl,--wrap). What is
 * taken is compared with readers written here once more.
 */
#include "arguments.h"

#include <ctype.h>
#include <limits.h>
#include <setjmp.h>

#include "config.c" /* for its inside: it reads once a process */

static const char *const names[] = {"BANDWIDTH",   "LATENCY", "GAP",           "REG",
                                    "DEREG",       "MEMLOCK", "SEGMENT",       "PORT",
                                    "LINK_LAYER",  "LOG",     "DATA_IN_ORDER", "CHECK_STALE",
                                    "SHARE_PAGES", "STATS",   "FAULT"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static jmp_buf ended;
static bool reading; /* else libFuzzer ends */

void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));

void __wrap_exit(int status)
{
    if (!reading) {
        __real_exit(status);
    }
    longjmp(ended, status);
}

static const char *variable(const char *name)
{
    char whole[64];

    snprintf(whole, sizeof(whole), "SOFTHCA_%s", name);
    return getenv(whole);
}

static void set_variables(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char whole[64];

    for (size_t i = 0; i < NAMES; i++) {
        snprintf(whole, sizeof(whole), "SOFTHCA_%s", names[i]);
        (void) unsetenv(whole);
    }
    while (input.left > 0) {
        char *name = fuzz_text(&input, '=');
        char *value = fuzz_text(&input, '\n');

        for (size_t i = 0; i < NAMES; i++) {
            if (strcmp(names[i], name) == 0) {
                snprintf(whole, sizeof(whole), "SOFTHCA_%s", name);
                (void) setenv(whole, value, 1);
            }
        }
        free(name);
        free(value);
    }
}

/* Digits, all of the text up to `stop`; 0 for a variable that is not there or empty. */
static uint64_t digits(const char **text, char stop)
{
    unsigned __int128 value = 0;

    if (*text == NULL || **text == '\0') {
        return 0;
    }
    fuzz_require(isdigit((unsigned char) **text), "a number begins with a digit");
    for (; isdigit((unsigned char) **text); (*text)++) {
        value = value * 10 + (unsigned) (**text - '0');
        fuzz_require(value <= UINT64_MAX, "a number fits");
    }
    fuzz_require(**text == stop, "a number ends where it should");
    *text += stop != '\0';
    return (uint64_t) value;
}

static void check_number(const char *name, uint64_t read, uint64_t most)
{
    const char *text = variable(name);
    uint64_t meant = digits(&text, '\0');

    fuzz_require((meant < most ? meant : most) == read, "a number is what was meant");
}

static void check_cost(const char *name, struct page_cost read)
{
    const char *text = variable(name);
    bool given = text != NULL && *text != '\0';

    fuzz_require(read.base_ns == digits(&text, ',') &&
                     read.page_ns == (given ? digits(&text, '\0') : 0),
                 "a cost is what was meant");
    fuzz_require(!given || isdigit((unsigned char) text[-1]), "a cost has two numbers");
}

static void check_text(const char *name, const char *read, size_t room)
{
    const char *text = variable(name);

    fuzz_require(memchr(read, 0, room) != NULL, "a text ends");
    fuzz_require(text == NULL || *text == '\0' || strcmp(text, read) == 0,
                 "a text is what was given");
}

static void check_flag(const char *name, bool read)
{
    const char *text = variable(name);

    fuzz_require(text == NULL || *text == '\0' || strcmp(text, read ? "1" : "0") == 0,
                 "a flag is 0 or 1");
}

static void check_data_in_order(void)
{
    static const char *const texts[] = {
        [IN_ORDER_NOT] = "0", [IN_ORDER_ALIGNED] = "aligned", [IN_ORDER_WHOLE] = "1"};
    const char *text = variable("DATA_IN_ORDER");

    if (text == NULL || *text == '\0') {
        text = texts[config.faults.order == ORDER_KEPT ? IN_ORDER_WHOLE : IN_ORDER_NOT];
    }
    fuzz_require(strcmp(text, texts[config.data_in_order]) == 0,
                 "the promised order is what was meant");
}

static bool begins(const char *item, const char *start)
{
    return strncmp(item, start, strlen(start)) == 0;
}

/* The number at `text`, counted in units of so many ns, fits 64 bits. */
static void check_fits(const char *text, uint64_t unit)
{
    fuzz_require(strtoull(text, NULL, 10) <= UINT64_MAX / unit, "a number fits its unit");
}

static void check_item(const char *item)
{
    const char *value = strchr(item, '=') + 1;
    const char *last = strrchr(value, ':');

    if (begins(item, "late=")) {
        check_fits(value, 1000);
    }
    if (last != NULL && (begins(item, "late=") || begins(item, "slow="))) {
        check_fits(last + 1, 1000);
    }
    if (last != NULL && (begins(item, "link-down=") || begins(item, "rnr="))) {
        check_fits(last + 1, 1000000);
    }
    if (begins(item, "large=") || begins(item, "memlock=")) {
        const char *bytes = last != NULL ? last + 1 : value;
        char unit = bytes[strlen(bytes) - 1];

        check_fits(bytes, unit == 'k'   ? 1 << 10
                          : unit == 'M' ? 1 << 20
                          : unit == 'G' ? 1 << 30
                                        : 1);
    }
    if (begins(item, "order=")) {
        fuzz_require(strcmp(value, "tail-first") == 0 || strcmp(value, "random") == 0 ||
                         strcmp(value, "backward") == 0 || strcmp(value, "words") == 0,
                     "there is such an order");
    }
}

static void check_faults(const struct faults *faults)
{
    const char *text = variable("FAULT");
    char *copy = strdup(text != NULL ? text : "");
    char *save, *item;

    for (item = strtok_r(copy, ",", &save); item != NULL; item = strtok_r(NULL, ",", &save)) {
        fuzz_require(strchr(item, '=') != NULL, "a fault has a value");
        check_item(item);
    }
    free(copy);
    fuzz_require(faults->order <= ORDER_WORDS, "there is such an order");
    fuzz_require(faults->overtake <= 100, "a chance of writes is of a hundred");
    for (int i = 0; i < FAULT_CALLS; i++) {
        fuzz_require(faults->fail[i].kind <= FAULT_CHANCE && faults->slow[i].kind <= FAULT_CHANCE,
                     "a choice is of a kind");
        fuzz_require(faults->fail[i].kind == FAULT_NEVER || faults->any_call,
                     "calls are looked at if one shall fail");
        fuzz_require(faults->fail[i].kind != FAULT_CHANCE || faults->fail[i].n - 1 < 100,
                     "a chance is of a hundred");
    }
}

static void check_all(void)
{
    check_number("BANDWIDTH", config.bandwidth, UINT64_MAX);
    check_number("LATENCY", config.latency_ns, UINT64_MAX);
    check_number("GAP", config.gap_ns, UINT64_MAX);
    check_number("MEMLOCK", config.memlock, UINT64_MAX);
    check_number("LOG", config.verbosity, UINT_MAX);
    check_cost("REG", config.registration);
    check_cost("DEREG", config.deregistration);
    check_text("SEGMENT", config.segment, sizeof(config.segment));
    check_text("PORT", config.port, sizeof(config.port));
    check_text("STATS", config.stats, sizeof(config.stats));
    check_data_in_order();
    check_flag("CHECK_STALE", config.check_stale);
    check_flag("SHARE_PAGES", config.share_pages);
    check_faults(&config.faults);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct printed printed;
    volatile bool taken = false;
    int status;

    set_variables(data, size);
    config = (struct config){0};
    printed_begin(&printed);
    reading = true;
    status = setjmp(ended);
    if (status == 0) {
        read_all();
        taken = true;
    }
    reading = false;
    printed_end(&printed);
    if (taken) {
        fuzz_require(printed.text[0] == '\0', "nothing is said of what is right");
        check_all();
    } else {
        fuzz_require(status == 2 && printed_lines(&printed) == 1 &&
                         strncmp(printed.text, "softhca[", 8) == 0,
                     "what is wrong is reported in one line");
    }
    return 0;
}
