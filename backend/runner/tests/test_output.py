"""Output: from whom it comes, in what order, how soon, and how much of it is held."""

import time

import pytest
from harness import Frame, Runner, interrupted

LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\n"


def test_python_c_and_subprocesses_in_order(machine: Runner) -> None:
    code = (
        LIBC
        + """
import os, subprocess, sys
for i in range(20):
    print('python', i)
    libc.printf(b'stdio %d\\n', i)
    libc.fflush(None)
    os.write(1, b'write %d\\n' % i)
    subprocess.run(['echo', f'child {i}'])
    sys.stdout.write(f'half {i} ')
    sys.stdout.flush()
    os.system(f'echo system {i}')
"""
    )
    lines = "".join(f"python {i}\nstdio {i}\nwrite {i}\nchild {i}\nhalf {i} system {i}\n" for i in range(20))
    assert machine.run(code).out == lines


@pytest.mark.parametrize("seed", range(6))
def test_order_within_bursts(machine: Runner, seed: int) -> None:
    """Bursts of prints, and others that write to the same descriptor in a way that Python hears of,
    or after a flush."""
    code = (
        LIBC
        + f"""
import os, random, subprocess, sys, time
source = random.Random({seed})
n = 0
def number():
    global n
    n += 1
    return n - 1
end = time.monotonic() + 1.0
while time.monotonic() < end:
    for _ in range(source.choice([1, 3, 40, 500, 3000])):
        print(number())
    kind = source.randrange(9)
    if kind == 0:
        sys.stdout.flush()
        for _ in range(source.randrange(1, 4)):
            os.write(1, b'%d\\n' % number())
    elif kind == 1:
        libc = ctypes.CDLL(None)
        libc.printf(b'%d\\n', number()); libc.fflush(None)
    elif kind == 2:
        print('\\n'.join(str(number()) for _ in range(source.choice([10, 1000, 40000]))))
    elif kind == 3:
        sys.stdout.buffer.write(b'%d\\n' % number())
    elif kind == 4:
        time.sleep(source.choice([0, 0.0005, 0.012]))
    elif kind == 5:
        os.system(f'echo {{number()}}')
    elif kind == 6:
        subprocess.run(['echo', str(number())])
    elif kind == 7:
        i = number()
        pid = os.fork()
        if pid == 0: os.write(1, b'%d\\n' % i); os._exit(0)
        os.waitpid(pid, 0)
    else:
        i = number()
        os.waitpid(os.posix_spawn('/bin/echo', ['echo', str(i)], os.environ), 0)
n
"""
    )
    outcome = machine.run(code)
    assert outcome.out == "".join(f"{i}\n" for i in range(int(outcome.value or 0)))


def test_bursts_of_threads_and_children(machine: Runner) -> None:
    """Nothing is lost or torn when several write at once, and each keeps its own order."""
    code = """
import os, threading, sys
def thread(name):
    for i in range(5000):
        sys.stdout.write(f'{name} {i}\\n')
threads = [threading.Thread(target=thread, args=(f't{k}',)) for k in range(3)]
for t in threads: t.start()
pids = []
for k in range(3):
    pid = os.fork()
    if pid == 0:
        for i in range(2000):
            os.write(1, b'c%d %d\\n' % (k, i))
        for i in range(2000, 4000):
            print(f'c{k} {i}\\n', end='')
        os._exit(0)
    pids.append(pid)
for t in threads: t.join()
for pid in pids: os.waitpid(pid, 0)
"""
    lines = machine.run(code).out.splitlines()
    for name, count in [("t0", 5000), ("t1", 5000), ("t2", 5000), ("c0", 4000), ("c1", 4000), ("c2", 4000)]:
        assert [line for line in lines if line.startswith(name)] == [f"{name} {i}" for i in range(count)]
    assert len(lines) == 27_000


def test_printing_from_within_printing(machine: Runner) -> None:
    code = """
import signal
count = 0
def tick(*_):
    global count
    count += 1
    print('tick')
    if not over: signal.setitimer(signal.ITIMER_REAL, 0.001)
over = False
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001)
for i in range(50000): print(i)
over = True
while signal.getitimer(signal.ITIMER_REAL)[0]: pass
count
"""
    outcome = machine.run(code)
    assert outcome.out.count("tick") == int(outcome.value or 0)
    assert "".join(outcome.out.split()).replace("tick", "") == "".join(map(str, range(50000)))


