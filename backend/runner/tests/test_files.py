"""Files in and out, while anything runs."""

import os
from typing import Any

from harness import Frame, Runner


def read(machine: Runner, path: str, offset: int = 0, length: int = 4 << 20) -> Frame:
    return machine.ask("read_file", path=path, offset=offset, length=length)


def write(
    machine: Runner, path: str, data: bytes, offset: int = 0, last: bool = True, part: str = "0" * 32, **more: Any
) -> Frame:
    return machine.ask("write_file", data, path=path, part=part, offset=offset, last=last, **more)


def names(machine: Runner, path: str) -> list[str]:
    return [e["name"] for e in machine.ask("list_files", path=path, limit=100).header["result"]["entries"]]


def test_write_read_and_list(machine: Runner) -> None:
    data = os.urandom(3 << 20)
    reply = write(machine, "deep/er/data.bin", data)
    assert reply.header["ok"] and reply.header["result"]["size"] == len(data)
    back = read(machine, "deep/er/data.bin")
    told = back.header["result"]
    assert back.payload == data and told["size"] == len(data) and told["eof"] is True
    part = read(machine, "deep/er/data.bin", 1000, 10)
    assert part.payload == data[1000:1010] and part.header["result"] == told | {"eof": False}
    assert machine.run("len(open('deep/er/data.bin', 'rb').read())").value == str(len(data))
    listing = machine.ask("list_files", path="deep", limit=10).header["result"]
    assert [(e["name"], e["type"]) for e in listing["entries"]] == [("er", "folder")] and not listing["more"]
    found = machine.ask("stat_file", path="deep/er/data.bin").header["result"]
    assert found == {"name": "data.bin", "type": "file", "size": len(data), "changed": told["changed"]}


def test_a_file_is_there_whole_or_not_at_all(machine: Runner) -> None:
    write(machine, "pieces/x", b"before", part="1" * 32)
    machine.run("import os\nos.chmod('pieces/x', 0o750)")
    assert write(machine, "pieces/x", b"0123", last=False).header["ok"]
    assert write(machine, "pieces/x", b"4567", 4, last=False).header["ok"]
    assert write(machine, "pieces/x", b"4567", 4, last=False).header["ok"]  # once more, as after a broken connection
    assert read(machine, "pieces/x").payload == b"before" and names(machine, "pieces") == ["x"]
    assert write(machine, "pieces/x", b"89", 8, changed=10**18).header["ok"]
    assert read(machine, "pieces/x").payload == b"0123456789" and names(machine, "pieces") == ["x"]
    assert (
        machine.run("s = os.stat('pieces/x'); oct(s.st_mode), s.st_mtime_ns, os.listdir('pieces')").value
        == f"('0o100750', {10**18}, ['x'])"
    )
    # The end, too, may come once more: the file has been changed by then, and stays so.
    machine.run("open('pieces/x', 'w').write('changed') and None")
    assert write(machine, "pieces/x", b"89", 8).header["result"]["size"] == 10
    assert read(machine, "pieces/x").payload == b"changed"
    lost = write(machine, "pieces/x", b"x", 8, part="2" * 32)
    assert not lost.header["ok"] and "Send the file again" in lost.header["error"]
    assert write(machine, "pieces/kept", b"", read_only=True).header["ok"]
    assert machine.run("oct(os.stat('pieces/kept').st_mode)").value == "'0o100444'"


def test_what_broke_off_is_swept(machine: Runner) -> None:
    write(machine, "swept/x", b"half", last=False, part="a" * 32)
    write(machine, "swept/x", b"half", last=False, part="b" * 32)
    machine.run(f"import os\nos.utime('swept/.forevervm-{'a' * 32}.part', (1, 1))")
    write(machine, "swept/y", b"whole")
    assert machine.run("sorted(os.listdir('swept'))").value == f"['.forevervm-{'b' * 32}.part', 'y']"


def test_remove_make_and_room(machine: Runner) -> None:
    assert machine.ask("make_folder", path="made/deep").header["ok"]
    write(machine, "made/deep/file", b"x")
    machine.run(
        "import os\nos.makedirs('aim', exist_ok=True); open('aim/kept', 'w').close(); os.symlink('../aim', 'made/link')"
    )
    assert machine.ask("remove_file", path="made/link").header["ok"]
    assert machine.ask("remove_file", path="made").header["ok"]
    assert machine.run("os.path.exists('made'), os.listdir('aim')").value == "(False, ['kept'])"
    for path in ("/", "~", "", "made"):
        assert not machine.ask("remove_file", path=path).header["ok"], path
    room = machine.ask("disk", path="/").header["result"]
    assert 0 < room["free"] <= room["size"]


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
        ({"type": "write_file", "path": "x", "part": "../x"}, "part"),
        ({"type": "write_file", "path": "/proc/version/x"}, ""),
        ({"type": "stat_file", "path": "missing"}, "No such file"),
        ({"type": "list_files", "path": "missing"}, "No such file"),
    ):
        fields = {"offset": 0, "length": 10, "limit": 10, "part": "0" * 32, "last": True} | request
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
    assert write(machine, "stuck", b"now").header["ok"]
    assert read(machine, "stuck").payload == b"now"
    machine.interrupt(seq)
    machine.finish(seq)


def test_a_path_of_the_computer_says_where_to_put_the_file(machine: Runner) -> None:
    for code, name in (
        ("open('/home/anna/Desktop/sales 2025.csv')", "sales 2025.csv"),
        ("import pandas; pandas.read_csv('/Users/anna/sales.csv')", "sales.csv"),
        (r"open('C:\\Users\\anna\\Documents\\sales.csv')", "sales.csv"),
        ("import pandas; pandas.read_excel('~/Downloads/a.xlsx')", "a.xlsx"),
        ("import duckdb; duckdb.sql(\"select * from '/home/anna/b.csv'\")", "b.csv"),
    ):
        told = machine.run(code).error
        assert f'Put {name} into the folder "ForeverVM"' in told and f"/root/inbox/{name}" in told, told
    machine.run("import os; os.makedirs('/root/inbox', exist_ok=True); open('/root/inbox/b.csv', 'w').close()")
    assert "This one is here as /root/inbox/b.csv" in machine.run("open('/home/anna/b.csv')").error
    machine.run("import shutil; shutil.rmtree('/root/inbox')")
    for code in (
        "open('missing.csv')",
        "raise ValueError('/home/anna/b.csv')",
        "os.makedirs('/home/x'); open('/home/x/y')",
    ):
        assert "ForeverVM" not in machine.run(code).error
