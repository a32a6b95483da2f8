/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * rbuf-tune without measuring: the command line, the machine made of constants, the advice, and the
 * files.
 */
#include "unit.h"
#include "words.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/advice.h"
#include "tune/file.h"
#include "tune/machine.h"
#include "tune/options.h"
#include "tune/parameters.h"
#include "tune/plot.h"
#include "tune/report.h"

static struct tune_options options;

static enum options_result parse(const char *line)
{
    char *arguments[WORDS_MOST + 2];
    int count = words_of("rbuf-tune", line, arguments);

    return tune_parse(&options, count, arguments);
}

START_TEST(command_line)
{
    ck_assert_int_eq(parse(""), OPTIONS_RUN);
    ck_assert_double_eq(options.seconds, 10);
    ck_assert(options.output == NULL && options.plot == NULL && options.csv == NULL);
    ck_assert_int_eq(parse("--output a.conf --seconds 2.5 --plot p.svg --csv c.csv --quiet"),
                     OPTIONS_RUN);
    ck_assert_str_eq(options.output, "a.conf");
    ck_assert_str_eq(options.plot, "p.svg");
    ck_assert_str_eq(options.csv, "c.csv");
    ck_assert_double_eq(options.seconds, 2.5);
    ck_assert(options.quiet);
    ck_assert_int_eq(parse("--help"), OPTIONS_HELP);
}
END_TEST

/* What is refused, and what the message must name. */
static const struct {
    const char *line, *named;
} refused[] = {
    {"--seconds 0", "--seconds '0'"}, {"--seconds 1x", "--seconds '1x'"},
    {"--seconds nan", "1 to 3600"},   {"--plot a.jpg", "--plot 'a.jpg'"},
    {"--plot .svg", "ends in .svg"},  {"--output", "--output"},
    {"--faster", "--faster"},         {"file", "argument 'file'"},
};

START_TEST(what_is_wrong_is_named)
{
    ck_assert_int_eq(parse(refused[_i].line), OPTIONS_BAD);
    ck_assert_msg(strstr(options.message, refused[_i].named) != NULL, "%s: %s", refused[_i].line,
                  options.message);
}
END_TEST

static struct tune_constant about(double value)
{
    return (struct tune_constant){value, 0.98 * value, 1.02 * value};
}

/* A pair of ranks like the emulated adapter's profiles; rank 1 is the slower one. */
static struct tune_measured measured_on(double bandwidth, double latency, double copy)
{
    struct tune_measured measured = {.word = about(latency + 150 + 8 / bandwidth),
                                     .gap = about(100),
                                     .bandwidth = about(bandwidth)};

    for (int rank = 0; rank < TUNE_SIDES; rank++) {
        struct tune_side *side = &measured.side[rank];
        const double slower = rank == 0 ? 1 : 1.25;

        snprintf(side->host, sizeof side->host, "host%d", rank);
        snprintf(side->port, sizeof side->port, "adapter:1");
        side->mtu = 4096;
        side->subblock = RBUF_SUBBLOCK_ON;
        for (int i = 0; i < TUNE_COPIES; i++) {
            side->send_copy[i] = about(copy / slower * (i < 8 ? 2 : 1));
            side->receive_copy[i] = about(copy / slower * (i < 8 ? 2 : 1));
        }
        side->post = about(80 * slower);
        side->post_word = about(120 * slower);
        side->pass = about(20 * slower);
        side->registration = (struct tune_line){about(60000 * slower), about(160 * slower)};
        side->release = (struct tune_line){about(800 * slower), about(8 * slower)};
    }
    return measured;
}

/* With buffers of so many blocks of 4 KB, and so much staging at the receiver. */
static struct tune_advice advise_with(const struct tune_measured *measured,
                                      enum rbuf_rendezvous rendezvous, uint16_t buffer_blocks,
                                      uint64_t staging_bytes)
{
    const struct rbuf_schedule now = {.block_bytes = 4096,
                                      .growth = RBUF_GROWTH_ONE * 3 / 2,
                                      .first_blocks = 3,
                                      .buffer_blocks = buffer_blocks,
                                      .buffers = 3};
    const struct rbuf_machine machine = tune_machine(measured, 16384);

    const struct tune_conditions conditions = {.in_order = true,
                                               .rendezvous = rendezvous,
                                               .early_bytes = 40 << 10,
                                               .total_staging_bytes = staging_bytes,
                                               .opening_bytes = 4 << 10,
                                               .staging_bytes = 1 << 20};

    return tune_advise(&machine, &now, &conditions);
}

