#!/bin/sh
# Runs the shop with PHP's own server; several workers, since a webhook can arrive while a customer pays.
here=$(dirname "$(readlink -f "$0")")
export PHP_CLI_SERVER_WORKERS="${PHP_CLI_SERVER_WORKERS:-4}"
exec php -d display_errors=0 -d log_errors=1 -d variables_order=EGPCS -S "127.0.0.1:${PORT:-3000}" "$here/index.php"