def test_printing_threads_that_change_all_the_time(machine: Runner) -> None:
    code = """
import sys, threading
usual = sys.getswitchinterval()
sys.setswitchinterval(1e-6)
def thread(name):
    for i in range(20000): print(name + str(i) + name + chr(10), end='')
threads = [threading.Thread(target=thread, args=(name,)) for name in 'abcd']
for t in threads: t.start()
for t in threads: t.join()
sys.setswitchinterval(usual)
"""
    lines = machine.run(code).out.splitlines()
    for name in "abcd":
        assert [line for line in lines if line.startswith(name)] == [f"{name}{i}{name}" for i in range(20000)]


def test_printing_while_a_trace_function_prints(machine: Runner) -> None:
    """It is called at each line of Python, those of the stream's own `write` too."""
    code = """
import sys
def trace(frame, event, argument):
    if event == 'line': print('x', end='')
    return trace
def work():
    for i in range(3000): print('[', i, ']', sep='', end='')
sys.settrace(trace)
work()
sys.settrace(None)
"""
    out = machine.run(code).out
    assert "x" in out
    # Where a trace function's own text comes is not said.
    assert out.replace("x", "") == "".join(f"[{i}]" for i in range(3000))


def test_a_burst_before_the_descriptor_is_another(machine: Runner) -> None:
    code = """
import os, sys
for i in range(1000): print(i)
sys.stdout.flush()
saved = os.dup(1)
with open('/root/taken', 'wb') as file: os.dup2(file.fileno(), 1)
for i in range(1000):
    print('file', i)
    print('error', file=sys.stderr)
os.dup2(saved, 1)
for i in range(1000): print(i)
open('/root/taken').read() == ''.join(f'file {i}\\n' for i in range(1000))
"""
    outcome = machine.run(code)
    assert outcome.value == "True"
    assert outcome.out == 2 * "".join(f"{i}\n" for i in range(1000))
    assert outcome.err == 1000 * "error\n"


def test_a_burst_into_a_pipe_that_nobody_reads(machine: Runner) -> None:
    """It can be interrupted, and the next instruction prints."""
    code = """
import os, sys
r, w = os.pipe()
print('in', flush=True)
os.dup2(w, 1)
while True: print('x' * 100)
"""
    assert interrupted(machine, code).ename == "KeyboardInterrupt"
    assert machine.run("os.close(r); os.close(w); print('out')").out == "out\n"


def test_an_interrupt_in_a_burst(machine: Runner) -> None:
    """It neither loses nor doubles what was printed before it."""
    code = """
n = 0
try:
    print('in')
    while True:
        print(n)
        n += 1
except KeyboardInterrupt: pass
print('end')
n
"""
    for _ in range(5):
        outcome = interrupted(machine, code)
        count = int(outcome.value or 0)
        whole = "in\n" + "".join(f"{i}\n" for i in range(count))
        # The one that was interrupted may be there, or half of it.
        assert outcome.out in {f"{whole}{half}end\n" for half in ("", f"{count}", f"{count}\n")}


def test_what_is_shown_follows_a_burst(machine: Runner) -> None:
    code = "for k in range(3):\n    for i in range(300): print(k)\n    display(k)"
    pieces = [
        frame.payload.decode() if frame.type == "output" else "shown" + frame.mimes["text/plain"].decode()
        for frame in machine.run(code).frames[1:-1]
    ]
    assert "".join(pieces) == "".join(300 * f"{k}\n" + f"shown{k}" for k in range(3))


def test_a_process_that_starts_another_during_a_burst(machine: Runner) -> None:
    """Neither repeats what its parent holds."""
    code = """
import multiprocessing, os
def work():
    for i in range(1000): print('child', i)
for i in range(1000): print('parent', i)
process = multiprocessing.get_context('fork').Process(target=work)
process.start(); process.join()
for i in range(1000): print('parent', i)
process.exitcode
"""
    outcome = machine.run(code)
    assert outcome.value == "0"
    parent, child = ("".join(f"{name} {i}\n" for i in range(1000)) for name in ("parent", "child"))
    assert outcome.out == parent + child + parent


def test_c_stdio_is_flushed_before_the_result(machine: Runner) -> None:
    outcome = machine.run(LIBC + "libc.printf(b'no newline, no flush')\nNone")
    assert outcome.out == "no newline, no flush"


def test_streams_are_told_apart(machine: Runner) -> None:
    outcome = machine.run("import sys, os\nprint('o')\nprint('e', file=sys.stderr)\nos.system('echo e2 >&2')\nNone")
    assert (outcome.out, outcome.err) == ("o\n", "e\ne2\n")


def test_nothing_between_output_and_result(machine: Runner) -> None:
    for _ in range(30):
        outcome = machine.run("import os\nprint('x' * 100_000)\nos.system('echo last')\n1")
        assert outcome.frames[-1].type == "result"
        assert outcome.out == "x" * 100_000 + "\nlast\n"
        assert [frame.header["index"] for frame in outcome.frames] == list(range(len(outcome.frames)))


