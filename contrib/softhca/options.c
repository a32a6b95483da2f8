/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads the command line (see options.h). A profile is applied first, wherever it stands, so that
 * the other options change it whatever their order.
 */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
    OPT_PROFILE = 256,
    OPT_BANDWIDTH,
    OPT_LATENCY,
    OPT_GAP,
    OPT_REG,
    OPT_DEREG,
    OPT_MEMLOCK,
    OPT_FABRIC,
    OPT_STATS,
    OPT_DATA_IN_ORDER,
    OPT_FAULT,
    OPT_MAX_INLINE,
    OPT_GRH_REQUIRED,
    OPT_LIKE,
    OPT_LIST_MODELS,
    OPT_PORTS,
    OPT_DEVICES,
    OPT_PKEYS,
    OPT_VERBOSE,
    OPT_LIST_PROFILES,
    OPT_HELP,
    OPT_VERSION,
};

/* The library checks these lists itself, in every process. */
#define DEVICES_ALLOWED "a comma list of devices, see softhca(1)"
#define PKEYS_ALLOWED   "1 to 16 keys from 0 to 0xffff, separated by commas"
#define FAULTS_ALLOWED  "a comma list of faults, see softhca(1)"

static const struct option long_options[] = {
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"bandwidth", required_argument, NULL, OPT_BANDWIDTH},
    {"latency", required_argument, NULL, OPT_LATENCY},
    {"gap", required_argument, NULL, OPT_GAP},
    {"reg", required_argument, NULL, OPT_REG},
    {"dereg", required_argument, NULL, OPT_DEREG},
    {"memlock", required_argument, NULL, OPT_MEMLOCK},
    {"fabric", required_argument, NULL, OPT_FABRIC},
    {"stats", required_argument, NULL, OPT_STATS},
    {"data-in-order", required_argument, NULL, OPT_DATA_IN_ORDER},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"max-inline", required_argument, NULL, OPT_MAX_INLINE},
    {"like", required_argument, NULL, OPT_LIKE},
    {"list-models", no_argument, NULL, OPT_LIST_MODELS},
    {"ports", required_argument, NULL, OPT_PORTS},
    {"devices", required_argument, NULL, OPT_DEVICES},
    {"pkeys", required_argument, NULL, OPT_PKEYS},
    {"grh-required", no_argument, NULL, OPT_GRH_REQUIRED},
    {"verbose", no_argument, NULL, OPT_VERBOSE},
    {"list-profiles", no_argument, NULL, OPT_LIST_PROFILES},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    fputs(
        "usage: softhca [OPTION...] [--] COMMAND [ARGUMENT...]\n"
        "Runs COMMAND with an emulated InfiniBand adapter. Options:\n"
        "  --profile NAME         start from a known network (default unpaced; --list-profiles)\n"
        "  --bandwidth RATE       bytes a second and direction, such as 1.4G; 0: unlimited\n"
        "  --latency TIME         one way, such as 2us\n"
        "  --gap TIME             between two messages on a link, such as 100ns\n"
        "  --reg BASE,PAGE        registration: a call, each 4 KB page; such as 68us,200ns\n"
        "  --dereg BASE,PAGE      deregistration\n"
        "  --memlock SIZE         what one process may register, such as 64M (default: no limit)\n"
        "  --data-in-order on|off|aligned\n"
        "                         what ibv_query_qp_data_in_order answers in RTS (on; off with a\n"
        "                         fault of order)\n"
        "  --like MODEL           limits, answers and refusals of an adapter (--list-models)\n"
        "  --max-inline BYTES     most that a request carries inline, 0 to 512 (512)\n"
        "  --grh-required         ports take only addresses with a global route\n"
        "  --ports N              ports of a device, each a link of its own, 1 to 8 (1)\n"
        "  --devices LIST         several devices, NAME[/KEY=VALUE...],...; see softhca(1)\n"
        "  --pkeys LIST           partition table of InfiniBand ports, such as 0x7fff,0x8001 "
        "(0xffff)\n"
        "  --fabric NAME          a fabric apart from others with the same settings\n"
        "  --stats FILE           append counters to FILE when processes end\n"
        "  --fault SPEC           inject faults; see softhca(1)\n"
        "  --verbose              tell what is set and what the adapter does, on stderr\n"
        "  --list-profiles, --list-models, --help, --version\n"
        "The exit status is COMMAND's; 125 if softhca itself fails, 126 if COMMAND cannot be run,\n"
        "127 if it is not found.\n",
        stdout);
}

