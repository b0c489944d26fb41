#!/bin/sh
# Tries what `cargo xtask release` has made in a clean Debian: as root, packaging/try.sh [crates] [readme] [gate]
#
# The root is made by debootstrap, with nothing but the packages that a line below names. `crates` also builds a program against the packed crates;
# `readme` runs the first command of README.md, and `gate` the second one, which takes half an hour. They use the Rust of this machine.
set -eu
here=$(dirname "$(readlink -f "$0")")/..
packages=${CARGO_TARGET_DIR:-$here/target}/packages
ls "$packages"/*.deb >/dev/null || { echo "try.sh: $packages has no package: cargo xtask release" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "try.sh: debootstrap and chroot need root" >&2; exit 2; }
root=$(mktemp -d)
clean_up() {
    for mount in proc sys dev rust cargo; do umount --recursive --lazy "$root/$mount" 2>/dev/null || true; done
    # A mount that is left must not be emptied.
    rm -rf --one-file-system "$root" "$root.log"
}
trap clean_up EXIT INT TERM
debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind --make-rslave /dev "$root/dev" 2>/dev/null || mount --bind /dev "$root/dev"
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/lib/pelago/bin "$@"; }
# A command that must succeed; shows its last line.
last() { inside "$@" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }; tail -1 "$root.log"; }
# What every form of the command does.
works() {
    last "$1" --version
    last "$1" run -n 4 ring
    last "$1" run -n 2 --transport udp ring
    last "$1" sim -n 16 --machine rx200-qdr --per-node 2 ring
    inside "$1" info >/dev/null
}

for kind in gnu musl; do
    echo "== tarball, $kind"
    tar -C "$root/opt" -xf "$packages"/pelago-*-x86_64-linux-$kind.tar.gz
    works "/opt/$(basename "$packages"/pelago-*-x86_64-linux-$kind.tar.gz .tar.gz)/bin/pelago"
    rm -rf "$root"/opt/*
done

echo "== Debian package, with gcc and man-db"
cp "$packages"/pelago_*.deb "$root/root/"
# minbase leaves out manual pages unless told otherwise.
inside sh -c 'apt-get install -y -qq --no-install-recommends gcc libc6-dev man-db pkg-config /root/pelago_*.deb' >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
works pelago
inside man --where pelago-run acpcc
inside sh -c 'test -s /usr/share/bash-completion/completions/pelago && test -s /usr/share/zsh/vendor-completions/_pelago'
cp "$here/examples/hello-acp.c" "$root/root/"
last sh -c 'cd /root && acpcc hello-acp.c -o hello && acprun -np 3 ./hello'
last sh -c 'cd /root && pelago sim -n 3 --machine rx200-qdr ./hello'
cp "$here"/bindings/shmem/examples/*.c "$root/root/"
# OpenSHMEM: each example as the ranks of a job, over UDP and simulated.
for example in gups heat matrix sort tree; do
    last sh -c "cd /root && oshcc -O2 $example.c -o $example -lm && oshrun -np 2 ./$example"
    last sh -c "cd /root && pelago run -n 2 --transport udp ./$example"
    last sh -c "cd /root && pelago sim -n 4 --machine fat-tree-ndr ./$example"
done
inside man --where oshcc oshrun
last sh -c 'cd /root && echo "#include <mpp/shmem.h>" >old.c && oshcc -c old.c'
last sh -c 'cd /root && gcc heat.c -o with-pkg-config $(pkg-config --cflags --libs sma) -lm && ldd with-pkg-config | grep libsma'
# The archive, with memory of the heap alone.
cat >"$root/root/archive.c" <<'PROGRAM'
#include <shmem.h>
#include <stdio.h>
int main(void) {
    shmem_init();
    long *count = shmem_calloc(1, sizeof(long));
    shmem_atomic_inc(count, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        printf("%ld of %d PEs\n", *count, shmem_n_pes());
    shmem_finalize();
}
PROGRAM
last sh -c 'cd /root && gcc archive.c -o archive /usr/lib/libsma.a -lpthread -ldl -lm && pelago run -n 3 ./archive | grep "3 of 3"'
inside sh -c 'cd /root && gcc hello-acp.c -o with-pkg-config $(pkg-config --cflags --libs acp) && ldd with-pkg-config | grep libacp'
inside apt-get remove -y -qq pelago >/dev/null 2>&1 || exit 1
inside sh -c '! command -v pelago && ! command -v oshcc && ! test -e /usr/include/shmem.h'
echo "== tarball, gnu: programs compiled at its place"
tar -C "$root/opt" -xf "$packages"/pelago-*-x86_64-linux-gnu.tar.gz
prefix=/opt/$(basename "$packages"/pelago-*-x86_64-linux-gnu.tar.gz .tar.gz)
last sh -c "cd /root && $prefix/bin/oshcc heat.c -o heat -lm && $prefix/bin/oshrun -np 2 ./heat"
last sh -c "cd /root && $prefix/bin/acpcc hello-acp.c -o hello && $prefix/bin/acprun -np 3 ./hello"

if command -v buildah >/dev/null; then
    echo "== container image"
    image=$(buildah --storage-driver vfs bud --isolation chroot --quiet --file "$here/packaging/Containerfile" "$packages/stage")
    container=$(buildah --storage-driver vfs from "$image")
    buildah --storage-driver vfs run --isolation chroot "$container" -- /usr/local/bin/pelago run -n 4 ring
    buildah --storage-driver vfs rm "$container" >/dev/null
else
    echo "== container image: skipped, buildah is missing"
fi

# The toolchain, the crates and the certificates of this machine, in the clean root, which has none of them.
with_rust() {
    mkdir -p "$root/rust" "$root/cargo" "$root/etc/ssl/certs"
    cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
    mount --bind "${RUSTUP_HOME:-$HOME/.rustup}" "$root/rust"
    mount --bind "${CARGO_HOME:-$HOME/.cargo}" "$root/cargo"
}
rust() { inside RUSTUP_HOME=/rust CARGO_HOME=/cargo CARGO_HTTP_CAINFO=/etc/ssl/certs/ca-certificates.crt PATH=/cargo/bin:/usr/bin:/bin:/usr/sbin:/sbin CARGO_TARGET_DIR=/root/target "$@"; }
case " $* " in *" crates "* | *" readme "* | *" gate "*) with_rust ;; esac
sources() {
    [ ! -d "$root/root/pelago" ] || return 0
    mkdir "$root/root/pelago"
    (cd "$here" && git ls-files -z | xargs -0 cp --no-dereference --parents -t "$root/root/pelago")
}

case " $* " in *" crates "*)
    echo "== a program on packed crates"
    mkdir -p "$root/root/crates" "$root/root/program/src"
    packed=$(find "$here"/target/publish/*/package/tmp-registry -maxdepth 1 -name 'pelago*.crate' 2>/dev/null)
    [ -n "$packed" ] || { echo "try.sh: no packed crates: cargo xtask publish --dry-run" >&2; exit 2; }
    for crate in $packed; do tar -C "$root/root/crates" -xf "$crate"; done
    {
        printf '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\npelago = "*"\n[patch.crates-io]\n'
        for crate in "$root"/root/crates/pelago*; do
            name=$(basename "$crate" | sed 's/-[0-9][^-]*$//')
            printf '%s = { path = "../crates/%s" }\n' "$name" "$(basename "$crate")"
        done
    } >"$root/root/program/Cargo.toml"
    cp "$here/examples/ring.rs" "$root/root/program/src/main.rs"
    rust sh -c 'cd /root/program && cargo build --quiet --release'
    cp "$packages"/stage/gnu/bin/pelago "$root/usr/local/bin/pelago"
    last pelago run -n 4 /root/target/release/program
    ;;
esac

case " $* " in *" readme "*)
    echo "== the first command of README.md"
    sources
    rust sh -c 'cd /root/pelago && cargo run --quiet --release -- run -n 4 himeno S --iterations 103'
    ;;
esac

case " $* " in *" gate "*)
    echo "== the second command of README.md"
    sources
    rust sh -c 'cd /root/pelago && cargo xtask ci' >"$root.log" 2>&1 || { tail -40 "$root.log"; exit 1; }
    # The checks, what was skipped and why, and the summary of the tests.
    grep -E '^(==|test result:|skipped)' "$root.log"
    ;;
esac
echo "all that was tried works"
