/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "tune_options.h"

#include <getopt.h>
#include <string.h>

#include "bench_values.h"

static const char HEAD[] =
    "NAME\n"
    "    rbuf-tune - measure a machine and choose rbuf's parameters for it\n"
    "\n"
    "SYNOPSIS\n"
    "    mpirun -np 2 [what places the ranks] rbuf-tune [OPTION...]\n"
    "\n"
    "DESCRIPTION\n"
    "    Measures on its two ranks how fast a processor copies messages of 4 KB to 64 MB, what a\n"
    "    request, a word and a stream of writes take on the network, and what registering memory\n"
    "    costs; on the port that rbuf would use. From these it predicts the time of each protocol\n"
    "    by size, chooses the superpipeline's schedule, and says from where on which protocol is\n"
    "    the faster one. The schedule is for messages whose receiver waits; with early data, of\n"
    "    btl_rbuf_early_size or, if the receiver is far, more, up to 256 KB where there is\n"
    "    staging for that.\n"
    "    Place the ranks as those of the program that is to be tuned: on two\n"
    "    machines, bound to cores (--map-by node --bind-to core).\n"
    "\n"
    "    If the job runs over rbuf itself (--mca pml ob1 --mca btl rbuf,self), its own messages\n"
    "    are measured, too, and stand beside the predictions.\n"
    "\n"
    "OPTIONS (defaults in brackets)\n";

static const char TAIL[] =
    "\n"
    "OUTPUT\n"
    "    Times are those that a tenth of the rounds stay below: what else a machine does only "
    "adds\n"
    "    time. Behind each constant stands from what to what it is in four shares of the rounds.\n"
    "    Where the ranks differ the slower one counts. Progress goes to standard error.\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1 if it could not be measured or a file not be written; 2 on bad usage; 3 if only the\n"
    "    picture is missing.\n"
    "\n"
    "EXAMPLES\n"
    "    mpirun -np 2 --map-by node --mca pml ob1 --mca btl rbuf,self rbuf-tune --output "
    "rbuf.conf\n"
    "    mpirun --tune rbuf.conf -np 64 ./app\n";

static bool take_seconds(struct tune_options *options, const char *value)
{
    return bench_parse_number(value, 1, 3600, &options->seconds);
}

static bool take_output(struct tune_options *options, const char *value)
{
    options->output = value;
    return value[0] != '\0';
}

static bool take_csv(struct tune_options *options, const char *value)
{
    options->csv = value;
    return value[0] != '\0';
}

static bool take_plot(struct tune_options *options, const char *value)
{
    const char *end = strrchr(value, '.');

    options->plot = value;
    return end != NULL && end != value &&
           (strcmp(end, ".svg") == 0 || strcmp(end, ".png") == 0 || strcmp(end, ".gp") == 0);
}

static bool take_quiet(struct tune_options *options, const char *value)
{
    (void) value;
    return options->quiet = true;
}

/* `argument` is NULL where there is none to give, `take` where there is nothing to take. */
static const struct row {
    const char *name, *argument, *help, *allowed;
    bool (*take)(struct tune_options *options, const char *value);
} rows[] = {
    {"output", "FILE", "write the parameters chosen, for mpirun --tune FILE", "a file's name",
     take_output},
    {"seconds", "S", "measure for so long [10]", "seconds from 1 to 3600", take_seconds},
    {"plot", "FILE", "draw predicted and measured bandwidth (.svg, .png or .gp)",
     "a name that ends in .svg, .png or .gp", take_plot},
    {"csv", "FILE", "write predicted and measured times, for rbuf-plot", "a file's name", take_csv},
    {"quiet", NULL, "show no progress", NULL, take_quiet},
    {"help", NULL, "this text", NULL, NULL},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

void tune_print_help(FILE *stream)
{
    fputs(HEAD, stream);
    for (int i = 0; i < ROWS; i++) {
        char head[40];

        snprintf(head, sizeof head, "--%s%s%s", rows[i].name, rows[i].argument ? " " : "",
                 rows[i].argument ? rows[i].argument : "");
        fprintf(stream, "    %-17s %s\n", head, rows[i].help);
    }
    fputs(TAIL, stream);
}

static enum tune_verdict take_option(struct tune_options *options, const struct row *row)
{
    if (row->take == NULL) {
        return TUNE_HELP;
    }
    if (!row->take(options, optarg)) {
        snprintf(options->message, sizeof options->message, "--%s '%.60s': wants %s", row->name,
                 optarg, row->allowed);
        return TUNE_BAD;
    }
    return TUNE_RUN;
}

enum tune_verdict tune_parse(struct tune_options *options, int argc, char **argv)
{
    struct option known[ROWS + 1] = {0};
    enum tune_verdict verdict = TUNE_RUN;
    int index;

    *options = (struct tune_options){.seconds = 10};
    for (int i = 0; i < ROWS; i++) {
        known[i] =
            (struct option){.name = rows[i].name,
                            .has_arg = rows[i].argument == NULL ? no_argument : required_argument,
                            .val = i + 1};
    }
    opterr = 0;
    while (verdict == TUNE_RUN && (index = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (index == '?') {
            snprintf(options->message, sizeof options->message,
                     "option '%.60s': unknown, or its value is missing", argv[optind - 1]);
            return TUNE_BAD;
        }
        verdict = take_option(options, &rows[index - 1]);
    }
    if (verdict == TUNE_RUN && optind < argc) {
        snprintf(options->message, sizeof options->message, "argument '%.60s': not expected",
                 argv[optind]);
        return TUNE_BAD;
    }
    return verdict;
}
