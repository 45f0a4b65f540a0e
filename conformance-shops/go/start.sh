#!/bin/sh
# Builds the shop outside of the repository's tree, when it has changed, and runs it.
set -e
here=$(dirname "$(readlink -f "$0")")
cache=${SHOP_CACHE:-$here/../../.cache/conformance-shops/go}
mkdir -p "$cache"
go build -C "$here" -o "$cache/shop" .
exec "$cache/shop"
