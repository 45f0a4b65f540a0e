"""What the pages say about points between commits, in the languages in which they say it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest
from bounds import AT_MOST_SECONDS

NOTHING: Mapping[str, str] = MappingProxyType({})
PAGES = Path(__file__).parents[2] / "docs" / "how-to"
PAGE_OF = MappingProxyType({"javascript": "node", "go": "go", "php": "php", "ruby": "ruby", "java": "java"})
SHOP = """
import { checkpoint } from "./checkpoint.mjs";

for (let number = 1; number <= 3; number += 1) {
  try {
    checkpoint();
    console.log(`commit ${number}`);
  } catch (error) {
    console.log(error.message);
  }
}
"""

# What the points need of better-sqlite3: transactions that may be within each other, and statements.
SQLITE = """
class Database {
  constructor() {
    this.inTransaction = false;
    this.log = [];
  }
  prepare(text) {
    const run = () => { this.log.push(text); return text; };
    return { readonly: text.startsWith("SELECT"), run, get: run, all: run };
  }
  transaction(work) {
    const variant = (begin) => (...values) => {
      if (this.inTransaction) return work.apply(this, values);
      this.log.push(begin);
      this.inTransaction = true;
      try {
        const done = work.apply(this, values);
        this.log.push("COMMIT");
        return done;
      } catch (error) {
        this.log.push("ROLLBACK");
        throw error;
      } finally {
        this.inTransaction = false;
      }
    };
    const [immediate, deferred, exclusive] = ["IMMEDIATE", "DEFERRED", "EXCLUSIVE"].map(variant);
    return Object.assign(variant("BEGIN"), { immediate, deferred, exclusive });
  }
}
module.exports = Database;
"""
SQLITE_SHOP = """
import { createRequire } from "node:module";
import { markTransactions } from "./sqlite.mjs";

const Database = createRequire(import.meta.url)("./database.cjs");
markTransactions(Database);
const books = new Database();
const add = books.transaction((one, other) => {
  books.prepare("INSERT").run(one);
  return one + other;
});
const twice = books.transaction(() => add(1, 2) + add.immediate(3, 4));
for (const write of [() => add(1, 2), () => add.immediate(3, 4), twice, () => books.prepare("DELETE").get()]) {
  try {
    console.log(write());
  } catch (error) {
    console.log(error.message);
  }
}
books.prepare("SELECT").all();
console.log(books.log.join(" "));
"""

# A database whose driver says what it does, and a shop of three transactions and a statement by itself.
GO_SHOP = """
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"
)

type tells struct{}

func (tells) Open(string) (driver.Conn, error)                                        { return tells{}, nil }
func (tells) Prepare(string) (driver.Stmt, error)                                     { return nil, errors.New("no") }
func (tells) Close() error                                                            { return nil }
func (tells) Begin() (driver.Tx, error)                                               { return nil, errors.New("no") }
func (tells) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error)            { return tells{}, tell("begin") }
func (tells) Commit() error                                                           { return tell("commit") }
func (tells) Rollback() error                                                         { return tell("rollback") }
func (tells) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, tell(query)
}

func tell(what string) error {
	_, err := fmt.Println(what)
	return err
}

func main() {
	fmt.Println(playNow().Format(time.RFC3339))
	playSleep(90 * time.Minute)
	fmt.Println(playNow().Format(time.RFC3339))
	database, _ := sql.Open("points", "")
	for number := 1; number <= 3; number++ {
		tx, err := database.Begin()
		if err == nil {
			_, err = tx.Exec("write")
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\\n", ", "))
		}
	}
	database.Exec("write alone")
}
"""
GO_IMPORTS = """
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func init() { sql.Register("sqlite", tells{}) }
"""
PHP_SHOP = """<?php
require 'points.php';