static struct tune_advice advise_for(const struct tune_measured *measured,
                                     enum rbuf_rendezvous rendezvous)
{
    return advise_with(measured, rendezvous, 64, 16 << 20);
}

static struct tune_advice advise(const struct tune_measured *measured)
{
    return advise_for(measured, RBUF_RENDEZVOUS_OVERLAPPED);
}

/* Spares the two latencies of the rendezvous and what its messages take, less the copy that it hid;
 * what does not fit into the slot waits for the answer, which has come by then. */
START_TEST(early_data_begin_at_once)
{
    const struct tune_measured measured = measured_on(3, 1500, 40);
    const struct tune_advice waits = advise_for(&measured, RBUF_RENDEZVOUS_OVERLAPPED);
    const struct tune_advice early = advise_for(&measured, RBUF_RENDEZVOUS_EARLY);

    ck_assert_uint_eq(early.current.schedule.opening_blocks, 1);
    ck_assert_uint_eq(early.current.early_blocks, 10);
    for (uint64_t bytes = 65536; bytes <= 1 << 20; bytes *= 2) {
        double spared =
            tune_predict(&waits, TUNE_CURRENT, bytes) - tune_predict(&early, TUNE_CURRENT, bytes);

        ck_assert_double_ge(spared, 2 * 1500);
        ck_assert_double_le(spared, rbuf_model_rendezvous(&early.machine));
    }
}
END_TEST

/* The schedule may stay, and the wire have enough to carry until an answer is here. */
START_TEST(a_far_receiver_is_sent_more)
{
    const struct tune_measured near = measured_on(3, 1500, 40);
    const struct tune_measured far = measured_on(3, 15000, 40);
    const struct tune_advice as_set = advise_for(&near, RBUF_RENDEZVOUS_EARLY);
    const struct tune_advice longer = advise_for(&far, RBUF_RENDEZVOUS_EARLY);
    const struct rbuf_plan *plan = &longer.recommended;

    ck_assert_uint_eq(as_set.recommended.early_blocks, as_set.current.early_blocks);
    ck_assert_uint_ge(plan->early_blocks * plan->schedule.block_bytes, 2 * 15000 * 3);
    ck_assert_uint_le(plan->early_blocks * plan->schedule.block_bytes, 256 << 10);
    ck_assert_double_gt(longer.recommended_efficiency, 1.02 * longer.current_efficiency);
    ck_assert_double_lt(tune_predict(&longer, TUNE_RECOMMENDED, 128 << 10),
                        0.9 * tune_predict(&longer, TUNE_CURRENT, 128 << 10));
}
END_TEST

/* A window is four slots, and the largest message is to have its staging beside it. */
START_TEST(windows_fit_beside_messages)
{
    const struct tune_measured far = measured_on(3, 15000, 40);
    struct tune_advice little;
    uint32_t least, kept; /* blocks */

    for (uint64_t staging = 1280 << 10; staging <= 4 << 20; staging += 256 << 10) {
        const struct tune_advice advice = advise_with(&far, RBUF_RENDEZVOUS_EARLY, 64, staging);
        const struct rbuf_schedule *schedule = &advice.recommended.schedule;
        const uint64_t slot = advice.recommended.early_blocks * schedule->block_bytes;
        const uint64_t message =
            (uint64_t) schedule->buffers * schedule->buffer_blocks * schedule->block_bytes;

        ck_assert_uint_le(message + 4 * slot, staging);
        ck_assert_uint_le(4 * slot, staging / 2);
    }
    little = advise_with(&far, RBUF_RENDEZVOUS_EARLY, 64, 128 << 10); /* for no window at all */
    least = little.recommended.schedule.first_blocks + 1u;
    kept = (little.current.early_blocks * 4096 + little.recommended.schedule.block_bytes - 1) /
           little.recommended.schedule.block_bytes;
    ck_assert_uint_eq(little.recommended.early_blocks, kept > least ? kept : least);
}
END_TEST

