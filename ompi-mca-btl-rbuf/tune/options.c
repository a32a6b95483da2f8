/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-tune: its table, and the rest of its help.
 */
#include "tune/options.h"

#include <string.h>

#include "common/values.h"

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
    "    the faster one. The schedule is for messages whose receiver waits; where early data\n"
    "    are on there are some, of btl_rbuf_early_size or, if the receiver is far, more,\n"
    "    up to 256 KB where there is staging for them.\n"
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

static const char *take_seconds(void *target, const char *value)
{
    struct tune_options *options = target;

    return value_number(value, 1, 3600, &options->seconds) ? NULL : "seconds from 1 to 3600";
}

static const char *take_file(const char **file, const char *value)
{
    *file = value;
    return value[0] != '\0' ? NULL : "a file's name";
}

static const char *take_output(void *target, const char *value)
{
    struct tune_options *options = target;

    return take_file(&options->output, value);
}

static const char *take_csv(void *target, const char *value)
{
    struct tune_options *options = target;

    return take_file(&options->csv, value);
}

static const char *take_plot(void *target, const char *value)
{
    const char *end = strrchr(value, '.');
    struct tune_options *options = target;

    options->plot = value;
    if (end != NULL && end != value &&
        (strcmp(end, ".svg") == 0 || strcmp(end, ".png") == 0 || strcmp(end, ".gp") == 0)) {
        return NULL;
    }
    return "a name that ends in .svg, .png or .gp";
}

static const char *take_quiet(void *target, const char *value)
{
    struct tune_options *options = target;

    (void) value;
    options->quiet = true;
    return NULL;
}

static const struct option_row rows[] = {
    {"output", "FILE", NULL, "write the parameters chosen, for mpirun --tune FILE", take_output},
    {"seconds", "S", "10", "measure for so long", take_seconds},
    {"plot", "FILE", NULL, "draw predicted and measured bandwidth (.svg, .png or .gp)", take_plot},
    {"csv", "FILE", NULL, "write predicted and measured times, for rbuf-plot", take_csv},
    {"quiet", NULL, NULL, "show no progress", take_quiet},
    {"help", NULL, NULL, "this text", NULL},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

void tune_print_help(FILE *stream)
{
    fputs(HEAD, stream);
    options_print(stream, rows, ROWS);
    fputs(TAIL, stream);
}

enum options_result tune_parse(struct tune_options *options, int argc, char **argv)
{
    *options = (struct tune_options){0};
    return options_parse(rows, ROWS, options, argc, argv, options->message);
}
