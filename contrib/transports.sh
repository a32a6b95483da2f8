# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# The transports that are compared and tested, as mpirun options, and the fabric they run on.
# Sourced by rbuf-compare, contrib/demo.sh and tests/mpi/run.sh; it sets variables and functions
# whose names begin with transport_, fabric_ or mpi_, and does nothing by itself.
#
# Environment: RBUF_COMPONENT_DIR, the directory of mca_btl_rbuf.so (empty: Open MPI finds it by
# itself); MPIRUN; SOFTHCA, the launcher of the emulated HCA.

transport_protocols="superpipeline pipeline copy register rcache auto helper"
transport_rivals="openib-pinned openib-unpinned ucx tcp vader"

# transport_options NAME[:PARAMETER=VALUE...]: sets the array transport_args and transport_osc, the value of Open
# MPI's parameter osc with which one-sided programs use that transport; or complains and returns 1. A protocol
# of rbuf may have parameters of its own, as superpipeline:polling_set=0.
# The line of pml and btl is said in full: Open MPI would silently prefer UCX, and a distribution
# may have switched openib off in its configuration file, which the command line overrides.
transport_options()
{
    local item
    transport_osc=rdma
    case $1 in
    *:*)
        case " $transport_rivals " in
        *" ${1%%:*} "*)
            echo "transport '$1': only protocols of rbuf take parameters" >&2
            return 1
            ;;
        esac
        transport_options "${1%%:*}" || return
        while IFS= read -r item; do
            case $item in
            ?*=?*) transport_args+=(--mca "btl_rbuf_${item%%=*}" "${item#*=}") ;;
            *)
                echo "transport '$1': wants PARAMETER=VALUE after a colon" >&2
                return 1
                ;;
            esac
        done < <(tr : '\n' <<<"${1#*:}")
        ;;
    openib-pinned | openib-unpinned)
        transport_args=(--mca pml ob1 --mca btl openib,self --mca btl_openib_allow_ib 1
            --mca btl_openib_warn_default_gid_prefix 0)
        case $1 in
        openib-pinned) transport_args+=(--mca mpi_leave_pinned 1) ;;
        *) transport_args+=(--mca mpi_leave_pinned 0) ;;
        esac
        ;;
    ucx)
        # Reliable connections as rbuf's, and no way around the adapter between processes of one node.
        transport_args=(--mca pml ucx -x UCX_TLS=rc,self)
        transport_osc=ucx
        ;;
    tcp | vader) # Open MPI 5 calls vader sm, and knows the old name too
        transport_args=(--mca pml ob1 --mca btl "$1,self")
        transport_osc=^ucx,sm # whatever works on that BTL: it depends on the release
        ;;
    *)
        case " $transport_protocols " in
        *" $1 "*) ;;
        *)
            echo "unknown transport '$1': one of $transport_protocols $transport_rivals" >&2
            return 1
            ;;
        esac
        transport_args=(--mca pml ob1 --mca btl rbuf,self --mca btl_rbuf_protocol "$1")
        if [ -n "${RBUF_COMPONENT_DIR-}" ]; then
            transport_args+=(--mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR")
            transport_pmix_path
        fi
        ;;
    esac
}

# transport_mpirun_is SERIES: true if mpirun is of that series of Open MPI, or of a later one.
transport_mpirun_is()
{
    if [ -z "${transport_mpirun_version-}" ]; then
        transport_mpirun_version=$("${MPIRUN:-mpirun}" --version 2>/dev/null |
            sed -n 's/.*(Open MPI) \([0-9.]*\).*/\1/p')
    fi
    [ "${transport_mpirun_version%%.*}" -ge "$1" ] 2>/dev/null
}

# Open MPI 5 hands its component path to PMIx too, which looks for components of its own there and
# complains of ours. Adds to transport_args what gives PMIx back its own path, or none if that is not
# known.
transport_pmix_path()
{
    local libraries
    if transport_mpirun_is 5; then
        libraries=$(pkg-config --variable=libdir pmix 2>/dev/null)
        transport_args+=(--pmixmca mca_base_component_path "${libraries:+$libraries/pmix}")
    fi
}