$began = now();
nap(2.5);
echo now() - $began, PHP_EOL;
$books = new PointsPdo('sqlite::memory:');
$books->exec('CREATE TABLE kept (number INTEGER)');
foreach ([1, 2, 3] as $number) {
    try {
        {begin};
        $books->exec("INSERT INTO kept VALUES ($number)");
        {commit};
    } catch (PDOException $failed) {
        {roll_back};
        echo $failed->getMessage(), PHP_EOL;
    }
}
$books->prepare('INSERT INTO kept VALUES (?)')->execute([4]);
echo implode(' ', $books->query('SELECT number FROM kept')->fetchAll(PDO::FETCH_COLUMN)), PHP_EOL;
"""
RUBY_SHOP = """
require "sequel"

books = Sequel.sqlite
books.create_table(:kept) { Integer :number }
[1, 2, 3].each do |number|
  books.transaction { books[:kept].insert(number: number) }
rescue Sequel::DatabaseError => failed
  puts failed.message
end
books[:kept].insert(number: 4)
puts books[:kept].map(:number).join(" ")
"""
RECORDS_SHOP = """
require "active_record"

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Base.connection.create_table(:kept) { |table| table.integer :number }
class Kept < ActiveRecord::Base
  self.table_name = "kept"
end
[1, 2, 3].each do |number|
  Kept.transaction { Kept.create!(number: number) }
rescue ActiveRecord::StatementInvalid => failed
  puts failed.message
end
puts Kept.pluck(:number).join(" ")
"""
RUBY_TIME = """
require "../library"

puts sleep(150.2)
puts Time.now.utc.inspect, Time.now(in: "+09:00").hour
pause
puts Time.now.utc.inspect
"""


def _code(language: str, first: str) -> str:
    """Return the block of a language's page that begins with a line."""
    page = (PAGES / f"machine-with-{PAGE_OF[language]}.md").read_text("utf-8")
    (code,) = re.findall(rf"```{language}\n{re.escape(first)}\n(.+?)```", page, re.DOTALL)
    return str(code)


