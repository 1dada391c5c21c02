"""Numbering, acknowledgement, resume, queue, interrupts as the supervisor sees them."""

import itertools

import pytest
from harness import Frame, Gone, Outcome, Runner, encode


def numbered(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if "index" in frame.header]


def test_template_then_ready(start) -> None:  # type: ignore[no-untyped-def]
    runner = start(resumed=False, fresh=True)
    runner.wait(lambda: runner.first("template"))
    assert [frame.type for frame in runner.frames] == ["template"]
    ready = runner.resume()
    assert ready["last_seq"] == -1 and ready["running"] is None and ready["queued"] == []
    assert ready["baseline_bytes"] > 1 << 20 and ready["python"].startswith("3.") and ready["pid"] > 0
    assert sum(frame.type == "template" for frame in runner.frames) == 1


def test_first_frame_started_last_result(machine: Runner) -> None:
    outcome = machine.run("print(1)")
    kinds = [kind for kind, _ in itertools.groupby(frame.type for frame in outcome.frames)]
    assert kinds == ["started", "output", "result"]
    assert outcome.frames[0].header["at"] > 1_600_000_000
    assert outcome.result.header["runtime_ms"] >= 0


def test_runtime_is_the_instructions_own(machine: Runner) -> None:
    outcome = machine.run("import time; time.sleep(0.25)")
    assert 240 <= outcome.result.header["runtime_ms"] < 2000


def test_queue_is_first_in_first_out(machine: Runner) -> None:
    machine.run("order = []")
    seqs = [machine.start(f"order.append({i})") for i in range(50)]
    for seq in seqs:
        machine.finish(seq)
    assert machine.run("order == list(range(50))").value == "True"


def test_repeated_execute_is_ignored(machine: Runner) -> None:
    machine.run("count = 0")
    seq = machine.start("import time\ncount += 1\ntime.sleep(0.2)")
    for _ in range(3):
        machine.send({"type": "execute", "seq": seq}, b"count += 100")
    machine.finish(seq)
    machine.send({"type": "execute", "seq": seq}, b"count += 100")
    assert machine.run("count").value == "1"


def test_cancel_forgets_what_waits(machine: Runner) -> None:
    running = machine.start("import time; time.sleep(60)")
    waiting = machine.start("print('never')")
    last = machine.start("print('after')")
    machine.wait(lambda: machine.first("started", seq=running))
    machine.send({"type": "cancel", "seq": waiting})
    machine.send({"type": "interrupt", "seq": waiting})
    machine.interrupt(running)
    assert machine.finish(running).ename == "KeyboardInterrupt"
    assert machine.finish(last).out == "after\n"
    assert machine.outcome(waiting).frames == []


def test_unknown_and_malformed_requests(machine: Runner) -> None:
    machine.send({"type": "dance"})
    machine.send({"type": "execute"})
    machine.send({"type": "ack", "seq": "x", "index": None})
    machine.send({"type": "interrupt", "seq": 10**9})
    machine.send({"type": "cancel", "seq": 10**9})
    machine.send({"type": "ack", "seq": 10**9, "index": 3})
    assert not machine.ask("complete", b"x", cursor="nowhere").header["ok"]
    assert not machine.ask("read_file").header["ok"]
    assert machine.run("1").value == "1"


