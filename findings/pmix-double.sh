#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# PMIx passes a double to other processes as text with six decimals: a rank gets 0 where another one has put 1e-7.
#
# Software: OpenPMIx 4.2.2 (Debian 12), 5.0.7 (Debian 13) and 7.0.0rc1 (unstable).
# Input: one program is a server and starts two clients. Rank 0 calls PMIx_Put with values of type PMIX_DOUBLE, then
# PMIx_Commit. After PMIx_Fence with PMIX_COLLECT_DATA both ranks get rank 0's values by PMIx_Get.
# Expected by the PMIx Standard (pmix_value_t; PMIx_Put, PMIx_Get): the value that was put. The member dval has the C
# type double, and no text of it names a loss.
# Seen: what lies behind the sixth decimal is lost, and no call returns an error. With 5.0.7 and 7.0.0rc1 two
# ranks see different values of one key. With 4.2.2 not even rank 0 gets what it has put.
#
#     PMIx                          put             rank 0 gets             rank 1 gets
#     4.2.2                         0.5                     0.5                     0.5
#     4.2.2          3.1415926535897931      3.1415929999999999      3.1415929999999999
#     4.2.2      9.9999999999999995e-08                       0                       0
#     4.2.2         -1234.5678901234501             -1234.56789             -1234.56789
#     4.2.2      6.0221407599999999e+23  6.0221407599999999e+23  6.0221407599999999e+23
#     5.0.7                         0.5                     0.5                     0.5
#     5.0.7          3.1415926535897931      3.1415926535897931      3.1415929999999999
#     5.0.7      9.9999999999999995e-08  9.9999999999999995e-08                       0
#     5.0.7         -1234.5678901234501     -1234.5678901234501             -1234.56789
#     5.0.7      6.0221407599999999e+23  6.0221407599999999e+23  6.0221407599999999e+23
#     7.0.0~rc1 as 5.0.7
#     as stated
#
# Why: packing writes a double, and a float, with six decimals into the message, and unpacking reads this text. So
# PMIx_Data_pack and PMIx_Data_unpack alone show the same.
# For a user of rbuf: nothing, rbuf puts integers and bytes only. A program that gives measured times or shares to
# others through PMIx should put them as bytes (PMIX_BYTE_OBJECT).
#
# Usage: findings/pmix-double.sh. It takes a minute and 60 MB for packages, unpacked in a temporary directory; it
# needs gcc and apt. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=pmix-double

give_up() { # REASON
    echo "$name: $1" >&2
    exit 2
}

mirror() { # LABEL: where this machine gets Debian from
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" \
        'Component: main' 2>/dev/null | head -n 1
}

# Unpacks packages of a release into $work/SUITE. Where the mirror has a version no more, what the release has is taken.
fetch() { # SUITE PACKAGE[=VERSION]...
    local suite=$1 apt=$work/apt-$1 main each packages=() keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    shift
    main=$(mirror Debian)
    [ -n "$main" ] || give_up "apt's sources name no mirror of Debian; apt-get update may help"
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    mkdir -p "$apt"/{lists,archives}/partial "$apt"/{state,parts} "$work/$suite"
    : >"$apt/status"
    echo "deb $option$main $suite main" >"$apt/sources.list"
    printf '%s;\n' "Dir::State \"$apt/state\"" "Dir::State::lists \"$apt/lists\"" "Dir::State::status \"$apt/status\"" \
        "Dir::Cache \"$apt\"" "Dir::Etc::sourcelist \"$apt/sources.list\"" "Dir::Etc::sourceparts \"$apt/parts\"" \
        "Dir::Etc::preferencesparts \"$apt/parts\"" 'APT::Architecture "amd64"' 'APT::Sandbox::User "root"' \
        'Acquire::Languages "none"' >"$apt/apt.conf"
    export APT_CONFIG=$apt/apt.conf
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $suite: $(tail -n 1 "$work/log")"
    for each in "$@"; do
        apt-cache show "$each" >/dev/null 2>&1 || each=${each%%=*}
        packages+=("$each")
    done
    (cd "$work/$suite" && apt-get -q download "${packages[@]}") >"$work/log" 2>&1 ||
        give_up "no packages of Debian's $suite: $(tail -n 1 "$work/log")"
    for each in "$work/$suite"/*.deb; do
        dpkg-deb -x "$each" "$work/$suite" || give_up "$each cannot be unpacked"
    done
    unset APT_CONFIG
}

write_program() {
    cat <<'EOF'
/* Without an argument the server, with one a client. */
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUES = 5 };

