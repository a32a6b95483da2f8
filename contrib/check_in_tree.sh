#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Builds Open MPI 4.1 or 5.0 with btl/rbuf and osc/rbuf inside and runs the MPI tests there.
#
#   contrib/check_in_tree.sh [--form dso|static] [--build DIR] [--suite SUITE | --ompi FILE] [--jobs N]
#                            [--transports LIST] [--only REGEX] [--all] [STEP...]
#
# Steps, in order and all by default:
#   source    Debian's source package of Open MPI, from the mirror that this machine's apt uses: of SUITE, by
#             default trixie (Debian 13), which has 5.0; or FILE, a .dsc or an upstream tarball
#   graft     autogen.pl --ompi-tree, then Open MPI's own autogen.pl
#   configure
#   ompi      make and install into DIR/prefix; the components also with more warnings than Open MPI asks for
#   features  configure --without-helper --without-reuse, and the components alone compiled
#   rbuf      this tree against that Open MPI: the emulated HCA and the test programs
#   mpi       the MPI tests with every protocol (or those of LIST), over the components inside; with --only those
#             whose names match
#   is        NAS IS, classes S and W, likewise; its keys exchanged by messages, and by puts over osc/rbuf
# What has succeeded in DIR is not done again, unless the form, the components or what they are built with have changed;
# rbuf, features, mpi and is always are. A step that was ended goes on where it stopped. DIR has one form at a time: the
# other one compiles little anew.
#
# Forms, both with --enable-debug, that is with Open MPI's assertions:
#   dso       mca_btl_rbuf.so and mca_osc_rbuf.so; the system's libevent, hwloc and, if it is new enough, PMIx. This is
#             the default.
#   static    btl/rbuf within libopen-pal, osc/rbuf within libmpi; with 4.1 the libevent, hwloc and PMIx that come
#             with Open MPI, so that all is compiled anew
#
# Half an hour on two cores, most of it the step ompi. Nothing of the system is changed. DIR is build/in_tree by
# default, about 1.2 GB; logs are in DIR/FORM/logs. The last line counts; the exit status is 0 if nothing failed.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/in_tree
form=dso
ompi=
suite=trixie
jobs=$(nproc)
transports=
only=
long=()
steps=()
all_steps="source graft configure ompi features rbuf mpi is"

refuse() {
    echo "check_in_tree.sh: $* (--help explains)" >&2
    exit 2
}

while test $# -gt 0; do
    case $1 in
    -h | --help)
        sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --all) long=(--all) ;;
    --form | --build | --suite | --ompi | --jobs | --transports | --only)
        test $# -ge 2 || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    *)
        [[ " $all_steps " == *" $1 "* ]] || refuse "no step or option '$1'"
        steps+=("$1")
        ;;
    esac
    shift