/* What is set may have more staging than would be recommended; it is no worse for that. */
START_TEST(a_generous_schedule_keeps_its_merit)
{
    const struct tune_measured far = measured_on(3, 15000, 40);
    const struct tune_advice advice = advise_with(&far, RBUF_RENDEZVOUS_EARLY, 256, 16 << 20);
    const struct tune_advice waits = advise_with(&far, RBUF_RENDEZVOUS_SERIAL, 256, 16 << 20);

    ck_assert_double_ge(advice.recommended_efficiency, advice.current_efficiency);
    ck_assert_uint_gt(advice.recommended.early_blocks * advice.recommended.schedule.block_bytes,
                      advice.current.early_blocks * 4096);
    ck_assert_double_ge(waits.recommended_efficiency, waits.current_efficiency);
}
END_TEST

/* A file says how much early data there is to be, where there is any. */
START_TEST(early_data_is_a_parameter)
{
    const struct tune_measured far = measured_on(3, 15000, 40);
    const struct tune_advice early = advise_for(&far, RBUF_RENDEZVOUS_EARLY);
    const struct tune_advice waits = advise_for(&far, RBUF_RENDEZVOUS_OVERLAPPED);
    char text[8192], wanted[64];
    FILE *stream = fmemopen(text, sizeof text, "w");

    ck_assert_ptr_nonnull(stream);
    tune_print_parameters(stream, &far, &early);
    tune_print_advice(stream, &early);
    ck_assert_int_eq(fclose(stream), 0);
    snprintf(wanted, sizeof wanted, "\nbtl_rbuf_early_size=%uk\n",
             early.recommended.early_blocks * early.recommended.schedule.block_bytes >> 10);
    ck_assert_ptr_nonnull(strstr(text, wanted));
    ck_assert_ptr_nonnull(strstr(text, ", early data of 40k: "));
    stream = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(stream);
    tune_print_parameters(stream, &far, &waits);
    tune_print_advice(stream, &waits);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_ptr_null(strstr(text, "early_size"));
    ck_assert_ptr_null(strstr(text, "early data of"));
}
END_TEST

START_TEST(the_slower_side_counts)
{
    const struct tune_measured measured = measured_on(1.4, 2000, 5);
    const struct rbuf_machine machine = tune_machine(&measured, 16384);

    ck_assert_double_eq_tol(machine.overhead_ns, 100, 1e-9);
    ck_assert_double_eq_tol(machine.latency_ns, 2000, 1e-6);
    ck_assert_double_eq_tol(machine.ack_ns, 150, 1e-9);
    ck_assert_double_eq_tol(machine.register_ns, 76000, 1e-6);
    ck_assert_double_eq_tol(machine.register_page_ns, 210, 1e-6);
    ck_assert_double_eq_tol(rbuf_copy_speed_at(&machine.send_copy, 16384), 8, 1e-9);
    ck_assert_double_eq_tol(rbuf_copy_speed_at(&machine.send_copy, 64 << 20), 4, 1e-9);
    ck_assert(machine.rendezvous_ns > 0);
}
END_TEST

/* The job's own words tell what software adds to a message. */
START_TEST(traffic_tells_of_software)
{
    struct tune_measured measured = measured_on(1.4, 2000, 5);

    measured.traffic = (struct tune_traffic){.over_rbuf = true, .points = 1};
    measured.traffic.ns[0] = about(measured.word.value + 350);
    ck_assert_double_eq_tol(tune_machine(&measured, 16384).rendezvous_ns, 700, 1e-6);
    ck_assert_double_eq_tol(tune_machine(&measured, 16384).finish_ns, 350, 1e-6);
}
END_TEST

