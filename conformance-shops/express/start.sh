#!/bin/sh
# Runs the shop from a folder outside of the repository's tree, in which its packages are installed once.
set -e
here=$(dirname "$(readlink -f "$0")")
cache=${SHOP_CACHE:-$here/../../.cache/conformance-shops/express}
mkdir -p "$cache"
if ! cmp -s "$here/package-lock.json" "$cache/installed.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$cache/"
    npm ci --omit=dev --silent --no-audit --no-fund --prefix "$cache"
    cp "$here/package-lock.json" "$cache/installed.json"
fi
cp "$here"/*.js "$here/package.json" "$cache/"
exec node "$cache/shop.js"