@pytest.mark.parametrize(
    "code",
    [
        "print('first', flush=True); time.sleep(60)",
        "print('first'); time.sleep(60)",
        "print('first', end=''); time.sleep(60)",
        "sys.stderr.write('first'); time.sleep(60)",
        "os.system('printf first; sleep 60')",
        "print('first'); (10**7) ** (10**6)",
        "print('first'); re.match(r'(a+)+$', 'a' * 40 + 'b')",
    ],
)
def test_first_byte_arrives_while_it_runs(machine: Runner, code: str) -> None:
    machine.run("import os, re, sys, time")
    seq = machine.start(code)
    machine.wait(lambda: machine.first("started", seq=seq))
    began = time.monotonic()
    machine.wait(lambda: machine.first("output", seq=seq), 10)
    # The bound is 50 ms; the rest is for a machine that is busy with other tests.
    assert time.monotonic() - began < 0.5
    machine.interrupt(seq)
    assert not machine.finish(seq).ok


def test_output_is_sent_as_it_comes(machine: Runner) -> None:
    seq = machine.start("import time\nfor i in range(1000):\n    print('tick', i)\n    time.sleep(0.05)")
    machine.printed(seq, "tick 5\n")
    assert "tick 50\n" not in machine.outcome(seq).out
    machine.interrupt(seq)
    assert machine.finish(seq).ename == "KeyboardInterrupt"


def test_many_lines(machine: Runner) -> None:
    outcome = machine.run("for i in range(100000): print(i)")
    assert outcome.out == "".join(f"{i}\n" for i in range(100_000))
    assert len(outcome.of("output")) < 2000


def test_one_enormous_line(machine: Runner) -> None:
    seq = machine.start("import sys\nn = sys.stdout.write('x' * 200_000_000)")
    outcome = machine.finish(seq, 120)
    assert sum(len(frame.payload) for frame in outcome.of("output")) == 200_000_000
    assert max(len(frame.payload) for frame in outcome.of("output")) <= 64 << 10
    machine.frames.clear()


def test_carriage_returns_pass_through(machine: Runner) -> None:
    code = "import time\nfor i in range(200):\n    print(f'\\r{i}%', end='')\nprint()"
    assert machine.run(code).out == "".join(f"\r{i}%" for i in range(200)) + "\n"


def test_progress_bar(machine: Runner) -> None:
    code = "import sys\nfor i in range(20000):\n    sys.stderr.write(f'\\r{i}')\n    sys.stderr.flush()"
    outcome = machine.run(code)
    assert outcome.err.endswith("\r19999")
    assert len(outcome.of("output")) < 500


def test_bytes_that_are_not_text(machine: Runner) -> None:
    outcome = machine.run("import os\nn = os.write(1, bytes(range(256)))")
    assert outcome.stream("stdout") == bytes(range(256))
    assert machine.run("print('a\\0b')").out == "a\0b\n"
    assert machine.run("print('\\ud800 \\udcff')").out == "\\ud800 \\udcff\n"
    assert machine.run("import sys; print(repr(sys.stdout.encoding))").out == "'utf-8'\n"


def test_code_that_is_not_text(machine: Runner) -> None:
    assert not machine.run(b"x = '\xff\xfe' +").ok
    assert machine.run(b"'\xff'").value == "'\ufffd'"
    assert not machine.run("x = 1\0 + 1").ok
    assert machine.run("'\\ud83d'").value == "'\\ud83d'"
    assert not machine.run("raise ValueError('\\ud800\\0')").ok
    display = machine.run(
        "display({'text/html': '\\ud800', '\\ud800': 'x'}, raw=True, metadata={'\\ud800': '\\udfff'})"
    )
    assert display.of("display")


def test_output_of_threads_and_of_nobody(machine: Runner) -> None:
    code = """
import threading
go = threading.Event()
def late():
    go.wait()
    print('late', flush=True)
thread = threading.Thread(target=late); thread.start()
"""
    assert machine.run(code).out == ""
    before = len(machine.frames)
    # Released by nothing of ours: a timer fires after the instruction is over.
    machine.run("import os, threading\nthreading.Timer(0.3, go.set).start()")

    def background() -> list[Frame]:
        return [frame for frame in machine.frames[before:] if frame.type == "background"]

    machine.wait(lambda: b"".join(frame.payload for frame in background()) == b"late\n")
    assert background()[0].header["stream"] == "stdout" and "index" not in background()[0].header


