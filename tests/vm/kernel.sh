# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: the guests' kernels. Packages of three releases of Debian are fetched and unpacked, not
# installed. Each kernel has a directory in $vm_cache, which is kept from one run to the next. This machine's
# own apt is asked where the mirror is, and is not changed.

vm_kernels="6.1 6.12 newest"

# Prints the release of Debian that has a kernel, and the version that the tests are known to work with. If
# the mirror has it no more, the one that the release has now is taken.
vm_kernel_source() # KERNEL
{
    case $1 in
    6.1) echo bookworm 6.1.0-56-amd64 ;;
    6.12) echo trixie 6.12.117+deb13-amd64 ;;
    newest) echo sid 7.2.13+deb14-amd64 ;;
    esac
}

# Sets vm_kernel_tree (what the packages hold) and vm_kernel_version. Returns 1 with the reason printed if
# there is none to be had.
vm_kernel() # KERNEL
{
    local suite known
    read -r suite known < <(vm_kernel_source "$1")
    vm_kernel_tree=$vm_cache/kernel-$1-$known
    [ -d "$vm_kernel_tree" ] || vm_kernel_make "$suite" "$known" "$vm_kernel_tree" || return
    vm_kernel_version=$(ls "$vm_kernel_tree/lib/modules")
}

# The directory appears when it is complete: another run may do the same at the same time.
vm_kernel_make() # SUITE VERSION DIRECTORY
{
    local work status=0
    work=$(mktemp -d "$vm_cache/unpack.XXXXXX") || return
    if ! vm_apt_open "$work/apt" "$1"; then
        status=1
    elif ! vm_kernel_fetch "$work" "$2" >"$work/log" 2>&1; then
        echo "cannot fetch Linux $2 of Debian's $1: $(tail -n 1 "$work/log")"
        status=1
    elif ! vm_kernel_unpack "$work" >"$work/log" 2>&1; then
        echo "cannot unpack Linux $2 of Debian's $1: $(tail -n 1 "$work/log")"
        status=1
    else
        mv -T "$work/tree" "$3" 2>/dev/null || [ -d "$3" ] || status=1
    fi
    rm -rf "$work"
    return $status
}

# ---- apt, with a configuration of its own ----

# Where this machine gets Debian from.
vm_mirror() # LABEL
{
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" \
        'Component: main' 2>/dev/null | head -n 1
}

# Prints the sources of a release. Only a stable one has security updates.
vm_apt_sources() # SUITE
{
    local main security keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    main=$(vm_mirror Debian)
    security=$(vm_mirror Debian-Security)
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    [ -n "$main" ] || return
    echo "deb $option$main $1 main"
    [ -z "$security" ] || [ "$1" = sid ] || echo "deb $option$security $1-security main"
}

# Sets vm_apt, the configuration for apt of a release. Returns 1 with the reason printed.
vm_apt_open() # DIRECTORY SUITE
{
    vm_apt=$1/apt.conf
    mkdir -p "$1"/{lists,archives}/partial "$1"/{state,parts} && : >"$1/status" || return
    if ! vm_apt_sources "$2" >"$1/sources.list"; then
        echo "apt's sources name no mirror of Debian; apt-get update may help"
        return 1
    fi
    cat >"$vm_apt" <<EOF
Dir::State "$1/state";
Dir::State::lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "$1/parts";
Dir::Etc::preferencesparts "$1/parts";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
EOF
    if ! APT_CONFIG=$vm_apt timeout 300 apt-get -q update >"$1/log" 2>&1; then
        echo "apt cannot read Debian's $2: $(tail -n 1 "$1/log")"
        return 1
    fi
}

vm_apt_knows() # PACKAGE
{
    [ -n "$(APT_CONFIG=$vm_apt apt-cache --no-all-versions show "$1" 2>/dev/null)" ]
}

# ---- packages ----

# Newer releases have the kernel, its modules and the list of what is built in as packages of their own.
vm_kernel_fetch() # DIRECTORY VERSION
{
    local version=$2 kind packages=()
    if ! vm_apt_knows "linux-image-$version"; then
        version=$(APT_CONFIG=$vm_apt apt-cache depends linux-image-amd64 |
            sed -n 's/.*Depends: linux-image-//p' | head -n 1)
        if [ -z "$version" ]; then
            echo "apt knows no linux-image-amd64"
            return 1
        fi
    fi
    for kind in image base binary modules; do
        ! vm_apt_knows "linux-$kind-$version" || packages+=("linux-$kind-$version")
    done
    (cd "$1" && APT_CONFIG=$vm_apt timeout 600 apt-get -q download "${packages[@]}")
}

# Into DIRECTORY/tree, with /lib and /boot in their places, wherever the release has them.
vm_kernel_unpack() # DIRECTORY
{
    local package tree=$1/tree version
    mkdir -p "$tree/boot" || return
    for package in "$1"/*.deb; do
        dpkg-deb -x "$package" "$tree" || return
    done
    chmod 755 "$tree"
    [ -e "$tree/lib" ] || ln -s usr/lib "$tree/lib" || return
    version=$(ls "$tree/lib/modules") || return
    if [ ! -e "$tree/boot/vmlinuz-$version" ]; then
        ln -s "../lib/modules/$version/vmlinuz" "$tree/boot/vmlinuz-$version" || return
    fi
    [ -s "$tree/boot/vmlinuz-$version" ] && depmod -b "$tree" "$version"
}
