#!/usr/bin/env bash
# Installs what TileScope needs on a Debian-like machine and fetches the source of Dear ImGui; called by run.sh and test.sh.
# Usage: cmake/setup.sh [run|test]     (test adds the test libraries)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
what=${1:-run}

packages=(cmake ninja-build g++ pkg-config
  libglfw3-dev libepoxy-dev libegl-dev libegl-mesa0 libgl1-mesa-dri libfreetype-dev libfontconfig-dev
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libstb-dev libmd4c-dev libmuparser-dev
  libavcodec-dev libavformat-dev libavutil-dev libswscale-dev
  fonts-inter fonts-jetbrains-mono fonts-noto-cjk)
[ "$what" = test ] && packages+=(doctest-dev libbenchmark-dev xvfb clang-format
  python3 aspell aspell-en librsvg2-bin)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else echo "tilescope: these packages are missing and neither root nor sudo is here to install them: ${missing[*]}" >&2; exit 3
  fi
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo "tilescope: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get update -qq
    as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
else
  echo "tilescope: this is not a Debian-like machine; install the equivalents of: ${packages[*]}" >&2
fi

# Dear ImGui: Debian 12 ships 1.86; the source package of Debian 13 (1.90.1) builds anywhere.
# CMake falls back to a pinned upstream tag when this finds nothing.
imgui_dir="$root/build/deps/imgui"
if [ ! -f "$imgui_dir/imgui.cpp" ] && command -v apt-get >/dev/null; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mirror=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
    sed -nE 's#^(URIs:|deb) +(\[[^]]*\] +)?([a-z]+://[^ ]+).*#\3#p' | grep -v security | head -n 1 || true)
  if [ -n "$mirror" ]; then
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$keyring] $mirror trixie main" >"$work/sources.list"
    mkdir -p "$work/lists/partial" "$work/source"
    private=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists"
      -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=" -o APT::Sandbox::User=root)
    if apt-get "${private[@]}" update -qq >/dev/null 2>"$work/log" &&
       (cd "$work/source" && apt-get "${private[@]}" source --download-only -qq imgui >/dev/null 2>>"$work/log"); then
      mkdir -p "$imgui_dir"
      tar -xf "$work"/source/imgui_*.orig.tar.* -C "$imgui_dir" --strip-components=1
    else
      echo "tilescope: the Dear ImGui source package could not be had; CMake will use a system package or the pinned upstream tag" >&2
    fi
  fi
fi
