"""Files in and out, while anything runs."""

import os

from harness import Frame, Runner


def read(machine: Runner, path: str, offset: int = 0, length: int = 4 << 20) -> Frame:
    return machine.ask("read_file", path=path, offset=offset, length=length)


def test_write_read_and_list(machine: Runner) -> None:
    data = os.urandom(3 << 20)
    reply = machine.ask("write_file", data, path="deep/er/data.bin", offset=0, truncate=True)
    assert reply.header["ok"] and reply.header["result"]["size"] == len(data)
    back = read(machine, "deep/er/data.bin")
    assert back.payload == data and back.header["result"] == {"size": len(data), "eof": True}
    part = read(machine, "deep/er/data.bin", 1000, 10)
    assert part.payload == data[1000:1010] and part.header["result"]["eof"] is False
    assert machine.run("len(open('deep/er/data.bin', 'rb').read())").value == str(len(data))
    listing = machine.ask("list_files", path="deep", limit=10).header["result"]
    assert [(e["name"], e["type"]) for e in listing["entries"]] == [("er", "folder")] and not listing["more"]


def test_pieces_and_truncation(machine: Runner) -> None:
    machine.ask("write_file", b"0123456789", path="pieces", offset=0, truncate=True)
    machine.ask("write_file", b"ab", path="pieces", offset=4, truncate=False)
    assert read(machine, "pieces").payload == b"0123ab6789"
    machine.ask("write_file", b"X", path="pieces", offset=2, truncate=True)
    assert read(machine, "pieces").payload == b"01X"
    machine.ask("write_file", b"", path="pieces", offset=0, truncate=True)
    assert read(machine, "pieces").payload == b""
    assert read(machine, "pieces", 100).header["result"] == {"size": 0, "eof": True}


def test_good_errors(machine: Runner) -> None:
    machine.run("import os\nos.makedirs('folder', exist_ok=True)\nos.path.exists('fifo') or os.mkfifo('fifo')")
    for request, words in (
        ({"type": "read_file", "path": "missing"}, "No such file"),
        ({"type": "read_file", "path": "folder"}, "folder"),
        ({"type": "read_file", "path": "fifo"}, "not a plain file"),
        ({"type": "read_file", "path": "/dev/zero"}, "not a plain file"),
        ({"type": "read_file", "path": ""}, "path"),
        ({"type": "read_file", "path": "a\0b"}, "path"),
        ({"type": "read_file", "path": "x", "offset": -1}, "offset"),
        ({"type": "read_file", "path": "x", "length": "many"}, "length"),
        ({"type": "write_file", "path": "folder"}, "folder"),
        ({"type": "write_file", "path": "/proc/version/x"}, ""),
        ({"type": "list_files", "path": "missing"}, "No such file"),
    ):
        fields = {"offset": 0, "length": 10, "limit": 10, "truncate": True} | request
        reply = machine.ask(fields.pop("type"), **fields)  # type: ignore[arg-type]
        assert reply.header["ok"] is False and words in reply.header["error"], (request, reply.header)


def test_a_long_listing_is_cut(machine: Runner) -> None:
    machine.run("import os\nos.makedirs('many', exist_ok=True)\nfor i in range(300): open(f'many/{i}', 'w').close()")
    listing = machine.ask("list_files", path="many", limit=100).header["result"]
    assert len(listing["entries"]) == 100 and listing["more"] is True


def test_names_that_are_not_text(machine: Runner) -> None:
    machine.run("import os\nos.makedirs('odd', exist_ok=True)\nopen(b'odd/\\xff\\xfe', 'w').close()")
    assert len(machine.ask("list_files", path="odd", limit=10).header["result"]["entries"]) == 1


def test_while_python_is_stuck(machine: Runner) -> None:
    machine.run("import re")
    seq = machine.start("re.match(r'(a+)+$', 'a' * 40 + 'b')")
    machine.wait(lambda: machine.first("started", seq=seq))
    assert machine.ask("write_file", b"now", path="stuck", offset=0, truncate=True).header["ok"]
    assert read(machine, "stuck").payload == b"now"
    machine.interrupt(seq)
    machine.finish(seq)
