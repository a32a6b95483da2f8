#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# PMIx 4.2 gives processes other node names than the launcher's, where a name ends in a number of 2^31 or more.
#
# Software: OpenPMIx 4.2.2 (Debian 12) and 5.0.7 (Debian 13).
# Input: a PMIx server gives a list of node names to PMIx_generate_regex, registers a job with the result as its node
# map (PMIX_NODE_MAP), and asks for the job's nodes by PMIx_Resolve_nodes.
# Expected by the PMIx Standard (PMIx_generate_regex, PMIx_Resolve_nodes): the names that went in, whatever form they
# take in between. RFC 1123, 2.1, lets a host name have 63 characters, digits among them.
# Seen: 4.2.2 keeps the number at the end of a name in 32 bits. It invents names: 10000000001 becomes 01410065409. Two
# nodes can become one. Where the number becomes negative, the job has no nodes. No call before the question
# returns an error. 5.0.7 is right: unless it is told otherwise, it sends the list as it is. With PMIX_MCA_preg=native
# it takes the form of 4.2.2, and gives the same names.
#
#     PMIx             node names in             names out
#     4.2.2            n2147483646,n2147483647   n2147483646,n2147483647
#     4.2.2            n2147483648,n2147483649   none
#     4.2.2            n0000000001,n4294967297   n0000000001,n0000000001
#     4.2.2            n10000000001,n10000000002 n01410065409,n01410065410
#     4.2.2            c20261128001,c20261128002 none
#     4.2.2            n007,n010                 n007,n010
#     5.0.7            all six                   as they went in
#     5.0.7, native    all six                   as with 4.2.2
#     as stated
#
# What it means: where nodes have such names (a date and a counter, for example), what a job under PMIx 4 learns about
# them may be wrong. rbuf asks PMIx for no names.
#
# Usage: findings/pmix-node-names.sh. It takes a minute and 40 MB for packages, unpacked in a temporary directory; it
# needs gcc and apt. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=pmix-node-names

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
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void note_end(pmix_status_t status, void *ready)
{
    *(volatile int *) ready = status == PMIX_SUCCESS ? 1 : 2;
}

static void resolve(char *list, uint32_t number)
{
    uint32_t size = strchr(list, ',') == NULL ? 1 : 2;
    volatile int ready = 0;
    pmix_nspace_t job;
    pmix_info_t info[3];
    pmix_status_t status;
    char *nodes, *ranks, *found = NULL;

    memset(job, 0, sizeof(job));
    snprintf(job, sizeof(job), "job%u", number);
    if (PMIx_generate_regex(list, &nodes) != PMIX_SUCCESS ||
        PMIx_generate_ppn(size == 1 ? "0" : "0;1", &ranks) != PMIX_SUCCESS) {
        printf("%s regex fails\n", list);
        return;
    }
    PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, ranks, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[2], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    status = PMIx_server_register_nspace(job, 0, info, 3, note_end, (void *) &ready);
    while (status == PMIX_SUCCESS && ready == 0) {
        usleep(100);
    }
    if (ready != 1) {
        printf("%s register fails\n", list);
        return;
    }
    status = PMIx_Resolve_nodes(job, &found);
    printf("%s %s\n", list, status == PMIX_SUCCESS && found != NULL ? found : "none");
}

int main(int argc, char **argv)
{
    if (PMIx_server_init(NULL, NULL, 0) != PMIX_SUCCESS) {
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        resolve(argv[i], i);
    }
    PMIx_server_finalize();
    return 0;
}
EOF
}

run() { # SUITE VERSION [VARIABLE=VALUE]
    local library=$work/$1/usr/lib/x86_64-linux-gnu
    # A plugin of this machine fits this machine's PMIx only.
    env TMPDIR="$work" PMIX_MCA_pcompress=^zlib PMIX_MCA_pcompress_base_silence_warning=1 ${3:+"$3"} \
        timeout 60 "$(find "$work/$1" -name ld-linux-x86-64.so.2 | head -n 1)" \
        --library-path "$library:$work/$1/lib/x86_64-linux-gnu" "$work/program" "${lists[@]}" >"$work/out" 2>"$work/log" ||
        give_up "PMIx $2: $(tail -n 3 "$work/log")"
    awk -v version="$2" '{ printf "%-16s %-25s %s\n", version, $1, $2 }' "$work/out" | tee -a "$work/table"
}

lists=("n2147483646,n2147483647" "n2147483648,n2147483649" "n0000000001,n4294967297" "n10000000001,n10000000002"
    "c20261128001,c20261128002" "n007,n010")
wrong='n2147483646,n2147483647
none
n0000000001,n0000000001
n01410065409,n01410065410
none
n007,n010'

[ "$(uname -m)" = x86_64 ] || give_up "the packages are for x86_64"
command -v gcc >/dev/null || give_up "gcc is missing"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
fetch bookworm libpmix2=4.2.2-1+deb12u1 libpmix-dev libmunge2 libevent-core-2.1-7 libevent-pthreads-2.1-7 \
    libhwloc15 libudev1 zlib1g libc6
fetch trixie libpmix2t64=5.0.7-1 libmunge2 libcap2 libevent-core-2.1-7t64 libevent-pthreads-2.1-7t64 libhwloc15 \
    libudev1 zlib1g libc6
write_program | gcc -std=gnu11 -x c - -o "$work/program" -I"$work/bookworm/usr/lib/x86_64-linux-gnu/pmix2/include" \
    -x none "$work/bookworm/usr/lib/x86_64-linux-gnu/libpmix.so.2" -Wl,--allow-shlib-undefined 2>"$work/log" ||
    give_up "gcc: $(tail -n 1 "$work/log")"
changed=
printf '%-16s %-25s %s\n' PMIx "node names in" "names out"
run bookworm 4.2.2
[ "$(awk '{ print $2 }' "$work/out")" = "$wrong" ] || changed+=" 4.2.2"
run trixie 5.0.7
[ "$(awk '{ print $2 }' "$work/out")" = "$(awk '{ print $1 }' "$work/out")" ] || changed+=" 5.0.7"
run trixie "5.0.7, native" PMIX_MCA_preg=native
[ "$(awk '{ print $2 }' "$work/out")" = "$wrong" ] || changed+=" native"
if [ -n "$changed" ]; then
    echo "changed: PMIx$changed"
    exit 1
fi
echo "as stated"