done
[[ $form == dso || $form == static ]] || refuse "no form '$form'"
test ${#steps[@]} -gt 0 || read -ra steps <<<"$all_steps"
test -z "$ompi" || ompi=$(realpath -e "$ompi") || exit 2
mkdir -p "$build/$form/logs" && build=$(cd "$build" && pwd) || exit 2
tree=$build/tree
objects=$build/ompi
prefix=$build/prefix
features=$build/features
TALLY_LOGS=$build/$form/logs
. "$top/tests/tally.sh"
. "$top/contrib/transports.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Whatever else is installed: the Open MPI that is made here.
export PATH="$prefix/bin:$PATH" RBUF_COMPONENT_DIR="" MPIRUN="$prefix/bin/mpirun"
export SOFTHCA=$build/rbuf/prefix/bin/softhca

# What the tests have no use for. One-sided tests go over osc/rbuf and osc/rdma.
left_out=btl-openib,btl-ofi,btl-portals4,btl-scif,btl-smcuda,btl-uct,btl-ugni,btl-usnic
left_out+=,coll-adapt,coll-ftagree,coll-han,coll-hcoll,coll-monitoring,coll-spacc,coll-ucc
left_out+=,common-cuda,common-monitoring,common-ofi,common-ompio,common-ucx,common-verbs
left_out+=,common-verbs_usnic,crcp,crs,fbtl,fcoll,fs,io,mtl,op-avx,osc-monitoring,osc-pt2pt,osc-ucx
left_out+=,pml-cm,pml-monitoring,pml-ucx,pml-v,rcache-gpusm,rcache-rgpusm,sharedfp,topo-treematch
left_out+=,vprotocol
options=(--disable-mpi-fortran --disable-mpi-java --disable-oshmem --disable-man-pages --disable-sphinx
    --with-devel-headers --without-ucx --without-psm2 --without-ofi "--enable-mca-no-build=$left_out")

# The components, and what they are to compile with without a warning: what Open MPI's --enable-picky adds, and more.
parts=(opal/mca/btl/rbuf ompi/mca/osc/rbuf)
picky="-Wall -Wextra -Wundef -Wshadow -Wpointer-arith -Wmissing-prototypes -Wstrict-prototypes -pedantic"

# The series of the tree, as 5.
series() {
    sed -n 's/^major=//p' "$tree/VERSION"
}

# Does a thing once: a file says for what it was done. Returns 1 if it failed or was skipped.
once() { # NAME KEY COMMAND...
    local done=$build/$1.done name=$1 key=$2 before=$skipped
    shift 2
    if test "$(cat "$done" 2>/dev/null)" = "$key"; then
        pass "$name" "done before"
        return
    fi
    rm -f "$done"
    try "$name" "$@" && test "$skipped" -eq "$before" && echo "$key" >"$done"
}

# A checksum of the components' files in the tree, those that FIND-EXPRESSION selects.
sum_of() { # FIND-EXPRESSION...
    (cd "$tree" && find "${parts[@]}" -type f ! -name Makefile.in "$@" -print0 | sort -z |
        xargs -0 sha256sum) | sha256sum | cut -c -16
}

# Of which Open MPI it is, and how the components are built: what autogen.pl and configure depend on.
key_of_build() {
    echo "${ompi:-$suite} $(sum_of '(' -name Makefile.am -o -name '*.m4' -o -name '*.mk' ')')"
}

# Where this machine gets Debian from.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' 2>/dev/null | head -n 1
}

