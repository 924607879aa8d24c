#!/usr/bin/env bash
# Installs what tests and checks need, beyond what ../install.sh installs.
#
#   tests/install.sh [--quiet] [--bench]
#
# Python packages (uv, else pip), a browser, sshd, Slurm, Open MPI, JUnit, Grafana's own
# schema and DTDL's own parser. --bench adds what is measured in comparison: chrontext, and, if
# they are available, likwid-bench, HPL and a compiler.
# Exit 2: something that you can fix, named in the last line.
source "$(dirname "${BASH_SOURCE[0]}")/../install.sh"

# ---- system packages -------------------------------------------------------------

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
    # Playwright's Node.js needs it.
    has_library libatomic.so.1 || echo libatomic1
    # For tests with a network of their own, and a machine in it that is reached over ssh.
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
    [ -f "$JUNIT" ] || command -v mvn >/dev/null || echo maven
    # Hosts compile the programs of benchmarks/.
    command -v gcc >/dev/null || echo gcc
    [ -e /usr/include/stdio.h ] || echo libc6-dev
    # Compiles the program that reads processes from the kernel.
    [ -e /usr/include/bpf/libbpf.h ] || echo libbpf-dev
    # Benchmarks that these programs are, or are compiled with.
    command -v hpcc >/dev/null || echo hpcc
    command -v fio >/dev/null || echo fio
    command -v g++ >/dev/null || echo g++
    compgen -G '/usr/lib/*/openmpi/include/mpi.h' >/dev/null || echo libopenmpi-dev
    has_library libfftw3.so.3 || echo libfftw3-double3
    # A program on Kokkos (0.5 MB).
    [ -e /usr/include/trilinos/Kokkos_Core.hpp ] || echo libtrilinos-kokkos-dev
    # Rooflines as PNG.
    command -v rsvg-convert >/dev/null || echo librsvg2-bin
    # Runs the scripts of PCP's agent.
    command -v bpftrace >/dev/null || echo bpftrace
    # They find the hot loops of a run.
    command -v perf >/dev/null || { is_ubuntu && echo linux-tools-generic; } || echo linux-perf
    command -v llvm-mca >/dev/null || echo llvm
    command -v strip >/dev/null || echo binutils
    [ "$(uname -m)" != x86_64 ] || missing_for_arm
}

# The kernels for AArch64 are tested in an emulator.
missing_for_arm() {
    command -v aarch64-linux-gnu-gcc >/dev/null || echo gcc-aarch64-linux-gnu
    [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || echo libc6-dev-arm64-cross
    command -v qemu-aarch64 >/dev/null || echo qemu-user
}

# Applications that are timed during sampling.
missing_for_bench() {
    command -v likwid-bench >/dev/null || ! has_likwid || echo likwid
    command -v mpirun >/dev/null || echo openmpi-bin
}

# One by one, and none is required: the benchmark reports what is missing.
install_applications() {
    local package packages
    has_likwid || say "continuing without likwid, which Debian packages for x86-64 only"
    mapfile -t packages < <(missing_for_bench)
    [ ${#packages[@]} -gt 0 ] || return 0
    say "apt, for the benchmark: ${packages[*]}"
    apt_update >"$LOG" 2>&1 || true
    for package in "${packages[@]}"; do
        apt_install "$package" >"$LOG" 2>&1 || say "continuing without $package: $(error_line)"
    done
}

# ---- another VictoriaMetrics -----------------------------------------------------

# The distribution's release is older, and must be as well protected as ours.
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

# ---- an identity of this machine --------------------------------------------------

# An installed system has one; an image made by debootstrap may have none.
make_machine_id() {
    grep -qE '^[0-9a-f]{32}$' /etc/machine-id 2>/dev/null && return
    say "/etc/machine-id"
    quietly "writing /etc/machine-id" as_root sh -c 'tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id'
}

# ---- sshd ------------------------------------------------------------------------

missing_libraries() {
    [[ $(ldd "$1"/usr/sbin/sshd "$1"/usr/lib/openssh/* 2>&1) == *'not found'* ]] || return 0
    dpkg-deb -f "$1"/*.deb Depends | tr , '\n' | sed -nE 's/^ *(lib[^ (|:]*).*/\1/p'
}

# Unpacked, not installed: an installed service would start and listen on the network.
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

# ---- Slurm -----------------------------------------------------------------------

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

# Unpacked, not installed: installed services would start.
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

# ---- JUnit -----------------------------------------------------------------------

readonly JUNIT=.tools/junit/junit-platform-console-standalone-1.11.4.jar

install_junit() {
    [ ! -f "$JUNIT" ] || return 0
    say "JUnit (Maven)"
    rm -rf .tools/junit.new
    fetch_jar org.junit.platform:junit-platform-console-standalone:1.11.4 .tools/junit.new
    (cd .tools/junit.new && sha256sum --quiet -c ../../deploy/locks/junit/SHA256SUMS) >"$LOG" 2>&1 ||
        fail "JUnit's jar is not the one in deploy/locks/junit/SHA256SUMS: remove it from ~/.m2 and run make test again"
    rm -rf .tools/junit
    mv .tools/junit.new .tools/junit
}

# ---- everything ------------------------------------------------------------------

install_test_libraries() {
    install_lock test
    install_modules grafana "the checks of dashboards"
    install_modules dtdl "the official DTDL parser"
}

install_for_tests() {
    in_background install_test_libraries
    ensure_packages missing_for_tests
    # What it is compiled with may just have been installed.
    build_process_reader
    build_prober
    has_browser ||
        say "no browser: the tests of pages are skipped; install Google Chrome (google-chrome) to run them"
    make_machine_id
    unpack_packaged_store
    unpack_sshd
    unpack_slurm
    install_junit
    finish
}

# A folder of its own: its packages are in conflict with SuperTwin's.
install_chrontext() {
    local want
    want=$(version_of "$LOCKS/chrontext/requirements.lock")
    is_stamped .tools/chrontext/stamp "$want" && return
    install_pip
    say "chrontext, for the benchmark (from $LOCKS/chrontext/requirements.lock)"
    rm -rf .tools/chrontext.new .tools/chrontext
    quietly "installing chrontext" pip_install --target .tools/chrontext.new \
        --require-hashes -r "$LOCKS/chrontext/requirements.lock"
    echo "$want" >.tools/chrontext.new/stamp
    mv .tools/chrontext.new .tools/chrontext
}

install_for_bench() {
    install_chrontext
    install_applications
}

main() {
    local option quiet='' for_bench=''
    for option in "$@"; do
        case $option in
            --quiet) quiet=yes ;;
            --bench) for_bench=yes ;;
            *) fail "unknown option $option; there are --quiet and --bench" ;;
        esac
    done
    start
    install_run
    install_for_tests
    [ -z "$for_bench" ] || install_for_bench
    [ -n "$quiet" ] || say "everything is installed"
}

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