static const double values[VALUES] = {0.5, 3.141592653589793, 1e-7, -1234.56789012345, 6.02214076e23};
static pmix_nspace_t job = "job";

static void must(int good, const char *what)
{
    if (!good) {
        printf("%s failed\n", what);
        exit(2);
    }
}

static void name_key(char key[8], int number)
{
    snprintf(key, 8, "key%d", number);
}

static int be_client(void)
{
    pmix_proc_t me, first;
    pmix_value_t value = {.type = PMIX_DOUBLE}, *got;
    pmix_info_t collect;
    bool yes = true;
    char key[8];

    must(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "PMIx_Init");
    for (int i = 0; me.rank == 0 && i < VALUES; i++) {
        name_key(key, i);
        value.data.dval = values[i];
        must(PMIx_Put(PMIX_GLOBAL, key, &value) == PMIX_SUCCESS, "PMIx_Put");
    }
    must(PMIx_Commit() == PMIX_SUCCESS, "PMIx_Commit");
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    must(PMIx_Fence(NULL, 0, &collect, 1) == PMIX_SUCCESS, "PMIx_Fence");
    PMIX_LOAD_PROCID(&first, job, 0);
    for (int i = 0; i < VALUES; i++) {
        name_key(key, i);
        must(PMIx_Get(&first, key, NULL, 0, &got) == PMIX_SUCCESS, "PMIx_Get");
        must(got->type == PMIX_DOUBLE, "the type");
        printf("%u %.17g %.17g\n", me.rank, values[i], got->data.dval);
    }
    fflush(stdout);
    PMIx_Fence(NULL, 0, NULL, 0);
    return PMIx_Finalize(NULL, 0) != PMIX_SUCCESS;
}

/* All processes are here, so what they give is what all get. */
static pmix_status_t do_fence(const pmix_proc_t processes[], size_t count, const pmix_info_t info[], size_t infos,
                              char *data, size_t size, pmix_modex_cbfunc_t done, void *what)
{
    (void) processes, (void) count, (void) info, (void) infos;
    done(PMIX_SUCCESS, data, size, what, NULL, NULL);
    return PMIX_SUCCESS;
}

static pmix_status_t note_client(const pmix_proc_t *client, void *own, pmix_op_cbfunc_t done, void *what)
{
    (void) client, (void) own, (void) done, (void) what;
    return PMIX_OPERATION_SUCCEEDED;
}

static void note_end(pmix_status_t status, void *ready)
{
    must(status == PMIX_SUCCESS, "the server's call");
    *(volatile int *) ready = 1;
}

static void wait_for(volatile int *ready, pmix_status_t status)
{
    must(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED, "the server's call");
    while (status == PMIX_SUCCESS && !*ready) {
        usleep(100);
    }
    *ready = 0;
}

static void start_client(uint32_t rank)
{
    extern char **environ;
    volatile int ready = 0;
    char **set = calloc(1, sizeof(*set));
    pmix_proc_t process;

    PMIX_LOAD_PROCID(&process, job, rank);
    wait_for(&ready, PMIx_server_register_client(&process, getuid(), getgid(), NULL, note_end, (void *) &ready));
    must(PMIx_server_setup_fork(&process, &set) == PMIX_SUCCESS, "PMIx_server_setup_fork");
    if (fork() == 0) {
        for (int i = 0; set[i] != NULL; i++) {
            putenv(set[i]);
        }
        execle("/proc/self/exe", "client", "client", NULL, environ);
        _exit(2);
    }
}

