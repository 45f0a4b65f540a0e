#!/bin/sh
# Installs the shop's packages once for each state of its sources, outside of the repository's tree, and becomes the shop.
set -e
here=$(dirname "$(readlink -f "$0")")
cache=${SHOP_CACHE:-$here/../../.cache/conformance-shops/express}
app=$cache/app-$(cat "$here"/*.js "$here"/package*.json | cksum | tr ' ' '-')
if [ ! -d "$app" ]; then
    mkdir -p "$cache"
    fresh=$(mktemp -d "$cache/fresh-XXXXXX")
    cp "$here"/*.js "$here"/package*.json "$fresh/"
    npm ci --omit=dev --silent --no-audit --no-fund --prefix "$fresh"
    # Another start may have been faster: then its folder is used.
    mv -T "$fresh" "$app" 2>/dev/null || rm -rf "$fresh"
fi
exec node "$app/shop.js"