# transport_left_out FEATURE: true if rbuf, as configure was told, is built without it: helper or reuse, a parameter of
# which stands for it.
transport_left_out()
{
    local path=${RBUF_COMPONENT_DIR:+SYS_DEFAULT:$RBUF_COMPONENT_DIR}
    if [ -z "${transport_parameters-}" ]; then
        transport_parameters=$(env ${path:+"OMPI_MCA_mca_base_component_path=$path"} \
            ompi_info --param btl rbuf --level 9 --parsable 2>/dev/null | grep -o '^mca:btl:rbuf:param:[^:]*:value')
    fi
    [[ $transport_parameters == *btl_rbuf_protocol:* && $transport_parameters != *btl_rbuf_"$1"_* ]]
}

# True if there is what the transport needs. Sets transport_missing to what is not, for people.
transport_available()
{
    case ${1%%:*} in
    openib-*) transport_missing="btl openib" ;;
    ucx) transport_missing="pml ucx" ;;
    helper)
        transport_missing="rbuf with protocol helper"
        ! transport_left_out helper
        return
        ;;
    *) return 0 ;;
    esac
    ompi_info --parsable 2>/dev/null | grep -q "^mca:${transport_missing/ /:}:"
}

# transports_keep NAME...: sets the array transports_kept to those that are available, and says on standard error what is
# left out.
transports_keep()
{
    local name
    transports_kept=()
    for name in "$@"; do
        if transport_available "$name"; then
            transports_kept+=("$name")
        else
            echo "this Open MPI has no $transport_missing: $name is left out of the comparison" >&2
        fi
    done
}

# transports_open NAME... -- PROGRAM ARGUMENT...: sets the array transports_kept to those over which such a job of
# mpi_args comes up on the fabric that was chosen, and says on standard error what is left out. Open MPI lists a
# pml ucx whose UCX has nothing for the adapter, as Debian's from 1.23 on.
transports_open()
{
    local name names=()
    while [ "$1" != -- ]; do
        names+=("$1")
        shift
    done
    shift
    transports_kept=()
    for name in "${names[@]}"; do
        if [ "${name%%:*}" != ucx ] || { transport_options ucx &&
            timeout -k 5 60 "${fabric_command[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" "$@" \
                >/dev/null 2>&1 </dev/null; }; then
            transports_kept+=("$name")
        else
            echo "this Open MPI's pml ucx does not start on $fabric_name: $name is left out of the comparison" >&2
        fi
    done
}

# True if the transport runs over verbs, that is, needs an HCA, real or emulated.
transport_needs_hca()
{
    case $1 in
    tcp | vader) return 1 ;;
    esac
}

# True if this machine has an HCA with a port that is up.
fabric_hca_present()
{
    command -v ibv_devinfo >/dev/null && ibv_devinfo 2>/dev/null | grep -q PORT_ACTIVE
}

# fabric_choose PROFILE [OPTION...]: sets fabric_name and fabric_hosts (for reports) and the array fabric_command,
# which goes before mpirun: nothing where there is an HCA, else the emulated one with that profile
# and further options of its launcher. The profile "none" asks for no emulation in any case.
# Returns 1 with a message if there is neither.
fabric_choose()
{
    fabric_command=()
    fabric_hosts=$(hostname)
    if fabric_hca_present; then
        fabric_name=$(ibv_devinfo -l 2>/dev/null | awk 'NR == 2 { print $1 }')
    elif [ "$1" = none ]; then
        fabric_name=none
    elif command -v "${SOFTHCA:-softhca}" >/dev/null; then
        fabric_name="softhca:$1"
        fabric_command=("${SOFTHCA:-softhca}" --profile "$@" --)
    else
        echo "no HCA with an active port, and the launcher softhca is not installed" >&2
        return 1
    fi
}

# profile_figures PROFILE: sets what the launcher of the emulated adapter sets for that profile: profile_bandwidth
# (bytes/s, 0: unlimited), profile_latency (ns), profile_reg and profile_reg_page (ns of a registration, and of each 4 KB
# page). Returns 1 with the launcher's message if it knows none of that name.
profile_figures()
{
    local figures
    # shellcheck disable=SC2016 # for the launcher's command
    figures=$("${SOFTHCA:-softhca}" --profile "$1" -- sh -c 'echo "$SOFTHCA_BANDWIDTH,$SOFTHCA_LATENCY,$SOFTHCA_REG"') ||
        return 1
    # shellcheck disable=SC2034 # for the caller
    IFS=, read -r profile_bandwidth profile_latency profile_reg profile_reg_page <<<"$figures"
}