int main(int argc, char **argv)
{
    static pmix_server_module_t module = {
        .client_connected = note_client, .client_finalized = note_client, .fence_nb = do_fence};
    volatile int ready = 0;
    char host[256], *nodes, *ranks;
    uint32_t two = 2;
    pmix_info_t info[5];
    int status, failed = 0;

    (void) argv;
    if (argc > 1) {
        return be_client();
    }
    must(PMIx_server_init(&module, NULL, 0) == PMIX_SUCCESS, "PMIx_server_init");
    gethostname(host, sizeof(host));
    must(PMIx_generate_regex(host, &nodes) == PMIX_SUCCESS, "PMIx_generate_regex");
    must(PMIx_generate_ppn("0,1", &ranks) == PMIX_SUCCESS, "PMIx_generate_ppn");
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, ranks, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &two, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[3], PMIX_LOCAL_SIZE, &two, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[4], PMIX_LOCAL_PEERS, "0,1", PMIX_STRING);
    wait_for(&ready, PMIx_server_register_nspace(job, 2, info, 5, note_end, (void *) &ready));
    start_client(0);
    start_client(1);
    while (wait(&status) > 0) {
        failed |= status;
    }
    PMIx_server_finalize();
    return failed ? 2 : 0;
}
EOF
}

# Compiles the program so that it starts with a release's libraries, and runs it.
run() { # SUITE VERSION
    local library=$work/$1/usr/lib/x86_64-linux-gnu linker
    linker=$(find "$work/$1" -name ld-linux-x86-64.so.2 | head -n 1)
    write_program | gcc -std=gnu11 -O1 -x c - -o "$work/$1/program" -I"$library/pmix2/include" -x none \
        "$library/libpmix.so.2" -Wl,--allow-shlib-undefined,--dynamic-linker="$linker",--disable-new-dtags \
        -Wl,-rpath,"$library:$work/$1/lib/x86_64-linux-gnu" 2>"$work/log" || give_up "gcc: $(tail -n 1 "$work/log")"
    # A plugin of this machine fits this machine's PMIx only.
    TMPDIR=$work PMIX_MCA_pcompress=^zlib PMIX_MCA_pcompress_base_silence_warning=1 \
        timeout 60 "$work/$1/program" >"$work/out" 2>"$work/log" || give_up "PMIx of $1: $(cat "$work/out" "$work/log")"
    sort -k1,1n -s "$work/out" | awk -v version="$2" '
        $1 == 0 { first[++n] = $3 }
        $1 == 1 { printf "%-9s %23s %23s %23s\n", version, $2, first[++m], $3 }' | tee -a "$work/table"
}

[ "$(uname -m)" = x86_64 ] || give_up "the packages are for x86_64"
command -v gcc >/dev/null || give_up "gcc is missing"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
common="libpmix-dev libhwloc15 libudev1 zlib1g libc6"
printf '%-9s %23s %23s %23s\n' PMIx put "rank 0 gets" "rank 1 gets"
while read -r suite package others; do
    # shellcheck disable=SC2086 # words
    fetch "$suite" "$package" $common $others
    version=$(cd "$work/$suite" && echo libpmix2*.deb)
    version=${version#*_}
    run "$suite" "${version%%-*}"
done <<EOF
bookworm libpmix2=4.2.2-1+deb12u1 libmunge2 libevent-core-2.1-7 libevent-pthreads-2.1-7
trixie libpmix2t64=5.0.7-1 libmunge2 libcap2 libevent-core-2.1-7t64 libevent-pthreads-2.1-7t64
sid libpmix2t64=7.0.0~rc1-2+b1 libesmtp6 libssl3t64 libzstd1 libevent-core-2.1-7t64 libevent-pthreads-2.1-7t64
EOF
# With all three releases 0.5 and 6.02214076e+23 arrive, and the others do not.
lost=$(awk '$2 != $4 { print $2 }' "$work/table" | LC_ALL=C sort | uniq -c | awk '{ print $1 "*" $2 }' | paste -sd' ')
if [ "$lost" != "3*-1234.5678901234501 3*3.1415926535897931 3*9.9999999999999995e-08" ]; then
    echo "changed: what rank 1 does not get: $lost"
    exit 1
fi
echo "as stated"
