"""IPython's shell, with everything that belongs to a terminal or to a person's home folder taken
out."""

import asyncio
import contextlib
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from IPython.core.async_helpers import get_asyncio_loop
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.events import EventManager, available_events
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.utils.text import LSString, SList
from traitlets.config import Config

from .errors import Failure

# IPython's functions that show an error which is the instruction's own.
_TOLD_IN_RESULT = ("run_ast_nodes", "run_cell_async", "_run_cell")
NOTHING = object()
CANCEL_SECONDS = 1.0


class Compiler(CachingCompiler):
    """Names code after its instruction, as tracebacks show it."""

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        return f"<step {number + 1}>"


class ValueHook(DisplayHook):
    """Keeps the value of the last expression instead of printing it, and `_` for the user."""

    shell: Any
    value: Any = NOTHING
    cell = ""
    _: Any

    def __call__(self, result: Any = None) -> None:
        if result is None or self._suppressed():
            return
        self.value = result
        self.fill_exec_result(result)
        self.check_for_underscore()
        self._keep_underscore(result)

    def _suppressed(self) -> bool:
        """A trailing semicolon means that the value is not wanted, as in IPython."""
        if ";" not in self.cell:
            return False
        try:
            return bool(self.semicolon_at_end_of_expression(self.cell))
        except Exception:
            return False

    def _keep_underscore(self, result: Any) -> None:
        names = self.shell.user_ns
        if names.get("_", self._) is self._:
            names["_"] = self._ = result


class Publisher(DisplayPublisher):
    """Hands what the user displays to the runner."""

    on_display: Callable[[dict[str, Any], dict[str, Any], str | None, bool], None]
    on_clear: Callable[[bool], None]

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        source: Any = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        display_id = (transient or {}).get("display_id")
        type(self).on_display(data, metadata or {}, display_id, update)

    def clear_output(self, wait: bool = False) -> None:
        type(self).on_clear(wait)


@magics_class
class PipMagics(Magics):
    """`%pip`, without IPython's advice to restart a kernel."""

    shell: Any

    @line_magic
    def pip(self, line: str) -> None:
        """Run pip for this Python. A failure ends the instruction: what follows needs the library."""
        self.shell.system(f"{sys.executable} -m pip {line}")
        importlib.invalidate_caches()
        if self.shell.user_ns["_exit_code"] != 0:
            raise RuntimeError("pip did not succeed. What it printed says why.")


class Events(EventManager):
    """An interrupt that falls into a callback, also one of IPython's own, ends the instruction:
    IPython would drop it."""

    def trigger(self, event: str, *args: Any, **kwargs: Any) -> None:
        for callback in list(self.callbacks[event]):
            try:
                callback(*args, **kwargs)
            except Exception as error:
                sys.stderr.write(Failure(error).plain.decode() + "\n")


class Shell(InteractiveShell):
    """Runs one instruction at a time. No history, no files, no terminal, no prompts."""

    events: Any

    def __init__(self, user_module: ModuleType, **_: Any) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.HistoryManager.hist_file = ":memory:"
        config.IPCompleter.use_jedi = False
        config.IPCompleter.evaluation = "limited"
        super().__init__(
            config=config,
            user_module=user_module,
            displayhook_class=ValueHook,
            display_pub_class=Publisher,
            compiler_class=Compiler,
            colors="nocolor",
            cache_size=0,
            autocall=0,
        )
        self._db: Any = {}
        self.loop_runner = _run_until_complete
        self.register_magics(PipMagics)

    def init_ipython_dir(self, ipython_dir: Any) -> None:
        """None: a machine has no settings of its own."""

    def init_profile_dir(self, profile_dir: Any) -> None:
        """None: nothing is written outside what the user's code writes."""

    def init_events(self) -> None:
        """With our own manager of them."""
        super().init_events()
        registered = self.events.callbacks
        self.events = Events(self, available_events)
        self.events.callbacks = registered

    def init_virtualenv(self) -> None:
        """There is one Python in the image."""

    @contextlib.contextmanager
    def _tee(self, channel: str) -> Iterator[None]:
        """IPython would keep a copy of all output in memory for its history."""
        yield

    async def run_code(self, code_obj: CodeType, result: Any = None, *, async_: bool = False) -> bool:
        """Runs one statement.

        Every exception, `SystemExit` too, ends the instruction and nothing more."""
        try:
            if async_:
                await eval(code_obj, self.user_global_ns, self.user_ns)
            else:
                exec(code_obj, self.user_global_ns, self.user_ns)
        except BaseException as error:
            if result is not None:
                result.error_in_exec = error
            return True
        return False

    def showtraceback(self, exc_tuple: Any = None, *_: Any, **__: Any) -> None:
        """Prints what does not end the instruction: an error in a script that `%run` runs, or in a
        representation."""
        if sys._getframe(1).f_code.co_name not in _TOLD_IN_RESULT:
            error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
            if error is not None:
                sys.stderr.write(Failure(error).plain.decode() + "\n")

    def showsyntaxerror(self, *_: Any, **__: Any) -> None:
        """Told in the instruction's result."""

    showindentationerror = showsyntaxerror

    def enable_gui(self, gui: Any = None) -> None:
        """There is no screen."""

    def enable_matplotlib(self, gui: Any = None) -> tuple[str, str]:
        """Figures come back on their own: `%matplotlib` has nothing to do."""
        return "inline", "inline"

    def ask_exit(self) -> None:
        raise SystemExit

    def ask_yes_no(self, *_: Any, **__: Any) -> bool:
        return True

    def system(self, cmd: str) -> None:
        """`!cmd`: its output streams through descriptors 1 and 2 like all other."""
        command = self.var_expand(cmd, depth=1)
        with subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL) as child:
            try:
                status = child.wait()
            except BaseException:
                _end(child)
                raise
        self.user_ns["_exit_code"] = status

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """`x = !cmd`."""
        command = self.var_expand(cmd, depth=depth + 1)
        done = subprocess.run(
            command, shell=True, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        text = done.stdout.decode("utf-8", "replace")
        return SList(text.splitlines()) if split else LSString(text)


def _run_until_complete(coroutine: Any) -> Any:
    """Runs an instruction that awaits.

    One that is interrupted is cancelled, not left for the next to go on with."""
    loop = get_asyncio_loop()
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            loop.run_until_complete(asyncio.wait({task}, timeout=CANCEL_SECONDS))
        raise


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Ends a child that the user no longer wants to wait for."""
    try:
        child.wait(0.5)
    except subprocess.TimeoutExpired:
        child.terminate()
        try:
            child.wait(0.5)
        except subprocess.TimeoutExpired:
            child.kill()
