#!/bin/sh
# Is there a chromium that starts? Installs Debian's if there is none and we may; otherwise says why not and fails.
set -u

find_it() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

install_it() {
    command -v apt-get >/dev/null || { echo "there is no apt-get to install one"; return 1; }
    if [ "$(id -u)" = 0 ]; then as_root=""; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else
        echo "installing one needs root"; return 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    get="timeout 180 $as_root apt-get -qq -o Dpkg::Use-Pty=0"
    $get install -y --no-install-recommends chromium >/dev/null 2>&1 && return
    $get update >/dev/null 2>&1
    $get install -y --no-install-recommends chromium >/dev/null 2>&1 || { echo "apt-get could not install it"; return 1; }
}

if ! find_it >/dev/null; then
    reason=$(install_it) || { echo "browser tests skipped: no chromium, and ${reason}."; exit 1; }
fi
if ! timeout 120 "$(find_it)" --headless --no-sandbox --disable-gpu --dump-dom about:blank >/dev/null 2>&1; then
    echo "browser tests skipped: $(find_it) does not start here."
    exit 1
fi
