#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Builds Open MPI 4.1 with the component inside and runs the MPI tests there.
#
#   contrib/check_in_tree.sh [--form dso|static] [--build DIR] [--ompi FILE] [--jobs N]
#                            [--transports LIST] [--all] [STEP...]
#
# Steps, in order and all by default:
#   source    Debian's source package of Open MPI, with the apt sources of this machine; or FILE, its
#             .dsc or an upstream tarball
#   graft     autogen.pl --ompi-tree, then Open MPI's own autogen.pl
#   ompi      configure, make and install into DIR/FORM/prefix
#   rbuf      this tree against that Open MPI: the emulated HCA and the test programs
#   mpi       the MPI tests with every protocol (or those of LIST), over the component inside
#   is        NAS IS, classes S and W, likewise
# A step that has succeeded is not done again in the same DIR, but for mpi and is.
#
# Forms:
#   dso       --enable-debug, that is with Open MPI's assertions; the component as mca_btl_rbuf.so; the
#             system's libevent, hwloc and PMIx. This is the default.
#   static    the component within libopen-pal; the libevent, hwloc and PMIx that come with Open MPI
#
# Too long for every run of check.sh: half an hour on two cores, most of it the step ompi. Nothing of
# the system is changed. DIR is build/in_tree by default, about 1 GB; logs are in DIR/FORM/logs. The
# last line counts; the exit status is 0 if nothing failed.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/in_tree
form=dso
ompi=
jobs=$(nproc)
transports=
long=()
steps=()
all_steps="source graft ompi rbuf mpi is"

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
    --form | --build | --ompi | --jobs | --transports)
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
tree=$build/$form/tree
prefix=$build/$form/prefix
TALLY_LOGS=$build/$form/logs
. "$top/tests/tally.sh"
. "$top/contrib/transports.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Whatever else is installed: the Open MPI that is made here.
export PATH="$prefix/bin:$PATH" RBUF_COMPONENT_DIR="" MPIRUN="$prefix/bin/mpirun"
export SOFTHCA=$build/$form/rbuf/prefix/bin/softhca

# What the tests have no use for. One-sided tests go over osc/rdma.
left_out=btl-openib,btl-ofi,btl-portals4,btl-scif,btl-sm,btl-smcuda,btl-uct,btl-ugni,btl-usnic
left_out+=,coll-adapt,coll-han,coll-hcoll,coll-monitoring,coll-spacc,coll-ucc
left_out+=,common-cuda,common-monitoring,common-ofi,common-ompio,common-ucx,common-verbs
left_out+=,common-verbs_usnic,crcp,crs,fbtl,fcoll,fs,io,mtl,osc-monitoring,osc-pt2pt,osc-ucx
left_out+=,pml-cm,pml-monitoring,pml-ucx,pml-v,rcache-gpusm,rcache-rgpusm,sharedfp,topo-treematch
left_out+=,vprotocol
options=(--disable-mpi-fortran --disable-mpi-cxx --disable-mpi-java --disable-oshmem
    --disable-man-pages --with-devel-headers --without-ucx --without-psm2 --without-ofi
    "--enable-mca-no-build=$left_out")

# Does a thing once: a file says that it was done. Returns 1 if it failed or was skipped.
once() { # NAME COMMAND...
    local name=$1 done=$build/$form/$1.done before=$skipped
    if test -e "$done"; then
        pass "$name" "done before"
    else
        try "$@" && test "$skipped" -eq "$before" && touch "$done"
    fi
}

# The source package, by an apt that knows the sources of this machine as source packages and keeps
# all that it fetches to itself.
fetch() (
    apt=$build/apt
    if ! command -v apt-get >/dev/null || ! command -v dpkg-source >/dev/null; then
        echo "no apt-get and dpkg-source (package dpkg-dev) here; give a tarball with --ompi"
        return 77
    fi
    rm -rf "$apt" && mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" ||
        return
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        test -f "$file" && sed -n 's/^deb\(-src\)\{0,1\} /deb-src /p' "$file" |
            sort -u >"$apt/sources/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        test -f "$file" && sed 's/^Types:.*/Types: deb-src/' "$file" \
            >"$apt/sources/$(basename "$file")"
    done
    set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" \
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
    apt-get "$@" update && cd "$apt" && apt-get "$@" source --download-only openmpi
)