/* Where copies are faster than the network. */
START_TEST(a_slow_network)
{
    const struct tune_measured measured = measured_on(1.4, 2000, 5);
    const struct tune_advice advice = advise(&measured);
    const uint64_t size = 64 << 10;

    ck_assert(rbuf_schedule_valid(&advice.recommended.schedule));
    ck_assert_double_ge(advice.recommended_efficiency, advice.current_efficiency);
    ck_assert_double_le(advice.recommended_efficiency, 1);
    ck_assert_uint_eq(advice.copy_ends, TUNE_NO_SIZE);
    ck_assert_uint_gt(advice.beats_eager, 1024);
    ck_assert_uint_lt(advice.beats_eager, 64 << 10);
    ck_assert(tune_predict(&advice, TUNE_RECOMMENDED, size) <
              tune_predict(&advice, TUNE_COPY, size));
    ck_assert(tune_predict(&advice, TUNE_RECOMMENDED, size) <
              tune_predict(&advice, TUNE_REGISTER, size));
    ck_assert_double_eq(tune_uses(&advice, size), TUNE_NO_COUNT);
}
END_TEST

/* Where the network outruns the copies from some size on. */
START_TEST(a_fast_network)
{
    const struct tune_measured measured = measured_on(8, 1000, 6);
    const struct tune_advice advice = advise(&measured);
    double uses = tune_uses(&advice, TUNE_LARGEST);

    ck_assert_uint_eq(advice.copy_ends, tune_copy_bytes(8));
    ck_assert(tune_growth(&advice.machine, TUNE_SMALLEST) > 1);
    ck_assert_uint_lt(advice.in_place_wins, TUNE_LARGEST);
    ck_assert(uses >= 1 && uses < 100);
    ck_assert_double_lt(uses * tune_predict(&advice, TUNE_IN_PLACE, TUNE_LARGEST) +
                            tune_predict(&advice, TUNE_REGISTER, TUNE_LARGEST) -
                            tune_predict(&advice, TUNE_IN_PLACE, TUNE_LARGEST),
                        uses * tune_predict(&advice, TUNE_RECOMMENDED, TUNE_LARGEST) * 1.0001);
}
END_TEST

static const char *written(void (*print)(FILE *))
{
    static char text[32768];
    FILE *stream = fmemopen(text, sizeof text, "w");

    ck_assert_ptr_nonnull(stream);
    print(stream);
    ck_assert_int_eq(fclose(stream), 0);
    return text;
}

static void print_parameters(FILE *stream)
{
    const struct tune_measured measured = measured_on(8, 1000, 6);
    const struct tune_advice advice = advise(&measured);

    tune_print_parameters(stream, &measured, &advice);
}

static bool is_of(const char *line, const char *prefix)
{
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

/* Comments, blank lines and NAME=VALUE without a blank in it: all that a job needs to use rbuf. */
START_TEST(parameter_file)
{
    char text[32768];
    int parameters = 0, selections = 0;

    snprintf(text, sizeof text, "%s", written(print_parameters));
    ck_assert_ptr_nonnull(strstr(text, "# rank 1: host1, port adapter:1\n"));
    ck_assert_ptr_nonnull(strstr(text, "B_net 8.000 GB/s"));
    ck_assert_ptr_nonnull(strstr(text, "\nbtl_rbuf_registration_time=75000ns\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nbtl_rbuf_registration_page_time=200ns\n"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] != '#') {
            ck_assert_msg(strchr(line, '=') != NULL && strchr(line, ' ') == NULL, "%s", line);
            parameters += is_of(line, "btl_rbuf_");
            selections += is_of(line, "pml=ob1") || is_of(line, "btl=rbuf,") ||
                          is_of(line, "mca_base_component_path=SYS_DEFAULT:/");
        }
    }
    ck_assert_int_eq(parameters, 7);
    ck_assert_int_eq(selections, 3);
}
END_TEST

static void print_report(FILE *stream)
{
    struct tune_measured measured = measured_on(8, 1000, 6);
    struct tune_advice advice;
    struct rbuf_machine machine;

    measured.traffic = (struct tune_traffic){.over_rbuf = true, .points = 2, .bytes = {8, 4096}};
    measured.traffic.ns[0] = about(1500);
    measured.traffic.ns[1] = about(2500);
    advice = advise(&measured);
    machine = tune_machine(&measured, 16384);
    tune_print_constants(stream, &measured, &machine);
    tune_print_times(stream, &measured, &advice, "superpipeline", 12288);
    tune_print_advice(stream, &advice);
    tune_print_csv(stream, &measured, &advice, "superpipeline");
}

