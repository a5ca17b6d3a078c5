#!/usr/bin/env bash
# Configures the model alone on a machine that seems to have only {fmt}, toml++ and doctest.
# Usage: sim_alone.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Hides every library that find_package() looks for. pkg-config sees toml++ and nothing else.
mkdir "$work/pkgconfig"
cp "$(pkg-config --variable=pcfiledir tomlplusplus)/tomlplusplus.pc" "$work/pkgconfig"
hidden=()
for package in CLI11 glfw3 Freetype glm imgui nlohmann_json Threads CUDAToolkit benchmark; do
  hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
PKG_CONFIG_LIBDIR=$work/pkgconfig PKG_CONFIG_PATH='' cmake -S "$source_dir" -B "$work/build" -G Ninja \
  -DTILESCOPE_APP=OFF -DTILESCOPE_KERNELS=OFF "${hidden[@]}" 2>&1 | tail -n 20
ninja -C "$work/build" -t query test_sim >/dev/null
ninja -C "$work/build" -t query tilescope_sim >/dev/null