static void list_profiles(void)
{
    for (const struct softhca_profile *p = softhca_profiles; p->name; p++) {
        const struct softhca_settings *s = &p->settings;
        printf("%s: %s\n", p->name, p->summary);
        if (s->bandwidth)
            printf("    bandwidth %.3g GB/s, latency %.3g us, gap %.3g us\n",
                   (double) s->bandwidth / 1e9, (double) s->latency / 1e3, (double) s->gap / 1e3);
        printf("    registration %.3g us and %.3g us a page, deregistration %.3g us and %.3g us\n",
               (double) s->reg.base / 1e3, (double) s->reg.page / 1e3, (double) s->dereg.base / 1e3,
               (double) s->dereg.page / 1e3);
        printf("    source: %s\n", p->source);
        if (*p->inferred)
            printf("    inferred: %s\n", p->inferred);
        if (p->warning)
            printf("    warning: %s\n", p->warning);
    }
}

static void list_models(void)
{
    static const char *const atomics[] = {
        [ATOMICS_NONE] = "no atomics",
        [ATOMICS_HCA] = "atomics within the adapter",
        [ATOMICS_GLOBAL] = "global atomics",
    };
    for (const struct device_model *m = device_models; m->name; m++) {
        printf("%s: %s\n", m->name, m->summary);
        printf("    vendor 0x%04x, part %u; max_qp_wr %u, max_sge %u, max_cqe %u, max_srq_wr %u, "
               "max_srq_sge %u, inline %u, %u reads, %s%s%s\n",
               m->vendor_id, m->part_id, m->max_qp_wr, m->max_sge, m->max_cqe, m->max_srq_wr,
               m->max_srq_sge, m->max_inline, m->max_reads, atomics[m->atomics],
               m->tells_order ? ", tells the order of data in RTS" : "",
               m->has_rc ? "" : ", no RC queue pairs");
        printf("    source: %s\n", m->source);
        if (*m->inferred)
            printf("    inferred: %s\n", m->inferred);
    }
}

static bool refuse(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "softhca: --%s %s: not understood; allowed: %s\n", option,
            *value ? value : "''", allowed);
    return false;
}

static void print_profile_names(FILE *stream)
{
    const char *separator = "";
    for (const struct softhca_profile *p = softhca_profiles; p->name; p++) {
        fprintf(stream, "%s%s", separator, p->name);
        separator = ", ";
    }
}

static bool set_profile(const char *name, struct softhca_options *options)
{
    const struct softhca_profile *profile = profile_find(name);
    if (!profile) {
        fprintf(stderr, "softhca: --profile %s: no such profile; allowed: ", *name ? name : "''");
        print_profile_names(stderr);
        fputc('\n', stderr);
        return false;
    }
    options->profile = profile;
    options->settings = profile->settings;
    return true;
}

static bool set_like(const char *name, struct softhca_options *options)
{
    const char *separator = "";
    if (model_find(name)) {
        options->like = name;
        return true;
    }
    fprintf(stderr, "softhca: --like %s: no such model; allowed: ", *name ? name : "''");
    for (const struct device_model *m = device_models; m->name; m++) {
        fprintf(stderr, "%s%s", separator, m->name);
        separator = ", ";
    }
    fputc('\n', stderr);
    return false;
}

/* Becomes part of a file name. */
static bool set_fabric(const char *name, struct softhca_options *options)
{
    bool valid = *name && *name != '.' && strlen(name) <= 64;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char) *c) && !strchr("._-", *c))
            valid = false;
    if (!valid)
        return refuse("fabric", name, "1 to 64 letters, digits, '.', '_' and '-', no '.' in front");
    options->fabric = name;
    return true;
}

static bool set_data_in_order(const char *value, struct softhca_options *options)
{
    if (strcmp(value, "on") == 0)
        options->data_in_order = "1";
    else if (strcmp(value, "off") == 0)
        options->data_in_order = "0";
    else if (strcmp(value, "aligned") == 0)
        options->data_in_order = "aligned";
    else
        return refuse("data-in-order", value, "on, off, aligned");
    return true;
}

static bool set_text(const char *option, const char *value, const char *allowed, const char **text)
{
    if (!*value)
        return refuse(option, value, allowed);
    *text = value;
    return true;
}