START_TEST(report)
{
    const char *text = written(print_report);

    ck_assert_ptr_nonnull(strstr(text, "lambda, latency"));
    ck_assert_ptr_nonnull(strstr(text, "  2.5  ("));
    ck_assert_ptr_nonnull(strstr(text, "(q falls to 1): from 1048576 bytes on"));
    ck_assert_ptr_nonnull(strstr(text, "protocol auto or rcache"));
    ck_assert_ptr_nonnull(
        strstr(text, "superpipeline as it is (measured),4096,reused,pingpong,bytes,warm,1,2.500"));
    ck_assert_ptr_nonnull(strstr(text, "recommended (predicted),67108864,"));
}
END_TEST

static bool warns(double low, double high)
{
    struct tune_measured measured = measured_on(8, 1000, 6);
    char text[1024] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");

    measured.bandwidth.low = low;
    measured.bandwidth.high = high;
    ck_assert_ptr_nonnull(stream);
    tune_print_doubts(stream, &measured);
    ck_assert_int_eq(fclose(stream), 0);
    return strstr(text, "Measure again") != NULL;
}

START_TEST(a_busy_machine_is_told)
{
    ck_assert(!warns(7.5, 8.2));
    ck_assert(warns(4, 8.2));
}
END_TEST

START_TEST(files_appear_whole_or_not_at_all)
{
    char directory[] = "/tmp/test_tune.XXXXXX", path[64], why[600] = "";
    struct tune_file file;
    struct stat there;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/file", directory);
    ck_assert(tune_file_open(&file, path, why, sizeof why));
    ck_assert_int_ne(stat(path, &there), 0);
    fputs("text", file.stream);
    ck_assert(tune_file_finish(&file, why, sizeof why));
    ck_assert_int_eq(stat(path, &there), 0);
    ck_assert_int_eq(there.st_size, 4);
    ck_assert(tune_file_open(&file, path, why, sizeof why));
    tune_file_abandon(&file);
    ck_assert_int_eq(stat(path, &there), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(directory), 0); /* nothing else is left */
    ck_assert(!tune_file_open(&file, path, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, path));
    ck_assert(tune_file_open(&file, NULL, why, sizeof why));
    ck_assert(tune_file_finish(&file, why, sizeof why));
}
END_TEST

/* A device that takes nothing. */
START_TEST(a_full_disk_is_told)
{
    struct tune_file file = {.path = "/nowhere/at/all"};
    char why[600] = "";

    snprintf(file.partial, sizeof file.partial, "/nowhere/at/all.partial");
    file.stream = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(file.stream);
    fputs("text", file.stream);
    ck_assert(!tune_file_finish(&file, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "No space left"));
}
END_TEST

START_TEST(help_fits_a_terminal)
{
    const char *line = written(tune_print_help);

    ck_assert_ptr_nonnull(strstr(line, "--output FILE"));
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");

        ck_assert_msg(length <= 96, "%.*s", (int) length, line);
        line += length + (line[length] == '\n');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune");

    unit_add(suite, command_line);
    unit_add_loop(suite, what_is_wrong_is_named, (int) (sizeof refused / sizeof refused[0]));
    unit_add(suite, a_far_receiver_is_sent_more);
    unit_add(suite, windows_fit_beside_messages);
    unit_add(suite, a_generous_schedule_keeps_its_merit);
    unit_add(suite, early_data_is_a_parameter);
    unit_add(suite, the_slower_side_counts);
    unit_add(suite, early_data_begin_at_once);
    unit_add(suite, traffic_tells_of_software);
    unit_add(suite, a_slow_network);
    unit_add(suite, a_fast_network);
    unit_add(suite, parameter_file);
    unit_add(suite, report);
    unit_add(suite, a_busy_machine_is_told);
    unit_add(suite, files_appear_whole_or_not_at_all);
    unit_add(suite, a_full_disk_is_told);
    unit_add(suite, help_fits_a_terminal);
    return unit_run(suite);
}
