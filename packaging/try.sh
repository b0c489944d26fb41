#!/bin/sh
# Tries what `cargo xtask release` has made in a clean Debian: as root, packaging/try.sh [crates] [readme]
#
# The root is made by debootstrap, with nothing but the packages that a line below names. `crates` also builds a program against the packed crates;
# `readme` runs the two commands of README.md, the second of which takes half an hour. Both use the Rust of this machine.
set -eu
here=$(dirname "$(readlink -f "$0")")/..
packages=${CARGO_TARGET_DIR:-$here/target}/packages
ls "$packages"/*.deb >/dev/null || { echo "try.sh: $packages has no package: cargo xtask release" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "try.sh: debootstrap and chroot need root" >&2; exit 2; }
root=$(mktemp -d)
clean_up() {
    for mount in proc dev rust cargo source; do umount --recursive --lazy "$root/$mount" 2>/dev/null || true; done
    # A mount that is left must not be emptied.
    rm -rf --one-file-system "$root"
}
trap clean_up EXIT INT TERM
debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
mount -t proc proc "$root/proc"
mount --rbind --make-rslave /dev "$root/dev" 2>/dev/null || mount --bind /dev "$root/dev"
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"; }
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
cp "$here"/bindings/shmem/examples/heat.c "$root/root/"
last sh -c 'cd /root && oshcc heat.c -o heat -lm && oshrun -np 2 ./heat'
inside sh -c 'cd /root && gcc hello-acp.c -o with-pkg-config $(pkg-config --cflags --libs acp) && ldd with-pkg-config | grep libacp'
inside apt-get remove -y -qq pelago >/dev/null 2>&1 || exit 1
inside sh -c '! command -v pelago'

if command -v buildah >/dev/null; then
    echo "== container image"
    image=$(buildah --storage-driver vfs bud --isolation chroot --quiet --file "$here/packaging/Containerfile" "$packages/stage")
    container=$(buildah --storage-driver vfs from "$image")
    buildah --storage-driver vfs run --isolation chroot "$container" -- /usr/local/bin/pelago run -n 4 ring
    buildah --storage-driver vfs rm "$container" >/dev/null
else
    echo "== container image: skipped, buildah is missing"
fi

# The toolchain and the crates of this machine, in the clean root.
with_rust() {
    mkdir -p "$root/rust" "$root/cargo" "$root/source"
    mount --bind "${RUSTUP_HOME:-$HOME/.rustup}" "$root/rust"
    mount --bind "${CARGO_HOME:-$HOME/.cargo}" "$root/cargo"
    mount --bind "$here" "$root/source"
}
rust() { inside RUSTUP_HOME=/rust CARGO_HOME=/cargo PATH=/cargo/bin:/usr/bin:/bin:/usr/sbin:/sbin CARGO_TARGET_DIR=/root/target "$@"; }
case " $* " in *" crates "* | *" readme "*) with_rust ;; esac

case " $* " in *" crates "*)
    echo "== a program on packed crates"
    mkdir -p "$root/root/crates" "$root/root/program/src"
    # `cargo package` leaves them in package, `cargo publish --dry-run` in tmp-registry.
    packed=$(find "${CARGO_TARGET_DIR:-$here/target}/package" -maxdepth 2 -name 'pelago*.crate' ! -path '*/tmp-crate/*' 2>/dev/null)
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
    echo "== the two commands of README.md"
    rust sh -c 'cp -r /source /root/pelago && rm -rf /root/pelago/target && cd /root/pelago && cargo run --release -- run -n 4 himeno S --iterations 103'
    rust sh -c 'cd /root/pelago && cargo xtask ci' | tail -20
    ;;
esac
echo "all that was tried works"