/* A whole number within bounds, passed on as it is. */
static bool set_count(const char *option, const char *value, unsigned least, unsigned most,
                      const char **text)
{
    size_t digits = strspn(value, "0123456789");
    unsigned long number = strtoul(value, NULL, 10);
    char allowed[64];
    if (digits && digits < 10 && !value[digits] && number >= least && number <= most) {
        *text = value;
        return true;
    }
    snprintf(allowed, sizeof allowed, "a whole number from %u to %u", least, most);
    return refuse(option, value, allowed);
}

static bool set_network(int id, const char *value, struct softhca_settings *settings)
{
    switch (id) {
    case OPT_BANDWIDTH:
        return units_parse_rate(value, &settings->bandwidth) ||
               refuse("bandwidth", value, UNITS_RATE_ALLOWED);
    case OPT_LATENCY:
        return units_parse_time(value, &settings->latency) ||
               refuse("latency", value, UNITS_TIME_ALLOWED);
    case OPT_GAP:
        return units_parse_time(value, &settings->gap) || refuse("gap", value, UNITS_TIME_ALLOWED);
    case OPT_REG:
        return units_parse_cost(value, &settings->reg) || refuse("reg", value, UNITS_COST_ALLOWED);
    case OPT_DEREG:
        return units_parse_cost(value, &settings->dereg) ||
               refuse("dereg", value, UNITS_COST_ALLOWED);
    default:
        return units_parse_size(value, &settings->memlock) ||
               refuse("memlock", value, UNITS_SIZE_ALLOWED);
    }
}

static bool set_option(int id, const char *value, struct softhca_options *options)
{
    switch (id) {
    case OPT_PROFILE:
        return true; /* find_profile has it */
    case OPT_FABRIC:
        return set_fabric(value, options);
    case OPT_STATS:
        return set_text("stats", value, "a file name", &options->stats);
    case OPT_DATA_IN_ORDER:
        return set_data_in_order(value, options);
    case OPT_FAULT:
        return set_text("fault", value, FAULTS_ALLOWED, &options->fault);
    case OPT_MAX_INLINE:
        return set_count("max-inline", value, 0, 512, &options->max_inline);
    case OPT_LIKE:
        return set_like(value, options);
    case OPT_PORTS:
        return set_count("ports", value, 1, 8, &options->ports);
    case OPT_DEVICES:
        return set_text("devices", value, DEVICES_ALLOWED, &options->devices);
    case OPT_PKEYS:
        return set_text("pkeys", value, PKEYS_ALLOWED, &options->pkeys);
    case OPT_GRH_REQUIRED:
        options->grh_required = true;
        return true;
    case OPT_VERBOSE:
        options->verbose = true;
        return true;
    default:
        return set_network(id, value, &options->settings);
    }
}

/* The first pass: takes the profile, and whatever ends the launcher early. getopt reports unknown
 * options and missing values itself. */
static enum options_outcome find_profile(int argc, char **argv, struct softhca_options *options)
{
    int id;
    while ((id = getopt_long(argc, argv, "+h", long_options, NULL)) != -1) {
        switch (id) {
        case 'h':
        case OPT_HELP:
            print_help();
            return OPTIONS_DONE;
        case OPT_VERSION:
            puts("softhca " SOFTHCA_VERSION);
            return OPTIONS_DONE;
        case OPT_LIST_PROFILES:
            list_profiles();
            return OPTIONS_DONE;
        case OPT_LIST_MODELS:
            list_models();
            return OPTIONS_DONE;
        case OPT_PROFILE:
            if (!set_profile(optarg, options))
                return OPTIONS_WRONG;
            break;
        case '?':
            return OPTIONS_WRONG;
        }
    }
    return OPTIONS_RUN;
}

enum options_outcome options_parse(int argc, char **argv, struct softhca_options *options)
{
    *options = (struct softhca_options){0};
    set_profile("unpaced", options);
    enum options_outcome outcome = find_profile(argc, argv, options);
    if (outcome != OPTIONS_RUN)
        return outcome;

    int id;
    optind = 0; /* the C library's way to start again */
    while ((id = getopt_long(argc, argv, "+h", long_options, NULL)) != -1)
        if (!set_option(id, optarg, options))
            return OPTIONS_WRONG;
    if (optind == argc) {
        fputs(
            "softhca: no command given; usage: softhca [OPTION...] -- COMMAND (--help for more)\n",
            stderr);
        return OPTIONS_WRONG;
    }
    options->command = argv + optind;
    return OPTIONS_RUN;
}