unpack() {
    local file=$ompi
    if test -z "$file"; then
        test -e "$build/apt/fetched" || { fetch && touch "$build/apt/fetched"; } || return
        file=$(find "$build/apt" -maxdepth 1 -name 'openmpi_*.dsc' | head -n 1)
    fi
    rm -rf "$tree"
    case $file in
    *.dsc) dpkg-source --no-check -x "$file" "$tree" ;;
    *) mkdir -p "$tree" && tar -C "$tree" --strip-components=1 -xf "$file" ;;
    esac || return
    grep -E '^(major|minor|release)=' "$tree/VERSION"
}

# Debian's tree has lost a generated file that its autogen.pl needs.
run_autogen() (
    cd "$tree" || return
    test -e config/opal_get_version.sh ||
        (cd config && autom4te --language=m4sh opal_get_version.m4sh -o opal_get_version.sh) || return
    ./autogen.pl --force --no-oshmem
)

configure_ompi() (
    case $form in
    dso)
        # A debug build is made without optimization, unless told: the tests have limits of time.
        options+=(--enable-debug "CFLAGS=-O1 -g" --with-libevent=external --with-hwloc=external
            "--with-pmix=$(pkg-config --variable=prefix pmix)")
        ;;
    static)
        options+=(--enable-mca-static=btl-rbuf --with-libevent=internal --with-hwloc=internal
            --with-pmix=internal)
        ;;
    esac
    mkdir -p "$build/$form/ompi" && cd "$build/$form/ompi" &&
        "$tree/configure" --prefix="$prefix" "${options[@]}" &&
        grep "^MCA_BUILD_opal_btl_rbuf_DSO_TRUE='$(test $form = dso || echo '#')'" config.log
)

# What is asked of ompi_info is answered by the component that was built in.
check_component() {
    local dso
    dso=$(find "$prefix/lib" -name mca_btl_rbuf.so) # Debian has a folder of its own for components
    case $form in
    dso)
        test -n "$dso" && "$prefix/bin/ompi_info" | grep 'Internal debug support: yes' || return
        ;;
    static)
        test -z "$dso" && nm -D "$prefix/lib/libopen-pal.so" | grep mca_btl_rbuf_component || return
        "$prefix/bin/mpicc" --showme:link
        ! "$prefix/bin/mpicc" --showme:link | grep -e 'z,defs' -e 'open-pal.la' || return
        ;;
    esac
    test -s "$prefix/share/openmpi/help-mpi-btl-rbuf.txt" &&
        "$prefix/bin/ompi_info" --param btl rbuf --level 9 | grep 'parameter "btl_rbuf_protocol"'
}

check_warnings() {
    ! sed -n '/Making all in mca\/btl\/rbuf/,/Leaving directory.*rbuf/p' "$TALLY_LOGS/make.log" |
        grep warning:
}

step_source() {
    TALLY_TIMEOUT=600 once source unpack
}

step_graft() {
    once graft "$top/autogen.pl" --ompi-tree "$tree" && once autogen run_autogen
}

step_ompi() {
    once configure configure_ompi && TALLY_TIMEOUT=5400 once make make -C "$build/$form/ompi" -j"$jobs" &&
        TALLY_TIMEOUT=600 once install make -C "$build/$form/ompi" install || return
    try "the component is in Open MPI" check_component
    try "without a warning" check_warnings
}

step_rbuf() {
    TALLY_TIMEOUT=2400 once rbuf "$top/contrib/check.sh" --build "$build/$form/rbuf" build &&
        TALLY_TIMEOUT=600 try "test programs" make -C "$build/$form/rbuf/plain/tests/mpi" check TESTS=
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
    RBUF_BUILD=$build/$form/rbuf/plain "$build/$form/rbuf/source/tests/mpi/run.sh" "${long[@]}" \
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

step_is() {
    local protocol class list=${transports//,/ }
    list=${list:-$transport_protocols}
    fabric_choose graphene || { fail is && return; }
    mpi_launch_options 2
    for protocol in $list; do
        transport_options "$protocol" || { fail "is over $protocol" && continue; }
        for class in S W; do
            TALLY_TIMEOUT=300 try "is.$class over $protocol" "${fabric_command[@]}" "$MPIRUN" \
                "${mpi_args[@]}" "${transport_args[@]}" \
                "$build/$form/rbuf/prefix/libexec/rbuf/nas_is" --class "$class"
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
