# Runs in a copy of a machine that is thrown away next: prints digests of the user's variables and
# files, so that equal ones can be told from changed ones; of tables also the digest and the mean of
# each column. What takes too long, or cannot be written down, has none. MARK is replaced.


def _forevervm_compare(names, mark):
    import functools
    import hashlib
    import json
    import math
    import os
    import pickle
    import signal
    import stat
    import sys
    import time
    import types
    import typing

    each, variables_take, files_take = 0.5, 2.0, 1.0
    largest, most_files, most_columns, longest = 64 << 20, 2000, 50, 100
    not_theirs = {"In", "Out", "exit", "quit", "get_ipython", "open", "display"}
    unsaid = {"__dict__", "__weakref__", "__firstlineno__"}

    class TooLong(BaseException):
        pass

    def stop(*_):
        raise TooLong

    class Hasher:
        def __init__(self, until):
            self.hash, self.until = hashlib.blake2b(digest_size=16), until

        def write(self, data):
            view = memoryview(data)
            for start in range(0, len(view), 1 << 20):
                if time.monotonic() > self.until:
                    raise TooLong
                self.hash.update(view[start : start + (1 << 20)])
            return len(view)

    def code(function):
        """What a function is, without where it stands."""
        return (
            function.co_code,
            function.co_names,
            function.co_varnames,
            function.co_freevars,
            function.co_cellvars,
            function.co_flags,
            [code(part) if type(part) is types.CodeType else part for part in function.co_consts],
        )

    pandas: typing.Any = sys.modules.get("pandas")

    def content(column):
        if column.dtype == object:
            return list(column)
        return pandas.util.hash_pandas_object(column, index=False).to_numpy().tobytes()

    def table(value):
        """What a table holds. Reading a table can change how pandas stores it."""
        frame = value.to_frame() if type(value) is pandas.Series else value
        columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
        index = frame.index.to_series()
        return (
            type(value).__name__,
            list(frame.columns),
            list(frame.columns.names),
            list(index.index.names),
            [str(column.dtype) for column in (index, *columns)],
            [content(column) for column in (index, *columns)],
            frame.attrs,
        )

    class Pickler(pickle.Pickler):
        def reducer_override(self, value):
            if pandas is not None and type(value) in (pandas.DataFrame, pandas.Series):
                return tuple, (table(value),)
            if type(value) is types.FunctionType:
                cells = [cell.cell_contents for cell in value.__closure__ or ()]
                return tuple, (
                    (code(value.__code__), value.__defaults__, value.__kwdefaults__, cells),
                )
            # The name of a class alone says too little.
            if isinstance(value, type) and value.__module__ == "__main__":
                parts = {key: part for key, part in vars(value).items() if key not in unsaid}
                return tuple, ((value.__qualname__, value.__bases__, parts),)
            return NotImplemented

    def digest(value, until):
        to = Hasher(until)

        pickler = Pickler(
            to, protocol=5, buffer_callback=lambda buffer: to.write(buffer.raw()) and None
        )
        # What is the same twice is written twice, so that it does not matter who holds it.
        pickler.fast = True
        pickler.dump(value)
        return to.hash.hexdigest()

    def mean(column):
        """The mean of a column's numbers; None where it has none."""
        if column.dtype.kind not in "iuf":
            return None
        value = float(column.mean())
        return value if math.isfinite(value) else None

    def columns_of(frame, until):
        return [
            [str(frame.columns[i])[:longest], digest(content(column), until), mean(column)]
            for i, column in ((i, frame.iloc[:, i]) for i in range(frame.shape[1]))
        ]

    signal.signal(signal.SIGALRM, stop)
    columns = {}
    found, deadline = {}, time.monotonic() + variables_take
    theirs = [
        key
        for key in names
        if type(key) is str and not key.startswith("_") and key not in not_theirs
    ]
    for name in sorted(theirs)[:2000]:
        now = time.monotonic()
        if now >= deadline:
            break
        until = min(now + each, deadline)
        try:
            signal.setitimer(signal.ITIMER_REAL, max(until - now, 0.001))
            try:
                value = names[name]
                found[name] = digest(value, until)
                is_table = pandas is not None and type(value) is pandas.DataFrame
                if is_table and value.shape[1] <= most_columns:
                    columns[name] = columns_of(value, until)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except (Exception, TooLong):
            continue

    def files(home):
        count = 0
        for folder, folders, inside in os.walk(home):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(inside):
                if name.startswith("."):
                    continue
                count += 1
                if count > most_files:
                    return
                path = os.path.join(folder, name)
                try:
                    info = os.lstat(path)
                except OSError:
                    continue
                if stat.S_ISREG(info.st_mode) and info.st_size <= largest:
                    yield info.st_size, path

    told, home = {}, os.environ.get("HOME") or "/root"
    deadline = time.monotonic() + files_take
    try:
        signal.setitimer(signal.ITIMER_REAL, files_take)
        for _, path in sorted(files(home)):
            to = Hasher(deadline)
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with open(fd, "rb") as file:
                    for part in iter(functools.partial(file.read, 1 << 20), b""):
                        to.write(part)
                told[os.path.relpath(path, home)] = to.hash.hexdigest()
            except OSError:
                continue
    except TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(
        "\n" + mark + json.dumps({"variables": found, "files": told, "columns": columns}),
        flush=True,
    )


_forevervm_compare(dict(globals()), "MARK")