def test_requests_that_are_no_frames_end_the_runner(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    assert runner.process.stdin
    runner.process.stdin.write(b"\xff" * 64)
    runner.process.stdin.flush()
    assert runner.process.wait(10) == 71


@pytest.mark.parametrize("running", [False, True])
def test_end_of_stdin_ends_it_quietly(start, running: bool) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    if running:
        seq = runner.start("while True: pass")
        runner.wait(lambda: runner.first("started", seq=seq))
    assert runner.close() == 0


# -- resume ----------------------------------------------------------------------------------------


def test_resume_sends_again_exactly_what_is_not_acknowledged(start) -> None:  # type: ignore[no-untyped-def]
    runner = start(acknowledge=False)
    first = runner.run("print('a'); display('b'); print('c')")
    second = runner.run("print('d')\n5")
    assert len(first.frames) >= 5
    before = len(runner.frames)
    ready = runner.resume(acked=[[first.seq, 1]])
    assert ready["last_seq"] == second.seq
    want = [frame for frame in first.frames if frame.key[1] > 1] + second.frames
    runner.wait(lambda: len(numbered(runner.frames[before:])) >= len(want))
    assert numbered(runner.frames[before:]) == want
    # Everything acknowledged: nothing comes again.
    before = len(runner.frames)
    runner.send({"type": "ack", "seq": first.seq, "index": first.frames[-1].key[1]})
    runner.resume(acked=[[second.seq, second.frames[-1].key[1]]])
    third = runner.run("'next'")
    assert numbered(runner.frames[before:]) == third.frames


def test_resume_during_output_loses_and_doubles_nothing(start) -> None:  # type: ignore[no-untyped-def]
    runner = start(acknowledge=False)
    seq = runner.start("for i in range(20000): print('line', i)\n'end'")
    for _ in range(5):
        runner.resume()
    runner.wait(lambda: runner.first("result", seq=seq))
    unique: dict[int, Frame] = {}
    last = -1
    for frame in runner.frames:
        if frame.type == "ready":
            last = -1
        elif "index" in frame.header:
            index = frame.key[1]
            assert index == last + 1, "frames of one resume are in order and without gaps"
            last = index
            assert unique.setdefault(index, frame) == frame, "a frame sent again is the same frame"
    outcome = Outcome(seq, [unique[index] for index in sorted(unique)])
    assert outcome.out == "".join(f"line {i}\n" for i in range(20000))
    assert outcome.value == "'end'"


def test_resume_tells_what_runs_and_waits(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    running = runner.start("import time; time.sleep(60)")
    waiting = [runner.start("1"), runner.start("2")]
    runner.wait(lambda: runner.first("started", seq=running))
    ready = runner.resume()
    assert (ready["running"], ready["queued"], ready["last_seq"]) == (running, waiting, waiting[-1])
    runner.interrupt(running)
    assert runner.finish(waiting[1]).value == "2"


def test_ready_repeats_sync(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    assert "sync" not in runner.frames[-1].header
    assert runner.resume(sync="0123456789abcdef")["sync"] == "0123456789abcdef"
    assert "sync" not in runner.resume()


def test_resume_sets_environment_formats_and_limit(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    ready = runner.resume(env={"GREETING": "hello", "N": "1"}, formats=["svg"], limit_bytes=512 << 20)
    assert runner.run("import os; os.environ['GREETING'] + os.popen('echo $N').read()").value == "'hello1\\n'"
    shown = runner.run("import matplotlib.pyplot as plt; plt.plot([1]);").of("display")[0]
    assert "image/svg+xml" in shown.mimes and "image/png" in shown.mimes
    limit = runner.run("import resource; resource.getrlimit(resource.RLIMIT_DATA)[0]").value
    assert limit == str(ready["baseline_bytes"] + (512 << 20))


def test_reseed(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    code = "import random, numpy as np, ssl\n"
    runner.run(code + "random.seed(1); np.random.seed(1)")
    want = runner.run("random.Random(1).random(), float(np.random.RandomState(1).rand())").value
    runner.resume(reseed=True, reseed_python=False)
    assert runner.run("random.random(), float(np.random.rand())").value == want
    runner.run("random.seed(1); np.random.seed(1)")
    runner.resume(reseed=True, reseed_python=True)
    got = runner.run("random.random(), float(np.random.rand())").value
    assert got is not None and want is not None
    assert all(a != b for a, b in zip(got.strip("()").split(", "), want.strip("()").split(", "), strict=True))


def test_a_rehearsal_leaves_nothing(start) -> None:  # type: ignore[no-untyped-def]
    rehearsed, other = start(), start()
    frames = len(rehearsed.frames)
    assert rehearsed.resume(rehearse=True)["last_seq"] == other.resume()["last_seq"]
    assert not numbered(rehearsed.frames[frames:])
    state = "_, sorted(globals()), get_ipython().execution_count"
    assert rehearsed.run(state).value == other.run(state).value
    # That it ran shows the source of the first step, which each machine's own takes the place of.
    rehearsed.resume(rehearse=True)
    assert "1 + 1" in str(rehearsed.run("import linecache; linecache.getlines('<step 1>')").value)


def test_limit_can_be_changed(machine: Runner) -> None:
    assert machine.ask("limit", limit_bytes=300 << 20).header["ok"]
    assert machine.run("b = bytearray(600 << 20)").ename == "MemoryError"
    assert machine.ask("limit", limit_bytes=None).header["ok"]
    assert machine.run("b = bytearray(600 << 20)\nlen(b)").value == str(600 << 20)
    machine.run("del b")


# -- the worker's death ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "exit_code", "signal"),
    [
        ("import os; print('last words'); os._exit(7)", 7, None),
        ("import os\nfor _ in range(1000): print('last words')\nos._exit(7)", 7, None),
        ("import os, signal\nfor _ in range(1000): print('last words')\nos.kill(os.getpid(), signal.SIGKILL)", None, 9),
        ("import os\nfor _ in range(1000): print('last words')\nos.execv('/bin/true', ['true'])", 0, None),
        ("import os, signal; print('last words'); os.kill(os.getpid(), signal.SIGKILL)", None, 9),
        ("import ctypes; print('last words'); ctypes.string_at(0)", None, 11),
        ("import os; print('last words'); os.abort()", None, 6),
        ("import os; print('last words'); os.closerange(0, 65536)", None, None),
        ("import os; print('last words'); os.execv('/bin/true', ['true'])", 0, None),
    ],
)
def test_death_is_told_with_last_words(start, code: str, exit_code: int | None, signal: int | None) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    seq = runner.start(code)
    died = runner.wait(lambda: runner.first("died"))
    assert died.header["seq"] == seq
    assert (died.header["exit_code"], died.header["signal"]) == (exit_code, signal)
    assert died.header["reason"]
    assert runner.outcome(seq).out == ("last words\n" * (1000 if "1000" in code else 1))
    assert runner.process.wait(10) == 70
    assert runner.frames[-1].type == "died"


def test_death_between_instructions(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    runner.run("import os, threading; threading.Timer(1, lambda: os._exit(3)).start()")
    died = runner.wait(lambda: runner.first("died"))
    assert died.header["seq"] is None and died.header["exit_code"] == 3
    with pytest.raises((Gone, TimeoutError, BrokenPipeError)):
        runner.run("1", 5)


def test_frames_in_one_write_and_in_pieces(start) -> None:  # type: ignore[no-untyped-def]
    runner = start(acknowledge=False)  # an acknowledgement would come between the pieces
    assert runner.process.stdin
    both = encode({"type": "execute", "seq": 0}, b"1") + encode({"type": "execute", "seq": 1}, b"2")
    for i in range(len(both)):
        runner.process.stdin.write(both[i : i + 1])
        runner.process.stdin.flush()
    assert runner.finish(0).value == "1"
    assert runner.finish(1).value == "2"