# The suite's source package, by an apt that keeps all that it fetches to itself.
fetch() (
    apt=$build/apt.$suite
    if ! command -v apt-get >/dev/null || ! command -v dpkg-source >/dev/null; then
        echo "no apt-get and dpkg-source (package dpkg-dev) here; give a tarball with --ompi"
        return 77
    fi
    uri=$(mirror)
    rm -rf "$apt" && mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" || return
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${uri:-http://deb.debian.org/debian}" \
        "$suite main" >"$apt/sources/$suite.list"
    set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" \
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
    if ! apt-get "$@" --error-on=any update; then
        echo "apt has no sources of Debian $suite"
        return 77
    fi
    cd "$apt" && apt-get "$@" source --download-only openmpi
)

unpack() {
    local file=$ompi apt=$build/apt.$suite
    if test -z "$file"; then
        test -e "$apt/fetched" || { fetch && touch "$apt/fetched"; } || return
        file=$(find "$apt" -maxdepth 1 -name 'openmpi_*.dsc' | head -n 1)
    fi
    rm -rf "$tree" "$objects" "$prefix" "$build"/*.done
    case $file in
    *.dsc) dpkg-source --no-check -x "$file" "$tree" ;;
    *) mkdir -p "$tree" && tar -C "$tree" --strip-components=1 -xf "$file" ;;
    esac || return
    grep -E '^(major|minor|release)=' "$tree/VERSION"
}

# Debian's tree has lost a generated file that its autogen.pl needs.
run_autogen() (
    export AUTOMAKE_JOBS=$jobs
    cd "$tree" || return
    test -e config/opal_get_version.sh ||
        (cd config && autom4te --language=m4sh opal_get_version.m4sh -o opal_get_version.sh) || return
    if test "$(series)" -eq 4; then
        set -- --no-oshmem
    fi
    ./autogen.pl --force "$@"
)

# Sets all_options. Open MPI 5 puts components into its libraries unless told, and 4.1 makes each one a DSO.
choose_options() {
    local form_of_libraries=external pmix=external
    all_options=("${options[@]}")
    if test "$(series)" -eq 4; then
        all_options+=(--disable-mpi-cxx)
        pmix=$(pkg-config --variable=prefix pmix)
        test $form = dso || form_of_libraries=internal pmix=internal
    elif ! pkg-config --atleast-version=4.2.4 pmix; then
        pmix=internal # Debian 12's is older than what PRRTE takes
    fi
    all_options+=("--with-libevent=$form_of_libraries" "--with-hwloc=$form_of_libraries" "--with-pmix=$pmix")
    # A debug build is made without optimization, unless told: the tests have limits of time.
    all_options+=(--enable-debug "CFLAGS=-O1 -g")
}

# What was compiled with other options is of no use, but for the form: make sees what of Open MPI it concerns. The
# components are compiled anew.
configure_ompi() (
    test "$(cat "$objects/options" 2>/dev/null)" = "${all_options[*]}" || rm -rf "$objects" "$prefix"
    rm -rf "$objects"/{opal/mca/btl,ompi/mca/osc}/rbuf
    find "$prefix" -name 'mca_*_rbuf.*' -delete 2>/dev/null
    mkdir -p "$objects" && cd "$objects" && echo "${all_options[*]}" >options &&
        "$tree/configure" --prefix="$prefix" "${all_options[@]}" "--enable-mca-$form=btl-rbuf,osc-rbuf" || return
    for component in opal_btl_rbuf ompi_osc_rbuf; do
        grep "^MCA_BUILD_${component}_DSO_TRUE='$(test $form = dso || echo '#')'" config.log || return
    done
)

# What a library exports of rbuf.
exported() { # LIBRARY
    nm -D --defined-only "$prefix/lib/$1" | sed -n 's/^[0-9a-f]* [A-Za-z] \(.*rbuf.*\)$/\1/p' | tee /dev/stderr
}

# check_component FRAMEWORK PARAMETER LIBRARY: whether rbuf's component of that framework is a DSO or in that library,
# as the form has it, and answers ompi_info.
check_component() {
    local dso
    dso=$(find "$prefix/lib" -name "mca_$1_rbuf.so") # Debian has a folder of its own for components
    case $form in
    dso) test -n "$dso" || return ;;
    static) test -z "$dso" && test "$(exported "$3")" = "mca_$1_rbuf_component" || return ;;
    esac
    test -s "$prefix/share/openmpi/help-mpi-$1-rbuf.txt" &&
        "$prefix/bin/ompi_info" --param "$1" rbuf --level 9 | grep "parameter \"$2\""
}

# What is to be true of all of Open MPI, and of programs that are linked with it.
check_form() {
    "$prefix/bin/ompi_info" | grep 'Internal debug support: yes' || return
    "$prefix/bin/mpicc" --showme:link
    ! "$prefix/bin/mpicc" --showme:link | grep -e 'z,defs' -e 'open-pal.la'
}

# compile_picky [VARIABLE=VALUE] FOLDER...: makes what is in there, with warnings. Those of Open MPI's headers are its own.
compile_picky() {
    local folder cflags status variable=()
    [[ $1 != *=* ]] || { variable=("$1") && shift; }
    for folder in "$@"; do
        cflags=$(sed -n 's/^CFLAGS = //p' "$folder/Makefile")
        make -C "$folder" -j"$jobs" "CFLAGS=$cflags $picky" "${variable[@]}" >"$TALLY_LOGS/picky" 2>&1
        status=$?
        cat "$TALLY_LOGS/picky"
        test $status -eq 0 && grep -q '^  CC ' "$TALLY_LOGS/picky" &&
            ! grep -E '(btl|osc)/rbuf/.*warning:' "$TALLY_LOGS/picky" || return 1
    done
}

# Compiles them once more, beside the objects that are installed.
check_warnings() {
    local part copies=()
    for part in "${parts[@]}"; do
        rm -rf "$objects/$part.picky" && mkdir "$objects/$part.picky" &&
            tar -C "$objects/$part" --exclude='*.o' --exclude='*.lo' --exclude='*.la' --exclude=.libs -cf - . |
            tar -C "$objects/$part.picky" -xf - || return
        copies+=("$objects/$part.picky")
    done
    compile_picky "${copies[@]}" || return
    rm -rf "${copies[@]}"
}

# As parts of its libraries, which are not there to be linked with; nor is PMIx, which LIBS would name.
configure_without() (
    rm -rf "$features" && mkdir -p "$features" && cd "$features" || return
    "$tree/configure" --prefix="$features/prefix" "${all_options[@]}" --enable-mca-static=btl-rbuf,osc-rbuf \
        --without-helper --without-reuse
)

# Objects of the component, and none of what is left out.
check_left_out() {
    local folder=$features/${parts[0]}
    if ! test -s "$folder/registration/registrar.lo"; then
        echo "$folder has no objects of the component"
        return 1
    fi
    ! find "$folder" -name '*.lo' | grep -E 'core/helper/|/(helper|frequent|in_place)\.lo'
}

step_source() {
    TALLY_TIMEOUT=600 once source "${ompi:-$suite}" unpack
}

step_graft() {
    try graft "$top/autogen.pl" --ompi-tree "$tree" && once autogen "$(key_of_build)" run_autogen
}

step_configure() {
    choose_options
    once configure "$form $(key_of_build) ${all_options[*]}" configure_ompi
}

step_ompi() {
    local key
    key="$form $(key_of_build) $(sum_of)"
    TALLY_TIMEOUT=5400 once make "$key" make -C "$objects" -j"$jobs" &&
        TALLY_TIMEOUT=600 once install "$key" make -C "$objects" install || return
    try "ompi_info and mpicc" check_form
    try "btl/rbuf is in Open MPI" check_component btl btl_rbuf_protocol libopen-pal.so
    try "osc/rbuf is in Open MPI" check_component osc osc_rbuf_limit libmpi.so
    TALLY_TIMEOUT=600 try "without a warning" check_warnings
    try "names of functions and variables" "$top/tests/build/names.sh" \
        "$objects/opal/mca/btl/rbuf" "$objects/ompi/mca/osc/rbuf"
}

step_features() {
    choose_options
    try "configure --without-helper --without-reuse" configure_without &&
        try "without them: make" compile_picky LIBS= "${parts[@]/#/$features/}" &&
        try "without them: no object of them" check_left_out
    rm -rf "$features"
}

step_rbuf() {
    TALLY_TIMEOUT=2400 try rbuf "$top/contrib/check.sh" --build "$build/rbuf" build
}

# A debug build that stops at an assertion stops a test that expects its ranks to end, too.
check_assertions() {
    ! grep -H -i -e 'assertion' -e 'Warning ::opal_list' -e 'obj_magic_id' "$TALLY_LOGS"/mpi/*.out
}

step_mpi() {
    local log line
    log=$(log_of mpi)
    rm -rf "$TALLY_LOGS/mpi"
    test -z "$transports" || long+=(--transports "$transports")
    test -z "$only" || long+=(--only "$only")
    RBUF_BUILD=$build/rbuf/plain "$build/rbuf/source/tests/mpi/run.sh" "${long[@]}" \
        --keep "$TALLY_LOGS/mpi" >"$log" 2>&1 </dev/null
    grep -E '^(FAIL|SKIP)' "$log"
    line=$(tail -n 1 "$log")
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        echo "mpi: $line"
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
    else
        fail mpi "no count; all of it: $log"
    fi
    try "no assertion failed" check_assertions
}

# One run of IS, which verifies its own result.
is_run() { # NAME OPTION-OF-MPIRUN... -- ARGUMENT...
    local name=$1 options=()
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    TALLY_TIMEOUT=300 try "$name" "${fabric_command[@]}" "$MPIRUN" "${mpi_args[@]}" "${transport_args[@]}" \
        "${options[@]}" "$build/rbuf/prefix/libexec/rbuf/nas_is" "$@"
}

# osc/rdma would have had the adapter write each put.
all_packed() { # NAME
    local log
    log=$(log_of "$1")
    test "$(grep -c ' rma_requests=0 ' "$log")" -eq 2 && ! grep ' rma_requests=[1-9]' "$log"
}

step_is() {
    local protocol class puts list=${transports//,/ }
    list=${list:-$transport_protocols}
    fabric_choose graphene || { fail is && return; }
    mpi_launch_options 2
    for protocol in $list; do
        transport_options "$protocol" || { fail "is over $protocol" && continue; }
        for class in S W; do
            is_run "is.$class over $protocol" -- --class "$class"
            puts="is.$class over $protocol, puts over osc/rbuf"
            is_run "$puts" --mca osc rdma,rbuf --mca osc_rbuf_aggregate 1 --mca btl_rbuf_report 2 -- \
                --class "$class" --one-sided &&
                try "$puts: all are packed" all_packed "$puts"
        done
    done
}

for step in "${steps[@]}"; do
    started=$SECONDS
    echo "== $step"
    before=$((failed + skipped))
    "step_$step"
    echo "== $step took $((SECONDS - started)) s"
    # Nothing further makes sense if this fails.
    [[ $step == mpi || $step == is ]] || test $((failed + skipped)) -eq $before || break
done
tally