def _run(command: list[str], folder: Path, fails_at: int, **environment: str) -> tuple[list[str], list[bool]]:
    """Run a shop; return what it prints, and what it says at its points, of which one meets a failing database."""
    said: list[bool] = []

    class Clock(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept, as by the server of plays
        now = datetime(2026, 1, 1, 5, tzinfo=UTC)

        def do_GET(self) -> None:
            answer = json.dumps({"now": Clock.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_sleep = self.path == "/clock/advance"
            if is_sleep:
                Clock.now += timedelta(milliseconds=int(body["by"].removesuffix("ms")))
            else:
                assert self.path == "/clock/checkpoint"
                said.append(body["in_transaction"])
            self.send_response(503 if len(said) == fails_at and not is_sleep else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Clock) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {**os.environ, "CLOCK_URL": f"http://127.0.0.1:{server.server_port}/clock", **environment}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=AT_MOST_SECONDS
        )
        server.shutdown()
    assert done.stderr == ""
    return done.stdout.splitlines(), said


# The notification of an earlier answer, which comes while the next one is waited for.
LATE_NOTIFICATION = """port.on("message", () => {
  Atomics.notify(answered, 0);
  setTimeout(() => Atomics.notify(answered, 0));
  send();
});"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
@pytest.mark.parametrize("on_message", ['port.on("message", send);', LATE_NOTIFICATION])
def test_a_synchronous_checkpoint_of_node_waits_for_its_answer(tmp_path: Path, on_message: str) -> None:
    """It says that no other call may come in, fails as the database would, and keeps no process alive."""
    code = _code("javascript", "// checkpoint.mjs")
    assert 'port.on("message", send);' in code
    (tmp_path / "checkpoint.mjs").write_text(code.replace('port.on("message", send);', on_message), "utf-8")
    (tmp_path / "shop.mjs").write_text(SHOP, "utf-8")

    printed, said = _run(["node", "shop.mjs"], tmp_path, fails_at=2)

    assert printed == ["commit 1", "the database is down", "commit 3"]
    assert said == [True] * 3


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_better_sqlite3_marks_the_points_of_all_transactions(tmp_path: Path) -> None:
    """Before each commit and after it; one that fails is rolled back. A single write has two, a read none."""
    (tmp_path / "checkpoint.mjs").write_text(_code("javascript", "// checkpoint.mjs"), "utf-8")
    (tmp_path / "sqlite.mjs").write_text(_code("javascript", "// sqlite.mjs"), "utf-8")
    (tmp_path / "database.cjs").write_text(SQLITE, "utf-8")
    (tmp_path / "shop.mjs").write_text(SQLITE_SHOP, "utf-8")

    printed, said = _run(["node", "shop.mjs"], tmp_path, fails_at=3)

    *returned, log = printed
    assert returned == ["3", "the database is down", "10", "DELETE"]
    whole = "BEGIN INSERT COMMIT"
    assert log == f"{whole} IMMEDIATE INSERT ROLLBACK BEGIN INSERT INSERT COMMIT DELETE SELECT"
    assert len(said) == 2 + 1 + 2 + 2


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")
def test_a_driver_of_go_marks_the_points_of_all_transactions(tmp_path: Path) -> None:
    """Before each one, before its commit and after it; a commit that fails is rolled back. The time is the play's."""
    time, checkpoint = "func playNow() time.Time {", "func checkpoint(inTransaction bool) error {"
    functions = "\n".join(f"{each}\n{_code('go', each)}" for each in (time, checkpoint))
    code = f"{GO_IMPORTS}\n{functions}\n{_code('go', '// points.go')}"
    (tmp_path / "points.go").write_text(code, "utf-8")
    (tmp_path / "shop.go").write_text(GO_SHOP, "utf-8")
    (tmp_path / "go.mod").write_text("module shop\n\ngo 1.21\n", "utf-8")

    printed, said = _run(["go", "run", "."], tmp_path, fails_at=5, GOFLAGS="-mod=mod")

    whole = ["begin", "write", "commit"]
    assert printed[:2] == ["2026-01-01T05:00:00Z", "2026-01-01T06:30:00Z"]
    assert printed[2:] == [*whole, "begin", "write", "rollback", "the database is down", *whole, "write alone"]
    assert said == [False, True, False, False, True, False, True, False, False, False]


def _php_has(extension: str) -> bool:
    asked = ["php", "-r", f"exit((int) !extension_loaded('{extension}'));"]
    return shutil.which("php") is not None and subprocess.run(asked, check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not _php_has("pdo_sqlite"), reason="there is no PHP with SQLite here")
@pytest.mark.parametrize(
    "calls",
    [
        ("$books->beginTransaction()", "$books->commit()", ""),
        ("$books->beginTransaction()", "$books->commit()", "$books->rollBack()"),
        ("$books->exec('BEGIN IMMEDIATE')", "$books->exec('COMMIT')", ""),
        ("$books->exec('BEGIN IMMEDIATE')", "$books->exec('COMMIT')", "$books->exec('ROLLBACK')"),
    ],
)
@pytest.mark.parametrize(("fails_at", "kept"), [(5, "1 3 4"), (6, "1 2 3 4")])
def test_a_pdo_of_php_marks_the_points_of_all_transactions(
    tmp_path: Path, calls: tuple[str, str, str], fails_at: int, kept: str
) -> None:
    """Before each one, before its commit and after it; a single write is one.

    A failing commit is rolled back, and the shop may do so too. What was committed stays.

    The time is the play's.
    """
    functions = "\n".join(
        f"{each}\n{_code('php', each)}"
        for each in ("function now(): float", "function checkpoint(bool $inTransaction = false): void")
    )
    code = f"<?php\n{functions}\n{_code('php', '// points.php')}"
    (tmp_path / "points.php").write_text(code, "utf-8")
    shop = PHP_SHOP
    for name, call in zip(("{begin}", "{commit}", "{roll_back}"), calls, strict=True):
        shop = shop.replace(name, call)
    (tmp_path / "shop.php").write_text(shop, "utf-8")

    printed, said = _run(["php", "shop.php"], tmp_path, fails_at=fails_at)

    assert printed == ["2.5", "the database is down", kept]
    after = [False] * (fails_at - 5)  # the second commit
    assert said == [False, True, False, False, True, *after, False, True, False, False, False]


def _ruby_has(library: str) -> bool:
    asked = ["ruby", "-e", f"require '{library}'"]
    return shutil.which("ruby") is not None and subprocess.run(asked, check=False, capture_output=True).returncode == 0


def _ruby(shop: str, folder: Path, fails_at: int, changes: Mapping[str, str] = NOTHING) -> tuple[list[str], list[bool]]:
    code = _code("ruby", "# points.rb")
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    (folder / "points.rb").write_text(code, "utf-8")
    (folder / "shop.rb").write_text(shop, "utf-8")
    return _run(["ruby", "-r", "./points.rb", "shop.rb"], folder, fails_at=fails_at)


@pytest.mark.skipif(not _ruby_has("sequel"), reason="there is no Ruby with Sequel here")
def test_a_file_of_ruby_marks_the_points_of_all_transactions(tmp_path: Path) -> None:
    """Before each one, before its commit and after it; a failing commit is rolled back, and a single write is one."""
    printed, said = _ruby(RUBY_SHOP, tmp_path, fails_at=7)

    assert printed == ["the database is down", "1 3 4"]
    assert said == [False, False, False, True, False, False, True, False, True, False, False, False]


@pytest.mark.skipif(not _ruby_has("active_record"), reason="there is no Ruby with Active Record here")
def test_the_same_file_marks_those_of_active_record(tmp_path: Path) -> None:
    """With the four names that the page gives for it; to make the table is a transaction or none, by version."""
    names = {
        'require "sequel"': 'require "active_record"',
        "Sequel::DatabaseError": "ActiveRecord::StatementInvalid",
        "in_transaction?": "transaction_open?",
        "Sequel::Database.prepend": "ActiveRecord::ConnectionAdapters::AbstractAdapter.prepend",
        "Sequel::Database.after_initialize { |database| database.extend(Play::Writes) }": "",
    }
    printed, said = _ruby(RECORDS_SHOP, tmp_path, fails_at=5, changes=names)

    assert printed == ["the database is down", "1 3"]
    assert said == [False, True, False, False, True, False, True, False]


@pytest.mark.skipif(not _ruby_has("sequel"), reason="there is no Ruby with Sequel here")
def test_the_same_file_lets_the_shop_follow_the_play(tmp_path: Path) -> None:
    """Its pauses take no time, and the time is the play's; a pause of a library is left as it is."""
    (tmp_path / "library.rb").write_text("def pause = sleep(0.001)", "utf-8")
    (tmp_path / "shop").mkdir()

    printed, _ = _ruby(RUBY_TIME, tmp_path / "shop", fails_at=0)

    assert printed == ["150", "2026-01-01 05:02:30.2 UTC", "14", "2026-01-01 05:02:30.2 UTC"]


PHP_STUBS = """<?php
function now(): float { return 1767225600.5; }
function nap(float $seconds): void { echo "nap $seconds", PHP_EOL; }
"""
PHP_PAGES = {
    "public/index.php": """<?php
namespace Shop\\Payment;
echo time(), PHP_EOL;
usleep(2500);
$silent = stream_socket_server('tcp://127.0.0.1:0');
$curl = curl_init('http://' . stream_socket_get_name($silent, false));
curl_setopt_array($curl, [CURLOPT_TIMEOUT_MS => 0]);
curl_exec($curl);
echo curl_errno($curl) === CURLE_OPERATION_TIMEDOUT ? 'given up' : 'answered', PHP_EOL;
new \\Shop\\Database();
""",
    "bin/cron.php": "<?php echo 'jobs', PHP_EOL;",
    "tests/Database.php": "<?php namespace Shop; class Database { function __construct() { echo 'copy', PHP_EOL; } }",
    "points.php": PHP_STUBS,
}


@pytest.mark.skipif(not _php_has("curl"), reason="there is no PHP with curl here")
@pytest.mark.parametrize(
    ("path", "shown"), [("/", ["1767225600", "nap 0.0025", "given up", "copy"]), ("/test/jobs", ["jobs"])]
)
def test_a_router_script_of_php_stands_before_the_shop(tmp_path: Path, path: str, shown: list[str]) -> None:
    """Its functions take the place of PHP's in the shop's namespace, and its copy that of the shop's file.

    So a request that would wait for ever is given up.
    """
    for name, code in PHP_PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code, "utf-8")
    router = "<?php // router.php"
    code = _code("php", router).replace("CURLOPT_TIMEOUT_MS => 1000", "CURLOPT_TIMEOUT_MS => 1")
    (tmp_path / "router.php").write_text(f"{router}\n{code}", "utf-8")
    ask = f"$_SERVER['REQUEST_URI'] = '{path}'; require 'router.php';"

    printed, _ = _run(["php", "-r", ask], tmp_path, fails_at=0, TEST_FOLDER=str(tmp_path / "tests"))

    assert printed == shown


# A database that says what it does, and a shop of three transactions, a read, and two writes by themselves.
JAVA_SHOP = """
import java.io.IOException;
import java.lang.reflect.*;
import java.net.URI;
import java.net.http.*;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.*;
import java.time.*;
import javax.sql.DataSource;

public class Shop {
    static boolean alone = true;

    {code}

    static <T> T tells(Class<T> type) {
        ClassLoader loader = Shop.class.getClassLoader();
        return type.cast(Proxy.newProxyInstance(loader, new Class<?>[] {type}, (self, method, values) -> {
            switch (method.getName()) {
                case "getConnection": return tells(Connection.class);
                case "createStatement": return tells(Statement.class);
                case "prepareStatement": return tells(PreparedStatement.class);
                case "getAutoCommit": return alone;
                case "setAutoCommit": alone = (Boolean) values[0]; return null;
                case "executeUpdate": System.out.println("write"); return 1;
                case "execute": System.out.println("do"); return false;
                default: System.out.println(method.getName()); return null;
            }
        }));
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(now());
        sleep(Duration.ofMinutes(90));
        System.out.println(now());
        Connection books = marked(tells(DataSource.class)).getConnection();
        for (int number = 1; number <= 3; number++) {
            books.setAutoCommit(false);
            try {
                books.createStatement().executeUpdate("INSERT");
                books.commit();
            } catch (SQLException failed) {
                System.out.println(failed.getMessage());
            }
            books.setAutoCommit(true);
        }
        books.prepareStatement(" select 1").execute();
        books.prepareStatement("INSERT").execute();
        books.createStatement().executeUpdate("INSERT");
    }
}
"""


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no JDK here")
def test_a_data_source_of_java_marks_the_points_of_all_transactions(tmp_path: Path) -> None:
    """Before each one, before its commit and after it; a failing commit is rolled back, and a single write is one.

    The time is the play's.
    """
    time = "static final HttpClient PLAY = HttpClient.newHttpClient(); // one that keeps its connection"
    checkpoint = (
        "static void checkpoint(boolean inTransaction) throws IOException, InterruptedException, SQLException {"
    )
    functions = "\n".join(f"{each}\n{_code('java', each)}" for each in (time, checkpoint))
    code = f"{functions}\n{_code('java', '// Points of a DataSource')}"
    (tmp_path / "Shop.java").write_text(JAVA_SHOP.replace("{code}", code), "utf-8")

    printed, said = _run(["java", "Shop.java"], tmp_path, fails_at=5)

    whole = ["write", "commit"]
    assert printed[:2] == ["2026-01-01T05:00:00Z", "2026-01-01T06:30:00Z"]
    assert printed[2:] == [*whole, "write", "rollback", "the database is down", *whole, "do", "do", "write"]
    assert said == [False, True, False, False, True, False, True, False, *[False] * 4]
