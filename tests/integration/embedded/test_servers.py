"""PostgreSQL and Valkey as embedded servers: what is written stays, whatever ends them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest
import redis
from sqlalchemy import create_engine, inspect

from lastbyte.domain.errors import Unavailable
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.processes import SOCKET_PATH_LIMIT, processes_in
from lastbyte.embedded.running import running_postgres, running_valkey
from lastbyte.embedded.unprivileged import Unprivileged, unprivileged
from lastbyte.embedded.valkey import Valkey


def connect(server: Postgres) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(host=str(server.socket_folder), user="postgres", dbname="lastbyte", autocommit=True)


def client_of(server: Valkey) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(server.socket))


def postmaster(server: Postgres) -> int:
    return int((server.data_folder / "postmaster.pid").read_text().splitlines()[0])


def test_url_of_the_fixture_is_an_empty_database(embedded_postgres_url: str) -> None:
    engine = create_engine(embedded_postgres_url)
    assert inspect(engine).get_table_names() == []
    engine.dispose()


def test_postgres_keeps_committed_rows_over_kill_9_in_the_middle_of_writing(tmp_path: Path) -> None:
    committed: list[int] = []
    with running_postgres(Postgres.under(tmp_path), tmp_path / "log") as server:
        server.ensure_database()
        with connect(server) as connection:
            connection.execute("CREATE TABLE written (n int PRIMARY KEY)")

        def write() -> None:
            try:
                with connect(server) as connection:
                    for number in range(1_000_000):
                        connection.execute("INSERT INTO written VALUES (%s)", [number])
                        committed.append(number)
            except psycopg.OperationalError:
                return

        writer = threading.Thread(target=write)
        writer.start()
        while len(committed) < 50:
            time.sleep(0.005)
        os.kill(postmaster(server), signal.SIGKILL)
        for backend in processes_in(server.data_folder):
            os.kill(backend, signal.SIGKILL)
        writer.join(10)
    assert (server.data_folder / "postmaster.pid").exists()

    with running_postgres(Postgres.under(tmp_path), tmp_path / "log") as server, connect(server) as connection:
        kept = [row[0] for row in connection.execute("SELECT n FROM written ORDER BY n")]
    assert kept[: len(committed)] == committed
    assert len(kept) - len(committed) in (0, 1)


def test_lock_file_whose_process_id_was_given_to_another_process_does_not_stop_the_start(tmp_path: Path) -> None:
    server = Postgres.under(tmp_path)
    with running_postgres(server, tmp_path / "log"):
        lock = (server.data_folder / "postmaster.pid").read_text()
    stale = lock.replace(lock.splitlines()[0], str(os.getpid()), 1)
    (server.data_folder / "postmaster.pid").write_text(stale)
    with running_postgres(Postgres.under(tmp_path), tmp_path / "log"):
        assert postmaster(server) != os.getpid()


def test_second_server_over_a_running_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastbyte.embedded.processes.LEFTOVER_WAIT_S", 0.1)
    refused = pytest.raises(Unavailable, match=r"Another PostgreSQL still works .* --var")
    with running_postgres(Postgres.under(tmp_path), tmp_path / "log"), refused:
        Postgres.under(tmp_path).prepare()


def test_deep_folder_gets_short_sockets_with_a_stable_name(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / ("b" * 60) / "with space, and comma"
    deep.mkdir(parents=True)
    with running_postgres(Postgres.under(deep), tmp_path / "log") as server:
        server.ensure_database()
        with connect(server) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert server.socket_folder.stat().st_mode & 0o777 == 0o700
        assert len(f"{server.socket_folder}/.s.PGSQL.5432.lock") <= SOCKET_PATH_LIMIT
        assert Postgres.under(deep).socket_folder == server.socket_folder
    server.socket_folder.rmdir()


def test_valkey_keeps_a_queue_over_kill_9(tmp_path: Path) -> None:
    with running_valkey(Valkey.under(tmp_path), tmp_path / "log") as server, client_of(server) as client:
        client.rpush("celery", *[f"task {n}" for n in range(100)])
        time.sleep(1.2)  # appendfsync everysec
        os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
    with running_valkey(Valkey.under(tmp_path), tmp_path / "log") as server, client_of(server) as client:
        assert client.llen("celery") == 100
        assert client.config_get("port") == {"port": "0"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must become somebody else")
def test_root_runs_postgres_with_and_without_user_namespaces_over_the_same_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)  # as /root is: nobody could not enter it
    with running_postgres(Postgres.under(tmp_path), tmp_path / "log") as server:
        server.ensure_database()
        assert server.data_folder.stat().st_uid == unprivileged().owner

    monkeypatch.setattr("lastbyte.embedded.postgres.unprivileged", as_nobody)
    with running_postgres(Postgres.under(tmp_path), tmp_path / "log") as server, connect(server) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
        assert server.data_folder.stat().st_uid != 0
        assert Path(f"/proc/{postmaster(server)}").stat().st_uid != 0
    monkeypatch.undo()

    with running_postgres(Postgres.under(tmp_path), tmp_path / "log") as server, connect(server) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


def as_nobody() -> Unprivileged:
    """What is chosen where no user namespace can be made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lastbyte.embedded.unprivileged._problem", lambda prefix: "no" if "unshare" in prefix else "")
        return unprivileged.__wrapped__()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_data_folder_of_another_user_is_refused_by_name(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)
    with pytest.raises(Unavailable, match=r"belongs to user 12345, .* --var"):
        unprivileged().own(tmp_path)