def test_pip_and_shell_stream(machine: Runner) -> None:
    assert "pip" in machine.run("%pip --version").out
    seq = machine.start("!echo one; sleep 60; echo two")
    machine.printed(seq, "one\n", 10)
    machine.interrupt(seq)
    assert machine.finish(seq).ename == "KeyboardInterrupt"
    outcome = machine.run("!echo out; echo err >&2; exit 3\n_exit_code")
    assert (outcome.out, outcome.err, outcome.value) == ("out\n", "err\n", "3")
    failed = machine.run("%pip install --no-index absent-library\nprint('went on')")
    assert failed.ename == "RuntimeError" and "No matching distribution" in failed.out + failed.err
    assert "went on" not in failed.out and "IPython" not in failed.error
    assert machine.run("name = 'you'\n!echo hello {name} $name").out == "hello you you\n"
    assert machine.run("%%bash\necho from bash").out == "from bash\n"


# -- backpressure ----------------------------------------------------------------------------------


def test_endless_output_waits_for_acknowledgement(start) -> None:  # type: ignore[no-untyped-def]
    runner = start(acknowledge=False)
    seq = runner.start("n = 0\nwhile True:\n    print('y' * 1000); n += 1")
    # Comes to rest on its own: the bound, the capture pipe and one frame.
    held = -1
    while held != (held := sum(len(f.payload) for f in runner.outcome(seq).of("output"))):
        runner.ask("list_files", path="/", limit=1)
        runner.wait(lambda: sum(len(f.payload) for f in runner.outcome(seq).of("output")) >= 3 << 20)
        time.sleep(0.2)
    assert 3 << 20 < held < 5 << 20
    # It still answers, still acknowledges, and goes on.
    assert runner.ask("list_files", path="/", limit=1).header["ok"]
    last = runner.outcome(seq).frames[-1]
    runner.send({"type": "ack", "seq": seq, "index": last.key[1]})
    runner.wait(lambda: sum(len(f.payload) for f in runner.outcome(seq).of("output")) > held + (1 << 20))
    runner.interrupt(seq)
    runner.acknowledge = True
    for frame in runner.outcome(seq).frames:
        runner.send({"type": "ack", "seq": seq, "index": frame.key[1]})
    assert runner.finish(seq).ename == "KeyboardInterrupt"


def test_supervisor_that_does_not_read(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    runner.pause_reading()
    seq = runner.start("for i in range(300_000): print('line', i)\n'end'")
    time.sleep(0.5)
    runner.continue_reading()
    outcome = runner.finish(seq)
    assert outcome.value == "'end'"
    assert outcome.out == "".join(f"line {i}\n" for i in range(300_000))


def test_pictures_go_on_when_acknowledged(start) -> None:  # type: ignore[no-untyped-def]
    """What waits for room is passed on by the acknowledgement that makes it, though nothing else
    happens."""
    runner = start(acknowledge=False)
    seq = runner.start(
        "from IPython.display import display\n"
        "for n in range(9): display({'application/octet-stream': bytes(3_900_000)}, raw=True)"
    )
    for last in (2, 4, 6, 8, 10):
        count = min(last, 9)
        runner.wait(lambda count=count: sum(frame.type == "display" for frame in runner.frames) >= count)
        for _ in range(30):  # until the next picture is on its way
            runner.ask("list_files", path=".", limit=1)
        newest = [frame for frame in runner.frames if frame.type in ("started", "display", "result")][-1]
        runner.send({"type": "ack", "seq": seq, "index": newest.header["index"]})
    assert runner.finish(seq).ok


def test_what_is_installed_later_is_made_to_reach_the_outside(machine: Runner) -> None:
    code = """
import importlib, sys
from forevervm_runner import afterimport
met = []
afterimport.do("installed_later", lambda module: met.append(module.x))
try:
    import installed_later
except ImportError as error:
    met.append(error.name)
open("/root/installed_later.py", "w").write("x = 1")
sys.path.append("/root")
importlib.invalidate_caches()
import installed_later
met
"""
    assert machine.run(code).value == "['installed_later', 1]"


def test_python_starts_with_little_of_ours(machine: Runner) -> None:
    """Every Python in the machine waits for what reaches the outside to be loaded."""
    code = """
import os, subprocess, sys
def loaded(path):
    env = {**os.environ, "PYTHONPATH": path}
    return {*subprocess.check_output([sys.executable, "-c", "import sys; print(*sys.modules)"], env=env, text=True).split()}
sorted(loaded("/opt/forevervm/forevervm_runner/site:/opt/forevervm") - loaded(""))
"""
    assert machine.run(code).value == "['forevervm_runner', 'forevervm_runner.afterimport']"