# fabric_ask: sets fabric_name and fabric_hosts to what the ranks of a job with mpi_args find on their
# nodes, in the order of ranks: "mlx5_0", "node1+node2". Nothing is emulated. Returns 1 with a message if
# the job cannot be started.
fabric_ask()
{
    local answers
    # shellcheck disable=SC2016 # for the shell of the rank
    answers=$("${MPIRUN:-mpirun}" "${mpi_args[@]}" sh -c \
        'echo "answer ${OMPI_COMM_WORLD_RANK:-0} $(hostname) $(ibv_devinfo -l 2>/dev/null | awk "NR == 2 { print \$1 }")"' \
        </dev/null) && answers=$(grep '^answer ' <<<"$answers" | sort -k 2n) || {
        echo "mpirun ${mpi_args[*]} starts no job" >&2
        return 1
    }
    fabric_command=()
    fabric_hosts=$(awk '!seen[$3]++ { print $3 }' <<<"$answers" | paste -sd +)
    fabric_name=$(awk 'NF > 3 { print $4 }' <<<"$answers" | sort -u | paste -sd +)
    fabric_name=${fabric_name:-none}
}

# mpi_placed OPTION...: true if these options of mpirun, or the scheduler's allocation, say on which nodes
# the ranks run, so that this machine says nothing of them.
mpi_placed()
{
    local option nodes=${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}}
    for option in "$@"; do
        case $option in
        --host | -host | -H | --hostfile | -hostfile | --machinefile | -machinefile | --default-hostfile) return 0 ;;
        esac
    done
    if [ -r "${PBS_NODEFILE-}" ]; then
        nodes=$(sort -u "$PBS_NODEFILE" | wc -l)
    elif [ -r "${LSB_DJOB_HOSTFILE-}" ]; then
        nodes=$(sort -u "$LSB_DJOB_HOSTFILE" | wc -l)
    fi
    [ "$nodes" -gt 1 ]
}

# mpi_place RANKS OPTION...: sets the array mpi_args for a job on several nodes: one rank a node after the
# other, unless the options of mpirun say otherwise.
mpi_place()
{
    mpi_args=(-np "$1" "${@:2}")
    case " $* " in
    *" --map-by "* | *" --bynode "* | *" --rankfile "* | *" -rf "*) ;;
    *) mpi_args+=(--map-by node) ;;
    esac
    if [ "$(id -u)" = 0 ]; then
        mpi_args+=(--allow-run-as-root)
    fi
}

# mpi_launch_apart RANKS [EACH]: sets mpi_args so that Open MPI 4 takes each rank, or each EACH of them, for those of a
# node of their own. More than one want mpi_has_nodes.
mpi_launch_apart()
{
    local hosts i each=${2:-1}
    hosts=$(hostname):$each
    for ((i = 1; i * each < $1; i++)); do
        hosts+=,node$i:$each
    done
    mpi_args=(-np "$1" -H "$hosts" --map-by slot --bind-to none
        --mca plm_rsh_agent "$(dirname "${BASH_SOURCE[0]}")/node_here.sh")
    if [ "$(id -u)" = 0 ]; then
        mpi_args+=(--allow-run-as-root)
    fi
}

# Whether nodes that are none may have host names of their own (node_here.sh).
mpi_has_nodes()
{
    unshare --uts true 2>/dev/null
}

# mpi_launch_options RANKS [CHILDREN]: sets the array mpi_args. One rank a core where there are enough for all, with
# the CHILDREN that they start at a time.
mpi_launch_options()
{
    mpi_args=(-np "$1")
    if [ $(($1 + ${2:-0})) -le "$(nproc)" ]; then
        mpi_args+=(--bind-to core)
    else
        mpi_args+=(--oversubscribe --bind-to none)
    fi
    if [ "$(id -u)" = 0 ]; then
        mpi_args+=(--allow-run-as-root)
    fi
}
