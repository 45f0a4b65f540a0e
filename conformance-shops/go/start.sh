#!/bin/sh
# Builds the shop once for each state of its sources, outside of the repository's tree, and becomes the shop.
set -e
here=$(dirname "$(readlink -f "$0")")
cache=${SHOP_CACHE:-$here/../../.cache/conformance-shops/go}
shop=$cache/shop-$(cat "$here"/*.go "$here"/go.mod | cksum | tr ' ' '-')
if [ ! -x "$shop" ]; then
    mkdir -p "$cache"
    fresh=$(mktemp "$cache/fresh-XXXXXX")
    go build -C "$here" -o "$fresh" .
    mv "$fresh" "$shop"
fi
exec "$shop"
