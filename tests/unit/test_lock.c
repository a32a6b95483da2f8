/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The biased lock: an owner, or several threads, and a visitor never see each other inside.
 */
#include "common/lock.h"
#include "unit.h"

#include <time.h>

#define RUN_MS 1500

struct stage {
    struct mca_btl_rbuf_lock lock;
    bool shared;
    atomic_bool over;
    /* Guarded by the lock, and by nothing else. */
    uint64_t entries;
    volatile uint64_t words[2]; /* alike, but while somebody is inside */
    uint64_t torn;
};

static void be_inside(struct stage *stage)
{
    stage->torn += stage->words[0] != stage->words[1];
    stage->words[0]++;
    stage->words[1]++;
    stage->entries++;
}

struct visits {
    struct stage *stage;
    uint64_t inside;
};

static void *visit(void *data)
{
    struct visits *visits = data;

    while (!atomic_load(&visits->stage->over)) {
        if (mca_btl_rbuf_lock_visit(&visits->stage->lock)) {
            be_inside(visits->stage);
            visits->inside++;
            mca_btl_rbuf_lock_end_visit(&visits->stage->lock);
        }
    }
    return NULL;
}

struct comings {
    struct stage *stage;
    uint64_t inside;
};

/* Comes in by both ways, in turns. */
static void *come_and_go(void *data)
{
    struct comings *comings = data;
    struct stage *stage = comings->stage;

    for (uint64_t i = 0; !atomic_load_explicit(&stage->over, memory_order_relaxed); i++) {
        if (i % 2 == 0) {
            mca_btl_rbuf_lock_enter(&stage->lock, stage->shared);
        } else if (!mca_btl_rbuf_lock_try(&stage->lock, stage->shared)) {
            continue;
        }
        be_inside(stage);
        comings->inside++;
        mca_btl_rbuf_lock_leave(&stage->lock);
    }
    return NULL;
}

static void play(bool shared, size_t count)
{
    static struct stage stage;
    struct visits visits = {.stage = &stage};
    struct comings comings[2] = {{.stage = &stage}, {.stage = &stage}};
    const struct timespec while_they_do = {.tv_sec = RUN_MS / 1000,
                                           .tv_nsec = RUN_MS % 1000 * 1000000};
    pthread_t visitor, others[2];
    uint64_t entries;

    stage.shared = shared;
    mca_btl_rbuf_lock_open(&stage.lock);
    ck_assert_int_eq(pthread_create(&visitor, NULL, visit, &visits), 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_create(&others[i], NULL, come_and_go, &comings[i]), 0);
    }
    nanosleep(&while_they_do, NULL);
    atomic_store(&stage.over, true);
    pthread_join(visitor, NULL);
    for (size_t i = 0; i < count; i++) {
        pthread_join(others[i], NULL);
    }
    mca_btl_rbuf_lock_close(&stage.lock);
    entries = visits.inside + comings[0].inside + comings[1].inside;
    ck_assert_uint_eq(stage.torn, 0);
    ck_assert_uint_eq(stage.entries, entries);
    ck_assert_uint_gt(visits.inside, 0);
    ck_assert_uint_gt(comings[0].inside, 0);
}

START_TEST(one_thread_and_a_visitor)
{
    play(false, 1);
}
END_TEST

START_TEST(threads_and_a_visitor)
{
    play(true, 2);
}
END_TEST

/* Open MPI may learn of threads while its only one is inside. */
START_TEST(threads_from_now_on)
{
    struct mca_btl_rbuf_lock lock;

    mca_btl_rbuf_lock_open(&lock);
    mca_btl_rbuf_lock_enter(&lock, false);
    ck_assert(!mca_btl_rbuf_lock_visit(&lock));
    mca_btl_rbuf_lock_leave(&lock);
    mca_btl_rbuf_lock_enter(&lock, true);
    ck_assert(!mca_btl_rbuf_lock_try(&lock, true));
    ck_assert(!mca_btl_rbuf_lock_visit(&lock));
    mca_btl_rbuf_lock_leave(&lock);
    ck_assert(mca_btl_rbuf_lock_visit(&lock));
    ck_assert(!mca_btl_rbuf_lock_try(&lock, false));
    ck_assert(!mca_btl_rbuf_lock_try(&lock, true));
    mca_btl_rbuf_lock_end_visit(&lock);
    ck_assert(mca_btl_rbuf_lock_try(&lock, false));
    mca_btl_rbuf_lock_leave(&lock);
    mca_btl_rbuf_lock_close(&lock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lock");

    unit_add(suite, one_thread_and_a_visitor);
    unit_add(suite, threads_and_a_visitor);
    unit_add(suite, threads_from_now_on);
    return unit_run(suite);
}
