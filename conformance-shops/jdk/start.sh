#!/bin/sh
# Compiles the shop once for each state of its sources, outside of the repository's tree, and becomes the shop.
set -e
here=$(dirname "$(readlink -f "$0")")
cache=${SHOP_CACHE:-$here/../../.cache/conformance-shops/jdk}
classes=$cache/classes-$(cat "$here"/src/shop/*.java | cksum | tr ' ' '-')
if [ ! -d "$classes" ]; then
    mkdir -p "$cache"
    fresh=$(mktemp -d "$cache/fresh-XXXXXX")
    javac -d "$fresh" "$here"/src/shop/*.java
    # Another start may have been faster: then its classes are used.
    mv -T "$fresh" "$classes" 2>/dev/null || rm -rf "$fresh"
fi
exec java -XX:TieredStopAtLevel=1 -Xshare:auto -Dsun.net.httpserver.nodelay=true -cp "$classes" shop.Main
